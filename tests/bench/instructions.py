#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""How many instructions the daemon executes in user space in one default boot, from exec to exit.

Counted by callgrind, the dynamic linker's work included, in a container's boot: Debian's systemd, journal and bus.
Under callgrind the daemon runs fifty times slower. So that it sees the same boot as usual, the boot waits for it twice:
before D-Bus's socket, until the daemon waits for milestones, and before multi-user.target, until it has asked PID 1 all
it wants to know.
"""

import os
import re
import shutil
import sys

import bench
import stats
from bench import say

TARGET = 2_500_000
BOOTS = 5
UNIT = "rcu-boot-end.service"
VALGRIND_FILES = ("/usr/bin/valgrind", "/usr/bin/valgrind.bin", "/usr/libexec/valgrind", "/usr/lib/valgrind")

# What starts at the same time as the daemon and takes longer than it does to start.
EARLY = (
    "local-fs-pre.target local-fs.target systemd-tmpfiles-setup-dev.service systemd-tmpfiles-setup.service "
    "systemd-sysusers.service systemd-udevd.service systemd-udev-trigger.service systemd-sysctl.service "
    "systemd-modules-load.service systemd-journal-flush.service systemd-random-seed.service dbus.socket"
)

# Beside ExecStart=: the translator makes code at run time, and is slow.
DROPIN = """[Service]
ExecStart=
ExecStart=/usr/bin/valgrind --tool=callgrind --callgrind-out-file=/rcu-test/callgrind.out \
--log-file=/rcu-test/callgrind.log /usr/sbin/rcu-bootd
MemoryDenyWriteExecute=no
TimeoutStartSec=infinity
WatchdogSec=0
"""


def binds():
    found = [path for path in VALGRIND_FILES if os.path.exists(path)]
    if not shutil.which("valgrind") or "/usr/libexec/valgrind" not in found:
        raise bench.BenchError("valgrind is not installed as Debian does it: apt-get install valgrind")
    return [(path, path) for path in found]


def cpu_ticks(guest, pid):
    """How long the process has run, and whether it waits now."""
    words = guest.path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) if words[0] == "S" else None


def wait_asleep(guest, pid):
    """Waits until the process has done nothing for ten looks in a row."""
    seen = []

    def look():
        seen.append(cpu_ticks(guest, pid))
        return len(seen) > 10 and seen[-1] is not None and len(set(seen[-10:])) == 1

    guest.wait_for(look, "the daemon to have nothing to do")


def count(guest):
    """Takes one boot to its end; the number of instructions."""
    guest.wait_for(lambda: guest.state().get("PHASE") == "booting", "the daemon to begin")
    pid = guest.show(UNIT, "MainPID")["MainPID"]
    wait_asleep(guest, pid)
    guest.release("early")
    guest.wait_held("before-end")
    guest.wait_for(lambda: bench.is_on_bus(guest, pid), "the daemon to be on the bus")
    wait_asleep(guest, pid)
    guest.release("before-end")
    guest.ctl("wait")
    log = guest.shared / "callgrind.log"
    guest.wait_for(lambda: "Collected" in log.read_text(encoding="utf-8"), "callgrind to be done")
    state = guest.state()
    if (state["REASON"], state["POLICY"]) != ("milestones", "99-default.policy"):
        raise bench.BenchError(f"that was no default boot: {state}")
    return int(re.search(r"Collected : (\d+)", log.read_text(encoding="utf-8"))[1])


def measure(installed, directory):
    boots = bench.number_from_environment("BOOTS", BOOTS)
    suite = os.environ.get("SUITE", "bookworm")
    name = "instructions" if suite == "bookworm" else f"instructions-{suite}"
    raw = bench.Raw(installed.build, name, {"installed": installed.digest, "suite": suite})
    profile = raw.path.with_suffix(".callgrind")
    tree = bench.Tree(directory / "tree").dropin(UNIT, "90-callgrind", DROPIN)
    tree.hold("early", before=EARLY)
    bench.hold_before_end(tree)

    def one(_arm):
        with bench.boot_container(installed.enabled, tree, suite=suite, binds=binds()) as guest:
            found = count(guest)
            shutil.copyfile(guest.shared / "callgrind.out", profile)
            return {"instructions": found}

    say(f"Instructions of one boot ({suite}), by callgrind in a container: default policy, D-Bus and journal")
    bench.take_turns(raw, ["daemon"], boots, one, warm_up=False)
    found = raw.values("daemon", "instructions")
    say(f"  {len(found)} boots: median {stats.median(found):,.0f}, {min(found):,} to {max(found):,}")
    say(f"  raw data {raw.path}; profile of the last boot {profile} (callgrind_annotate --inclusive=yes)")
    return bench.verdict(name, max(found) <= TARGET, f"{max(found):,} at most", f"at most {TARGET:,}")


if __name__ == "__main__":
    sys.exit(bench.main("instructions", measure))
