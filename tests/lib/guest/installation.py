# SPDX-License-Identifier: LGPL-2.1-or-later
"""What `make install` of the build under test installs. Not among the fixtures: tools/demo runs without pytest."""

import os
import subprocess
from pathlib import Path

from .prereq import SEARCH_PATH, need
from .tree import Tree


def find_builddir():
    """The build directory under test: $RCU_BOOTD_BUILDDIR, else build/ or the current directory; None if none is."""
    named = os.environ.get("RCU_BOOTD_BUILDDIR")
    for path in [Path(named)] if named else [Path("build"), Path()]:
        if (path / "config.status").exists():
            return path.absolute()
    return None


def install(build, target):
    """`make install` of @build into directory @target, laid out so that it can go over a Debian guest."""
    (make,) = need("make")
    # Variables of an outer make (-j, -n, DESTDIR=) are not meant for this one.
    env = {key: value for key, value in os.environ.items() if key not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    env["PATH"] = SEARCH_PATH
    done = subprocess.run(
        [make, "-C", build, "install", f"DESTDIR={target}"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, env=env,
    )  # fmt: skip
    if done.returncode != 0:
        raise RuntimeError(f"make install in {build} failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return Tree(target).merge_usr()
