# SPDX-License-Identifier: LGPL-2.1-or-later
"""A cache of things that take long to build, each keyed by a hash of what it is built from.

An artifact is a directory CACHE/NAME-KEY. It is built in a temporary directory beside it and renamed when
complete, under a lock of its own: whoever comes second waits, and nobody ever sees half of one.
"""

import contextlib
import fcntl
import hashlib
import inspect
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path


def cache_dir():
    """Where artifacts are kept: $RCU_BOOTD_CACHE, else rcu-bootd below $XDG_CACHE_HOME or ~/.cache."""
    own = os.environ.get("RCU_BOOTD_CACHE")
    if own:
        return Path(own).absolute()
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return (Path(base) / "rcu-bootd").absolute()


def say(message):
    print(f"[guest] {message}", file=sys.stderr, flush=True)


def key_of(inputs):
    """A short hash of @inputs (anything JSON can hold) and of the machine's architecture."""
    text = json.dumps([inputs, os.uname().machine], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@contextlib.contextmanager
def locked(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def artifact(name, inputs, what, build, helpers=()):
    """Returns the directory of artifact @name made from @inputs, calling build(DIRECTORY) when the cache lacks it.

    The source text of @build and of the functions in @helpers belongs to the inputs. @what says in a few words what is
    built and how long that takes, for the person who waits.
    """
    recipe = [inspect.getsource(function) for function in (build, *helpers)]
    final = cache_dir() / f"{name}-{key_of([inputs, recipe])}"
    if final.is_dir():
        return final
    with locked(cache_dir() / f"{name}.lock"):
        if final.is_dir():
            return final
        for stale in cache_dir().glob(f"{name}-*.tmp"):
            shutil.rmtree(stale)
        temporary = final.with_name(final.name + ".tmp")
        temporary.mkdir()
        say(f"{name}: building {what}")
        started = time.monotonic()
        try:
            build(temporary)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
        temporary.rename(final)
        size = subprocess.run(["du", "-xsm", final], capture_output=True, text=True, check=True).stdout.split()[0]
        say(f"{name}: done in {time.monotonic() - started:.0f} s, {size} MB, {final}")
    return final


def prune(keep):
    """Removes artifacts whose directories are not in @keep: those of inputs that are no longer used."""
    for path in sorted(cache_dir().glob("*-????????????????")):
        if path.is_dir() and path not in keep:
            say(f"removing {path}, which nothing uses any more")
            shutil.rmtree(path)


def run_logged(command, log, what, **kwargs):
    """Runs @command with its output in file @log; on failure raises with the end of that output."""
    with open(log, "ab") as sink:
        result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink, check=False, **kwargs)
    if result.returncode != 0:
        tail = Path(log).read_text(encoding="utf-8", errors="replace").splitlines()[-25:]
        raise RuntimeError(f"{what} failed with exit code {result.returncode}; its last words:\n" + "\n".join(tail))
