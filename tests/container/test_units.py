# SPDX-License-Identifier: LGPL-2.1-or-later
"""The units as administrators handle them: enabled, disabled, masked, stopped, started late, in a container."""

import pytest

from guest.scenario import UNIT, assert_ended, policy, reached, use_policy, values_written, wait_booting, wait_ended

WANTS = f"/etc/systemd/system/sysinit.target.wants/{UNIT}"
HOURS = 7200


# --- enabling ---

@pytest.mark.parametrize(
    "commands, state, runs",
    [
        (["disable rcu-boot-end"], "disabled", False),
        (["disable rcu-boot-end", "enable rcu-boot-end", "enable rcu-boot-end"], "enabled", True),
        (["disable rcu-boot-end", "preset rcu-boot-end"], "enabled", True),
        (["mask rcu-boot-end"], "masked", False),
        (["mask rcu-boot-end", "unmask rcu-boot-end"], "enabled", True),
    ],
    ids=lambda value: "; ".join(value) if isinstance(value, list) else "",
)
def test_enabled_or_not(container, commands, state, runs):
    """What is said in one boot holds in the next."""
    guest = container()
    guest.wait_booted()
    assert_ended(guest, "milestones")
    for command in commands:
        guest.run(f"systemctl {command}")
    guest.reboot()
    guest.wait_booted()
    assert guest.run("systemctl is-enabled rcu-boot-end", check=False).stdout.strip() == state
    if runs:
        status = wait_ended(guest)
        assert (status["reason"], guest.active(UNIT)) == ("milestones", "active")
        guest.wait_for(lambda: values_written(guest, "rcu_expedited") == ["1", "0"] * 2, "both boots' writes")
    else:
        assert guest.active(UNIT) == "inactive"
        assert values_written(guest, "rcu_expedited") == ["1", "0"]
        assert not guest.ok("test -e /run/rcu-bootd")
    assert guest.output("systemctl --failed --no-legend --plain") == ""


def test_enabled_below_a_root(container):
    """`systemctl --root` in an image, without a running system: the same link as online."""
    guest = container(enable=())
    guest.wait_booted()
    assert not guest.ok("systemctl is-enabled rcu-boot-end")
    guest.run("mkdir -p /tmp/image/usr/lib/systemd && cp -a /usr/lib/systemd/system /tmp/image/usr/lib/systemd/")
    guest.run("systemctl --root=/tmp/image enable rcu-boot-end")
    guest.run("systemctl enable rcu-boot-end")
    # Debian's /lib is a symlink to /usr/lib.
    links = [guest.output(f"readlink {root}{WANTS}").removeprefix("/usr") for root in ("/tmp/image", "")]
    assert links == [f"/lib/systemd/system/{UNIT}"] * 2


def test_not_enabled(container):
    """Installed alone, it does nothing at all, and says how to have it do something."""
    guest = container(enable=())
    guest.wait_booted()
    assert guest.active(UNIT) == "inactive"
    assert guest.knob_writes() == []
    result = guest.ctl("status", check=False)
    assert "systemctl enable" in result.stdout + result.stderr
    assert [note["id"] for note in guest.status()["notes"]] == ["not-started"]
    result = guest.ctl("wait", check=False)
    assert result.returncode == 1 and "systemctl enable" in result.stderr


# --- late starts ---

@pytest.mark.parametrize("suite", ["bookworm", "trixie"])
def test_cases_11_and_33_enabled_hours_after_boot(container, suite):
    guest = container(enable=(), uptime=HOURS, suite=suite)
    guest.wait_booted()
    guest.run("systemctl enable --now rcu-boot-end")
    status = assert_ended(guest, "late-start", expedited=False)
    assert status["since_usec"] >= HOURS * 1_000_000 > status["deadline_usec"]
    assert status["exit_code"] == 0
    guest.reboot()
    status = assert_late_again(guest)
    assert reached(status) == {}


def assert_late_again(guest):
    """The harness gives each boot of this guest the same late clock: the deadline has passed when the daemon starts."""
    guest.wait_booted()
    status = wait_ended(guest)
    assert status["reason"] == "late-start"
    guest.wait_for(lambda: {write.value for write in guest.knob_writes("rcu_expedited")} == {"0"}, "the write of 0")
    return status


def test_case_11_all_was_reached_before(container):
    """Before the deadline, but booted: nothing is expedited, not for an instant."""
    guest = container(enable=())
    guest.wait_booted()
    guest.run("systemctl enable --now rcu-boot-end")
    status = assert_ended(guest, "late-start", expedited=False)
    assert reached(status) == {"default.target": "bus"}


def test_case_11_with_knobs_left_expedited(container):
    """Somebody had set them by hand: after values it is."""
    guest = container(enable=(), uptime=HOURS, knobs={"rcu_expedited": "1", "user_booted": "0"})
    guest.wait_booted()
    guest.run("systemctl start rcu-boot-end")
    assert_ended(guest, "late-start", expedited=False)
    assert guest.knob("user_booted") == "1"


def test_started_late_but_not_too_late(container, tree):
    """The system is up, but what the policy waits for is not there yet: this boot goes on."""
    use_policy(tree, "home-screen")
    guest = container(enable=())
    guest.wait_booted()
    guest.run("systemctl start rcu-boot-end")
    guest.wait_for(lambda: guest.knob("rcu_expedited") == "1", "expediting to begin")
    assert guest.status()["phase"] == "booting"
    guest.ctl("milestone", "home-screen")
    assert_ended(guest, "milestones")


# --- stopping and starting ---

def test_stopped_while_booting(container, tree):
    """The machine must not stay expedited because someone stopped the unit; and starting it again changes nothing."""
    tree.hold("here", before="basic.target")
    guest = container()
    guest.wait_held("here")
    guest.wait_for(lambda: guest.knob("rcu_expedited") == "1", "expediting to begin")
    guest.run("systemctl stop rcu-boot-end")
    status = assert_ended(guest, "stopped", active="inactive")
    assert status["missing"] == ["default.target"]
    guest.run("systemctl start rcu-boot-end")
    guest.release("here")
    guest.wait_booted()
    again = assert_ended(guest, "stopped")
    assert again["since_usec"] == status["since_usec"]
    assert guest.output("systemctl --failed --no-legend --plain") == ""


def test_restarted_while_booting(container, tree):
    tree.hold("here", before="basic.target")
    guest = container()
    guest.wait_held("here")
    guest.wait_for(lambda: guest.knob("rcu_expedited") == "1", "expediting to begin")
    guest.run("systemctl restart rcu-boot-end")
    assert_ended(guest, "stopped")
    guest.release("here")
    guest.wait_booted()
    assert_ended(guest, "stopped")


@pytest.mark.parametrize("signal", ["TERM", "INT"])
def test_signalled_while_booting(container, tree, signal):
    tree.hold("here", before="basic.target")
    guest = container()
    guest.wait_held("here")
    guest.wait_for(lambda: guest.knob("rcu_expedited") == "1", "expediting to begin")
    guest.run(f"kill -{signal} $(pidof rcu-bootd)")
    assert_ended(guest, "stopped")
    guest.release("here")


def test_shut_down_while_booting(container, tree):
    """Somebody powers off in mid-boot: an orderly stop, in the after state, and nothing waits for the daemon."""
    tree.hold("here", before="basic.target")
    guest = container()
    guest.wait_held("here")
    guest.wait_for(lambda: guest.knob("rcu_expedited") == "1", "expediting to begin")
    path, writes = guest.knob_path("rcu_expedited"), guest.knob_writes
    guest.run("systemctl --no-block poweroff", check=False)
    guest.wait_for(lambda: [write.value for write in writes("rcu_expedited")][-1:] == ["0"], "the end")
    assert path.read_text(encoding="ascii").strip() == "0"
    guest.wait_down()


def test_case_12_after_the_end(container):
    """Whatever is done to the unit after the end: no daemon of this boot expedites again."""
    guest = container()
    first = assert_ended(guest, "milestones")
    for verb in ("restart", "try-restart", "reload-or-restart", "start", "stop", "start", "stop"):
        guest.run(f"systemctl {verb} rcu-boot-end")
        status = assert_ended(guest, "milestones", active="inactive" if verb == "stop" else "active")
        assert status["since_usec"] == first["since_usec"]


def test_case_12_run_by_hand_after_the_end(container):
    guest = container()
    assert_ended(guest, "milestones")
    for _ in range(3):
        assert guest.run("rcu-bootd --foreground-log").returncode == 0
    guest.run("rm -rf /run/rcu-bootd/milestones")
    guest.run("rcu-bootd")
    assert_ended(guest, "milestones")


def test_second_daemon_is_refused(container, tree):
    tree.hold("here", before="basic.target")
    guest = container()
    guest.wait_held("here")
    wait_booting(guest)
    pid = guest.show(UNIT, "MainPID")["MainPID"]
    result = guest.run("rcu-bootd --foreground-log", check=False)
    assert result.returncode == 1
    assert f"nother rcu-bootd (PID {pid})" in result.stderr
    # Not even its ExecStopPost= disturbs the one that lives.
    assert guest.run("SERVICE_RESULT=exit-code rcu-bootd --post-stop").returncode == 0
    assert guest.status()["phase"] == "booting"
    guest.release("here")
    assert_ended(guest, "milestones")


def test_state_that_cannot_be_understood(container, tree):
    """What an earlier daemon left is damaged: boot ends, rather than anything be guessed."""
    tree.hold("here", before="basic.target")
    guest = container()
    guest.wait_held("here")
    guest.wait_for(lambda: guest.knob("rcu_expedited") == "1", "expediting to begin")
    guest.run("P=$(pidof rcu-bootd); kill -STOP $P && echo PHASE=nonsense >/run/rcu-bootd/state && kill -KILL $P")
    # It is the dead daemon's ExecStopPost= that finds it.
    guest.wait_for(lambda: guest.state().get("PHASE") == "ended", "boot to be ended")
    status = assert_ended(guest, "daemon-died", restarts=1)
    assert status["policy"]["file"] == "(built in)"
    guest.release("here")
    guest.wait_booted()
    assert_ended(guest, "daemon-died", restarts=1)


def test_state_of_another_program(container, tree):
    """Something else had put a file there before the daemon first started."""
    tree.service("vandal", "mkdir -p /run/rcu-bootd; echo hello >/run/rcu-bootd/state", wanted_by="sysinit.target",
                 unit=f"DefaultDependencies=no\nBefore={UNIT}")  # fmt: skip
    guest = container()
    guest.wait_booted()
    assert_ended(guest, "state-invalid", expedited=False)


# --- containers ---

@pytest.mark.parametrize("suite", ["bookworm", "trixie"])
def test_case_7_skipped_in_a_container(container, tree, suite):
    """As shipped, in a container as it is: skipped, not failed; and who waits for the end of boot is not held up."""
    tree.service("workload", "/usr/lib/rcu-test/event workload", wanted_by="multi-user.target",
                 unit="Wants=rcu-boot-wait.service\nAfter=rcu-boot-wait.service")  # fmt: skip
    guest = container(unconditional=False, readonly=True, suite=suite)
    guest.wait_booted()
    guest.wait_event("workload")
    assert guest.show(UNIT, "ActiveState", "ConditionResult", "Result") == {
        "ActiveState": "inactive", "ConditionResult": "no", "Result": "success"}  # fmt: skip
    assert guest.show("rcu-boot-wait.service", "ActiveState", "ConditionResult") == {
        "ActiveState": "inactive", "ConditionResult": "no"}  # fmt: skip
    assert guest.output("systemctl is-system-running") == "running"
    assert guest.knob_writes() == []


# --- around the unit ---

def test_runtime_directory(container):
    """No tmpfiles.d snippet is needed: the daemon makes its run-time directory itself, for all to read."""
    guest = container()
    guest.wait_booted()
    assert_ended(guest, "milestones")
    listing = guest.output("stat -c '%A %U %n' /run/rcu-bootd /run/rcu-bootd/milestones /run/rcu-bootd/state")
    assert listing.splitlines() == [
        "drwxr-xr-x root /run/rcu-bootd", "drwxr-xr-x root /run/rcu-bootd/milestones",
        "-rw-r--r-- root /run/rcu-bootd/state"]  # fmt: skip
    assert not guest.ok("test -e /run/rcu-bootd/notify"), "the inbox is there only while somebody reads it"


def test_drop_in_with_options(container, tree):
    """An administrator's own ExecStart=, with a policy of choice."""
    tree.write("etc/chosen.policy", policy("multi-user.target", boot=["DeadlineSec=77"]))
    tree.dropin(UNIT, "override", "[Service]\nExecStart=\nExecStart=/usr/sbin/rcu-bootd --policy=/etc/chosen.policy\n")
    guest = container()
    guest.wait_booted()
    status = assert_ended(guest, "milestones")
    assert (status["policy"]["file"], status["deadline_usec"]) == ("/etc/chosen.policy", 77_000_000)
    assert reached(status) == {"multi-user.target": "bus"}
