# SPDX-License-Identifier: LGPL-2.1-or-later
"""Scenarios (e), (f), (g), (l): PID 1 as the sender, the system bus and its restarts, real udev."""

from guest.evidence import PATIENT, active_at, assert_over, audit, expedited_now, finish, stores, wait_booting
from guest.scenario import UNIT, reached, use_policy, wait_ended

INBOX = "/run/rcu-bootd/notify"
HOST = "/run/host-notify"
EXAMPLE = "usr/share/doc/rcu-bootd/examples/50-rcu-bootd-notify.conf"
BEGUN_AND_ENDED = ["rcu_expedited=1", "rcu_expedited=0"]


def listen(tree):
    """Stands for the monitor of a virtual machine: a socket at HOST, of which each datagram becomes a file."""
    tree.unit(
        "host.socket",
        f"[Unit]\nDefaultDependencies=no\nBefore={UNIT}\n[Socket]\nListenDatagram={HOST}\n",
        wanted_by="sysinit.target",
    )
    script = "mkdir -p /run/host\nn=0\nwhile dd bs=65536 count=1 status=none >/run/host/$n; do n=$((n + 1)); done\n"
    tree.service("host", script, unit="DefaultDependencies=no", service="Type=exec\nStandardInput=socket\n")


def heard(guest):
    """The fields of all datagrams that came to HOST."""
    return guest.output("for one in /run/host/*; do cat $one && echo; done 2>/dev/null || :").split("\n")


def ask_pid1(tree, installed_tree):
    """The shipped example, as its own comment says."""
    text = (installed_tree.path / EXAMPLE).read_text(encoding="utf-8")
    tree.write("etc/systemd/system.conf.d/50-rcu-bootd-notify.conf", text)


def test_e_pid1_drop_in_and_relay_debian_12(vm, tree, installed_tree):
    """No D-Bus; PID 1 told by a drop-in to report to the daemon, although the monitor that started the machine had
    named a socket of its own, on the kernel command line: both hear that start-up is finished."""
    ask_pid1(tree, installed_tree)
    listen(tree)
    use_policy(tree, "startup-finished", boot=PATIENT)
    guest = vm(kernel="6.1", dbus=False, cmdline=f"NOTIFY_SOCKET={HOST}")
    wait_ended(guest)
    guest.wait_for(lambda: "READY=1" in heard(guest), "READY=1 at the socket that the kernel command line names")
    up = active_at(guest, "graphical.target")["graphical.target"]
    report = guest.finish()
    status = assert_over(report, "milestones", BEGUN_AND_ENDED)
    assert reached(status) == {"startup-finished": "pid1"}
    assert report.knob_writes()[-1].usec > up
    assert f"NOTIFY_SOCKET={HOST}" in report.text("cmdline")
    assert "dbus-daemon" not in report.text("processes")


def test_e_pid1_command_line_debian_13(vm, tree):
    """No D-Bus; PID 1 told by the kernel command line alone. From systemd 256 on it tells of every target."""
    targets = ["sysinit.target", "basic.target", "multi-user.target", "graphical.target"]
    use_policy(tree, " ".join([*targets, "default.target", "startup-finished"]), boot=PATIENT)
    tree.hold("early", before="sysinit.target")
    guest = vm(suite="trixie", kernel="6.12", dbus=False, cmdline=f"NOTIFY_SOCKET={INBOX}")
    guest.wait_held("early")
    wait_booting(guest)
    guest.release("early")
    wait_ended(guest)
    times = active_at(guest, *targets)
    times["default.target"] = times["graphical.target"]
    report = guest.finish()

    status = assert_over(report, "milestones", BEGUN_AND_ENDED)
    assert reached(status) == dict.fromkeys([*times, "startup-finished"], "pid1")
    at = {one["name"]: one["reached_usec"] for one in status["milestones"]}
    for name, active in times.items():
        assert at[name] >= active
    # PID 1 says so when no job is left, before it takes its own time of that, and before it tells of the last target.
    assert at["startup-finished"] >= times["graphical.target"]
    milestones = {entry["RCU_BOOT_MILESTONE"]: entry["RCU_BOOT_SOURCE"] for entry in audit(report, "MILESTONE")}
    assert milestones == reached(status)


def test_e_pid1_credential_and_relay_debian_13(vm, tree):
    """No D-Bus; PID 1 told by a credential in the firmware. The socket on the kernel command line hears it all, too."""
    listen(tree)
    use_policy(tree, "multi-user.target startup-finished", boot=PATIENT)
    tree.hold("early", before="sysinit.target")
    smbios = f"type=11,value=io.systemd.credential:vmm.notify_socket={INBOX}"
    guest = vm(suite="trixie", kernel="6.1", dbus=False, qemu=["-smbios", smbios], cmdline=f"NOTIFY_SOCKET={HOST}")
    guest.wait_held("early")
    wait_booting(guest)
    guest.release("early")
    wait_ended(guest)
    wanted = ["X_SYSTEMD_UNIT_ACTIVE=sysinit.target", "X_SYSTEMD_UNIT_ACTIVE=multi-user.target", "READY=1"]
    guest.wait_for(lambda: set(wanted) <= set(heard(guest)), f"{wanted} at the socket of the command line")
    report = guest.finish()
    status = assert_over(report, "milestones", BEGUN_AND_ENDED)
    assert reached(status) == {"multi-user.target": "pid1", "startup-finished": "pid1"}


def test_f_bus_m_policy_that_forgets_what_expedites(vm, tree):
    """(f) the same by the system bus. (m), case 3: a kernel booted with rcupdate.rcu_expedited=1, and a policy that
    writes only the delay, which this kernel has not: nothing is written, and a warning says what that leaves."""
    names = ["basic.target", "multi-user.target", "graphical.target", "default.target", "startup-finished"]
    use_policy(tree, " ".join(names), boot=PATIENT, during=["rcu_boot_end_delay=120000"],
               after=["rcu_boot_end_delay=0"])  # fmt: skip
    guest = vm(kernel="6.12", cmdline="rcupdate.rcu_expedited=1")
    report = finish(guest)
    status = assert_over(report, "milestones", [], warnings=["STILL_EXPEDITED"])
    assert reached(status) == dict.fromkeys(names, "bus")
    at = {one["name"]: one["reached_usec"] for one in status["milestones"]}
    assert at["startup-finished"] >= int(report.manager["FinishTimestampMonotonic"]) > 0

    assert (status["mode_at_end"], status["mode"]) == ("expedited", "expedited")
    assert ("warning", "still-expedited") in [(note["level"], note["id"]) for note in status["notes"]]
    assert report.knobs["rcu_expedited"] == "1"
    (warning,) = audit(report, "STILL_EXPEDITED")
    assert (warning["PRIORITY"], warning["RCU_BOOT_MODE"]) == ("4", "expedited")


def test_g_devices(vm, tree):
    """One device is there from the start, but udev has not begun yet; the other is plugged in later, its driver loaded
    by udev. Neither counts before udev has finished with it."""
    use_policy(tree, "device:tty/ttyS0 device:block/vd?", boot=PATIENT)
    # udev's sockets are there, but PID 1 is late to start udevd: by twice what a device may be left alone by it.
    tree.hold("udevd", before="systemd-udevd.service")
    tree.hold("here", before="multi-user.target", wanted_by="multi-user.target", after="basic.target")
    guest = vm(kernel="6.12")
    guest.wait_held("udevd")
    wait_booting(guest)
    assert guest.ok("test -S /run/udev/control")
    assert guest.ctl("wait", "--timeout=11", check=False).returncode == 3
    assert reached(guest.status()) == {}
    guest.release("udevd")

    guest.wait_held("here")
    guest.wait_for(lambda: reached(guest.status()), "the serial port")
    status = guest.status()
    assert (status["phase"], reached(status)) == ("booting", {"device:tty/ttyS0": "udev"})
    assert expedited_now(guest) == "1"
    assert not guest.ok("test -e /sys/module/virtio_blk")

    guest.qmp("blockdev-add", driver="null-co", **{"node-name": "disk", "size": 1 << 20})
    guest.qmp("device_add", driver="virtio-blk-pci", drive="disk", id="plugged")
    status = wait_ended(guest)
    assert reached(status) == {"device:tty/ttyS0": "udev", "device:block/vd?": "udev"}
    assert guest.ok("test -e /sys/module/virtio_blk && test -b /dev/vda")
    assert guest.output("udevadm info -q property --property=SUBSYSTEM --value /dev/vda") == "block"
    guest.release("here")
    guest.wait_booted()
    report = finish(guest)
    assert_over(report, "milestones", BEGUN_AND_ENDED)
    assert audit(report, "DEVICE_UNINITIALIZED") == []
    sources = [(entry["RCU_BOOT_MILESTONE"], entry["RCU_BOOT_SOURCE"]) for entry in audit(report, "MILESTONE")]
    assert sources == [("device:tty/ttyS0", "udev"), ("device:block/vd?", "udev")]


def test_l_bus_stopped_and_pid1_reexecuted(vm, tree):
    """Case 17: PID 1 re-executes and reloads; then the bus goes away, all that is awaited is reached meanwhile, and
    the bus comes back."""
    use_policy(tree, "multi-user.target graphical.target", boot=PATIENT)
    tree.hold("here", before="multi-user.target", wanted_by="multi-user.target", after="basic.target")
    guest = vm(suite="trixie", kernel="6.12")
    guest.wait_held("here")
    guest.wait_until("busctl --no-pager --no-legend list | grep -qw rcu-bootd")
    # It would call for the bus.
    guest.wait_until("systemctl is-active --quiet systemd-logind.service")
    for verb in ("daemon-reexec", "daemon-reload"):
        guest.run(f"systemctl {verb}")
    assert guest.ok("busctl --no-pager --no-legend list | grep -qw rcu-bootd")

    guest.run("systemctl stop dbus.socket dbus.service")
    assert not guest.ok("pidof dbus-daemon")
    assert (guest.state()["PHASE"], guest.state()["STARTS"]) == ("booting", "1")
    guest.release("here")
    guest.wait_until("systemctl is-active --quiet graphical.target")
    assert not guest.ok("pidof dbus-daemon"), "the bus was to be away"
    status = guest.status()
    assert (status["phase"], reached(status)) == ("booting", {})
    assert expedited_now(guest) == "1"

    guest.run("systemctl start dbus.socket dbus.service")
    report = finish(guest)
    status = assert_over(report, "milestones", BEGUN_AND_ENDED)
    assert reached(status) == {"multi-user.target": "bus", "graphical.target": "bus"}
    assert status["daemon"]["starts"] == 1
    assert stores(report) == BEGUN_AND_ENDED
