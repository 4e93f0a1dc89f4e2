# SPDX-License-Identifier: LGPL-2.1-or-later
"""Scenarios (b), (c), (d): boot ended by the deadline, by root's hand, by a user who may."""

from guest.evidence import assert_over, audit, be_patient, expedited_now, finish, stores, wait_booting
from guest.scenario import POLICY_DIR, reached, wait_ended


def test_b_deadline(vm, tree):
    """Case 10, with the shipped policy and its minute: a device that never appears, and nothing else signals.

    Guest time follows executed instructions, so the minute is over as soon as the guest has nothing more to do.
    """
    tree.unit("dev-never.device", "[Unit]\nJobRunningTimeoutSec=infinity\n")
    stuck = "Requires=dev-never.device\nAfter=dev-never.device"
    tree.service("stuck", "exit 0\n", unit=stuck, wanted_by="multi-user.target")
    guest = vm(kernel="6.12", clock="skip-idle")
    report = finish(guest)

    status = assert_over(report, "deadline", ["rcu_expedited=1", "rcu_expedited=0"], warnings=["DEADLINE"])
    assert status["since_usec"] >= status["deadline_usec"] == 60_000_000
    assert report.knob_writes()[-1].usec >= 60_000_000
    assert status["missing"] == ["default.target"] and reached(status) == {}
    assert "deadline" in [note["id"] for note in status["notes"]]
    (entry,) = audit(report, "DEADLINE")
    assert (entry["PRIORITY"], entry["RCU_BOOT_MISSING"]) == ("4", "default.target")
    assert entry["RCU_BOOT_DEADLINE_USEC"] == "60000000"
    jobs = entry["RCU_BOOT_PENDING_JOBS"].split()
    assert jobs[0] == "dev-never.device/start", "the job that runs, and does not end, comes first"
    assert {"stuck.service/start", "multi-user.target/start", "graphical.target/start"} <= set(jobs)
    assert "default.target" in entry["MESSAGE"] and "dev-never.device" in entry["MESSAGE"]
    (logged,) = [one for one in report.json("log.json") if one["kind"] == "deadline"]
    assert logged["missing"] == ["default.target"] and logged["pending_jobs"] == jobs
    # Boot as PID 1 sees it goes on.
    assert report.manager["SystemState"] == "starting"
    assert "dev-never.device" in report.text("jobs")


def test_c_by_hand(vm, tree):
    """rcu-bootctl end, in mid-boot and before D-Bus is up. The policy is that of a host of containers, which also sets
    rcu_normal: in the order that is never slower nor more intrusive than both sides."""
    be_patient(tree, "20-container-host")
    tree.hold("here", before="basic.target")
    guest = vm(kernel="6.1", cmdline="rcu_bootd.class=container-host")
    guest.wait_held("here")
    wait_booting(guest)
    assert guest.ctl("wait", "--timeout=1", check=False).returncode == 3
    assert expedited_now(guest) == "1"

    guest.ctl("end", "--reason=seen enough")
    assert expedited_now(guest) == "0"
    status = wait_ended(guest)
    assert (status["phase"], status["reason_text"], status["mode"]) == ("ended", "seen enough", "normal")
    # Again: it is ended already, which is what was wanted.
    guest.ctl("end", "--reason=again")
    guest.release("here")
    guest.wait_booted()
    report = finish(guest)

    wanted = ["rcu_expedited=1", "rcu_normal=0", "rcu_normal=1", "rcu_expedited=0"]
    again = assert_over(report, "manual", wanted)
    assert again["since_usec"] == status["since_usec"]
    assert again["policy"]["name"] == "20-container-host.policy"
    assert again["missing"] == ["multi-user.target", "workloads-steady"]
    assert report.knob_writes()[-1].usec < int(report.manager["FinishTimestampMonotonic"])
    assert (report.knobs["rcu_expedited"], report.knobs["rcu_normal"]) == ("0", "1")
    (ended,) = audit(report, "ENDED")
    assert (ended["RCU_BOOT_REASON_TEXT"], ended["RCU_BOOT_MODE"]) == ("seen enough", "normal")


def test_d_users(vm, tree):
    """A phone's policy, in which alice may announce the home screen: mallory may not, and neither may do more."""
    be_patient(tree, "40-phone")
    tree.write(f"{POLICY_DIR}/40-phone.policy.d/shell.conf", "[Boot]\nAllowUsers=alice\n")
    tree.hold("here", before="multi-user.target", wanted_by="multi-user.target", after="basic.target")
    guest = vm(kernel="6.12", cmdline="rcu_bootd.class=phone")
    guest.wait_held("here")
    deadline = wait_booting(guest)["DEADLINE_USEC"]
    refused = guest.ctl("milestone", "home-screen", user="mallory", check=False)
    assert refused.returncode == 1 and "AllowUsers=" in refused.stderr
    for user in ("mallory", "alice"):
        assert guest.ctl("end", user=user, check=False).returncode == 1
        assert guest.ctl("extend", "3000", user=user, check=False).returncode == 1
    state = guest.state()
    assert (state["PHASE"], state["DEADLINE_USEC"]) == ("booting", deadline)
    assert not [key for key in state if key.startswith("REACHED_")]
    assert expedited_now(guest) == "1"

    guest.ctl("milestone", "home-screen", user="alice")
    assert expedited_now(guest) == "0"
    report = finish(guest)

    status = assert_over(report, "milestones", ["rcu_expedited=1", "rcu_expedited=0"])
    assert reached(status) == {"home-screen": "inbox"}
    assert status["policy"]["allow_users"] == ["alice"]
    refusals = audit(report, "REFUSED")
    assert refusals and {entry["RCU_BOOT_SENDER_UID"] for entry in refusals} <= {"1000", "1001"}
    assert (refusals[0]["RCU_BOOT_SENDER_UID"], refusals[0]["PRIORITY"]) == ("1001", "5")
    # The knob that only kernels since 6.10 have is a module's parameter, in another directory and of another form.
    assert report.knobs["rcu_normal_wake_from_gp"] == "1"
    knob = {one["name"]: one for one in status["knobs"]}["rcu_normal_wake_from_gp"]
    assert (knob["before"], knob["after"]["written"], knob["after"]["read_back"], knob["now"]) == (0, 1, 1, 1)
    (entry,) = [one for one in audit(report, "KNOB_WRITTEN") if one["RCU_BOOT_KNOB"] == "rcu_normal_wake_from_gp"]
    assert entry["RCU_BOOT_KNOB_READ_BACK"] == "1"
    assert stores(report) == ["rcu_expedited=1", "rcu_expedited=0"]
