# SPDX-License-Identifier: LGPL-2.1-or-later
"""What scenarios have in common: policies for them, and what must be true of every boot."""

import contextlib
import multiprocessing
import os
import re
import socket
from pathlib import Path

NAMES_H = Path(__file__).resolve().parents[3] / "src/names.h"

# STARTED, MILESTONE, ENDED, DEADLINE, ... -> the message id in the journal.
MESSAGE_ID = dict(re.findall(r'#define MESSAGE_ID_(\w+) "([0-9a-f]{32})"', NAMES_H.read_text(encoding="utf-8")))

UNIT = "rcu-boot-end.service"

# What PID 1 starts when UNIT has ended.
ABANDONED = ("rcu-boot-abandoned@stopped.service", "rcu-boot-abandoned@failed.service")
POLICY_DIR = "etc/rcu-bootd/policy.d"

# Sorts before every installed policy.
POLICY_NAME = "01-test.policy"


def policy(*end_when, match=(), boot=(), during=("rcu_expedited=1",), after=("rcu_expedited=0",)):
    """Text of a policy: @end_when its alternatives, the rest lines of their sections."""
    sections = {
        "Match": match,
        "Boot": [*(f"EndWhen={line}" for line in end_when), *boot],
        "During": during,
        "After": after,
    }
    return "\n".join(
        line for name, lines in sections.items() if lines for line in (f"[{name}]", *lines, "")
    )  # fmt: skip


def use_policy(tree, *end_when, **kwargs):
    """Makes this the policy of the guest; see policy()."""
    return tree.write(f"{POLICY_DIR}/{POLICY_NAME}", policy(*end_when, **kwargs))


def deadline_soon(tree, seconds=3):
    """Lets the deadline of use_policy()'s policy be @seconds from when PID 1 starts the daemon, however long the guest
    took to get there."""
    tree.write(
        "usr/lib/rcu-test/deadline-soon",
        "#!/bin/sh -e\n"
        f"mkdir -p /run/rcu-bootd/policy.d/{POLICY_NAME}.d\n"
        "read -r now _ </proc/uptime\n"
        f"echo \"[Boot]\nDeadlineSec=$((${{now%.*}} + {seconds})).${{now#*.}}\" "
        f">/run/rcu-bootd/policy.d/{POLICY_NAME}.d/soon.conf\n",
        0o755,
    )
    return tree.dropin(UNIT, "50-deadline-soon", "[Service]\nExecStartPre=/usr/lib/rcu-test/deadline-soon\n")


def reached(status):
    """name -> source of the milestones that `rcu-bootctl status --json` shows as reached."""
    return {one["name"]: one["source"] for one in status["milestones"] if one["reached"]}


def values_written(guest, knob):
    """What knob had, one after the other, since the boot began."""
    values = [write.value for write in guest.knob_writes(knob)]
    return [value for i, value in enumerate(values) if i == 0 or values[i - 1] != value]


def wait_booting(guest, starts=1):
    """Waits until a daemon, the @starts-th of this boot, waits for milestones; returns the status (JSON)."""

    def look():
        status = guest.status()
        daemon = status["daemon"]
        return status if (status["phase"], daemon["running"], daemon["starts"]) == ("booting", True, starts) else None

    return guest.wait_for(look, f"daemon {starts} of this boot to wait for milestones")


def wait_ended(guest):
    """Waits until boot has ended and nothing of the daemon is left, whatever runs after it included."""
    guest.wait_until("rcu-bootctl wait --timeout=60")
    guest.wait_for(lambda: at_rest(guest), f"{UNIT} to come to rest")
    return guest.status()


def at_rest(guest):
    """Whether neither the daemon is left, nor anything that PID 1 runs because it is gone, and none is about to come."""
    for unit, shown in guest.show_units((UNIT, *ABANDONED), "SubState", "ControlPID", "MainPID", "Job").items():
        states = ("exited", "dead", "failed") if unit == UNIT else ("dead", "failed")
        if shown.pop("Job", "0") not in ("", "0") or shown.pop("SubState") not in states or {*shown.values()} != {"0"}:
            return False
    return True


def assert_ended(guest, reason, *, expedited=True, active="active", restarts=0):
    """Waits for the end, and looks at all that is true after every boot; returns the status (JSON)."""
    status = wait_ended(guest)
    assert (status["phase"], status["reason"]) == ("ended", reason)
    assert status["daemon"]["running"] is False
    unit = guest.show(UNIT, "ActiveState", "Result", "NRestarts")
    assert unit == {"ActiveState": active, "Result": "success", "NRestarts": str(restarts)}
    assert not guest.ok("pidof rcu-bootd")
    assert_never_again(guest, expedited)
    return status


def assert_never_again(guest, expedited=True):
    """rcu_expedited was set once (never, unless @expedited) and cleared once, and never set again."""
    wanted = ["1", "0"] if expedited else ["0"]
    guest.wait_for(lambda: values_written(guest, "rcu_expedited")[-1:] == ["0"], "the last write to be seen")
    assert values_written(guest, "rcu_expedited") == wanted


def send(guest, *datagrams, uid=0, times=1):
    """Starts a process, user @uid, that sends the datagrams (bytes) to the daemon's inbox, @times over, and exits.
    Returns its multiprocessing.Process, which the caller joins."""
    process = multiprocessing.get_context("fork").Process(
        target=_send, args=(guest.path("/run/rcu-bootd"), datagrams, uid, times), daemon=True
    )
    process.start()
    return process


def _send(directory, datagrams, uid, times):
    # As another user the path through the guest's /proc entry would be closed.
    try:
        os.chdir(directory)
    except OSError:
        os._exit(1)
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as inbox:
        # Nobody listens yet, or boot has ended.
        with contextlib.suppress(FileNotFoundError, ConnectionRefusedError, ConnectionResetError):
            inbox.connect("notify")
            for _ in range(times):
                for datagram in datagrams:
                    inbox.send(datagram)
