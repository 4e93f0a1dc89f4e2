# SPDX-License-Identifier: LGPL-2.1-or-later
"""Many writers at once, and sleep across the end."""

from .test_delay import LATE_MS, ended

PROCESSES = 12


def processors(home):
    """Two, so that writers run at once. Not for kernel 6.1: it takes minutes to bring up the second, see guest.vm.default_cpus()."""
    return 1 if home.version == "6.1" else 2


def results(result, word):
    """Sums of what the writers saw: done, EBUSY, EINVAL, other; a line of each."""
    lines = result.lines(word)
    assert len(lines) == PROCESSES
    return [sum(int(number) for number in column) for column in zip(*lines)]


def test_concurrent_writers(home):
    """Four seconds of writes at random, none of which is due: boot does not end, and the last one counts. Four more in which
    boot may end: it does so once, and all writes after it are refused."""
    result = home.boot(
        f"""
        start
        tool stress $delay {PROCESSES} 4000 30000 40000 50000 119999 120000 -1 x 120001 | sed 's/^/early /'
        view unended
        put $delay 40000
        view agreed
        (tool stress $delay {PROCESSES} 4000 1 100 30000 60000 0 5000 x | sed 's/^/late /') &
        (tool stress $booted 4 4000 0 2 x | sed 's/^/report /') &
        wait
        view done
        put $booted 1
        until_ms 41000
        view at-last
        """,
        delay=120000, cpus=processors(home),
    )  # fmt: skip
    done, busy, invalid, other = results(result, "early")
    assert done > 100 and invalid > 100 and busy == 0 and other == 0
    assert ended(result.line("unended"))[:3] == (False, "none", 0)
    assert ended(result.line("agreed"))[:4] == (False, "none", 0, 40000)

    done, busy, invalid, other = results(result, "late")
    assert done >= 1 and busy > 100 and invalid > 0 and other == 0
    is_ended, by, ms, delay, _ = ended(result.line("done"))
    assert (is_ended, by, delay) == (True, "delay", 0)
    assert ended(result.line("agreed"))[4] <= ms
    assert ended(result.line("at-last"))[:4] == (True, "delay", ms, 0)
    assert len(home.endings(result)) == 1


def test_writers_against_the_timer_and_the_report(home):
    """Writers that put the end off by a little all the time, the timer, and a report: one of them ends boot, once."""
    result = home.boot(
        f"""
        start
        until_ms 6000
        (tool stress $delay {PROCESSES} 3000 6500 7000 7001 7002 7500 8000 | sed 's/^/late /') &
        (until_ms 6900; tool stress $booted 4 2000 1 | sed 's/^/report /') &
        wait
        view done
        """,
        delay=7000, cpus=processors(home),
    )  # fmt: skip
    *_, other = results(result, "late")
    assert other == 0
    is_ended, by, ms, _, _ = ended(result.line("done"))
    assert is_ended and by in ("delay", "user_booted") and 6000 <= ms <= 8000 + LATE_MS
    assert len(home.endings(result)) == 1


def test_suspended_across_the_end(home):
    """The delay counts on while the machine sleeps, for some seconds longer than it; boot has ended when the machine is awake."""
    result = home.boot(
        """
        start
        echo enabled >/sys/class/tty/ttyS1/power/wakeup
        put $delay $(($(now) + 3000))
        view before
        echo freeze >/sys/power/state
        view awake
        until [ "$(cat /sys/kernel/rcu_boot_ended)" = 1 ]; do sleep 0.05; done
        view at-last
        """,
        delay=120000, clock="host-single", wake="PM: suspend entry",
    )  # fmt: skip
    *unended, end, _ = ended(result.line("before"))
    assert unended == [False, "none", 0]
    *_, awake = ended(result.line("awake"))
    assert end + 1000 < awake, "the machine did not sleep until the delay was over"
    is_ended, by, ms, _, now = ended(result.line("at-last"))
    assert (is_ended, by) == (True, "delay")
    # Where the processor has no idle state in which time stands still, the timer fires on time also in suspend.
    assert end <= ms <= now
    assert len(home.endings(result)) == 1
