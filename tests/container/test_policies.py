# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which policy a boot goes by: directories, masks, drop-ins, broken files, classes, facts of the machine."""

import json

import pytest

from guest.scenario import MESSAGE_ID, POLICY_DIR, assert_ended, policy, reached, use_policy, wait_ended

USR, RUN, ETC = "usr/lib/rcu-bootd/policy.d", "run/rcu-bootd/policy.d", POLICY_DIR
DMI = "/sys/class/dmi/id/"

# Ends boot at once and tells itself from others by its deadline.
ENDS = "multi-user.target"


def mark(deadline, end_when=ENDS, **kwargs):
    return policy(end_when, boot=[f"DeadlineSec={deadline}"], **kwargs)


def in_run(tree, name, text):
    """Files of /run are made by something early in boot; here just before the daemon starts."""
    tree.write(f"usr/lib/rcu-test/run/{name}", text)
    tree.dropin("rcu-boot-end.service", "50-run", f"[Service]\nExecStartPre=/usr/lib/rcu-test/fill-run\n")
    tree.write("usr/lib/rcu-test/fill-run", f"#!/bin/sh -e\nmkdir -p /{RUN}\ncp -a /usr/lib/rcu-test/run/. /{RUN}\n", 0o755)


def chosen(guest):
    status = wait_ended(guest)
    return status["policy"]["file"], status["deadline_usec"] // 1_000_000


# --- directories (case 29) ---

@pytest.mark.parametrize(
    "files, masks, result",
    [
        ({USR: 31}, (), (USR, 31)),
        ({USR: 31, RUN: 32}, (), (RUN, 32)),
        ({USR: 31, RUN: 32, ETC: 33}, (), (ETC, 33)),
        ({USR: 31, RUN: 32}, (ETC,), None),
        ({ETC: 33}, (USR,), (ETC, 33)),
    ],
    ids=str,
)
def test_case_29_same_name(container, tree, files, masks, result):
    """/etc over /run over /usr/lib; a mask hides all below it. What is left is the default policy."""
    for directory, deadline in files.items():
        if directory == RUN:
            in_run(tree, "01-test.policy", mark(deadline))
        else:
            tree.write(f"{directory}/01-test.policy", mark(deadline))
    for directory in masks:
        tree.symlink(f"{directory}/01-test.policy", "/dev/null")
    guest = container()
    guest.wait_booted()
    wanted = (f"/{result[0]}/01-test.policy", result[1]) if result else (f"/{USR}/99-default.policy", 120)
    assert chosen(guest) == wanted
    assert_ended(guest, "milestones")


def test_case_29_oddities(container, tree):
    """A dangling link, a directory, an unreadable file, a drop-in for a mask, files with other names: none is used, each
    that looks like a policy is told, and the next that matches is taken."""
    tree.symlink(f"{ETC}/01-dangling.policy", "/nonexistent")
    tree.mkdir(f"{ETC}/02-directory.policy")
    tree.symlink(f"{ETC}/03-masked.policy", "/dev/null")
    tree.write(f"{ETC}/03-masked.policy.d/x.conf", "[Boot]\nEndWhen=x\n")
    tree.write(f"{ETC}/04-empty.policy", "")
    tree.write(f"{ETC}/05-drop-in-of-nothing.policy.d/x.conf", "[Boot]\nEndWhen=x\n")
    tree.write(f"{ETC}/.06-hidden.policy", mark(36))
    tree.write(f"{ETC}/07-other.policy.dpkg-old", mark(37))
    tree.write(f"{ETC}/08-good.policy", mark(38))
    guest = container()
    guest.wait_booted()
    assert chosen(guest) == (f"/{ETC}/08-good.policy", 38)
    guest.run("journalctl --sync")
    told = {entry["RCU_BOOT_POLICY_FILE"] for entry in guest.journal(MESSAGE_ID=MESSAGE_ID["POLICY_REJECTED"])}
    assert told <= {f"/{ETC}/01-dangling.policy", f"/{ETC}/02-directory.policy"}


def test_case_29_drop_ins(container, tree):
    """From all directories, in the order of their names; `policy explain` knows where each value is from."""
    tree.write(f"{USR}/01-test.policy", policy("never.target", boot=["DeadlineSec=31"]))
    tree.write(f"{USR}/01-test.policy.d/10-a.conf", "[Boot]\nDeadlineSec=41\n")
    tree.write(f"{ETC}/01-test.policy.d/20-b.conf", f"[Boot]\nDeadlineSec=42\nEndWhen={ENDS}\n[After]\nuser_booted=1\n")
    tree.write(f"{USR}/01-test.policy.d/30-c.conf", "[Boot]\nDeadlineSec=43\n")
    tree.symlink(f"{ETC}/01-test.policy.d/30-c.conf", "/dev/null")
    guest = container(knobs={"user_booted": "0"})
    guest.wait_booted()
    status = assert_ended(guest, "milestones")
    assert (status["policy"]["file"], status["deadline_usec"]) == (f"/{USR}/01-test.policy", 42_000_000)
    assert status["end_when"] == [["never.target"], [ENDS]] and guest.knob("user_booted") == "1"
    values = json.loads(guest.output("rcu-bootctl policy explain --json"))["values"]
    assert {one["key"]: one["file"] for one in values}["DeadlineSec"] == f"/{ETC}/01-test.policy.d/20-b.conf"


# --- broken ones (case 31) ---

@pytest.mark.parametrize(
    "broken",
    [
        "rubbish\n",
        "[Boot]\nEndWhen=x\n[During]\nrcu_expedited=Y\n[After]\nrcu_expedited=0\n",
        "[Boot]\nEndWhen=x\nDeadlineSec=infinity\n",
        "[Boot]\nDeadlineSec=10\n",
        "[Boot]\nEndWhen=x\n[During]\nrcu_expedited=1\n",
        b"\xff\xfe\x00",
    ],
)
def test_case_31_broken_policy(container, tree, broken):
    """Skipped with an ERROR entry that names file and line; the next match is used."""
    tree.write(f"{ETC}/00-broken.policy", broken)
    tree.write(f"{ETC}/01-test.policy", mark(51))
    guest = container()
    guest.wait_booted()
    assert chosen(guest) == (f"/{ETC}/01-test.policy", 51)
    guest.run("journalctl --sync")
    (entry,) = guest.journal(MESSAGE_ID=MESSAGE_ID["POLICY_REJECTED"])
    assert entry["PRIORITY"] == "3" and f"/{ETC}/00-broken.policy" in entry["MESSAGE"]
    assert guest.ctl("policy", "check", check=False).returncode == 1


@pytest.mark.parametrize("how", ["all broken", "all masked"])
def test_case_31_built_in(container, tree, installed_tree, how):
    """With no valid policy left there is the one in the daemon: boot ends as with 99-default."""
    names = sorted(path.name for path in (installed_tree.path / USR).iterdir())
    assert "99-default.policy" in names
    for name in names:
        if how == "all broken":
            tree.write(f"{ETC}/{name}", "[Boot\n")
        else:
            tree.symlink(f"{ETC}/{name}", "/dev/null")
    guest = container()
    guest.wait_booted()
    assert chosen(guest) == ("(built in)", 120)
    assert reached(assert_ended(guest, "milestones")) == {"default.target": "bus"}


def test_case_31_broken_drop_in(container, tree):
    """It takes its policy with it, not only itself."""
    tree.write(f"{ETC}/01-test.policy", mark(52))
    tree.write(f"{ETC}/01-test.policy.d/x.conf", "[Boot]\nNoSuchKey=1\n")
    guest = container()
    guest.wait_booted()
    assert chosen(guest) == (f"/{USR}/99-default.policy", 120)


def test_policy_changes_while_booting(container, tree):
    """The policy of a boot is read once: neither a new file nor a restarted daemon changes it."""
    use_policy(tree, "home-screen", boot=["DeadlineSec=100"])
    guest = container()
    guest.wait_booted()
    guest.wait_for(lambda: guest.status()["phase"] == "booting", "the daemon to wait")
    guest.run(f"rm /{ETC}/01-test.policy && kill -KILL $(pidof rcu-bootd)")
    guest.wait_for(lambda: guest.status()["daemon"]["starts"] == 2, "the second daemon")
    guest.wait_for(lambda: guest.status()["daemon"]["running"], "the second daemon")
    guest.ctl("milestone", "home-screen")
    status = assert_ended(guest, "milestones", restarts=1)
    assert (status["policy"]["name"], status["deadline_usec"]) == ("01-test.policy", 100_000_000)


# --- which one matches ---

@pytest.mark.parametrize(
    "options, name",
    [
        ({}, "99-default.policy"),
        ({"cmdline": "quiet rcu_bootd.class=server"}, "80-server.policy"),
        ({"cmdline": "quiet rcu_bootd.class=nonesuch"}, "99-default.policy"),
        ({"cmdline": "rcu_bootd.class=vm", "class": "server"}, "70-vm.policy"),
        ({"class": "server"}, "80-server.policy"),
        ({"class": "embedded"}, "60-embedded.policy"),
        ({"class": "embedded", "sysfs": {DMI + "chassis_type": "9"}}, "60-embedded.policy"),
    ],
    ids=str,
)
def test_case_26_class(container, tree, options, name):
    """What the administrator says it is, it is, whatever the firmware says; the command line before the file."""
    options = dict(options)
    text = options.pop("class", None)
    if text is not None:
        tree.write("etc/rcu-bootd/class", text + "\n")
    guest = container(**options)
    guest.wait_booted()
    status = assert_ended(guest, "milestones")
    assert status["policy"]["name"] == name
    explained = json.loads(guest.output("rcu-bootctl policy explain --json"))
    assert [one["name"] for one in explained["policies"] if one["verdict"] == "chosen"] == [name]


@pytest.mark.parametrize("name, announced", [("20-container-host", ["workloads-steady"]), ("30-chromebook", ["boot-complete"]), ("40-phone", ["home-screen"])])
def test_classes_that_wait_for_applications(container, tree, name, announced):
    """The installed policies whose last milestone something has to announce."""
    tree.write("etc/rcu-bootd/class", name[3:] + "\n")
    guest = container(knobs={"rcu_boot_end_delay": "15000", "user_booted": "0"})
    guest.wait_booted()
    guest.wait_for(lambda: guest.status()["missing"] == announced, "all else to be reached")
    assert guest.knob("rcu_expedited") == "1"
    for milestone in announced:
        guest.ctl("milestone", milestone)
    status = assert_ended(guest, "milestones")
    assert status["policy"]["name"] == f"{name}.policy"
    assert (guest.knob("rcu_boot_end_delay"), guest.knob("user_booted")) == ("0", "1")
    assert status["mode"] == ("normal" if name == "20-container-host" else "default")


@pytest.mark.parametrize(
    "match, sysfs, holds",
    [
        (["Vendor=ACME*"], {DMI + "sys_vendor": "ACME Inc."}, True),
        (["Vendor=ACME*"], {DMI + "sys_vendor": "To Be Filled By O.E.M."}, False),
        (["Vendor=!ACME*"], {DMI + "sys_vendor": "To Be Filled By O.E.M."}, True),
        (["Product=\"Rocket Skates*\""], {DMI + "product_name": "Rocket Skates 9"}, True),
        (["DeviceTree=acme,board"], {"/sys/firmware/devicetree/base/compatible": b"acme,board-v2\0acme,board\0"}, True),
        (["Virtualization=vm no"], {}, False),
        (["Virtualization=systemd-nspawn", "Chassis=container"], {}, True),
        (["OS=debian", "CPUs=>=1", "KernelCommandLine=quiet"], {}, True),
    ],
    ids=str,
)  # fmt: skip
def test_case_26_facts(container, tree, match, sysfs, holds):
    """[Match] against a machine with such firmware. (Without /sys/class/dmi: unknown, and nothing holds of that.)"""
    tree.write(f"{ETC}/01-test.policy", mark(61, match=match))
    guest = container(sysfs=sysfs or {DMI + "chassis_type": "1"})
    guest.wait_booted()
    assert (chosen(guest)[1] == 61) == holds
    assert_ended(guest, "milestones")
    if not holds:
        explained = json.loads(guest.output("rcu-bootctl policy explain --json"))
        (mine,) = [one for one in explained["policies"] if one["name"] == "01-test.policy"]
        assert mine["verdict"] == "no-match"

