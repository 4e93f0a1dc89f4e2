# SPDX-License-Identifier: LGPL-2.1-or-later
"""Daemon and kernel together: full boots of Debian 12 on a kernel with the series, and on Debian's own with the module."""

import re

import pytest

from guest import kernels
from guest.evidence import assert_over, audit, be_patient, finish, wait_booting
from guest.scenario import use_policy, wait_ended

OURS = "hz250"
# Who waits for a grace period, and which way, from before the first program on.
WAITS = ("p:exp,synchronize_rcu_expedited", "p:normal,synchronize_rcu_normal")
TRACE_LINE = re.compile(r"^\s*(\S+)-(\d+)\s+\[\d+\]\s+\S+\s+([0-9.]+): (exp|normal): ")


def without_ext4(tree):
    """Our small kernel has no disks, so no I/O priorities, without which this service of Debian fails."""
    tree.mask("e2scrub_reap.service")


def kernel_view(report):
    """(ended, by, ms) as the kernel's nodes say."""
    return tuple(report.knobs[f"rcu_boot_ended{part}"] for part in ("", "_by", "_ms"))


def waits(report):
    """(usec, way, PID) of each wait for a grace period that the kernel's trace has."""
    found = (TRACE_LINE.match(line) for line in report.text("trace").splitlines())
    return [(round(float(match[3]) * 1e6), match[4], int(match[2])) for match in found if match]


def test_the_stock_policy_ends_the_kernels_boot(vm, tree):
    """70-vm.policy reports at its milestone; kernel and daemon agree. Until then every wait for a grace period was expedited,
    PID 1's among them; PID 1 does the same later, and waits normally."""
    without_ext4(tree)
    tree.service("later", "true")
    guest = vm(kernel=OURS, cmdline="user_booted_reported=1", probes=WAITS)
    guest.wait_booted()
    wait_ended(guest)
    guest.run("systemctl start later")
    report = guest.finish()
    status = assert_over(report, "milestones", ["rcu_expedited=1", "rcu_expedited=0"])
    assert status["policy"]["name"] == "70-vm.policy" and status["notes"] == [] and status["exit_code"] == 0

    is_ended, by, ms = kernel_view(report)
    assert (is_ended, by) == ("1", "user_booted")
    begin, end = report.knob_writes()
    assert end.usec // 1000 <= int(ms) <= status["since_usec"] // 1000 + 1000
    assert report.knobs["user_booted"] == "1"
    assert report.text("dmesg").count("Boot ended by user_booted") == 1

    knobs = {knob["name"]: knob for knob in status["knobs"]}
    assert knobs["rcu_boot_end_delay"]["during"]["written"] == 60000, "the kernel's fallback is the policy's deadline"
    assert knobs["user_booted"]["after"]["written"] == 1

    # What init itself does before the daemon starts is expedited by the kernel alone.
    taken = waits(report)
    before = [(way, pid) for usec, way, pid in taken if usec < end.usec]
    assert {way for way, _ in before} == {"exp"} and [pid for _, pid in before].count(1) >= 5
    assert ("normal", 1) in [(way, pid) for usec, way, pid in taken if usec // 1000 > int(ms)]
    assert [usec for usec, way, pid in taken if way == "exp" and pid == 1 and usec < begin.usec], "nothing waited that early"
    assert status["kernel"] == {
        "ended": True, "ended_by": "user_booted", "ended_usec": int(ms) * 1000, "until_usec": None, "promised": True,
        "verdict": "agrees",
    }  # fmt: skip
    assert "by user_booted: agrees" in report.text("status")


def test_deadline_in_the_kernel_when_the_daemon_is_gone_for_good(vm, tree):
    """Killed, and its unit masked so that nothing starts it again: the kernel's fallback ends it at the policy's deadline."""
    use_policy(
        tree, "never", boot=("DeadlineSec=25",), during=("rcu_boot_end_delay=deadline",),
        after=("rcu_boot_end_delay=0", "user_booted=1"),
    )  # fmt: skip
    guest = vm(kernel=OURS, cmdline="user_booted_reported=1 rcupdate.rcu_boot_end_delay=120000")
    wait_booting(guest, STARTS="1")
    assert guest.output("cat /sys/module/rcupdate/parameters/rcu_boot_end_delay") == "25000"
    guest.run(
        "systemctl mask --runtime rcu-boot-end.service rcu-boot-abandoned@stopped.service rcu-boot-abandoned@failed.service"
        " && systemctl daemon-reload && kill -KILL $(pidof rcu-bootd)"
    )
    guest.wait_until("grep -q 1 /sys/kernel/rcu_boot_ended")
    status = guest.status()
    report = guest.finish()
    is_ended, by, ms = kernel_view(report)
    assert (is_ended, by) == ("1", "fallback") and 25000 <= int(ms) < 25100
    assert report.text("dmesg").count("Have user space write 1 to /proc/sys/kernel/user_booted") == 1
    assert audit(report, "ENDED") == [] and audit(report, "DEADLINE") == []
    assert status["kernel"]["ended_by"] == "fallback"


def test_promise_that_no_policy_keeps(vm, tree):
    """user_booted_reported=1, and a policy that does not report: said at once, and again when the kernel helped itself."""
    use_policy(tree, "multi-user.target", boot=("DeadlineSec=1800",), after=("rcu_expedited=0",))
    guest = vm(kernel=OURS, cmdline="user_booted_reported=1 rcupdate.rcu_boot_end_delay=20000")
    guest.wait_booted()
    wait_ended(guest)
    early = guest.status()
    guest.wait_until("grep -q 1 /sys/kernel/rcu_boot_ended")
    late = guest.status()
    report = guest.finish()
    assert len(audit(report, "UNKEPT_PROMISE")) == 1
    assert early["kernel"] == {**early["kernel"], "ended": False, "promised": True, "verdict": "goes-on", "until_usec": 20000000}
    assert {note["id"] for note in early["notes"]} == {"kernel-goes-on", "unkept-promise"} and early["exit_code"] == 1
    assert late["kernel"] == {**late["kernel"], "ended": True, "ended_by": "fallback", "verdict": "later"}
    assert {note["id"] for note in late["notes"]} == {"kernel-later", "unkept-promise"} and late["exit_code"] == 0
    assert "user_booted=1" in report.text("status")


def module_tree(tree, *options):
    """Debian's kernel with our module, loaded as early as modules-load.d does."""
    release = kernels.release_of("6.12")
    module = kernels.modules("6.12") / "rcu_boot_end.ko"
    tree.write(f"usr/lib/modules/{release}/updates/dkms/rcu_boot_end.ko", module.read_bytes())
    tree.write("etc/modules-load.d/rcu-boot-end.conf", "rcu_boot_end\n")
    tree.write("etc/modprobe.d/rcu-boot-end.conf", f"options rcu_boot_end {' '.join(options)}\n")
    # Where depmod has not seen the module, as in this tree, the loader finds it by its path.
    tree.dropin("systemd-modules-load.service", "10-path", "[Service]\nExecStart=\n"
                f"ExecStart=/sbin/insmod /usr/lib/modules/{release}/updates/dkms/rcu_boot_end.ko {' '.join(options)}\n")  # fmt: skip


def test_module_on_a_stock_kernel(vm, tree):
    """Loaded while the daemon is waiting already: it ends when the daemon does."""
    be_patient(tree, "70-vm")
    module_tree(tree, "rcu_boot_end_delay=120000", "user_booted_reported=1")
    guest = vm(kernel="6.12")
    guest.wait_booted()
    report = finish(guest)
    status = assert_over(report, "milestones", ["rcu_expedited=1", "rcu_expedited=0"])
    is_ended, by, _ = kernel_view(report)
    assert (is_ended, by) == ("1", "user_booted")
    assert (status["kernel"]["ended_by"], status["kernel"]["verdict"], status["notes"]) == ("user_booted", "agrees", [])


@pytest.mark.parametrize("kernel", [OURS])
def test_kernel_that_nobody_asked(vm, tree, kernel):
    """The delay 0 and no promise: everything is as on a kernel without the series; but that the kernel's fallback could not be
    set, as the policy asks, is said."""
    without_ext4(tree)
    be_patient(tree, "70-vm")
    guest = vm(kernel=kernel, cmdline="rcupdate.rcu_boot_end_delay=0")
    guest.wait_booted()
    report = finish(guest)
    status = assert_over(report, "milestones", ["rcu_expedited=1", "rcu_expedited=0"], warnings=("KNOB_FAILED",))
    is_ended, by, ms = kernel_view(report)
    assert (is_ended, by) == ("1", "delay") and int(ms) < status["daemon"]["started_usec"] // 1000
    assert status["kernel"]["verdict"] == "earlier" and status["exit_code"] == 0
