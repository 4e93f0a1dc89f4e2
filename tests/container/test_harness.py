# SPDX-License-Identifier: LGPL-2.1-or-later
"""The container harness itself, with a stand-in for rcu-bootd: what the scenarios beside this file rely on."""

import multiprocessing
import os
import signal
import tempfile
from pathlib import Path

import pytest

from guest import CommandFailed, Container, GuestError, images, run_in_buildroot, wait_for
from guest.container import CGROUP_PREFIX, cgroup_mount, sweep

END_BOOT = "echo 1 >/sys/kernel/rcu_normal; echo 0 >/sys/kernel/rcu_expedited; /usr/lib/rcu-test/event ended"
FINISHED = "FinishTimestampMonotonic"


def stand_in(tree):
    tree.service("stand-in", END_BOOT, unit="After=multi-user.target", wanted_by="graphical.target")


def test_boots_and_reports(container, tree):
    stand_in(tree)
    guest = container(install=False, knobs={"rcu_expedited": "1"})
    guest.wait_booted()
    assert guest.knob("rcu_expedited") == "0"
    assert guest.knob("rcu_normal") == "1"
    assert guest.wait_event("ended") > 0
    report = guest.finish()
    assert report.knobs["rcu_normal"] == "1"
    assert report.failed == []
    assert int(report.manager["FinishTimestampMonotonic"]) > 0
    assert report.journal(UNIT="stand-in.service", _PID="1")
    assert report.rc("status") == 127
    assert not guest.alive()


def test_boots_trixie(container, tree):
    stand_in(tree)
    guest = container(install=False, suite="trixie")
    guest.wait_booted()
    assert guest.output("systemctl --version").startswith("systemd 257")
    assert guest.output("systemctl --failed --no-legend --plain") == ""


def test_knobs_are_never_the_hosts(container, tree):
    real = {name: Path(f"/sys/kernel/{name}").read_text(encoding="ascii") for name in ("rcu_expedited", "rcu_normal")}
    stand_in(tree)
    guest = container(install=False, knobs={"rcu_normal": "0"})
    guest.wait_booted()
    assert guest.knob("rcu_normal") == "1"
    for name, text in real.items():
        assert Path(f"/sys/kernel/{name}").read_text(encoding="ascii") == text
    # And without the prepared files nothing boots at all.
    missing = guest.shared / "mounts"
    missing.write_text(f"/rcu-test/none /sys/kernel rw\n{missing.read_text(encoding='ascii')}", encoding="ascii")
    guest.reboot()
    guest.wait_down()
    assert "refusing to boot: cannot mount" in (guest.logs / "console.log").read_text(encoding="utf-8")


def test_knobs_as_asked(container, tree):
    tree.mkdir("rcu-test")
    guest = container(
        install=False,
        cmdline="quiet rcupdate.rcu_expedited=1",
        knobs={"rcu_normal": None, "android_rcu_boot_end_delay": "15000", "user_booted": "0"},
        sysfs={"/sys/firmware/devicetree/base/compatible": b"acme,board\0", "/sys/class/dmi/id/chassis_type": "9"},
    )
    guest.wait_booted()
    assert guest.output("cat /proc/cmdline") == "quiet rcupdate.rcu_expedited=1"
    assert not guest.ok("test -e /sys/kernel/rcu_normal")
    assert guest.output("cat /sys/module/rcupdate/parameters/android_rcu_boot_end_delay") == "15000"
    assert guest.output("cat /sys/class/dmi/id/chassis_type") == "9"
    assert guest.output("tr -d '\\0' </sys/firmware/devicetree/base/compatible") == "acme,board"
    guest.run("echo 1 >/proc/sys/kernel/user_booted")
    assert guest.knob("user_booted") == "1"


def test_knob_history(container):
    guest = container(install=False)
    guest.wait_booted()
    # PID 1 says that it is ready a moment before it notes when.
    booted = guest.wait_for(lambda: int(guest.show(None, FINISHED)[FINISHED]), "the time at which start-up was finished")
    for count, value in enumerate("1010", start=1):
        guest.run(f"echo {value} >/sys/kernel/rcu_expedited")
        guest.wait_for(lambda count=count: len(guest.knob_writes("rcu_expedited")) == count, f"write {count}")
    writes = guest.knob_writes("rcu_expedited")
    assert [write.value for write in writes] == ["1", "0", "1", "0"]
    now = 1e6 * float(guest.output("cut -d' ' -f1 /proc/uptime"))
    assert booted < writes[0].usec < writes[3].usec < now + 10_000
    assert guest.knob_writes("rcu_normal") == []
    guest.poweroff()
    assert guest.knob_writes() == writes


def test_readonly_sysfs(container):
    guest = container(install=False, readonly=True)
    guest.wait_booted()
    result = guest.run("echo 1 >/sys/kernel/rcu_expedited", check=False)
    assert result.returncode != 0
    assert "Read-only file system" in result.stderr


def test_boot_held_and_released(container, tree):
    tree.hold("here", before="basic.target")
    guest = container(install=False)
    guest.wait_held("here")
    assert guest.active("basic.target") == "inactive"
    guest.release("here")
    guest.wait_booted()
    assert guest.active("basic.target") == "active"


def test_runs_commands_as_users(container):
    guest = container(install=False)
    guest.wait_booted()
    assert guest.output("id -un", user="alice") == "alice"
    with pytest.raises(CommandFailed, match="Permission denied"):
        guest.run("echo 1 >/sys/kernel/rcu_normal", user="alice")


def test_no_dbus(container):
    guest = container(install=False, dbus=False)
    guest.wait_booted()
    assert not guest.ok("test -e /run/dbus/system_bus_socket")
    assert guest.output("systemctl --failed --no-legend --plain") == ""


def test_says_why_a_wait_failed(container, tree):
    tree.hold("for-good", before="sysinit.target")
    guest = container(install=False)
    with pytest.raises(GuestError, match="start-up to finish(.|\n)*console"):
        guest.wait_booted(timeout=2)
    guest.kill()
    with pytest.raises(GuestError, match="went away"):
        guest.wait_booted()


def test_reboot_keeps_var(container):
    guest = container(install=False)
    guest.wait_booted()
    guest.run("touch /var/mark /run/mark")
    guest.reboot()
    guest.wait_booted()
    assert guest.ok("test -e /var/mark && ! test -e /run/mark")


def boot_and_wait(path):
    """What a test run does that is about to be killed; see below."""
    guest = Container(logs=path)
    guest.wait_booted()
    Path(path, "leader").write_text(str(guest.leader), encoding="ascii")
    signal.pause()


def test_killed_run_leaves_nothing(tmp_path):
    process = multiprocessing.get_context("spawn").Process(target=boot_and_wait, args=(tmp_path,))
    process.start()
    wait_for((tmp_path / "leader").exists, "the container to boot")
    leader = wait_for(lambda: (tmp_path / "leader").read_text(encoding="ascii"), "its process id")
    process.kill()
    process.join()
    # A zombie is a matter of the host's own PID 1, which may take its time.
    stat = Path(f"/proc/{leader}/stat")
    wait_for(lambda: not stat.exists() or ") Z " in stat.read_text(encoding="utf-8"), "the container to die")
    sweep()
    assert not list(cgroup_mount().glob(f"{CGROUP_PREFIX}.{process.pid}.*"))
    assert not list(Path(tempfile.gettempdir()).glob(f"rcu-bootd-guest.{process.pid}.*"))


def test_repeated_boots_leave_nothing(container):
    workdirs, pids = [], []
    for guest in container.boots(5, install=False):
        guest.wait_booted()
        workdirs.append(guest.shared.parent)
        pids.append(guest.leader)
    assert len(workdirs) == 5
    assert not [path for path in workdirs if path.exists()]
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]
    assert not list(cgroup_mount().glob(f"{CGROUP_PREFIX}.{os.getpid()}.*"))
    assert "rcu-bootd-guest" not in Path("/proc/self/mountinfo").read_text(encoding="utf-8")


def test_buildroot(tmp_path):
    source = Path(__file__).resolve().parents[2]
    log = tmp_path / "log"
    script = (
        ". /etc/os-release; echo $VERSION_CODENAME; pwd; test -e configure.ac; test ! -e .git; touch new\n"
        "grep -q ' /sys sysfs ro,' /proc/mounts\n"
        "python3 -c 'import socket; s = socket.create_server((\"127.0.0.1\", 0)); socket.create_connection(s.getsockname())'\n"
        "exit 7"
    )
    assert run_in_buildroot(source, script, root=images.buildroot(), log=log) == 7, log.read_text(encoding="utf-8")
    assert log.read_text(encoding="utf-8").split() == ["trixie", "/build"]
    assert not (source / "new").exists()
