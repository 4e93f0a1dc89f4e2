# SPDX-License-Identifier: LGPL-2.1-or-later
"""rcu_boot_end_delay: when boot ends, and how a running kernel is told otherwise. All times in ms since the kernel started."""

import re

import pytest

MODULES = ["module-6.12", "module-6.1"]

# What the kernel recommends when a promise was broken.
REMEDY = "Have user space write 1 to /proc/sys/kernel/user_booted"

# How late a timer's work may be: the guests' processors are emulated, and one kernel checks every memory access.
LATE_MS = 60
# The same for what a script does, command by command.
SLOW_MS = 1500

# What a kernel must refuse: out of range, negative, no number, other bases, too long for any integer, truncated to int.
BAD = (
    "120001", "-1", "-0x1", "x", "'\n'", "' '", "10s", "0x10", "1.5", "'5 6'", "4294967296", "4294977296", "18446744073709551616",
    "18446744073709561616", "99999999999999999999999999",
)  # fmt: skip


def ended(line):
    """(ended, by, ms, delay, now) of a line that view printed."""
    is_ended, by, at, delay, now = line
    return is_ended == "1", by, int(at), int(delay), int(now)


def assert_ended_at(home, result, word, by, at, late=LATE_MS):
    is_ended, cause, ms, delay, _ = ended(result.line(word))
    assert (is_ended, cause, delay) == (True, by, 0)
    assert at <= ms <= at + late
    assert len(home.endings(result)) == 1


def test_zero_ends_at_once_after_much_else(home):
    """A delay of two minutes, changed back and forth, never by what is no valid number, until a 0 ends it at 10 s. That is by
    hand: no promise was broken."""
    refused = "\n".join(f'echo refused "$(put $delay {value})"' for value in BAD)
    result = home.boot(
        f"""
        start
        view at-start
        {refused}
        view unharmed
        echo nobody "$(tool put $delay 5 65534)"
        put $delay 60000; view shortened
        put $delay 100000; view extended
        put $delay 000110000; view extended-twice
        tool wait-change /sys/kernel/rcu_boot_ended_by >/tmp/by & tool wait-change /sys/kernel/rcu_boot_ended >/tmp/ended &
        until_ms 10000
        view before
        put $delay 0
        view after
        wait
        echo polled "$(tail -n 1 /tmp/by)"; echo polled "$(tail -n 1 /tmp/ended)"
        echo late "$(put $delay 0) $(put $delay 120000) $(put $delay 120001) $(put $booted 1)"
        view at-last
        """,
        delay=120000, reported=1,
    )  # fmt: skip
    assert ended(result.line("at-start"))[:4] == (False, "none", 0, 120000)
    assert result.lines("refused") == [["EINVAL"]] * len(BAD)
    assert ended(result.line("unharmed"))[:4] == (False, "none", 0, 120000)
    assert result.line("nobody") in (["EACCES"], ["EPERM"])
    for word, delay in (("shortened", 60000), ("extended", 100000), ("extended-twice", 110000), ("before", 110000)):
        assert ended(result.line(word))[:4] == (False, "none", 0, delay), word

    is_ended, by, ms, delay, now = ended(result.line("after"))
    assert (is_ended, by, delay) == (True, "delay", 0)
    assert ended(result.line("before"))[4] <= ms <= now
    assert 10000 <= ms <= 10000 + SLOW_MS
    (first, second) = result.lines("polled")
    assert first[:2] == ["PRIERR", "delay"] and second[:2] == ["PRIERR", "1"]
    assert result.line("late") == ["EBUSY", "EBUSY", "EINVAL", "0"]
    assert ended(result.line("at-last"))[:4] == (True, "delay", ms, 0)
    assert len(home.endings(result)) == 1
    assert REMEDY not in result.console


def test_ends_at_the_delay(home):
    """A report that comes later is taken, and changes nothing; as none was promised, none was missing."""
    result = home.boot(
        """
        start; until_ms 9000; view before; until_ms 10200; view after
        echo late "$(put $booted 1) $(cat $booted)"; view at-last
        """,
        delay=10000,
    )
    assert ended(result.line("before"))[:4] == (False, "none", 0, 10000)
    assert_ended_at(home, result, "after", "delay", 10000)
    assert result.line("late") == ["0", "1"]
    assert ended(result.line("at-last"))[:3] == ended(result.line("after"))[:3]
    assert REMEDY not in result.console


def test_extended_while_running(home):
    result = home.boot(
        """
        start; until_ms 5000; put $delay 20000; until_ms 10500; view past-the-first
        until_ms 19000; view before; until_ms 20200; view after
        """,
        delay=10000,
    )
    assert ended(result.line("past-the-first"))[:4] == (False, "none", 0, 20000)
    assert ended(result.line("before"))[0] is False
    assert_ended_at(home, result, "after", "delay", 20000)


def test_shortened_while_running(home):
    """The earlier time counts, although a timer for the later one was set before."""
    result = home.boot(
        "start; until_ms 6000; put $delay 9000; until_ms 8000; view before; until_ms 9200; view after; until_ms 61000; view late",
        delay=60000,
    )
    assert ended(result.line("before"))[:4] == (False, "none", 0, 9000)
    assert_ended_at(home, result, "after", "delay", 9000)
    assert ended(result.line("late"))[:3] == ended(result.line("after"))[:3]


def test_default_and_a_time_that_is_past(home):
    """15 s unless told otherwise; a number that is past ends boot before the write returns."""
    result = home.boot("start; view default; until_ms 7000; view before; put $delay 6999; view after")
    assert ended(result.line("default"))[:4] == (False, "none", 0, 15000)
    assert_ended_at(home, result, "after", "delay", 7000, SLOW_MS)


@pytest.mark.parametrize("home", MODULES, indirect=True)
def test_no_delay_and_no_promise(home):
    """There is nothing to wait for (what a kernel with the series does then: test_as_today_without_parameters)."""
    result = home.boot("now >/tmp/now; start; view after; echo began $(cat /tmp/now)", delay=0)
    is_ended, by, ms, delay, now = ended(result.line("after"))
    assert (is_ended, by, delay) == (True, "delay", 0)
    assert int(result.line("began")[0]) <= ms <= now
    assert len(home.endings(result)) == 1


BAD_PARAMETERS = ("-1", "120001", "soon", "4294967296", "18446744073709561616")


def test_bad_parameter_is_refused(home):
    """A kernel goes on with its default, and says so; a module is not loaded."""
    if home.is_module:
        attempts = "\n".join(f"insmod /rcu_boot_end.ko rcu_boot_end_delay={value} || echo refused" for value in BAD_PARAMETERS)
        result = home.boot(f"{attempts}\nls /sys/kernel")
        assert len(result.lines("refused")) == len(BAD_PARAMETERS) and "rcu_boot_ended" not in result.output
    else:
        result = home.boot("view start", cmdline=" ".join(f"rcupdate.rcu_boot_end_delay={value}" for value in BAD_PARAMETERS))
        assert ended(result.line("start"))[:4] == (False, "none", 0, 15000)
    # insmod tries twice.
    assert set(re.findall(r"`(\S+)' invalid for parameter", result.console)) == set(BAD_PARAMETERS)
