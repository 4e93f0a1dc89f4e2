# SPDX-License-Identifier: LGPL-2.1-or-later
"""rcu-bootd on trees of its own: from start to exit, and all that can go wrong on the way."""

import os
import signal
import socket
import subprocess
import sys
import textwrap

import pytest

from conftest import BUILD, NOBODY, PATIENCE, environment, wait_for
from daemon_helpers import knob_record, never_expedited, policy, reach, seconds_from_now


# --- the main job ---

def test_from_start_to_end(tree, bootd):
    tree.policy(text=policy("login home"))
    bootd.boot()
    assert tree.knob("rcu_expedited") == 1
    reach(tree, "login")
    wait_for(lambda: "REACHED_1" in tree.state(), "login to be seen")
    assert tree.phase() == "booting"
    reach(tree, "home")
    bootd.wait()
    state = tree.state()
    assert state["PHASE"] == "ended" and state["REASON"] == "milestones"
    assert state["REACHED_1"].endswith(" directory login") and state["REACHED_2"].endswith(" directory home")
    assert tree.knob("rcu_expedited") == 0
    assert knob_record(tree, "rcu_expedited") == {
        "present": "1", "found": "0", "default": "0", "during": "1", "during_asked": "1", "during_errno": "0",
        "during_read": "1", "after": "0", "after_asked": "0", "after_errno": "0", "after_read": "0"}


def test_the_alternative(tree, bootd):
    tree.policy(text=policy(["login home", "short-cut"]))
    bootd.boot()
    reach(tree, "short-cut")
    bootd.wait()
    assert tree.state()["REASON"] == "milestones"


def test_through_the_inbox(tree, bootd, bootctl):
    tree.policy()
    bootd.boot()
    bootctl("milestone", "ready")
    bootd.wait()
    assert tree.state()["REACHED_1"].endswith(" inbox ready")


def test_names_that_nobody_waits_for_are_dropped(tree, bootd):
    tree.policy()
    bootd.boot()
    for n in range(300):
        reach(tree, f"other-{n}")
    reach(tree, "ready")
    bootd.wait()
    assert [key for key in tree.state() if key.startswith("REACHED_")] == ["REACHED_1"]


def test_every_knob(tree, bootd):
    tree.add_all_knobs()
    tree.add_knob("rcu_normal", 1)
    tree.add_knob("rcu_boot_end_delay", 15000)
    tree.policy(text=policy(
        deadline="119", during="rcu_expedited=1 rcu_normal=0 rcu_normal_wake_from_gp=1 rcu_boot_end_delay=deadline",
        after="rcu_expedited=restore rcu_normal=restore rcu_normal_wake_from_gp=keep rcu_boot_end_delay=0 user_booted=1"))
    bootd.boot()
    assert [tree.knob(k) for k in ("rcu_expedited", "rcu_normal", "rcu_normal_wake_from_gp", "rcu_boot_end_delay",
                                   "user_booted")] == [1, 0, 1, 119000, 0]
    reach(tree, "ready")
    bootd.wait()
    assert [tree.knob(k) for k in ("rcu_expedited", "rcu_normal", "rcu_normal_wake_from_gp", "rcu_boot_end_delay",
                                   "user_booted")] == [0, 1, 1, 0, 1]
    assert tree.state()["MODE"] == "normal"


def test_not_before(tree, bootd):
    tree.policy(text=policy(more=f"NotBeforeSec={seconds_from_now(1.5)}"))
    bootd.boot()
    reach(tree, "ready")
    bootd.wait()
    state = tree.state()
    assert state["REASON"] == "milestones"
    assert int(state["SINCE_USEC"]) >= int(state["NOT_BEFORE_USEC"]) > int(state["REACHED_1"].split()[0])


def test_tells_its_service_manager(tree, bootd):
    tree.policy()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tree.path.parent / "manager"))
        manager.settimeout(PATIENCE)
        said = []

        def hear(prefix):
            while not any(line.startswith(prefix) for line in said):
                said.extend(manager.recv(4096).decode().splitlines())
            return [line for line in said if line.startswith(prefix)]

        bootd.start(env={"NOTIFY_SOCKET": str(tree.path.parent / "manager")})
        hear("READY=1")
        assert "Waiting for ready" in hear("STATUS=Waiting")[0]
        reach(tree, "ready")
        assert "milestones" in hear("STATUS=RCU's boot ended")[0]
        bootd.wait()
        manager.setblocking(False)
        with pytest.raises(BlockingIOError):
            while True:
                said.extend(manager.recv(4096).decode().splitlines())
        # Systemd would take that for the unit's stop, and RemainAfterExit= would be for nothing.
        assert "STOPPING=1" not in said


def test_service_manager_that_does_not_listen(tree, bootd):
    """Its queue is full, and stays so: boot ends all the same."""
    tree.policy()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as flood:
        path = str(tree.path.parent / "manager")
        manager.bind(path)
        flood.setblocking(False)
        with pytest.raises(BlockingIOError):
            while True:
                flood.sendto(b"x", path)
        bootd.boot(env={"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "100000"})
        reach(tree, "ready")
        bootd.wait()
    assert tree.state()["REASON"] == "milestones"


# --- other ends ---

def test_case_10_deadline(tree, bootd):
    tree.policy(text=policy("there never", deadline=seconds_from_now(2)))
    bootd.boot()
    reach(tree, "there")
    bootd.wait()
    state = tree.state()
    assert state["REASON"] == "deadline"
    assert int(state["SINCE_USEC"]) >= int(state["DEADLINE_USEC"])
    assert tree.knob("rcu_expedited") == 0
    assert "never" in bootd.log.splitlines()[-1] and "there," not in bootd.log.splitlines()[-1]


def test_case_11_and_33_past_the_deadline(tree, bootd):
    tree.policy(text=policy(deadline="1", after="rcu_expedited=0 rcu_normal=1"))
    bootd.run()
    assert tree.state()["REASON"] == "late-start"
    assert never_expedited(tree)
    assert tree.knob("rcu_normal") == 1


def test_case_16_reached_before_the_start(tree, bootd):
    tree.policy()
    reach(tree, "ready")
    bootd.run()
    assert tree.state()["REASON"] == "late-start"
    assert never_expedited(tree)


def test_by_hand(tree, bootd, bootctl):
    tree.policy()
    bootd.boot()
    bootctl("end", "--reason=the operator is in a hurry")
    bootd.wait()
    assert tree.state()["REASON"] == "manual"
    assert tree.state()["REASON_TEXT"] == "the operator is in a hurry"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_told_to_stop(tree, bootd, number):
    tree.policy()
    bootd.boot()
    bootd.signal(number)
    bootd.wait()
    assert tree.state()["REASON"] == "stopped"
    assert tree.knob("rcu_expedited") == 0


def test_extended(tree, bootd, bootctl):
    tree.add_knob("rcu_boot_end_delay", 15000)
    tree.policy(text=policy(deadline="90", during="rcu_boot_end_delay=deadline", after="rcu_boot_end_delay=0"))
    bootd.boot()
    bootctl("extend", "100")
    deadline = int(tree.state()["DEADLINE_USEC"])
    assert deadline > 100_000_000 and tree.state()["EXTENDED"] == "1"
    assert tree.knob("rcu_boot_end_delay") == (deadline // 1000 if deadline <= 120_000_000 else 90000)
    assert ("rcu_boot_end_delay goes no further than 120 s" in bootd.log) == (deadline > 120_000_000)
    reach(tree, "ready")
    bootd.wait()


# --- policies ---

def test_case_31_broken_policy_is_passed_over(tree, bootd):
    tree.policy("10-broken.policy", "[Boot]\nEndWhen=x\n[During]\nrcu_expedited=on\n[After]\nrcu_expedited=0\n")
    tree.policy("20-good.policy", policy())
    bootd.boot()
    assert tree.state()["POLICY"] == "20-good.policy"
    assert "/etc/rcu-bootd/policy.d/10-broken.policy:4" in bootd.log


@pytest.mark.parametrize("broken", [True, False])
def test_case_31_the_last_resort_is_built_in(tree, bootd, broken):
    if broken:
        tree.policy("10-broken.policy", "nonsense\n")
    bootd.boot()
    assert tree.state()["POLICY"] == "99-default.policy"
    assert tree.state()["POLICY_FILE"] == "(built in)"


def test_forced_policy(tree, bootd):
    tree.policy("10-first.policy", policy())
    tree.write("elsewhere.policy", "[Match]\nChassis=watch\n" + policy("forced"))
    bootd.boot(f"--policy={tree.path}/elsewhere.policy")
    assert tree.state()["END_WHEN_1"] == "forced"


def test_forced_policy_that_is_broken(tree, bootd):
    tree.policy("10-first.policy", policy())
    tree.write("elsewhere.policy", "[Boot]\n")
    bootd.boot(f"--policy={tree.path}/elsewhere.policy")
    assert tree.state()["POLICY"] == "10-first.policy"
    assert f"{tree.path}/elsewhere.policy" in bootd.log


def test_class_decides(tree, bootd):
    tree.policy("10-a.policy", "[Match]\nArchitecture=*\n" + policy("a"))
    tree.policy("20-b.policy", "[Match]\nClass=kiosk\n" + policy("b"))
    tree.write("etc/rcu-bootd/class", "kiosk\n")
    bootd.boot()
    assert tree.state()["POLICY"] == "20-b.policy"


# --- who may what ---

def send(tree, text, user=0):
    code = textwrap.dedent("""
        import os, socket, sys
        fd = os.open(sys.argv[1], os.O_PATH)
        if int(sys.argv[3]): os.setgroups([]); os.setgid(int(sys.argv[3])); os.setuid(int(sys.argv[3]))
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(sys.argv[2].encode(), f"/proc/self/fd/{fd}/notify")
        """)
    subprocess.run([sys.executable, "-c", code, str(tree / "run/rcu-bootd"), text, str(user)], check=True, timeout=PATIENCE)


def test_case_24_users(tree, bootd):
    tree.policy(text=policy("one two", more=f"AllowUsers={NOBODY}"))
    bootd.boot()
    send(tree, "X_RCU_MILESTONE=one", user=1234)
    send(tree, "X_RCU_BOOT_END=1", user=NOBODY)
    send(tree, "X_RCU_BOOT_EXTEND_MS=1000", user=NOBODY)
    send(tree, "READY=1\nX_SYSTEMD_UNIT_ACTIVE=one", user=0)  # not PID 1
    send(tree, "X_RCU_MILESTONE=two", user=NOBODY)
    wait_for(lambda: "REACHED_2" in tree.state(), "two to be seen")
    assert "REACHED_1" not in tree.state() and tree.phase() == "booting"
    assert "uid 1234" in bootd.log.lower() or "1234" in bootd.log
    send(tree, "X_RCU_MILESTONE=one")
    bootd.wait()


def test_users_speak_for_themselves(tree, bootd):
    """What PID 1 and udev tell of is nothing that a user may announce, AllowUsers= or not."""
    others = ("a.target", "startup-finished", "device:net/eth0")
    tree.policy(text=policy(" ".join((*others, "mine", "last")), more=f"AllowUsers={NOBODY}"))
    bootd.boot()
    send(tree, "\n".join(f"X_RCU_MILESTONE={name}" for name in (*others, "mine")), user=NOBODY)
    wait_for(lambda: "REACHED_4" in tree.state(), "mine to be seen")
    assert not {"REACHED_1", "REACHED_2", "REACHED_3"} & set(tree.state())
    assert "only root may announce units" in bootd.log
    for name in (*others, "last"):
        send(tree, f"X_RCU_MILESTONE={name}")
    bootd.wait()


def test_case_21_garbage_does_no_harm(tree, bootd):
    tree.policy()
    bootd.boot()
    for text in ("", "\n\n\n", "no equals sign", "=", "A=\x01", "X_RCU_BOOT_END=maybe", "X_RCU_MILESTONE=" + "x" * 300):
        send(tree, text)
    send(tree, "X_RCU_MILESTONE=ready")
    bootd.wait()
    assert tree.state()["REASON"] == "milestones"


def test_case_23_in_order(tree, bootd):
    tree.policy(text=policy("a b c"))
    bootd.boot()
    send(tree, "X_RCU_MILESTONE=b\nX_RCU_MILESTONE=a\nX_RCU_MILESTONE=b")
    send(tree, "X_RCU_MILESTONE=c\nX_RCU_BOOT_END=1")
    bootd.wait()
    state = tree.state()
    assert state["REASON"] == "milestones"  # the last milestone stood before the request
    times = [int(state[f"REACHED_{n}"].split()[0]) for n in (2, 1, 3)]
    assert times == sorted(times)


AS_PID1 = textwrap.dedent("""
    import os, socket, subprocess, sys, time
    bootd, root = sys.argv[1:3]
    assert os.getpid() == 1
    host = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    host.bind(root + "/run/host")
    host.settimeout(100)
    daemon = subprocess.Popen([bootd, "--root=" + root, "--foreground-log"])
    while True:
        try:
            if "PHASE=booting" in open(root + "/run/rcu-bootd/state").read(): break
        except FileNotFoundError: pass
        time.sleep(0.02)
    fd = os.open(root + "/run/rcu-bootd", os.O_PATH)
    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    for text in sys.argv[3:]:
        s.sendto(text.encode(), f"/proc/self/fd/{fd}/notify")
        assert host.recv(4096) == text.encode()
    sys.exit(daemon.wait())
    """)


def test_pid1_reports_and_its_host_loses_nothing(tree):
    if os.geteuid() != 0:
        pytest.fail("this test makes a PID namespace: run it as root")
    tree.policy(text=policy("graphical.target default.target startup-finished"))
    tree.symlink("etc/systemd/system/default.target", "/usr/lib/systemd/system/multi-user.target")
    tree.write("proc/1/environ", "HOME=/\0NOTIFY_SOCKET=/run/host\0TERM=linux\0")
    subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-c", AS_PID1, BUILD / "rcu-bootd", tree.path,
                    "X_SYSTEMD_UNIT_ACTIVE=graphical.target", "STATUS=of no interest", "X_SYSTEMD_UNIT_ACTIVE=multi-user.target",
                    "READY=1\nSTATUS=Startup finished"], check=True, timeout=PATIENCE, env=environment())
    state = tree.state()
    assert state["REASON"] == "milestones"
    assert [state[f"REACHED_{n}"].split()[1] for n in (1, 2, 3)] == ["pid1"] * 3


def test_case_13_rescue_shell(tree, bootd):
    tree.policy()
    bootd.boot()
    tree.write("sys/fs/cgroup/system.slice/rescue.service/cgroup.events", "populated 1\nfrozen 0\n")
    tree.write("sys/fs/cgroup/system.slice/rescue.service/cgroup.procs", "123\n")
    reach(tree, "ready")
    wait_for(lambda: "REACHED_1" in tree.state(), "the milestone to be noted")
    assert tree.phase() == "booting"
    for name in ("cgroup.events", "cgroup.procs"):
        (tree / "sys/fs/cgroup/system.slice/rescue.service" / name).unlink()
    (tree / "sys/fs/cgroup/system.slice/rescue.service").rmdir()
    bootd.wait()
    assert tree.state()["REASON"] == "milestones"


# --- the command line ---

def test_help_and_version():
    for option, text in (("--help", "--foreground-log"), ("--version", "rcu-bootd ")):
        done = subprocess.run([BUILD / "rcu-bootd", option], capture_output=True, text=True, check=True, env=environment())
        assert text in done.stdout


@pytest.mark.parametrize("arguments", [["--nonsense"], ["argument"], ["--root"]])
def test_usage(arguments):
    done = subprocess.run([BUILD / "rcu-bootd", *arguments], capture_output=True, text=True, check=False, env=environment())
    assert done.returncode == 2 and "--help" in done.stderr


def test_root_that_is_not_there():
    done = subprocess.run([BUILD / "rcu-bootd", "--root=/nonexistent"], capture_output=True, text=True, check=False, env=environment())
    assert done.returncode == 1 and "/nonexistent" in done.stderr
