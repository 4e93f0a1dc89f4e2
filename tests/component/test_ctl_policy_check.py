# SPDX-License-Identifier: LGPL-2.1-or-later
"""rcu-bootctl policy check: what a packager runs in CI, on a tree without PID 1: the warnings about units."""

import json

import pytest

from conftest import NOBODY, SOURCE

UNITS = "usr/lib/systemd/system"


class Units:
    """A small system, wired as Debian's is."""

    def __init__(self, tree):
        self.tree = tree
        for name, text in {
            "basic.target": "[Unit]\nRequires=sysinit.target\nWants=sockets.target\nAfter=sysinit.target sockets.target\n",
            "sysinit.target": "[Unit]\nAfter=local-fs.target\n",
            "sockets.target": "[Unit]\n",
            "timers.target": "[Unit]\nDefaultDependencies=no\n",
            "multi-user.target": "[Unit]\nRequires=basic.target\nAfter=basic.target rescue.service\n",
            "graphical.target": "[Unit]\nRequires=multi-user.target\nWants=display-manager.service\n"
                                "After=multi-user.target display-manager.service\n",
            "boot-complete.target": "[Unit]\nRequires=sysinit.target\nAfter=sysinit.target\n",
            "dbus.socket": "[Socket]\nListenStream=/run/dbus/system_bus_socket\n",
            "ssh.service": "[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n",
            "getty@.service": "[Service]\nExecStart=/bin/true\n",
            "rcu-boot-wait.service": "[Unit]\nDefaultDependencies=no\nAfter=rcu-boot-end.service\n"
                                    "[Service]\nType=oneshot\nExecStart=/bin/true\n",
            "rcu-boot-milestone@.socket": "[Unit]\nDefaultDependencies=no\nAfter=%i\nRequisite=%i\n"
                                          "[Socket]\nListenFIFO=/run/x/%i\n[Install]\nWantedBy=%i\n",
        }.items():
            self.unit(name, text)
        self.tree.symlink(f"{UNITS}/default.target", "graphical.target")
        self.enable("ssh.service", "multi-user.target")
        self.enable("dbus.socket", "sockets.target", UNITS)

    def unit(self, name, text="[Service]\nExecStart=/bin/true\n", directory=UNITS):
        self.tree.write(f"{directory}/{name}", text)

    def enable(self, name, target, directory="etc/systemd/system", kind="wants"):
        self.tree.symlink(f"{directory}/{target}.{kind}/{name}", f"/{UNITS}/{name}")

    def remove_bus(self):
        (self.tree / UNITS / "dbus.socket").unlink()
        (self.tree / UNITS / "sockets.target.wants/dbus.socket").unlink()


@pytest.fixture
def units(tree):
    return Units(tree)


@pytest.fixture
def check(bootctl, tree):
    """Warnings, as (id, milestone), of a valid policy that waits for this."""
    def run(*end_when):
        path = tree.write("../50-x.policy", "[Boot]\n" + "".join(f"EndWhen={line}\n" for line in end_when))
        text = bootctl("policy", "check", path)
        data = bootctl("policy", "check", path, "--json").json()
        (file,) = data["files"]
        assert file["valid"] and file["errors"] == []
        for warning in file["warnings"]:
            assert f"{path}: warning: {warning['text']}\n" in text.err
            assert warning["milestone"] in warning["text"] or warning["milestone"] == "startup-finished"
        assert text.err.count("warning: ") == len(file["warnings"])
        assert text.out == f"{path}: valid\n" if not file["warnings"] else f"{path}: valid, but:\n"
        run.texts = {w["id"]: w["text"] for w in file["warnings"]}
        run.data = data
        run.err = text.err
        return sorted((w["id"], w["milestone"]) for w in file["warnings"])
    return run


def test_valid(bootctl, tree, units):
    path = tree.policy(text="[Boot]\nEndWhen=multi-user.target\n")
    result = bootctl("policy", "check", path)
    assert (result.out, result.err) == (f"{path}: valid\n", "")
    data = bootctl("policy", "check", path, "--json").json()
    assert data == {"files": [{"name": "50-test.policy", "file": str(path), "valid": True, "masked": False, "errors": [],
                               "warnings": []}],
                    "units_examined": True}


@pytest.mark.parametrize("path", sorted((SOURCE / "conf/policy.d").glob("*.policy")), ids=lambda p: p.name)
def test_ours(bootctl, units, path):
    bootctl("policy", "check", path)


# --- units: case 15 ---

def test_units_that_come(check, units):
    units.unit("late.service")
    units.enable("late.service", "default.target")
    units.enable("getty@tty1.service", "multi-user.target")
    assert check("multi-user.target ssh.service", "default.target", "graphical.target late.service", "getty@tty1.service",
                 "sysinit.target") == []


def test_no_such_unit(check, units):
    """case 15."""
    assert check("no-such.target multi-user.target") == [("no-such-unit", "no-such.target")]
    assert check("no-such@x.service", "no-such.timer") == [("no-such-unit", "no-such.timer"),
                                                           ("no-such-unit", "no-such@x.service")]


def test_not_pulled_in(check, units):
    """case 15: boot-complete.target is normally inactive."""
    assert check("boot-complete.target") == [("not-pulled-in", "boot-complete.target")]
    units.enable("boot-complete.target", "graphical.target")
    assert check("boot-complete.target") == []


def test_not_pulled_in_by_another_default(check, units, tree):
    """case 15: what graphical.target wants does not count where it is not the default."""
    assert check("graphical.target") == []
    tree.symlink("etc/systemd/system/default.target", "/lib/systemd/system/multi-user.target")
    assert check("graphical.target") == [("not-pulled-in", "graphical.target")]
    assert check("default.target multi-user.target") == []


@pytest.mark.parametrize("key", ["Wants", "Requires", "BindsTo", "Upholds"])
def test_pulled_in_by_key(check, units, key):
    units.unit("boot-complete-puller.service", f"[Unit]\n{key}=boot-complete.target\n[Service]\nExecStart=/bin/true\n")
    assert check("boot-complete.target") == [("not-pulled-in", "boot-complete.target")]
    units.enable("boot-complete-puller.service", "multi-user.target")
    assert check("boot-complete.target") == []


@pytest.mark.parametrize("kind", ["wants", "requires", "upholds"])
@pytest.mark.parametrize("directory", ["etc/systemd/system", "run/systemd/system", "run/systemd/generator", UNITS,
                                       "lib/systemd/system"])
def test_pulled_in_by_link(check, units, directory, kind):
    units.enable("boot-complete.target", "multi-user.target", directory, kind)
    assert check("boot-complete.target") == []


def test_not_pulled_in_by_what_only_sounds_like_it(check, units):
    units.unit("x.service", "[Unit]\nAfter=boot-complete.target\nRequisite=boot-complete.target\n"
                            "# Wants=boot-complete.target\n"
                            "[Service]\nWants=boot-complete.target\n[Install]\nRequiredBy=boot-complete.target\n")
    units.enable("x.service", "multi-user.target")
    assert check("boot-complete.target") == [("not-pulled-in", "boot-complete.target")]


def test_activated_ones_are_not_pulled_in(check, units):
    """A socket's service is started when somebody connects, which may be never."""
    units.unit("lazy.socket", "[Socket]\nListenStream=/run/lazy\n")
    units.unit("lazy.service")
    units.enable("lazy.socket", "sockets.target")
    assert check("lazy.socket") == []
    assert check("lazy.service") == [("not-pulled-in", "lazy.service")]


def test_dropins_and_continuation_lines(check, units, tree):
    tree.write("etc/systemd/system/ssh.service.d/local.conf",
               "[Unit]\nWants=no-such.target \\\n# a comment in between\n   boot-complete.target\n")
    assert check("boot-complete.target") == []
    tree.symlink("run/systemd/system/ssh.service.d/local.conf", "/dev/null")  # lower, so it changes nothing
    assert check("boot-complete.target") == []
    (tree / "etc/systemd/system/ssh.service.d/local.conf").unlink()
    assert check("boot-complete.target") == [("not-pulled-in", "boot-complete.target")]


def test_templates(check, units, tree):
    units.unit("pull@.service", "[Unit]\nWants=%i.target %p-%j.target\n[Service]\nExecStart=/bin/true\n")
    units.enable("pull@boot-complete.service", "multi-user.target")
    assert check("boot-complete.target") == []
    tree.write("etc/systemd/system/getty@.service.d/x.conf", "[Unit]\nWants=other.target\n")
    units.unit("other.target", "[Unit]\n")
    units.enable("getty@tty1.service", "multi-user.target")
    assert check("other.target") == []


def test_aliases(check, units, tree):
    units.unit("gdm.service")
    tree.symlink("etc/systemd/system/display-manager.service", f"/{UNITS}/gdm.service")
    assert check("gdm.service") == []
    assert check("display-manager.service") == []


def test_masked(check, units, tree):
    tree.symlink("etc/systemd/system/ssh.service", "/dev/null")
    assert check("ssh.service") == [("masked-unit", "ssh.service")]
    units.unit("empty.service", "", "etc/systemd/system")
    assert check("empty.service") == [("masked-unit", "empty.service")]


def test_masked_ones_pull_nothing_in(check, units, tree):
    units.unit("x.service", "[Unit]\nWants=boot-complete.target\n")
    units.enable("x.service", "multi-user.target")
    assert check("boot-complete.target") == []
    tree.symlink("etc/systemd/system/x.service", "/dev/null")
    assert check("boot-complete.target") == [("not-pulled-in", "boot-complete.target")]


def test_masked_link(check, units, tree):
    """A link in .wants/ to /dev/null is no wish."""
    tree.symlink("etc/systemd/system/multi-user.target.wants/boot-complete.target", "/dev/null")
    assert check("boot-complete.target") == [("not-pulled-in", "boot-complete.target")]


def test_made_at_run_time(check, units):
    """No file says whether a device or a mount comes."""
    assert check("dev-sda1.device", "srv.mount", "system-getty.slice") == []


def test_other_milestones_are_not_units(check, units):
    assert check("home-screen device:drm/card0 workloads-steady") == []


def test_loops(check, units, tree):
    """Of aliases and of wishes."""
    tree.symlink("etc/systemd/system/a.service", "b.service")
    tree.symlink("etc/systemd/system/b.service", "a.service")
    units.unit("x.service", "[Unit]\nWants=y.service\n")
    units.unit("y.service", "[Unit]\nWants=x.service a.service\n")
    units.enable("x.service", "multi-user.target")
    assert ("not-pulled-in", "y.service") not in check("a.service y.service")


def test_no_units_at_all(check, bootctl, tree):
    """A packager's chroot: said once, and no warning is made up."""
    assert check("no-such.target") == []
    assert check.data["units_examined"] is False
    assert f"There are no unit files below {tree.path}" in check.err
    assert check("home-screen") == []
    assert "no unit files" not in check.err


def test_no_default_target(check, units, tree):
    (tree / UNITS / "default.target").unlink()
    assert check("boot-complete.target multi-user.target") == []


def test_unreadable_unit_is_no_failure(bootctl, tree, units):
    (tree / UNITS / "ssh.service").chmod(0)
    path = tree.policy(text="[Boot]\nEndWhen=ssh.service\n")
    assert bootctl("policy", "check", path, user=NOBODY).err == ""


# --- who would report it ---

def test_no_source(check, units):
    """No D-Bus and no enabled socket: which one to enable is said."""
    units.remove_bus()
    assert check("multi-user.target home-screen") == [("no-source", "multi-user.target")]
    assert "systemctl enable rcu-boot-milestone@multi-user.target.socket" in check.texts["no-source"]
    units.tree.symlink("etc/systemd/system/multi-user.target.wants/rcu-boot-milestone@multi-user.target.socket",
                       f"/{UNITS}/rcu-boot-milestone@.socket")
    assert check("multi-user.target home-screen") == []
    assert check("basic.target") == [("no-source", "basic.target")]


def test_socket_of_an_alias(check, units):
    """The entry's name is the milestone, so it must be spelt as in the policy."""
    units.remove_bus()
    units.tree.symlink("etc/systemd/system/default.target.wants/rcu-boot-milestone@default.target.socket",
                       f"/{UNITS}/rcu-boot-milestone@.socket")
    assert check("default.target") == []
    assert check("graphical.target") == [("no-source", "graphical.target")]


def test_socket_that_is_not_installed(check, units, tree):
    units.remove_bus()
    (tree / UNITS / "rcu-boot-milestone@.socket").unlink()
    tree.symlink("etc/systemd/system/basic.target.wants/rcu-boot-milestone@basic.target.socket",
                 f"/{UNITS}/rcu-boot-milestone@.socket")
    assert check("basic.target") == [("no-source", "basic.target")]


def test_masked_bus(check, units, tree):
    tree.symlink("etc/systemd/system/dbus.socket", "/dev/null")
    assert check("basic.target") == [("no-source", "basic.target")]


def test_running_bus(check, units, tree):
    """Whatever has made it."""
    units.remove_bus()
    tree.write("run/dbus/system_bus_socket", "")
    assert check("basic.target startup-finished") == []


DROPIN = '[Manager]\nManagerEnvironment=NOTIFY_SOCKET=/run/rcu-bootd/notify\n'


@pytest.mark.parametrize("path, text", [
    ("etc/systemd/system.conf.d/50-rcu-bootd-notify.conf", DROPIN),
    ("usr/lib/systemd/system.conf.d/x.conf", '[Manager]\nManagerEnvironment="A=b" "NOTIFY_SOCKET=/run/rcu-bootd/notify"\n'),
    ("etc/systemd/system.conf", "[Manager]\n  ManagerEnvironment=NOTIFY_SOCKET=/run/rcu-bootd/notify"),
    ("proc/cmdline", "quiet NOTIFY_SOCKET=/run/rcu-bootd/notify ro\n"),
])
def test_pid_1_as_the_sender(check, units, tree, path, text):
    units.remove_bus()
    assert check("startup-finished") == [("no-source", "startup-finished")]
    tree.write(path, text)
    assert check("startup-finished") == []
    assert check("basic.target") == [("needs-systemd-256", "basic.target")]
    assert check("ssh.service") == [("no-source", "ssh.service")]


@pytest.mark.parametrize("path, text", [
    ("etc/systemd/system.conf.d/x.conf", DROPIN.replace("Manager", "#Manager", 1).replace("ManagerE", "#ManagerE")),
    ("etc/systemd/system.conf.d/x.conf.off", DROPIN),
    ("etc/systemd/system.conf.d/x.conf", DROPIN.replace("notify", "notify-not")),
    ("proc/cmdline", "NOTIFY_SOCKET=/run/other\n"),
])
def test_pid_1_that_does_not_send(check, units, tree, path, text):
    units.remove_bus()
    tree.write(path, text)
    assert check("startup-finished") == [("no-source", "startup-finished")]


def test_our_example_dropin_counts(check, units, tree):
    units.remove_bus()
    tree.write("etc/systemd/system.conf.d/50-rcu-bootd-notify.conf",
               (SOURCE / "conf/examples/50-rcu-bootd-notify.conf").read_text())
    assert check("startup-finished") == []


# --- cycles: case 18 ---

WORKLOAD = "[Unit]\nWants=rcu-boot-wait.service\nAfter=rcu-boot-wait.service\n[Service]\nExecStart=/bin/true\n"


def test_workload_of_an_awaited_target(check, units):
    """case 18: a workload that starts after the end of boot, wanted by the target that the end of boot waits for."""
    units.unit("workload.service", WORKLOAD)
    units.enable("workload.service", "multi-user.target")
    assert check("basic.target") == []
    assert check("multi-user.target") == [("cycle", "multi-user.target")]
    chain = "multi-user.target -> workload.service -> rcu-boot-wait.service -> end of RCU's boot -> multi-user.target"
    assert chain in check.texts["cycle"]
    assert check("graphical.target") == [("cycle", "graphical.target")]
    assert check("workload.service") == [("cycle", "workload.service")]


def test_workload_of_a_later_target(check, units):
    units.unit("workload.service", WORKLOAD)
    units.enable("workload.service", "graphical.target")
    assert check("multi-user.target") == []
    assert check("default.target") == [("cycle", "default.target")]


@pytest.mark.parametrize("text", [
    WORKLOAD.replace("[Unit]\n", "[Unit]\nDefaultDependencies=no\n"),         # its target does not wait for it then
    WORKLOAD.replace("Wants=rcu-boot-wait.service\n", ""),                    # nothing starts the wait unit
    WORKLOAD.replace("After=rcu-boot-wait.service\n", ""),                    # it does not wait
])
def test_no_cycle(check, units, text):
    """case 18: no false alarm."""
    units.unit("workload.service", text)
    units.enable("workload.service", "multi-user.target")
    assert check("multi-user.target") == []


def test_ordered_before_an_awaited_target(check, units):
    """case 18: Before= alone does it."""
    units.unit("workload.service", WORKLOAD.replace("[Unit]\n", "[Unit]\nDefaultDependencies=no\nBefore=basic.target\n"))
    units.enable("workload.service", "graphical.target")
    assert check("basic.target") == [("cycle", "basic.target")]


def test_cycle_through_several_units(check, units):
    units.unit("first.service", WORKLOAD)
    units.unit("second.service", "[Unit]\nRequires=first.service\nAfter=first.service\n")
    units.unit("third.service", "[Unit]\nRequires=second.service\nAfter=second.service\n")
    units.enable("third.service", "multi-user.target")
    assert check("multi-user.target") == [("cycle", "multi-user.target")]
    assert "third.service -> second.service -> first.service -> rcu-boot-wait.service" in check.texts["cycle"]


def test_socket_before_sockets_target(check, units):
    """case 18: default dependencies order, too."""
    units.unit("x.socket", "[Unit]\nRequires=rcu-boot-wait.service\nAfter=rcu-boot-wait.service\n"
                           "[Socket]\nListenStream=/run/x\n")
    units.enable("x.socket", "sockets.target")
    assert check("basic.target") == [("cycle", "basic.target")]


def test_wait_unit_enabled_by_hand(check, units):
    """case 18: our own unit has no default dependencies, so a target that wants it does not wait for it; start-up does."""
    units.enable("rcu-boot-wait.service", "multi-user.target")
    assert check("multi-user.target") == []
    assert check("startup-finished") == [("cycle", "startup-finished")]
    assert "multi-user.target -> rcu-boot-wait.service" in check.texts["cycle"]


def test_wait_unit_with_defaults(check, units):
    """case 18: a user's own version of it."""
    units.unit("rcu-boot-wait.service", "[Service]\nType=oneshot\nExecStart=/usr/bin/rcu-bootctl wait\n",
               "etc/systemd/system")
    units.enable("rcu-boot-wait.service", "multi-user.target")
    assert check("multi-user.target") == [("cycle", "multi-user.target")]


def test_startup_finished(check, units):
    """case 18: start-up has not finished while a start job is left."""
    assert check("startup-finished") == []
    units.unit("workload.service", WORKLOAD)
    units.enable("workload.service", "graphical.target")
    assert check("startup-finished") == [("cycle", "startup-finished")]
    assert "graphical.target -> workload.service -> rcu-boot-wait.service" in check.texts["cycle"]


def test_our_units_make_no_cycle(check, units, tree):
    """case 18: all of them, as they are shipped, with a workload as rcu-boot-wait.service recommends."""
    for path in (SOURCE / "units").iterdir():
        units.unit(path.name.removesuffix(".in"), path.read_text())
    units.enable("rcu-boot-end.service", "sysinit.target")
    for milestone in ("basic.target", "multi-user.target"):
        tree.symlink(f"etc/systemd/system/{milestone}.wants/rcu-boot-milestone@{milestone}.socket",
                     f"/{UNITS}/rcu-boot-milestone@.socket")
    units.unit("workload.service", WORKLOAD)
    units.enable("workload.service", "graphical.target")
    assert check("basic.target", "multi-user.target", "sysinit.target") == []


def test_json_is_one_document(bootctl, tree, units):
    paths = [tree.policy(f"{i}0-x.policy") for i in range(1, 6)]
    assert len(json.loads(bootctl("policy", "check", *paths, "--json").out)["files"]) == 5
