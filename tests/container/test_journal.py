# SPDX-License-Identifier: LGPL-2.1-or-later
"""The audit trail in a real journal: every kind of entry with its documented fields, the catalog, `rcu-bootctl log`."""

import json
import re

import pytest

from guest.scenario import MESSAGE_ID, UNIT, assert_ended, send, use_policy, wait_booting, wait_ended

KIND = {value: name for name, value in MESSAGE_ID.items()}

# What every entry has, and what those of a kind have beside it (rcu-bootd(8), JOURNAL).
ALWAYS = {"MESSAGE", "MESSAGE_ID", "PRIORITY", "SYSLOG_IDENTIFIER", "RCU_BOOT_BOOTTIME_USEC"}
STATE = {"RCU_BOOT_PHASE", "RCU_BOOT_POLICY", "RCU_BOOT_POLICY_FILE"}
WRITE = STATE | {"RCU_BOOT_KNOB", "RCU_BOOT_KNOB_PATH", "RCU_BOOT_KNOB_BEFORE", "RCU_BOOT_KNOB_ASKED"}
FIELDS = {
    "STARTED": ("6", STATE | {"RCU_BOOT_MISSING", "RCU_BOOT_DEADLINE_USEC"}),
    "MILESTONE": ("6", STATE | {"RCU_BOOT_MILESTONE", "RCU_BOOT_SOURCE"}),
    "KNOB_WRITTEN": ("6", WRITE | {"RCU_BOOT_KNOB_READ_BACK"}),
    "KNOB_FAILED": ("4", WRITE | {"ERRNO"}),
    "EXTENDED": ("5", STATE | {"RCU_BOOT_DEADLINE_USEC", "RCU_BOOT_MISSING"}),
    "ENDED": ("5", STATE | {"RCU_BOOT_REASON", "RCU_BOOT_MODE"}),
    "STILL_EXPEDITED": ("4", STATE | {"RCU_BOOT_MODE"}),
    "POLICY_REJECTED": ("3", {"RCU_BOOT_POLICY_FILE"}),
    "REFUSED": ("5", {"RCU_BOOT_SENDER_UID", "RCU_BOOT_SENDER_PID"}),
}
ALL_KNOBS = {"rcu_boot_end_delay": "15000", "user_booted": "0"}


def audit(guest):
    """The daemon's entries of this boot, oldest first."""
    guest.run("journalctl --sync")
    return [entry for entry in guest.journal(SYSLOG_IDENTIFIER="rcu-bootd") if "MESSAGE_ID" in entry]


def test_default_boot(container):
    """The whole story of an ordinary boot, in order."""
    guest = container(knobs=ALL_KNOBS)
    guest.wait_booted()
    status = assert_ended(guest, "milestones")
    entries = audit(guest)
    what = [entry.get("RCU_BOOT_KNOB", entry.get("RCU_BOOT_MILESTONE", "")) for entry in entries]
    assert [(KIND[entry["MESSAGE_ID"]], entry["RCU_BOOT_PHASE"], name) for entry, name in zip(entries, what)] == [
        ("STARTED", "booting", ""),
        ("KNOB_WRITTEN", "booting", "rcu_expedited"),
        ("KNOB_WRITTEN", "booting", "rcu_boot_end_delay"),
        ("MILESTONE", "ending", "default.target"),
        ("KNOB_WRITTEN", "ending", "rcu_expedited"),
        ("KNOB_WRITTEN", "ending", "user_booted"),
        ("KNOB_WRITTEN", "ending", "rcu_boot_end_delay"),
        ("ENDED", "ended", ""),
    ]
    for entry in entries:
        assert "RCU_BOOT_SENDER_UID" not in entry
        assert entry["_SYSTEMD_UNIT"] == UNIT and entry["_UID"] == "0" and entry["_TRANSPORT"] == "journal"
        assert entry["RCU_BOOT_POLICY"] == "99-default.policy"
    assert int(entries[-1]["RCU_BOOT_BOOTTIME_USEC"]) == status["since_usec"]
    for field in ("RCU_BOOT_KNOB_ASKED", "RCU_BOOT_KNOB_READ_BACK"):
        assert [entry[field] for entry in entries if field in entry] == ["1", "120000", "0", "1", "0"]
    before = [entry["RCU_BOOT_KNOB_BEFORE"] for entry in entries if "RCU_BOOT_KNOB" in entry]
    assert before == ["0", "15000", "1", "0", "120000"]
    # PID 1's own lines about the unit are there, too, and no complaint.
    assert not [entry for entry in guest.journal(_SYSTEMD_UNIT=UNIT) if int(entry["PRIORITY"]) <= 4]


def test_every_kind_and_its_fields(container, tree):
    """One boot in which all goes wrong that can without its deadline (whose entry test_deadline looks at)."""
    tree.write("etc/rcu-bootd/policy.d/00-broken.policy", "[Boot]\nEndWhen=x\nDeadlineSec=never\n[During\n")
    use_policy(tree, "home-screen", after=["rcu_expedited=0", "user_booted=1"])
    guest = container(knobs=ALL_KNOBS)
    guest.wait_booted()
    wait_booting(guest)
    send(guest, b"X_RCU_MILESTONE=home-screen", uid=1001).join()
    # A sender from within the container, so that it has a process id there.
    guest.run("rcu-bootctl milestone home-screen", user="mallory", check=False)
    guest.ctl("extend", "10min")
    guest.run("mount --bind /sys/kernel/rcu_expedited /sys/kernel/rcu_expedited")
    guest.run("mount -o remount,bind,ro /sys/kernel/rcu_expedited")
    guest.ctl("end", "--reason=enough")
    status = wait_ended(guest)
    assert (status["reason"], status["mode_at_end"], status["exit_code"]) == ("manual", "expedited", 1)

    found = {}
    for entry in audit(guest):
        kind = KIND[entry["MESSAGE_ID"]]
        priority, fields = FIELDS[kind]
        if kind == "REFUSED":
            fields = fields - {"RCU_BOOT_SENDER_PID"}  # of a process outside the container nothing is known
        assert entry["PRIORITY"] == priority, kind
        assert (ALWAYS | fields) <= set(entry), kind
        found.setdefault(kind, entry)
    assert set(found) == set(FIELDS) - {"MILESTONE"}
    assert found["KNOB_FAILED"]["ERRNO"] == "30" and "EROFS" in found["KNOB_FAILED"]["MESSAGE"]
    assert found["ENDED"]["RCU_BOOT_REASON_TEXT"] == "enough"
    for kind in ("EXTENDED", "ENDED"):
        assert found[kind]["RCU_BOOT_SENDER_UID"] == "0" and int(found[kind]["RCU_BOOT_SENDER_PID"]) > 1
    assert found["STILL_EXPEDITED"]["RCU_BOOT_MODE"] == "expedited"
    assert "00-broken.policy:" in found["POLICY_REJECTED"]["MESSAGE"]
    assert found["REFUSED"]["RCU_BOOT_SENDER_UID"] == "1001"


@pytest.mark.parametrize("suite", ["bookworm", "trixie"])
def test_catalog(container, suite):
    """`journalctl -x` explains every id: subject, what it means, what to do; with the entry's values in the text."""
    guest = container(suite=suite)
    guest.wait_booted()
    assert_ended(guest, "milestones")
    guest.run("journalctl --update-catalog")
    for name, message_id in MESSAGE_ID.items():
        text = guest.output(["journalctl", "--dump-catalog", message_id])
        assert re.search(r"^Subject: .+", text, re.M), name
        assert "man:rcu-boot" in text and len(text) > 300, name
    explained = guest.output("journalctl -b -x -t rcu-bootd")
    assert "Subject: RCU's boot has ended" in explained
    assert "reason: milestones" in explained and "@RCU_BOOT" not in explained


# --- rcu-bootctl log ---

def test_log(container, tree):
    """One line a transition, for any user who may read the journal; the same as JSON."""
    tree.mkdir("var/log/journal")
    guest = container(knobs=ALL_KNOBS)
    guest.wait_booted()
    assert_ended(guest, "milestones")
    entries = audit(guest)
    lines = guest.output("rcu-bootctl log").splitlines()
    assert len(lines) == len(entries)
    assert all(re.match(r"^\[ *\d+\.\d{6}\] ", line) for line in lines)
    assert lines[-1].endswith(entries[-1]["MESSAGE"])
    log = json.loads(guest.output("rcu-bootctl log --json"))
    assert [one["message_id"] for one in log] == [entry["MESSAGE_ID"] for entry in entries]
    assert (log[-1]["kind"], log[-1]["reason"]) == ("ended", "milestones")
    assert log[-1]["boot_id"] == entries[-1]["_BOOT_ID"]

    guest.reboot()
    guest.wait_booted()
    wait_ended(guest)
    guest.run("journalctl --sync")
    assert json.loads(guest.output("rcu-bootctl log --boot=-1 --json")) == log
    assert json.loads(guest.output(f"rcu-bootctl log --boot={log[0]['boot_id']} --json")) == log
    now = json.loads(guest.output("rcu-bootctl log --json"))
    assert now[-1]["boot_id"] != log[-1]["boot_id"] and now[-1]["kind"] == "ended"
    assert json.loads(guest.output("rcu-bootctl log --boot=0 --json")) == now
    result = guest.ctl("log", "--boot=-5", check=False)
    assert result.returncode == 1 and "list-boots" in result.stderr


def test_log_follows(container, tree):
    """`log -f` shows what is to come, and what has been before."""
    use_policy(tree, "home-screen")
    guest = container()
    guest.wait_booted()
    wait_booting(guest)
    guest.run("rcu-bootctl log -f >/rcu-test/followed 2>&1 & echo $! >/rcu-test/follower")
    followed = guest.shared / "followed"
    guest.wait_for(lambda: "home-screen" in followed.read_text(encoding="utf-8"), "what had been before")
    assert "ended" not in followed.read_text(encoding="utf-8")
    guest.ctl("milestone", "home-screen")
    guest.wait_for(lambda: "RCU's boot ended" in followed.read_text(encoding="utf-8"), "what came")
    guest.run("kill -INT $(cat /rcu-test/follower)")
    assert_ended(guest, "milestones")


def test_log_of_a_forger(container):
    """Anybody may write an entry with our ids; `log` shows those of root's processes."""
    guest = container()
    guest.wait_booted()
    assert_ended(guest, "milestones")
    before = guest.output("rcu-bootctl log")
    # logger(1) of util-linux speaks the journal's protocol.
    forged = f"MESSAGE_ID={MESSAGE_ID['ENDED']}\nMESSAGE=forged\nRCU_BOOT_REASON=manual"
    guest.run(["sh", "-c", f"printf '{forged}' | logger --journald"], user="mallory")
    guest.run("journalctl --sync")
    assert [entry["MESSAGE"] for entry in guest.journal(_UID="1001")] == ["forged"]
    assert guest.output("rcu-bootctl log") == before


def test_nothing_in_the_journal(container, tree):
    """journald is masked: the kernel's log has the story (there is no other place in a container), and boot ends."""
    tree.mask("systemd-journald.service", "systemd-journald.socket", "systemd-journald-dev-log.socket")
    guest = container()
    guest.wait_booted()
    assert_ended(guest, "milestones")
    result = guest.ctl("log", check=False)
    assert result.returncode in (0, 1) and result.stdout == ""


# The clock in entries is the kernel's, whatever the machine thinks what day it is.
def test_times_are_the_kernels(container):
    guest = container(uptime=50)
    guest.wait_booted()
    assert_ended(guest, "milestones")
    for entry in audit(guest):
        assert 50_000_000 <= int(entry["RCU_BOOT_BOOTTIME_USEC"]) <= int(entry["__MONOTONIC_TIMESTAMP"])
