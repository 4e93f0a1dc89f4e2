# SPDX-License-Identifier: LGPL-2.1-or-later
"""Many boots, each disturbed at random moments: whatever happens, in whatever order, what must be true is true.

RCU_BOOTD_STRESS=N       so many boots (100 unless set)
RCU_BOOTD_STRESS_SEED=S  begin with this seed; each boot has the next one. What goes wrong names its seed.
"""

import contextlib
import os
import random
import subprocess
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from guest import CommandFailed, GuestError
from guest.scenario import MESSAGE_ID, UNIT, at_rest, send, use_policy, values_written

BOOTS = int(os.environ.get("RCU_BOOTD_STRESS", "100"))
SEED = int(os.environ.get("RCU_BOOTD_STRESS_SEED", "1"))

# Boots at a time: more than one, so that each is also disturbed by another.
AT_A_TIME = 2

# How long an undisturbed boot takes, roughly: disturbances fall into this span.
SPAN = 0.7

# Disturbance -> how boot may end because of it, beside reaching its milestones.
DISTURBANCES = {
    "systemctl daemon-reload": set(),
    "systemctl daemon-reexec": set(),
    "systemctl restart dbus": set(),
    "systemctl kill --signal=KILL dbus": set(),
    "systemctl restart systemd-journald": set(),
    "kill -KILL $(pidof rcu-bootd)": {"daemon-died", "late-start"},
    "kill -SEGV $(pidof rcu-bootd)": {"daemon-died", "late-start"},
    "P=$(pidof rcu-bootd); kill -STOP $P; kill -CONT $P": {"late-start"},
    "kill -TERM $(pidof rcu-bootd)": {"stopped"},
    "systemctl stop rcu-boot-end": {"stopped"},
    "systemctl restart rcu-boot-end": {"stopped"},
    "systemctl start rcu-boot-end": set(),
    "rcu-bootctl end": {"manual"},
    "rcu-bootctl milestone booted": set(),
    # In the instant between the making of the directory and the first look into it, it was there before the daemon.
    ": >/run/rcu-bootd/milestones/booted": {"late-start"},
    "for i in $(seq 100); do : >/run/rcu-bootd/milestones/x$i; done": set(),
    "rcu-bootctl extend 3min": set(),
    "flood": set(),
}


def disturb(guest, what):
    """Whether it succeeds depends on when it comes, and is of no interest."""
    if what != "flood":
        guest.run(what, check=False)
        return
    send(guest, b"X_RCU_MILESTONE=whatever", b"", b"\xff", uid=1000, times=2000).join()


def has_ended(guest):
    """The state file says so, and all has come to rest. (PID 1 may not be there to be asked, for a moment.)"""
    try:
        return guest.state().get("PHASE") == "ended" and at_rest(guest)
    except CommandFailed:
        return False


def violations(guest, plan):
    """What is not as it must be, in words."""
    state, killed = guest.state(), any(what.startswith(("kill -KILL", "kill -SEGV")) for what in plan)
    allowed = {"milestones"}.union(*(DISTURBANCES[what] for what in plan))
    values = values_written(guest, "rcu_expedited")
    guest.run("journalctl --sync", check=False)
    ends = [entry["MESSAGE"] for name in ("ENDED", "DEADLINE") for entry in guest.journal(MESSAGE_ID=MESSAGE_ID[name])]
    found = []
    if state["REASON"] not in allowed:
        found.append(f"reason {state['REASON']}, not of {sorted(allowed)}")
    if values not in (["1", "0"], ["0"]):
        found.append(f"rcu_expedited was {values}")
    if guest.knob("rcu_expedited") != "0":
        found.append("rcu_expedited is not 0")
    if guest.ok("pidof rcu-bootd"):
        found.append("a daemon is left")
    # One that was killed between the record and the entry has left no entry; nobody writes a second one.
    if len(ends) != 1 and not (killed and not ends):
        found.append(f"entries of the end: {ends}")
    if guest.active(UNIT) not in ("active", "inactive"):
        found.append(f"the unit is {guest.active(UNIT)}")
    if guest.status()["exit_code"] != 0:
        found.append(f"status has notes: {guest.status()['notes']}")
    return found


def describe(guest):
    """What a guest is at that came to no end, for whoever has to find out; as far as it still answers."""
    questions = (
        "cat /run/rcu-bootd/state", f"systemctl show {UNIT} | grep -E 'State|Job|PID|Result|NRestarts'", "busctl list",
        "systemctl list-jobs", "journalctl -b -t rcu-bootd -t systemd -o short-monotonic | tail -n 50",
    )  # fmt: skip
    told = []
    for question in questions:
        with contextlib.suppress(GuestError, subprocess.SubprocessError):
            answer = guest.run(["timeout", "10", "sh", "-c", question], check=False)
            told.append(f"$ {question}\n{answer.stdout}{answer.stderr}")
    return "\n".join(told)


def one_boot(boot, seed):
    """Boots once -> how it ended, and text of what went wrong, or nothing."""
    rng = random.Random(seed)
    count = rng.choice([0, 1, 1, 2, 2, 3, 4])
    plan = sorted((rng.uniform(0, SPAN), rng.choice(list(DISTURBANCES))) for _ in range(count))
    story = f"seed {seed}: " + ", ".join(f"{at:.3f} s {what}" for at, what in plan)
    reason = None
    with boot() as guest:
        try:
            assert guest.leader
            started = time.monotonic()
            for at, what in plan:
                time.sleep(max(0, started + at - time.monotonic()))
                disturb(guest, what)
            guest.wait_booted()
            guest.wait_for(lambda: has_ended(guest), "boot to end and all to come to rest")
            reason = guest.state()["REASON"]
            found = violations(guest, [what for _, what in plan])
        except GuestError as error:
            found = [str(error), describe(guest)]
    return reason, "\n    ".join([story, *found]) if found else None


def test_disturbed_boots(container, tree):
    """Ended exactly once, for a reason that fits, never expedited again, nothing left."""
    use_policy(tree, "default.target", "booted", boot=["AllowUsers=alice"])
    tree.mask("systemd-logind.service")  # where its bus dies as it starts, PID 1 waits 90 s for it
    lock = threading.Lock()

    def boot():
        with lock:
            return container()

    with ThreadPoolExecutor(AT_A_TIME) as pool:
        results = list(pool.map(lambda seed: one_boot(boot, seed), range(SEED, SEED + BOOTS)))
    print("how they ended:", dict(Counter(reason for reason, _ in results)))
    wrong = [text for _, text in results if text]
    assert not wrong, f"{len(wrong)} of {BOOTS} boots:\n" + "\n".join(wrong)
