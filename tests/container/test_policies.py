# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which policy a boot goes by: directories, masks, drop-ins, broken files, classes, facts of the machine."""

import json

import pytest

from guest.scenario import MESSAGE_ID, POLICY_DIR, assert_ended, policy, reached, use_policy, wait_booting, wait_ended

USR, RUN, ETC = "usr/lib/rcu-bootd/policy.d", "run/rcu-bootd/policy.d", POLICY_DIR
DMI = "/sys/class/dmi/id/"

# Ends boot at once and tells itself from others by its deadline.
ENDS = "multi-user.target"


def mark(deadline, end_when=ENDS, **kwargs):
    return policy(end_when, boot=[f"DeadlineSec={deadline}"], **kwargs)


def in_run(tree, name, text):
    """Files of /run are made by something early in boot; here just before the daemon starts."""
    tree.write(f"usr/lib/rcu-test/run/{name}", text)
    tree.dropin("rcu-boot-end.service", "50-run", "[Service]\nExecStartPre=/usr/lib/rcu-test/fill-run\n")
    script = f"#!/bin/sh -e\nmkdir -p /{RUN}\ncp -a /usr/lib/rcu-test/run/. /{RUN}\n"
    tree.write("usr/lib/rcu-test/fill-run", script, 0o755)


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
    """A dangling link, a directory, a drop-in for a mask, an empty file, files with other names: none is used, and the
    next that matches is."""
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

BROKEN = {
    "rubbish": "rubbish\n",
    "value": "[Boot]\nEndWhen=x\n[During]\nrcu_expedited=Y\n[After]\nrcu_expedited=0\n",
    "no-end": "[Boot]\nEndWhen=x\nDeadlineSec=infinity\n",
    "no-milestone": "[Boot]\nDeadlineSec=10\n",
    "left-behind": "[Boot]\nEndWhen=x\n[During]\nrcu_expedited=1\n",
    "no-text": b"\xff\xfe\x00",
}


def test_case_31_broken_policies(container, tree):
    """Each skipped with an ERROR entry that names the file; the next match is used."""
    for name, text in BROKEN.items():
        tree.write(f"{ETC}/00-{name}.policy", text)
    tree.write(f"{ETC}/01-test.policy", mark(51))
    guest = container()
    guest.wait_booted()
    assert chosen(guest) == (f"/{ETC}/01-test.policy", 51)
    guest.run("journalctl --sync")
    entries = guest.journal(MESSAGE_ID=MESSAGE_ID["POLICY_REJECTED"])
    assert {entry["RCU_BOOT_POLICY_FILE"] for entry in entries} == {f"/{ETC}/00-{name}.policy" for name in BROKEN}
    for entry in entries:
        assert entry["PRIORITY"] == "3" and entry["RCU_BOOT_POLICY_FILE"] + ":" in entry["MESSAGE"]
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
    wait_booting(guest)
    guest.run(f"rm /{ETC}/01-test.policy && kill -KILL $(pidof rcu-bootd)")
    wait_booting(guest, 2)
    guest.ctl("milestone", "home-screen")
    status = assert_ended(guest, "milestones", restarts=1)
    assert (status["policy"]["name"], status["deadline_usec"]) == ("01-test.policy", 100_000_000)


# --- which one matches ---

@pytest.mark.parametrize(
    "options, name",
    [
        ({"cmdline": "quiet rcu_bootd.class=server"}, "80-server.policy"),
        ({"cmdline": "quiet rcu_bootd.class=nonesuch"}, "99-default.policy"),
        ({"cmdline": "rcu_bootd.class=vm", "class": "server"}, "70-vm.policy"),
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


@pytest.mark.parametrize(
    "name, announced",
    [("20-container-host", "workloads-steady"), ("30-chromebook", "boot-complete"), ("40-phone", "home-screen")],
)
def test_classes_that_wait_for_applications(container, tree, name, announced):
    """The installed policies whose last milestone something has to announce."""
    tree.write("etc/rcu-bootd/class", name[3:] + "\n")
    guest = container(knobs={"rcu_boot_end_delay": "15000", "user_booted": "0"})
    guest.wait_booted()
    guest.wait_for(lambda: guest.status()["missing"] == [announced], "all else to be reached")
    assert guest.knob("rcu_expedited") == "1"
    guest.ctl("milestone", announced)
    status = assert_ended(guest, "milestones")
    assert status["policy"]["name"] == f"{name}.policy"
    assert (guest.knob("rcu_boot_end_delay"), guest.knob("user_booted")) == ("0", "1")
    assert status["mode"] == ("normal" if name == "20-container-host" else "default")


FIRMWARE = {
    DMI + "sys_vendor": "ACME Inc.",
    DMI + "product_name": "Rocket Skates 9",
    DMI + "chassis_type": "9",
    "/sys/firmware/devicetree/base/compatible": b"acme,board-v2\0acme,board\0",
}
PLACEHOLDERS = {DMI + "sys_vendor": "To Be Filled By O.E.M.", DMI + "chassis_type": "1"}
SAYS_MUCH, SAYS_NOTHING = 1, 2

# [Match] lines -> the machines of these two on which they hold.
MATCHES = {
    "Vendor=ACME*": SAYS_MUCH,
    "Vendor=!ACME*": SAYS_NOTHING,
    "Vendor=*": SAYS_MUCH,
    'Product="Rocket Skates*"': SAYS_MUCH,
    "DeviceTree=acme,board": SAYS_MUCH,
    "DeviceTree=!*": SAYS_NOTHING,
    "Virtualization=systemd-nspawn": SAYS_MUCH | SAYS_NOTHING,
    "Virtualization=vm no": 0,
    "Chassis=container": SAYS_MUCH | SAYS_NOTHING,
    "Chassis=laptop": 0,
    "OS=debian": SAYS_MUCH | SAYS_NOTHING,
    "CPUs=>=1": SAYS_MUCH | SAYS_NOTHING,
    "CPUs=>4096": 0,
    "KernelCommandLine=quiet": SAYS_MUCH | SAYS_NOTHING,
    "KernelCommandLine=!quiet": 0,
    "OS=debian\nVendor=ACME*": SAYS_MUCH,
}


@pytest.mark.parametrize(
    "machine, sysfs", [(SAYS_MUCH, FIRMWARE), (SAYS_NOTHING, PLACEHOLDERS)], ids=["firmware", "placeholders"]
)
def test_case_26_facts(container, tree, machine, sysfs):
    """[Match] against a machine whose firmware says much, or only what its maker forgot to fill in."""
    for number, match in enumerate(MATCHES):
        tree.write(f"{ETC}/02-test-{number:02}.policy", mark(60 + number, match=[match]))
    guest = container(sysfs=sysfs)
    guest.wait_booted()
    holds = {60 + number: bool(where & machine) for number, where in enumerate(MATCHES.values())}
    assert chosen(guest)[1] == min(deadline for deadline, held in holds.items() if held)
    explained = json.loads(guest.output("rcu-bootctl policy explain --json"))["policies"]
    mine = sorted((one["name"], one["verdict"]) for one in explained if one["name"].startswith("02-test-"))
    assert [verdict != "no-match" for _, verdict in mine] == list(holds.values())
    assert_ended(guest, "milestones")
