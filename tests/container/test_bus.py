# SPDX-License-Identifier: LGPL-2.1-or-later
"""Milestones that the daemon hears of over the system bus, whatever happens to bus and service manager meanwhile."""

import pytest

from guest.scenario import UNIT, assert_ended, deadline_soon, reached, use_policy, wait_booting

SUITES = pytest.mark.parametrize("suite", ["bookworm", "trixie"])


def hold_late(tree, name="here"):
    """The boot stands between basic.target, with the bus up, and multi-user.target."""
    return tree.hold(name, before="multi-user.target", wanted_by="multi-user.target", after="basic.target dbus.service")


def wait_connected(guest):
    """Waits until the daemon has a connection to the bus and has asked PID 1."""
    guest.wait_until(
        "busctl --list --no-legend list | grep -q ' rcu-bootd .*rcu-boot-end.service'"
    )


# --- what is heard of ---

MILESTONES = [
    "multi-user.target",
    "startup-finished",
    "sysinit.target basic.target",
    "long.service",
    "listens.socket",
    "tmp-there.mount",
    "awkward-a\\x2db.service template@one.service",
    "multi-user.target graphical.target default.target startup-finished long.service listens.socket tmp-there.mount",
]


@pytest.mark.parametrize(
    "suite, milestones", [*(("bookworm", one) for one in MILESTONES), ("trixie", MILESTONES[-1])]
)
def test_milestone(container, tree, suite, milestones):
    use_policy(tree, milestones)
    tree.service("long", "true", wanted_by="multi-user.target")
    tree.unit("template@.service", "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=true\n")
    for name in ("awkward-a\\x2db.service", "template@one.service"):
        tree.symlink(f"etc/systemd/system/multi-user.target.wants/{name}", "../template@.service")
    tree.unit("awkward-a\\x2db.service", "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=true\n")
    tree.unit("listens.socket", "[Socket]\nListenStream=/run/listens\nAccept=yes\n", wanted_by="sockets.target")
    tree.unit("listens@.service", "[Service]\nExecStart=cat\n")
    tree.unit("tmp-there.mount", "[Mount]\nWhat=tmpfs\nWhere=/tmp/there\nType=tmpfs\n", wanted_by="local-fs.target")
    guest = container(suite=suite)
    guest.wait_booted()
    status = assert_ended(guest, "milestones")
    assert reached(status) == dict.fromkeys(milestones.split(), "bus")


def test_alternatives(container, tree):
    use_policy(tree, "never.target home-screen", "multi-user.target never.service", "basic.target multi-user.target")
    guest = container()
    guest.wait_booted()
    status = assert_ended(guest, "milestones")
    assert reached(status) == {"multi-user.target": "bus", "basic.target": "bus"}
    assert status["missing"] == []


def test_case_16_active_before_the_daemon(container, tree):
    """What was up when the daemon started counts; what comes later is heard of."""
    use_policy(tree, "basic.target dbus.service later.service")
    tree.service("later", "true")
    guest = container(enable=())
    guest.wait_booted()
    guest.run("systemctl start rcu-boot-end")
    guest.wait_for(lambda: reached(guest.status()) == {"basic.target": "bus", "dbus.service": "bus"}, "what was up")
    assert guest.status()["missing"] == ["later.service"]
    assert guest.knob("rcu_expedited") == "1"
    guest.run("systemctl start later")
    assert reached(assert_ended(guest, "milestones"))["later.service"] == "bus"


def test_default_target_is_another(container, tree):
    """The alias is followed to what it stands for on this machine."""
    tree.unit("kiosk.target", "[Unit]\nRequires=multi-user.target\nAfter=multi-user.target\nAllowIsolate=yes\n")
    tree.symlink("etc/systemd/system/default.target", "kiosk.target")
    guest = container()
    guest.wait_booted()
    status = assert_ended(guest, "milestones")
    entered = "ActiveEnterTimestampMonotonic"
    assert status["since_usec"] >= int(guest.show("kiosk.target", entered)[entered])


def test_unit_comes_and_goes_and_comes(container, tree):
    """Active once is reached, even if it ends before anybody could ask."""
    use_policy(tree, "flicker.service home-screen")
    tree.service("flicker", "true", service="Type=oneshot\nRemainAfterExit=yes\n")
    guest = container()
    guest.wait_booted()
    wait_booting(guest)
    wait_connected(guest)
    guest.run("systemctl start flicker && systemctl stop flicker")
    guest.wait_for(lambda: reached(guest.status()) == {"flicker.service": "bus"}, "the unit to be noticed")
    guest.ctl("milestone", "home-screen")
    assert_ended(guest, "milestones")


def test_unit_is_created_later(container, tree):
    """There is no such unit when the daemon starts; a daemon-reload brings it."""
    use_policy(tree, "made-later.service")
    guest = container()
    guest.wait_booted()
    wait_booting(guest)
    wait_connected(guest)
    text = "[Service]\\nType=oneshot\\nRemainAfterExit=yes\\nExecStart=true\\n"
    guest.run(f"printf '{text}' >/run/systemd/system/made-later.service")
    guest.run("systemctl daemon-reload && systemctl start made-later")
    assert reached(assert_ended(guest, "milestones")) == {"made-later.service": "bus"}


def test_alias_is_turned_elsewhere(container, tree):
    """While the daemon waits, default.target becomes another target, which is started then."""
    hold_late(tree)
    tree.unit("other.target", "[Unit]\nAllowIsolate=yes\n")
    guest = container()
    guest.wait_held("here")
    wait_booting(guest)
    wait_connected(guest)
    guest.run("systemctl set-default other.target && systemctl daemon-reload && systemctl start other.target")
    status = assert_ended(guest, "milestones")
    assert reached(status) == {"default.target": "bus"}
    assert guest.active("multi-user.target") == "inactive"
    guest.release("here")


# --- what is no milestone ---

@SUITES
def test_case_20_failed_is_not_reached(container, tree, suite):
    """A unit that fails, a target whose required unit fails, one whose condition does not hold, one never active."""
    units = ["fails.service", "needs.target", "skipped.service", "oneshot.service"]
    use_policy(tree, " ".join(units), *units, "shown")
    tree.service("fails", "exit 1", wanted_by="multi-user.target")
    tree.unit("needs.target", "[Unit]\nRequires=fails.service\nAfter=fails.service\n", wanted_by="multi-user.target")
    tree.service("skipped", "true", unit="ConditionPathExists=/nonexistent", wanted_by="multi-user.target")
    tree.service("oneshot", "true", service="Type=oneshot\n", wanted_by="multi-user.target")
    guest = container(suite=suite)
    guest.wait_booted()
    wait_booting(guest)
    wait_connected(guest)
    assert reached(guest.status()) == {}
    guest.ctl("milestone", "shown")
    assert reached(assert_ended(guest, "milestones")) == {"shown": "inbox"}


def test_case_20_failed_then_started_again(container, tree):
    """What failed first and is repaired counts when it is up."""
    use_policy(tree, "mended.service")
    tree.service("mended", "test -e /run/mended", wanted_by="multi-user.target")
    guest = container()
    guest.wait_booted()
    wait_booting(guest)
    wait_connected(guest)
    assert guest.active("mended.service") == "failed" and reached(guest.status()) == {}
    guest.run("touch /run/mended && systemctl start mended")
    assert_ended(guest, "milestones")


def test_case_14_degraded(container, tree):
    """Some unit or other has failed: that is no reason to stay expedited."""
    tree.service("fails", "exit 1", wanted_by="multi-user.target")
    guest = container()
    guest.wait_booted()
    status = assert_ended(guest, "milestones")
    assert status["exit_code"] == 0
    assert guest.run("systemctl is-system-running", check=False).stdout.strip() == "degraded"


# --- what happens to the bus and to PID 1 (case 17) ---

DISTURBANCES = {
    "daemon-reload": "systemctl daemon-reload",
    "daemon-reexec": "systemctl daemon-reexec",
    "dbus restarted": "systemctl restart dbus",
    "dbus killed": "systemctl kill --kill-whom=main --signal=KILL dbus",
    "dbus stopped and started": "systemctl stop dbus.socket dbus.service; systemctl start dbus.socket dbus.service",
    "dbus restarted, reexec": "systemctl restart dbus; systemctl daemon-reexec",
    "reexec, dbus restarted": "systemctl daemon-reexec; systemctl restart dbus",
    # (reset-failed, lest PID 1 takes so many starts for a fault of D-Bus's.)
    "all of it": "for i in 1 2 3; do systemctl daemon-reload; systemctl reset-failed; systemctl restart dbus; "
    "systemctl daemon-reexec; done",
}


@pytest.mark.parametrize(
    "suite, what",
    [*(("bookworm", what) for what in DISTURBANCES), ("trixie", "daemon-reexec"), ("trixie", "all of it")],
)
def test_case_17_disturbed_while_waiting(container, tree, suite, what):
    """Once while the daemon is connected, and once more so that the milestone may come in the middle of it."""
    use_policy(tree, "multi-user.target startup-finished last.service")
    hold_late(tree)
    tree.mask("systemd-logind.service")  # where its bus dies as it starts, PID 1 waits 90 s for it
    tree.service("last", "true")
    guest = container(suite=suite)
    guest.wait_held("here")
    wait_booting(guest)
    wait_connected(guest)
    guest.run(f"{DISTURBANCES[what]}; true")
    guest.release("here")
    guest.run(f"{DISTURBANCES[what]}; true")
    guest.wait_for(
        lambda: set(reached(guest.status())) == {"multi-user.target", "startup-finished"}, "what was to be reached"
    )
    guest.wait_until("systemctl is-active dbus.socket")
    guest.run("systemctl start last.service")
    status = assert_ended(guest, "milestones")
    assert set(reached(status).values()) == {"bus"}


@SUITES
def test_case_17_bus_comes_late(container, tree, suite):
    """Nothing starts D-Bus until somebody does by hand, long after all has been reached."""
    tree.mask("dbus.service", "dbus.socket", "systemd-logind.service")
    guest = container(suite=suite)
    guest.wait_booted()
    wait_booting(guest)
    assert guest.active("graphical.target") == "active" and reached(guest.status()) == {}
    guest.run("rm /etc/systemd/system/dbus.service /etc/systemd/system/dbus.socket && systemctl daemon-reload && "
              "systemctl start dbus.socket dbus.service")  # fmt: skip
    assert reached(assert_ended(guest, "milestones")) == {"default.target": "bus"}


def let_bus_hang(tree):
    tree.unit("dbus.service", "[Unit]\nRequires=dbus.socket\n[Service]\nExecStart=sleep infinity\n")
    tree.mask("systemd-logind.service")  # would wait for it


@SUITES
def test_case_17_bus_accepts_but_never_answers(container, tree, suite):
    """The socket is there and takes connections, the broker behind it hangs: other sources, `end` and stopping work."""
    let_bus_hang(tree)
    use_policy(tree, "default.target", "shown")
    guest = container(suite=suite)
    guest.wait_booted()
    wait_booting(guest)
    guest.ctl("milestone", "shown")
    assert reached(assert_ended(guest, "milestones")) == {"shown": "inbox"}


@pytest.mark.parametrize("how", ["systemctl stop rcu-boot-end", "rcu-bootctl end"])
def test_bus_hangs_and_the_daemon_goes(container, tree, how):
    """Leaving such a bus waits for nobody: the unit's stop does not run into its timeout."""
    tree.hold("here", before="dbus.service", after="dbus.socket", wanted_by="multi-user.target")
    guest = container()
    guest.wait_held("here")
    wait_booting(guest)
    guest.run(how)
    stopped = how.startswith("systemctl")
    assert_ended(guest, "stopped" if stopped else "manual", active="inactive" if stopped else "active")
    guest.release("here")


@SUITES
def test_case_10_deadline_with_a_hanging_bus(container, tree, suite):
    """Then nobody can tell of the jobs, and the deadline holds nevertheless."""
    let_bus_hang(tree)
    # (The daemon gives such a bus three seconds before it expedites.)
    deadline_soon(use_policy(tree, "default.target"), 5)
    guest = container(suite=suite)
    status = assert_ended(guest, "deadline")
    assert status["missing"] == ["default.target"]
    assert guest.active(UNIT) == "active"
