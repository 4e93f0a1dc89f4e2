# SPDX-License-Identifier: LGPL-2.1-or-later
"""rcu-bootctl beside a real daemon: in every phase, for every user, and when the daemon is gone."""

import json
import re

from guest.scenario import UNIT, assert_ended, reached, use_policy, wait_booting, wait_ended

READERS = ["status", "status --json", "knobs", "knobs --json", "policy list", "policy list --json", "policy show",
           "policy show --json", "policy check", "policy explain", "policy explain --json", "--help", "--version"]  # fmt: skip


def waiting(container, tree, *end_when, **options):
    """A guest that has started up and waits for what the test announces."""
    use_policy(tree, *(end_when or ("home-screen",)), boot=["AllowUsers=alice"])
    guest = container(**options)
    guest.wait_booted()
    wait_booting(guest)
    return guest


def start_in_background(guest, command, name, user="root"):
    """Runs it in the guest; its output goes to /rcu-test/NAME, its exit code to /rcu-test/NAME.rc."""
    guest.run(f"touch /rcu-test/{name} /rcu-test/{name}.rc; chmod 666 /rcu-test/{name} /rcu-test/{name}.rc")
    guest.run(f"({command} >/rcu-test/{name} 2>&1; echo $? >/rcu-test/{name}.rc) >/dev/null 2>&1 &", user=user)
    return lambda: (guest.shared / f"{name}.rc").read_text(encoding="ascii").strip()


# --- reading ---

def test_readers_work_for_all_in_every_phase(container, tree):
    """Daemon alive and gone, root and ordinary user: the same text but for the times."""

    def read(command, user):
        result = guest.run(f"rcu-bootctl {command}", user=user, check=False)
        return result.returncode, re.sub(r"now [\d.]+ s|(?<=\"now_usec\": )\d+", "0", result.stdout), result.stderr

    guest = waiting(container, tree)
    for phase, code in (("booting", 3), ("ended", 0)):
        assert guest.status()["phase"] == phase
        for command in READERS:
            answers = {user: read(command, user) for user in ("root", "alice", "mallory")}
            assert answers["root"] == answers["alice"] == answers["mallory"], command
            assert answers["root"][0] == (code if command.startswith("status") else 0), command
            if command.endswith("--json"):
                json.loads(answers["root"][1])
            assert "\x1b" not in answers["root"][1], "colours are for terminals"
        guest.ctl("milestone", "home-screen")
        wait_ended(guest)


def test_status_before_anything(container):
    """No daemon has run."""
    guest = container(enable=())
    guest.wait_booted()
    for user in (None, "mallory"):
        result = guest.ctl("status", check=False, user=user)
        assert result.returncode == 1 and f"systemctl enable --now {UNIT}" in result.stdout
    assert (guest.status()["phase"], guest.status()["policy"]) == (None, None)


def test_status_of_a_dead_daemon(container, tree):
    tree.dropin(UNIT, "50-slow", "[Service]\nRestartSec=1h\n")
    guest = waiting(container, tree)
    guest.run("kill -KILL $(pidof rcu-bootd)")
    guest.wait_for(lambda: guest.status()["daemon"]["running"] is False, "it to be noticed")
    result = guest.ctl("status", check=False)
    assert result.returncode == 1 and f"systemctl restart {UNIT}" in result.stdout
    for verb in ("end", "extend 1min", "milestone home-screen"):
        result = guest.run(f"rcu-bootctl {verb}", check=False)
        assert result.returncode == 1 and result.stderr, verb
    guest.run(f"systemctl restart {UNIT}")
    guest.ctl("milestone", "home-screen")
    assert_ended(guest, "milestones")


def test_status_in_colours_on_a_terminal(container):
    guest = container()
    guest.wait_booted()
    assert_ended(guest, "milestones")
    script = "script -qec '{}rcu-bootctl status --no-pager' /dev/null"
    assert "\x1b[" in guest.output("TERM=xterm " + script.format(""))
    for variable in ("NO_COLOR=1 ", "SYSTEMD_COLORS=0 ", "TERM=dumb "):
        assert "\x1b[" not in guest.output("TERM=xterm " + script.format(variable)).replace("\x1b[?", "")


# --- wait ---

def test_waiters(container, tree):
    """Any number, any user, before and after the end; each is told by exit code."""
    guest = waiting(container, tree)
    users = ("root", "alice", "mallory")
    codes = [start_in_background(guest, "rcu-bootctl wait", f"waiter-{user}", user) for user in users]
    patient = start_in_background(guest, "rcu-bootctl wait --timeout=1h", "patient")
    assert guest.ctl("wait", "--timeout=0", check=False).returncode == 3
    assert guest.ctl("wait", "--timeout=100ms", check=False).returncode == 3
    assert [code() for code in codes] == ["", "", ""]
    guest.ctl("milestone", "home-screen")
    for code in (*codes, patient):
        guest.wait_for(lambda code=code: code() == "0", "a waiter to be told")
    assert guest.output("cat /rcu-test/waiter-root /rcu-test/waiter-alice /rcu-test/waiter-mallory") == ""
    assert guest.ctl("wait", "--timeout=0").returncode == 0
    assert_ended(guest, "milestones")


def test_waits_beyond_a_death(container, tree):
    guest = waiting(container, tree)
    code = start_in_background(guest, "rcu-bootctl wait", "waiter")
    guest.run("kill -KILL $(pidof rcu-bootd)")
    wait_booting(guest, 2)
    assert code() == ""
    guest.ctl("milestone", "home-screen")
    guest.wait_for(lambda: code() == "0", "the waiter to be told")


# --- changing ---

def test_end_by_hand(container, tree):
    tree.hold("here", before="basic.target")
    guest = container()
    guest.wait_held("here")
    wait_booting(guest)
    guest.ctl("end", "--reason=measuring starts now")
    status = assert_ended(guest, "manual")
    assert status["reason_text"] == "measuring starts now" and status["missing"] == ["default.target"]
    assert "measuring starts now" in guest.output("rcu-bootctl status")
    # It had ended before: that is fine, too, and does not change why.
    assert guest.ctl("end", "--reason=again").returncode == 0
    assert guest.status()["reason_text"] == "measuring starts now"
    guest.release("here")
    guest.wait_booted()
    assert assert_ended(guest, "manual")["since_usec"] == status["since_usec"]


def test_after_the_end(container):
    """Nothing can be changed any more; what is moot is no failure, what was asked for in vain is."""
    guest = container()
    guest.wait_booted()
    before = assert_ended(guest, "milestones")
    for command, code in (("end", 0), ("extend 10", 1), ("milestone home-screen", 0), ("wait", 0), ("status", 0)):
        result = guest.run(f"rcu-bootctl {command}", check=False)
        assert result.returncode == code, command
        assert code == 0 or "ended" in result.stderr
        assert {**guest.status(), "now_usec": 0} == {**before, "now_usec": 0}


def test_milestones_by_hand(container, tree):
    """Several at once, names nobody waits for, and a unit's name, too."""
    guest = waiting(container, tree, "one two three never.target")
    guest.ctl("milestone", "one", "nobody-waits-for-this", "three")
    assert reached(guest.status()) == {"one": "inbox", "three": "inbox"}
    # Of units AllowUsers= does not let anybody speak.
    result = guest.ctl("milestone", "never.target", user="alice", check=False)
    assert result.returncode == 1 and "never.target" in guest.status()["missing"]
    guest.ctl("milestone", "never.target")
    result = guest.ctl("milestone", "not a name", check=False)
    assert result.returncode == 2
    guest.ctl("milestone", "two")
    assert_ended(guest, "milestones")


def test_check_says_which_sockets_are_needed(container, tree):
    """Without D-Bus an awaited unit needs a milestone socket; with the socket enabled all is well."""
    use_policy(tree, "multi-user.target")
    guest = container(dbus=False)
    guest.wait_until("systemctl is-active rcu-boot-end.service")
    check = ["policy", "check", "/etc/rcu-bootd/policy.d/01-test.policy"]
    result = guest.ctl(*check, check=False)
    assert "systemctl enable rcu-boot-milestone@multi-user.target.socket" in result.stdout + result.stderr
    guest.run("systemctl enable --now rcu-boot-milestone@multi-user.target.socket")
    result = guest.ctl(*check)
    assert "rcu-boot-milestone@" not in result.stdout + result.stderr
    guest.wait_booted()
    assert_ended(guest, "milestones")
