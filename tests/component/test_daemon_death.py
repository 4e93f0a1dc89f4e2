# SPDX-License-Identifier: LGPL-2.1-or-later
"""rcu-bootd dies, and what comes after it."""

import subprocess

import pytest

from conftest import BUILD, PATIENCE, environment, wait_for
from daemon_helpers import never_expedited, knob_record, policy, reach


def test_killed_and_restarted(tree, bootd):
    tree.policy(text=policy("one two"))
    bootd.boot()
    reach(tree, "one")
    wait_for(lambda: "REACHED_1" in tree.state(), "one to be seen")
    bootd.kill()
    tree.add_knob("rcu_expedited", 0)  # somebody else's doing: must not be undone by the next daemon
    bootd.start()
    wait_for(lambda: tree.state()["STARTS"] == "2", "the second daemon")
    (tree / "run/rcu-bootd/milestones/one").unlink()
    reach(tree, "two")
    bootd.wait()
    assert tree.state()["REASON"] == "milestones"
    assert tree.knob("rcu_expedited") == 0
    assert knob_record(tree, "rcu_expedited")["found"] == "0"


def test_case_12_killed_after_the_end(tree, bootd):
    tree.policy()
    bootd.boot()
    bootd.stop()
    before = tree.state()
    tree.add_knob("rcu_expedited", 7)  # nothing is written any more: neither stage
    bootd.run()
    assert tree.knob("rcu_expedited") == 7
    assert tree.state() == before


def test_restart_keeps_the_policy(tree, bootd):
    """The state file alone decides what a second daemon does, even if the policies have gone or changed."""
    tree.policy()
    bootd.boot()
    bootd.kill()
    tree.policy(text=policy("something-else", after="rcu_expedited=1"))
    bootd.start()
    wait_for(lambda: tree.state()["STARTS"] == "2", "the second daemon")
    reach(tree, "ready")
    bootd.wait()
    assert tree.state()["REASON"] == "milestones" and tree.knob("rcu_expedited") == 0


@pytest.mark.parametrize("text", ["", "PHASE=booting\n", "\0" * 100, "x" * 100000])
def test_damaged_state_ends_boot(tree, bootd, text):
    tree.policy()
    tree.add_knob("rcu_expedited", 1)
    tree.write_state(text=text)
    bootd.run()
    assert tree.state()["REASON"] == "state-invalid"
    assert tree.knob("rcu_expedited") == 0
    assert never_expedited(tree)


UNIT = "usr/lib/systemd/system/rcu-boot-end.service"


def died(tree, bootd, result="signal", unit="[Unit]\n"):
    """A daemon that died in the middle of boot, and the unit's ExecStopPost= after it."""
    tree.policy()
    if unit is not None:
        tree.write(UNIT, unit)
    bootd.boot()
    bootd.kill()
    bootd.run("--post-stop", env={"SERVICE_RESULT": result})
    return tree.state()


def test_post_stop_leaves_it_to_the_restart(tree, bootd):
    assert died(tree, bootd)["PHASE"] == "booting"
    assert tree.knob("rcu_expedited") == 1


@pytest.mark.parametrize("case", ["masked", "gone", "success", "by hand", "stop that took too long"])
def test_post_stop_ends_when_nothing_follows(tree, bootd, case):
    state = died(tree, bootd, unit={"masked": "", "gone": None}.get(case, "[Unit]\n"),
                 result={"success": "success", "by hand": None, "stop that took too long": "timeout"}.get(case, "watchdog"))
    assert state["PHASE"] == "ended" and state["REASON"] == "daemon-died"
    assert tree.knob("rcu_expedited") == 0


def test_post_stop_after_the_third_death(tree, bootd):
    tree.policy()
    tree.write(UNIT, "[Unit]\n")
    for start in range(1, 4):
        bootd.start()
        wait_for(lambda n=str(start): (tree.state() or {}).get("STARTS") == n, f"daemon {start}")
        bootd.kill()
        bootd.run("--post-stop", env={"SERVICE_RESULT": "signal"})
    assert tree.state()["REASON"] == "daemon-died"
    bootd.run()  # the fourth has nothing to do
    assert tree.knob("rcu_expedited") == 0


def test_post_stop_without_state(tree, bootd):
    tree.add_knob("rcu_expedited", 1)
    bootd.run("--post-stop", env={"SERVICE_RESULT": "signal"})
    assert tree.state()["REASON"] == "daemon-died"
    assert tree.knob("rcu_expedited") == 0


@pytest.mark.parametrize(
    "result, code, status, reason",
    [
        ("success", "killed", "TERM", "stopped"),  # systemctl stop
        ("protocol", "killed", "TERM", "stopped"),  # kill, before READY=1
        ("success", "killed", "INT", "stopped"),
        ("success", "killed", "HUP", "stopped"),
        ("success", "killed", "PIPE", "daemon-died"),
        ("success", "exited", "0", "daemon-died"),
        ("success", None, None, "daemon-died"),
        ("timeout", "killed", "TERM", "daemon-died"),  # it hung, and systemd put an end to it
        ("signal", "killed", "KILL", "daemon-died"),
        ("protocol", "exited", "0", "daemon-died"),
        (None, "killed", "TERM", "daemon-died"),
    ],
)
def test_post_stop_after_a_signal_that_came_too_early(tree, bootd, result, code, status, reason):
    """To be told to stop while it cannot hear yet is to be told to stop."""
    tree.add_knob("rcu_expedited", 1)
    bootd.run("--post-stop", env={"SERVICE_RESULT": result, "EXIT_CODE": code, "EXIT_STATUS": status})
    assert tree.state()["REASON"] == reason
    assert tree.state()["DEATHS"] == ("0" if reason == "stopped" else "1")
    assert tree.knob("rcu_expedited") == 0


def test_post_stop_after_the_end(tree, bootd):
    tree.policy()
    bootd.boot()
    bootd.stop()
    before = tree.state()
    bootd.run("--post-stop", env={"SERVICE_RESULT": "success"})
    assert tree.state() == before


def test_post_stop_while_a_daemon_lives(tree, bootd):
    tree.policy()
    bootd.boot()
    done = subprocess.run([BUILD / "rcu-bootd", f"--root={tree.path}", "--post-stop"], env=environment(), timeout=PATIENCE,
                          check=False)
    assert done.returncode == 0
    assert tree.phase() == "booting"


def test_second_daemon_is_refused(tree, bootd):
    tree.policy()
    first = bootd.boot()
    second = subprocess.run([BUILD / "rcu-bootd", f"--root={tree.path}", "--foreground-log"], env=environment(), timeout=PATIENCE,
                            check=False, stderr=subprocess.PIPE, text=True)
    assert second.returncode == 1
    assert f"Another rcu-bootd (PID {first.pid})" in second.stderr
    assert tree.phase() == "booting" and tree.state()["STARTS"] == "1"
