# SPDX-License-Identifier: LGPL-2.1-or-later
"""PID 1 as the sender: the example drop-in, without D-Bus, and a container manager that hears as before."""

from pathlib import Path

import pytest

from guest.scenario import MESSAGE_ID, UNIT, assert_ended, deadline_soon, reached, use_policy, wait_booting

EXAMPLE = Path(__file__).resolve().parents[2] / "conf/examples/50-rcu-bootd-notify.conf"
SUITES = pytest.mark.parametrize("suite", ["bookworm", "trixie"])

# systemd-nspawn takes messages from its container's PID 1 alone. To speak in PID 1's name needs a capability that the
# shipped unit does without, as it does not run in containers.
RELAY = "[Service]\nCapabilityBoundingSet=CAP_SYS_PTRACE CAP_SYS_ADMIN\n"


def sender(tree, relay=True):
    tree.write("etc/systemd/system.conf.d/50-rcu-bootd-notify.conf", EXAMPLE.read_text(encoding="utf-8"))
    if relay:
        tree.dropin(UNIT, "50-relay", RELAY)


def wait_started_up(guest):
    """The container manager hears nothing of it where nothing is passed on."""
    guest.wait_until("test \"$(systemctl show -P FinishTimestampMonotonic)\" -gt 0")


@SUITES
@pytest.mark.parametrize("dbus", [False, True], ids=["no D-Bus", "D-Bus"])
def test_startup_finished(container, tree, suite, dbus):
    """READY=1, all versions. With D-Bus in the guest both tell, and whichever is first counts."""
    sender(tree)
    use_policy(tree, "startup-finished")
    guest = container(suite=suite, dbus=dbus)
    status = assert_ended(guest, "milestones")
    assert reached(status)["startup-finished"] in ({"pid1", "bus"} if dbus else {"pid1"})
    # (PID 1 tells before it notes down the time itself, so it is the last target's that can be compared.)
    entered = "ActiveEnterTimestampMonotonic"
    assert 0 < int(guest.show("graphical.target", entered)[entered]) <= status["since_usec"]
    guest.run("journalctl --sync")
    assert guest.journal(MESSAGE_ID=MESSAGE_ID["REFUSED"]) == []


@SUITES
def test_relayed(container, tree, suite):
    """The container manager's own socket is in PID 1's first environment: READY=1 arrives there all the same."""
    sender(tree)
    use_policy(tree, "startup-finished")
    guest = container(suite=suite, dbus=False)
    guest.wait_booted()
    assert "READY=1" in guest.notified
    assert_ended(guest, "milestones")


def test_without_the_capability(container, tree):
    """As shipped, nspawn does not believe the daemon; that is nspawn's loss, and the end of boot is not affected."""
    sender(tree, relay=False)
    use_policy(tree, "startup-finished")
    guest = container(dbus=False)
    assert reached(assert_ended(guest, "milestones")) == {"startup-finished": "pid1"}
    assert "READY=1" not in guest.notified


@pytest.mark.parametrize(
    "milestones",
    ["default.target", "multi-user.target graphical.target default.target startup-finished"],
)
def test_targets(container, tree, milestones):
    """systemd 256 and later: every target that is reached, no D-Bus, no socket units; aliases are followed."""
    sender(tree)
    use_policy(tree, milestones)
    guest = container(suite="trixie", dbus=False)
    assert reached(assert_ended(guest, "milestones")) == dict.fromkeys(milestones.split(), "pid1")


def test_target_before_the_end_of_start_up(container, tree):
    """basic.target is told when it is reached, not when all is over."""
    sender(tree)
    use_policy(tree, "basic.target")
    tree.hold("late", before="multi-user.target", wanted_by="multi-user.target", after="basic.target")
    guest = container(suite="trixie", dbus=False)
    guest.wait_held("late")
    assert reached(assert_ended(guest, "milestones")) == {"basic.target": "pid1"}
    guest.release("late")


def test_case_20_target_that_failed(container, tree):
    sender(tree)
    use_policy(tree, "needs.target", "shown")
    tree.service("fails", "exit 1", wanted_by="multi-user.target")
    tree.unit("needs.target", "[Unit]\nRequires=fails.service\nAfter=fails.service\n", wanted_by="multi-user.target")
    guest = container(suite="trixie", dbus=False)
    guest.wait_booted()
    assert reached(guest.status()) == {}
    guest.ctl("milestone", "shown")
    assert_ended(guest, "milestones")


def test_case_13_start_up_finished_in_a_rescue_shell(container, tree):
    """PID 1 says READY=1 there, too; boot has not ended until the administrator goes on."""
    sender(tree)
    use_policy(tree, "startup-finished")
    guest = container(unit="rescue.target", dbus=False)
    guest.wait_booted()
    guest.wait_for(lambda: reached(guest.status()) == {"startup-finished": "pid1"}, "PID 1's message")
    assert guest.status()["phase"] == "booting" and guest.knob("rcu_expedited") == "1"
    guest.run("systemctl default")
    assert_ended(guest, "milestones")


@SUITES
def test_case_17_reexec(container, tree, suite):
    """PID 1 is reloaded and starts itself anew in mid-boot: what it says of that is no end of start-up."""
    sender(tree)
    use_policy(tree, "startup-finished")
    tree.hold("here", before="multi-user.target", wanted_by="multi-user.target", after="basic.target")
    guest = container(suite=suite, dbus=False)
    guest.wait_held("here")
    wait_booting(guest)
    guest.run("systemctl daemon-reload && systemctl daemon-reexec && systemctl daemon-reload")
    guest.wait_until("systemctl list-jobs --no-legend --plain | grep -q hold-here")
    assert guest.status()["phase"] == "booting", reached(guest.status())
    guest.release("here")
    assert reached(assert_ended(guest, "milestones")) == {"startup-finished": "pid1"}


def test_older_systemd_does_not_tell_of_targets(container, tree):
    """Debian 12's PID 1 says READY=1 alone: a policy that waits for a target ends by the deadline there."""
    sender(tree)
    deadline_soon(use_policy(tree, "multi-user.target"))
    guest = container(dbus=False)
    status = assert_ended(guest, "deadline")
    assert reached(status) == {} and status["missing"] == ["multi-user.target"]
    wait_started_up(guest)


def test_daemon_is_gone_and_pid1_goes_on(container, tree):
    """What PID 1 says after the end finds no reader, and disturbs nothing."""
    sender(tree)
    use_policy(tree, "basic.target", "startup-finished")
    guest = container(suite="trixie", dbus=False)
    assert_ended(guest, "milestones")
    wait_started_up(guest)
    guest.run("systemctl daemon-reload && systemctl daemon-reexec")
    guest.wait_until("systemctl is-active multi-user.target")
    assert guest.output("systemctl --failed --no-legend --plain") == ""
    guest.shutdown()
