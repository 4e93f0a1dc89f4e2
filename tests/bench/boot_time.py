#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the daemon adds to the time that user space takes to boot.

From PID 1's start to start-up finished, by PID 1's own timestamps, in containers that boot natively and take turns: one
with rcu-boot-end enabled, one with the same files and nothing enabled. The knobs are ordinary files: what expediting
gains on a real kernel is not part of it.

A third kind tells how much of it any unit costs that is started as early: its service runs true(1).
"""

import sys

import bench
import stats
from bench import say

BOOTS = 150
Z_MAX = 2
DIFFERENCE_MAX = 0.01

ANY_UNIT = """[Unit]
DefaultDependencies=no
Conflicts=shutdown.target
Before=shutdown.target
[Service]
Type=oneshot
ExecStart=true
RemainAfterExit=yes
"""


def boot(*layers):
    with bench.boot_container(*layers) as guest:
        guest.wait_booted()
        start = bench.usec_of(guest, None, "UserspaceTimestampMonotonic")
        finish = bench.usec_of(guest, None, "FinishTimestampMonotonic")
        failed = guest.output("systemctl --failed --no-legend --plain")
    if failed:
        raise bench.BenchError(f"units failed, so that was no ordinary boot: {failed}")
    return {"usec": finish - start}


def compare(found, arm):
    """Mann-Whitney's z, and the relative difference of the medians, against boots without anything."""
    return (
        stats.mann_whitney_z(found[arm], found["without"]),
        stats.median(found[arm]) / stats.median(found["without"]) - 1,
    )


def measure(installed, directory):
    boots = bench.number_from_environment("BOOTS", BOOTS)
    any_unit = bench.Tree(directory / "any-unit").unit("any.service", ANY_UNIT, wanted_by="sysinit.target")
    layers = {"with": [installed.enabled], "without": [installed.disabled], "any-unit": [installed.disabled, any_unit]}
    raw = bench.Raw(installed.build, "boot-time", {"installed": installed.digest, "arms": list(layers)})
    quiet = bench.quiet(directory)
    say("User-space boot time with and without the daemon, containers that take turns")
    bench.take_turns(raw, list(layers), boots, lambda arm: boot(*layers[arm], quiet))
    found = {arm: [usec / 1000 for usec in raw.values(arm, "usec")] for arm in layers}
    for arm, times in found.items():
        z, difference = compare(found, arm)
        say(
            f"  {arm:<8} {len(times):4} boots: median {stats.median(times):7.2f} ms ({100 * difference:+.2f} %, "
            f"z {z:+.2f}), p10 {stats.percentile(times, 10):7.2f} ms, p90 {stats.percentile(times, 90):7.2f} ms"
        )
    z, difference = compare(found, "with")
    say(f"  raw data {raw.path}")
    return bench.verdict(
        "boot-time", abs(z) < Z_MAX and abs(difference) <= DIFFERENCE_MAX,
        f"Mann-Whitney z = {z:+.2f}, medians differ by {100 * difference:+.2f} %",
        f"|z| < {Z_MAX}, medians within {100 * DIFFERENCE_MAX:.0f} %",
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(bench.main("boot-time", measure))
