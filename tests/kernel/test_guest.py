# SPDX-License-Identifier: LGPL-2.1-or-later
"""The guests themselves: what the tests beside this file rely on, seen to fail."""

import pytest

from guest import GuestError


@pytest.mark.parametrize("home", ["hz250"], indirect=True)
@pytest.mark.parametrize("line", ["WARNING: CPU: 0 PID: 1 at a test", "BUG: KASAN: a test", "WARNING: suspicious RCU usage"])
def test_a_message_of_a_fault_fails_the_test(home, line):
    with pytest.raises(AssertionError, match="a test|suspicious"):
        home.boot(f"echo '{line}' >/dev/kmsg")


@pytest.mark.parametrize("home", ["hz250"], indirect=True)
def test_a_script_that_fails_fails_the_test(home):
    with pytest.raises(GuestError, match="did not succeed"):
        home.boot("false; echo not reached")
