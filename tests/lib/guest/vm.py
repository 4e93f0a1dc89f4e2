# SPDX-License-Identifier: LGPL-2.1-or-later
"""VMs: Debian's stock kernel and systemd under QEMU's plain emulation, with the kernel's real knobs.

The guest is an initramfs of concatenated archives: Debian's tree (cached), a few kernel modules (cached), and the
test's own layers. Serial ports: 0 console (for people), 1 the report (a tar stream), 2 commands, answers, events.
"""

import base64
import contextlib
import fcntl
import itertools
import json
import os
import shlex
import shutil
import socket
import subprocess
import tarfile
import tempfile
import threading
import time
from pathlib import Path

from . import images, kernels
from .base import DBUS_UNITS, Guest, GuestError, agent_tree, wait_for
from .cache import cache_dir
from .cpio import CpioWriter
from .prereq import SEARCH_PATH, need
from .report import Report
from .tree import Tree

# Emulated boots take 20 s on an idle machine; a busy one may take many times that.
PATIENCE = 600

# At most this many VMs run at a time on a machine, whoever starts them: more only slow each other down.
SLOTS = 2

# QEMU's options for each clock; see VM.
CLOCKS = {
    "instructions": ["-accel", "tcg,thread=single", "-icount", "shift=0,sleep=on"],
    "skip-idle": ["-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off"],
    "host": ["-accel", "tcg,thread=multi"],
    "host-single": ["-accel", "tcg,thread=single"],
}

# The kernel learns how fast a local APIC's timer is by waiting for a tenth of a second in a loop of PAUSE instructions, of which
# each stops the emulator. Where instructions are counted that takes ten seconds; without that timer there is another, good for
# one CPU. And CPUs that take turns agree on the time.
ONE_CPU = "nolapic_timer"
TAKING_TURNS = "tsc=reliable"

# Trace every store to the two knobs from the kernel's first moments on. $arg3 of a kobject's store function is the
# text written (include/linux/kobject.h: struct kobj_attribute). A comma stands for a space on the command line.
KNOB_TRACE = "trace_clock=boot kprobe_event=" + ";".join(
    f"p:knob_{knob},{knob}_store,value=+0($arg3):string" for knob in ("rcu_expedited", "rcu_normal")
)
# A guest whose kernel has crashed is gone at once, rather than silent until patience runs out.
CONSOLE = "console=ttyS0 oops=panic panic=-1 quiet"

# QEMU 7.2 leaves wrong flags behind cmpxchg16b, now and then the trap flag among them: Linux 6.12, which allocates
# memory by that instruction, then dies in one boot of some. Without it the kernel takes another way.
CPU = "max,-cx16"


def default_cpus(clock):
    """One where instructions are counted: of two, one once stood still for good in QEMU 7.2, and kernel 6.1 waits for the second
    in a loop that takes minutes. It is not faster with two either, since they take turns."""
    return 1 if "-icount" in CLOCKS[clock] else 2


def timer_options(clock, cpus):
    """What is added to the kernel command line of a guest with this clock and that many CPUs."""
    options = [ONE_CPU] if cpus == 1 else []
    if "tcg,thread=single" in CLOCKS[clock]:
        options.append(TAKING_TURNS)
    return " ".join(options)


@contextlib.contextmanager
def vm_slot():
    """Waits for one of SLOTS places and holds it."""
    cache_dir().mkdir(parents=True, exist_ok=True)
    files = [open(cache_dir() / f"vm-slot-{n}.lock", "w", encoding="ascii") for n in range(SLOTS)]
    try:
        while not (mine := next((file for file in files if _try_lock(file)), None)):
            time.sleep(0.5)
        yield mine
    finally:
        for file in files:
            file.close()


def _try_lock(file):
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return False


class _Channel:
    """The third serial port: requests go out, answers and events come in, a line each."""

    def __init__(self, connection, log):
        self._socket = connection
        self._log = log
        self._lock = threading.Lock()
        self._ids = itertools.count(1)
        self.events = []
        self.answers = {}
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        with self._socket.makefile("rb") as lines, open(self._log, "wb") as log:
            for line in lines:
                log.write(line)
                log.flush()
                self._take(line.decode(errors="replace").split())

    def _take(self, words):
        if len(words) >= 3 and words[0] == "E":
            with contextlib.suppress(ValueError):
                self.events.append((float(words[1]), " ".join(words[2:])))
        elif len(words) == 5 and words[0] == "R":
            out, err = (base64.b64decode(text).decode(errors="replace") if text != "-" else "" for text in words[3:])
            self.answers[words[1]] = (int(words[2]), out, err)

    def request(self, script):
        ident = str(next(self._ids))
        with self._lock:
            self._socket.sendall(f"{ident} {base64.b64encode(script.encode()).decode()}\n".encode())
        return ident


class VM(Guest):
    """A virtual machine that boots at once and lives until poweroff(), kill() or the end of its `with` block.

    kernel      "6.12" or "6.1", Debian's; or one of kernels.CONFIGS, with our series
    suite       "bookworm" (systemd 252) or "trixie" (257)
    layers      trees (Tree or path) laid over Debian's, later ones over earlier ones
    cmdline     added to the kernel command line
    probes      more probes beside those on the knobs' stores, as kprobe_event= takes them, without blanks
    dbus        False removes D-Bus
    clock       how time passes in the guest, whose policies have deadlines:
                "instructions" (the default): one ns an instruction while it works, real time while it is idle. A boot
                takes 5 s of the guest's time on any machine however busy, and one CPU of the host's;
                "skip-idle": the same, but idle time passes at once: for measurements, in which nobody waits outside;
                "host": the host's time. Both CPUs really run at once; a boot takes 10 s on an idle host, 50 s on a
                busy one;
                "host-single": the same, but the CPUs take turns, which QEMU 7.2 never crashes of
    cpus        1 by default where instructions are counted, otherwise 2; see default_cpus()
    memory      in MiB
    qemu        more arguments for QEMU
    """

    def __init__(
        self, *, logs=None, kernel="6.12", suite="bookworm", layers=(), cmdline="", probes=(), dbus=True,
        clock="instructions", memory=1500, cpus=None, qemu=(),
    ):  # fmt: skip
        self._own_logs = logs is None
        super().__init__(logs or tempfile.mkdtemp(prefix="rcu-bootd-vm."))
        need("qemu-system-x86_64", "setpriv")
        self._workdir = Path(tempfile.mkdtemp(prefix=f"rcu-bootd-guest.{os.getpid()}."))
        self._stack = contextlib.ExitStack()
        self._process = None
        self._channel = None
        self._qmp = None
        try:
            directory = kernels.patched(kernel) if kernel in kernels.CONFIGS else images.kernel(kernel)
            cpus = cpus or default_cpus(clock)
            initrd = self._build_initrd(images.initrd(suite), directory, layers, dbus)
            append = f"{CONSOLE} {timer_options(clock, cpus)} {';'.join((KNOB_TRACE, *probes))} {cmdline}".strip()
            self._stack.enter_context(vm_slot())
            self._start(directory / "vmlinuz", initrd, append, [*CLOCKS[clock], "-m", str(memory), "-smp", f"{cpus},sockets={cpus}", *qemu])
        except BaseException:
            self.kill()
            raise

    def _build_initrd(self, base, kernel, layers, dbus):
        own = agent_tree(self._workdir / "own")
        for target in ("sysinit.target", "emergency.target"):
            own.symlink(f"etc/systemd/system/{target}.wants/rcu-test-shell.service", "../rcu-test-shell.service")
        # A getty on the console would hang it up and swallow what is printed there.
        own.mask("serial-getty@ttyS0.service")
        own.mkdir("rcu-test")
        if not dbus:
            own.mask(*DBUS_UNITS)
            own.write("rcu-test/remove", "/usr/bin/dbus-daemon\n")
        target = self._workdir / "initrd"
        with open(target, "wb") as out:
            for archive in (base, kernel / "modules.cpio"):
                with open(archive, "rb") as source:
                    shutil.copyfileobj(source, out, 1 << 20)
            writer = CpioWriter(out)
            for layer in [own, *layers]:
                tree = layer if isinstance(layer, Tree) else Tree(layer)
                writer.add_tree(tree.check().path)
            writer.add_symlink("init", "usr/lib/rcu-test/init")
            writer.close()
        return target

    def _start(self, vmlinuz, initrd, append, more):
        command = [
            "setpriv", "--pdeathsig", "KILL",
            "qemu-system-x86_64", "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
            "-cpu", CPU, "-kernel", str(vmlinuz), "-initrd", str(initrd), "-append", append,
            "-chardev", f"file,id=console,path={self.logs}/console.log", "-serial", "chardev:console",
            "-chardev", f"file,id=report,path={self._workdir}/report.tar", "-serial", "chardev:report",
            "-chardev", "socket,id=channel,path=channel,server=on,wait=on", "-serial", "chardev:channel",
            "-qmp", "unix:qmp,server=on,wait=off",
            *more,
        ]  # fmt: skip
        (self.logs / "qemu-command").write_text(shlex.join(command) + "\n", encoding="utf-8")
        self.started = time.monotonic()
        with open(self.logs / "qemu.log", "wb") as log:
            # Sockets are named relative to the working directory: a path in sockaddr_un has 108 bytes at most.
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self._workdir,
                env={**os.environ, "PATH": SEARCH_PATH}, start_new_session=True,
            )  # fmt: skip
        self._channel = _Channel(self._connect("channel"), self.logs / "channel.log")

    def _connect(self, name):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)

        def attempt():
            if not self.alive():
                qemu = (self.logs / "qemu.log").read_text(encoding="utf-8", errors="replace")
                raise GuestError(f"QEMU ended with {self._process.returncode}: {qemu}")
            with contextlib.suppress(FileNotFoundError, ConnectionRefusedError):
                connection.connect(str(self._workdir / name))
                return True
            return False

        wait_for(attempt, f"QEMU's {name} socket")
        return connection

    def alive(self):
        return self._process is not None and self._process.poll() is None

    def wait_for(self, predicate, what, timeout=PATIENCE):
        return super().wait_for(predicate, what, timeout)

    def wait_until(self, command, timeout=PATIENCE):
        return super().wait_until(command, timeout)

    def wait_event(self, name, timeout=PATIENCE):
        return super().wait_event(name, timeout)

    def wait_held(self, name, timeout=PATIENCE):
        return super().wait_held(name, timeout)

    def run(self, command, *, user=None, check=True, timeout=PATIENCE):
        return super().run(command, user=user, check=check, timeout=timeout)

    def events(self):
        return list(self._channel.events)

    def _run(self, script, timeout):
        self.wait_event("shell")
        ident = self._channel.request(script)
        self.wait_for(lambda: ident in self._channel.answers, f"an answer to `{script}`", timeout)
        return self._channel.answers.pop(ident)

    def wait_booted(self, timeout=PATIENCE):
        self.wait_running(timeout)

    def collect(self):
        self.run("/usr/lib/rcu-test/collect && /usr/lib/rcu-test/send-report")
        with tarfile.open(self._workdir / "report.tar", "r|gz") as archive:
            archive.extractall(self.logs)
        return Report(self.logs / "report")

    def soft_reboot(self):
        """systemctl soft-reboot (systemd 254): user space starts anew, the kernel stays; waits until commands get in."""
        self._channel.events.clear()
        self._channel.request("systemctl soft-reboot")
        self.wait_event("shell")

    def poweroff(self):
        # QEMU ends at a reboot (-no-reboot), also where a kernel without ACPI could not power off.
        self._channel.request("systemctl reboot -ff")
        wait_for(lambda: not self.alive(), "the VM to power off", PATIENCE)
        self.kill()

    def wait_down(self, timeout=PATIENCE):
        """Waits until the VM has powered off (or rebooted, which ends it) by itself."""
        wait_for(lambda: not self.alive(), "the VM to power off", timeout)
        self.kill()

    def qmp(self, command, **arguments):
        """Sends a command to QEMU (QMP), for instance device_add; returns what it returned."""
        if self._qmp is None:
            self._qmp = self._connect("qmp").makefile("rw", encoding="utf-8")
            self._qmp.readline()  # greeting
            self._qmp_call("qmp_capabilities", {})
        return self._qmp_call(command, arguments)

    def _qmp_call(self, command, arguments):
        self._qmp.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
        self._qmp.flush()
        for line in self._qmp:
            answer = json.loads(line)
            if "error" in answer:
                raise GuestError(f"QEMU refused {command}: {answer['error']['desc']}")
            if "return" in answer:
                return answer["return"]
        raise GuestError(f"QEMU went away during {command}")

    def kill(self):
        if self._process is not None:
            if self._process.poll() is None:
                self._process.kill()
            self._process.wait()
        self._stack.close()
        shutil.rmtree(self._workdir, ignore_errors=True)
        if self._own_logs:
            shutil.rmtree(self.logs, ignore_errors=True)
