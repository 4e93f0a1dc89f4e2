# SPDX-License-Identifier: LGPL-2.1-or-later
"""VMs without an operating system: a kernel, busybox, and one script that runs in it. For tests of the kernel's side.

A boot takes some seconds. The guest's clock counts instructions, and what is idle time passes at once: a script may
sleep for two minutes.
"""

import contextlib
import os
import shlex
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from . import images
from .base import GuestError, wait_for
from .cpio import CpioWriter
from .prereq import SEARCH_PATH, need
from .vm import CLOCKS, CPU, default_cpus, timer_options, vm_slot

GUEST = Path(__file__).resolve().parents[2] / "kernel/guest"
LIBRARIES = ("libc.so.6", "libresolv.so.2", "ld-linux-x86-64.so.2")
# As long as a busy machine may take for a boot and two minutes of the guest's time.
PATIENCE = 900
# How long a guest that is to be woken sleeps, in seconds.
WAKE_INTERVAL = 5


@dataclass
class Result:
    """What a guest left: the script's output, the kernel's messages."""

    output: str
    console: str

    def lines(self, word):
        """The words behind @word of each line of output that begins with it."""
        return [line.split()[1:] for line in self.output.splitlines() if line.split()[:1] == [word]]

    def line(self, word):
        """The same of the only such line."""
        found = self.lines(word)
        assert len(found) == 1, f"{len(found)} lines begin with {word!r} in:\n{self.output}"
        return found[0]


def _build_initrd(target, files):
    base = images.rootfs("bookworm")
    with open(target, "wb") as out:
        writer = CpioWriter(out)
        for directory in ("bin", "lib", "lib/x86_64-linux-gnu", "dev"):
            writer.add_directory(directory)
        writer.add(base / "usr/bin/busybox", "bin/busybox")
        for library in LIBRARIES:
            writer.add(base / "usr/lib/x86_64-linux-gnu" / library, f"lib/x86_64-linux-gnu/{library}")
        writer.add_symlink("lib64", "lib/x86_64-linux-gnu")
        writer.add_character_device("dev/console", 5, 1)
        writer.add(GUEST / "init", "init")
        writer.add(GUEST / "lib", "lib/guest")
        for name, content in files.items():
            if isinstance(content, Path):
                writer.add(content, name)
            else:
                writer.add_file(name, content)
        writer.close()


def run_script(
    vmlinuz, script, *, logs, cmdline="", files=None, cpus=None, memory=512, clock="skip-idle", wake=None, until=None,
    patience=PATIENCE,
):  # fmt: skip
    """Boots kernel image @vmlinuz, runs shell text @script in it, and returns the Result.

    @files maps further names in the guest to text, or to the Path of what is to be copied; @clock and @cpus are those of
    vm.VM. With @wake, a pattern, the guest gets a character from its second serial port every few seconds once the kernel has
    printed that. With @until, the guest is ended when the kernel has printed that, wherever the script is. GuestError when
    the script fails, or the guest does not come to its end; console.log and output.log are in @logs.
    """
    need("qemu-system-x86_64", "setpriv")
    logs = Path(logs)
    logs.mkdir(parents=True, exist_ok=True)
    cpus = cpus or default_cpus(clock)
    with tempfile.TemporaryDirectory(prefix=f"rcu-bootd-bare.{os.getpid()}.") as directory, vm_slot():
        initrd = Path(directory) / "initrd"
        _build_initrd(initrd, {"script": f". /lib/guest\n{script}", **(files or {})})
        # A socket for each CPU: the firmware's table for kernels without ACPI names one in each socket.
        command = [
            "setpriv", "--pdeathsig", "KILL",
            "qemu-system-x86_64", "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
            "-cpu", CPU, *CLOCKS[clock], "-rtc", "clock=vm", "-m", str(memory), "-smp", f"{cpus},sockets={cpus}",
            "-kernel", str(vmlinuz), "-initrd", str(initrd),
            "-append", f"console=ttyS0 oops=panic panic=-1 {timer_options(clock, cpus)} {cmdline}",
            "-chardev", f"file,id=console,path={logs}/console.log", "-serial", "chardev:console",
            "-chardev", f"socket,id=output,path=output,server=on,wait=off,logfile={logs}/output.log",
            "-serial", "chardev:output",
        ]  # fmt: skip
        (logs / "qemu-command").write_text(shlex.join(command) + "\n", encoding="utf-8")
        _run_to_end(command, Path(directory), logs, patience, wake, until)
    return _result(logs, complete=until is None)


def _send_character(path):
    """Into the guest by the serial port behind the socket @path, named relative to a directory: a path has 108 bytes."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        directory = os.open(path.parent, os.O_PATH)
        try:
            connection.connect(f"/proc/self/fd/{directory}/{path.name}")
        finally:
            os.close(directory)
        connection.sendall(b"\n")


def _run_to_end(command, directory, logs, patience, wake, until):
    with open(logs / "qemu.log", "wb") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, "PATH": SEARCH_PATH},
            cwd=directory, start_new_session=True,
        )  # fmt: skip

        def over():
            return process.poll() is not None or (until is not None and until in _read(logs / "console.log"))

        try:
            if wake:
                wait_for(lambda: over() or wake in _read(logs / "console.log"), wake, patience, 0.2)
                while not over():
                    time.sleep(WAKE_INTERVAL)
                    with contextlib.suppress(OSError):
                        _send_character(directory / "output")
            wait_for(over, until or "the guest to come to its end", patience, 0.05)
        except GuestError as error:
            raise GuestError(f"{error}\n{_tail(logs)}") from None
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.wait()


def _read(path):
    return path.read_text(encoding="utf-8", errors="replace").replace("\r\n", "\n") if path.exists() else ""


def _tail(logs, lines=60):
    parts = [(name, _read(logs / f"{name}.log").splitlines()[-lines:]) for name in ("console", "output", "qemu")]
    return "\n".join(f"{logs}/{name}.log ends with:\n" + "\n".join(tail) for name, tail in parts)


def _result(logs, complete):
    output, console = _read(logs / "output.log"), _read(logs / "console.log")
    if complete and output.splitlines()[-1:] != ["exit 0"]:
        raise GuestError(f"the guest's script did not succeed\n{_tail(logs)}")
    return Result(output, console)
