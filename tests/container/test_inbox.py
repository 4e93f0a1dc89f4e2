# SPDX-License-Identifier: LGPL-2.1-or-later
"""The inbox, with real users: who may say what, rubbish, floods, and what systemd's own tools send."""

import array
import os
import socket

import pytest

from guest.scenario import MESSAGE_ID, UNIT, assert_ended, reached, send, use_policy, wait_booting

ALICE, MALLORY = 1000, 1001


def boot(container, tree, *end_when, **options):
    """A guest that has started up, and waits for what the test announces; alice may announce milestones."""
    use_policy(tree, *(end_when or ("home-screen",)), boot=["AllowUsers=alice"])
    guest = container(**options)
    guest.wait_booted()
    wait_booting(guest)
    return guest


def refusals(guest):
    guest.run("journalctl --sync")
    return guest.journal(MESSAGE_ID=MESSAGE_ID["REFUSED"])


def in_daemon(guest, path):
    """A file of the daemon's /proc directory."""
    return guest.output(f"cat /proc/{guest.show(UNIT, 'MainPID')['MainPID']}/{path}")


def memory(guest):
    """Resident KiB of the daemon."""
    return int(next(line.split()[1] for line in in_daemon(guest, "status").splitlines() if line.startswith("VmRSS")))


def files(guest):
    return guest.output(f"ls /proc/{guest.show(UNIT, 'MainPID')['MainPID']}/fd").split()


# --- who may say what ---

SYSTEMD_NOTIFY = "NOTIFY_SOCKET=/run/rcu-bootd/notify systemd-notify "


BOOTCTL_MILESTONE, NOTIFY_MILESTONE = "rcu-bootctl milestone home-screen", SYSTEMD_NOTIFY + "X_RCU_MILESTONE=home-screen"


@pytest.mark.parametrize("user", ["root", "alice"])
@pytest.mark.parametrize("command", [BOOTCTL_MILESTONE, NOTIFY_MILESTONE], ids=["rcu-bootctl", "systemd-notify"])
def test_case_24_users_who_may(container, tree, user, command):
    guest = boot(container, tree)
    result = guest.run(command, user=user, check=False)
    # systemd-notify sends its barrier in a message of its own, for which there may be nobody left.
    assert result.returncode == 0 or "systemd-notify" in command
    assert reached(assert_ended(guest, "milestones")) == {"home-screen": "inbox"}
    guest.run("journalctl --sync")
    (entry,) = guest.journal(SYSLOG_IDENTIFIER="rcu-bootd", MESSAGE_ID=MESSAGE_ID["MILESTONE"])
    assert entry["RCU_BOOT_SENDER_UID"] == {"root": "0", "alice": str(ALICE)}[user]
    assert f"PID {entry['RCU_BOOT_SENDER_PID']}, UID {entry['RCU_BOOT_SENDER_UID']}" in entry["MESSAGE"]


@pytest.mark.parametrize("user, uid, commands", [
    ("alice", ALICE, ["rcu-bootctl end", "rcu-bootctl extend 10min", SYSTEMD_NOTIFY + "X_RCU_BOOT_END=1"]),
    ("mallory", MALLORY, [BOOTCTL_MILESTONE, "rcu-bootctl end", NOTIFY_MILESTONE]),
])  # fmt: skip
def test_case_24_users_who_may_not(container, tree, user, uid, commands):
    guest = boot(container, tree)
    before = guest.status()
    for command in commands:
        result = guest.run(command, user=user, check=False)
        if command.startswith("rcu-bootctl"):
            assert result.returncode == 1 and ("AllowUsers=" in result.stderr or "root" in result.stderr)
    assert {**guest.status(), "now_usec": 0} == {**before, "now_usec": 0}
    # One entry for all, as they came within ten seconds (or a second one, if they did not).
    entries = refusals(guest)
    assert 1 <= len(entries) <= 2
    assert entries[0]["RCU_BOOT_SENDER_UID"] == str(uid) and int(entries[0]["RCU_BOOT_SENDER_PID"]) > 1


@pytest.mark.parametrize("allow, works", [("mallory 1000", True), ("mallory", False), ("nobody-there alice", True)])
def test_allow_users(container, tree, allow, works):
    use_policy(tree, "home-screen", boot=[f"AllowUsers={allow}"])
    guest = container()
    wait_booting(guest)
    assert guest.ok("rcu-bootctl milestone home-screen", user="alice") == works
    if not works:
        guest.run("rcu-bootctl milestone home-screen", user="mallory")
    assert_ended(guest, "milestones")


def test_no_user_is_pid_1(container, tree):
    """What only PID 1 may say is ignored from all others, root included, and nobody is told off for it."""
    guest = boot(container, tree, "startup-finished never.target", "multi-user.target never.target", "home-screen",
                 dbus=False)  # fmt: skip
    for uid in (0, ALICE):
        send(guest, b"READY=1", b"X_SYSTEMD_UNIT_ACTIVE=multi-user.target", uid=uid).join()
    guest.run("NOTIFY_SOCKET=/run/rcu-bootd/notify systemd-notify --ready")
    assert reached(guest.status()) == {} and refusals(guest) == []
    guest.ctl("milestone", "home-screen")
    assert_ended(guest, "milestones")


def test_case_24_sender_is_gone(container, tree):
    """The senders have exited before their messages are read: the kernel noted down who they were."""
    guest = boot(container, tree, "one two")
    pid = guest.show(UNIT, "MainPID")["MainPID"]
    guest.run(f"kill -STOP {pid}")
    for uid, name in ((MALLORY, "two"), (ALICE, "one")):
        sender = send(guest, f"X_RCU_MILESTONE={name}".encode(), uid=uid)
        sender.join()
        assert sender.exitcode == 0
    guest.run(f"kill -CONT {pid}")
    guest.wait_for(lambda: reached(guest.status()) == {"one": "inbox"}, "alice's message to be read")
    (entry,) = refusals(guest)
    assert entry["RCU_BOOT_SENDER_UID"] == str(MALLORY)
    guest.run(["rcu-bootctl", "milestone", "two"], user="alice")
    assert_ended(guest, "milestones")


# --- what is in a message ---

RUBBISH = [
    b"",
    b"\n",
    b"\n\n\n\n",
    b"no equals sign",
    b"=",
    b"=x",
    b"STATUS=hello\nMAINPID=1\nWATCHDOG=1\nFDSTORE=1",
    b"X_RCU_MILESTONE=",
    b"X_RCU_MILESTONE=a b",
    b"X_RCU_MILESTONE=../../etc/passwd",
    b"X_RCU_MILESTONE=" + b"x" * 300,
    b"X_RCU_MILESTONE=home-screen\0",
    b"X_RCU_MILESTONE=home\0screen",
    b"X_RCU_MILESTONE=\xff\xfe",
    b"X_RCU_BOOT_END=0",
    b"X_RCU_BOOT_END=yes",
    b"X_RCU_BOOT_EXTEND_MS=-1",
    b"X_RCU_BOOT_EXTEND_MS=99999999999999999999",
    b"x" * 20_000,
    b"X_RCU_MILESTONE=home-screen\n" + b"x" * 20_000,
    b"A=" + b"\n" * 16_000,
]


def test_case_21_rubbish(container, tree):
    """From anybody, in any order: ignored or refused, little is said of it, and the next message is not affected."""
    guest = boot(container, tree, "first second")
    fds = files(guest)
    rubbish = [one for one in RUBBISH if one != b"X_RCU_MILESTONE=home-screen\0"]
    for uid in (0, ALICE, MALLORY):
        send(guest, *rubbish, uid=uid, times=20).join()
    send(guest, b"X_RCU_MILESTONE=first", *rubbish, uid=ALICE).join()
    guest.wait_for(lambda: reached(guest.status()) == {"first": "inbox"}, "the message in the midst of it")
    status = guest.status()
    assert (status["phase"], status["deadline_extended"]) == ("booting", False)
    # One entry in ten seconds at most, with the number of those left out.
    entries = refusals(guest)
    times = [int(entry["RCU_BOOT_BOOTTIME_USEC"]) for entry in entries]
    assert entries and all(later - earlier >= 10_000_000 for earlier, later in zip(times, times[1:]))
    assert files(guest) == fds
    guest.ctl("milestone", "second")
    assert_ended(guest, "milestones")


def test_case_21_a_mebibyte(container, tree):
    """As large as the kernel lets a datagram be for a sender who asks for it: refused as a whole."""
    guest = boot(container, tree)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.setsockopt(socket.SOL_SOCKET, getattr(socket, "SO_SNDBUFFORCE", 32), 4 << 20)
        sender.sendto(b"X_RCU_MILESTONE=home-screen\n" + b"x" * (1 << 20), str(guest.path("/run/rcu-bootd/notify")))
    assert guest.wait_for(lambda: refusals(guest), "it to be refused")
    assert guest.status()["missing"] == ["home-screen"]
    guest.ctl("milestone", "home-screen")
    assert_ended(guest, "milestones")


def test_case_22_files_and_barriers(container, tree):
    """A barrier is answered by letting go of its fd; whatever else comes along is let go of, too."""
    guest = boot(container, tree)
    fds = files(guest)
    address = str(guest.path("/run/rcu-bootd/notify"))
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        barrier, other, large = b"BARRIER=1", b"STATUS=x", b"x" * 20_000
        for text, count in ((barrier, 1), (barrier, 0), (other, 10), (b"", 10), (large, 3), (barrier, 10)):
            pipes = [os.pipe() for _ in range(count)]
            fds_sent = array.array("i", [write for _, write in pipes])
            sender.sendmsg([text], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds_sent)] if pipes else [], 0, address)
            for read, write in pipes:
                os.close(write)
                # The daemon has the last copy of the other end: this waits until it is closed.
                assert os.read(read, 1) == b""
                os.close(read)
    assert files(guest) == fds
    guest.ctl("milestone", "home-screen")
    assert_ended(guest, "milestones")


def test_case_23_order(container, tree):
    """Several fields in one datagram, several datagrams at once: in order, each once."""
    names = [f"stage-{n}" for n in range(1, 9)]
    guest = boot(container, tree, " ".join(names))
    pid = guest.show(UNIT, "MainPID")["MainPID"]
    guest.run(f"kill -STOP {pid}")
    fields = [f"X_RCU_MILESTONE={name}".encode() for name in names]
    send(guest, b"\n".join(fields[:2]), *fields[2:], uid=ALICE).join()
    guest.run(f"kill -CONT {pid}")
    assert_ended(guest, "milestones")
    guest.run("journalctl --sync")
    assert [entry["RCU_BOOT_MILESTONE"] for entry in guest.journal(MESSAGE_ID=MESSAGE_ID["MILESTONE"])] == names


def test_end_and_milestone_in_one(container, tree):
    """Root says all at once; what comes first ends boot, and the rest has no effect."""
    guest = boot(container, tree)
    send(guest, b"X_RCU_BOOT_EXTEND_MS=600000\nX_RCU_BOOT_END=1\nX_RCU_REASON=all \x1b[31mat once").join()
    status = assert_ended(guest, "manual")
    assert status["reason_text"] == "all ?[31mat once"
    assert status["deadline_extended"] is True


# --- floods (case 25) ---

def test_case_25_flood_while_booting(container, tree):
    """100,000 datagrams from an allowed user, while the boot goes on: the bus, others' milestones and root are heard."""
    use_policy(tree, "multi-user.target one two", boot=["AllowUsers=alice"])
    tree.hold("here", before="basic.target")
    guest = container()
    guest.wait_held("here")
    wait_booting(guest)
    before = memory(guest)
    flood = [f"X_RCU_MILESTONE=nobody-waits-for-{n}\nSTATUS={'x' * 500}".encode() for n in range(100)]
    flooders = [send(guest, *flood, uid=ALICE, times=500) for _ in range(2)]
    guest.release("here")
    guest.run(["rcu-bootctl", "milestone", "one"])
    for flooder in flooders:
        flooder.join()
        assert flooder.exitcode == 0
    guest.wait_for(lambda: set(reached(guest.status())) == {"multi-user.target", "one"}, "what was reached meanwhile")
    assert memory(guest) - before < 1024, "KiB"
    guest.run(["rcu-bootctl", "milestone", "two"], user="alice")
    assert assert_ended(guest, "milestones")["daemon"]["starts"] == 1


def test_case_25_end_in_a_flood(container, tree):
    """Root's word comes through while it lasts, and the daemon leaves although more is coming in."""
    guest = boot(container, tree)
    flooders = [send(guest, b"X_RCU_MILESTONE=whatever", uid=uid, times=10_000_000) for uid in (ALICE, ALICE, MALLORY)]
    guest.ctl("end", "--reason=enough")
    status = assert_ended(guest, "manual")
    assert status["reason_text"] == "enough"
    for flooder in flooders:
        flooder.join()  # their connections were refused, or they would still be at it
        assert flooder.exitcode == 0


def test_flood_of_the_forbidden(container, tree):
    """What any user can cause must not fill the journal."""
    guest = boot(container, tree)
    for text in (b"X_RCU_MILESTONE=home-screen", b"X_RCU_BOOT_END=1", b"X_RCU_BOOT_EXTEND_MS=1000", b"\xff"):
        send(guest, text, uid=MALLORY, times=1000).join()
    guest.run(["rcu-bootctl", "milestone", "nothing"])  # its barrier: all before has been handled
    times = [int(entry["RCU_BOOT_BOOTTIME_USEC"]) for entry in refusals(guest)]
    assert times and all(later - earlier >= 10_000_000 for earlier, later in zip(times, times[1:]))
    assert guest.status()["missing"] == ["home-screen"]
    guest.ctl("milestone", "home-screen")
    assert_ended(guest, "milestones")
