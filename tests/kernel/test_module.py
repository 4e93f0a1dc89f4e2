# SPDX-License-Identifier: LGPL-2.1-or-later
"""What only the module does: come and go."""

import pytest

from .test_delay import REMEDY, ended
from .test_mode import TRACE, counts

# Debian's kernels, and one that watches locks and memory.
MODULES = ["module-6.12", "module-6.1", "module-debug"]


@pytest.mark.parametrize("home", MODULES, indirect=True)
def test_unloading_ends_boot(home):
    """Whoever waits is told, the nodes are gone, and RCU is as before. It can come and go again and again."""
    result = home.boot(
        f"{TRACE}\n"
        """
        start; sync_rcu loaded
        tool wait-change /proc/sys/kernel/user_booted >/tmp/booted 2>&1 &
        until_ms 5000
        rmmod rcu_boot_end; sync_rcu unloaded
        wait; echo polled "$(tail -n 1 /tmp/booted)"
        echo left "$(ls -d $delay $booted /sys/kernel/rcu_boot_ended* 2>/dev/null)"
        for i in 1 2 3 4 5 6 7 8 9 10; do start; put $delay 90000; put $booted $((i % 2)); rmmod rcu_boot_end; done
        sync_rcu at-last
        start; sync_rcu again; put $booted 1; view ended; rmmod rcu_boot_end
        """,
        delay=120000,
    )
    assert counts(result, "loaded")[0] == 5
    assert counts(result, "unloaded") == (0, 5) and counts(result, "at-last") == (0, 5)
    assert counts(result, "again")[0] == 5
    assert result.line("left") == []
    assert "ERR" in " ".join(result.line("polled")) or "No such file" in " ".join(result.line("polled"))
    assert ended(result.line("ended"))[1] == "user_booted"
    causes = [line.split("Boot ended by ")[1].split(",")[0] for line in home.endings(result)]
    assert causes == ["unload", *["user_booted", "unload"] * 5, "user_booted"]


@pytest.mark.parametrize("home", MODULES, indirect=True)
def test_loaded_too_late(home):
    """After the delay there is no boot to bring back; and nobody could report before, so no promise was broken."""
    result = home.boot(f"{TRACE}\nuntil_ms 16000; start; view start; sync_rcu late", reported=1)
    is_ended, by, ms, _, _ = ended(result.line("start"))
    assert (is_ended, by) == (True, "delay") and ms >= 16000
    assert counts(result, "late") == (0, 5)
    assert REMEDY not in result.console
