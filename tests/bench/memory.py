#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""How much memory the daemon takes while it waits, and that nothing of it remains after the end.

PSS (proportional set size) from the kernel's smaps_rollup: pages of its own in full, of those that it shares with other
processes (the C library's, above all) its share. A boot with D-Bus is held before multi-user.target; then it goes on to
its end. In containers, whose libraries other containers on the host may share, and in virtual machines, where nobody
else is.
"""

import re
import sys

import bench
import stats
from bench import say
from guest import VM

TARGET_KIB = 1536
BOOTS = {"container": 5, "vm": 2}
UNIT = "rcu-boot-end.service"
ROLLUP = ("Pss", "Pss_Anon", "Pss_File", "Private_Dirty", "Rss")


def rollup(text):
    """smaps_rollup's lines "Pss:   123 kB" -> dict of KiB."""
    return {key: int(value) for key, value in re.findall(r"^(\w+): +(\d+) kB$", text, re.MULTILINE)}


def mappings(text):
    """PSS in KiB by what is mapped, from smaps."""
    found, name = {}, ""
    for line in text.splitlines():
        words = line.split()
        if re.match(r"[0-9a-f]+-[0-9a-f]+$", words[0]):
            name = words[5].rpartition("/")[2] if len(words) > 5 else "(anonymous)"
        elif words[0] == "Pss:" and int(words[1]):
            found[name] = found.get(name, 0) + int(words[1])
    return found


def weigh(guest):
    """Takes one boot to its end; what the daemon took while it waited, and what was left."""
    guest.wait_held("before-end")
    guest.wait_for(lambda: guest.state().get("PHASE") == "booting", "the daemon to wait")
    pid = guest.show(UNIT, "MainPID")["MainPID"]
    guest.wait_for(lambda: bench.is_on_bus(guest, pid), "the daemon to be on the bus")
    waiting = rollup(guest.output(f"cat /proc/{pid}/smaps_rollup"))
    parts = mappings(guest.output(f"cat /proc/{pid}/smaps"))
    guest.release("before-end")
    guest.wait_booted()
    guest.ctl("wait")
    guest.wait_for(lambda: guest.show(UNIT, "MainPID")["MainPID"] == "0", "the daemon to exit")
    unit = guest.show(UNIT, "ActiveState", "TasksCurrent", "ControlGroup")
    left = guest.output("find /run/rcu-bootd -type f -printf '%p %s\\n'").splitlines()
    return {
        **{key: waiting[key] for key in ROLLUP},
        "parts": parts,
        "processes": len(guest.output("pidof rcu-bootd || :").split()),
        "unit": unit,
        "files": dict(line.rsplit(" ", 1) for line in left),
    }


def report(raw, arm):
    """Prints what one kind of guest showed; whether nothing is left, and the median PSS."""
    boots = [boot for boot in raw.boots if boot["arm"] == arm]
    pss = raw.values(arm, "Pss")
    say(f"  {arm}, {len(boots)} boots: PSS median {stats.median(pss):,.0f} KiB, {min(pss):,} to {max(pss):,}")
    parts = sorted(boots[-1]["parts"].items(), key=lambda part: -part[1])
    say("    " + ", ".join(f"{name} {kib}" for name, kib in parts[:10]))
    last = boots[-1]
    say(f"    after the end: {last['processes']} processes, files {last['files']} (bytes), {last['unit']}")
    return all(boot["processes"] == 0 for boot in boots), stats.median(pss)


def measure(installed, directory):
    boots = {arm: bench.number_from_environment("BOOTS", count) for arm, count in BOOTS.items()}
    raw = bench.Raw(installed.build, "memory", {"installed": installed.digest})
    tree = bench.hold_before_end(bench.Tree(directory / "tree"))

    def one(arm):
        if arm == "container":
            guest = bench.boot_container(installed.enabled, tree)
        else:
            guest = VM(layers=[installed.enabled, tree])
        with guest:
            return weigh(guest)

    say("Memory of the waiting daemon, and what is left of it; default policy, D-Bus is there")
    for arm, count in boots.items():
        bench.take_turns(raw, [arm], count, one, warm_up=False)
    results = [report(raw, arm) for arm in boots]
    say(f"  raw data {raw.path}")
    pss = max(median for _, median in results)
    gone = all(nothing_left for nothing_left, _ in results)
    return bench.verdict(
        "memory", pss <= TARGET_KIB and gone, f"PSS {pss:,.0f} KiB, {'no' if gone else 'A'} process left",
        f"PSS at most {TARGET_KIB:,} KiB, no process left",
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(bench.main("memory", measure))
