# SPDX-License-Identifier: LGPL-2.1-or-later
"""rcu-bootctl status and knobs, on state files written by hand, one for each thing that can be the case."""

import os
import re
import time

import pytest

from conftest import KNOB_PATHS, KNOB_STATE, NOBODY, PATIENCE, now_usec, state_text
from status_helpers import booting, both, notes

STATUS_KEYS = {
    "now_usec", "phase", "since_usec", "reason", "reason_sentence", "reason_text", "daemon", "policy", "not_before_usec",
    "deadline_usec", "deadline_extended", "end_when", "milestones", "missing", "knobs", "kernel", "mode", "mode_at_end",
    "mode_sentence", "drift", "notes", "exit_code",
}
KNOB_KEYS = {"name", "path", "present", "before", "during", "after", "now", "now_errno", "drift"}


# --- the phases ---

def test_ended(bootctl, tree):
    tree.write_state(reached=[(11234567, "bus", "a.target"), (12345000, "inbox", "home-screen")])
    text, data = both(bootctl, 0)

    assert len(text.splitlines()) <= 24
    assert "RCU's boot has ended, at 12.345 s" in text
    assert "Reason: milestones: all that the policy waits for was reached" in text
    assert "Policy: 80-server.policy (/usr/lib/rcu-bootd/policy.d/80-server.policy)" in text
    assert "its [Match] holds" in text
    assert "Deadline: 120.000 s\n" in text
    assert re.search(r"reached +a\.target +at 11\.234 s +system bus", text)
    assert re.search(r"reached +home-screen +at 12\.345 s +inbox", text)
    assert "Daemon: done, and gone" in text
    assert "RCU now: default: each caller gets the kind of grace period that it asks for" in text
    assert re.search(r"KNOB +BEFORE +DURING +AFTER +NOW", text)
    assert re.search(r"rcu_expedited +0 +1 +0 +0\n", text)
    assert re.search(r"rcu_boot_end_delay +- +- +- +not in this kernel\n", text)
    assert "Problem" not in text and "Note" not in text

    assert set(data) == STATUS_KEYS
    assert data["phase"] == "ended" and data["since_usec"] == 12345678
    assert data["reason"] == "milestones" and data["reason_text"] is None
    assert data["reason_sentence"] == "all that the policy waits for was reached"
    assert data["policy"] == {"name": "80-server.policy", "file": "/usr/lib/rcu-bootd/policy.d/80-server.policy",
                              "why": "its [Match] holds", "allow_users": []}
    assert data["daemon"] == {"running": False, "pid": None, "started_usec": 1234567, "starts": 1}
    assert data["not_before_usec"] == 0 and data["deadline_usec"] == 120000000 and data["deadline_extended"] is False
    assert data["end_when"] == [["a.target", "home-screen"]] and data["missing"] == []
    assert data["milestones"] == [
        {"name": "a.target", "reached": True, "reached_usec": 11234567, "source": "bus"},
        {"name": "home-screen", "reached": True, "reached_usec": 12345000, "source": "inbox"}]
    assert data["mode"] == data["mode_at_end"] == "default"
    assert data["drift"] is False and data["notes"] == []
    assert abs(data["now_usec"] - now_usec()) < PATIENCE * 1000000

    assert [knob["name"] for knob in data["knobs"]] == list(KNOB_PATHS)
    assert all(set(knob) == KNOB_KEYS for knob in data["knobs"])
    assert data["knobs"][0] == {
        "name": "rcu_expedited", "path": "/sys/kernel/rcu_expedited", "present": True, "before": 0,
        "during": {"setting": "1", "written": 1, "read_back": 1, "errno": 0},
        "after": {"setting": "0", "written": 0, "read_back": 0, "errno": 0},
        "now": 0, "now_errno": 0, "drift": False}
    assert data["knobs"][3] == {
        "name": "rcu_boot_end_delay", "path": None, "present": False, "before": None,
        "during": {"setting": None, "written": None, "read_back": None, "errno": None},
        "after": {"setting": None, "written": None, "read_back": None, "errno": None},
        "now": None, "now_errno": 2, "drift": False}


@pytest.mark.parametrize("reason, sentence", [
    ("manual", "it was asked for"),
    ("stopped", "the daemon was told to stop"),
    ("late-start", "the machine had booted before the daemon started"),
    ("daemon-died", "the daemon died"),
    ("state-invalid", "could not be read"),
])
def test_reasons(bootctl, tree, reason, sentence):
    tree.write_state(reason=reason, reason_text="we said so")
    text, data = both(bootctl, 0)
    assert f"Reason: {reason}: " in text and sentence in text and '"we said so"' in text
    assert (data["reason"], data["reason_text"]) == (reason, "we said so") and sentence in data["reason_sentence"]


def test_deadline_names_what_was_missing(bootctl, tree):
    """case 10: success and timeout do not look the same."""
    tree.write_state(reason="deadline", since_usec=120000100, reached=[(5000000, "directory", "a.target")])
    text, data = both(bootctl, 0)
    assert "Reason: deadline: the deadline passed" in text
    assert "not reached by then: home-screen." in text
    assert re.search(r"missing +home-screen\n", text)
    assert notes(data)["deadline"]["level"] == "warning"
    assert data["missing"] == ["home-screen"]
    assert data["milestones"][1] == {"name": "home-screen", "reached": False, "reached_usec": None, "source": None}


def test_booting(bootctl, tree):
    tree.write_state(**booting(reached=[(5000000, "pid1", "a.target")], extended=1, not_before_usec=2500000))
    tree.add_knob("rcu_expedited", 1)
    with tree.locked():
        text, data = both(bootctl, 3)
    assert "RCU's boot goes on: booting since 12.345 s" in text
    assert "Daemon: running" in text and "Reason:" not in text
    assert "Deadline: 3600.000 s (extended)" in text and "Not before: 2.500 s" in text
    assert "message from PID 1" in text
    assert "RCU now: expedited" in text
    assert data["phase"] == "booting" and data["reason"] is None and data["mode_at_end"] is None
    assert data["mode"] == "expedited" and data["deadline_extended"] is True and data["not_before_usec"] == 2500000
    assert data["daemon"]["running"] is True
    assert data["notes"] == []
    assert data["knobs"][0]["after"] == {"setting": "0", "written": None, "read_back": None, "errno": None}


@pytest.mark.parametrize("phase, words", [("probing", "looking, since 12.345 s"), ("ending", "is ending, since 12.345 s")])
def test_phases_in_between(bootctl, tree, phase, words):
    tree.write_state(**booting(phase=phase, reason="manual" if phase == "ending" else "none"))
    with tree.locked():
        text, data = both(bootctl, 3)
    assert words in text
    assert data["phase"] == phase and data["reason"] == ("manual" if phase == "ending" else None)


def test_alternatives(bootctl, tree):
    """Of those not reached, only the ones of the alternative closest to holding are missing."""
    tree.write_state(**booting(end_when=["a.target home-screen", "b.target c.target d.target", "a.target e.target f.target"],
                               reached=[(5000000, "bus", "a.target")]))
    with tree.locked():
        text, data = both(bootctl, 3)
    assert ("Ends when: a.target and home-screen, or b.target and c.target and d.target, "
            "or a.target and e.target and f.target\n") in text
    assert re.search(r"missing +home-screen", text) and re.search(r"not reached +b\.target", text)
    assert data["missing"] == ["home-screen"]
    assert data["end_when"][1] == ["b.target", "c.target", "d.target"]


# --- no state, or none to be read ---

def test_never_started(bootctl):
    text, data = both(bootctl, 1)
    assert "nothing is known of it" in text and "Daemon: not running" in text
    assert "systemctl enable --now rcu-boot-end.service" in text
    assert "rcu_expedited" in text and "RCU now: default" in text
    assert set(data) == STATUS_KEYS
    assert data["phase"] is None and data["policy"] is None and data["since_usec"] is None and data["milestones"] == []
    assert notes(data)["not-started"]["level"] == "problem"


def test_starting(bootctl, tree):
    with tree.locked():
        text, data = both(bootctl, 3)
    assert "rcu-bootd is just starting" in text
    assert notes(data)["starting"]["level"] == "warning" and data["daemon"]["running"] is True


@pytest.mark.parametrize("text", [
    b"",
    b"\0\0\0\0",
    b"PHASE=ended\n",
    state_text(complete=False),
    state_text(phase="booted"),
    state_text(version=2),
    state_text().replace("DEADLINE_USEC=120000000", "DEADLINE_USEC=soon"),
    state_text() + "PHASE=booting\n",
    "x" * 100000,
])
def test_damaged_state(bootctl, tree, text):
    tree.write_state(text)
    out, data = both(bootctl, 1)
    assert "cannot be understood" in out and "systemctl restart rcu-boot-end.service" in out
    assert notes(data)["state-invalid"]["level"] == "problem"
    assert data["phase"] is None


def test_state_is_a_directory(bootctl, tree):
    (tree / "run/rcu-bootd/state").mkdir(parents=True)
    _text, data = both(bootctl, 1)
    assert "state-invalid" in notes(data)


def test_unreadable_state(bootctl, tree):
    tree.write_state()
    (tree / "run/rcu-bootd/state").chmod(0)
    text, data = both(bootctl, 1, user=NOBODY)
    assert "Permission denied" in text and "run/rcu-bootd/state" in text
    assert notes(data)["state-unreadable"]["level"] == "problem"


def test_any_user(bootctl, tree):
    tree.write_state(**booting())
    with tree.locked():
        (tree / "run/rcu-bootd/lock").chmod(0o644)
        text, data = both(bootctl, 3, user=NOBODY)
    assert "Daemon: running" in text and data["daemon"]["running"] is True


# --- what is wrong ---

def test_daemon_that_cannot_be_seen(bootctl, tree):
    tree.write_state(**booting())
    with tree.locked():
        (tree / "run/rcu-bootd/lock").chmod(0o600)
        text, data = both(bootctl, 3, user=NOBODY)
    assert "Daemon: unknown" in text and "Cannot tell whether rcu-bootd is running: Permission denied" in text
    assert data["daemon"]["running"] is None and notes(data)["daemon-unknown"]["level"] == "warning"



def test_daemon_died(bootctl, tree):
    """case 12: a daemon that died is said loudly."""
    tree.write_state(**booting())
    tree.add_knob("rcu_expedited", 1)
    text, data = both(bootctl, 1)
    assert "Daemon: gone before boot has ended" in text
    assert "Problem: rcu-bootd is gone" in text and "systemctl restart rcu-boot-end.service" in text
    assert notes(data)["daemon-died"]["level"] == "problem"


def test_daemon_stuck(bootctl, tree):
    tree.write_state(**booting(deadline_usec=1000000))
    with tree.locked():
        text, data = both(bootctl, 1)
    assert "although the deadline passed" in text
    assert notes(data)["daemon-stuck"]["level"] == "problem"


def test_several_starts(bootctl, tree):
    tree.write_state(starts=3)
    text, data = both(bootctl, 0)
    assert "started 3 times" in text and data["daemon"]["starts"] == 3


def test_drift(bootctl, tree):
    """case 9: something has written the knob since boot ended."""
    tree.write_state()
    tree.add_knob("rcu_expedited", 1)
    text, data = both(bootctl, 1)
    assert re.search(r"rcu_expedited +0 +1 +0 +1 \(drift\)", text)
    assert "Problem: rcu_expedited is 1 now, but was set to 0 when boot ended" in text
    assert "echo 0 > /sys/kernel/rcu_expedited" in text
    assert data["drift"] is True and data["knobs"][0]["drift"] is True and data["knobs"][1]["drift"] is False
    assert notes(data)["drift"]["level"] == "problem" and notes(data)["drift"]["knob"] == "rcu_expedited"
    assert "still-expedited" not in notes(data)


def test_drift_of_restored(bootctl, tree):
    """case 9, where the policy says restore: the number that was written counts."""
    tree.add_knob("rcu_normal", 0)
    tree.write_state(knobs={"rcu_normal": "present:1 found:1 default:0 during:0 during_asked:0 during_errno:0 during_read:0 "
                                          "after:restore after_asked:1 after_errno:0 after_read:1"})
    text, data = both(bootctl, 1)
    assert re.search(r"rcu_normal +1 +0 +restore: 1 +0 \(drift\)", text)
    assert notes(data)["drift"]["knob"] == "rcu_normal"


@pytest.mark.parametrize("name, state, now", [
    ("rcu_expedited", "present:1 found:0 default:0 after:keep", 1),                               # kept: nobody's business
    ("rcu_boot_end_delay", "present:1 found:15000 default:0 during:deadline during_asked:120000 during_errno:0 "
                           "during_read:120000 "
                           "after:0 after_asked:0 after_errno:0 after_read:0", 15000),            # reads back what it likes
    ("user_booted", "present:1 default:0 after:1 after_asked:1 after_errno:0 after_read:1", 0),
])
def test_no_drift(bootctl, tree, name, state, now):
    """cases 5 and 9: where a value that differs is no drift."""
    tree.add_knob(name, now)
    tree.write_state(knobs={name: state})
    _text, data = both(bootctl, 0)
    assert data["drift"] is False and "drift" not in notes(data)


def test_drift_is_none_before_the_end(bootctl, tree):
    tree.write_state(**booting())
    tree.add_knob("rcu_expedited", 0)
    with tree.locked():
        _text, data = both(bootctl, 3)
    assert data["drift"] is False


def test_still_expedited(bootctl, tree):
    """case 3: the policy only wrote the delay, and the kernel had been started with rcu_expedited=1."""
    tree.add_knob("rcu_expedited", 1)
    tree.write_state(mode="expedited", knobs={"rcu_expedited": "present:1 found:1 default:0"})
    text, data = both(bootctl, 0)
    assert "Note: RCU is still expedited although boot has ended" in text and "rcu_expedited=0 in [After]" in text
    assert "RCU now: expedited" in text
    assert notes(data)["still-expedited"]["level"] == "warning"
    assert (data["mode"], data["mode_at_end"]) == ("expedited", "expedited")


@pytest.mark.parametrize("after", ["after:keep", "after:1 after_asked:1 after_errno:0 after_read:1"])
def test_may_stay_expedited(bootctl, tree, after):
    """case 3: where the policy asks for it, there is nothing to warn of."""
    tree.add_knob("rcu_expedited", 1)
    tree.write_state(mode="expedited", knobs={"rcu_expedited": f"present:1 found:1 default:0 {after}"})
    _text, data = both(bootctl, 0)
    assert data["notes"] == []


def test_effective_mode(bootctl, tree):
    """case 2: both knobs are set; rcu_normal wins, and the reason is said."""
    tree.add_knob("rcu_expedited", 1)
    tree.add_knob("rcu_normal", 1)
    tree.write_state(knobs={"rcu_expedited": "present:1 found:1 default:0 after:keep"})
    text, data = both(bootctl, 0)
    assert "RCU now: normal: rcu_normal is set and beats rcu_expedited, which is set too" in text
    assert data["mode"] == "normal" and "beats" in data["mode_sentence"]
    assert bootctl("knobs", "--json").json()["mode"] == "normal"
    assert "beats rcu_expedited" in bootctl("knobs").out


@pytest.mark.parametrize("error, word", [(30, "EROFS"), (524, "errno 524")])
def test_after_failed(bootctl, tree, error, word):
    """cases 7 and 8: what the policy wanted after boot is not so."""
    tree.write_state(knobs={"rcu_expedited": f"present:1 found:0 default:0 after:0 after_asked:0 after_errno:{error}"})
    text, data = both(bootctl, 1)
    assert "rcu_expedited could not be set to 0 when boot ended: " in text and word in text
    note = notes(data)["after-failed"]
    assert note["level"] == "problem" and note["knob"] == "rcu_expedited"
    assert data["knobs"][0]["after"] == {"setting": "0", "written": 0, "read_back": None, "errno": error}


def test_during_failed(bootctl, tree):
    """case 6: a kernel that takes only 0 in the delay knob."""
    tree.add_knob("rcu_boot_end_delay", 0)
    tree.write_state(knobs={"rcu_boot_end_delay": "present:1 found:15000 default:0 during:deadline during_asked:120000 "
                                                  "during_errno:22 "
                                                  "after:0 after_asked:0 after_errno:0 after_read:0"})
    text, data = both(bootctl, 0)
    assert "rcu_boot_end_delay could not be set to 120000 for the time of boot: " in text
    assert re.search(r"rcu_boot_end_delay +15000 +deadline: 120000: EINVAL +0 +0\n", text)
    assert notes(data)["during-failed"]["level"] == "warning"


def test_kernel_that_had_ended_by_itself(bootctl, tree):
    """case 5: EBUSY for a delay of 0 says that the kernel's boot had ended before. That is what was wanted."""
    tree.add_knob("rcu_boot_end_delay", 15000)
    tree.write_state(knobs={"rcu_boot_end_delay": "present:1 found:15000 default:0 after:0 after_asked:0 after_errno:16"})
    _text, data = both(bootctl, 0)
    assert data["notes"] == []


def test_knob_that_cannot_be_read(bootctl, tree):
    tree.write_state()
    tree.write(KNOB_PATHS["rcu_expedited"], "Y\n")
    text, data = both(bootctl, 0)
    assert re.search(r"rcu_expedited +0 +1 +0 +EINVAL", text)
    assert notes(data)["unreadable"]["knob"] == "rcu_expedited"
    assert data["knobs"][0]["now"] is None and data["knobs"][0]["now_errno"] == 22


def test_no_knob_at_all(bootctl, tree):
    """case 4: TINY_RCU. There is nothing to do, and that is fine."""
    tree.remove_knob("rcu_expedited")
    tree.remove_knob("rcu_normal")
    tree.write_state(mode="unknown", knobs={name: "present:0 default:0" for name in KNOB_STATE})
    text, data = both(bootctl, 0)
    assert text.count("not in this kernel") == 5
    assert data["mode"] == "unknown" and data["notes"] == []


def test_text_of_others_drives_no_terminal(bootctl, tree):
    """What stands in the state file is printed, but escape sequences are not."""
    tree.write_state(**booting(policy="\x1b[2J.policy"))
    with tree.locked():
        result = bootctl("status", "--json", code=3)
        assert result.json()["policy"]["name"] == "\x1b[2J.policy"
        assert "\x1b" not in bootctl("status", code=3).out


def test_invalid_utf8_is_still_json(bootctl, tree):
    tree.write_state(state_text().replace("its [Match] holds", "Vendor=caf\xe9 holds").encode("latin-1"))
    assert bootctl("status", "--json").json()["policy"]["why"] == "Vendor=caf? holds"


# --- knobs ---

def test_knobs(bootctl, tree):
    tree.add_all_knobs()
    tree.add_knob("rcu_boot_end_delay", 15000)
    text = bootctl("knobs").out
    data = bootctl("knobs", "--json").json()

    assert set(data) == {"knobs", "mode", "mode_sentence"} and data["mode"] == "default"
    assert [knob["name"] for knob in data["knobs"]] == list(KNOB_PATHS)
    for knob in data["knobs"]:
        assert set(knob) == {"name", "path", "paths", "present", "during_range", "after_range", "unit", "now", "errno",
                             "meaning"}
        assert knob["path"] == "/" + KNOB_PATHS[knob["name"]] and knob["path"] in knob["paths"]
        assert re.search(rf"^{knob['name']} +{knob['now']} .* {knob['path']}$", text, re.M)
        assert re.search(rf"^{knob['name']} +{re.escape(knob['meaning'])}$", text, re.M)
    delay = data["knobs"][3]
    assert (delay["during_range"], delay["after_range"], delay["unit"]) == ([1, 120000], [0, 0], "ms")
    assert (delay["now"], delay["errno"]) == (15000, 0)
    assert "1..120000 ms, then 0" in text
    assert data["knobs"][4]["during_range"] is None and data["knobs"][4]["after_range"] == [1, 1]
    assert "RCU now: default" in text


def test_knobs_android(bootctl, tree):
    """case 4: the delay's other name."""
    path = "sys/module/rcupdate/parameters/android_rcu_boot_end_delay"
    tree.add_knob("rcu_boot_end_delay", 20000, path)
    knob = bootctl("knobs", "--json").json()["knobs"][3]
    assert (knob["path"], knob["now"]) == (f"/{path}", 20000)
    assert path in bootctl("knobs").out


def test_knobs_tiny(bootctl, tree):
    """case 4: no knob at all is success, and said."""
    tree.remove_knob("rcu_expedited")
    tree.remove_knob("rcu_normal")
    text = bootctl("knobs").out
    assert "none of these knobs" in text and "RCU now: unknown" in text
    assert all(knob["path"] is None and knob["errno"] == 2 for knob in bootctl("knobs", "--json").json()["knobs"])


@pytest.mark.parametrize("text, mode", [("2\n", "expedited"), ("-1\n", "expedited"), ("0", "default")])
def test_any_number_but_zero_is_on(bootctl, tree, text, mode):
    tree.write(KNOB_PATHS["rcu_expedited"], text)
    assert bootctl("knobs", "--json").json()["mode"] == mode


# --- with the real daemon ---

def test_real_daemon(bootctl, bootd, tree):
    """From the start to the end, with what it writes itself."""
    tree.policy(users="kiosk 1234")
    tree.add_knob("rcu_expedited", 0)
    bootd.boot()
    text, data = both(bootctl, 3)
    assert data["phase"] == "booting" and data["daemon"]["running"] is True and data["missing"] == ["ready"]
    assert data["policy"]["name"] == "50-test.policy" and data["policy"]["file"] == "/etc/rcu-bootd/policy.d/50-test.policy"
    assert data["policy"]["allow_users"] == ["kiosk", "1234"]
    assert data["mode"] == "expedited" and "RCU now: expedited" in text
    assert data["policy"]["why"] in text
    assert data["daemon"]["pid"] == bootd.process.pid and f"Daemon: running (PID {bootd.process.pid})" in text

    tree.write("run/rcu-bootd/milestones/ready", "")
    bootd.wait()
    text, data = both(bootctl, 0)
    assert data["phase"] == "ended" and data["reason"] == "milestones" and data["mode"] == data["mode_at_end"] == "default"
    assert data["milestones"][0]["source"] == "directory"
    assert data["milestones"][0]["reached_usec"] <= data["since_usec"] <= data["now_usec"]
    assert "milestone directory" in text and "Daemon: done, and gone" in text


def test_real_daemon_killed(bootctl, bootd, tree):
    """case 12: between its death and its restart the daemon is missed; afterwards all is well."""
    tree.policy()
    bootd.boot()
    bootd.kill()
    _text, data = both(bootctl, 1)
    assert "daemon-died" in notes(data) and data["daemon"]["running"] is False
    bootd.start()
    deadline = time.monotonic() + PATIENCE
    while bootctl("status", code=None).code != 3:
        assert time.monotonic() < deadline, bootd.log
    assert bootctl("status", "--json", code=3).json()["daemon"]["running"] is True
    bootd.stop()
    assert both(bootctl, 0)[1]["reason"] == "stopped"


def test_needs_no_knob_to_be_writable(bootctl, tree):
    """Nothing is written, whatever is looked at."""
    tree.write_state()
    before = {path: os.stat(tree / path).st_mtime_ns for path in KNOB_PATHS.values() if (tree / path).exists()}
    for verb in (["status"], ["knobs"], ["policy", "list"], ["policy", "explain"], ["policy", "show"]):
        bootctl(*verb)
    assert before == {path: os.stat(tree / path).st_mtime_ns for path in before}
