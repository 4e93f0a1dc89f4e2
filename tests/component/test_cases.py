# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every case of tests/CASES.md is named by a test."""

import os
import re
from pathlib import Path

import pytest

TESTS = Path(os.environ.get("RCU_BOOTD_SRCDIR", Path(__file__).resolve().parents[2])) / "tests"
CASES = [int(n) for n in re.findall(r"^(\d+)\. ", (TESTS / "CASES.md").read_text(encoding="utf-8"), re.M)]


def named_cases():
    """Numbers in "case 7", "cases 7, 8 and 9" and test_case_07_... of the tests' sources."""
    named = set()
    for path in TESTS.rglob("*"):
        if path.suffix not in (".py", ".c") or path.name == Path(__file__).name:
            continue
        # A label of a switch is no case of ours.
        text = re.sub(r"^\s*case \d+:", "", path.read_text(encoding="utf-8"), flags=re.M)
        for numbers in re.findall(r"\bcases?[ _]((?:\d+(?:, ?| and |_(?=\d))?)+)", text, re.I):
            named.update(int(n) for n in re.findall(r"\d+", numbers))
        for number in re.findall(r"_case_?(\d+)", text):
            named.add(int(number))
    return named


def test_the_list_is_whole():
    assert CASES == list(range(1, 34))


@pytest.mark.parametrize("case", CASES)
def test_case_is_named(case):
    assert case in named_cases(), f"no test names case {case}"
