# SPDX-License-Identifier: LGPL-2.1-or-later
"""rcu-bootctl status on kernels that have a word of their own on the end of RCU's boot."""

import os
import re

import pytest

from conftest import NOBODY
from status_helpers import booting, both, notes

ENDED = "sys/kernel/rcu_boot_ended"
PROMISE = "sys/module/kernel/parameters/user_booted_reported"
PROMISE_OF_MODULE = "sys/module/rcu_boot_end/parameters/user_booted_reported"
DELAY_OF_MODULE = "sys/module/rcu_boot_end/parameters/rcu_boot_end_delay"

# What the state file says of the two knobs that tell the kernel.
REPORT = "present:1 found:0 default:0 after:1"
REPORTED = f"{REPORT} after_asked:1 after_errno:0 after_read:1"
REPORT_FAILED = f"{REPORT} after_asked:1 after_errno:30"
NO_REPORT = "present:1 found:0 default:0"
NOT_THERE = "present:0 default:0"
DELAY = "present:1 found:15000 default:0 during:deadline during_asked:120000 during_errno:0 during_read:120000 after:0"
DELAY_BUSY = f"{DELAY} after_asked:0 after_errno:16"
NO_DELAY = "present:1 found:15000 default:0"


def kernel(tree, by=None, ms=0, promise=None):
    """Its nodes: by what it ended and when; by None: not yet."""
    tree.write(ENDED, f"{int(by is not None)}\n")
    tree.write(f"{ENDED}_by", f"{by or 'none'}\n")
    tree.write(f"{ENDED}_ms", f"{ms}\n")
    tree.add_knob("user_booted", int(by == "user_booted"))
    tree.add_knob("rcu_boot_end_delay", 0 if by else 120000)
    if promise:
        tree.write(PROMISE, f"{promise}\n")


def line(text):
    """What is said of the kernel, None if nothing is."""
    found = [one.partition("Kernel: ")[2] for one in text.splitlines() if one.startswith("    Kernel: ")]
    assert len(found) <= 1
    return found[0] if found else None


def ended(report=REPORTED, delay=DELAY_BUSY, **changes):
    """A boot that ended at 12.345678 s, with what became of telling the kernel."""
    expedited = ("present:1 found:0 default:0 during:1 during_asked:1 during_errno:0 during_read:1 after:0 after_asked:0 "
                 "after_errno:0 after_read:0")
    return {"knobs": {"rcu_expedited": expedited, "user_booted": report, "rcu_boot_end_delay": delay}, **changes}


def still_booting(report=REPORT, delay=DELAY):
    changes = booting()
    changes["knobs"].update({"user_booted": report, "rcu_boot_end_delay": delay})
    return changes


# --- both go on, or both have ended ---

def test_stock_kernel(bootctl, tree):
    tree.write_state()
    text, data = both(bootctl, 0)
    assert line(text) is None and data["kernel"] is None


def test_agrees(bootctl, tree):
    kernel(tree, "user_booted", 12346)
    tree.write_state(**ended())
    text, data = both(bootctl, 0)
    assert line(text) == "RCU's boot ended at 12.346 s, by user_booted: agrees"
    assert data["kernel"] == {"ended": True, "ended_by": "user_booted", "ended_usec": 12346000, "until_usec": None,
                              "promised": None, "verdict": "agrees"}
    assert data["notes"] == [] and "Note" not in text
    # That there was nothing left for the delay to end is no failure.
    assert re.search(r"rcu_boot_end_delay +15000 +deadline: 120000 +0: had ended +0\n", text)
    assert data["knobs"][3]["after"]["errno"] == 16


@pytest.mark.parametrize("report, delay, by, ms", [
    (REPORTED, DELAY_BUSY, "user_booted", 12345),  # the same millisecond: both are rounded down
    (REPORTED, NO_DELAY, "user_booted", 12999),    # a machine that crawls
    (NO_REPORT, f"{DELAY} after_asked:0 after_errno:0 after_read:0", "delay", 12346),
    (NO_REPORT, DELAY_BUSY, "delay", 12345),       # its timer ran out just before we wrote
])
def test_agrees_whichever_of_the_two_told_it(bootctl, tree, report, delay, by, ms):
    kernel(tree, by, ms)
    tree.write_state(**ended(report, delay))
    text, data = both(bootctl, 0)
    assert line(text).endswith(": agrees") and data["kernel"]["verdict"] == "agrees"
    assert data["notes"] == []


@pytest.mark.parametrize("since, ms", [(120000400, 120001), (120003000, 120000)])
def test_agrees_at_our_deadline(bootctl, tree, since, ms):
    """The kernel's timer was set to it, so it means nothing which of the two was quicker."""
    kernel(tree, "delay", ms)
    tree.write_state(**ended(reason="deadline", since_usec=since))
    text, data = both(bootctl, 0)
    assert line(text).endswith(": agrees")
    assert set(notes(data)) == {"deadline"}


@pytest.mark.parametrize("path", [None, DELAY_OF_MODULE])
def test_both_go_on(bootctl, tree, path):
    kernel(tree, promise="N")
    if path:
        tree.remove_knob("rcu_boot_end_delay")
    tree.add_knob("rcu_boot_end_delay", 90500, path)
    tree.write_state(**still_booting())
    with tree.locked():
        text, data = both(bootctl, 3)
    assert line(text) == "RCU's boot goes on, until 90.500 s at the latest"
    assert data["kernel"] == {"ended": False, "ended_by": None, "ended_usec": None, "until_usec": 90500000,
                              "promised": False, "verdict": "agrees"}
    assert data["notes"] == []
    assert data["knobs"][3]["path"] == "/" + (path or "sys/module/rcupdate/parameters/rcu_boot_end_delay")


@pytest.mark.parametrize("delay", [None, "0\n", "soon\n", "9223372036854775807\n"])
def test_goes_on_for_nobody_knows_how_long(bootctl, tree, delay):
    kernel(tree)
    tree.remove_knob("rcu_boot_end_delay")
    if delay:
        tree.write("sys/module/rcupdate/parameters/rcu_boot_end_delay", delay)
    tree.write_state(**still_booting())
    with tree.locked():
        text, data = both(bootctl, 3)
    assert line(text) == "RCU's boot goes on" and data["kernel"]["until_usec"] is None


def test_no_record_to_compare_with(bootctl, tree):
    kernel(tree, "delay", 15000, promise="N")
    text, data = both(bootctl, 1)
    assert line(text) == "RCU's boot ended at 15.000 s, by delay"
    assert data["kernel"]["verdict"] is None and set(notes(data)) == {"not-started"}


# --- we have ended, the kernel has not ---

@pytest.mark.parametrize("report, delay, words", [
    (NO_REPORT, NO_DELAY, ["neither user_booted=1 nor rcu_boot_end_delay=0 in [After]", "Add user_booted=1"]),
    (NO_REPORT, f"{NO_DELAY} after:keep", ["neither user_booted=1 nor rcu_boot_end_delay=0 in [After]"]),
    (REPORT_FAILED, NO_DELAY, ["rcu-bootd could not tell it"]),
    ("present:0 default:0 after:1", "present:0 default:0 after:0", ["was not there when rcu-bootd ended it", "initramfs"]),
    (REPORTED, DELAY_BUSY, ["it was told", "loaded anew"]),
])
def test_kernel_goes_on(bootctl, tree, report, delay, words):
    kernel(tree)
    tree.write_state(**ended(report, delay))
    text, data = both(bootctl, 1)
    assert line(text) == "RCU's boot goes on, until 120.000 s at the latest"
    assert data["kernel"]["verdict"] == "goes-on"
    note = notes(data)["kernel-goes-on"]
    assert note["level"] == "problem" and note["knob"] is None and f"Problem: {note['text']}\n" in text
    for word in [*words, "To end it now: echo 1 > /proc/sys/kernel/user_booted"]:
        assert word in note["text"]
    # Why the write failed is a note of its own.
    assert ("after-failed" in notes(data)) == (report == REPORT_FAILED)


@pytest.mark.parametrize("path, command", [(DELAY_OF_MODULE, f"echo 0 > /{DELAY_OF_MODULE}"), (None, None)])
def test_kernel_goes_on_without_user_booted(bootctl, tree, path, command):
    kernel(tree)
    tree.remove_knob("user_booted")
    tree.remove_knob("rcu_boot_end_delay")
    if path:
        tree.add_knob("rcu_boot_end_delay", 60000, path)
    tree.write_state(**ended(NOT_THERE, NOT_THERE))
    text = notes(both(bootctl, 1)[1])["kernel-goes-on"]["text"]
    assert text.endswith(f". To end it now: {command}" if command else "[After]. Add user_booted=1 there")


# --- the kernel was earlier ---

@pytest.mark.parametrize("by, words", [
    ("user_booted", "something else wrote 1 to /proc/sys/kernel/user_booted"),
    ("delay", "rcu_boot_end_delay ran out"),
    ("fallback", "the promised report had not come"),
    ("unload", "its module rcu_boot_end was unloaded"),
    ("watchdog", "the cause is one that this rcu-bootctl does not know"),
])
def test_kernel_was_earlier(bootctl, tree, by, words):
    kernel(tree, by, 4269)
    tree.write_state(**ended())
    text, data = both(bootctl, 0)
    assert line(text) == f"RCU's boot ended at 4.269 s, by {by}: earlier"
    assert (data["kernel"]["ended_by"], data["kernel"]["verdict"]) == (by, "earlier")
    note = notes(data)["kernel-earlier"]
    assert note["level"] == "warning" and f"Note: {note['text']}\n" in text
    assert note["text"].startswith(f"The kernel ended RCU's boot 8.076 s before rcu-bootd did: {words}")
    assert "Until rcu-bootd's end rcu_expedited kept grace periods expedited, but callbacks may have been lazy" in note["text"]


def test_kernel_was_earlier_by_a_millisecond(bootctl, tree):
    """No window: what was before our decision was not us."""
    kernel(tree, "user_booted", 12344)
    tree.write_state(**ended())
    assert "0.001 s before" in notes(both(bootctl, 0)[1])["kernel-earlier"]["text"]


def test_kernel_was_earlier_and_we_go_on(bootctl, tree):
    kernel(tree, "delay", 15000)
    tree.write_state(**still_booting(delay=NO_DELAY))
    with tree.locked():
        text, data = both(bootctl, 3)
    assert line(text) == "RCU's boot ended at 15.000 s, by delay: earlier"
    note = notes(data)["kernel-earlier"]
    assert note["level"] == "warning" and " ago, but rcu-bootd has not yet" in note["text"]
    assert "rcu_expedited keeps grace periods expedited, but callbacks may be lazy again" in note["text"]


@pytest.mark.parametrize("changes, words", [
    ({"delay": NO_DELAY}, "rcu_boot_end_delay=deadline in [During]"),
    ({"delay": f"{NO_DELAY} during:5000 during_asked:5000 during_errno:0 after:0"}, "rcu_boot_end_delay=deadline in [During]"),
    ({"delay": NO_DELAY, "deadline_usec": 600000000}, "rcu_boot_end_delay=120000 in [During]"),
    ({"delay": f"{NO_DELAY} during:120000 during_asked:120000 during_errno:0", "deadline_usec": 600000000},
     "It waits for 120 s at most"),
    ({"started_usec": 4270000}, "before rcu-bootd started: rcupdate.rcu_boot_end_delay= on the kernel command line"),
    ({}, None),  # something else must have shortened it
])
def test_how_to_have_the_kernel_wait(bootctl, tree, changes, words):
    kernel(tree, "delay", 4269)
    tree.write_state(**ended(**changes))
    text = notes(both(bootctl, 0)[1])["kernel-earlier"]["text"]
    assert words in text if words else text.endswith("lazy")


def test_how_to_have_the_module_wait(bootctl, tree):
    kernel(tree, "delay", 4269)
    tree.remove_knob("rcu_boot_end_delay")
    tree.add_knob("rcu_boot_end_delay", 0, DELAY_OF_MODULE)
    tree.write_state(**ended(started_usec=4270000))
    assert ": rcu_boot_end.rcu_boot_end_delay= on the" in notes(both(bootctl, 0)[1])["kernel-earlier"]["text"]


def test_late_start(bootctl, tree):
    """Nothing was expedited by us, so nothing stayed so."""
    kernel(tree, "delay", 120000)
    tree.write_state(**{**ended(reason="late-start", since_usec=3000000000, started_usec=2999999999),
                        "knobs": {"rcu_expedited": "present:1 found:0 default:0 during:1 after:0 after_asked:0 after_errno:0",
                                  "user_booted": REPORTED, "rcu_boot_end_delay": DELAY_BUSY}})
    text = notes(both(bootctl, 0)[1])["kernel-earlier"]["text"]
    assert "2880.000 s before" in text and "From then on RCU was as it is after boot" in text


# --- the kernel was later ---

@pytest.mark.parametrize("by, report, delay, words", [
    ("delay", NO_REPORT, NO_DELAY, "neither user_booted=1 nor rcu_boot_end_delay=0 in [After]"),
    ("user_booted", REPORT_FAILED, NO_DELAY, "rcu-bootd could not tell it"),
    ("delay", "present:0 default:0 after:1", "present:0 default:0 after:0", "Load the module rcu_boot_end before that"),
    ("delay", REPORTED, DELAY_BUSY, "loaded anew since?"),
])
def test_kernel_was_later(bootctl, tree, by, report, delay, words):
    kernel(tree, by, 20000)
    tree.write_state(**ended(report, delay))
    text, data = both(bootctl, int(report == REPORT_FAILED))
    assert line(text) == f"RCU's boot ended at 20.000 s, by {by}: later"
    note = notes(data)["kernel-later"]
    assert note["level"] == "warning" and words in note["text"]
    assert note["text"].startswith(f"The kernel ended RCU's boot 7.654 s after rcu-bootd did, by {by}: ")


# --- what cannot be read ---

@pytest.mark.parametrize("node, content", [
    ("", "yes\n"), ("", ""), ("_by", "none\n"), ("_by", "\x1b[2J\n"), ("_by", None), ("_ms", "0\n"), ("_ms", "soon\n"),
    ("_ms", None),
])
def test_unreadable(bootctl, tree, node, content):
    kernel(tree, "user_booted", 12346)
    os.unlink(tree / (ENDED + node))
    if content is not None:
        tree.write(ENDED + node, content)
    tree.write_state(**ended())
    text, data = both(bootctl, 0)
    assert line(text) == "cannot be read" and "\x1b" not in text
    assert data["kernel"] == {"ended": None, "ended_by": None, "ended_usec": None, "until_usec": None, "promised": None,
                              "verdict": None}
    note = notes(data)["unreadable"]
    assert set(notes(data)) == {"unreadable"} and (note["level"], note["knob"]) == ("warning", None)
    assert note["text"] == f"/{ENDED}{node} cannot be read: " + (
        "No such file or directory (ENOENT)" if content is None else "what it says is not understood")


def test_not_for_everybody(bootctl, tree):
    kernel(tree, "user_booted", 12346)
    (tree / ENDED).chmod(0)
    tree.write_state(**ended())
    assert line(both(bootctl, 0, user=NOBODY)[0]) == "cannot be read"


def test_unreadable_promise(bootctl, tree):
    """The rest can be told all the same; and it is the module's node that is named."""
    kernel(tree, "user_booted", 12346)
    tree.write(PROMISE_OF_MODULE, "perhaps\n")
    tree.write_state(**ended())
    text, data = both(bootctl, 0)
    assert line(text).endswith(": agrees") and data["kernel"]["promised"] is None
    assert notes(data)["unreadable"]["text"].startswith(f"/{PROMISE_OF_MODULE} cannot be read")


# --- the promise ---

@pytest.mark.parametrize("path", [PROMISE, PROMISE_OF_MODULE])
@pytest.mark.parametrize("over", [False, True])
def test_unkept_promise(bootctl, tree, path, over):
    """Also by a kernel that has nothing else to say."""
    tree.write(path, "Y\n")
    tree.write_state(**(ended(NO_REPORT) if over else still_booting(NO_REPORT)))
    with tree.locked():
        text, data = both(bootctl, 0 if over else 3)
    assert line(text) is None
    assert data["kernel"] == {"ended": None, "ended_by": None, "ended_usec": None, "until_usec": None, "promised": True,
                              "verdict": None}
    note = notes(data)["unkept-promise"]
    assert set(notes(data)) == {"unkept-promise"} and (note["level"], note["knob"]) == ("warning", "user_booted")
    assert "user_booted_reported=1" in note["text"] and "80-server.policy" in note["text"]
    assert "Add user_booted=1 to [After], or take user_booted_reported off the kernel command line" in note["text"]


@pytest.mark.parametrize("promise, report", [("Y", REPORT), ("N", NO_REPORT), ("N", REPORT)])
def test_kept_promise(bootctl, tree, promise, report):
    kernel(tree, promise=promise)
    tree.write_state(**still_booting(report))
    with tree.locked():
        data = both(bootctl, 3)[1]
    assert data["notes"] == [] and data["kernel"]["promised"] is (promise == "Y")


@pytest.mark.parametrize("changes, code, words", [
    ({"delay": NO_DELAY}, 0, "rcu_boot_end_delay=deadline in [During]"),
    ({"deadline_usec": 600000000}, 0, "It waits for 120 s at most"),
    ({"report": REPORT_FAILED}, 1, "rcu-bootd could not make it"),
    ({"started_usec": 4270000}, 0, "rcupdate.rcu_boot_end_delay= on the kernel command line"),
])
def test_fallback(bootctl, tree, changes, code, words):
    kernel(tree, "fallback", 4269, promise="Y")
    tree.write_state(**ended(**changes))
    data = both(bootctl, code)[1]
    note = notes(data)["kernel-fallback"]
    assert (note["level"], note["knob"]) == ("warning", "user_booted")
    assert "that had not come by 4.269 s, when its fallback ended RCU's boot" in note["text"] and words in note["text"]
    # The remedy is said once.
    assert words not in notes(data)["kernel-earlier"]["text"] and "unkept-promise" not in notes(data)


def test_fallback_at_our_deadline(bootctl, tree):
    kernel(tree, "fallback", 120000, promise="Y")
    tree.write_state(**ended(reason="deadline", since_usec=120001000))
    data = both(bootctl, 0)[1]
    assert set(notes(data)) == {"deadline", "kernel-fallback"}
    assert "It was rcu-bootd's deadline, too" in notes(data)["kernel-fallback"]["text"]


def test_fallback_of_a_promise_that_the_policy_does_not_keep(bootctl, tree):
    kernel(tree, "fallback", 120000, promise="Y")
    tree.write_state(**ended(NO_REPORT, NO_DELAY))
    assert set(notes(both(bootctl, 0)[1])) == {"kernel-later", "unkept-promise"}


def test_fallback_without_us(bootctl, tree):
    kernel(tree, "fallback", 120000, promise="Y")
    data = both(bootctl, 1)[1]
    assert set(notes(data)) == {"not-started", "kernel-fallback"}
    assert "rcu-bootd makes it, but has not run" in notes(data)["kernel-fallback"]["text"]
