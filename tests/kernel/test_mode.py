# SPDX-License-Identifier: LGPL-2.1-or-later
"""What RCU does before and after the end, as a trace of the kernel's functions shows it."""

import pytest

from .test_delay import ended

# Probes on what synchronize_rcu() does: expedited, or normal (6.12 has a function of its own for that); and on the probe's
# callback, posted and called.
TRACE = """
insmod /rcu_probe.ko
cd /sys/kernel/tracing
grep -qw synchronize_rcu_normal /proc/kallsyms && normal=synchronize_rcu_normal || normal=__wait_rcu_gp
for probe in "exp synchronize_rcu_expedited" "normal $normal" "posted rcu_probe:probe_call_set" "called rcu_probe:probe_callback"; do
        echo "p:$probe" >>kprobe_events
done
echo 1 >events/kprobes/enable
cd /
# sync_rcu WORD: waits for a grace period five times, and tells how often each way was taken by them.
sync_rcu() {
        : >/sys/kernel/tracing/trace
        for i in 1 2 3 4 5; do tool put /sys/module/rcu_probe/parameters/sync 1 >/dev/null; done
        grep 'tool-' /sys/kernel/tracing/trace >/tmp/trace || true
        echo "$1 $(grep -c ' exp: ' /tmp/trace) $(grep -c ' normal: ' /tmp/trace)"
}
# call_rcu WORD: posts a callback, and tells when that was and when it was called, in seconds.
call_rcu() {
        : >/sys/kernel/tracing/trace
        tool put /sys/module/rcu_probe/parameters/call 1 >/dev/null
        echo "$1 $(sed -n 's/.* \\([0-9]*\\.[0-9]*\\): \\(posted\\|called\\): .*/\\1/p' /sys/kernel/tracing/trace | xargs)"
}
"""

# The kernel flushes lazy callbacks after ten seconds (kernel/rcu/tree_nocb.h: LAZY_FLUSH_JIFFIES), or when another comes that
# is not lazy.
LAZY_SEC = 2


def counts(result, word):
    """(expedited, normal) of the five waits that sync_rcu @word made."""
    return tuple(int(number) for number in result.line(word))


def waited(result, word):
    """How long the callback of call_rcu @word waited, in seconds."""
    posted, called = (float(number) for number in result.line(word))
    return called - posted


def test_before_and_after(home):
    """Boot that a report ends, which nobody promised."""
    result = home.boot(
        f"{TRACE}\n{'sync_rcu unloaded' if home.is_module else ''}\n"
        """
        start
        view started
        sync_rcu boot-sync
        call_rcu boot-call
        view still
        put $booted 1
        sync_rcu ended-sync
        call_rcu ended-call
        view at-last
        """,
        delay=120000,
    )
    if home.is_module:
        assert counts(result, "unloaded") == (0, 5)
    assert ended(result.line("still"))[0] is False
    expedited, _ = counts(result, "boot-sync")
    # Before 6.3 an expedited wait may use the normal one for what is left, so what counts is that it was asked for.
    assert expedited == 5
    assert counts(result, "ended-sync") == (0, 5)

    assert waited(result, "boot-call") < LAZY_SEC
    if home.has_lazy_callbacks:
        assert waited(result, "ended-call") > LAZY_SEC
    else:
        assert waited(result, "ended-call") < LAZY_SEC
        assert "This kernel has no lazy callbacks" in result.console
    assert ended(result.line("at-last"))[1] == "user_booted"


@pytest.mark.parametrize("home", ["hz250"], indirect=True)
def test_normal_after_boot_is_honoured(home):
    result = home.boot(
        f"{TRACE}\n"
        """
        echo before "$(cat /sys/kernel/rcu_normal)"; sync_rcu boot-sync
        put $booted 1
        echo after "$(cat /sys/kernel/rcu_normal)"; sync_rcu ended-sync
        """,
        delay=120000, cmdline="rcupdate.rcu_normal_after_boot=1",
    )  # fmt: skip
    assert result.line("before") == ["0"] and counts(result, "boot-sync")[0] == 5
    assert result.line("after") == ["1"] and counts(result, "ended-sync") == (0, 5)


@pytest.mark.parametrize("home", ["stock-6.12", "hz250", "hz1000", "debug"], indirect=True)
def test_as_today_without_parameters(home):
    """The delay 0 and no promise: RCU's end is where a stock kernel has it, once, between the kernel's boot and its sysctl.*
    arguments, by PID 1. User space never sees an expedited wait."""
    result = home.boot(
        """
        sed -n 's/.*-\\([0-9]*\\) .* \\([0-9]*\\.[0-9]*\\): \\(ended\\|sysctl\\): .*/trace \\3 \\1 \\2/p' /sys/kernel/tracing/trace
        """
        f"{TRACE}\nsync_rcu in-user-space\n{'' if home.is_stock else 'view view'}",
        delay=None if home.is_stock else 0,
        cmdline="trace_clock=boot kprobe_event=p:ended,rcu_end_inkernel_boot;p:sysctl,do_sysctl_args",
    )
    (first, first_pid, first_at), (second, second_pid, second_at) = result.lines("trace")
    assert (first, second, first_pid, second_pid) == ("ended", "sysctl", "1", "1")
    assert home.is_stock or result.line("view")[:2] == ["1", "delay"]
    assert 0 <= float(second_at) - float(first_at) < 0.1
    assert counts(result, "in-user-space") == (0, 5)


@pytest.mark.parametrize("home", ["hz250"], indirect=True)
def test_report_on_the_command_line(home):
    """sysctl.kernel.user_booted=1: boot ends just before init, although the delay says otherwise."""
    result = home.boot("tool now >/tmp/now; view start; echo began $(cat /tmp/now)", delay=60000, cmdline="sysctl.kernel.user_booted=1")
    is_ended, by, ms, _, _ = ended(result.line("start"))
    assert (is_ended, by) == (True, "user_booted") and ms <= int(result.line("began")[0])
