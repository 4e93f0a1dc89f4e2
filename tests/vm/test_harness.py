# SPDX-License-Identifier: LGPL-2.1-or-later
"""The VM harness itself, with a stand-in for rcu-bootd: what the scenarios beside this file rely on."""

import pytest

GUESTS = [("6.12", "bookworm", "252"), ("6.1", "bookworm", "252"), ("6.12", "trixie", "257")]


@pytest.mark.parametrize("kernel, suite, systemd", GUESTS, ids=["6.12-bookworm", "6.1-bookworm", "6.12-trixie"])
def test_boots_and_reports(vm, tree, kernel, suite, systemd):
    early = "echo 1 >/sys/kernel/rcu_expedited; /usr/lib/rcu-test/event early"
    late = "echo 0 >/sys/kernel/rcu_expedited; /usr/lib/rcu-test/event late"
    tree.service("early", early, unit="DefaultDependencies=no", wanted_by="sysinit.target")
    tree.service("late", late, unit="After=multi-user.target", wanted_by="graphical.target")
    tree.hold("middle", before="multi-user.target")
    guest = vm(install=False, kernel=kernel, suite=suite)

    guest.wait_held("middle")
    assert guest.output("cat /sys/kernel/rcu_expedited") == "1"
    assert guest.output("uname -r").startswith(kernel + ".")
    assert guest.output("systemctl --version").startswith(f"systemd {systemd}")
    assert guest.output("id -un", user="alice") == "alice"
    guest.release("middle")
    guest.wait_booted()
    report = guest.finish()

    assert report.knobs["rcu_expedited"] == "0"
    assert report.failed == []
    assert report.journal(UNIT="late.service", _PID="1")
    writes = report.knob_writes("rcu_expedited")
    assert [write.value for write in writes] == ["1", "0"]
    # The kernel's trace, the guest's events and systemd's timestamps are on one scale.
    early_at, late_at = (1e6 * guest.event_time(name) for name in ("early", "late"))
    assert writes[0].usec < early_at + 10_000 < writes[1].usec < late_at + 10_000
    assert writes[1].usec > int(report.manager["UserspaceTimestampMonotonic"])


def test_no_dbus_and_modules(vm):
    guest = vm(install=False, dbus=False)
    guest.wait_booted()
    assert not guest.ok("test -e /run/dbus/system_bus_socket")
    guest.run("modprobe dummy numdummies=1 && test -e /sys/class/net/dummy0")
    assert guest.output("systemctl --failed --no-legend --plain") == ""
