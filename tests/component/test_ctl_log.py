# SPDX-License-Identifier: LGPL-2.1-or-later
"""rcu-bootctl log, on journals that systemd-journal-remote(8) makes of entries written by hand."""

import json
import os
import re
import select
import subprocess
import time

import pytest

from conftest import NOBODY, PATIENCE, SOURCE, json_keys, undescribed, wait_for

MACHINE = "00112233445566778899aabbccddeeff"
BOOTS = [f"{i}" * 32 for i in "abc"]

IDS = {name: value for name, value in re.findall(r'^#define MESSAGE_ID_(\w+) "(\w+)"', (SOURCE / "src/names.h").read_text(),
                                                 re.M)}


def entry(boot=BOOTS[-1], message_id="STARTED", message="a message", boottime=1234567, realtime=1700000000000000, uid=0,
          **fields):
    """In the journal's export format."""
    lines = {
        "__REALTIME_TIMESTAMP": realtime + (boottime or 0),
        "__MONOTONIC_TIMESTAMP": (boottime or 0) + 100,
        "_BOOT_ID": boot,
        "_MACHINE_ID": MACHINE,
        "_UID": uid,
        "PRIORITY": 6,
        "MESSAGE": message,
    }
    if message_id:
        lines["MESSAGE_ID"] = IDS.get(message_id, message_id)
    if boottime is not None:
        lines["RCU_BOOT_BOOTTIME_USEC"] = boottime
    lines.update(fields)
    return "".join(f"{key}={value}\n" for key, value in lines.items()) + "\n"


class Journal:
    def __init__(self, tree):
        self.directory = tree / "var/log/journal" / MACHINE
        self.directory.mkdir(parents=True)
        self.path = self.directory / "system.journal"
        self.remote = next((p for p in ("/usr/lib/systemd/systemd-journal-remote",
                                        "/lib/systemd/systemd-journal-remote") if os.path.exists(p)), None)
        if not self.remote:
            pytest.fail("systemd-journal-remote not found, needed to make a journal. Install: "
                        "apt-get install systemd-journal-remote")

    def add(self, *entries):
        text = b"".join(e if isinstance(e, bytes) else e.encode() for e in entries)
        subprocess.run([self.remote, f"--output={self.path}", "--split-mode=none", "-"], input=text, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=PATIENCE)
        self.path.chmod(0o644)


@pytest.fixture
def journal(tree):
    return Journal(tree)


def test_lines(bootctl, journal):
    journal.add(entry(message="waiting", boottime=1234567),
                entry(message_id=None, message="somebody else's", boottime=1234600),
                entry(message_id="f" * 32, message="somebody else's, with an id", boottime=1234700),
                entry(message_id="ENDED", message="ended", boottime=4023456789))
    result = bootctl("log")
    head, *lines = result.out.splitlines()
    assert head == f"-- Boot {BOOTS[-1]}, Tue 2023-11-14 22:13:21 UTC --"
    assert lines == ["[    1.234567] waiting", "[ 4023.456789] ended"]
    assert result.err == ""


def test_json(bootctl, journal):
    journal.add(entry(message="waiting", RCU_BOOT_PHASE="booting", RCU_BOOT_POLICY="80-server.policy",
                      RCU_BOOT_POLICY_FILE="/usr/lib/x", RCU_BOOT_DEADLINE_USEC=120000000),
                entry(message_id="KNOB_WRITTEN", message="k", boottime=1300000, RCU_BOOT_KNOB="rcu_expedited",
                      RCU_BOOT_KNOB_PATH="/sys/kernel/rcu_expedited", RCU_BOOT_KNOB_BEFORE=0, RCU_BOOT_KNOB_ASKED=1,
                      RCU_BOOT_KNOB_READ_BACK=1),
                entry(message_id="DEADLINE", message="late", boottime=1400000, PRIORITY=4, RCU_BOOT_REASON="deadline",
                      RCU_BOOT_MISSING="a.target home-screen", RCU_BOOT_PENDING_JOBS="x.service/start y.device/start",
                      RCU_BOOT_MODE="default"),
                entry(message_id="KNOB_FAILED", message="f", boottime=1500000, ERRNO=30),
                entry(message_id="REFUSED", message="r", boottime=1600000, RCU_BOOT_SENDER_UID=1000,
                      RCU_BOOT_SENDER_PID=4711),
                entry(message_id="MILESTONE", message="m", boottime=1700000, RCU_BOOT_MILESTONE="a.target",
                      RCU_BOOT_SOURCE="bus"),
                entry(message_id="ENDED", message="e", boottime=1800000, RCU_BOOT_REASON_TEXT="by hand"))
    entries = bootctl("log", "--json").json()
    assert entries[0] == {
        "boot_id": BOOTS[-1], "realtime_usec": 1700000001234567, "boottime_usec": 1234567, "kind": "started",
        "message_id": IDS["STARTED"], "priority": 6, "message": "waiting", "phase": "booting", "policy": "80-server.policy",
        "policy_file": "/usr/lib/x", "deadline_usec": 120000000}
    assert [e["kind"] for e in entries] == ["started", "knob-written", "deadline", "knob-failed", "refused", "milestone",
                                            "ended"]
    assert {k: v for k, v in entries[1].items() if k.startswith("knob")} == {
        "knob": "rcu_expedited", "knob_path": "/sys/kernel/rcu_expedited", "knob_before": 0, "knob_asked": 1,
        "knob_read_back": 1}
    assert (entries[2]["reason"], entries[2]["priority"], entries[2]["mode"]) == ("deadline", 4, "default")
    assert entries[2]["missing"] == ["a.target", "home-screen"]
    assert entries[2]["pending_jobs"] == ["x.service/start", "y.device/start"]
    assert entries[3]["errno"] == 30
    assert (entries[4]["sender_uid"], entries[4]["sender_pid"]) == (1000, 4711)
    assert (entries[5]["milestone"], entries[5]["source"]) == ("a.target", "bus")
    assert entries[6]["reason_text"] == "by hand"


def test_every_kind(bootctl, journal):
    """An id that is added to the code is to be shown, and to have a name."""
    journal.add(*(entry(message_id=name, message=name, boottime=1000000 + i) for i, name in enumerate(IDS)))
    entries = bootctl("log", "--json").json()
    assert {e["message"]: e["kind"] for e in entries} == {name: name.lower().replace("_", "-") for name in IDS}


FIELDS = [name for name in re.findall(r'^#define FIELD_\w+ "(\w+)"', (SOURCE / "src/names.h").read_text(), re.M)]


def test_every_field(bootctl, journal):
    """Those in the code are shown, and those shown are described in rcu-bootctl(1)."""
    journal.add(entry(**{name: 1234567 for name in FIELDS}))
    (data,) = bootctl("log", "--json").json()
    keys = {k for k, v in data.items() if v in (1234567, "1234567", ["1234567"])}
    assert len(keys) == len(FIELDS)
    assert undescribed(json_keys(data)) == []


def test_entry_without_our_clock(bootctl, journal):
    """journald's own is the next best."""
    journal.add(entry(boottime=None))
    assert bootctl("log").out.splitlines()[1:] == ["[    0.000100] a message"]
    assert bootctl("log", "--json").json()[0]["boottime_usec"] == 100


def test_entries_of_others_do_not_count(bootctl, journal):
    """Anybody may log with our ids."""
    journal.add(entry(message="ours"), entry(message="forged", uid=1000, boottime=1300000))
    assert [e["message"] for e in bootctl("log", "--json").json()] == ["ours"]


def test_one_line_an_entry(bootctl, journal):
    """And nothing in it drives a terminal."""
    text = b"two\nlines \x1b[2J"
    # The format's form for values that are not one line of text.
    journal.add(entry().encode().replace(b"MESSAGE=a message\n",
                                         b"MESSAGE\n" + len(text).to_bytes(8, "little") + text + b"\n"))
    assert bootctl("log").out.splitlines()[1:] == ["[    1.234567] two lines ?[2J"]
    assert bootctl("log", "--json").json()[0]["message"] == text.decode()


# --- which boot ---

@pytest.fixture
def three_boots(journal):
    """case 32: each of them began in 1970, as the machine has no clock of its own."""
    for boot in BOOTS:
        journal.add(*(entry(boot=boot, message=f"{boot[0]}{i}", boottime=1000000 * i, realtime=0,
                            message_id="STARTED" if i % 2 else None) for i in range(1, 6)))


@pytest.mark.parametrize("args, boot", [
    ([], "c"), (["--boot=0"], "c"), (["--boot=-1"], "b"), (["--boot=-2"], "a"),
    (["--boot=1"], "a"), (["--boot=2"], "b"), (["--boot=3"], "c"),
    ([f"--boot={BOOTS[0]}"], "a"), ([f"--boot={BOOTS[1]}"], "b"),
])
def test_boots(bootctl, three_boots, args, boot):
    result = bootctl("log", *args)
    assert [line.split()[-1] for line in result.out.splitlines()[1:]] == [f"{boot}{i}" for i in (1, 3, 5)]
    assert result.out.startswith(f"-- Boot {boot * 32}, Thu 1970-01-01 00:00:01 UTC --\n")
    assert [e["boot_id"] for e in bootctl("log", *args, "--json").json()] == [boot * 32] * 3


@pytest.mark.parametrize("boot", ["-3", "4", "-100"])
def test_no_such_boot(bootctl, three_boots, boot):
    result = bootctl("log", f"--boot={boot}", code=1)
    assert f"there is no boot {boot}" in result.err and "journalctl --list-boots" in result.err


@pytest.mark.parametrize("boot", ["", "x", "1x", "-", "99999999999999999999", "abcdef"])
def test_no_boot_at_all(bootctl, three_boots, boot):
    result = bootctl("log", f"--boot={boot}", code=2)
    assert f"--boot={boot} is no boot" in result.err


def test_boot_without_entries(bootctl, journal):
    journal.add(entry(boot=BOOTS[0]), entry(boot=BOOTS[1], message_id=None, boottime=1300000))
    result = bootctl("log")
    assert result.out == "" and "has logged nothing in this boot" in result.err
    assert bootctl("log", "--json").json() == []
    assert "a message" in bootctl("log", "--boot=-1").out


def test_unknown_boot_id(bootctl, three_boots):
    assert "has logged nothing" in bootctl("log", f"--boot={'d' * 32}").err


# --- none to be read ---

def test_no_journal(bootctl, tree):
    result = bootctl("log", code=1)
    assert f"There is no journal below {tree.path}" in result.err and "dmesg" in result.err


def test_may_not_read_files(bootctl, journal):
    journal.add(entry())
    journal.path.chmod(0o640)
    result = bootctl("log", user=NOBODY, code=1)
    assert "You may not read the system's journal" in result.err
    assert "sudo rcu-bootctl log" in result.err and "systemd-journal" in result.err
    assert bootctl("log", "--json", user=NOBODY, code=1).out == ""


def test_may_not_read_directory(bootctl, journal):
    journal.add(entry())
    journal.directory.chmod(0o750)
    assert "You may not read the system's journal" in bootctl("log", user=NOBODY, code=1).err
    journal.directory.parent.chmod(0o750)
    assert "You may not read the system's journal" in bootctl("log", user=NOBODY, code=1).err


def test_may_read(bootctl, journal):
    journal.add(entry())
    assert "a message" in bootctl("log", user=NOBODY).out


def test_volatile_journal(bootctl, tree, journal):
    journal.add(entry())
    (tree / "run/log").mkdir()
    (tree / "var/log/journal").rename(tree / "run/log/journal")
    assert "a message" in bootctl("log").out


def test_damaged_journal(bootctl, journal):
    journal.path.write_bytes(b"LPKSHHRH" + b"\xff" * 4096)
    result = bootctl("log", code=None)
    assert result.out == "" and result.err != ""


# --- as it comes ---

class Follower:
    def __init__(self, bootctl, *args):
        self.process = bootctl.start("log", "--follow", *args)
        self.out = ""

    def read_until(self, text):
        deadline = time.monotonic() + PATIENCE
        while text not in self.out:
            ready, _w, _x = select.select([self.process.stdout], [], [], 1)
            if ready:
                data = os.read(self.process.stdout.fileno(), 65536).decode()
                assert data, self.process.communicate()
                self.out += data
            assert time.monotonic() < deadline, self.out
        return self.out

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()


@pytest.mark.parametrize("args", [[], ["--json"]])
def test_follow(bootctl, journal, args):
    journal.add(entry(message="the first"))
    follower = Follower(bootctl, *args)
    try:
        follower.read_until("the first")
        journal.add(entry(message="the second", boottime=2000000))
        follower.read_until("the second")
        journal.add(entry(message="not ours", boottime=2100000, message_id=None),
                    entry(message="the third", boottime=2200000, message_id="ENDED"))
        out = follower.read_until("the third")
        assert "not ours" not in out
        if args:
            assert [json.loads(line)["message"] for line in out.splitlines()] == ["the first", "the second", "the third"]
        assert follower.process.poll() is None
    finally:
        follower.close()


def test_follow_ends_with_its_reader(bootctl, journal):
    """`rcu-bootctl log -f | head -1` does not stay for ever: the next entry finds the pipe closed."""
    journal.add(entry(message="the first"))
    follower = Follower(bootctl)
    follower.read_until("the first")
    follower.process.stdout.close()
    journal.add(entry(message="the second", boottime=2000000))
    wait_for(lambda: follower.process.poll() is not None, "the end of rcu-bootctl log -f")
    follower.process.stderr.close()


def test_own_journal_is_this_boots(bootctl):
    """On the machine itself, whatever its journal says."""
    result = bootctl("log", "--json", root="", code=None)
    assert result.code in (0, 1)
    if result.code == 0:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as f:
            boot = f.read().strip().replace("-", "")
        assert all(e["boot_id"] == boot for e in result.json())
    else:
        assert "journal" in result.err
