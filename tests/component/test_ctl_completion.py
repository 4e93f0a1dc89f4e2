# SPDX-License-Identifier: LGPL-2.1-or-later
"""completions/rcu-bootctl in a real bash, with and without what the bash-completion package brings."""

import subprocess

import pytest

from conftest import PATIENCE, SOURCE, environment

SCRIPT = r"""
set -u
. "$1"
shift
[[ $(complete -p rcu-bootctl) == "complete -F _rcu_bootctl rcu-bootctl" ]] || exit 1
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_rcu_bootctl rcu-bootctl "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
for word in "${COMPREPLY[@]}"; do printf '%s\n' "$word"; done
"""


def complete(*words, cwd=None):
    """What is offered for the last word. Words as bash splits them: "=" is one of its own."""
    command = ["bash", "--norc", "-c", SCRIPT, "bash", str(SOURCE / "completions/rcu-bootctl"), "rcu-bootctl", *words]
    result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            timeout=PATIENCE, check=True, cwd=cwd, env=environment())
    assert result.stderr == ""
    return sorted(result.stdout.splitlines())


VERBS = ["end", "extend", "knobs", "log", "milestone", "policy", "status", "wait"]


def test_verbs(tree):
    assert complete("") == VERBS
    assert complete("st") == ["status"]
    assert complete("--json", "") == VERBS
    assert complete("--root", str(tree.path), "") == VERBS
    assert complete(f"--root={tree.path}", "") == VERBS
    assert complete("--root", "=", str(tree.path), "") == VERBS
    assert complete("status", "") == []
    assert complete("extend", "") == []


def test_policy_verbs():
    assert complete("policy", "") == ["check", "explain", "list", "show"]
    assert complete("policy", "--json", "e") == ["explain"]


@pytest.mark.parametrize("verb, own", [
    ("status", ["--json"]), ("knobs", ["--json"]), ("policy", ["--json"]), ("log", ["--boot=", "--follow", "--json"]),
    ("end", ["--reason="]), ("wait", ["--timeout="]), ("extend", []), ("milestone", []), ("", ["--json"]),
])
def test_options(verb, own):
    common = ["--help", "--no-pager", "--root=", "--version"]
    assert complete(*([verb] if verb else []), "--") == sorted(common + own)


def test_values(tree):
    assert complete("log", "--boot", "=", "") == complete("log", "--boot=") == ["-1", "-2", "-3", "0"]
    assert complete("log", "--boot", "=") == complete("log", "--boot=")
    (tree / "dir").mkdir()
    tree.write("file", "")
    assert complete(f"--root={tree.path}/di") == [f"{tree.path}/dir"]
    assert complete("--root", "=", f"{tree.path}/di") == [f"{tree.path}/dir"]
    assert complete(f"--root={tree.path}/fil") == []
    assert complete("end", "--reason=") == []


def test_milestones(tree):
    assert complete(f"--root={tree.path}", "milestone", "") == []
    tree.write_state(end_when=["a.target home-screen", "booted"])
    assert complete(f"--root={tree.path}", "milestone", "") == ["a.target", "booted", "home-screen"]
    assert complete(f"--root={tree.path}", "milestone", "booted", "h") == ["home-screen"]
    assert complete("--root", "=", str(tree.path), "milestone", "h") == ["home-screen"]


def test_policies(tree):
    tree.policy("10-a.policy")
    tree.policy("20-b.policy", directory="usr/lib")
    tree.write("etc/rcu-bootd/policy.d/README", "")
    assert complete(f"--root={tree.path}", "policy", "show", "") == ["10-a.policy", "20-b.policy"]
    assert complete(f"--root={tree.path}", "policy", "show", "2") == ["20-b.policy"]
    assert complete(f"--root={tree.path}", "policy", "list", "") == []


def test_files(tree):
    tree.policy("10-a.policy")
    directory = tree / "etc/rcu-bootd/policy.d"
    assert complete("policy", "check", "", cwd=directory) == ["10-a.policy"]
    assert complete("policy", "check", "10-a.policy", "1", cwd=directory) == ["10-a.policy"]
