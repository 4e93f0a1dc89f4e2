# SPDX-License-Identifier: LGPL-2.1-or-later
"""The real programs on trees of their own.

`tree`     a root directory for --root=, with knobs as plain files, in which tests put what they need
`bootd`    starts the daemon on it, and makes sure that it is gone afterwards
`bootctl`  runs the CLI on it
"""

import array
import contextlib
import ctypes
import dataclasses
import fcntl
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time

import pytest

BUILD = pathlib.Path(os.environ.get("RCU_BOOTD_BUILDDIR", os.getcwd()))
SOURCE = pathlib.Path(os.environ.get("RCU_BOOTD_SRCDIR", pathlib.Path(__file__).resolve().parents[2]))

# How long anything that must happen may take on a machine that crawls. Nothing is asserted of how fast it is.
PATIENCE = 120

# Of a sanitizer's report, so that it cannot be taken for an exit code of ours.
SANITIZER_CODE = 99

# How long ago the kernel started, as far as the programs under test can see.
UPTIME = 40

# Somebody who may nothing.
NOBODY = 65534

KNOB_PATHS = {
    "rcu_expedited": "sys/kernel/rcu_expedited",
    "rcu_normal": "sys/kernel/rcu_normal",
    "rcu_normal_wake_from_gp": "sys/module/rcutree/parameters/rcu_normal_wake_from_gp",
    "rcu_boot_end_delay": "sys/module/rcupdate/parameters/rcu_boot_end_delay",
    "user_booted": "proc/sys/kernel/user_booted",
}

# A policy that anything can be asked of: an hour of time, and it waits for what only a test announces.
POLICY = """\
[Boot]
EndWhen=ready
DeadlineSec=3600
AllowUsers={users}

[During]
rcu_expedited=1

[After]
rcu_expedited=0
"""


def enter_young_machine():
    """A boot is over an hour after the kernel's start at the latest, and this machine may have been up for longer: a time
    namespace (time_namespaces(7)) in which it has not. For this process and all its children, from here on."""
    clone_newtime = 0x80
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        if libc.unshare(clone_newtime) < 0:
            raise OSError(ctypes.get_errno(), "unshare(CLONE_NEWTIME)")
        uptime = int(time.clock_gettime(time.CLOCK_BOOTTIME))
        with open("/proc/self/timens_offsets", "w", encoding="ascii") as f:
            f.write(f"boottime {UPTIME - uptime} 0\n")
        fd = os.open("/proc/self/ns/time_for_children", os.O_RDONLY | os.O_CLOEXEC)
        if libc.setns(fd, clone_newtime) < 0:
            raise OSError(ctypes.get_errno(), "setns(CLONE_NEWTIME)")
        os.close(fd)
    except OSError as e:
        # Without it the tests can run on a machine that is neither older than they need nor younger.
        if not UPTIME <= time.clock_gettime(time.CLOCK_BOOTTIME) <= 1800:
            pytest.exit("These tests need a time namespace: run them as root, on Linux 5.6 or later with CONFIG_TIME_NS. "
                        f"{e}", 1)


enter_young_machine()


def now_usec():
    """CLOCK_BOOTTIME, which the programs count by."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000


def wait_for(condition, what="a condition", patience=PATIENCE):
    """Returns the condition's first value that is true."""
    deadline = time.monotonic() + patience
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, f"waited {patience} s for {what}"
        time.sleep(0.01)


def sanitizer_environment():
    """For every child: a report ends it with a code of its own."""
    common = f"exitcode={SANITIZER_CODE}"
    return {"ASAN_OPTIONS": f"{common}:detect_leaks=1", "UBSAN_OPTIONS": f"{common}:print_stacktrace=1"}


def environment(**changes):
    """The caller's, without what would change what is printed."""
    env = {k: v for k, v in os.environ.items()
           if k not in ("NO_COLOR", "SYSTEMD_COLORS", "PAGER", "SYSTEMD_PAGER", "NOTIFY_SOCKET", "WATCHDOG_USEC",
                        "SERVICE_RESULT", "EXIT_CODE", "EXIT_STATUS")}
    env.update(sanitizer_environment(), LC_ALL="C.UTF-8", TERM="xterm", TZ="UTC")
    env.update(changes)
    return {k: v for k, v in env.items() if v is not None}


def json_keys(data):
    """All keys at any depth."""
    if isinstance(data, dict):
        return set(data).union(*map(json_keys, data.values()))
    return set().union(*map(json_keys, data)) if isinstance(data, list) else set()


def undescribed(keys):
    """Those that rcu-bootctl(1), JSON OUTPUT, does not have."""
    text = (SOURCE / "man/rcu-bootctl.1").read_text().split(".SH JSON OUTPUT", 1)[1].split("\n.SH ", 1)[0]
    words = set(re.findall(r"[a-z][a-z0-9_]*", re.sub(r"\\f[A-Z]", " ", text)))
    assert "phase" in words and keys
    return sorted(set(keys) - words)


class Tree:
    """A root directory. Paths are given without a leading slash."""

    def __init__(self, path):
        self.path = path
        for directory in ("etc", "proc/1", "proc/sys/kernel", "run", "sys/kernel", "usr/lib", "dev", "var"):
            (path / directory).mkdir(parents=True, exist_ok=True)
        self.write("proc/cmdline", "quiet\n")
        self.add_knob("rcu_expedited", 0)
        self.add_knob("rcu_normal", 0)

    def __truediv__(self, path):
        return self.path / path

    def write(self, path, text):
        """Makes the file, and the directories above it."""
        target = self.path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(text, bytes):
            target.write_bytes(text)
        else:
            target.write_text(text)
        return target

    def symlink(self, path, target):
        """Makes the symlink, and the directories above it."""
        link = self.path / path
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(target)
        return link

    # knobs

    def add_knob(self, name, value, path=None):
        """path: unless the knob's first."""
        return self.write(path or KNOB_PATHS[name], f"{value}\n")

    def add_all_knobs(self, value=0):
        for name in KNOB_PATHS:
            self.add_knob(name, value)

    def remove_knob(self, name):
        (self.path / KNOB_PATHS[name]).unlink()

    def knob(self, name, path=None):
        """What it says, as a number."""
        return int((self.path / (path or KNOB_PATHS[name])).read_text())

    # policies

    def policy(self, name="50-test.policy", text=None, directory="etc", users=""):
        """directory: etc, run or usr/lib."""
        if text is None:
            text = POLICY.format(users=users)
        return self.write(f"{directory}/rcu-bootd/policy.d/{name}", text)

    # state

    def state(self):
        """The state file as a dict; None if there is none."""
        try:
            text = (self.path / "run/rcu-bootd/state").read_text()
        except FileNotFoundError:
            return None
        return dict(line.split("=", 1) for line in text.splitlines())

    def phase(self):
        return (self.state() or {}).get("PHASE")

    def write_state(self, text=None, **changes):
        """Puts a state file there as a daemon would: at once."""
        if text is None:
            text = state_text(**changes)
        self.write("run/rcu-bootd/.state.new", text).rename(self.path / "run/rcu-bootd/state")

    @contextlib.contextmanager
    def locked(self):
        """As if a daemon were running."""
        path = self.path / "run/rcu-bootd/lock"
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "w", encoding="ascii") as f:
            # struct flock of 64-bit ABIs
            fcntl.fcntl(f, fcntl.F_OFD_SETLK, struct.pack("@hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
            yield


KNOB_STATE = {
    "rcu_expedited": "present:1 found:0 default:0 during:1 during_asked:1 during_errno:0 during_read:1 "
                     "after:0 after_asked:0 after_errno:0 after_read:0",
    "rcu_normal": "present:1 found:0 default:0",
    "rcu_normal_wake_from_gp": "present:0 default:0",
    "rcu_boot_end_delay": "present:0 default:0",
    "user_booted": "present:0 default:0",
}


def state_text(knobs=None, end_when=("a.target home-screen",), reached=(), complete=True, **changes):
    """A state file, of a boot that ended well unless the changes (keys in lower case) say otherwise. reached: (usec, source,
    name)."""
    fields = {
        "VERSION": 1,
        "PHASE": "ended",
        "REASON": "milestones",
        "REASON_TEXT": "",
        "SINCE_USEC": 12345678,
        "STARTED_USEC": 1234567,
        "STARTS": 1,
        "DEATHS": 0,
        "NOT_BEFORE_USEC": 0,
        "DEADLINE_USEC": 120000000,
        "EXTENDED": 0,
        "MODE": "default",
        "POLICY": "80-server.policy",
        "POLICY_FILE": "/usr/lib/rcu-bootd/policy.d/80-server.policy",
        "POLICY_WHY": "its [Match] holds",
        "ALLOW_USERS": "",
    }
    assert {key.upper() for key in changes} <= set(fields)
    fields.update({key.upper(): value for key, value in changes.items()})
    lines = [f"{key}={value}" for key, value in fields.items()]
    lines += [f"END_WHEN_{i}={names}" for i, names in enumerate(end_when, 1)]
    names = list(dict.fromkeys(" ".join(end_when).split()))
    lines += [f"REACHED_{names.index(name) + 1}={usec} {source} {name}" for usec, source, name in reached]
    lines += [f"KNOB_{name}={text}" for name, text in {**KNOB_STATE, **(knobs or {})}.items()]
    return "\n".join(lines + (["COMPLETE=1"] if complete else [])) + "\n"


@dataclasses.dataclass
class Result:
    """What a run of the CLI came to."""
    code: int
    out: str
    err: str

    def json(self):
        return json.loads(self.out)

    def lines(self):
        """JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]


class Bootctl:
    """Runs rcu-bootctl on the tree: bootctl("status", "--json"). code: the exit code that is expected, None for any."""

    def __init__(self, tree):
        self.tree = tree

    def arguments(self, *args, root=None):
        root = self.tree.path if root is None else root
        return [str(BUILD / "rcu-bootctl"), *([f"--root={root}"] if root else []), *map(str, args)]

    def __call__(self, *args, code=0, root=None, user=None, env=None, cwd=None):
        command = self.arguments(*args, root=root)
        identity = {}
        if user is not None:
            if os.geteuid() != 0:
                pytest.fail("this test becomes another user: run it as root")
            identity = {"user": user, "group": user, "extra_groups": []}
            command[0] = self.for_everybody()
            env = {"GCOV_PREFIX": self.scratch(), **(env or {})}  # nobody cannot write into the build directory
        result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, errors="surrogateescape", timeout=PATIENCE, check=False,
                                env=environment(**(env or {})), cwd=cwd, **identity)
        result = Result(result.returncode, result.stdout, result.stderr)
        self.check(result)
        assert code is None or result.code == code, result
        return result

    @staticmethod
    def check(result):
        assert result.code != SANITIZER_CODE and result.code >= 0, result.err

    def start(self, *args, env=None, **kwargs):
        """Does not wait for its end."""
        return subprocess.Popen(self.arguments(*args), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, env=environment(**(env or {})), **kwargs)

    def finish(self, process, code=0):
        """Waits for the end of what start() began."""
        out, err = process.communicate(timeout=PATIENCE)
        result = Result(process.returncode, out, err)
        self.check(result)
        assert code is None or result.code == code, result
        return result

    def scratch(self):
        """A directory for anybody's files."""
        path = self.tree.path.parent / "scratch"
        path.mkdir(exist_ok=True)
        path.chmod(0o1777)
        return str(path)

    def for_everybody(self):
        """The build directory may be one that others cannot enter."""
        copy = self.tree.path.parent / "rcu-bootctl"
        if not copy.exists():
            shutil.copy(BUILD / "rcu-bootctl", copy)
            copy.chmod(0o755)
        return str(copy)


class Bootd:
    """One rcu-bootd at a time on the tree."""

    def __init__(self, tree):
        self.tree = tree
        self.process = None
        self.log_path = tree.path.parent / "rcu-bootd.log"
        self.codes = []

    def start(self, *args, env=None, user=None):
        """--foreground-log is given; the log is kept over several starts. Does not wait for anything."""
        assert self.process is None
        identity = {} if user is None else {"user": user, "group": user, "extra_groups": []}
        with open(self.log_path, "ab") as log:
            command = [str(BUILD / "rcu-bootd"), f"--root={self.tree.path}", "--foreground-log", *map(str, args)]
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            env=environment(**(env or {})), **identity)
        return self.process

    def run(self, *args, code=0, env=None):
        """From start to exit."""
        self.start(*args, env=env)
        return self.wait(code)

    def wait(self, code=0):
        """For its exit; returns the exit code, which is to be `code` unless that is None."""
        got = self.process.wait(timeout=PATIENCE)
        self.process = None
        self.codes.append(got)
        assert got != SANITIZER_CODE, self.log
        assert code is None or got == code, (got, self.log)
        return got

    def until(self, phase):
        """Waits for a phase in the state file, while the daemon lives."""
        def look():
            if self.tree.phase() == phase:
                return True
            assert phase == "ended" or self.process.poll() is None, (self.process.returncode, self.log)
            return False
        wait_for(look, f"phase {phase}; the log so far:\n{self.log}")

    def boot(self, *args, env=None):
        """Starts it and waits until [During] is in force and recorded."""
        self.start(*args, env=env)
        self.until("booting")
        wait_for(self.during_is_recorded, f"[During] to be recorded; the log so far:\n{self.log}")
        return self.process

    def during_is_recorded(self):
        """Of each knob that this kernel has and [During] names."""
        state = self.tree.state() or {}
        knobs = [value.split() for key, value in state.items() if key.startswith("KNOB_")]
        return all("present:1" not in words or not any(word.startswith("during:") for word in words)
                   or any(word.startswith("during_asked:") for word in words) for words in knobs)

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        """As the OOM killer does."""
        self.process.kill()
        return self.wait(-signal.SIGKILL)

    def stop(self):
        """As systemctl stop does."""
        self.process.terminate()
        return self.wait()

    @property
    def log(self):
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def cleanup(self):
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise
        assert self.process.returncode != SANITIZER_CODE, self.log


class FakeDaemon:
    """Listens on the inbox in the daemon's place and does with a message what the test says: handler(text) -> None. The
    barrier is answered afterwards, as sd_notify_barrier(3) asks for."""

    def __init__(self, tree, handler=lambda text: None):
        self.tree = tree
        self.handler = handler
        self.messages = []
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)

    def __enter__(self):
        run = self.tree / "run/rcu-bootd"
        run.mkdir(exist_ok=True)
        fd = os.open(run, os.O_PATH)
        self.socket.bind(f"/proc/self/fd/{fd}/notify")
        os.close(fd)
        (run / "notify").chmod(0o666)
        self.thread = threading.Thread(target=self.listen)
        self.thread.start()
        return self

    def listen(self):
        while True:
            data, control, _flags, _address = self.socket.recvmsg(65536, socket.CMSG_SPACE(4 * 16))
            if data == b"QUIT":
                return
            self.messages.append(data.decode())
            try:
                self.handler(data.decode())
            finally:
                for _level, _kind, fds in control:
                    for fd in array.array("i", fds[:len(fds) - len(fds) % 4]):
                        os.close(fd)

    def __exit__(self, *_):
        fd = os.open(self.tree / "run/rcu-bootd", os.O_PATH)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
            s.sendto(b"QUIT", f"/proc/self/fd/{fd}/notify")
        os.close(fd)
        self.thread.join(PATIENCE)
        self.socket.close()


@pytest.fixture
def tree():
    """Everybody may look at it, unlike pytest's own directories."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="rcu-bootd-test-"))
    path.chmod(0o755)
    (path / "root").mkdir()
    yield Tree(path / "root")
    shutil.rmtree(path)


@pytest.fixture
def bootctl(tree):
    return Bootctl(tree)


@pytest.fixture
def bootd(tree):
    daemon = Bootd(tree)
    yield daemon
    daemon.cleanup()
