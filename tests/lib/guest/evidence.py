# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a VM's boot left behind, checked against each other: the kernel's trace, the journal, state and status."""

from .scenario import MESSAGE_ID, POLICY_DIR, UNIT, wait_ended

# The knobs whose stores are traced, see vm.py.
TRACED = ("rcu_expedited", "rcu_normal")

# An emulated boot on a busy machine takes minutes. Where a scenario is not about the deadline, it must not come first.
PATIENT = ("DeadlineSec=1800",)


def be_patient(tree, policy):
    """The installed @policy, with more time than it allows a real machine. (The kernel's timer takes 120 s at most.)"""
    return tree.write(
        f"{POLICY_DIR}/{policy}.policy.d/patience.conf",
        "[Boot]\nDeadlineSec=1800\n[During]\nrcu_boot_end_delay=120000\n",
    )


def wait_booting(guest, **state):
    """Waits for a daemon that waits, and for what else the state file is to say; returns the state."""
    wanted = {"PHASE": "booting", **state}

    def look():
        found = guest.state()
        return found if wanted.items() <= found.items() else None

    return guest.wait_for(look, f"the state {wanted}")


def expedited_now(guest):
    """What the kernel's knob says now."""
    return guest.output("cat /sys/kernel/rcu_expedited")


def active_at(guest, *units):
    """unit -> when it became active, in usec since the kernel started.

    CLOCK_MONOTONIC, which is CLOCK_BOOTTIME on a machine that was not suspended.
    """
    name = "ActiveEnterTimestampMonotonic"
    return {unit: int(shown[name]) for unit, shown in guest.show_units(units, name).items()}


def finish(guest):
    """Waits for the end of RCU's boot and of the daemon, and gathers the Report."""
    wait_ended(guest)
    return guest.finish()


def audit(report, kind):
    """The daemon's journal entries of a kind (STARTED, ENDED, ...), oldest first."""
    return report.journal(MESSAGE_ID=MESSAGE_ID[kind], SYSLOG_IDENTIFIER="rcu-bootd", _UID="0")


def stores(report):
    """What was stored to the traced knobs by anyone, in order, as "KNOB=VALUE"."""
    return [f"{write.knob}={write.value}" for write in report.knob_writes()]


def assert_over(report, reason, wanted, *, failed=(), warnings=()):
    """What is true after every boot. @wanted: all stores to knobs since the kernel started, as stores() gives them;
    @failed: units; @warnings: kinds of audit entry at WARNING or above. Returns the status (JSON)."""
    status = report.json()
    assert (report.state["PHASE"], report.state["REASON"]) == ("ended", reason)
    assert (status["phase"], status["reason"]) == ("ended", reason)
    assert stores(report) == wanted
    assert {write.comm for write in report.knob_writes()} <= {"rcu-bootd"}

    # Nothing stays.
    assert status["daemon"]["running"] is False
    assert report.processes("rcu-bootd") == []
    assert (report.show["ActiveState"], report.show["SubState"], report.show["Result"]) == (
        "active", "exited", "success")  # fmt: skip
    assert sorted(report.failed) == sorted(failed)

    _assert_audited(report, reason, warnings)
    return status


def _assert_audited(report, reason, warnings):
    """Every store is in the journal, with its process and not before it was decided; and so is the end, once."""
    (end,) = audit(report, "DEADLINE" if reason == "deadline" else "ENDED")
    assert (end["RCU_BOOT_PHASE"], end["RCU_BOOT_REASON"]) == ("ended", reason)
    assert int(end["RCU_BOOT_BOOTTIME_USEC"]) >= int(report.state["SINCE_USEC"])
    assert end["RCU_BOOT_POLICY"] == report.state["POLICY"]

    written = [entry for entry in audit(report, "KNOB_WRITTEN") if entry["RCU_BOOT_KNOB"] in TRACED]
    assert [f"{entry['RCU_BOOT_KNOB']}={entry['RCU_BOOT_KNOB_ASKED']}" for entry in written] == stores(report)
    for entry, write in zip(written, report.knob_writes()):
        assert entry["RCU_BOOT_KNOB_READ_BACK"] == write.value
        assert int(entry["_PID"]) == write.pid
        assert int(entry["RCU_BOOT_BOOTTIME_USEC"]) <= write.usec

    loud = [entry for entry in report.journal(SYSLOG_IDENTIFIER="rcu-bootd") if int(entry["PRIORITY"]) <= 4]
    assert [entry.get("MESSAGE_ID") for entry in loud] == [MESSAGE_ID[kind] for kind in warnings], loud
    assert report.show["Id"] == UNIT
