# SPDX-License-Identifier: LGPL-2.1-or-later
"""rcutorture, which starts with the kernel, while boot ends below it."""

import re

import pytest

from .test_delay import ended

SECONDS = 31


@pytest.mark.parametrize("home", ["hz1000"], indirect=True)
def test_rcutorture_across_the_end(home):
    """The kernel's own test of RCU, half of its time before the end of boot and half after it."""
    result = home.boot(
        "view start; until_ms 14000; view before; until_ms 17000; view after; sleep 1000",
        delay=16000, image="vmlinuz-torture", clock="host-single", until="rcu-torture:--- End of test",
        cmdline=f"rcutorture.torture_type=rcu rcutorture.shutdown_secs={SECONDS} rcutorture.stat_interval=5 rcutorture.nreaders=3",
    )  # fmt: skip
    assert ended(result.line("start"))[0] is False
    assert ended(result.line("before"))[0] is False
    is_ended, by, ms, _, _ = ended(result.line("after"))
    assert (is_ended, by) == (True, "delay") and 16000 <= ms < SECONDS * 1000
    assert re.search(r"rcu-torture:--- End of test: SUCCESS", result.console)
    assert "!!!" not in result.console
    statistics = re.findall(r"rcu-torture: rtc: \S+ ver: (\d+)", result.console)
    assert len(statistics) >= 5 and int(statistics[-1]) > int(statistics[0]), "rcutorture did not make progress"
