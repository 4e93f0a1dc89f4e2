# SPDX-License-Identifier: LGPL-2.1-or-later
"""rcu-bootctl policy list, show and explain: which policy, why, and where each value is from."""

import os
import re

import pytest

from conftest import NOBODY, SOURCE, json_keys, undescribed

ETC, RUN, USR = ("/etc/rcu-bootd/policy.d", "/run/rcu-bootd/policy.d", "/usr/lib/rcu-bootd/policy.d")


def policy(match="", deadline=60, end_when="graphical.target", more=""):
    return (f"[Match]\n{match}\n" if match else "") + f"[Boot]\nEndWhen={end_when}\nDeadlineSec={deadline}\n{more}"


def explain(bootctl):
    return bootctl("policy", "explain", "--json").json()


def verdicts(data):
    return {p["name"]: p["verdict"] for p in data["policies"]}


def named(data, name):
    return next(p for p in data["policies"] if p["name"] == name)


def values(data):
    return [(v["section"], v["key"], v["value"], v["file"] and f"{v['file']}:{v['line']}") for v in data["values"]]


# --- which one ---

def test_order_and_verdicts(bootctl, tree):
    tree.policy("30-third.policy", policy(deadline=30))
    tree.policy("10-first.policy", policy("KernelCommandLine=nothere"), directory="usr/lib")
    tree.policy("20-second.policy", policy("KernelCommandLine=quiet"), directory="run")
    tree.policy("40-broken.policy", "[Boot]\nEndWhen=\n")
    tree.symlink("etc/rcu-bootd/policy.d/50-masked.policy", "/dev/null")

    data = explain(bootctl)
    assert list(verdicts(data).items()) == [
        ("10-first.policy", "no-match"), ("20-second.policy", "chosen"), ("30-third.policy", "matches"),
        ("40-broken.policy", "faulty"), ("50-masked.policy", "masked")]
    assert data["chosen"] == "20-second.policy" and data["why"] and data["in_force"] is None and data["class"] is None
    assert data["facts"]["KernelCommandLine"] == ["quiet"]
    assert [p["file"] for p in data["policies"][:3]] == [f"{USR}/10-first.policy", f"{RUN}/20-second.policy",
                                                         f"{ETC}/30-third.policy"]
    assert named(data, "30-third.policy")["deadline_usec"] == 30000000
    assert named(data, "40-broken.policy")["deadline_usec"] is None

    text = bootctl("policy", "explain").out
    assert f"\n20-second.policy: chosen\n    {RUN}/20-second.policy\n    {data['why']}\n" in text
    assert re.search(r"^30-third\.policy: matches, later\n", text, re.M)

    listed = bootctl("policy", "list", "--json").json()
    assert (listed["chosen"], listed["in_force"], listed["policies"]) == (data["chosen"], data["in_force"], data["policies"])
    rows = [re.split(r"  +", line) for line in bootctl("policy", "list").out.splitlines()]
    assert rows[0] == ["POLICY", "HERE", "DEADLINE", "ENDS WHEN", "FILE"]
    assert rows[2] == ["20-second.policy", "chosen", "60 s", "graphical.target", f"{RUN}/20-second.policy"]
    assert [row[1] for row in rows[1:]] == ["no match", "chosen", "matches, later", "faulty", "masked"]


def test_first_key_that_does_not_hold(bootctl, tree):
    """With the machine's own value."""
    tree.write("etc/os-release", "ID=debian\nID_LIKE=\n")
    tree.policy("10-os.policy", policy("OS=debian\nKernelCommandLine=quiet\n\nCPUs=>4096\nVendor=acme"))
    tree.policy("20-not.policy", policy("OS=!debian ubuntu"))
    tree.policy("99-rest.policy")
    tree.write("sys/devices/system/cpu/present", "0-3\n")

    data = explain(bootctl)
    # Keys are tried in the order of rcu-boot-policy(5), not of the file.
    assert named(data, "10-os.policy")["mismatch"] == {
        "key": "Vendor", "expected": "acme", "file": f"{ETC}/10-os.policy", "line": 6, "actual": [], "by_class": False}
    assert named(data, "20-not.policy")["mismatch"] == {
        "key": "OS", "expected": "!debian ubuntu", "file": f"{ETC}/20-not.policy", "line": 2, "actual": ["debian"],
        "by_class": False}
    assert named(data, "99-rest.policy")["mismatch"] is None

    text = bootctl("policy", "explain").out
    assert f"    Vendor=acme, but nothing is known of that here ({ETC}/10-os.policy:6)\n" in text
    assert f"    OS=!debian ubuntu, but here it is: debian ({ETC}/20-not.policy:2)\n" in text


def test_many_values_are_cut(bootctl, tree):
    tree.write("proc/cmdline", " ".join(f"word{i}" for i in range(20)) + "\n")
    tree.policy("10-word.policy", policy("KernelCommandLine=nothere"))
    text = bootctl("policy", "explain").out
    assert "but here it is: word0 word1 word2 word3 word4 word5 word6 word7 and 12 more (" in text
    assert len(explain(bootctl)["policies"][0]["mismatch"]["actual"]) == 20


def test_class_decides_alone(bootctl, tree):
    """case 26: whatever the firmware says."""
    tree.policy("10-kiosk.policy", policy("Class=kiosk\nVendor=nobody"))
    tree.policy("20-quiet.policy", policy("KernelCommandLine=quiet"))
    tree.policy("99-rest.policy", policy())
    assert explain(bootctl)["chosen"] == "20-quiet.policy"

    tree.write("etc/rcu-bootd/class", "kiosk\n")
    data = explain(bootctl)
    assert data["chosen"] == "10-kiosk.policy" and data["class"] == "kiosk"
    assert named(data, "20-quiet.policy")["mismatch"] == {
        "key": "Class", "expected": None, "file": None, "line": None, "actual": ["kiosk"], "by_class": True}
    text = bootctl("policy", "explain").out
    assert text.startswith("Class set by the administrator (rcu_bootd.class= on the kernel command line, "
                           "or /etc/rcu-bootd/class): kiosk.")
    assert '    has no Class=, and this machine is of class "kiosk"\n' in text


def test_class_that_is_not_set(bootctl, tree):
    tree.policy("10-kiosk.policy", policy("Class=kiosk"))
    assert "Class=kiosk, but no class is set on this machine" in bootctl("policy", "explain").out


def test_nothing_installed(bootctl):
    """case 31: what is built in is left."""
    data = explain(bootctl)
    assert data["chosen"] is None and data["policies"] == []
    assert {file.rsplit(":", 1)[0] for _s, _k, _v, file in values(data) if file} == {"(built in)"}
    assert "the policy that is built in would be in force" in bootctl("policy", "explain").out
    assert "the policy that is built in would be in force" in bootctl("policy", "list").out
    assert bootctl("policy", "show").out.startswith("; (built in)\n")


def test_broken_one_is_skipped(bootctl, tree):
    """case 31: the next one that matches."""
    path = tree.policy("10-broken.policy", "[Boot]\nEndWhen=a.target\nDeadlinSec=5\n[Durin]\n")
    tree.policy("20-good.policy")
    data = explain(bootctl)
    assert data["chosen"] == "20-good.policy"
    errors = named(data, "10-broken.policy")["errors"]
    assert [e.split(": ")[0] for e in errors] == [f"{ETC}/10-broken.policy:3", f"{ETC}/10-broken.policy:4"]
    assert f"    {errors[0]}\n" in bootctl("policy", "explain").out
    assert path.exists()


def test_in_force_is_another_one(bootctl, tree):
    """It was changed since, or forced."""
    tree.policy()
    tree.write_state()
    data = explain(bootctl)
    assert data["in_force"] == f"{USR}/80-server.policy"
    for verb in ("list", "explain"):
        assert f"This boot goes by another one: {USR}/80-server.policy\n" in bootctl("policy", verb).out
    tree.write_state(policy_file=f"{ETC}/50-test.policy")
    for verb in ("list", "explain"):
        assert "another one" not in bootctl("policy", verb).out


# --- where a value is from: case 29 ---

def test_origins(bootctl, tree):
    """case 29: the origin of every value, drop-ins included."""
    tree.policy("50-laptop.policy", """\
; a comment
[Match]
KernelCommandLine="qu?et" 'two words'
[Boot]
EndWhen=graphical.target home-screen
DeadlineSec=1min 30.5s
[During]
rcu_expedited=1
rcu_boot_end_delay=deadline
[After]
rcu_expedited=restore
rcu_boot_end_delay=0
rcu_normal=1
""", directory="usr/lib")
    tree.write(f"etc/{USR[9:]}/50-laptop.policy.d/20-b.conf", "[Boot]\nAllowUsers=kiosk 1000\n[After]\nrcu_expedited=0\n")
    tree.write(f"run/{USR[9:]}/50-laptop.policy.d/10-a.conf", "[Boot]\nEndWhen=booted\nNotBeforeSec=2\n")
    main, a, b = f"{USR}/50-laptop.policy", f"{RUN}/50-laptop.policy.d/10-a.conf", f"{ETC}/50-laptop.policy.d/20-b.conf"

    data = explain(bootctl)
    expected = [
        ("Match", "KernelCommandLine", 'qu?et "two words"', f"{main}:3"),
        ("Boot", "EndWhen", "graphical.target home-screen", f"{main}:5"),
        ("Boot", "EndWhen", "booted", f"{a}:2"),
        ("Boot", "NotBeforeSec", "2", f"{a}:3"),
        ("Boot", "DeadlineSec", "90.5", f"{main}:6"),
        ("Boot", "AllowUsers", "kiosk 1000", f"{b}:2"),
        ("During", "rcu_expedited", "1", f"{main}:8"),
        ("During", "rcu_boot_end_delay", "deadline", f"{main}:9"),
        ("After", "rcu_expedited", "0", f"{b}:4"),
        ("After", "rcu_normal", "1", f"{main}:13"),
        ("After", "rcu_boot_end_delay", "0", f"{main}:12")]
    assert values(data) == expected
    assert named(data, "50-laptop.policy")["dropins"] == [a, b]

    text = bootctl("policy", "explain").out
    for _section, key, value, origin in expected:
        assert re.search(rf"^{re.escape(key)}={re.escape(value)} +; {re.escape(origin)}$", text, re.M)
    assert f"    with {a}\n    with {b}\n" in text

    shown = bootctl("policy", "show", "50-laptop", "--json").json()
    assert shown == {"name": "50-laptop.policy", "file": main, "dropins": [a, b], "values": data["values"]}


def test_defaults_have_no_origin(bootctl, tree):
    tree.policy("50-x.policy", "[Boot]\nEndWhen=a.target\n")
    assert ("Boot", "DeadlineSec", "120", None) in values(explain(bootctl))
    assert re.search(r"^DeadlineSec=120 +; \(default\)$", bootctl("policy", "show").out, re.M)


@pytest.mark.parametrize("path", sorted((SOURCE / "conf/policy.d").glob("*.policy")), ids=lambda p: p.name)
def test_show_is_a_policy_again(bootctl, tree, path):
    """And says the same."""
    tree.policy(path.name, path.read_text())
    shown = bootctl("policy", "show", path.name).out
    before = bootctl("policy", "show", path.name, "--json").json()["values"]
    tree.policy(path.name, shown)
    after = bootctl("policy", "show", path.name, "--json").json()["values"]
    assert [(v["section"], v["key"], v["value"]) for v in before] == [(v["section"], v["key"], v["value"]) for v in after]


def test_shadowed(bootctl, tree):
    """case 29: /etc over /run over /usr/lib."""
    for i, directory in enumerate(("usr/lib", "run", "etc")):
        tree.policy("50-x.policy", policy(deadline=10 + i), directory=directory)
    data = named(explain(bootctl), "50-x.policy")
    assert data["file"] == f"{ETC}/50-x.policy" and data["deadline_usec"] == 12000000
    assert sorted(data["shadowed"]) == sorted([f"{RUN}/50-x.policy", f"{USR}/50-x.policy"])
    text = bootctl("policy", "explain").out
    assert f"    instead of {RUN}/50-x.policy\n" in text and f"    instead of {USR}/50-x.policy\n" in text


def test_mask_and_its_dropins(bootctl, tree):
    """case 29: masked, and with it what was to be dropped in."""
    tree.policy("50-x.policy", directory="usr/lib")
    tree.symlink("etc/rcu-bootd/policy.d/50-x.policy", "/dev/null")
    tree.write("etc/rcu-bootd/policy.d/50-x.policy.d/local.conf", "[Boot]\nDeadlineSec=1\n")
    data = explain(bootctl)
    assert data["chosen"] is None and verdicts(data) == {"50-x.policy": "masked"}
    assert named(data, "50-x.policy")["shadowed"] == [f"{USR}/50-x.policy"]
    text = bootctl("policy", "explain").out
    assert f"50-x.policy: masked\n    {ETC}/50-x.policy\n    instead of {USR}/50-x.policy\n" in text
    error = bootctl("policy", "show", "50-x", code=1).err
    assert f"Policy 50-x.policy is masked by {ETC}/50-x.policy" in error


def test_dangling_and_unreadable(bootctl, tree):
    """case 29: said, and the next one is used."""
    tree.symlink("etc/rcu-bootd/policy.d/10-dangling.policy", "/no/such/file")
    tree.policy("20-secret.policy").chmod(0)
    tree.policy("30-directory.policy/x", "")
    tree.policy("40-good.policy")
    data = bootctl("policy", "explain", "--json", user=NOBODY).json()
    assert data["chosen"] == "40-good.policy"
    assert named(data, "10-dangling.policy")["verdict"] == "faulty"
    assert "not there" in named(data, "10-dangling.policy")["errors"][0]
    assert named(data, "20-secret.policy")["verdict"] == "faulty"
    assert "Permission denied" in named(data, "20-secret.policy")["errors"][0]


def test_too_many_files(bootctl, tree):
    """case 29: 10,000 files are somebody else's directory."""
    tree.policy("00-first.policy")
    directory = tree / "etc/rcu-bootd/policy.d"
    for i in range(10000):
        os.close(os.open(directory / f"{i:05}.policy", os.O_CREAT | os.O_WRONLY))
    for verb in (["list"], ["explain"], ["show"], ["check"]):
        assert "more than 1024 policies" in bootctl("policy", *verb, code=1).err


# --- show ---

def test_show_by_name(bootctl, tree):
    tree.policy("10-one.policy", policy(deadline=10))
    tree.policy("20-two.policy", policy(deadline=20))
    assert "DeadlineSec=10" in bootctl("policy", "show").out
    for name in ("20-two", "20-two.policy"):
        out = bootctl("policy", "show", name).out
        assert out.startswith(f"; {ETC}/20-two.policy\n[Boot]\n") and "DeadlineSec=20" in out


@pytest.mark.parametrize("name, hint", [
    ("10-ones", 'Did you mean "10-one.policy"?'), ("xyzzyxyzzy", "rcu-bootctl policy list"),
    ("./some/file.policy", "rcu-bootctl policy check FILE"),
])
def test_show_of_none(bootctl, tree, name, hint):
    tree.policy("10-one.policy")
    result = bootctl("policy", "show", name, code=1)
    assert f'There is no policy "{name}"' in result.err and hint in result.err and result.out == ""


def test_show_faulty(bootctl, tree):
    tree.policy("10-broken.policy", "[Boot]\nEndWhen=a.target\nDeadlineSec=0\n")
    result = bootctl("policy", "show", "10-broken", code=1)
    assert "Policy 10-broken.policy is faulty" in result.err and f"{ETC}/10-broken.policy:3: " in result.err


def test_json_is_described(bootctl, tree):
    """Every key of list, explain, show and check."""
    tree.policy("10-no.policy", policy("KernelCommandLine=nothere"))
    tree.policy("20-yes.policy", policy(end_when="no-such.target"))
    tree.write("usr/lib/systemd/system/x.target", "[Unit]\n")
    data = explain(bootctl)
    facts = data.pop("facts")
    assert facts["KernelCommandLine"] and named(data, "10-no.policy")["mismatch"]
    check = bootctl("policy", "check", "--json").json()
    assert check["files"][1]["warnings"]
    documents = [data, {"facts": []}, check, bootctl("policy", "list", "--json").json(), bootctl("policy", "show", "--json").json()]
    assert undescribed(json_keys(documents)) == []
