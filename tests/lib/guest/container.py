# SPDX-License-Identifier: LGPL-2.1-or-later
"""Containers: Debian's systemd as PID 1 under systemd-nspawn, with ordinary files as RCU knobs.

Nothing of the host is written: mounts live in a private mount namespace, the root file system is a stack of
read-only layers under a tmpfs, the network is the container's own, and /sys/kernel, /sys/module are directories
prepared by the test. tests/guest/agent/init verifies the latter before systemd starts.
"""

import contextlib
import os
import secrets
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path

from . import images
from .base import DBUS_UNITS, PATIENCE, Guest, agent_tree, wait_for
from .prereq import SEARCH_PATH, MissingPrerequisite, need, need_root
from .report import Report
from .tree import Tree
from .watch import KnobWatch

LAUNCH = Path(__file__).with_name("container-launch")
CGROUP_PREFIX = "rcu-bootd-test"

# Where each knob is; other names may be given as paths below /sys/kernel, /sys/module or /sys/firmware.
KNOBS = {
    "rcu_expedited": "/sys/kernel/rcu_expedited",
    "rcu_normal": "/sys/kernel/rcu_normal",
    "rcu_boot_end_delay": "/sys/module/rcupdate/parameters/rcu_boot_end_delay",
    "android_rcu_boot_end_delay": "/sys/module/rcupdate/parameters/android_rcu_boot_end_delay",
    "rcu_normal_wake_from_gp": "/sys/module/rcutree/parameters/rcu_normal_wake_from_gp",
    "user_booted": "/proc/sys/kernel/user_booted",
}

# How long nspawn gets to notice that its container is gone, in seconds.
GRACE = 5

STOCK_KNOBS = {"rcu_expedited": "0", "rcu_normal": "0", "rcu_normal_wake_from_gp": "0"}

# The shipped unit has ConditionVirtualization=!container, because a container cannot write its host's knobs. Here
# it can, so an empty assignment resets the unit's conditions.
CONTAINER_DROPIN = "[Unit]\nConditionVirtualization=\n"


def cgroup_mount():
    """Where the host has the cgroup v2 hierarchy mounted (not the container's view of it)."""
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        fields, _, tail = line.partition(" - ")
        if tail.startswith("cgroup2 "):
            return Path(fields.split()[4])
    raise MissingPrerequisite("no cgroup v2 hierarchy is mounted on this machine: mount -t cgroup2 none DIRECTORY")


def remove_cgroup(path):
    """Kills whatever is in cgroup @path and removes it with all below it."""
    with contextlib.suppress(FileNotFoundError):
        (path / "cgroup.kill").write_text("1", encoding="ascii")

    def gone():
        for directory, _, _ in os.walk(path, topdown=False):
            with contextlib.suppress(OSError):  # EBUSY until the last process is reaped
                os.rmdir(directory)
        return not path.exists()

    wait_for(gone, f"processes in {path} to end")


def sweep():
    """Removes cgroups and directories of test runs that were killed (their processes died with them)."""
    for path in cgroup_mount().glob(CGROUP_PREFIX + ".*"):
        if not Path("/proc", path.name.split(".")[1]).exists():
            remove_cgroup(path)
    for path in Path(tempfile.gettempdir()).glob("rcu-bootd-*.*.*"):
        owner = path.name.split(".")[1]
        if owner.isdecimal() and not Path("/proc", owner).exists():
            shutil.rmtree(path, ignore_errors=True)


class _NotifySocket:
    """Receives what nspawn reports: READY=1 once the container's PID 1 has finished starting up.

    It is read all the time, by a thread of its own: nspawn waits for room in the queue of ten datagrams, and PID 1,
    which tells of every job, then waits for nspawn.
    """

    def __init__(self):
        self._name = f"rcu-bootd-test-{os.getpid()}-{secrets.token_hex(4)}"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind("\0" + self._name)
        self._socket.setblocking(False)
        self._lock = threading.Lock()
        self.messages = []
        self._stop_read, self._stop_write = os.pipe2(os.O_CLOEXEC)
        self._thread = threading.Thread(target=self._loop, daemon=True)
        self._thread.start()

    @property
    def address(self):
        return "@" + self._name

    def _loop(self):
        while self._stop_read not in select.select([self._socket, self._stop_read], [], [])[0]:
            self.receive()

    def receive(self):
        with self._lock:
            while True:
                try:
                    self.messages += self._socket.recv(65536).decode(errors="replace").splitlines()
                except BlockingIOError:
                    return self.messages

    def close(self):
        """Ends the thread. May be called again."""
        if not self._thread.is_alive():
            return
        os.write(self._stop_write, b"x")
        self._thread.join()
        self._socket.close()
        os.close(self._stop_read)
        os.close(self._stop_write)


class Container(Guest):
    """A container that boots at once and lives until poweroff(), kill() or the end of its `with` block.

    suite       "bookworm" (systemd 252) or "trixie" (257)
    layers      trees (Tree or path) laid over Debian's, later ones over earlier ones
    knobs       name -> initial text; names of KNOBS or paths below /sys; None as value: this kernel has no such knob
    sysfs       further files below /sys/{kernel,module,firmware,class}: path -> text
    cmdline     text of /proc/cmdline
    readonly    /sys read-only, as in any other container (writes fail with EROFS)
    binds       (host path, guest path) pairs, mounted read-write
    unconditional  reset the unit's ConditionVirtualization=, so that it runs in a container
    dbus        False removes D-Bus
    unit        boot into this unit instead of default.target
    environment dict of variables for PID 1
    uptime      seconds since the kernel started (CLOCK_BOOTTIME, CLOCK_MONOTONIC), when PID 1 starts
    watch       False: knob_writes() has nothing, and costs the boot nothing
    args        more arguments for systemd-nspawn
    """

    def __init__(
        self, *, logs=None, suite="bookworm", layers=(), knobs=None, sysfs=None, cmdline="quiet", readonly=False,
        binds=(), unconditional=True, dbus=True, unit=None, environment=None, args=(), uptime=2, watch=True,
    ):  # fmt: skip
        self._own_logs = logs is None
        super().__init__(logs or tempfile.mkdtemp(prefix="rcu-bootd-container."))
        need_root("a container")
        need("systemd-nspawn", "nsenter", "setpriv", "unshare", "mount")
        self._workdir = Path(tempfile.mkdtemp(prefix=f"rcu-bootd-guest.{os.getpid()}."))
        self.shared = self._workdir / "shared"  # /rcu-test in the guest
        self._overrides = agent_tree(self._workdir / "overrides")
        self._mounts = []
        self._process = None
        self._watch = None
        self._notify = _NotifySocket()
        self._leader_pid = None
        self._clock_offset = 0
        self._cgroup = cgroup_mount() / f"{CGROUP_PREFIX}.{os.getpid()}.{secrets.token_hex(4)}"
        try:
            self._prepare_shared(cmdline)
            self._prepare_sys({**STOCK_KNOBS, **(knobs or {})}, sysfs or {}, readonly)
            self._prepare_overrides(unconditional, dbus)
            if watch:
                self._watch = KnobWatch({self.knob_path(name).parent for name in KNOBS if self.knob_path(name).exists()})
            self._start(suite, layers, binds, unit, environment or {}, args, uptime)
        except BaseException:
            self.kill()
            raise

    # Preparation --------------------------------------------------------------------------------------------------

    def _prepare_shared(self, cmdline):
        self.shared.mkdir()
        self.shared.chmod(0o755)
        self._workdir.chmod(0o755)
        (self.shared / "events").touch()
        (self.shared / "events").chmod(0o666)
        (self.shared / "cmdline").write_text(cmdline + "\n", encoding="ascii")
        self._mount("cmdline", "/proc/cmdline", "ro")

    def _mount(self, source, destination, mode):
        self._mounts.append(f"/rcu-test/{source} {destination} {mode}")

    def _prepare_sys(self, knobs, sysfs, readonly):
        mode = "ro" if readonly else "rw"
        for directory in ("kernel/debug", "kernel/tracing", "kernel/security", "module/rcupdate/parameters",
                          "module/rcutree/parameters", "firmware"):  # fmt: skip
            (self.shared / "sys" / directory).mkdir(parents=True, exist_ok=True)
        if any(name.startswith("/sys/class/") for name in sysfs):
            self._copy_sys_class()
        for name in ("kernel", "module", "firmware"):
            self._mount(f"sys/{name}", f"/sys/{name}", mode)
        for name, text in {**knobs, **sysfs}.items():
            if text is None:
                continue
            path = self.knob_path(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else f"{text}\n".encode())
        if knobs.get("user_booted") is not None:
            self._prepare_proc_sys_kernel(mode)

    def _copy_sys_class(self):
        """/sys/class has hardly anything but symlinks; they are relative and stay true where the copy is mounted."""
        for link in Path("/sys/class").glob("*/*"):
            copy = self.shared / "sys/class" / link.parent.name / link.name
            copy.parent.mkdir(parents=True, exist_ok=True)
            if link.is_symlink():
                copy.symlink_to(os.readlink(link))
        self._mount("sys/class", "/sys/class", "ro")

    def _prepare_proc_sys_kernel(self, mode):
        """A copy of /proc/sys/kernel, since nothing can be added to the real one."""
        copy = self.shared / "proc/sys/kernel"
        real = Path("/proc/sys/kernel")
        for name in ("hostname", "domainname", "osrelease", "ostype", "version", "cap_last_cap", "overflowuid",
                     "overflowgid", "pid_max", "threads-max", "random/uuid", "random/boot_id"):  # fmt: skip
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            (copy / name).write_bytes((real / name).read_bytes())
        self._mount("proc/sys/kernel", "/proc/sys/kernel", mode)

    def _prepare_overrides(self, unconditional, dbus):
        if unconditional:
            self._overrides.dropin("rcu-boot-end.service", "50-test-container", CONTAINER_DROPIN)
        if not dbus:
            self._overrides.mask(*DBUS_UNITS)
            (self.shared / "remove").write_text("/usr/bin/dbus-daemon\n", encoding="ascii")
        (self.shared / "mounts").write_text("\n".join(self._mounts) + "\n", encoding="ascii")

    # Running ------------------------------------------------------------------------------------------------------

    def _start(self, suite, layers, binds, unit, environment, args, uptime):
        # overlayfs wants the uppermost layer first.
        stack = [self._overrides, *reversed([layer if isinstance(layer, Tree) else Tree(layer) for layer in layers])]
        lower = [str(tree.check().path) for tree in stack] + [str(images.rootfs(suite))]
        bad = [path for path in lower if set(path) & set(":,\\")]
        if bad:
            raise ValueError(f"overlayfs cannot take {bad[0]}: its path has one of : , \\")
        command = [
            "unshare", "--mount", "--propagation", "private",
            str(LAUNCH), self._cgroup.name, ":".join(lower), str(uptime),
            "--register=no", "--keep-unit", "--quiet", "--private-network", "--notify-ready=yes",
            "--kill-signal=SIGRTMIN+3", "--machine=guest", "--directory=/run/root",
            f"--bind={self.shared}:/rcu-test",
            *[f"--bind={source}:{destination}" for source, destination in binds],
            *[f"--setenv={name}={value}" for name, value in environment.items()],
            *args, "/usr/lib/rcu-test/init", *([f"--unit={unit}"] if unit else []),
        ]  # fmt: skip
        env = {**os.environ, "NOTIFY_SOCKET": self._notify.address, "PATH": SEARCH_PATH}
        self.started = time.monotonic()
        with open(self.logs / "console.log", "wb") as console:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=console, stderr=console, env=env, start_new_session=True
            )

    def alive(self):
        return self._process is not None and self._process.poll() is None

    def _payload(self):
        """PID of nspawn's child: below the launcher, which is ours, there is unshare (tests/lib/just-booted), then nspawn."""
        children = {}
        for path in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                parent = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1]
                children.setdefault(int(parent), []).append(int(path.parent.name))
        for unshare in children.get(self._process.pid, []):
            for nspawn in children.get(unshare, []):
                for pid in children.get(nspawn, []):
                    return pid
        return None

    @property
    def leader(self):
        """PID, on the host, of the container's PID 1; waits until that is systemd."""
        if self._leader_pid and Path(f"/proc/{self._leader_pid}").exists():
            return self._leader_pid

        def find():
            pid = self._payload()
            with contextlib.suppress(OSError):
                if pid and Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip() == "systemd":
                    return pid
            return None

        self._leader_pid = self.wait_for(find, "systemd to start in the container")
        self._clock_offset = self._read_clock_offset()
        return self._leader_pid

    def _read_clock_offset(self):
        """Seconds that the container's CLOCK_BOOTTIME is ahead of the host's (time_namespaces(7))."""
        lines = Path(f"/proc/{self._leader_pid}/timens_offsets").read_text(encoding="ascii").splitlines()
        return int(next(line.split()[1] for line in lines if line.split()[0] == "boottime"))

    def _run(self, script, timeout):
        # In the launcher's cgroup commands die with the container, and are not part of any of its units.
        command = [
            "sh", "-c", 'echo $$ >"$0" && exec "$@"', str(self._cgroup / "launcher/cgroup.procs"), "nsenter",
            f"--target={self.leader}", "--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup",
            "--time", "--root", "env", "-i", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME=/root", "SYSTEMD_PAGER=", "sh", "-c", f"cd /; {script}",
        ]  # fmt: skip
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout, check=False,
            env={**os.environ, "PATH": SEARCH_PATH},
        )  # fmt: skip
        return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")

    def knob_path(self, name):
        """The file, on the host, that stands for knob @name in this container."""
        return self.shared / KNOBS.get(name, name).lstrip("/")

    def knob(self, name):
        """The knob's text, without white space."""
        return self.knob_path(name).read_text(encoding="ascii").strip()

    def knob_writes(self, knob=None):
        """Changes of knobs since the boot began, oldest first; see KnobWatch for its limits. `usec` is the container's
        CLOCK_BOOTTIME."""
        shift = self._clock_offset * 1_000_000
        writes = self._watch.writes if self._watch else []
        return [replace(write, usec=write.usec + shift) for write in writes if knob in (None, write.knob)]

    def set_knob(self, name, text):
        """Writes the knob as something else in the guest would."""
        self.knob_path(name).write_text(f"{text}\n", encoding="ascii")

    def path(self, name):
        """A host path for the guest's file @name, while the container runs."""
        return Path(f"/proc/{self.leader}/root") / name.lstrip("/")

    def events(self):
        lines = (self.shared / "events").read_text(encoding="utf-8").splitlines()
        return [(float(at), name) for _, at, name in (line.split(" ", 2) for line in lines)]

    @property
    def notified(self):
        """Lines nspawn passed on from the container's PID 1 (READY=1) or said itself (STATUS=...)."""
        return self._notify.receive()

    def wait_booted(self, timeout=PATIENCE):
        self.wait_for(lambda: "READY=1" in self.notified, "start-up to finish", timeout)

    def collect(self):
        self.run("/usr/lib/rcu-test/collect")
        target = self.logs / "report"
        shutil.copytree(self.shared / "report", target, dirs_exist_ok=True)
        return Report(target)

    def reboot(self):
        """Reboots; /var survives, /run does not."""
        before = self.leader
        self._notify.receive()
        self._notify.messages.clear()
        self.run("systemctl reboot", check=False)
        self.wait_for(lambda: not Path(f"/proc/{before}").exists(), "the container to go down")
        self._leader_pid = None

    def wait_down(self, timeout=PATIENCE):
        """Waits until the container has ended by itself."""
        wait_for(lambda: not self.alive(), "the container to power off", timeout)
        self.kill()

    def poweroff(self):
        # As PID 1 goes down so does the command's own namespace: its exit code says nothing.
        self.run("systemctl poweroff -ff", check=False)
        self.wait_down()

    def shutdown(self):
        """An orderly shutdown: units are stopped."""
        os.kill(self.leader, signal.SIGRTMIN + 4)
        self.wait_down()

    def _end_processes(self):
        # The container first, so that nspawn and the launcher can reap their children; all of them if that fails.
        payloads = list(self._cgroup.glob("boot*/payload"))
        for payload in payloads:
            with contextlib.suppress(OSError):
                (payload / "cgroup.kill").write_text("1", encoding="ascii")
        if payloads:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(GRACE)
        self._process.stdin.close()
        self._process.kill()
        self._process.wait()
        if self._cgroup.exists():
            remove_cgroup(self._cgroup)

    def kill(self):
        if self._process is not None:
            self._end_processes()
        self._notify.close()
        if self._watch is not None:
            self._watch.close()
        shutil.rmtree(self._workdir, ignore_errors=True)
        if self._own_logs:
            shutil.rmtree(self.logs, ignore_errors=True)
