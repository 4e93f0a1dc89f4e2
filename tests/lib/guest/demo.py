# SPDX-License-Identifier: LGPL-2.1-or-later
"""tools/demo: boots a VM with rcu-boot-end enabled and shows what happened in it."""

import re
import sys
import tempfile
import threading
import time

from . import artifacts, kernels
from .base import GuestError
from .installation import find_builddir, install
from .prereq import MissingPrerequisite
from .tree import Tree
from .vm import VM

SUITE = "bookworm"
KERNEL = "6.1"
# With the series of kernel/patches: the kernel's boot goes on until it is told that user space has booted.
PATCHED_KERNEL = "hz250"
PROMISE = "user_booted_reported=1"
WAITS = ("p:expedited,synchronize_rcu_expedited", "p:normal,synchronize_rcu_normal")
STARTED = time.monotonic()


def say(text):
    print(f"[{time.monotonic() - STARTED:4.0f} s] {text}", flush=True)


class Ticker:
    """Says every few seconds that something is still going on."""

    def __init__(self, text, interval=5):
        self._text = text
        self._interval = interval
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self):
        while not self._over.wait(self._interval):
            say(f"... {self._text}")

    def __enter__(self):
        self._thread.start()

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()


def show(command, text):
    print(f"\n$ {command}\n{text.rstrip()}\n", flush=True)


def seconds(usec):
    return f"{int(usec) / 1e6:8.3f} s"


def phases(report, patched):
    """(time in usec, what happened) of the boot, oldest first, from PID 1's and the daemon's own records."""
    manager, status = report.manager, report.json()
    after_kernel = "its own expediting goes on" if patched else "its own expediting is over"
    rows = [
        (manager["UserspaceTimestampMonotonic"], f"the kernel has started PID 1; {after_kernel}"),
        (status["daemon"]["started_usec"], f"rcu-bootd has started{'' if patched else ' and expedites again'}"),
        (status["since_usec"], f"RCU's boot ended ({status['reason']})"),
        (manager["FinishTimestampMonotonic"], "start-up finished, says PID 1"),
    ]
    if patched:
        by, ms = report.knobs["rcu_boot_ended_by"], report.knobs["rcu_boot_ended_ms"]
        rows.append((int(ms) * 1000, f"the kernel says: ended by {by}"))
    rows += [(m["reached_usec"], f"{m['name']} was reached") for m in status["milestones"] if m.get("reached_usec")]
    return sorted((int(usec), what) for usec, what in rows)


def print_waits(report):
    """Who waited for grace periods before and after the end, by the kernel's trace."""
    end = int(report.knobs["rcu_boot_ended_ms"]) / 1000
    counts = {(way, late): 0 for way in ("expedited", "normal") for late in (False, True)}
    for match in re.finditer(r"([0-9.]+): (expedited|normal): \(", report.text("trace")):
        counts[match[2], float(match[1]) > end] += 1
    print("\nWaits for a grace period, by the same trace:\n")
    for late, when in ((False, "before the kernel's boot ended"), (True, "after it")):
        print(f"  {counts['expedited', late]:4} expedited, {counts['normal', late]:4} normal   {when}")
    print("\nWhat the kernel said:\n")
    for line in report.text("dmesg").splitlines():
        if "user_booted: " in line or "Boot ended" in line:
            print(f"  {line}")


def print_phases(report, patched):
    print("How long each phase took, in seconds since the kernel started (the CPU is emulated, so all is slow):\n")
    before = 0
    for usec, what in phases(report, patched):
        print(f"  {seconds(usec)}  (+{(usec - before) / 1e6:.3f})  {what}")
        before = usec
    print("\nThe knobs, as the kernel's own trace saw them written:\n")
    for write in report.knob_writes():
        print(f"  {seconds(write.usec)}  {write.knob} = {write.value.strip()}  by {write.comm} (PID {write.pid})")


def boot(installed, logs, patched):
    kernel = f"Linux {kernels.SERIES} with the series, and {PROMISE}" if patched else f"its kernel {KERNEL}"
    say(f"Booting Debian 12 ({kernel}, its systemd) in a virtual machine, rcu-boot-end enabled")
    options = {"kernel": PATCHED_KERNEL, "cmdline": PROMISE, "probes": WAITS} if patched else {"kernel": KERNEL}
    with VM(logs=logs, suite=SUITE, layers=[installed], **options) as guest:
        with Ticker("booting"):
            guest.wait_event("shell")
            say("User space is up enough to take commands")
            guest.wait_booted()
        say("PID 1 says that start-up is finished")
        with Ticker("waiting for the end of RCU's boot"):
            guest.ctl("wait")
        say("RCU's boot has ended; gathering what there is to see")
        with Ticker("gathering"):
            return guest.finish()


def demo(patched):
    effort = "a kernel is built: 10 to 20 minutes" if patched else "some minutes"
    say(f"Looking for the guest's parts in the cache; what is missing is made now ({effort}, once)")
    artifacts.build_all([f"initrd-{SUITE}", f"kernel-patched-{PATCHED_KERNEL}" if patched else f"kernel-{KERNEL}"])
    with tempfile.TemporaryDirectory(prefix="rcu-bootd-demo.") as directory:
        installed = Tree(f"{directory}/enabled").copy(install(find_builddir(), f"{directory}/installed"))
        installed.enable("rcu-boot-end")
        report = boot(installed, f"{directory}/logs", patched)
        show("rcu-bootctl log", report.text("log"))
        show("rcu-bootctl status", report.text("status"))
        print_phases(report, patched)
        if patched:
            print_waits(report)
    say("Done. The virtual machine is gone.")


def main():
    try:
        demo(patched=sys.argv[1:] == ["--kernel"])
    except (GuestError, MissingPrerequisite, RuntimeError) as error:
        print(f"tools/demo: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
