# SPDX-License-Identifier: LGPL-2.1-or-later
"""The series beside the sources that the module is built from, and the style of both."""

import re
import shutil
import subprocess

import pytest

from guest import kernels

KERNEL = kernels.SOURCE / "kernel"
PATCHES = KERNEL / f"patches/{kernels.SERIES}"
SERIES = (PATCHES / "series").read_text(encoding="ascii").split()


def changed_files(text):
    """Path -> (lines added, lines removed) of a patch."""
    files, path = {}, None
    for line in text.splitlines():
        if match := re.match(r"\+\+\+ b/(.*)", line):
            path = match[1]
            files[path] = [0, 0]
        elif path and re.match(r"\+(?!\+\+ )", line):
            files[path][0] += 1
        elif path and re.match(r"-(?!-- |- $)", line):
            files[path][1] += 1
    return {path: tuple(counts) for path, counts in files.items()}


@pytest.fixture(scope="module", name="patches")
def fixture_patches():
    return {name: (PATCHES / name).read_text(encoding="utf-8") for name in SERIES}


def test_series_is_complete(patches):
    assert SERIES == sorted(path.name for path in PATCHES.glob("0*.patch") if not path.name.startswith("0000-"))
    cover = (PATCHES / "0000-cover-letter.patch").read_text(encoding="utf-8")
    for text in patches.values():
        subject = re.search(r"^Subject: \[PATCH [^]]*\] (.*(?:\n .*)*)", text, re.MULTILINE)[1].replace("\n", "")
        assert f"\n  {subject}\n" in cover
    counts = {path: count for text in patches.values() for path, count in changed_files(text).items()}
    added, removed = (sum(column) for column in zip(*(c for text in patches.values() for c in changed_files(text).values())))
    assert f" {len(counts)} files changed, {added} insertions(+), {removed} deletions(-)\n" in cover


def test_series_brings_the_modules_sources(patches, tmp_path):
    """One source, two homes: what the series adds is what kernel/src has, byte for byte, and nothing is missing."""
    added = {path for text in patches.values() for path in changed_files(text)}
    existing = {path for text in patches.values() for path in re.findall(r"^--- a/(.*)", text, re.MULTILINE)}
    for path in existing:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(kernels.source() / path, tmp_path / path)
    for text in patches.values():
        subprocess.run(["patch", "-p1", "-s", "-F0", "-d", tmp_path], input=text.encode(), check=True)
    ours = {str(path.relative_to(KERNEL / "src")) for path in (KERNEL / "src").rglob("*") if path.is_file()}
    assert ours == added - existing
    for path in ours:
        assert (tmp_path / path).read_bytes() == (KERNEL / "src" / path).read_bytes(), f"kernel/refresh-series: {path}"


def test_hooks_are_small(patches):
    """Of existing code, one call is another, rcuscale waits for another thing, and a flag is marked; build files get what a new
    file needs."""
    total = {}
    for text in patches.values():
        for path, counts in changed_files(text).items():
            if not (KERNEL / "src" / path).exists() and not path.startswith("Documentation/"):
                total[path] = counts
    assert total.pop("init/main.c") == (2, 1)
    assert total.pop("kernel/rcu/rcuscale.c") == (1, 2) and total.pop("kernel/rcu/update.c") == (2, 2)
    assert total.pop("kernel/Makefile") == (1, 0) and total.pop("kernel/rcu/Makefile") == (1, 0)
    assert total.keys() == {"init/Kconfig", "kernel/rcu/Kconfig"}
    assert all(removed == 0 for _, removed in total.values())


def checkpatch(*args, **kwargs):
    """The complaints of the kernel's own checker, which wants to know nothing of a MAINTAINERS entry here."""
    script = kernels.source() / "scripts/checkpatch.pl"
    result = subprocess.run(
        ["perl", script, "--strict", "--no-signoff", "--terse", "--show-types", "--ignore", "FILE_PATH_CHANGES", *args],
        capture_output=True, text=True, check=False, cwd=KERNEL, **kwargs,
    )  # fmt: skip
    complaints = [line for line in result.stdout.splitlines() if "lines checked" not in line]
    assert result.returncode == bool(complaints), result.stderr
    return complaints


@pytest.mark.parametrize("name", SERIES)
def test_style_of_the_series(patches, name):
    assert checkpatch(f"--root={kernels.source()}", "-", input=patches[name]) == []


def test_style_of_the_module():
    """compat.h is about versions of the kernel, which code in a tree must not ask for."""
    files = [*(KERNEL / "module").glob("*.[ch]"), *(kernels.SOURCE / "tests/kernel/probe").glob("*.c")]
    complaints = checkpatch("--no-tree", "-f", *files)
    assert [line for line in complaints if "compat.h" not in line] == []
    assert len(files) == 7


def test_licences():
    """A series and the kernel's documentation of its interfaces have no place for it."""
    for path in KERNEL.rglob("*"):
        if path.is_file() and path.parent != PATCHES and path.parent.name != "testing":
            head = path.read_text(encoding="utf-8").splitlines()[:2]
            assert any("SPDX-License-Identifier: GPL-2.0-only" in line for line in head), path
