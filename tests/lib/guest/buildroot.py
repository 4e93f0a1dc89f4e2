# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs scripts in a Debian root made for building, in a copy of the project."""

import argparse
import contextlib
import subprocess
import sys
import tempfile
from pathlib import Path

from .prereq import SEARCH_PATH, MissingPrerequisite, need, need_root

LAUNCH = Path(__file__).with_name("buildroot-launch")


def run_in_buildroot(source, script, *, root, mounts=(), log=None, timeout=1800):
    """Runs shell text @script in the Debian tree @root, in a copy of the git tree @source made there.

    The copy (tracked files as they are in the work tree, and files git would add) is the current directory,
    /build; neither tree is written, and there is no network. @mounts are triples: "bind" (what is written stays) or
    "overlay" (it is gone afterwards), a directory, and where it is to be seen. Output goes to file @log, or where the
    caller's goes. Returns the exit code.
    """
    need_root("a build root")
    need("unshare", "mount", "git")
    listed = subprocess.run(
        ["git", "-C", source, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True, check=True,
    )  # fmt: skip
    # Files that git still lists but that are deleted in the work tree are none of the build's business.
    names = [name for name in listed.stdout.split(b"\0") if name and (Path(source) / name.decode()).exists()]
    work = tempfile.mkdtemp(prefix="rcu-bootd-build.")
    command = ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--fork", "--kill-child", "--net",
               "--propagation", "private", str(LAUNCH), work, str(root), str(source), script,
               *[str(word) for mount in mounts for word in mount]]  # fmt: skip
    try:
        with open(log, "wb") if log else contextlib.nullcontext() as sink:
            done = subprocess.run(
                command, input=b"\0".join(names), stdout=sink, stderr=sink, timeout=timeout, check=False,
                env={"PATH": SEARCH_PATH, "LANG": "C.UTF-8"},
            )  # fmt: skip
        return done.returncode
    finally:
        Path(work).rmdir()


def main():
    parser = argparse.ArgumentParser(
        prog="tests/guest/in-buildroot",
        description="Runs a shell script in a copy of this source tree in another Debian release's build root.",
    )
    parser.add_argument("--suite", default="trixie", help="Debian release (default: %(default)s)")
    parser.add_argument("script", help="shell text, for instance 'autoreconf -fi && ./configure && make check'")
    args = parser.parse_args()
    from . import images  # which needs this module itself, for kernels

    try:
        source = Path(__file__).resolve().parents[3]
        return run_in_buildroot(source, args.script, root=images.buildroot(args.suite))
    except (MissingPrerequisite, RuntimeError) as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 1

