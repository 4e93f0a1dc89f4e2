# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is a new boot, and what is not: reboots of the machine, of user space, of the service manager."""

import pytest

from guest.scenario import (
    UNIT,
    assert_ended,
    assert_never_again,
    reached,
    use_policy,
    values_written,
    wait_booting,
    wait_ended,
)


def test_reboots_begin_anew(container, tree):
    """A new boot has a new /run: all happens again, however the last one ended."""
    tree.mkdir("var/log/journal")
    guest = container()
    guest.wait_booted()
    first = assert_ended(guest, "milestones")
    for boot in (2, 3):
        guest.reboot()
        guest.wait_booted()
        status = wait_ended(guest)
        assert (status["phase"], status["reason"], status["daemon"]["starts"]) == ("ended", "milestones", 1)
        assert reached(status) == {"default.target": "bus"} and status["policy"] == first["policy"]
        wanted = ["1", "0"] * boot
        guest.wait_for(lambda wanted=wanted: values_written(guest, "rcu_expedited") == wanted, "each boot's writes")


def test_rebooted_while_booting(container, tree):
    """The daemon is stopped in mid-boot; the next boot knows nothing of it."""
    tree.hold("here", before="basic.target")
    guest = container()
    guest.wait_held("here")
    guest.wait_for(lambda: guest.knob("rcu_expedited") == "1", "expediting to begin")
    guest.reboot()
    guest.wait_for(lambda: len([name for _, name in guest.events() if name == "held:here"]) == 2, "the next boot")
    wait_booting(guest)
    assert values_written(guest, "rcu_expedited") == ["1", "0", "1"]
    guest.release("here")
    guest.wait_booted()
    assert wait_ended(guest)["reason"] == "milestones"


# --- soft-reboot (systemd 254 and later) ---

def soft_reboot(guest):
    """Restarts user space; kernel, mounts and /run stay. The guest must have started up."""
    assert "READY=1" in guest.notified
    guest.notified.clear()
    guest.run("systemctl --no-block soft-reboot", check=False)
    # No command may run meanwhile: PID 1 stops all processes (SIGSTOP) before it kills them, and nsenter(1), which is
    # outside and so lives on, stops itself when its child is stopped.
    guest.wait_booted()


def test_soft_reboot_after_the_end(container):
    """No new boot of the kernel's: the state stays, the daemon looks and leaves, nothing is expedited again."""
    guest = container(suite="trixie")
    guest.wait_booted()
    first = assert_ended(guest, "milestones")
    soft_reboot(guest)
    status = assert_ended(guest, "milestones")
    assert guest.active("graphical.target") == "active" and guest.active(UNIT) == "active"
    for key in ("since_usec", "reason", "milestones", "deadline_usec", "mode_at_end"):
        assert status[key] == first[key], key


def test_soft_reboot_while_booting(container, tree):
    """In mid-boot it stops the daemon, which ends boot; user space comes up again without another beginning."""
    use_policy(tree, "home-screen")
    guest = container(suite="trixie")
    guest.wait_booted()
    wait_booting(guest)
    soft_reboot(guest)
    assert_ended(guest, "stopped")
    guest.ctl("milestone", "home-screen")
    assert guest.status()["milestones"][0]["reached"] is False


def test_soft_reboot_with_waiters_and_sockets(container, tree):
    """The waiting unit finds the end long past; entries of milestone sockets are there from before."""
    use_policy(tree, "basic.target")
    tree.service("workload", "cat /sys/kernel/rcu_expedited >/run/seen", wanted_by="multi-user.target",
                 unit="Wants=rcu-boot-wait.service\nAfter=rcu-boot-wait.service")  # fmt: skip
    guest = container(suite="trixie", dbus=False, enable=("rcu-boot-end", "rcu-boot-milestone@basic.target.socket"))
    guest.wait_booted()
    assert_ended(guest, "milestones")
    soft_reboot(guest)
    assert reached(assert_ended(guest, "milestones")) == {"basic.target": "directory"}
    assert guest.active("workload.service") == "active" and guest.output("cat /run/seen") == "0"
    assert guest.active("rcu-boot-milestone@basic.target.socket") == "active"
    assert guest.output("systemctl --failed --no-legend --plain") == ""


# --- the service manager alone ---

@pytest.mark.parametrize("suite", ["bookworm", "trixie"])
def test_reexec_and_reload_after_the_end(container, suite):
    guest = container(suite=suite)
    guest.wait_booted()
    first = assert_ended(guest, "milestones")
    guest.run("systemctl daemon-reload && systemctl daemon-reexec")
    guest.wait_until("systemctl is-active rcu-boot-end.service")
    guest.run("systemctl isolate multi-user.target; systemctl start graphical.target sysinit.target")
    assert assert_ended(guest, "milestones")["since_usec"] == first["since_usec"]


@pytest.mark.parametrize("target", ["multi-user.target", "basic.target", "rescue.target"])
def test_isolated_after_the_end(container, target):
    """Changing to another target and back starts what sysinit.target wants anew: nothing of ours begins again."""
    guest = container()
    guest.wait_booted()
    assert_ended(guest, "milestones")
    guest.run(f"systemctl isolate {target}", check=False)
    guest.wait_until(f"systemctl is-active {target}")
    guest.run("systemctl default")
    guest.wait_until("systemctl is-active graphical.target")
    assert_ended(guest, "milestones")


def test_upgraded_between_boots(container, tree):
    """The state of a newer daemon, with keys that this one does not know, is not thrown away within a boot."""
    use_policy(tree, "home-screen")
    guest = container()
    guest.wait_booted()
    wait_booting(guest)
    guest.run("P=$(pidof rcu-bootd); kill -STOP $P; cd /run/rcu-bootd; "
              "{ grep -v ^COMPLETE state; echo NEW_KEY=x; echo COMPLETE=1; } >new; mv new state; kill -KILL $P")  # fmt: skip
    wait_booting(guest, 2)
    guest.ctl("milestone", "home-screen")
    assert_ended(guest, "milestones", restarts=1)
    assert_never_again(guest)
