# SPDX-License-Identifier: LGPL-2.1-or-later
"""The units as they are built, in a root of their own: what systemd's own tools say of them. What they do is the container
tests' business."""

import configparser
import os
import pathlib
import re
import shutil
import subprocess

import pytest

BUILD = pathlib.Path(os.environ["RCU_BOOTD_BUILDDIR"])
SOURCE = pathlib.Path(os.environ["RCU_BOOTD_SRCDIR"])

BUILT = ("rcu-boot-end.service", "rcu-boot-wait.service", "rcu-boot-abandoned@.service")
PLAIN = ("rcu-boot-milestone.service", "rcu-boot-milestone@.socket")

# What the units refer to, so that nothing of this machine is looked at.
SYSTEM_UNITS = {
    "basic.target": "",
    "graphical.target": "",
    "multi-user.target": "",
    "shutdown.target": "",
    "sysinit.target": "",
    "systemd-journald.service": "[Service]\nExecStart=true\n",
    "systemd-journald.socket": "[Socket]\nListenDatagram=/run/systemd/journal/dev-log\n",
}


def unit_path(name):
    return (BUILD if name in BUILT else SOURCE) / "units" / name


class Multi(dict):
    """Lets configparser keep all values of a key that is there more than once."""

    def __setitem__(self, key, value):
        if isinstance(value, list) and isinstance(self.get(key), list):
            self[key].extend(value)
        else:
            super().__setitem__(key, value)


def read_unit(name):
    parser = configparser.RawConfigParser(strict=False, dict_type=Multi, delimiters=("=",), comment_prefixes=("#", ";"))
    parser.optionxform = str
    parser.read_string(unit_path(name).read_text())
    return parser


def words(unit, section, key):
    return unit.get(section, key, fallback="").split()


@pytest.fixture
def root(tmp_path):
    units = tmp_path / "usr/lib/systemd/system"
    for directory in (units, tmp_path / "usr/bin", tmp_path / "usr/sbin", tmp_path / "etc/systemd/system"):
        directory.mkdir(parents=True)
    for name, text in SYSTEM_UNITS.items():
        (units / name).write_text("[Unit]\nDescription=%s\nDefaultDependencies=no\n%s" % (name, text))
    for name in BUILT + PLAIN:
        shutil.copy(unit_path(name), units / name)
    (units / "default.target").symlink_to("graphical.target")

    # systemd-analyze wants what ExecStart= names to be there and executable, wherever --prefix= puts it.
    for name in ("true", "sh"):
        shutil.copy("/bin/true", tmp_path / "usr/bin" / name)
    for name, key in ((BUILT[0], "ExecStart"), (BUILT[0], "ExecStopPost"), (BUILT[1], "ExecStart")):
        program = tmp_path / words(read_unit(name), "Service", key)[0].lstrip("/")
        program.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy("/bin/true", program)
    return tmp_path


def verify(root, *units):
    """systemd-analyze(1) is silent about a unit without faults."""
    return subprocess.run(["systemd-analyze", "--root=%s" % root, "--man=no", "verify", *units],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def systemctl(root, *args):
    return subprocess.run(["systemctl", "--root=%s" % root, *args],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


@pytest.mark.parametrize("unit", [*BUILT[:2], "rcu-boot-abandoned@stopped.service", "rcu-boot-abandoned@failed.service",
                                  "rcu-boot-milestone.service", "rcu-boot-milestone@basic.target.socket",
                                  "rcu-boot-milestone@default.target.socket"])
def test_verify(root, unit):
    result = verify(root, unit)
    assert (result.returncode, result.stdout) == (0, "")


def test_verify_finds_faults(root):
    """The test above can fail: a key that this systemd does not know, as one of a newer version would be."""
    path = root / "usr/lib/systemd/system/rcu-boot-end.service"
    path.write_text(path.read_text().replace("[Service]\n", "[Service]\nRestartFromTheMoon=yes\n"))
    assert "RestartFromTheMoon" in verify(root, "rcu-boot-end.service").stdout


@pytest.mark.parametrize("name", BUILT)
def test_substituted(name):
    assert not re.search(r"@[A-Za-z]+@", unit_path(name).read_text())


@pytest.mark.parametrize("name", BUILT + PLAIN)
def test_no_default_dependencies(name):
    """They would order the units behind sysinit.target or basic.target, of which the daemon is to hear."""
    assert words(read_unit(name), "Unit", "DefaultDependencies") == ["no"]


@pytest.mark.parametrize("name", BUILT + PLAIN)
def test_nothing_is_ordered_after_us(name):
    """Nothing that boots waits for any of the units: no Before= but shutdown.target (case 18)."""
    unit = read_unit(name)
    assert words(unit, "Unit", "Before") in ([], ["shutdown.target"])
    assert not unit.has_option("Install", "RequiredBy")


def test_container_is_skipped():
    """case 7: in a container the unit is skipped by a condition, not failed."""
    unit = read_unit("rcu-boot-end.service")
    assert words(unit, "Unit", "ConditionVirtualization") == ["!container"]
    assert not [key for key in unit["Unit"] if key.startswith("Assert")]


def test_initramfs_is_skipped():
    unit = read_unit("rcu-boot-end.service")
    assert words(unit, "Unit", "ConditionPathExists") == ["!/etc/initrd-release"]


def test_daemon_ends_boot_whatever_it_dies_of():
    """case 12: --post-stop relies on the first three of these."""
    unit = read_unit("rcu-boot-end.service")
    assert words(unit, "Service", "Restart") == ["on-failure"]
    # A limit, but one that is reached only after --post-stop has ended boot (at the third death).
    assert words(unit, "Unit", "StartLimitIntervalSec") == ["10min"]
    assert int(words(unit, "Unit", "StartLimitBurst")[0]) > 3
    assert words(unit, "Service", "ExecStopPost") == [words(unit, "Service", "ExecStart")[0], "--post-stop"]
    assert words(unit, "Service", "RemainAfterExit") == ["yes"]
    assert words(unit, "Service", "Type") == ["notify"]


def test_abandoned_boot_is_ended():
    """case 12: where the restart does not come, another unit does, when PID 1 is done with this one."""
    unit, abandoned = read_unit("rcu-boot-end.service"), read_unit("rcu-boot-abandoned@.service")
    # Two units: PID 1 warns of one that is both.
    assert words(unit, "Unit", "OnSuccess") == ["rcu-boot-abandoned@stopped.service"]
    assert words(unit, "Unit", "OnFailure") == ["rcu-boot-abandoned@failed.service"]
    script = abandoned.get("Service", "ExecStart").split("'")
    assert "ActiveState rcu-boot-end.service" in script[1]
    assert script[1].endswith("exec " + unit.get("Service", "ExecStopPost"))
    assert words(abandoned, "Unit", "StartLimitIntervalSec") == ["0"]
    # At shutdown PID 1 would refuse to start what conflicts with that, and say so.
    assert not abandoned.has_option("Unit", "Conflicts")


def test_no_mount_namespace():
    """Each of these has PID 1 make a mount namespace, which costs grace periods in a unit this early: what is measured and
    explained in the unit must not come back by the way."""
    namespaced = {
        "BindPaths", "BindReadOnlyPaths", "DynamicUser", "ExecPaths", "InaccessiblePaths", "MountAPIVFS", "NoExecPaths",
        "PrivateDevices", "PrivateMounts", "PrivateTmp", "ProcSubset", "ProtectControlGroups", "ProtectHome",
        "ProtectKernelLogs", "ProtectKernelModules", "ProtectKernelTunables", "ProtectProc", "ProtectSystem",
        "ReadOnlyPaths", "ReadWritePaths", "RootDirectory", "TemporaryFileSystem",
    }
    for name in BUILT:
        assert not namespaced & set(read_unit(name)["Service"])


def test_wait_unit_is_not_installed():
    """case 18: it is in a boot only where a unit asks for it, as it would hold up startup-finished in every other."""
    unit = read_unit("rcu-boot-wait.service")
    assert not unit.has_section("Install")
    assert words(unit, "Unit", "ConditionPathExists") == ["/run/rcu-bootd/state"]
    assert words(unit, "Unit", "After") == ["rcu-boot-end.service"]
    for key in ("Requires", "Wants", "BindsTo", "Requisite"):
        assert not unit.has_option("Unit", key)


def test_failed_unit_makes_no_entry():
    """case 20: Requisite= with After=, and nothing that would pull the unit in."""
    unit = read_unit("rcu-boot-milestone@.socket")
    assert words(unit, "Unit", "Requisite") == ["%i"]
    assert words(unit, "Unit", "After") == ["%i"]
    assert words(unit, "Install", "WantedBy") == ["%i"]
    for key in ("Requires", "Wants", "BindsTo"):
        assert not unit.has_option("Unit", key)


def test_enable_and_disable(root):
    """`systemctl enable rcu-boot-end` is all a user does, in an image, too."""
    link = root / "etc/systemd/system/sysinit.target.wants/rcu-boot-end.service"
    result = systemctl(root, "enable", "rcu-boot-end")
    assert result.returncode == 0, result.stdout
    assert link.is_symlink()
    assert systemctl(root, "is-enabled", "rcu-boot-end").stdout.strip() == "enabled"

    result = systemctl(root, "disable", "rcu-boot-end")
    assert result.returncode == 0, result.stdout
    assert not link.is_symlink()


@pytest.mark.parametrize("name", ["rcu-boot-wait.service", "rcu-boot-milestone.service", "rcu-boot-abandoned@stopped.service"])
def test_static(root, name):
    assert systemctl(root, "is-enabled", name).stdout.strip() == "static"


@pytest.mark.parametrize("unit", ["basic.target", "default.target", "getty@tty1.service", "dev-disk-by\\x2dlabel-x.device"])
def test_milestone_sockets(root, unit):
    name = "rcu-boot-milestone@%s.socket" % unit
    link = root / "etc/systemd/system" / (unit + ".wants") / name
    result = systemctl(root, "enable", name)
    assert result.returncode == 0, result.stdout
    assert link.is_symlink()

    result = systemctl(root, "disable", name)
    assert result.returncode == 0, result.stdout
    assert not link.is_symlink()
