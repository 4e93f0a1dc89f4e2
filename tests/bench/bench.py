# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the benchmarks have in common: what is measured, in which order, where the raw data go, and the verdict."""

import contextlib
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from guest import Container, Tree  # noqa: E402
from guest.container import sweep  # noqa: E402
from guest.installation import find_builddir, install  # noqa: E402

SCHEMA = 2


class BenchError(Exception):
    """The benchmark could not measure; the message says why."""


def say(text=""):
    print(text, flush=True)


def number_from_environment(name, default):
    """A whole number of at least 1 from the variable @name, where it is set."""
    text = os.environ.get(name, "")
    if not text:
        return default
    if not text.isdigit() or int(text) < 1:
        raise BenchError(f"{name}={text}: expected a whole number of at least 1")
    return int(text)


def digest(tree):
    """A short hash of all files of a Tree: names, modes, contents."""
    sum_ = hashlib.sha256()
    for path in sorted(tree.path.rglob("*")):
        sum_.update(f"{path.relative_to(tree.path)} {path.lstat().st_mode:o}\n".encode())
        if path.is_symlink():
            sum_.update(os.readlink(path).encode())
        elif path.is_file():
            sum_.update(path.read_bytes())
    return sum_.hexdigest()[:16]


def host():
    """What figures depend on of the machine."""
    uname = os.uname()
    model = next(
        (line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
         if line.startswith("model name")), "unknown",
    )  # fmt: skip
    return {"kernel": f"{uname.sysname} {uname.release} {uname.machine}", "cpus": os.cpu_count(), "cpu": model}


class Installed:
    """What `make install` of the build directory installs, with and without the daemon enabled."""

    def __init__(self, directory):
        self.build = find_builddir()
        if self.build is None:
            raise BenchError("no configured build directory: run `make bench` there, or name it in RCU_BOOTD_BUILDDIR")
        self.disabled = install(self.build, f"{directory}/installed")
        self.enabled = self.enable("rcu-boot-end")
        self.digest = digest(self.disabled)

    def enable(self, *units):
        """A Tree with these units enabled as an administrator would."""
        target = tempfile.mkdtemp(prefix="enabled-", dir=self.disabled.path.parent)
        return Tree(target).copy(self.disabled).enable(*units)


class Raw:
    """The raw data of a benchmark: a line of JSON for each boot, in the build directory's bench/NAME.jsonl.

    The first line tells what was measured and on what. A file whose first line is that of this run is continued, so
    that a run that was interrupted goes on where it was; any other file is kept as NAME.jsonl.old.
    """

    def __init__(self, build, name, what):
        self.path = build / "bench" / f"{name}.jsonl"
        self.path.parent.mkdir(exist_ok=True)
        head = {"schema": SCHEMA, "benchmark": name, "host": host(), **what}
        self.boots = self._load(head)
        if self.boots is None:
            if self.path.exists():
                self.path.replace(self.path.with_suffix(".jsonl.old"))
            self.boots = []
            self._append(head)

    def _load(self, head):
        if os.environ.get("FRESH") or not self.path.exists():
            return None
        lines = self.path.read_text(encoding="utf-8").splitlines()
        try:
            found = [json.loads(line) for line in lines]
        except ValueError:
            return None
        # As JSON has it: there are no tuples.
        return found[1:] if found and found[0] == json.loads(json.dumps(head)) else None

    def _append(self, line):
        with open(self.path, "a", encoding="utf-8") as out:
            out.write(json.dumps(line) + "\n")

    def add(self, arm, **values):
        boot = {"arm": arm, "at": round(time.time()), "load": os.getloadavg()[0], **values}
        self.boots.append(boot)
        self._append(boot)

    def count(self, arm):
        return sum(boot["arm"] == arm for boot in self.boots)

    def values(self, arm, key):
        return [boot[key] for boot in self.boots if boot["arm"] == arm]


def take_turns(raw, arms, rounds, measure, warm_up=True):
    """Calls measure(ARM) -> dict of raw values until each of @arms has been measured @rounds times.

    The arms take turns, and the order within a round changes from one to the next, so that whatever drifts drifts for
    all of them. The first boot of each arm fills the host's caches and does not count.
    """
    done = min(raw.count(arm) for arm in arms)
    if done >= rounds:
        say(f"All {rounds} boots of each are in {raw.path} already; FRESH=1 measures anew.")
        return
    if done:
        say(f"Going on with {raw.path}, which has {done} of {rounds} boots of each.")
    if warm_up:
        for arm in arms:
            measure(arm)
    busy = False
    for i in range(done, rounds):
        for arm in arms[i % len(arms) :] + arms[: i % len(arms)]:
            if raw.count(arm) <= i:
                raw.add(arm, **measure(arm))
                busy = busy or os.getloadavg()[0] > 1.5 * os.cpu_count()
        if (i + 1) % 10 == 0 and i + 1 < rounds:
            say(f"  ... {i + 1} of {rounds} boots of each")
    if busy:
        say("  (Something else kept this machine busy at times; see \"load\" in the raw data.)")


@contextlib.contextmanager
def scratch():
    """A directory for this run."""
    with tempfile.TemporaryDirectory(prefix="rcu-bootd-bench.") as path:
        os.chmod(path, 0o755)
        with contextlib.suppress(Exception):
            sweep()
        yield Path(path)


def quiet(directory):
    """A Tree that makes PID 1 as quiet on the console as Debian's `quiet` on the kernel command line does."""
    return Tree(directory / "quiet").write("etc/systemd/system.conf.d/50-quiet.conf", "[Manager]\nShowStatus=auto\n")


def boot_container(*layers, **options):
    """A container that boots undisturbed: nobody watches its knobs."""
    return Container(layers=layers, watch=False, **options)


def hold_before_end(tree):
    """Lets the boot stop, all but its end done, until release("before-end")."""
    return tree.hold(
        "before-end", before="multi-user.target", wanted_by="multi-user.target", after="basic.target dbus.service"
    )


def is_on_bus(guest, pid):
    """Whether the process (a PID, as text) has a connection to the system bus."""
    return pid in guest.output("busctl list --no-legend | awk '{ print $2 }'").split()


def usec_of(guest, unit, name):
    """A timestamp of PID 1's, of @unit or (None) of its own: CLOCK_MONOTONIC in the guest."""
    value = int(guest.show(unit, name)[name])
    if value == 0:
        raise BenchError(f"{name} of {unit or 'PID 1'} is not set: it has not happened")
    return value


def verdict(name, reached, figure, target):
    say(f"{name}: {'REACHED' if reached else 'MISSED'}: {figure}; target: {target}")
    return reached


def main(name, measure):
    """Runs one benchmark: measure(Installed, directory) -> whether the target was reached. Exit code 0, 1 if it was
    missed, 2 if it could not be measured."""
    try:
        with scratch() as directory:
            return 0 if measure(Installed(directory), directory) else 1
    except (BenchError, RuntimeError, subprocess.SubprocessError, OSError) as error:
        print(f"bench {name}: {error}", file=sys.stderr)
        return 2
    except Exception as error:  # GuestError, MissingPrerequisite: their messages are for people, too
        print(f"bench {name}: {type(error).__name__}: {error}", file=sys.stderr)
        return 2
