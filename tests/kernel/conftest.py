# SPDX-License-Identifier: LGPL-2.1-or-later
"""Fixtures for tests of the kernel's side: each runs in every home that the code has."""

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from guest import images, kernels  # noqa: E402 pylint: disable=wrong-import-position
from guest.bare import GUEST, run_script  # noqa: E402 pylint: disable=wrong-import-position
from guest.fixtures import *  # noqa: E402,F401,F403 pylint: disable=wrong-import-position,wildcard-import,unused-wildcard-import
from guest.fixtures import logs_of  # noqa: E402 pylint: disable=wrong-import-position

HOMES = ("hz250", "hz1000", "debug", "module-6.12", "module-6.1")

# What the kernel says when something is wrong with it.
SPLAT = re.compile(
    r"WARNING: |BUG: |INFO: (task|rcu|possible|trying)|KASAN|suspicious RCU|Call Trace:|Kernel panic|Oops"
    r"|unhandled|inconsistent lock|ODEBUG|stack-out-of-bounds|sysctl (table|duplicate)"
)


@dataclass
class Home:
    """A kernel with the code in it, or with a module that brings it."""

    name: str
    logs: Path
    tool: Path
    boots: int = 0

    @property
    def is_module(self):
        return self.name.startswith("module-")

    @property
    def is_stock(self):
        """A kernel without the series, whether our module is in the guest or not."""
        return self.is_module or self.name.startswith("stock-")

    @property
    def version(self):
        """Of a stock kernel: Debian's, or the name of one of our configurations."""
        return self.name.partition("-")[2] if self.is_stock else kernels.SERIES

    @property
    def is_debian(self):
        return self.version in images.KERNELS and self.is_stock

    @property
    def has_lazy_callbacks(self):
        """Debian's 6.1 has none; all others are built with CONFIG_RCU_LAZY."""
        return self.version != "6.1"

    def files(self):
        directory = kernels.modules(self.version) if self.is_debian else self.kernel()
        return {path.name: path for path in directory.glob("*.ko") if self.is_module or path.stem != "rcu_boot_end"}

    def kernel(self):
        if self.is_debian:
            return images.kernel(self.version)
        return kernels.patched(self.version) / "stock" if self.is_module else kernels.patched(self.name)

    def boot(self, script, *, delay=None, reported=None, cmdline="", image="vmlinuz", **options):
        """Boots, runs shell text @script (see guest/lib) and returns its Result; @delay and @reported are the parameters.
        Fails on a message of the kernel's that tells of a fault.
        """
        parameters = []
        if delay is not None:
            parameters.append(f"rcu_boot_end_delay={delay}")
        if reported is not None:
            parameters.append(f"user_booted_reported={reported}")
        words = " ".join(parameters)
        if not self.is_module:
            cmdline = f"{cmdline} {words.replace('rcu_boot_end_delay', 'rcupdate.rcu_boot_end_delay')}"
        facts = f"MODULE={'yes' if self.is_module else 'no'}\nPARAMETERS='{words}'\n"
        self.boots += 1
        result = run_script(
            self.kernel() / image, script, logs=self.logs / str(self.boots), cmdline=f"rcu_nocbs=all {cmdline}".strip(),
            files={"facts": facts, "bin/tool": self.tool, **self.files()},
            **options,
        )  # fmt: skip
        assert [line for line in result.console.splitlines() if SPLAT.search(line)] == []
        return result

    def endings(self, result):
        """The kernel's messages that boot has ended."""
        return [line for line in result.console.splitlines() if "Boot ended by" in line]


@pytest.fixture(scope="session", name="guest_tool")
def fixture_guest_tool(session_dir):
    """The guest's own program: guest/tool.c."""
    target = session_dir / "tool"
    command = ["gcc", "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-static", "-o", target, GUEST / "tool.c"]
    subprocess.run(command, check=True)
    return target


@pytest.fixture(params=HOMES)
def home(request, guest_tool):
    """Each home in turn. `pytest -k hz250` runs in one only."""
    logs = logs_of(request.node)
    yield Home(request.param, logs, guest_tool)
    if not getattr(request.node, "rcu_bootd_failed", False):
        shutil.rmtree(logs, ignore_errors=True)
