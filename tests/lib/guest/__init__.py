# SPDX-License-Identifier: LGPL-2.1-or-later
"""Guests to test rcu-bootd in: real Debian, real systemd as PID 1.

Container  systemd-nspawn, knobs are ordinary files: about 0.6 s a boot
VM         QEMU without KVM, Debian's own kernel and its real knobs: about 20 s a boot

See tests/README.md for how to use them from a test.
"""

from .base import CommandFailed, Guest, GuestError, wait_for
from .buildroot import run_in_buildroot
from .container import Container
from .prereq import MissingPrerequisite
from .report import KnobWrite, Report
from .tree import Tree
from .vm import VM

__all__ = [
    "CommandFailed",
    "Container",
    "Guest",
    "GuestError",
    "KnobWrite",
    "MissingPrerequisite",
    "Report",
    "Tree",
    "VM",
    "run_in_buildroot",
    "wait_for",
]
