# SPDX-License-Identifier: LGPL-2.1-or-later
"""Builds and tests the project in another Debian release's root."""

import subprocess
from pathlib import Path

from . import images
from .prereq import SEARCH_PATH, need, need_root

LAUNCH = Path(__file__).with_name("buildroot-launch")


def run_in_buildroot(source, script, *, suite="trixie", log=None, timeout=1800):
    """Runs shell text @script in a Debian @suite build root, in a copy of the git tree @source made there.

    The copy (tracked files as they are in the work tree, and files git would add) is the current directory,
    /build; the caller's tree is not written. Output goes to file @log. Returns the exit code.
    """
    need_root("a build root")
    need("unshare", "mount", "git")
    listed = subprocess.run(
        ["git", "-C", source, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True, check=True,
    )  # fmt: skip
    # Files that git still lists but that are deleted in the work tree are none of the build's business.
    names = [name for name in listed.stdout.split(b"\0") if name and (Path(source) / name.decode()).exists()]
    root = images.buildroot(suite)
    command = ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--fork", "--kill-child", "--net",
               "--propagation", "private", str(LAUNCH), str(root), str(source), script]  # fmt: skip
    with open(log or "/dev/null", "wb") as sink:
        done = subprocess.run(
            command, input=b"\0".join(names), stdout=sink, stderr=sink, timeout=timeout, check=False,
            env={"PATH": SEARCH_PATH, "LANG": "C.UTF-8"},
        )  # fmt: skip
    return done.returncode
