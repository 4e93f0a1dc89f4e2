# SPDX-License-Identifier: LGPL-2.1-or-later
"""rcu-bootd and knobs that are not as they should be."""

import os
import stat
import subprocess

import pytest

from conftest import BUILD, environment, wait_for
from daemon_helpers import knob_record, policy, reach


def test_case_1_one_write_of_the_number_and_a_newline(tree, bootd):
    tree.policy()
    bootd.boot()
    assert (tree / "sys/kernel/rcu_expedited").read_bytes() == b"1\n"
    bootd.stop()
    assert (tree / "sys/kernel/rcu_expedited").read_bytes() == b"0\n"


def test_case_3_still_expedited(tree, bootd):
    tree.add_knob("rcu_expedited", 1)
    tree.add_knob("rcu_boot_end_delay", 15000)
    tree.write("proc/cmdline", "quiet rcupdate.rcu_expedited=1\n")
    tree.policy(text=policy(during="", after="rcu_boot_end_delay=0"))
    bootd.boot()
    reach(tree, "ready")
    bootd.wait()
    assert tree.state()["MODE"] == "expedited"
    assert "still expedited" in bootd.log


def test_early_hook_is_undone(tree, bootd):
    """What was expedited before the daemon came is no value to restore."""
    tree.add_knob("rcu_expedited", 1)
    tree.policy(text=policy(after="rcu_expedited=restore"))
    bootd.boot()
    reach(tree, "ready")
    bootd.wait()
    assert tree.knob("rcu_expedited") == 0


def test_case_4_android_name(tree, bootd):
    path = "sys/module/rcupdate/parameters/android_rcu_boot_end_delay"
    tree.add_knob("rcu_boot_end_delay", 15000, path=path)
    tree.policy(text=policy(deadline="110", during="rcu_boot_end_delay=deadline", after="rcu_boot_end_delay=0"))
    bootd.boot()
    assert tree.knob("rcu_boot_end_delay", path=path) == 110000
    reach(tree, "ready")
    bootd.wait()
    assert tree.knob("rcu_boot_end_delay", path=path) == 0


def test_case_4_no_knob_at_all(tree, bootd):
    tree.remove_knob("rcu_expedited")
    tree.remove_knob("rcu_normal")
    tree.policy()
    bootd.boot()
    reach(tree, "ready")
    bootd.wait()
    assert tree.state()["REASON"] == "milestones"
    assert bootd.log.count("rcu_expedited") <= 1  # said once


def in_mount_namespace(bootd, script):
    """Starts the daemon behind mounts that only it sees; the shell becomes the daemon."""
    if os.geteuid() != 0:
        pytest.fail("this test mounts: run it as root")
    command = f"{script}\nexec {BUILD}/rcu-bootd --root={bootd.tree.path} --foreground-log"
    with open(bootd.log_path, "ab") as log:
        bootd.process = subprocess.Popen(["unshare", "--mount", "sh", "-ec", command], stdin=subprocess.DEVNULL, stdout=log,
                                         stderr=log, env=environment())


def test_case_6_kernel_that_takes_only_zero(tree, bootd):
    """/proc/PID/oom_score_adj is such a file: EINVAL for what is above 1000, and 0 is fine."""
    tree.add_knob("rcu_boot_end_delay", 15000)
    tree.policy(text=policy(deadline="100", during="rcu_expedited=1 rcu_boot_end_delay=deadline",
                            after="rcu_expedited=0 rcu_boot_end_delay=0"))
    in_mount_namespace(bootd, f"mount --bind /proc/$$/oom_score_adj {tree.path}/sys/module/rcupdate/parameters/rcu_boot_end_delay")
    bootd.until("booting")
    wait_for(lambda: "during_errno" in knob_record(tree, "rcu_boot_end_delay"), "the write's record")
    assert knob_record(tree, "rcu_boot_end_delay")["during_errno"] == "22"
    assert tree.knob("rcu_expedited") == 1
    reach(tree, "ready")
    bootd.wait()
    assert knob_record(tree, "rcu_boot_end_delay")["after_errno"] == "0"
    assert "rcu_boot_end_delay" in bootd.log


def test_case_7_read_only(tree, bootd):
    tree.policy()
    in_mount_namespace(bootd, f"mount --bind {tree.path}/sys {tree.path}/sys; mount -o remount,bind,ro {tree.path}/sys")
    bootd.until("booting")
    reach(tree, "ready")
    bootd.wait()
    assert knob_record(tree, "rcu_expedited")["after_errno"] == "30"
    message = next(line for line in bootd.log.splitlines() if "rcu_expedited" in line)
    assert "Read-only file system" in message and "read-only" in message.split("Read-only file system")[1]


def test_case_8_one_knob_fails_the_others_do_not(tree, bootd):
    if os.geteuid() != 0:
        pytest.fail("this test makes a device node: run it as root")
    tree.add_all_knobs()
    tree.remove_knob("rcu_normal")
    os.mknod(tree / "sys/kernel/rcu_normal", stat.S_IFCHR | 0o666, os.makedev(1, 7))  # /dev/full
    tree.policy(text=policy(deadline="100", during="rcu_expedited=1 rcu_normal=0 rcu_boot_end_delay=deadline",
                            after="rcu_normal=1 rcu_expedited=0 rcu_boot_end_delay=0 user_booted=1"))
    bootd.boot()
    reach(tree, "ready")
    bootd.wait()
    assert knob_record(tree, "rcu_normal")["after_errno"] == "28"
    assert [tree.knob(k) for k in ("rcu_expedited", "rcu_boot_end_delay", "user_booted")] == [0, 0, 1]
