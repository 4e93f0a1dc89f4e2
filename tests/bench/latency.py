#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""How long after multi-user.target is active the knob is written: by the daemon, and by the unit one would write
without it: a oneshot After=multi-user.target that runs sh -c 'echo 0 > KNOB'.

"Active" is PID 1's own ActiveEnterTimestampMonotonic. When the knob is written is told by a kernel trace: in containers,
which boot natively, that of the host's write(2) calls; in virtual machines, which are emulated, that of the knob's store.
A process that watches the knob would not do: on a kernel that is not preempted it is woken up to a millisecond late,
and only then reads the clock. The kinds of boot take turns.

PID 1 is as quiet as Debian's `quiet` on the kernel command line makes it.

The virtual machines' CPUs run as fast as the host can, at the same time (clock="host"): with a clock that counts
instructions they run one after the other for up to a tick of 4 ms, while what is measured goes from process to process.
"""

import contextlib
import os
import re
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
    "socket": {"dbus": True, "what": "the daemon, with a milestone socket beside the bus"},
    "oneshot": {"dbus": True, "what": "the oneshot"},
    "socket-no-dbus": {"dbus": False, "what": "the daemon, by its milestone socket, without D-Bus"},
    "oneshot-no-dbus": {"dbus": False, "what": "the oneshot, without D-Bus"},
}
AGAINST = {"bus": "oneshot", "socket": "oneshot", "socket-no-dbus": "oneshot-no-dbus"}
# What tells the daemon of the target; where there are two, whichever is first.
SOURCES = {"bus": {"bus"}, "socket": {"bus", "directory"}, "socket-no-dbus": {"directory"}}


class Ways:
    """The trees of each kind of boot."""

    def __init__(self, installed, directory):
        oneshot = bench.Tree(directory / "oneshot").unit("end-rcu-boot.service", ONESHOT, wanted_by=TARGET_UNIT)
        policy = use_policy(bench.Tree(directory / "policy"), TARGET_UNIT)
        socket = installed.enable("rcu-boot-end", f"rcu-boot-milestone@{TARGET_UNIT}.socket")
        self.done = bench.Tree(directory / "done").unit("rcu-test-done.service", DONE, wanted_by="graphical.target")
        self.quiet = bench.quiet(directory)
        self.layers = {
            "bus": [installed.enabled, policy],
            "socket": [socket, policy],
            "oneshot": [installed.disabled, oneshot],
            "socket-no-dbus": [socket, policy],
            "oneshot-no-dbus": [installed.disabled, oneshot],
        }


class WriteTrace:
    """The host kernel's trace of write(2) calls of two bytes by the daemon or a shell: "0" and a newline, for one."""

    EVENT = "events/syscalls/sys_enter_write"
    LINE = re.compile(r"\s(\d+)\.(\d{6}): sys_write\(")

    def __init__(self, directory):
        self._mount = directory / "tracing"
        self._mount.mkdir()
        subprocess.run(["mount", "-t", "tracefs", "none", self._mount], check=True)
        self._instance = self._mount / "instances" / f"rcu-bootd-bench-{os.getpid()}"
        try:
            self._begin()
        except BaseException:
            self.close()
            raise

    def _begin(self):
        self._instance.mkdir()
        if not (self._instance / self.EVENT).exists():
            raise bench.BenchError("this kernel does not trace system calls (CONFIG_FTRACE_SYSCALLS)")
        self._write("trace_clock", "mono")
        self._write(f"{self.EVENT}/filter", 'count == 2 && (comm == "rcu-bootd" || comm == "sh")')
        self._write(f"{self.EVENT}/enable", "1")

    def _write(self, name, text):
        (self._instance / name).write_text(text, encoding="ascii")

    def clear(self):
        self._write("trace", "")

    def writes(self):
        """When they were, in usec of the host's CLOCK_MONOTONIC."""
        text = (self._instance / "trace").read_text(encoding="ascii", errors="replace")
        return [int(seconds) * 1_000_000 + int(usec) for seconds, usec in self.LINE.findall(text)]

    def close(self):
        with contextlib.suppress(OSError):
            self._instance.rmdir()
        subprocess.run(["umount", self._mount], check=True)


def clock_offset(guest):
    """Microseconds that CLOCK_MONOTONIC in the container is ahead of the host's (time_namespaces(7))."""
    with open(f"/proc/{guest.leader}/timens_offsets", encoding="ascii") as lines:
        seconds, nanoseconds = next(line.split()[1:] for line in lines if line.startswith("monotonic"))
    return int(seconds) * 1_000_000 + int(nanoseconds) // 1000


def check_way(guest, way):
    """That the daemon learned of the target in the way that is measured."""
    if way not in SOURCES:
        return
    guest.ctl("wait")
    status = guest.status()
    source = next(one.get("source") for one in status["milestones"] if one["name"] == TARGET_UNIT)
    if status["reason"] != "milestones" or source not in SOURCES[way]:
        raise bench.BenchError(f"boot ended by {status['reason']}, {TARGET_UNIT} was seen by {source}")


def in_container(trace, ways, way):
    trace.clear()
    with bench.boot_container(*ways.layers[way], ways.quiet, dbus=WAYS[way]["dbus"], knobs={KNOB: "1"}) as guest:
        guest.wait_booted()
        guest.wait_for(lambda: guest.knob(KNOB) == "0", "the knob to be written")
        active = bench.usec_of(guest, TARGET_UNIT, "ActiveEnterTimestampMonotonic")
        offset = clock_offset(guest)
        check_way(guest, way)
        # What they write before that (the daemon expedites) is not what is measured.
        after = [at + offset - active for at in trace.writes() if at + offset > active]
    if len(after) != 1:
        raise bench.BenchError(f"{len(after)} writes after {TARGET_UNIT} was active, expected one")
    return {"usec": after[0], "active": active}


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
    """Prints the figures of one kind of guest, and for each way whether it reached the target; whether all did."""
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
    reached = [
        bench.verdict(
            f"latency, {kind}, by {way}", ratio >= TARGET, f"{ratio:.1f} times sooner", f"at least {TARGET} times"
        )
        for way, ratio in ratios.items()
    ]
    return all(reached)


def take_all(raw, kind, measure_one):
    boots = bench.number_from_environment("BOOTS", BOOTS[kind])
    bench.take_turns(
        raw, [f"{kind} {way}" for way in WAYS], boots, lambda arm: measure_one(arm.split()[1]),
        warm_up=kind == "container",
    )  # fmt: skip


def measure(installed, directory):
    kinds = os.environ.get("KINDS", "container vm").split()
    raw = bench.Raw(installed.build, "latency", {"installed": installed.digest})
    ways = Ways(installed, directory)
    say(f"From {TARGET_UNIT} active (PID 1's timestamp) to {KNOB} written; the ways take turns")
    if "container" in kinds:
        with contextlib.closing(WriteTrace(directory)) as trace:
            take_all(raw, "container", lambda way: in_container(trace, ways, way))
    if "vm" in kinds:
        take_all(raw, "vm", lambda way: in_vm(directory, ways, way))
    reached = [judge(raw, kind) for kind in kinds]
    say(f"  raw data {raw.path}")
    return all(reached)


if __name__ == "__main__":
    sys.exit(bench.main("latency", measure))
