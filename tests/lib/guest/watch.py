# SPDX-License-Identifier: LGPL-2.1-or-later
"""Watches files that stand for knobs, so that a test can say what was written when, and not only what remained."""

import ctypes
import os
import select
import struct
import threading
import time

from .report import KnobWrite

IN_MODIFY = 0x2
IN_CLOSE_WRITE = 0x8
IN_CLOEXEC = os.O_CLOEXEC
EVENT = struct.Struct("iIII")  # struct inotify_event of inotify(7), without its name


class KnobWatch:
    """Records changes of the files in some directories in a thread of its own, until close().

    A write is what somebody changed between opening and closing the file. The shell's `echo >knob` changes it twice,
    because it empties it first; a kernel's knob knows no such thing. Python is not told the value, but reads the file
    when it hears of the close: of two writes to a knob within some tens of microseconds only the second may be seen, or
    its value twice. Different knobs never hide each other.
    """

    def __init__(self, directories):
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd = self._libc.inotify_init1(IN_CLOEXEC)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), "inotify_init1")
        self._stop_read, self._stop_write = os.pipe2(os.O_CLOEXEC)
        self._directories = {}
        self._changed = set()
        for directory in directories:
            watch = self._libc.inotify_add_watch(self._fd, os.fsencode(directory), IN_MODIFY | IN_CLOSE_WRITE)
            if watch < 0:
                raise OSError(ctypes.get_errno(), f"inotify_add_watch {directory}")
            self._directories[watch] = directory
        self.writes = []
        self._thread = threading.Thread(target=self._loop, daemon=True)
        self._thread.start()

    def _loop(self):
        while True:
            ready, _, _ = select.select([self._fd, self._stop_read], [], [])
            if self._stop_read in ready:
                return
            data = os.read(self._fd, 65536)
            usec = time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000
            offset = 0
            while offset < len(data):
                watch, mask, _, length = EVENT.unpack_from(data, offset)
                name = os.fsdecode(data[offset + EVENT.size : offset + EVENT.size + length].rstrip(b"\0"))
                offset += EVENT.size + length
                self._hear(usec, mask, self._directories.get(watch), name)

    def _hear(self, usec, mask, directory, name):
        if mask & IN_MODIFY:
            self._changed.add((directory, name))
        elif mask & IN_CLOSE_WRITE and (directory, name) in self._changed:
            self._changed.remove((directory, name))
            self._record(usec, directory, name)

    def _record(self, usec, directory, name):
        try:
            with open(os.path.join(directory, name), encoding="ascii", errors="replace") as file:
                value = file.read().strip()
        except (OSError, TypeError):
            return
        if value:
            self.writes.append(KnobWrite(usec=usec, knob=name, value=value, comm="", pid=0))

    def close(self):
        """Ends the thread; what it recorded stays. May be called again."""
        if self._fd < 0:
            return
        os.write(self._stop_write, b"x")
        self._thread.join()
        for fd in (self._fd, self._stop_read, self._stop_write):
            os.close(fd)
        self._fd = -1
