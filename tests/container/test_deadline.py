# SPDX-License-Identifier: LGPL-2.1-or-later
"""What never comes: the deadline, and shells that are no booted system."""

import pytest

from guest.scenario import (
    MESSAGE_ID,
    UNIT,
    assert_ended,
    deadline_soon,
    reached,
    use_policy,
    values_written,
    wait_booting,
)

SUITES = pytest.mark.parametrize("suite", ["bookworm", "trixie"])


def deadline_entry(guest):
    guest.run("journalctl --sync")
    (entry,) = guest.journal(MESSAGE_ID=MESSAGE_ID["DEADLINE"])
    assert guest.journal(MESSAGE_ID=MESSAGE_ID["ENDED"]) == []
    return entry


# --- the deadline ---

@SUITES
def test_case_10_stuck_job(container, tree, suite):
    """A job that never ends: start-up never finishes, and the warning names what was missing and who waits."""
    tree.hold("stuck", before="multi-user.target", wanted_by="multi-user.target", after="basic.target")
    deadline_soon(use_policy(tree, "basic.target multi-user.target graphical.target"))
    guest = container(suite=suite)
    status = assert_ended(guest, "deadline")
    assert reached(status) == {"basic.target": "bus"}
    assert status["missing"] == ["multi-user.target", "graphical.target"]
    assert "deadline" in [note["id"] for note in status["notes"]] and status["exit_code"] == 0
    assert guest.active("multi-user.target") == "inactive"

    entry = deadline_entry(guest)
    assert entry["PRIORITY"] == "4" and entry["RCU_BOOT_REASON"] == "deadline"
    assert entry["RCU_BOOT_MISSING"] == "multi-user.target graphical.target"
    jobs = entry["RCU_BOOT_PENDING_JOBS"].split()
    assert jobs[0] == "rcu-test-hold-stuck.service/start", "what runs comes before what waits for it"
    assert {"multi-user.target/start", "graphical.target/start"} <= set(jobs) and len(jobs) <= 16
    assert "multi-user.target" in entry["MESSAGE"] and "rcu-test-hold-stuck.service" in entry["MESSAGE"]
    assert "rcu-test-hold-stuck.service" in guest.output("rcu-bootctl log")
    guest.release("stuck")


def test_case_10_without_dbus(container, tree):
    """Nobody can tell of the jobs; the rest is the same."""
    tree.hold("here", before="multi-user.target", wanted_by="multi-user.target", after="basic.target")
    deadline_soon(use_policy(tree, "multi-user.target"))
    guest = container(dbus=False)
    guest.wait_held("here")
    status = assert_ended(guest, "deadline")
    entry = deadline_entry(guest)
    assert entry["RCU_BOOT_MISSING"] == "multi-user.target" and "RCU_BOOT_PENDING_JOBS" not in entry
    # What comes later is late.
    guest.release("here")
    guest.wait_booted()
    guest.ctl("milestone", "multi-user.target")
    assert guest.status()["milestones"] == status["milestones"]


def test_case_15_target_that_nothing_pulls_in(container, tree):
    """boot-complete.target is there, and normally inactive: `policy check` warns, the deadline ends boot."""
    deadline_soon(use_policy(tree, "boot-complete.target"))
    guest = container()
    guest.wait_booted()
    check = guest.ctl("policy", "check", check=False)
    assert check.returncode == 0 and "boot-complete.target" in check.stdout + check.stderr
    assert assert_ended(guest, "deadline")["missing"] == ["boot-complete.target"]
    # Systems that do boot with it are fine.
    guest.run("systemctl start boot-complete.target")


def test_nothing_signals(container, tree):
    deadline_soon(use_policy(tree, "home-screen"))
    guest = container()
    guest.wait_booted()
    status = assert_ended(guest, "deadline")
    assert status["since_usec"] >= status["deadline_usec"]
    assert "RCU_BOOT_PENDING_JOBS" not in deadline_entry(guest), "start-up had finished: there were none"


def test_case_33_deadline_before_the_start(container, tree):
    """The daemon starts when the deadline has passed: nothing is expedited."""
    use_policy(tree, "home-screen", boot=["DeadlineSec=500ms"])
    guest = container()
    guest.wait_booted()
    assert_ended(guest, "late-start", expedited=False)


def test_extended(container, tree):
    """Somebody who knows asks for more time before the deadline; the kernel's own knob follows as far as it goes."""
    deadline_soon(
        use_policy(tree, "home-screen", during=["rcu_expedited=1", "rcu_boot_end_delay=deadline"],
                   after=["rcu_expedited=0", "rcu_boot_end_delay=0"]), 60)  # fmt: skip
    guest = container(knobs={"rcu_boot_end_delay": "15000"})
    wait_booting(guest)
    before = guest.status()["deadline_usec"]
    guest.ctl("extend", "1s")
    assert guest.status()["deadline_usec"] == before, "never shorter"
    guest.ctl("extend", "100s")
    status = guest.status()
    assert status["deadline_usec"] > before and status["deadline_extended"] is True
    assert guest.knob("rcu_boot_end_delay") == str(status["deadline_usec"] // 1000)
    guest.ctl("extend", "30min")
    assert guest.knob("rcu_boot_end_delay") == str(status["deadline_usec"] // 1000), "beyond what the kernel takes"
    result = guest.ctl("extend", "1h", check=False)
    assert result.returncode == 1 and "an hour" in result.stderr
    assert guest.status()["deadline_usec"] == 3600_000_000, "never later than an hour after the kernel's start"
    guest.run("journalctl --sync")
    assert len(guest.journal(MESSAGE_ID=MESSAGE_ID["EXTENDED"])) == 3
    guest.ctl("milestone", "home-screen")
    assert_ended(guest, "milestones")
    assert guest.ctl("extend", "10s", check=False).returncode == 1


def test_not_before(container, tree):
    """All was reached at once, but the policy wants boot to last a while."""
    use_policy(tree, "basic.target", boot=["NotBeforeSec=7"])
    guest = container()
    guest.wait_booted()
    status = assert_ended(guest, "milestones")
    assert status["since_usec"] >= 7_000_000 == status["not_before_usec"]
    assert reached(status) == {"basic.target": "bus"}


# --- rescue shells (case 13) ---

@SUITES
@pytest.mark.parametrize("shell", ["rescue", "emergency"])
def test_case_13_booted_into_a_shell(container, suite, shell):
    """The system is in a shell from the start, then the administrator continues."""
    guest = container(unit=f"{shell}.target", suite=suite)
    guest.wait_booted()
    guest.wait_for(lambda: guest.active(f"{shell}.service") == "active", "the shell")
    if guest.active(UNIT) != "active":
        # emergency.target does not pull in sysinit.target: no daemon, nothing expedited.
        assert shell == "emergency" and guest.knob_writes() == []
    else:
        wait_booting(guest)
        assert guest.knob("rcu_expedited") == "1"
    guest.run("systemctl default")
    assert_ended(guest, "milestones")


@pytest.mark.parametrize("shell", ["rescue", "emergency"])
def test_case_13_into_a_shell_and_on(container, tree, shell):
    """In mid-boot, with all reached that the policy waits for: not booted while the shell is there."""
    use_policy(tree, "home-screen")
    tree.hold("here", before="multi-user.target", wanted_by="multi-user.target", after="basic.target")
    guest = container()
    guest.wait_held("here")
    wait_booting(guest)
    guest.run(f"systemctl --no-block isolate {shell}.target")
    guest.wait_until(f"systemctl is-active {shell}.service")
    guest.ctl("milestone", "home-screen")
    assert reached(guest.status()) == {"home-screen": "inbox"}
    assert guest.status()["phase"] == "booting" and guest.knob("rcu_expedited") == "1"
    guest.run("systemctl --no-block default")
    assert_ended(guest, "milestones")


@SUITES
@pytest.mark.parametrize("shell", ["rescue", "emergency"])
def test_case_13_shell_that_fails(container, tree, suite, shell):
    """A shell that cannot be run leaves nothing by which it would be taken for one that is open."""
    use_policy(tree, "home-screen")
    tree.dropin(f"{shell}.service", "fails", "[Service]\nType=exec\nExecStartPre=\nExecStart=\nExecStart=/bin/false\n")
    guest = container(suite=suite)
    wait_booting(guest)
    guest.run(f"systemctl start {shell}.service", check=False)
    guest.wait_for(lambda: guest.active(f"{shell}.service") == "failed", "the shell to fail")
    guest.ctl("milestone", "home-screen")
    assert_ended(guest, "milestones")


@SUITES
def test_case_13_processes_left_behind(container, tree, suite):
    """What the shell left in the background keeps the system unbooted until it has gone (rcu-bootd(8))."""
    use_policy(tree, "home-screen")
    procs = "/sys/fs/cgroup/system.slice/rescue.service/cgroup.procs"
    guest = container(suite=suite)
    guest.wait_booted()
    guest.run("systemctl --no-block isolate rescue.target")
    guest.wait_until("systemctl is-active rescue.service")
    guest.run(f"sleep 600 >/dev/null 2>&1 & echo $! >{procs}; echo $! >/run/left-behind")
    guest.run("systemctl --no-block default")
    guest.wait_until(f"systemctl is-active multi-user.target && test \"$(cat {procs})\" = \"$(cat /run/left-behind)\"")
    guest.ctl("milestone", "home-screen")
    assert guest.status()["phase"] == "booting"
    guest.run("kill $(cat /run/left-behind)")
    assert_ended(guest, "milestones")


@pytest.mark.parametrize("shell", ["rescue", "emergency"])
def test_case_13_end_by_hand_in_a_shell(container, tree, shell):
    tree.dropin("emergency.target", "daemon", f"[Unit]\nWants={UNIT}\n")
    guest = container(unit=f"{shell}.target")
    wait_booting(guest)
    guest.wait_for(lambda: guest.active(f"{shell}.service") == "active", "the shell")
    guest.ctl("end", "--reason=repairing takes a while")
    assert assert_ended(guest, "manual")["reason_text"] == "repairing takes a while"


def test_case_13_deadline_holds_in_a_shell(container, tree):
    deadline_soon(use_policy(tree, "sysinit.target"))
    guest = container(unit="rescue.target")
    guest.wait_booted()
    assert_ended(guest, "deadline")
    assert guest.active("rescue.service") == "active"


def test_case_13_local_file_system_fails(container, tree):
    """A file system that cannot be mounted: systemd itself goes into emergency mode, without sysinit.target."""
    tree.unit("broken.mount", "[Mount]\nWhat=/nonexistent\nWhere=/broken\nType=ext4\n"
              "[Unit]\nBefore=local-fs.target\n")  # fmt: skip
    tree.symlink("etc/systemd/system/local-fs.target.requires/broken.mount", "../broken.mount")
    guest = container()
    guest.wait_until("systemctl is-active emergency.service")
    if guest.active(UNIT) == "active":
        wait_booting(guest)
        assert values_written(guest, "rcu_expedited") == ["1"]
    guest.run("rm /etc/systemd/system/local-fs.target.requires/broken.mount")
    guest.run("systemctl daemon-reload && systemctl default")
    assert_ended(guest, "milestones")
