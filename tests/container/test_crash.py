# SPDX-License-Identifier: LGPL-2.1-or-later
"""Whatever dies, whenever: the machine ends up in its after state by the deadline, and never goes back."""

import pytest

from guest.scenario import (
    ABANDONED,
    UNIT,
    assert_ended,
    assert_never_again,
    at_rest,
    deadline_soon,
    reached,
    use_policy,
    values_written,
    wait_booting,
    wait_ended,
)

SUITES = pytest.mark.parametrize("suite", ["bookworm", "trixie"])


def boot(container, tree, **options):
    """A guest whose boot stands before multi-user.target, with the daemon waiting."""
    tree.hold("here", before="multi-user.target", wanted_by="multi-user.target", after="basic.target dbus.service")
    guest = container(**options)
    guest.wait_held("here")
    wait_booting(guest, 1)
    return guest


def kill(guest, signal="KILL"):
    guest.run(f"kill -{signal} $(pidof rcu-bootd)")


# --- told to stop before it can hear ---

@SUITES
@pytest.mark.parametrize("how", ["kill -TERM $(cat /run/deaf)", f"systemctl stop {UNIT}"], ids=["kill", "stop"])
def test_told_to_stop_as_it_starts(container, tree, suite, how):
    """The signal kills it. Nobody has died, somebody has stopped it: that is the reason, and no daemon begins anew."""
    tree.write("usr/lib/rcu-test/deaf", "#!/bin/sh\ntest ! -e /run/deaf || exec rcu-bootd\n"
               "echo $$ >/run/deaf; exec sleep inf\n", 0o755)
    tree.dropin(UNIT, "deaf", "[Service]\nExecStart=\nExecStart=/usr/lib/rcu-test/deaf\n")
    guest = container(suite=suite)
    guest.wait_until("test -s /run/deaf")
    guest.run(how)
    guest.wait_booted()
    status = wait_ended(guest)
    assert (status["phase"], status["reason"]) == ("ended", "stopped")
    guest.wait_for(lambda: at_rest(guest), "all to come to rest")
    assert "1" not in values_written(guest, "rcu_expedited") and guest.status()["exit_code"] == 0


# --- killed and restarted ---

@pytest.mark.parametrize("suite, signal", [("bookworm", "KILL"), ("bookworm", "SEGV"), ("trixie", "KILL")])
def test_killed_while_booting(container, tree, suite, signal):
    """Restarted, it goes on from the state file alone: nothing is written a second time, what was reached stays so."""
    use_policy(tree, "basic.target home-screen multi-user.target")
    guest = boot(container, tree, suite=suite)
    guest.wait_for(lambda: reached(guest.status()) == {"basic.target": "bus"}, "the first milestone")
    before = guest.status()
    kill(guest, signal)
    wait_booting(guest, 2)
    after = guest.status()
    for key in ("milestones", "deadline_usec", "policy"):
        assert after[key] == before[key]
    assert after["daemon"]["started_usec"] == before["daemon"]["started_usec"]
    assert values_written(guest, "rcu_expedited") == ["1"] and len(guest.knob_writes("rcu_expedited")) <= 2
    guest.ctl("milestone", "home-screen")
    guest.release("here")
    guest.wait_booted()
    status = assert_ended(guest, "milestones", restarts=1)
    assert reached(status) == {"basic.target": "bus", "home-screen": "inbox", "multi-user.target": "bus"}
    assert status["exit_code"] == 0
    knob = next(knob for knob in status["knobs"] if knob["name"] == "rcu_expedited")
    assert knob["before"] == 0, "what the first daemon found, not what it had left"


def test_milestone_while_nobody_listens(container, tree):
    """All comes to pass between the death and the restart: the next daemon finds it so."""
    tree.dropin(UNIT, "slow", "[Service]\nRestartSec=3s\n")
    use_policy(tree, "multi-user.target home-screen")
    guest = boot(container, tree)
    kill(guest)
    guest.release("here")
    guest.run(": >/run/rcu-bootd/milestones/home-screen")
    guest.wait_booted()
    status = assert_ended(guest, "milestones", restarts=1)
    assert reached(status) == {"multi-user.target": "bus", "home-screen": "directory"}


@SUITES
def test_killed_again_and_again(container, tree, suite):
    """The third death ends it: what dies thrice would die again, and nobody is to stay expedited for that."""
    guest = boot(container, tree, suite=suite)
    for starts in (1, 2, 3):
        wait_booting(guest, starts)
        assert guest.knob("rcu_expedited") == "1"
        kill(guest)
    guest.wait_for(lambda: guest.knob("rcu_expedited") == "0", "boot to be ended")
    guest.wait_for(lambda: guest.state()["PHASE"] == "ended", "it to be recorded")
    guest.release("here")
    guest.wait_booted()
    status = wait_ended(guest)
    assert (status["phase"], status["reason"]) == ("ended", "daemon-died")
    assert_never_again(guest)
    assert not guest.ok("pidof rcu-bootd")


@pytest.mark.parametrize(
    "what",
    [
        "ln -s /dev/null /etc/systemd/system/rcu-boot-end.service",
        "rm /usr/lib/systemd/system/rcu-boot-end.service",
    ],
    ids=["masked", "removed"],
)
def test_killed_when_nothing_will_restart_it(container, tree, what):
    """The unit has been masked, or its package removed, while the daemon ran."""
    guest = boot(container, tree)
    guest.run(what)
    kill(guest)
    guest.wait_for(lambda: guest.knob("rcu_expedited") == "0", "boot to be ended")
    guest.wait_for(lambda: guest.state()["PHASE"] == "ended", "it to be recorded")
    assert guest.status()["reason"] == "daemon-died"
    guest.release("here")
    guest.wait_booted()
    assert_never_again(guest)


def abandon_when_told(tree):
    """Lets rcu-boot-abandoned@.service, when it is started, wait for abandon() before all else."""
    tree.write("usr/lib/rcu-test/linger", "#!/bin/sh\nuntil test -e /run/abandoned; do sleep 0.1; done\n", 0o755)
    tree.dropin("rcu-boot-abandoned@.service", "linger", "[Service]\nExecCondition=/usr/lib/rcu-test/linger\n")


def abandon(guest):
    """Nobody is left: boot is ended all the same, and no daemon is missed."""
    guest.run("touch /run/abandoned")
    guest.wait_for(lambda: guest.state()["PHASE"] == "ended", "boot to be ended")
    guest.wait_for(lambda: at_rest(guest), "all to come to rest")
    assert guest.status()["reason"] == "daemon-died" and guest.knob("rcu_expedited") == "0"
    assert not guest.ok("pidof rcu-bootd")
    guest.release("here")
    guest.wait_booted()
    assert_never_again(guest)
    assert guest.status()["exit_code"] == 0


def assert_told_of_death(guest):
    """The unit has failed with boot still to be ended: `status` says so, and what to do."""
    guest.wait_for(lambda: guest.active(UNIT) == "failed", "the unit to fail")
    status = guest.status()
    assert status["exit_code"] == 1 and [note["id"] for note in status["notes"]] == ["daemon-died"]
    assert f"systemctl restart {UNIT}" in status["notes"][0]["text"]


def wait_restart_due(guest):
    guest.wait_for(lambda: guest.show(UNIT, "SubState")["SubState"].startswith("auto-restart"), "the restart to be due")


@SUITES
def test_stopped_before_the_restart(container, tree, suite):
    """`systemctl stop` takes back the restart on which --post-stop had relied, and runs nothing more of the unit."""
    abandon_when_told(tree)
    tree.dropin(UNIT, "slow", "[Service]\nRestartSec=1h\n")
    guest = boot(container, tree, suite=suite)
    kill(guest)
    wait_restart_due(guest)
    assert guest.knob("rcu_expedited") == "1"
    guest.run(f"systemctl stop {UNIT}")
    abandon(guest)


@SUITES
def test_stopped_while_its_death_is_seen_to(container, tree, suite):
    """The same while ExecStopPost= runs, which has made up its mind already."""
    abandon_when_told(tree)
    linger = "#!/bin/sh\ntouch /run/lingering; while test -e /run/lingering; do sleep 0.1; done\n"
    tree.write("usr/lib/rcu-test/linger-too", linger, 0o755)
    tree.dropin(UNIT, "linger", "[Service]\nExecStopPost=/usr/lib/rcu-test/linger-too\n")
    guest = boot(container, tree, suite=suite)
    kill(guest)
    guest.wait_until("test -e /run/lingering")
    assert guest.knob("rcu_expedited") == "1"
    guest.run(f"systemctl --no-block stop {UNIT}; systemctl list-jobs | grep -q {UNIT} && rm /run/lingering")
    abandon(guest)


@SUITES
def test_restarted_before_the_restart(container, tree, suite):
    """`systemctl restart` is a stop and a start: nothing is abandoned, the next daemon goes on."""
    tree.dropin(UNIT, "slow", "[Service]\nRestartSec=1h\n")
    guest = boot(container, tree, suite=suite)
    kill(guest)
    wait_restart_due(guest)
    guest.run(f"systemctl restart {UNIT}")
    wait_booting(guest, 2)
    guest.wait_until("systemctl show -P InactiveExitTimestamp rcu-boot-abandoned@stopped.service | grep -q .")
    for unit in ABANDONED:
        guest.wait_for(lambda unit=unit: guest.active(unit) == "inactive", "it to have looked")
    wait_booting(guest, 2)
    guest.release("here")
    guest.wait_booted()
    assert_ended(guest, "milestones")


@SUITES
def test_no_restart(container, tree, suite):
    """A drop-in that turns Restart= off is not told to --post-stop."""
    abandon_when_told(tree)
    tree.dropin(UNIT, "no-restart", "[Service]\nRestart=no\n")
    guest = boot(container, tree, suite=suite)
    kill(guest)
    assert_told_of_death(guest)
    abandon(guest)


@pytest.mark.parametrize("mend", [True, False], ids=["mended", "left alone"])
def test_masked_when_pid1_knows_no_more(container, tree, mend):
    """`systemctl mask` has PID 1 forget ExecStopPost= and all else of the unit: then nobody is left, until the
    administrator does what `status` says."""
    guest = boot(container, tree)
    guest.run(f"systemctl mask {UNIT}")
    kill(guest)
    assert_told_of_death(guest)
    if mend:
        guest.run(f"systemctl unmask {UNIT}; systemctl restart {UNIT}")
        guest.release("here")
        assert_ended(guest, "milestones")
    else:
        # What the unit would have run.
        guest.run("rcu-bootd --post-stop")
        assert guest.status()["reason"] == "daemon-died" and guest.knob("rcu_expedited") == "0"
        guest.release("here")


@SUITES
def test_whole_unit_is_killed(container, tree, suite):
    """`systemctl kill`, what the OOM killer does to a unit, and a second blow while it restarts."""
    guest = boot(container, tree, suite=suite)
    guest.run(f"systemctl kill --signal=KILL {UNIT}")
    wait_booting(guest, 2)
    guest.run(f"systemctl kill --signal=KILL {UNIT}")
    wait_booting(guest, 3)
    guest.release("here")
    guest.wait_booted()
    assert_ended(guest, "milestones", restarts=2)


def test_out_of_memory(container, tree):
    """No memory at all is to be had: PID 1 restarts it, the third death ends boot."""
    guest = boot(container, tree)
    guest.run(f"systemctl set-property --runtime {UNIT} MemoryMax=32K")
    guest.wait_until("test \"$(cat /sys/kernel/rcu_expedited)\" = 0 || rcu-bootctl milestone nothing")
    guest.run(f"systemctl kill --signal=KILL {UNIT}", check=False)
    guest.run(f"systemctl set-property --runtime {UNIT} MemoryMax=infinity")
    guest.release("here")
    guest.wait_booted()
    status = wait_ended(guest)
    assert status["phase"] == "ended" and status["reason"] in ("milestones", "daemon-died")
    assert_never_again(guest)


def test_killed_at_the_end(container, tree):
    """A blow at any moment around the end: whoever comes next finishes, and does not begin anew."""
    guest = boot(container, tree)
    guest.run("(while P=$(pidof rcu-bootd); do test $(cat /sys/kernel/rcu_expedited) = 1 || kill -KILL $P; done) "
              ">/dev/null 2>&1 & sleep 0")  # fmt: skip
    guest.release("here")
    guest.wait_booted()
    status = wait_ended(guest)
    assert status["phase"] == "ended" and status["reason"] in ("milestones", "daemon-died")
    assert_never_again(guest)


# --- it hangs ---

@SUITES
def test_watchdog(container, tree, suite):
    """The daemon stands still: PID 1 notices, and the next one goes on."""
    tree.dropin(UNIT, "watchdog", "[Service]\nWatchdogSec=2s\nTimeoutAbortSec=2s\n")
    guest = boot(container, tree, suite=suite)
    kill(guest, "STOP")
    wait_booting(guest, 2)
    guest.release("here")
    guest.wait_booted()
    assert_ended(guest, "milestones", restarts=1)


def test_watchdog_is_fed(container, tree):
    """A daemon that only waits is not taken for one that hangs."""
    tree.dropin(UNIT, "watchdog", "[Service]\nWatchdogSec=500ms\n")
    deadline_soon(use_policy(tree, "home-screen"))
    guest = container()
    guest.wait_booted()
    assert_ended(guest, "deadline", restarts=0)


def test_stopped_for_a_while(container, tree):
    """SIGSTOP over the milestone, and beyond the deadline: at once when it goes on."""
    deadline_soon(use_policy(tree, "multi-user.target"))
    tree.dropin(UNIT, "watchdog", "[Service]\nWatchdogSec=0\n")
    guest = boot(container, tree)
    kill(guest, "STOP")
    deadline = guest.status()["deadline_usec"]
    guest.wait_for(lambda: guest.status()["now_usec"] > deadline, "the deadline to pass")
    assert guest.knob("rcu_expedited") == "1"
    assert "daemon-stuck" in [note["id"] for note in guest.status()["notes"]] or guest.status()["exit_code"] in (1, 3)
    kill(guest, "CONT")
    assert_ended(guest, "deadline")
    guest.release("here")


# --- its surroundings ---

def test_binary_is_replaced(container, tree):
    """An upgrade in mid-boot: the running daemon goes on, and so does the new one after a death."""
    guest = boot(container, tree)
    guest.run("cp /usr/sbin/rcu-bootd /usr/sbin/new && mv /usr/sbin/new /usr/sbin/rcu-bootd && systemctl daemon-reload")
    assert guest.status()["phase"] == "booting"
    kill(guest)
    wait_booting(guest, 2)
    guest.release("here")
    guest.wait_booted()
    assert_ended(guest, "milestones", restarts=1)


def test_binary_is_gone(container, tree):
    """Removed in mid-boot, then killed: nothing is left that could end boot but a daemon that comes back, and `status`
    says so."""
    guest = boot(container, tree)
    guest.run("mv /usr/sbin/rcu-bootd /usr/sbin/away")
    kill(guest)
    guest.wait_for(lambda: not guest.ok("pidof rcu-bootd"), "the daemon to die")
    assert guest.status()["exit_code"] == 1 or guest.knob("rcu_expedited") == "0"
    guest.run("mv /usr/sbin/away /usr/sbin/rcu-bootd")
    guest.run(f"systemctl reset-failed; systemctl start {UNIT}")
    guest.release("here")
    guest.wait_booted()
    status = wait_ended(guest)
    assert status["phase"] == "ended"
    assert_never_again(guest)


@pytest.mark.parametrize(
    "what",
    [
        # (rm may find the directory full again: the daemon makes a new one for milestones at once.)
        "rm -rf /run/rcu-bootd; test ! -e /run/rcu-bootd/state",
        "rm /run/rcu-bootd/state",
        "chmod 0 /run/rcu-bootd/state",
    ],
    ids=["directory", "file", "unreadable"],
)
def test_state_is_gone(container, tree, what):
    """Somebody cleans up too much, then the daemon dies: its end cannot be left to guesses."""
    guest = boot(container, tree)
    guest.run(what)
    kill(guest)
    guest.release("here")
    guest.wait_booted()
    status = wait_ended(guest)
    assert status["phase"] == "ended"
    assert_never_again(guest)


def test_run_is_read_only(container, tree):
    """The state file cannot be written: boot ends all the same."""
    guest = boot(container, tree)
    guest.run("mount --bind /run/rcu-bootd /run/rcu-bootd && mount -o remount,bind,ro /run/rcu-bootd")
    guest.release("here")
    guest.wait_for(lambda: guest.knob("rcu_expedited") == "0", "boot to end")
    guest.wait_booted()
    guest.wait_for(lambda: not guest.ok("pidof rcu-bootd"), "the daemon to leave")
    assert_never_again(guest)


@pytest.mark.parametrize("how", ["stop", "kill --signal=STOP", "kill --signal=KILL"])
def test_journal_is_away(container, tree, how):
    """journald is stopped, hangs, dies: the end does not wait for it."""
    guest = boot(container, tree)
    sockets = "systemd-journald.socket systemd-journald-dev-log.socket"
    guest.run(f"systemctl {how} systemd-journald.service {sockets if how == 'stop' else ''}")
    guest.release("here")
    guest.wait_for(lambda: guest.knob("rcu_expedited") == "0", "boot to end")
    guest.wait_for(lambda: guest.state().get("PHASE") == "ended", "it to be recorded")
    guest.run(f"systemctl kill --signal=CONT systemd-journald; systemctl start {sockets} systemd-journald")
    guest.wait_booted()
    assert_ended(guest, "milestones")
