# SPDX-License-Identifier: LGPL-2.1-or-later
"""The main job, under real systemd: expedited while booting, back at the end, on whatever knobs there are."""

import pytest

from guest.scenario import ABANDONED, UNIT, assert_ended, reached, use_policy, values_written, wait_booting, wait_ended

ALL_KNOBS = {"rcu_expedited": "0", "rcu_normal": "0", "rcu_boot_end_delay": "15000", "user_booted": "0"}


@pytest.mark.parametrize("suite", ["bookworm", "trixie"])
def test_default_policy(container, tree, suite):
    tree.hold("here", before="basic.target")
    guest = container(suite=suite, knobs=ALL_KNOBS)
    guest.wait_held("here")

    status = wait_booting(guest)
    assert status["exit_code"] == 3 and status["daemon"]["running"] is True
    assert status["policy"]["name"] == "99-default.policy"
    assert status["missing"] == ["default.target"]
    assert status["mode"] == "expedited"
    assert [guest.knob(name) for name in ALL_KNOBS] == ["1", "0", "120000", "0"]
    assert guest.show(UNIT, "ActiveState", "SubState") == {"ActiveState": "active", "SubState": "running"}
    assert "Waiting for default.target" in guest.show(UNIT, "StatusText")["StatusText"]

    guest.release("here")
    guest.wait_booted()
    status = assert_ended(guest, "milestones")
    assert reached(status) == {"default.target": "bus"}
    assert status["missing"] == [] and status["notes"] == [] and status["exit_code"] == 0
    assert status["daemon"]["starts"] == 1

    report = guest.finish()
    assert {name: report.knobs[name] for name in ALL_KNOBS} == {
        "rcu_expedited": "0", "rcu_normal": "0", "rcu_boot_end_delay": "0", "user_booted": "1"}  # fmt: skip
    assert report.failed == []
    assert report.manager["SystemState"] == "running"
    assert report.processes("rcu-bootd") == []
    unit = {name: report.show[name] for name in ("ActiveState", "SubState", "Result")}
    assert unit == {"ActiveState": "active", "SubState": "exited", "Result": "success"}
    assert (report.show["NRestarts"], report.show["ExecMainStatus"]) == ("0", "0")
    assert report.show["StatusText"].startswith("RCU's boot ended") and "milestones" in report.show["StatusText"]
    assert (report.state["PHASE"], report.state["REASON"], report.state["MODE"]) == ("ended", "milestones", "default")
    assert report.rc("status") == 0 and report.rc("log") == 0
    assert "has ended" in report.text("status") and "milestones" in report.text("status")


def test_ends_when_the_target_is_active_and_not_before(container, tree):
    """case 19: the end follows the target, however long the rest of start-up takes."""
    tree.hold("after", before="multi-user.target", wanted_by="multi-user.target", after="basic.target")
    # Like a long job that a timer started: it begins with basic.target and nothing is ordered after it.
    tree.hold("long-job", before="shutdown.target", wanted_by="basic.target")
    guest = container()
    guest.wait_held("after")
    guest.wait_held("long-job")
    assert guest.status()["phase"] == "booting"
    guest.release("after")
    status = assert_ended(guest, "milestones")
    assert "READY=1" not in guest.notified, "start-up was to be unfinished still"
    at = {one["name"]: one["reached_usec"] for one in status["milestones"]}["default.target"]
    # The target is found active, so the daemon's time is not before PID 1's own.
    assert at >= int(guest.show("graphical.target", "ActiveEnterTimestampMonotonic")["ActiveEnterTimestampMonotonic"])
    guest.release("long-job")
    guest.wait_booted()


def test_starts_before_sysinit_and_holds_up_nothing(container, tree):
    tree.hold("early", before="sysinit.target")
    guest = container()
    guest.wait_held("early")
    guest.wait_for(lambda: guest.knob("rcu_expedited") == "1", "expediting to begin before sysinit.target")
    assert guest.active("sysinit.target") == "inactive"
    # Nothing of a boot is ordered after the daemon, apart from what asks for it.
    after = guest.show(UNIT, "Before")["Before"].split()
    assert set(after) <= {"shutdown.target", "rcu-boot-wait.service", *ABANDONED}
    guest.release("early")
    assert_ended(guest, "milestones")


@pytest.mark.parametrize(
    "knobs, cmdline, after, mode, notes",
    [
        pytest.param(
            {"rcu_expedited": None, "rcu_normal": None, "rcu_normal_wake_from_gp": None}, "quiet", {}, "unknown", [],
            id="case 4: a kernel without knobs"),
        pytest.param(
            {"android_rcu_boot_end_delay": "15000"}, "quiet", {"android_rcu_boot_end_delay": "0", "rcu_expedited": "0"},
            "default", [], id="case 4: the delay by its other name"),
        pytest.param(
            {"rcu_boot_end_delay": "15000", "android_rcu_boot_end_delay": "15000"}, "quiet",
            {"rcu_boot_end_delay": "0", "android_rcu_boot_end_delay": "15000"}, "default", [],
            id="case 4: both names, the first counts"),
        pytest.param(
            {"rcu_normal": "1"}, "rcupdate.rcu_normal=1", {"rcu_expedited": "0", "rcu_normal": "1"}, "normal", [],
            id="case 2: rcu_normal stays what it was"),
        pytest.param(
            {"rcu_expedited": "1"}, "rcupdate.rcu_expedited=1", {"rcu_expedited": "0"}, "default", [],
            id="expedited by the kernel command line already"),
        pytest.param(
            {"user_booted": "0"}, "quiet", {"user_booted": "1", "rcu_expedited": "0"}, "default", [],
            id="a kernel that wants to be told"),
    ],
)  # fmt: skip
def test_knobs_of_kernels(container, knobs, cmdline, after, mode, notes):
    guest = container(knobs=knobs, cmdline=cmdline)
    guest.wait_booted()
    status = wait_ended(guest)
    assert (status["reason"], status["mode_at_end"], status["mode"]) == ("milestones", mode, mode)
    assert [note["id"] for note in status["notes"]] == notes
    assert {name: guest.knob(name) for name in after} == after
    assert guest.active(UNIT) == "active"


def test_case_2_normal_beats_expedited(container, tree):
    """While booting, too, it is the effective mode that is told."""
    tree.hold("here", before="basic.target")
    guest = container(knobs={"rcu_normal": "1"})
    guest.wait_held("here")
    guest.wait_for(lambda: guest.knob("rcu_expedited") == "1", "expediting to begin")
    status = guest.status()
    assert status["mode"] == "normal" and "rcu_expedited" in status["mode_sentence"]


def test_case_3_the_policy_forgets_what_expedites(container, tree):
    use_policy(tree, "multi-user.target", during=["rcu_boot_end_delay=60000"], after=["rcu_boot_end_delay=0"])
    guest = container(knobs={"rcu_expedited": "1", "rcu_boot_end_delay": "0"}, cmdline="rcupdate.rcu_expedited=1")
    guest.wait_booted()
    status = wait_ended(guest)
    assert (status["reason"], status["mode_at_end"]) == ("milestones", "expedited")
    assert [(note["level"], note["id"]) for note in status["notes"]] == [("warning", "still-expedited")]


def test_restore_and_every_knob(container, tree):
    use_policy(
        tree, "multi-user.target",
        during=["rcu_expedited=1", "rcu_normal=0", "rcu_normal_wake_from_gp=1", "rcu_boot_end_delay=deadline"],
        after=["rcu_expedited=restore", "rcu_normal=restore", "rcu_normal_wake_from_gp=keep", "rcu_boot_end_delay=keep",
               "user_booted=1"],
    )  # fmt: skip
    guest = container(knobs={**ALL_KNOBS, "rcu_normal": "1"}, cmdline="rcupdate.rcu_normal_after_boot=1")
    guest.wait_booted()
    status = assert_ended(guest, "milestones")
    assert status["mode_at_end"] == "normal"
    assert {name: guest.knob(name) for name in (*ALL_KNOBS, "rcu_normal_wake_from_gp")} == {
        "rcu_expedited": "0", "rcu_normal": "1", "rcu_boot_end_delay": "120000", "user_booted": "1",
        "rcu_normal_wake_from_gp": "1"}  # fmt: skip
    assert values_written(guest, "rcu_normal") == ["0", "1"]
    # To expedite, first rcu_expedited; to end, first rcu_normal.
    both = ("rcu_expedited", "rcu_normal")
    order = [(write.knob, write.value) for write in guest.knob_writes() if write.knob in both]
    assert [one for i, one in enumerate(order) if order[i - 1 : i] != [one]] == [
        ("rcu_expedited", "1"), ("rcu_normal", "0"), ("rcu_normal", "1"), ("rcu_expedited", "0")]  # fmt: skip


def test_left_expedited_by_policy(container, tree):
    """A legal choice: nothing warns of it, and the kernel is told all the same."""
    use_policy(tree, "multi-user.target", after=["rcu_expedited=1", "user_booted=1"])
    guest = container(knobs=ALL_KNOBS)
    guest.wait_booted()
    status = wait_ended(guest)
    assert (status["reason"], status["mode"]) == ("milestones", "expedited")
    assert (status["notes"], status["exit_code"]) == ([], 0)
    assert (guest.knob("rcu_expedited"), guest.knob("user_booted")) == ("1", "1")


def test_case_9_drift(container):
    """Another tool puts an old value back after the end."""
    guest = container()
    guest.wait_booted()
    assert_ended(guest, "milestones")
    guest.set_knob("rcu_expedited", "1")
    result = guest.ctl("status", check=False)
    assert result.returncode == 1
    assert "drift" in result.stdout
    status = guest.status()
    assert status["drift"] is True and status["mode"] == "expedited"
    assert [(note["id"], note["knob"]) for note in status["notes"] if note["level"] == "problem"] == [
        ("drift", "rcu_expedited")]  # fmt: skip
    # Nobody writes it back: what the administrator does after the end is the administrator's.
    guest.run(f"systemctl restart {UNIT}")
    wait_ended(guest)
    assert guest.knob("rcu_expedited") == "1"
    guest.set_knob("rcu_expedited", "0")
    assert guest.status()["drift"] is False


def test_case_8_one_knob_cannot_be_written(container, tree):
    """The others are written all the same, it is told, and the unit does not fail."""
    tree.service(
        "lock-knob", "mount --bind /sys/kernel/rcu_normal /sys/kernel/rcu_normal\n"
        "mount -o remount,bind,ro /sys/kernel/rcu_normal\n",
        unit=f"DefaultDependencies=no\nBefore={UNIT}", wanted_by="sysinit.target",
    )  # fmt: skip
    use_policy(tree, "multi-user.target", during=["rcu_expedited=1", "rcu_normal=0"],
               after=["rcu_expedited=0", "rcu_normal=1", "user_booted=1"])  # fmt: skip
    guest = container(knobs=ALL_KNOBS)
    guest.wait_booted()
    status = assert_ended(guest, "milestones")
    knobs = {knob["name"]: knob for knob in status["knobs"]}
    assert knobs["rcu_normal"]["after"]["errno"] == 30  # EROFS
    assert (guest.knob("rcu_expedited"), guest.knob("user_booted")) == ("0", "1")
    assert status["exit_code"] == 1 and "after-failed" in [note["id"] for note in status["notes"]]
    assert guest.output("systemctl --failed --no-legend --plain") == ""


def test_case_7_read_only_sysfs(container):
    """Somebody resets the unit's condition in a container as it is: told with cause and remedy, and nothing fails."""
    guest = container(readonly=True)
    guest.wait_booted()
    status = wait_ended(guest)
    assert (status["phase"], status["reason"]) == ("ended", "milestones")
    assert guest.active(UNIT) == "active"
    texts = [note["text"] for note in status["notes"] if note["level"] == "problem"]
    assert texts and all("EROFS" in text for text in texts)
    assert guest.knob("rcu_expedited") == "0"
