# SPDX-License-Identifier: LGPL-2.1-or-later
"""Scenarios (h), (i), (j): the daemon killed, a rescue shell, a start when all is over."""

from guest.evidence import PATIENT, assert_over, audit, be_patient, expedited_now, finish, stores, wait_booting
from guest.scenario import UNIT, reached, use_policy, wait_ended

BEGUN_AND_ENDED = ["rcu_expedited=1", "rcu_expedited=0"]


def kill(guest):
    """Kills the daemon as the kernel's OOM killer would."""
    guest.run(f"kill -KILL $(systemctl show --value -p MainPID {UNIT})")


def test_h_killed_once(vm, tree):
    """SIGKILL in mid-boot, before D-Bus is up: the next daemon goes on from the state file, and ends boot as the first
    would have. No daemon writes a second 1; nor does one that is started after the end (case 12)."""
    be_patient(tree, "70-vm")
    tree.hold("here", before="basic.target")
    guest = vm(kernel="6.12")
    guest.wait_held("here")
    first = wait_booting(guest, STARTS="1")
    kill(guest)
    second = wait_booting(guest, STARTS="2")
    for key in ("STARTED_USEC", "DEADLINE_USEC", "POLICY", "KNOB_rcu_expedited"):
        assert first[key] == second[key]
    assert expedited_now(guest) == "1"
    guest.release("here")
    guest.wait_booted()
    status = wait_ended(guest)
    assert (status["reason"], status["daemon"]["starts"]) == ("milestones", 2)

    guest.run(f"systemctl restart {UNIT}")
    report = finish(guest)
    again = assert_over(report, "milestones", BEGUN_AND_ENDED)
    assert again["since_usec"] == status["since_usec"]
    assert reached(again) == {"default.target": "bus"}
    begin, end = report.knob_writes()
    started = audit(report, "STARTED")
    assert [int(entry["_PID"]) for entry in started] == [begin.pid, end.pid] and begin.pid != end.pid


def test_h_killed_for_good(vm, tree):
    """It dies and dies: after the third death ExecStopPost= ends boot, at once and long before the deadline."""
    be_patient(tree, "70-vm")
    tree.hold("here", before="basic.target")
    guest = vm(kernel="6.1")
    guest.wait_held("here")
    for start in ("1", "2", "3"):
        wait_booting(guest, STARTS=start)
        assert expedited_now(guest) == "1"
        kill(guest)
    status = wait_ended(guest)
    assert status["reason"] == "daemon-died"
    assert expedited_now(guest) == "0"
    assert guest.active("basic.target") == "inactive", "boot itself was to be held still"
    guest.release("here")
    guest.wait_booted()
    report = finish(guest)
    assert_over(report, "daemon-died", BEGUN_AND_ENDED)
    pids = {int(entry["_PID"]) for entry in audit(report, "STARTED")}
    assert len(pids) == 3 and report.knob_writes()[-1].pid not in pids


def test_i_rescue_e_pid1_command_line_debian_12(vm, tree):
    """(i), case 13: booted into rescue.target, where PID 1 says that start-up has finished, and it is not so. (e): it
    says so on the socket that the kernel command line names, as there is no D-Bus."""
    use_policy(tree, "startup-finished", boot=PATIENT)
    guest = vm(kernel="6.1", dbus=False, cmdline="systemd.unit=rescue.target NOTIFY_SOCKET=/run/rcu-bootd/notify")
    guest.wait_until("systemctl is-active --quiet rescue.target")
    guest.wait_for(lambda: reached(guest.status()), "PID 1 to say that start-up has finished")
    assert guest.ctl("wait", "--timeout=4", check=False).returncode == 3, "no shell for rescue is a booted system"
    status = guest.status()
    assert (status["phase"], reached(status), status["missing"]) == ("booting", {"startup-finished": "pid1"}, [])
    assert expedited_now(guest) == "1"
    assert guest.active("rescue.service") == "active"

    guest.run("systemctl --no-block default")
    status = wait_ended(guest)
    guest.wait_until("systemctl is-active --quiet graphical.target")
    report = finish(guest)
    assert_over(report, "milestones", BEGUN_AND_ENDED)
    (milestone,) = status["milestones"]
    assert milestone["reached_usec"] < status["since_usec"]


def test_j_enabled_after_boot_n_normal_after_boot(vm):
    """(j), case 11: enabled and started on a system that is up: the after values, never those for boot. (n): this
    kernel was booted with rcupdate.rcu_normal_after_boot=1, and the policy has no say in that."""
    guest = vm(kernel="6.1", enable=(), cmdline="rcupdate.rcu_normal_after_boot=1")
    guest.wait_booted()
    status = guest.status()
    assert (status["phase"], [note["id"] for note in status["notes"]]) == (None, ["not-started"])
    assert (status["mode"], status["exit_code"]) == ("normal", 1)
    guest.run("systemctl enable --now rcu-boot-end")
    report = finish(guest)
    status = assert_over(report, "late-start", ["rcu_expedited=0"])
    assert (status["mode_at_end"], status["mode"]) == ("normal", "normal")
    assert report.knobs["rcu_normal"] == "1"
    assert audit(report, "STARTED") == []
    knob = {one["name"]: one for one in status["knobs"]}["rcu_expedited"]
    assert (knob["during"]["written"], knob["after"]["written"]) == (None, 0)
    assert stores(report) == ["rcu_expedited=0"]
