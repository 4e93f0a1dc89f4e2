# SPDX-License-Identifier: LGPL-2.1-or-later
"""rcu-bootctl policy check: faults of the files themselves."""

import re

import pytest

from conftest import NOBODY


def test_faults(bootctl, tree):
    """case 28: all of them, with file and line, as editors understand them."""
    good = tree.policy("10-good.policy")
    bad = tree.policy("20-bad.policy", "[Boot]\nEndWhen=a.target\nDeadlineSec=0\nFoo=1\n[During]\nrcu_expedited=on\n")
    result = bootctl("policy", "check", good, bad, code=1)
    assert f"{good}: valid" in result.out and f"{bad}: faulty\n" in result.out
    assert sorted(set(re.findall(rf"^{re.escape(str(bad))}:(\d+): \S", result.err, re.M))) == ["3", "4", "6"]
    data = bootctl("policy", "check", good, bad, "--json", code=1).json()
    assert [f["valid"] for f in data["files"]] == [True, False]
    assert all(re.match(rf"{re.escape(str(bad))}:\d+: ", e) for e in data["files"][1]["errors"])


@pytest.mark.parametrize("value", ["Y", "on", '" 1"', "1 2", "", "2", "-1", "0x1", "01"])
def test_knob_values_of_the_kernels_taste(bootctl, tree, value):
    """case 1: refused when checked, and not by the kernel at the moment that matters."""
    path = tree.policy(text=f"[Boot]\nEndWhen=a.target\n[During]\nrcu_expedited={value}\n[After]\nrcu_expedited=0\n")
    assert f"{path}:4: " in bootctl("policy", "check", path, code=1).err


@pytest.mark.parametrize("text", [
    "[Boot]\nDeadlineSec=5\n",
    "[Boot]\nEndWhen=a.target\nDeadlineSec=infinity\n",
    "[Boot]\nEndWhen=a.target\nDeadlineSec=0\n",
])
def test_no_way_to_end(bootctl, tree, text):
    """case 30."""
    path = tree.policy(text=text)
    assert f"{path}:" in bootctl("policy", "check", path, code=1).err


def test_missing_file(bootctl):
    result = bootctl("policy", "check", "/no/such/file.policy", code=1)
    assert "/no/such/file.policy" in result.err and "/no/such/file.policy: faulty" in result.out


def test_unreadable_file(bootctl, tree):
    path = tree.policy()
    path.chmod(0)
    assert "Permission denied" in bootctl("policy", "check", path, user=NOBODY, code=1).err


def test_directory(bootctl, tree):
    (tree / "x.policy").mkdir()
    bootctl("policy", "check", tree / "x.policy", code=1)


def test_path_is_as_for_any_program(bootctl, tree):
    """Relative to where one is, and not below --root=."""
    tree.policy()
    result = bootctl("policy", "check", "50-test.policy", cwd=tree / "etc/rcu-bootd/policy.d")
    assert result.out == "50-test.policy: valid\n"


def test_dropins_count(bootctl, tree):
    path = tree.policy()
    tree.write("etc/rcu-bootd/policy.d/50-test.policy.d/x.conf", "[Boot]\nNoSuchKey=1\n")
    assert f"{path}.d/x.conf:2: " in bootctl("policy", "check", path, code=1).err


def test_masks_and_names(bootctl, tree):
    mask, name = tree.write("10-empty.policy", ""), tree.write("20-name.txt", "[Boot]\nEndWhen=ready\n")
    result = bootctl("policy", "check", mask, name)
    assert f"{mask}: warning: empty, or a link to /dev/null" in result.err
    assert f"{name}: warning: rcu-bootd reads only files whose names end in .policy" in result.err
    data = bootctl("policy", "check", mask, name, "--json").json()
    files = [(f["valid"], f["masked"], [w["id"] for w in f["warnings"]]) for f in data["files"]]
    assert files == [(True, True, ["mask"]), (True, False, ["name"])]


def test_all_installed(bootctl, tree):
    assert bootctl("policy", "check").out == f"No policies are installed below {tree.path}.\n"
    tree.policy("10-good.policy")
    tree.policy("20-bad.policy", "[Boot]\n", directory="usr/lib")
    result = bootctl("policy", "check", code=1)
    assert "/etc/rcu-bootd/policy.d/10-good.policy: valid" in result.out
    assert "/usr/lib/rcu-bootd/policy.d/20-bad.policy: faulty" in result.out
    assert [f["valid"] for f in bootctl("policy", "check", "--json", code=1).json()["files"]] == [True, False]


def test_faults_drive_no_terminal(bootctl, tree):
    path = tree.policy(text="[Boot]\nEndWhen=a.target\n\x1b[2J=1\n")
    assert "\x1b" not in bootctl("policy", "check", path, code=1).err
