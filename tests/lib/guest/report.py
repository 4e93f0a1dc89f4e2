# SPDX-License-Identifier: LGPL-2.1-or-later
"""What tests/guest/agent/collect gathered in a guest, for tests to look at."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

# Catalogue of rcu-bootd's own fields is documented in rcu-bootd(8); tests select by SYSLOG_IDENTIFIER or unit.
TRACE_LINE = re.compile(
    r"^\s*(?P<comm>.+)-(?P<pid>\d+)\s+(?:\([ \d-]+\)\s+)?\[\d+\]\s+\S+\s+(?P<seconds>\d+)\.(?P<usec>\d{6}): "
    r"(?P<event>\w+): \((?P<where>[^)]*)\)(?P<rest>.*)$"
)


@dataclass(frozen=True)
class KnobWrite:
    """One store to a knob as the kernel saw it."""

    usec: int  # since the kernel started, CLOCK_BOOTTIME
    knob: str
    value: str
    comm: str
    pid: int


def parse_pairs(text):
    """KEY=value lines -> dict."""
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


class Report:
    """A directory with NAME (output), NAME.rc (exit code) and NAME.err (errors, where there were any)."""

    def __init__(self, path):
        self.path = Path(path)

    def text(self, name):
        return (self.path / name).read_text(encoding="utf-8", errors="replace")

    def rc(self, name):
        return int(self.text(name + ".rc"))

    def errors(self, name):
        path = self.path / (name + ".err")
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    def json(self, name="status.json"):
        return json.loads(self.text(name))

    def pairs(self, name):
        return parse_pairs(self.text(name))

    @property
    def state(self):
        """The state file as a dict."""
        return self.pairs("state")

    @property
    def show(self):
        """Properties of rcu-boot-end.service."""
        return self.pairs("show")

    @property
    def manager(self):
        """Properties of PID 1: FinishTimestampMonotonic and so on."""
        return self.pairs("manager")

    @property
    def knobs(self):
        """Knob name -> value, of the knobs this kernel has."""
        return {Path(path).name: value for path, value in self.pairs("knobs").items()}

    @property
    def failed(self):
        """Names of failed units."""
        return [line.split()[0] for line in self.text("failed").splitlines() if line.strip()]

    def processes(self, name):
        """PIDs of the processes called @name."""
        pairs = (line.split(" ", 1) for line in self.text("processes").splitlines())
        return [int(pid) for pid, comm in pairs if comm == name]

    def journal(self, **fields):
        """Journal entries of this boot (dicts, oldest first) that have all @fields with these values."""
        return parse_journal(self.text("journal.json"), fields)

    def knob_writes(self, knob=None):
        """Stores to rcu_expedited and rcu_normal that the kernel's trace recorded (VMs only), oldest first."""
        writes = parse_knob_writes(self.text("trace"))
        return [write for write in writes if knob in (None, write.knob)]


def parse_journal(text, fields):
    entries = (json.loads(line) for line in text.splitlines() if line.strip())
    return [entry for entry in entries if all(entry.get(key) == str(value) for key, value in fields.items())]


def parse_knob_writes(text):
    writes = []
    for line in text.splitlines():
        match = TRACE_LINE.match(line)
        if match is None or not match["event"].startswith("knob_"):
            continue
        value = re.search(r'value="([^"]*)"?', match["rest"])
        if value is None:  # a newline in the value ends the line
            value = re.search(r'value="(.*)$', match["rest"])
        writes.append(
            KnobWrite(
                usec=int(match["seconds"]) * 1_000_000 + int(match["usec"]),
                knob=match["event"].removeprefix("knob_"),
                value=value[1] if value else "",
                comm=match["comm"].strip(),
                pid=int(match["pid"]),
            )
        )
    return writes
