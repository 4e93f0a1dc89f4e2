#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""How long after multi-user.target is active the knob is written: by the daemon, and by the unit one would write
without it: a oneshot After=multi-user.target that runs sh -c 'echo 0 > KNOB'.

"Active" is PID 1's own ActiveEnterTimestampMonotonic. In containers, which boot natively, the write is seen by
knob-observer.c on the host; in virtual machines, which are emulated, by the kernel's own trace of the knob's store.
The kinds of boot take turns.

The virtual machines' CPUs run as fast as the host can, at the same time (clock="host"): with a clock that counts
instructions they run one after the other for up to a tick of 4 ms, while what is measured goes from process to process.
"""

import os
import re
import select
import subprocess
import sys

import bench
import stats
from bench import say
from guest import VM
from guest.scenario import use_policy

TARGET = 20
BOOTS = {"container": 100, "vm": 5}
KNOB = "rcu_expedited"
TARGET_UNIT = "multi-user.target"

ONESHOT = f"""[Unit]
After={TARGET_UNIT}
[Service]
Type=oneshot
ExecStart=sh -c 'echo 0 > /sys/kernel/{KNOB}'
"""

# Says that all jobs of the boot are done. Not `systemctl --wait`, for which PID 1 would have to report every change of
# a unit twice.
DONE = """[Unit]
After=graphical.target
[Service]
Type=idle
ExecStart=/usr/lib/rcu-test/event done
"""

# Each way of the daemon against the oneshot in the same kind of boot.
WAYS = {
    "bus": {"dbus": True, "what": "the daemon, by the system bus"},
    "oneshot": {"dbus": True, "what": "the oneshot"},
    "socket": {"dbus": False, "what": "the daemon, by its milestone socket, without D-Bus"},
    "oneshot-no-dbus": {"dbus": False, "what": "the oneshot, without D-Bus"},
}
AGAINST = {"bus": "oneshot", "socket": "oneshot-no-dbus"}


class Ways:
    """The trees of each kind of boot."""

    def __init__(self, installed, directory):
        oneshot = bench.Tree(directory / "oneshot").unit("end-rcu-boot.service", ONESHOT, wanted_by=TARGET_UNIT)
        policy = use_policy(bench.Tree(directory / "policy"), TARGET_UNIT)
        socket = installed.enable("rcu-boot-end", f"rcu-boot-milestone@{TARGET_UNIT}.socket")
        self.done = bench.Tree(directory / "done").unit("rcu-test-done.service", DONE, wanted_by="graphical.target")
        self.layers = {
            "bus": [installed.enabled, policy],
            "oneshot": [installed.disabled, oneshot],
            "socket": [socket, policy],
            "oneshot-no-dbus": [installed.disabled, oneshot],
        }


class Observer:
    """knob-observer, watching a container's knob from the host."""

    def __init__(self, build, path):
        program = build / "tests/bench/knob-observer"
        if not program.exists():
            raise bench.BenchError(f"{program} has not been built: run `make bench`")
        self._process = subprocess.Popen([program, path, "0"], stdout=subprocess.PIPE, text=True)
        if self._line(bench.PATIENCE) != "ready":
            raise bench.BenchError("knob-observer could not watch the knob")

    def _line(self, timeout):
        ready, _, _ = select.select([self._process.stdout], [], [], timeout)
        return self._process.stdout.readline().strip() if ready else ""

    def written(self):
        """When the value came, in ns of the host's CLOCK_MONOTONIC."""
        text = self._line(bench.PATIENCE)
        if not text.isdigit():
            raise bench.BenchError("the knob was not written")
        return int(text)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()


def clock_offset(guest):
    """Nanoseconds that CLOCK_MONOTONIC in the container is ahead of the host's (time_namespaces(7))."""
    with open(f"/proc/{guest.leader}/timens_offsets", encoding="ascii") as lines:
        seconds, nanoseconds = next(line.split()[1:] for line in lines if line.startswith("monotonic"))
    return int(seconds) * 1_000_000_000 + int(nanoseconds)


def check_way(guest, way):
    """That the daemon learned of the target in the way that is measured."""
    if way not in AGAINST:
        return
    guest.ctl("wait")
    status = guest.status()
    source = next(one.get("source") for one in status["milestones"] if one["name"] == TARGET_UNIT)
    if (status["reason"], source) != ("milestones", {"bus": "bus", "socket": "directory"}[way]):
        raise bench.BenchError(f"boot ended by {status['reason']}, {TARGET_UNIT} was seen by {source}")


def in_container(installed, ways, way):
    options = {"dbus": WAYS[way]["dbus"], "knobs": {KNOB: "1"}}
    with bench.boot_container(*ways.layers[way], **options) as guest:
        with Observer(installed.build, guest.knob_path(KNOB)) as observer:
            guest.wait_booted()
            written = observer.written()
        active = bench.usec_of(guest, TARGET_UNIT, "ActiveEnterTimestampMonotonic")
        check_way(guest, way)
        return {"usec": round((written + clock_offset(guest)) / 1000 - active, 1), "active": active}


def in_vm(directory, ways, way):
    options = {"dbus": WAYS[way]["dbus"], "cmdline": "rcupdate.rcu_expedited=1", "clock": "host"}
    # The logs have a name, as otherwise the report would be gone with the guest.
    with VM(logs=directory / "logs", layers=[*ways.layers[way], ways.done], **options) as guest:
        guest.wait_event("done")
        guest.wait_until(f"read -r value </sys/kernel/{KNOB}; [ $value = 0 ]")
        active = bench.usec_of(guest, TARGET_UNIT, "ActiveEnterTimestampMonotonic")
        check_way(guest, way)
        writes = guest.finish().knob_writes(KNOB)
    written = [write for write in writes if re.match(r"0\s*$", write.value)]
    if len(written) != 1:
        raise bench.BenchError(f"the knob was cleared {len(written)} times, expected once")
    return {"usec": written[0].usec - active, "active": active, "writer": written[0].comm}


def judge(raw, kind):
    """Prints the figures of one kind of guest; whether the target was reached, and how."""
    say(f"  {kind}:")
    medians = {}
    for way, about in WAYS.items():
        found = raw.values(f"{kind} {way}", "usec")
        medians[way] = stats.median(found)
        say(
            f"    {about['what']:<50} {len(found):4} boots: median {medians[way] / 1000:8.3f} ms, "
            f"p90 {stats.percentile(found, 90) / 1000:8.3f} ms, {min(found) / 1000:.3f} to {max(found) / 1000:.3f} ms"
        )
    ratios = {way: medians[other] / max(medians[way], 0.1) for way, other in AGAINST.items()}
    return bench.verdict(
        f"latency, {kind}", min(ratios.values()) >= TARGET,
        ", ".join(f"by {way} {ratio:.1f} times sooner" for way, ratio in ratios.items()), f"at least {TARGET} times",
    )  # fmt: skip


def measure(installed, directory):
    kinds = os.environ.get("KINDS", "container vm").split()
    raw = bench.Raw(installed.build, "latency", {"installed": installed.digest})
    ways = Ways(installed, directory)
    say(f"From {TARGET_UNIT} active (PID 1's timestamp) to {KNOB} written; the ways take turns")
    for kind in kinds:
        boots = bench.number_from_environment("BOOTS", BOOTS[kind])

        def take(arm, kind=kind):
            way = arm.split()[1]
            return in_container(installed, ways, way) if kind == "container" else in_vm(directory, ways, way)

        bench.take_turns(raw, [f"{kind} {way}" for way in WAYS], boots, take, warm_up=kind == "container")
    reached = [judge(raw, kind) for kind in kinds]
    say(f"  raw data {raw.path}")
    return all(reached)


if __name__ == "__main__":
    sys.exit(bench.main("latency", measure))
