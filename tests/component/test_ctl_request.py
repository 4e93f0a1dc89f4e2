# SPDX-License-Identifier: LGPL-2.1-or-later
"""rcu-bootctl end, extend and milestone: what was asked for, and whether it came about."""

import os
import re

import pytest

from conftest import NOBODY, FakeDaemon, now_usec

HOUR = 3600 * 1000000


def booting(**changes):
    return {"phase": "booting", "reason": "none", "mode": "unknown", "end_when": ["ready other"], "deadline_usec": HOUR,
            **changes}


REQUESTS = [["end"], ["extend", "5"], ["milestone", "ready"]]


# --- end ---

def test_end(bootctl, bootd, tree):
    tree.policy()
    bootd.boot()
    result = bootctl("end", "--reason=time to go: \"now\"")
    assert re.fullmatch(r"RCU's boot has ended at \d+\.\d{3} s: it was asked for\n", result.out)
    assert tree.phase() == "ended"
    bootd.wait()
    assert tree.state()["REASON"] == "manual" and tree.state()["REASON_TEXT"] == 'time to go: "now"'
    assert tree.knob("rcu_expedited") == 0
    assert '"time to go: "now""' in bootctl("status").out


def test_end_reason_cannot_smuggle_fields(bootctl, bootd, tree):
    """A newline in it would begin a field of its own."""
    tree.policy()
    bootd.boot()
    bootctl("end", "--reason=a\nX_RCU_BOOT_EXTEND_MS=1\tb")
    bootd.wait()
    assert tree.state()["REASON_TEXT"] == "a?X_RCU_BOOT_EXTEND_MS=1?b" and tree.state()["EXTENDED"] == "0"


def test_end_with_a_long_reason(bootctl, bootd, tree):
    tree.policy()
    bootd.boot()
    bootctl("end", "--reason=" + "é" * 1000)
    bootd.wait()
    assert re.fullmatch("é{100,128}", tree.state()["REASON_TEXT"])


def test_end_twice(bootctl, bootd, tree):
    """It is what was wanted, so it is no failure."""
    tree.policy()
    bootd.boot()
    bootctl("end")
    bootd.wait()
    since = tree.state()["SINCE_USEC"]
    assert re.match(r"RCU's boot had ended already at \d+\.\d{3} s: it was asked for\n", bootctl("end").out)
    assert tree.state()["SINCE_USEC"] == since


def test_end_after_milestones(bootctl, tree):
    tree.write_state()
    assert bootctl("end").out == "RCU's boot had ended already at 12.345 s: all that the policy waits for was reached\n"


def test_end_as_another_user(bootctl, bootd, tree):
    """case 24: not even where the policy allows milestones."""
    tree.policy(users=str(NOBODY))
    bootd.boot()
    result = bootctl("end", user=NOBODY, code=1)
    assert "Only root may end RCU's boot" in result.err and "sudo rcu-bootctl end" in result.err
    assert tree.phase() == "booting"


def test_end_that_does_nothing(bootctl, tree):
    """A daemon that took the message but did not do it: not believed, but looked at."""
    tree.write_state(**booting())
    with tree.locked(), FakeDaemon(tree) as fake:
        result = bootctl("end", code=1)
    assert fake.messages == ["X_RCU_BOOT_END=1\n\nBARRIER=1"]
    assert "goes on (phase: booting)" in result.err


def test_ended_by_something_else_meanwhile(bootctl, tree):
    """The daemon ends boot for another reason and goes, just when it is asked: for `end` that is success."""
    tree.write_state(**booting())
    with tree.locked(), FakeDaemon(tree, lambda text: tree.write_state(reason="deadline")):
        assert "has ended at 12.345 s: the deadline passed" in bootctl("end").out


# --- extend ---

def test_extend(bootctl, bootd, tree):
    tree.policy(text="[Boot]\nEndWhen=ready\nDeadlineSec=%d\n" % (now_usec() // 1000000 + 300))
    bootd.boot()
    before = now_usec()
    result = bootctl("extend", "10min")
    deadline = int(tree.state()["DEADLINE_USEC"])
    assert before + 600 * 1000000 <= deadline <= now_usec() + 600 * 1000000
    text = f"{deadline // 1000000}.{deadline // 1000 % 1000:03} s"
    assert result.out == f"RCU's boot ends {text} after the kernel started at the latest.\n"
    assert tree.state()["EXTENDED"] == "1"


def test_extend_never_shortens(bootctl, bootd, tree):
    tree.policy()
    bootd.boot()
    result = bootctl("extend", "1")
    assert result.out == "RCU's boot ends 3600.000 s after the kernel started at the latest.\n"
    assert tree.state()["DEADLINE_USEC"] == str(HOUR) and tree.state()["EXTENDED"] == "0"


def test_extend_beyond_an_hour(bootctl, bootd, tree):
    """As far as it goes, which is not what was asked for."""
    tree.policy(text="[Boot]\nEndWhen=ready\nDeadlineSec=%d\n" % (now_usec() // 1000000 + 300))
    bootd.boot()
    result = bootctl("extend", "3600", code=1)
    assert "later than an hour it cannot be" in result.err
    assert tree.state()["DEADLINE_USEC"] == str(HOUR)


def test_extend_after_the_end(bootctl, tree):
    tree.write_state(reason="deadline")
    result = bootctl("extend", "5", code=1)
    assert "nothing to extend: RCU's boot had ended at 12.345 s: the deadline passed" in result.err


def test_extend_as_another_user(bootctl, bootd, tree):
    tree.policy(text="[Boot]\nEndWhen=ready\nDeadlineSec=%d\nAllowUsers=%d\n" % (now_usec() // 1000000 + 300, NOBODY))
    bootd.boot()
    before = tree.state()["DEADLINE_USEC"]
    result = bootctl("extend", "600", user=NOBODY, code=1)
    assert "Only root may move the deadline" in result.err
    assert tree.state()["DEADLINE_USEC"] == before


def test_extend_that_does_nothing(bootctl, tree):
    tree.write_state(**booting(deadline_usec=now_usec() + 1000000))
    with tree.locked(), FakeDaemon(tree) as fake:
        result = bootctl("extend", "100.5", code=1)
    assert fake.messages == ["X_RCU_BOOT_EXTEND_MS=100500\n\nBARRIER=1"]
    assert "the deadline stays at" in result.err


# --- milestone ---

def test_milestone(bootctl, bootd, tree):
    tree.policy(text="[Boot]\nEndWhen=ready other\nDeadlineSec=3600\n")
    bootd.boot()
    result = bootctl("milestone", "ready")
    assert re.fullmatch(r"ready: reached at \d+\.\d{3} s\.\n", result.out)
    assert tree.state()["REACHED_1"].split()[1:] == ["inbox", "ready"]
    assert bootctl("milestone", "ready").out == result.out  # again: the first time counts
    assert "RCU's boot has ended at" in bootctl("milestone", "other").out
    bootd.wait()
    assert tree.state()["REASON"] == "milestones"


def test_milestones_at_once(bootctl, bootd, tree):
    tree.policy(text="[Boot]\nEndWhen=ready other third\nDeadlineSec=3600\n")
    bootd.boot()
    out = bootctl("milestone", "ready", "stray", "third").out
    assert re.fullmatch(r"ready: reached at .*\n"
                        r"stray: policy 50-test\.policy does not wait for it; it changes nothing\.\n"
                        r"third: reached at .*\n", out)
    assert "REACHED_2" not in tree.state()


def test_milestone_after_the_end(bootctl, tree):
    """An application's unit must not fail because boot was quicker than the application."""
    tree.write_state()
    assert "had ended already at 12.345 s" in bootctl("milestone", "home-screen").out


def test_milestone_of_an_allowed_user(bootctl, bootd, tree):
    """case 24, seen from the sender's side."""
    tree.policy(users=str(NOBODY))
    bootd.boot()
    bootctl("milestone", "ready", user=NOBODY)
    bootd.wait()
    assert tree.state()["REASON"] == "milestones"


def test_milestone_of_another_user(bootctl, bootd, tree):
    tree.policy(users="1")
    bootd.boot()
    result = bootctl("milestone", "ready", user=NOBODY, code=1)
    assert "AllowUsers=" in result.err and "50-test.policy" in result.err
    assert tree.phase() == "booting" and "REACHED_1" not in tree.state()


def test_milestone_that_does_not_count(bootctl, tree):
    tree.write_state(**booting())
    with tree.locked(), FakeDaemon(tree) as fake:
        result = bootctl("milestone", "ready", "other", code=1)
    assert fake.messages == ["X_RCU_MILESTONE=ready\nX_RCU_MILESTONE=other\n\nBARRIER=1"]
    assert result.err.count("did not count") == 2


# --- nobody there ---

@pytest.mark.parametrize("request_", REQUESTS, ids=lambda r: r[0])
def test_never_started(bootctl, request_):
    result = bootctl(*request_, code=1)
    assert "rcu-bootd has not run since this system started" in result.err
    assert "systemctl enable --now rcu-boot-end.service" in result.err


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda r: r[0])
def test_daemon_died(bootctl, bootd, tree, request_):
    """Its socket is still there, but nobody listens."""
    tree.policy()
    bootd.boot()
    bootd.kill()
    assert (tree / "run/rcu-bootd/notify").is_socket()
    result = bootctl(*request_, code=1)
    assert "rcu-bootd is not running, although boot has not ended (phase: booting)" in result.err
    assert "systemctl restart rcu-boot-end.service" in result.err


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda r: r[0])
def test_damaged_state(bootctl, tree, request_):
    tree.write_state("PHASE=what\n")
    with tree.locked(), FakeDaemon(tree):
        assert "cannot be understood" in bootctl(*request_, code=1).err


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda r: r[0])
def test_inbox_that_may_not_be_written_to(bootctl, tree, request_):
    tree.write_state(**booting())
    with tree.locked(), FakeDaemon(tree):
        os.chmod(tree / "run/rcu-bootd/notify", 0o600)
        assert "Cannot send to rcu-bootd: Permission denied" in bootctl(*request_, code=1, user=NOBODY).err
