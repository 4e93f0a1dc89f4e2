# SPDX-License-Identifier: LGPL-2.1-or-later
"""kernel.user_booted and the promise of it, in all orders with the delay. All times in ms since the kernel started."""

from .test_delay import LATE_MS, REMEDY, SLOW_MS, assert_ended_at, ended


def test_report_ends_boot(home):
    """Once, for good, told to every waiter before the write returns; the delay does nothing any more."""
    result = home.boot(
        """
        start
        insmod /user_booted_probe.ko
        echo before "$(cat $booted) $(put $booted 0) $(put $booted 2) $(put $booted -1) $(put $booted yes) $(put $booted '1 0')" \
                "$(tool put $booted 1 65534) $(cat $booted)"
        tool wait-change $booted >/tmp/booted &
        until_ms 6000
        view unreported
        echo reported "$(put $booted 1)"
        view after
        wait
        echo polled "$(tail -n 1 /tmp/booted)"
        echo then "$(cat $booted) $(put $booted 1) $(put $booted 0) $(cat $booted) $(put $delay 120000)"
        until_ms 12000
        view late
        echo told "$(cat /sys/module/user_booted_probe/parameters/reports)"
        """,
        delay=10000, reported=1,
    )  # fmt: skip
    assert result.line("before") in (
        ["0", "0", *["EINVAL"] * 4, "EACCES", "0"],
        ["0", "0", *["EINVAL"] * 4, "EPERM", "0"],
    )
    assert ended(result.line("unreported"))[:4] == (False, "none", 0, 10000)
    assert result.line("reported") == ["0"]
    assert_ended_at(home, result, "after", "user_booted", 6000, SLOW_MS)
    assert result.line("polled")[:2] == ["PRIERR", "1"]
    assert result.line("then") == ["1", "0", "EINVAL", "1", "EBUSY"]
    assert ended(result.line("late"))[:3] == ended(result.line("after"))[:3]
    assert result.line("told") == ["1"]
    assert REMEDY not in result.console


def test_promise_broken(home):
    """The delay is the fallback. The report that comes later is taken, and changes nothing."""
    result = home.boot(
        """
        start; until_ms 7000; view before; until_ms 8200; view after
        echo late "$(put $booted 1) $(cat $booted)"; view reported
        """,
        delay=8000, reported=1,
    )  # fmt: skip
    assert ended(result.line("before"))[0] is False
    is_ended, by, ms, _, _ = ended(result.line("after"))
    assert (is_ended, by) == (True, "fallback") and 8000 <= ms <= 8000 + LATE_MS
    assert result.line("late") == ["0", "1"]
    assert ended(result.line("reported"))[:3] == (True, "fallback", ms)
    assert result.console.count(REMEDY) == 1
    assert len(home.endings(result)) == 1


def test_promise_without_a_delay(home):
    """Two minutes are the fallback then, and can be changed as any delay."""
    result = home.boot(
        """
        start; view start; until_ms 20000; put $delay 90000; view changed; put $delay 120000
        until_ms 119000; view before; until_ms 120300; view after
        """,
        delay=0, reported=1,
    )  # fmt: skip
    assert ended(result.line("start"))[:4] == (False, "none", 0, 120000)
    assert ended(result.line("changed"))[:4] == (False, "none", 0, 90000)
    assert ended(result.line("before"))[0] is False
    is_ended, by, ms, _, _ = ended(result.line("after"))
    assert (is_ended, by) == (True, "fallback") and 120000 <= ms <= 120000 + LATE_MS
    assert result.console.count(REMEDY) == 1
