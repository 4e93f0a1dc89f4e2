# SPDX-License-Identifier: LGPL-2.1-or-later
"""tools/demo: boots a VM with rcu-boot-end enabled and shows what happened in it."""

import sys
import tempfile
import threading
import time

from . import images
from .base import GuestError
from .installation import find_builddir, install
from .prereq import MissingPrerequisite
from .tree import Tree
from .vm import VM

KERNEL = "6.1"
SUITE = "bookworm"
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


def phases(report):
    """(time in usec, what happened) of the boot, oldest first, from PID 1's and the daemon's own records."""
    manager, status = report.manager, report.json()
    rows = [
        (manager["UserspaceTimestampMonotonic"], "the kernel has started PID 1; its own expediting is over"),
        (status["daemon"]["started_usec"], "rcu-bootd has started and expedites again"),
        (status["since_usec"], f"RCU's boot ended ({status['reason']})"),
        (manager["FinishTimestampMonotonic"], "start-up finished, says PID 1"),
    ]
    rows += [(m["reached_usec"], f"{m['name']} was reached") for m in status["milestones"] if m.get("reached_usec")]
    return sorted((int(usec), what) for usec, what in rows)


def print_phases(report):
    print("How long each phase took, in seconds since the kernel started (the CPU is emulated, so all is slow):\n")
    before = 0
    for usec, what in phases(report):
        print(f"  {seconds(usec)}  (+{(usec - before) / 1e6:.3f})  {what}")
        before = usec
    print("\nThe knobs, as the kernel's own trace saw them written:\n")
    for write in report.knob_writes():
        print(f"  {seconds(write.usec)}  {write.knob} = {write.value.strip()}  by {write.comm} (PID {write.pid})")


def boot(installed, logs):
    say(f"Booting Debian 12 (its kernel {KERNEL}, its systemd) in a virtual machine, rcu-boot-end enabled")
    with VM(logs=logs, kernel=KERNEL, suite=SUITE, layers=[installed]) as guest:
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


def demo():
    say("Looking for the guest's parts in the cache; what is missing is made now (some minutes, once)")
    images.build_all([f"initrd-{SUITE}", f"kernel-{KERNEL}"])
    with tempfile.TemporaryDirectory(prefix="rcu-bootd-demo.") as directory:
        installed = Tree(f"{directory}/enabled").copy(install(find_builddir(), f"{directory}/installed"))
        installed.enable("rcu-boot-end")
        report = boot(installed, f"{directory}/logs")
        show("rcu-bootctl log", report.text("log"))
        show("rcu-bootctl status", report.text("status"))
        print_phases(report)
    say("Done. The virtual machine is gone.")


def main():
    try:
        demo()
    except (GuestError, MissingPrerequisite, RuntimeError) as error:
        print(f"tools/demo: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
