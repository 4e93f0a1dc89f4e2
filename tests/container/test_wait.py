# SPDX-License-Identifier: LGPL-2.1-or-later
"""rcu-boot-wait.service: what is ordered after it starts when the knobs are as they will stay; nothing deadlocks."""

import pytest

from guest.scenario import UNIT, assert_ended, deadline_soon, reached, use_policy, wait_booting

WAIT = "rcu-boot-wait.service"
AFTER_WAIT = f"Wants={WAIT}\nAfter={WAIT}\n"
SUITES = pytest.mark.parametrize("suite", ["bookworm", "trixie"])

# What the workload's first instruction finds.
LOOK = "cd /sys/kernel; echo $(cat rcu_expedited rcu_normal) $(sed -n s/^PHASE=//p /run/rcu-bootd/state) >/rcu-test/seen"


def workload(tree, name="workload", unit=AFTER_WAIT, wanted_by="multi-user.target"):
    return tree.service(name, f"{LOOK}; /usr/lib/rcu-test/event {name}", unit=unit, wanted_by=wanted_by)


def seen(guest):
    return (guest.shared / "seen").read_text(encoding="ascii").strip()


@SUITES
@pytest.mark.parametrize("early", [False, True], ids=["ordinary", "early"])
def test_realtime_workload(container, tree, suite, early):
    """10-realtime.policy with a workload of multi-user.target; and with one that starts as early as it likes."""
    tree.write("etc/rcu-bootd/class", "realtime\n")
    workload(tree, unit=AFTER_WAIT + ("DefaultDependencies=no\n" if early else ""))
    guest = container(suite=suite, knobs={"rcu_normal": "1"})
    guest.wait_event("workload")
    assert seen(guest) == "0 1 ended"
    guest.wait_booted()
    status = assert_ended(guest, "milestones")
    assert status["policy"]["name"] == "10-realtime.policy" and reached(status) == {"basic.target": "bus"}
    assert guest.active(WAIT) == "active" and guest.active("workload.service") == "active"


@SUITES
def test_case_18_waits_for_itself(container, tree, suite):
    """A workload of multi-user.target waits for the end of boot, and the policy for multi-user.target: boot comes up by
    the deadline, and `policy check` names the chain."""
    workload(tree)
    deadline_soon(use_policy(tree, "multi-user.target"))
    guest = container(suite=suite)
    guest.wait_until("systemctl is-active rcu-boot-end.service")
    check = guest.ctl("policy", "check", check=False)
    text = check.stdout + check.stderr
    assert check.returncode == 0 and "workload.service" in text and WAIT in text and "multi-user.target" in text
    assert_ended(guest, "deadline")
    guest.wait_booted()
    assert guest.wait_event("workload") and seen(guest) == "0 0 ended"
    assert guest.active("multi-user.target") == "active"
    assert guest.output("systemctl --failed --no-legend --plain") == ""


def test_case_18_default_policy(container, tree):
    """The same with the default policy; the check warns, and the administrator ends it."""
    workload(tree)
    guest = container()
    guest.wait_until(f"systemctl show -P ActiveState {WAIT} | grep -qx activating")
    assert "workload.service" in guest.run("rcu-bootctl policy check", check=False).stderr
    guest.ctl("end")
    guest.wait_booted()
    assert_ended(guest, "manual")
    assert seen(guest) == "0 0 ended"


@pytest.mark.parametrize("target", ["sysinit.target", "basic.target"])
def test_case_18_before_the_daemon_could_hear(container, tree, target):
    """Even in front of sysinit.target: the bus is not up and cannot come up; the deadline ends it."""
    workload(tree, unit=f"{AFTER_WAIT}DefaultDependencies=no\nBefore={target}\n", wanted_by="sysinit.target")
    deadline_soon(use_policy(tree, "multi-user.target"))
    guest = container()
    guest.wait_booted()
    assert_ended(guest, "deadline")
    assert seen(guest) == "0 0 ended"


def test_required_and_bound(container, tree):
    """Requires= in place of Wants=: the same while all goes well."""
    use_policy(tree, "basic.target")
    workload(tree, unit=f"Requires={WAIT}\nAfter={WAIT}\n")
    guest = container()
    guest.wait_booted()
    assert_ended(guest, "milestones")
    assert seen(guest) == "0 0 ended"


def test_many_workloads(container, tree):
    """Started all at once, none before the end."""
    use_policy(tree, "basic.target", after=["rcu_normal=1", "rcu_expedited=0"])
    for n in range(20):
        tree.service(f"work-{n}", "test $(cat /sys/kernel/rcu_expedited) = 0 && test $(cat /sys/kernel/rcu_normal) = 1",
                     unit=AFTER_WAIT, wanted_by="multi-user.target")  # fmt: skip
    guest = container()
    guest.wait_booted()
    assert_ended(guest, "milestones")
    assert guest.output("systemctl --failed --no-legend --plain") == ""
    assert guest.output("systemctl list-units --no-legend --plain --state=active 'work-*' | wc -l") == "20"


@pytest.mark.parametrize("enable", [(), ("rcu-boot-end",)], ids=["not enabled", "masked"])
def test_skipped_where_nothing_ends_boot(container, tree, enable):
    """No daemon in this boot: the unit is skipped by its condition, and the workload is not held up."""
    workload(tree)
    if enable:
        tree.mask(UNIT)
    guest = container(enable=enable, install=True)
    guest.wait_booted()
    assert guest.show(WAIT, "ActiveState", "ConditionResult") == {"ActiveState": "inactive", "ConditionResult": "no"}
    assert guest.active("workload.service") == "active" and seen(guest) == "0 0"


@pytest.mark.parametrize("death", ["exit 1", "kill -SEGV $$"])
def test_daemon_cannot_start(container, tree, death):
    """The binary is broken: boot is not held up, and PID 1 does not try for ever."""
    tree.write("usr/sbin/rcu-bootd", f"#!/bin/sh\n{death}\n", 0o755)
    workload(tree)
    guest = container()
    guest.wait_event("workload")
    assert seen(guest) == "0 0"
    guest.wait_for(lambda: guest.active(UNIT) == "failed", "PID 1 to give up")
    assert int(guest.show(UNIT, "NRestarts")["NRestarts"]) < 30


def test_waiting_while_the_daemon_dies(container, tree):
    """Whoever waits is not told of the end before it has come, however often the daemon dies on the way."""
    use_policy(tree, "home-screen")
    workload(tree)
    guest = container()
    guest.wait_until(f"systemctl show -P ActiveState {WAIT} | grep -qx activating")
    for starts in (1, 2):
        wait_booting(guest, starts)
        guest.run("kill -KILL $(pidof rcu-bootd)")
    wait_booting(guest, 3)
    assert guest.active("workload.service") == "inactive" and not (guest.shared / "seen").exists()
    guest.ctl("milestone", "home-screen")
    guest.wait_booted()
    assert_ended(guest, "milestones", restarts=2)
    assert seen(guest) == "0 0 ended"


def test_ended_by_post_stop_while_waiting(container, tree):
    use_policy(tree, "home-screen")
    workload(tree)
    guest = container()
    for starts in (1, 2, 3):
        wait_booting(guest, starts)
        guest.run("kill -KILL $(pidof rcu-bootd)")
    guest.wait_event("workload")
    assert seen(guest) == "0 0 ended"
    assert guest.status()["reason"] == "daemon-died"


def test_started_by_hand_after_the_end(container):
    """Later uses find the end long past."""
    guest = container()
    guest.wait_booted()
    assert_ended(guest, "milestones")
    guest.run(f"systemctl start {WAIT}")
    assert guest.active(WAIT) == "active"


def test_does_not_keep_a_shutdown(container, tree):
    """A machine that is powered off while something waits goes down."""
    use_policy(tree, "home-screen")
    workload(tree)
    guest = container()
    guest.wait_until(f"systemctl show -P ActiveState {WAIT} | grep -qx activating")
    guest.run("systemctl --no-block poweroff", check=False)
    guest.wait_down()
