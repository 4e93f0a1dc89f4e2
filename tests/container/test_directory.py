# SPDX-License-Identifier: LGPL-2.1-or-later
"""Milestones as entries of a directory: made by scripts, or by PID 1 itself through socket units, without D-Bus."""

import pytest

from guest.scenario import UNIT, assert_ended, reached, use_policy, wait_booting

SOCKET = "rcu-boot-milestone@{}.socket"
DIRECTORY = "/run/rcu-bootd/milestones"
SUITES = pytest.mark.parametrize("suite", ["bookworm", "trixie"])


def wait_settled(guest):
    """Start-up is finished and no job is left: what makes no entry now makes none at all."""
    guest.wait_booted()
    guest.wait_for(lambda: guest.output("systemctl list-jobs --no-legend --plain") == "", "the last job to end")


# --- socket units ---

MILESTONES = ["default.target", "long.service", "listens.socket", "template@one.service"]


def awaited_units(tree):
    for name, link in (("long.service", "long.service"), ("template@.service", "template@one.service")):
        tree.unit(name, "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=true\n")
        tree.symlink(f"etc/systemd/system/multi-user.target.wants/{link}", f"../{name}")
    tree.unit("listens.socket", "[Socket]\nListenStream=/run/listens\nAccept=yes\n", wanted_by="sockets.target")
    tree.unit("listens@.service", "[Service]\nExecStart=cat\n")
    tree.unit("there.mount", "[Mount]\nWhat=tmpfs\nWhere=/there\nType=tmpfs\n", wanted_by="local-fs.target")


@pytest.mark.parametrize("milestone", MILESTONES)
def test_socket_enabled_below_a_root(container, tree, milestone):
    """`systemctl --root enable`, no D-Bus in the guest: PID 1 makes the entry when the unit is up."""
    use_policy(tree, milestone)
    awaited_units(tree)
    guest = container(enable=("rcu-boot-end", SOCKET.format(milestone)), dbus=False)
    guest.wait_booted()
    assert reached(assert_ended(guest, "milestones")) == {milestone: "directory"}
    assert guest.output(f"stat -c '%F %a %U' {DIRECTORY}/{milestone}") == "fifo 600 root"
    assert guest.output("systemctl --failed --no-legend --plain") == ""
    assert guest.active("rcu-boot-milestone.service") == "inactive"


@SUITES
def test_many_sockets(container, tree, suite):
    units = ["sysinit.target", "basic.target", "multi-user.target", "default.target", "long.service", "there.mount"]
    use_policy(tree, " ".join(units))
    awaited_units(tree)
    guest = container(enable=("rcu-boot-end", *(SOCKET.format(one) for one in units)), dbus=False, suite=suite)
    guest.wait_booted()
    assert reached(assert_ended(guest, "milestones")) == dict.fromkeys(units, "directory")


@SUITES
def test_socket_enabled_online(container, tree, suite):
    """Enabled by an administrator for the next boot, and disabled again for the one after."""
    use_policy(tree, "multi-user.target", "shown")
    guest = container(enable=("rcu-boot-end",), dbus=False, suite=suite)
    guest.wait_booted()
    guest.ctl("milestone", "shown")
    assert_ended(guest, "milestones")
    guest.run("systemctl enable rcu-boot-milestone@multi-user.target.socket")
    guest.reboot()
    guest.wait_booted()
    guest.wait_until("rcu-bootctl wait --timeout=60")
    assert reached(guest.status()) == {"multi-user.target": "directory"}
    guest.run("systemctl disable rcu-boot-milestone@multi-user.target.socket")
    guest.reboot()
    wait_settled(guest)
    assert reached(guest.status()) == {}
    assert guest.output(f"ls {DIRECTORY}") == ""
    guest.ctl("milestone", "shown")
    guest.ctl("wait", "--timeout=60")


def test_socket_started_online(container, tree):
    """Enabled with --now, while the daemon waits for a unit that is up already: Requisite= holds, the entry is made."""
    use_policy(tree, "multi-user.target", "shown")
    guest = container(dbus=False)
    wait_settled(guest)
    wait_booting(guest)
    guest.run("systemctl enable --now rcu-boot-milestone@multi-user.target.socket")
    assert reached(assert_ended(guest, "milestones")) == {"multi-user.target": "directory"}


def test_socket_comes_with_its_unit(container, tree):
    """A unit that is started by hand long after boot brings its milestone along."""
    use_policy(tree, "later.service")
    tree.unit("later.service", "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=true\n")
    guest = container(enable=("rcu-boot-end", SOCKET.format("later.service")), dbus=False)
    wait_settled(guest)
    wait_booting(guest)
    assert reached(guest.status()) == {}
    guest.run("systemctl start later")
    assert reached(assert_ended(guest, "milestones")) == {"later.service": "directory"}


@pytest.mark.parametrize(
    "suite, unit",
    [("bookworm", "fails.service"), ("bookworm", "needs.target"), ("bookworm", "default.target"),
     ("trixie", "fails.service"), ("trixie", "needs.target")],
)  # fmt: skip
def test_case_20_failed_makes_no_entry(container, tree, suite, unit):
    """Requisite=: neither for a unit that fails, nor for a target that requires it, nor for an alias of that."""
    use_policy(tree, unit, "shown")
    tree.service("fails", "exit 1", wanted_by="multi-user.target")
    tree.unit("needs.target", "[Unit]\nRequires=fails.service\nAfter=fails.service\n", wanted_by="multi-user.target")
    if unit == "default.target":
        tree.symlink("etc/systemd/system/default.target", "needs.target")
    guest = container(enable=("rcu-boot-end", SOCKET.format(unit)), dbus=False, suite=suite)
    wait_settled(guest)
    assert guest.active("fails.service") == "failed"
    wait_booting(guest)
    assert guest.output(f"ls {DIRECTORY}") == ""
    guest.run("rcu-bootctl milestone shown")
    assert reached(assert_ended(guest, "milestones")) == {"shown": "inbox"}


def test_socket_does_not_pull_in(container, tree):
    """Enabling a milestone's socket does not change what is booted."""
    use_policy(tree, "unwanted.service", "multi-user.target")
    tree.service("unwanted", "/usr/lib/rcu-test/event unwanted")
    units = (SOCKET.format("unwanted.service"), SOCKET.format("multi-user.target"))
    guest = container(enable=("rcu-boot-end", *units), dbus=False)
    wait_settled(guest)
    assert reached(assert_ended(guest, "milestones")) == {"multi-user.target": "directory"}
    assert guest.active("unwanted.service") == "inactive" and guest.events() == []


def test_written_to_a_milestones_fifo(container, tree):
    """Somebody writes into the FIFO: nothing is started, nothing fails, the milestone stays reached."""
    use_policy(tree, "basic.target shown")
    guest = container(enable=("rcu-boot-end", SOCKET.format("basic.target")), dbus=False)
    guest.wait_booted()
    guest.wait_for(lambda: reached(guest.status()) == {"basic.target": "directory"}, "the entry to be seen")
    for _ in range(3):
        guest.run(f"echo hello >{DIRECTORY}/basic.target")
    guest.wait_for(lambda: guest.output("systemctl list-jobs --no-legend --plain") == "", "the last job to end")
    assert guest.active("rcu-boot-milestone@basic.target.socket") == "active"
    assert guest.output("systemctl --failed --no-legend --plain") == ""
    guest.ctl("milestone", "shown")
    assert_ended(guest, "milestones")


def test_socket_and_bus(container, tree):
    """Both sources tell of the same: it is reached once, by whichever came first."""
    use_policy(tree, "basic.target multi-user.target")
    guest = container(enable=("rcu-boot-end", SOCKET.format("basic.target"), SOCKET.format("multi-user.target")))
    guest.wait_booted()
    status = assert_ended(guest, "milestones")
    sources = reached(status)
    assert sources["basic.target"] == "directory", "the bus is up after basic.target"
    assert sources["multi-user.target"] in ("directory", "bus")


def test_entry_before_the_daemon(container, tree):
    """PID 1 made the entry when there was no daemon yet: it counts. All there is counts before anything is written."""
    use_policy(tree, "multi-user.target")
    guest = container(enable=(SOCKET.format("multi-user.target"),), dbus=False)
    wait_settled(guest)
    assert guest.output(f"ls {DIRECTORY}") == "multi-user.target"
    guest.run("systemctl start rcu-boot-end")
    assert_ended(guest, "late-start", expedited=False)


# --- scripts ---

KINDS = {
    "redirected": ": >{}",
    "touched": "touch {}",
    "directory": "mkdir {}",
    "fifo": "mkfifo {}",
    "dangling": "ln -s /nonexistent {}",
    "linked": "ln -s /etc/passwd {}",
    "moved": "touch /run/x; mv /run/x {}",
    "hard-linked": "touch /run/x; ln /run/x {}",
}


def test_entries_of_all_kinds(container, tree):
    use_policy(tree, " ".join(KINDS))
    guest = container(dbus=False)
    guest.wait_booted()
    wait_booting(guest)
    for name, command in KINDS.items():
        guest.run(command.format(f"{DIRECTORY}/{name}"))
        guest.wait_for(lambda name=name: name in reached(guest.status()), f"{name} to be seen")
    assert reached(assert_ended(guest, "milestones")) == dict.fromkeys(KINDS, "directory")


def test_script_of_another_init(container, tree):
    """The default policy's second alternative: the last start script announces "booted"."""
    tree.hold("here", before="multi-user.target", wanted_by="multi-user.target", after="basic.target")
    guest = container(dbus=False)
    guest.wait_held("here")
    wait_booting(guest)
    guest.run(f": >{DIRECTORY}/booted")
    assert reached(assert_ended(guest, "milestones")) == {"booted": "directory"}
    guest.release("here")


def test_service_announces(container, tree):
    """As the policies advise: a service says it when it is up, as root."""
    use_policy(tree, "home-screen")
    tree.unit("shell.service", "[Service]\nType=exec\nExecStart=sleep infinity\nUser=alice\n"
              "ExecStartPost=-+/usr/bin/rcu-bootctl milestone home-screen\n", wanted_by="graphical.target")  # fmt: skip
    guest = container()
    guest.wait_booted()
    assert reached(assert_ended(guest, "milestones")) == {"home-screen": "inbox"}


def test_entries_are_removed_and_made_again(container, tree):
    """Reached is reached: an entry's disappearance changes nothing, nor does another's that nobody waits for."""
    use_policy(tree, "first second")
    guest = container(dbus=False)
    guest.wait_booted()
    wait_booting(guest)
    guest.run(f"cd {DIRECTORY}; : >first; rm first; for i in $(seq 500); do : >other-$i; done; rm other-*")
    guest.wait_for(lambda: reached(guest.status()) == {"first": "directory"}, "the entry that is gone again")
    guest.run(f": >{DIRECTORY}/second")
    assert_ended(guest, "milestones")


def test_directory_is_removed_and_made_again(container, tree):
    """A clean-up script goes too far; entries in the directory that is there then are seen all the same."""
    use_policy(tree, "home-screen")
    guest = container(dbus=False)
    guest.wait_booted()
    wait_booting(guest)
    guest.run(f"rm -rf {DIRECTORY}")
    guest.run(f"mkdir -p {DIRECTORY}; : >{DIRECTORY}/home-screen")
    assert reached(assert_ended(guest, "milestones")) == {"home-screen": "directory"}


def test_ordinary_users_make_no_entries(container, tree):
    use_policy(tree, "home-screen", boot=["AllowUsers=alice"])
    guest = container()
    guest.wait_booted()
    wait_booting(guest)
    for user in ("alice", "mallory"):
        assert not guest.ok(f": >{DIRECTORY}/home-screen", user=user)
    assert guest.status()["missing"] == ["home-screen"]
    guest.run(f": >{DIRECTORY}/home-screen")
    assert_ended(guest, "milestones")


@SUITES
def test_realtime_policy_without_dbus(container, tree, suite):
    """As its comments advise: class realtime, a socket for basic.target, a workload that waits, and no bus."""
    tree.write("etc/rcu-bootd/class", "realtime\n")
    tree.service("workload", "cat /sys/kernel/rcu_normal >/rcu-test/seen; /usr/lib/rcu-test/event workload",
                 unit="Wants=rcu-boot-wait.service\nAfter=rcu-boot-wait.service",
                 wanted_by="multi-user.target")  # fmt: skip
    guest = container(enable=("rcu-boot-end", SOCKET.format("basic.target")), dbus=False, suite=suite)
    guest.wait_event("workload")
    guest.wait_booted()
    status = assert_ended(guest, "milestones")
    assert status["policy"]["name"] == "10-realtime.policy" and status["mode"] == "normal"
    assert (guest.shared / "seen").read_text(encoding="ascii").strip() == "1"
    assert guest.active(UNIT) == "active"
