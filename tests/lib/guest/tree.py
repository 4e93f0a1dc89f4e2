# SPDX-License-Identifier: LGPL-2.1-or-later
"""Trees of files that are laid over a guest's root file system."""

import os
import shutil
import subprocess
from pathlib import Path

from .prereq import need

# Directories that Debian's guests have only as symlinks into /usr (the "usr merge").
MERGED = ("bin", "sbin", "lib", "lib64")


class Tree:
    """A directory of files laid over the guest's root; methods return the tree itself, so calls can be chained."""

    def __init__(self, path):
        self.path = Path(path)
        self.path.mkdir(parents=True, exist_ok=True)

    def write(self, name, text, mode=0o644):
        """Writes file /@name with @text (bytes or str)."""
        path = self.path / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        path.chmod(mode)
        return self

    def symlink(self, name, target):
        path = self.path / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)
        return self

    def mkdir(self, name, mode=0o755):
        path = self.path / name.lstrip("/")
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(mode)
        return self

    def copy(self, source):
        """Copies the whole tree at @source into this one, keeping symlinks."""
        source = source.path if isinstance(source, Tree) else Path(source)
        shutil.copytree(source, self.path, symlinks=True, dirs_exist_ok=True)
        return self

    def unit(self, name, text, wanted_by=()):
        """Writes unit file @name and pulls it in from each unit of @wanted_by."""
        self.write(f"etc/systemd/system/{name}", text)
        for target in (wanted_by,) if isinstance(wanted_by, str) else wanted_by:
            self.symlink(f"etc/systemd/system/{target}.wants/{name}", f"../{name}")
        return self

    def dropin(self, unit, name, text):
        """Writes drop-in @name.conf of @unit."""
        return self.write(f"etc/systemd/system/{unit}.d/{name}.conf", text)

    def service(self, name, script, *, unit="", service="Type=oneshot\nRemainAfterExit=yes\n", wanted_by=()):
        """A service @name (".service" is added) that runs shell text @script; @unit and @service are added to
        the sections of these names."""
        self.write(f"usr/lib/rcu-test/scripts/{name}", "#!/bin/sh\n" + script, 0o755)
        text = f"[Unit]\n{unit}\n[Service]\n{service}\nExecStart=/usr/lib/rcu-test/scripts/{name}\n"
        return self.unit(f"{name}.service", text, wanted_by)

    def mask(self, *units):
        for unit in units:
            self.symlink(f"etc/systemd/system/{unit}", "/dev/null")
        return self

    def hold(self, name, before, wanted_by="sysinit.target", after=""):
        """Makes the boot stop before @before (units, separated by spaces) until Guest.release(name)."""
        text = (
            f"[Unit]\nDescription=Boot held by test: {name}\nDefaultDependencies=no\nBefore={before}\nAfter={after}\n"
            "[Service]\nType=oneshot\nRemainAfterExit=yes\nTimeoutStartSec=infinity\n"
            f"ExecStart=/usr/lib/rcu-test/hold {name}\n"
        )
        return self.unit(f"rcu-test-hold-{name}.service", text, wanted_by)

    def enable(self, *units):
        """systemctl --root=TREE enable @units: the very command an administrator or packager uses."""
        return self.systemctl("enable", *units)

    def systemctl(self, *args):
        (tool,) = need("systemctl")
        result = subprocess.run(
            [tool, f"--root={self.path}", *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        if result.returncode != 0:
            raise RuntimeError(f"systemctl --root {' '.join(args)} failed: {result.stderr.strip()}")
        return self

    def merge_usr(self):
        """Moves top-level bin, sbin, lib, lib64 into usr: laid over a guest they would hide its symlinks."""
        for name in MERGED:
            top = self.path / name
            if not top.is_dir() or top.is_symlink():
                continue
            shutil.copytree(top, self.path / "usr" / name, symlinks=True, dirs_exist_ok=True)
            shutil.rmtree(top)
        return self

    def check(self):
        """Refuses a tree that would damage the guest it is laid over."""
        for name in MERGED:
            if os.path.lexists(self.path / name):
                raise ValueError(f"{self.path} has /{name}, which would hide the guest's symlink: use usr/{name}")
        return self
