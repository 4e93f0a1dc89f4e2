# SPDX-License-Identifier: LGPL-2.1-or-later
"""Scenario (a): enabled, and nothing else done, on the kernel's own knobs.

A guest's clock counts executed instructions (vm.py), so that the shipped policy's deadline of a minute means the same
on any machine, however slowly it emulates.
"""

from types import SimpleNamespace

import pytest

from guest.evidence import (
    TRACED, active_at, assert_over, audit, be_patient, expedited_now, finish, stores, wait_booting,
)  # fmt: skip
from guest.scenario import POLICY_DIR, UNIT, reached, wait_ended


@pytest.fixture(scope="module", name="boot", params=["6.1", "6.12"])
def fixture_boot(request, shared_vm):
    """One plain boot of Debian 12 on each of its kernels, and what is known of it afterwards."""
    guest = shared_vm(kernel=request.param)
    guest.wait_booted()
    wait_ended(guest)
    times = active_at(guest, "sysinit.target", "dbus.socket", "multi-user.target", "graphical.target")
    text = guest.output("rcu-bootctl status", user="mallory")
    return SimpleNamespace(report=guest.finish(), times=times, text_for_others=text)


def test_a_policy_for_virtual_machines(boot):
    """Firmware and CPU of an emulated PC say that it is virtual: 70-vm.policy."""
    status = boot.report.json()
    assert status["policy"]["name"] == "70-vm.policy"
    assert status["policy"]["file"] == "/usr/lib/rcu-bootd/policy.d/70-vm.policy"
    assert "Virtualization=vm" in status["policy"]["why"]
    assert (status["deadline_usec"], status["deadline_extended"]) == (60_000_000, False)


def test_a_expedited_while_booting(boot):
    """The kernel's trace: 1 before there is a system at all, 0 when it is up, and nothing after."""
    assert_over(boot.report, "milestones", ["rcu_expedited=1", "rcu_expedited=0"])
    begin, end = boot.report.knob_writes()
    assert begin.usec < boot.times["sysinit.target"] and begin.usec < boot.times["dbus.socket"]
    assert begin.usec > int(boot.report.manager["UnitsLoadFinishTimestampMonotonic"])
    assert end.usec > boot.times["graphical.target"] >= boot.times["multi-user.target"]
    assert boot.report.knobs["rcu_expedited"] == "0" and boot.report.knobs["rcu_normal"] == "0"


def test_a_milestone(boot):
    """default.target is an alias; PID 1 tells of graphical.target over the bus, which came up after the daemon."""
    status = boot.report.json()
    assert reached(status) == {"default.target": "bus"}
    assert status["missing"] == []
    (milestone,) = status["milestones"]
    assert status["daemon"]["started_usec"] < boot.times["dbus.socket"]
    assert boot.times["graphical.target"] <= milestone["reached_usec"] <= boot.report.knob_writes()[-1].usec


def test_a_audit(boot):
    """One entry a transition, each with all its fields; none is a warning (looked at above)."""
    report = boot.report
    policy = {"RCU_BOOT_POLICY": "70-vm.policy", "RCU_BOOT_POLICY_FILE": "/usr/lib/rcu-bootd/policy.d/70-vm.policy"}
    (started,) = audit(report, "STARTED")
    (milestone,) = audit(report, "MILESTONE")
    (ended,) = audit(report, "ENDED")
    first, last = audit(report, "KNOB_WRITTEN")
    knob = {"RCU_BOOT_KNOB": "rcu_expedited", "RCU_BOOT_KNOB_PATH": "/sys/kernel/rcu_expedited"}
    for entry, fields in (
        (started, {"RCU_BOOT_PHASE": "booting", "RCU_BOOT_MISSING": "default.target", "PRIORITY": "6",
                   "RCU_BOOT_DEADLINE_USEC": "60000000"}),
        (first, {**knob, "RCU_BOOT_KNOB_BEFORE": "0", "RCU_BOOT_KNOB_ASKED": "1", "RCU_BOOT_KNOB_READ_BACK": "1"}),
        (milestone, {"RCU_BOOT_MILESTONE": "default.target", "RCU_BOOT_SOURCE": "bus"}),
        (last, {**knob, "RCU_BOOT_KNOB_BEFORE": "1", "RCU_BOOT_KNOB_ASKED": "0", "RCU_BOOT_KNOB_READ_BACK": "0"}),
        (ended, {"RCU_BOOT_PHASE": "ended", "RCU_BOOT_REASON": "milestones", "RCU_BOOT_MODE": "default",
                 "PRIORITY": "5"}),
    ):  # fmt: skip
        wanted = {**policy, **fields, "_SYSTEMD_UNIT": UNIT, "_COMM": "rcu-bootd"}
        assert wanted.items() <= entry.items()
    assert len({entry["_PID"] for entry in report.journal(SYSLOG_IDENTIFIER="rcu-bootd")}) == 1


def test_a_status(boot):
    report, status = boot.report, boot.report.json()
    assert report.rc("status") == report.rc("status.json") == status["exit_code"] == 0
    assert (status["mode"], status["mode_at_end"], status["drift"]) == ("default", "default", False)
    assert status["notes"] == []
    assert status["daemon"]["starts"] == 1
    knobs = {knob["name"]: knob for knob in status["knobs"]}
    expedited = knobs["rcu_expedited"]
    assert (expedited["path"], expedited["before"], expedited["now"]) == ("/sys/kernel/rcu_expedited", 0, 0)
    assert expedited["during"] == {"setting": "1", "written": 1, "read_back": 1, "errno": 0}
    assert expedited["after"] == {"setting": "0", "written": 0, "read_back": 0, "errno": 0}
    assert knobs["rcu_normal"]["during"]["written"] is None and knobs["rcu_normal"]["after"]["written"] is None
    # What stock kernels have not is skipped, and said.
    for name in ("rcu_boot_end_delay", "user_booted"):
        assert (knobs[name]["present"], knobs[name]["path"], knobs[name]["after"]["written"]) == (False, None, None)
    for text in (report.text("status"), boot.text_for_others):
        assert "has ended" in text and "milestones" in text and "70-vm.policy" in text
        assert text.count("not in this kernel") >= 2


def test_a_log(boot):
    entries = boot.report.json("log.json")
    kinds = [entry["kind"] for entry in entries]
    assert kinds == ["started", "knob-written", "milestone", "knob-written", "ended"]
    assert len(boot.report.text("log").splitlines()) == len(entries)
    times = [entry["boottime_usec"] for entry in entries]
    assert times == sorted(times)
    assert (entries[-1]["reason"], entries[-1]["mode"]) == ("milestones", "default")


def test_a_nothing_is_left(boot):
    """What stays is a state file."""
    report = boot.report
    assert report.processes("rcu-bootd") == [] and report.processes("rcu-bootctl") == []
    assert report.failed == [] and report.text("jobs") == ""
    assert report.manager["SystemState"] == "running"
    assert (report.show["NRestarts"], report.show["ExecMainStatus"], report.show["MainPID"]) == ("0", "0", "0")


def test_a_default_policy_m_expedited_by_the_command_line(vm, tree):
    """(a) where 99-default.policy is the policy, and (m) a kernel booted with rcupdate.rcu_expedited=1: the same end.

    Looked at from inside, before D-Bus is up. Then Debian 13's soft-reboot: user space starts anew, the kernel does
    not, so its boot does not begin a second time (as in case 12).
    """
    tree.symlink(f"{POLICY_DIR}/70-vm.policy", "/dev/null")
    be_patient(tree, "99-default")
    tree.hold("here", before="basic.target")
    guest = vm(suite="trixie", kernel="6.12", cmdline="rcupdate.rcu_expedited=1")
    guest.wait_held("here")
    wait_booting(guest)
    status = guest.status()
    assert (status["policy"]["name"], status["exit_code"], status["mode"]) == ("99-default.policy", 3, "expedited")
    assert (status["missing"], status["daemon"]["running"]) == (["default.target"], True)
    assert guest.active("dbus.service") == "inactive"
    assert expedited_now(guest) == "1"
    guest.release("here")
    guest.wait_booted()
    first = wait_ended(guest)

    guest.soft_reboot()
    guest.wait_booted()
    report = finish(guest)
    status = assert_over(report, "milestones", ["rcu_expedited=1", "rcu_expedited=0"])
    assert status["since_usec"] == first["since_usec"]
    assert reached(status) == {"default.target": "bus"}
    assert (status["mode_at_end"], status["mode"], status["notes"]) == ("default", "default", [])
    knobs = {knob["name"]: knob["before"] for knob in status["knobs"]}
    assert [knobs[name] for name in TRACED] == [1, 0]
    assert int(report.manager["SoftRebootsCount"]) == 1
    assert stores(report) == ["rcu_expedited=1", "rcu_expedited=0"]
