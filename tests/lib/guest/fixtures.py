# SPDX-License-Identifier: LGPL-2.1-or-later
"""pytest fixtures for tests/container and tests/vm; their conftest.py files import all of this."""

import collections
import contextlib
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

from .container import Container, sweep
from .installation import find_builddir, install
from .tree import Tree
from .vm import VM

# Its assertions are to say what they compared, as those in tests do.
pytest.register_assert_rewrite("guest.scenario", "guest.evidence")


def builddir():
    found = find_builddir()
    if found is None:
        pytest.fail(
            "no configured build directory: name it in RCU_BOOTD_BUILDDIR, or run from it or from the parent of build/",
            pytrace=False,
        )
    return found


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Notes on the test item and its module whether it failed, for the fixtures' clean-up."""
    outcome = yield
    if outcome.get_result().failed:
        for node in item.listchain():
            node.rcu_bootd_failed = True


def split_modules(sizes, shards):
    """Names of the modules in each of @shards parts of about the same size; @sizes maps a name to its size."""
    parts = [(0, index, []) for index in range(shards)]
    for name, size in sorted(sizes.items(), key=lambda item: (-item[1], item[0])):
        total, index, names = min(parts)
        parts[parts.index((total, index, names))] = (total + size, index, [*names, name])
    return [names for _, _, names in parts]


def _boots_of_modules(items):
    """Module name -> set of its guests: one for each test, or one for all tests that share it (by its parameter)."""
    boots = collections.defaultdict(set)
    for item in items:
        parameter = item.callspec.id if hasattr(item, "callspec") else ""
        boots[item.path.name].add(parameter if "shared_vm" in item.fixturenames else item.nodeid)
    return boots


def pytest_collection_modifyitems(config, items):
    """RCU_BOOTD_SHARD=I/N: run only the Ith of N parts. Modules stay whole, since their tests may share a guest."""
    shard = os.environ.get("RCU_BOOTD_SHARD")
    if not shard:
        return
    match = re.fullmatch(r"([1-9]\d*)/([1-9]\d*)", shard)
    if not match or int(match[1]) > int(match[2]):
        raise pytest.UsageError(f"RCU_BOOTD_SHARD={shard}: expected I/N with 1 <= I <= N, for instance 1/2")
    sizes = {name: len(boots) for name, boots in _boots_of_modules(items).items()}
    names = split_modules(sizes, int(match[2]))[int(match[1]) - 1]
    config.hook.pytest_deselected(items=[item for item in items if item.path.name not in names])
    items[:] = [item for item in items if item.path.name in names]


@pytest.fixture(scope="session", name="session_dir")
def fixture_session_dir():
    """A directory for this run of pytest, removed at its end."""
    with tempfile.TemporaryDirectory(prefix=f"rcu-bootd-session.{os.getpid()}.") as path:
        os.chmod(path, 0o755)
        with contextlib.suppress(Exception):
            sweep()
        yield Path(path)


class _Installed:
    """What `make install` of the build directory installs, once a session and only if somebody asks."""

    def __init__(self, session_dir):
        self._directory = session_dir
        self._trees = {}

    def tree(self, *units):
        """The installed Tree with @units enabled by `systemctl --root enable`. Do not write into it."""
        if units not in self._trees:
            base = self.tree() if units else None
            target = self._directory / f"installed-{len(self._trees)}"
            self._trees[units] = Tree(target).copy(base).enable(*units) if base else install(builddir(), target)
        return self._trees[units]


@pytest.fixture(scope="session", name="installed")
def fixture_installed(session_dir):
    return _Installed(session_dir)


@pytest.fixture(scope="session")
def installed_tree(installed):
    """What `make install` of the build directory installs, as a Tree. Do not write into it."""
    return installed.tree()


@pytest.fixture(scope="session")
def enabled_tree(installed):
    """Function: installed_tree with these units enabled (`systemctl --root enable`). Do not write into it."""
    return installed.tree


@pytest.fixture
def tree(tmp_path):
    """An empty Tree for the test's own files in the guest."""
    return Tree(tmp_path / "tree")


class _Factory:
    """Boots guests for a test, ends them after it, and keeps their logs if it fails."""

    def __init__(self, kind, logs, installed, tree):
        self._kind = kind
        self._logs = logs
        self._installed = installed
        self._tree = tree
        self._guests = []
        self._count = 0

    def __call__(self, *, enable=("rcu-boot-end",), layers=(), install=True, **options):
        """Boots a guest with our installed tree (unless not @install), units @enable enabled, and the `tree` fixture
        over it, then @layers. Other options: see the class."""
        base = [self._installed.tree(*enable)] if install else []
        self._count += 1
        guest = self._kind(
            logs=self._logs / str(self._count), layers=[*base, *([self._tree] if self._tree else []), *layers],
            **options,
        )  # fmt: skip
        self._guests.append(guest)
        return guest

    def boots(self, count, **options):
        """Boots @count guests one after the other, each gone before the next; yields each as it starts."""
        for _ in range(count):
            with self(**options) as guest:
                yield guest
            self._guests.remove(guest)
            shutil.rmtree(guest.logs, ignore_errors=True)

    def end(self):
        for guest in self._guests:
            guest.kill()


def logs_of(node):
    """The directory for what guests of the test @node leave; empty."""
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", node.nodeid.removeprefix("tests/")).strip("-")
    logs = (find_builddir() or Path(tempfile.gettempdir()) / "rcu-bootd") / "test-logs" / name
    shutil.rmtree(logs, ignore_errors=True)
    return logs


def _guests(kind, request, installed, tree):
    logs = logs_of(request.node)
    factory = _Factory(kind, logs, installed, tree)
    try:
        yield factory
    finally:
        factory.end()
        if getattr(request.node, "rcu_bootd_failed", False):
            print(f"\nlogs of {request.node.nodeid}: {logs}", file=sys.stderr)
        else:
            shutil.rmtree(logs, ignore_errors=True)


@pytest.fixture
def container(request, installed, tree):
    """Function that boots a Container with rcu-bootd installed and enabled."""
    yield from _guests(Container, request, installed, tree)


@pytest.fixture
def vm(request, installed, tree):
    """Function that boots a VM with rcu-bootd installed and enabled."""
    yield from _guests(VM, request, installed, tree)


@pytest.fixture(scope="module")
def shared_vm(request, installed):
    """The same for a module's own fixtures: one boot that several tests look at. The test's files go into layers=."""
    yield from _guests(VM, request, installed, None)
