# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the machine that runs the tests must have.

A missing tool makes a test fail with the name of the Debian package to install: a test that is skipped
looks like a test that passed.
"""

import os
import shutil

PACKAGES = {
    "mmdebstrap": "mmdebstrap",
    "systemd-nspawn": "systemd-container",
    "systemctl": "systemd",
    "qemu-system-x86_64": "qemu-system-x86",
    "nsenter": "util-linux",
    "setpriv": "util-linux",
    "unshare": "util-linux",
    "mount": "mount",
    "make": "make",
    "git": "git",
}

# Administrators' tools live in sbin, which a user's PATH (or su without "-") leaves out.
SEARCH_PATH = os.environ.get("PATH", "") + ":/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin"


class MissingPrerequisite(Exception):
    """The machine lacks something the tests need; the message says how to get it."""


def need(*tools):
    """Returns the paths of @tools; raises MissingPrerequisite naming the packages of those that are missing."""
    paths = {tool: shutil.which(tool, path=SEARCH_PATH) for tool in tools}
    missing = [tool for tool, path in paths.items() if path is None]
    if missing:
        packages = sorted({PACKAGES[tool] for tool in missing})
        raise MissingPrerequisite(
            f"{', '.join(missing)} not found, needed to run this test. Install: apt-get install {' '.join(packages)}"
        )
    return [paths[tool] for tool in tools]


def need_root(what):
    if os.geteuid() != 0:
        raise MissingPrerequisite(f"{what} needs root (mount namespaces, device nodes, chroot): run the tests as root")
