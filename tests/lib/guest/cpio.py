# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes cpio archives in the "newc" format the kernel unpacks as initramfs.

Format: Documentation/driver-api/early-userspace/buffer-format.rst of the kernel: a header of 13 eight-digit
hexadecimal fields after the magic, name and data each padded to 4 bytes; archives may be concatenated, and a
later entry replaces an earlier one of the same name.
"""

import os
import stat


def _pad(length):
    return b"\0" * (-length % 4)


class CpioWriter:
    """Appends entries to an open binary file; everything belongs to root unless the tree says otherwise."""

    def __init__(self, out, keep_owner=False):
        self._out = out
        self._inode = 0
        self._keep_owner = keep_owner

    def _entry(self, name, mode, *, data=b"", uid=0, gid=0, rdev=0):
        self._inode += 1
        encoded = name.encode() + b"\0"
        fields = (
            self._inode, mode, uid, gid, 1, 0, len(data),
            0, 0, os.major(rdev), os.minor(rdev), len(encoded), 0,
        )  # fmt: skip
        header = b"070701" + b"".join(b"%08X" % field for field in fields)
        self._out.write(header + encoded + _pad(len(header) + len(encoded)))
        self._out.write(data + _pad(len(data)))

    def add(self, path, name):
        """Adds the file, directory, symlink or device node at @path under @name."""
        info = os.lstat(path)
        uid, gid = (info.st_uid, info.st_gid) if self._keep_owner else (0, 0)
        data, rdev = b"", 0
        if stat.S_ISLNK(info.st_mode):
            data = os.readlink(path).encode()
        elif stat.S_ISREG(info.st_mode):
            with open(path, "rb") as file:
                data = file.read()
        elif stat.S_ISBLK(info.st_mode) or stat.S_ISCHR(info.st_mode):
            rdev = info.st_rdev
        self._entry(name, info.st_mode, data=data, uid=uid, gid=gid, rdev=rdev)

    def add_symlink(self, name, target):
        self._entry(name, stat.S_IFLNK | 0o777, data=target.encode())

    def add_file(self, name, text, mode=0o644):
        self._entry(name, stat.S_IFREG | mode, data=text.encode())

    def add_directory(self, name):
        self._entry(name, stat.S_IFDIR | 0o755)

    def add_character_device(self, name, major, minor):
        self._entry(name, stat.S_IFCHR | 0o600, rdev=os.makedev(major, minor))

    def add_tree(self, top):
        """Adds everything below directory @top, parents before children."""
        for directory, subdirs, files in os.walk(top):
            subdirs.sort()
            links = [entry for entry in subdirs if os.path.islink(os.path.join(directory, entry))]
            real = [entry for entry in subdirs if entry not in links]
            for entry in real + sorted(files + links):
                path = os.path.join(directory, entry)
                self.add(path, os.path.relpath(path, top))

    def close(self):
        """Writes the trailer; the file itself stays open."""
        self._entry("TRAILER!!!", 0)
        self._out.write(b"\0" * (-self._out.tell() % 512))
