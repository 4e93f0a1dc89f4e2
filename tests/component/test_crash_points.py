# SPDX-License-Identifier: LGPL-2.1-or-later
"""The daemon dies before each of its system calls in turn, and each of them fails in turn. Whatever happens, and whenever:
the machine ends up in its after state, and never goes back.

What a service manager does about a daemon that is gone is done here: `rcu-bootd --post-stop`, then the next daemon."""

import concurrent.futures
import contextlib
import dataclasses
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile

import pytest
from conftest import BUILD, PATIENCE, Tree, environment, now_usec, wait_for

# Some of the time here goes by waiting.
WORKERS = 2 * len(os.sched_getaffinity(0))

UNIT = "etc/systemd/system/rcu-boot-end.service"

POLICY = """\
[Boot]
EndWhen=ready
DeadlineSec={deadline}

[During]
rcu_expedited=1
rcu_normal=0

[After]
rcu_expedited=0
rcu_normal=restore
"""

# What each call may well say, and what it says if it is not listed.
ERRORS = {
    "openat2": "EMFILE", "openat": "EMFILE", "socket": "EMFILE", "inotify_init1": "EMFILE", "epoll_create1": "EMFILE",
    "timerfd_create": "EMFILE", "signalfd4": "EMFILE", "fcntl": "EMFILE", "dup": "EMFILE",
    "write": "ENOSPC", "mkdirat": "EROFS", "renameat": "EROFS", "unlinkat": "EROFS", "ftruncate": "EROFS",
    "fchmod": "EROFS", "fchmodat": "EROFS", "inotify_add_watch": "ENOSPC", "bind": "EACCES", "connect": "ECONNREFUSED",
    "sendto": "EAGAIN", "read": "EIO", "recvmsg": "ENOMEM", "brk": "ENOMEM", "mmap": "ENOMEM",
}  # fmt: skip
# These have no failure that a program could meet, or (exit) none at all.
INFALLIBLE = {"exit_group", "exit", "close", "munmap", "getpid", "gettid", "getuid", "geteuid", "getgid", "rt_sigaction",
              "rt_sigprocmask", "restart_syscall", "rt_sigreturn", "futex", "clock_gettime", "set_robust_list",
              "sched_yield", "mprotect", "madvise", "sigaltstack", "prctl", "exit", "umask"}  # fmt: skip

# A sanitizer does not let the program see that there is no memory.
if b"__asan_init" in (BUILD / "rcu-bootd").read_bytes():
    INFALLIBLE |= {"mmap", "brk"}


@dataclasses.dataclass(frozen=True)
class Call:
    """The number-th call of its name."""
    name: str
    number: int

    def __str__(self):
        return f"{self.name}#{self.number}"


class Boot:
    """One boot of a machine of its own."""

    def __init__(self, deadline_in=1800):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="rcu-bootd-test-"))
        (self.directory / "root").mkdir()
        self.tree = Tree(self.directory / "root")
        self.tree.policy(text=POLICY.format(deadline=now_usec() // 1000000 + deadline_in))
        self.tree.write(UNIT, "[Service]\n")
        self.trace = self.directory / "trace"
        self.log_path = self.directory / "log"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.directory)

    @property
    def log(self):
        return self.log_path.read_text(errors="replace")

    def daemon(self, *args, strace=(), die=False, **env):
        """Starts it; the milestone comes when [During] is in force, or (die) it is killed then. Returns the exit code."""
        command = [str(BUILD / "rcu-bootd"), f"--root={self.tree.path}", "--foreground-log", *args]
        if strace:
            command = ["strace", "-f", "-qq", "-o", str(self.trace), *strace, *command]
        # LeakSanitizer cannot work under a tracer.
        env = environment(ASAN_OPTIONS="exitcode=99:detect_leaks=0", **env)
        with open(self.log_path, "ab") as log:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env)
        try:
            wait_for(lambda: process.poll() is not None or self.tree.phase() in ("booting", "ended") or
                     self.tree.knob("rcu_expedited") == 1, "the daemon to begin")
            if process.poll() is None and die:
                self.kill()
            elif process.poll() is None and self.tree.phase() == "booting":
                self.announce()
            code = process.wait(PATIENCE)
        except BaseException:
            with contextlib.suppress(FileNotFoundError, ValueError):
                self.kill()
            process.kill()
            process.wait()
            raise
        assert code != 99, self.log
        return code

    def announce(self):
        """In two ways: either may be what does not work. Where our policy cannot be read, another one is in force."""
        state = self.tree.state()
        for name in " ".join(state[key] for key in state if key.startswith("END_WHEN_")).split():
            self.tree.write(f"run/rcu-bootd/milestones/{name}", "")
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s, contextlib.suppress(OSError):
                s.sendto(f"X_RCU_MILESTONE={name}".encode(), str(self.tree / "run/rcu-bootd/notify"))

    def kill(self):
        """Not the tracer, which would let it go."""
        pid = int((self.tree / "run/rcu-bootd/lock").read_text())
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    def writes(self):
        """What the traced daemon wrote to rcu_expedited, in order. rcu_normal gets nothing but 0, so a 0 that comes before
        the first 1 is not ours."""
        text = self.trace.read_text()
        return [int(value) for value in re.findall(r"write\(\d+<[^>]*/rcu_expedited>, \"(\d)\\n\"", text)]

    def look_after(self, what):
        """What systemd does after the daemon's death, until boot has ended."""
        for _ in range(4):
            if self.daemon("--post-stop", SERVICE_RESULT="signal") == 0 and self.tree.phase() == "ended":
                break
            if self.daemon() == 0:
                break
        self.assert_ended(what)

    def assert_ended(self, what):
        assert self.tree.phase() == "ended", (what, self.tree.state(), self.log)
        assert self.tree.knob("rcu_expedited") == 0, (what, self.log)
        assert self.tree.knob("rcu_normal") == 0, (what, self.log)


def list_calls():
    """Those of a whole boot: while the daemon is being loaded, and from the moment on at which it opens its root."""
    with Boot() as boot:
        assert boot.daemon(strace=["-e", "trace=all"]) == 0, boot.log
        boot.assert_ended("undisturbed")
        lines = boot.trace.read_text().splitlines()
        root = str(boot.tree.path)

    counts, loading, calls, started = {}, [], [], False
    for line in lines:
        found = re.match(r"\d+ +(\w+)\(", line)
        if not found:
            continue
        name = found[1]
        counts[name] = counts.get(name, 0) + 1
        started = started or (f'"{root}"' in line and name.startswith("open"))
        (calls if started else loading).append(Call(name, counts[name]))
    assert len(calls) > 80 and loading
    return loading, calls


@pytest.fixture(scope="module")
def all_calls():
    return list_calls()


@pytest.fixture(scope="module")
def calls(all_calls):
    return all_calls[1]


def for_each(calls, check):
    """Several at a time; all failures are told, not only the first."""
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        results = {call: pool.submit(check, call) for call in calls}
    failures = [f"{call}: {result.exception()}" for call, result in results.items() if result.exception()]
    assert not failures, "\n\n".join(failures)


def check_killed(call, killed):
    """Adds the call to the set of those at which the daemon was killed: another boot may have a call less."""
    with Boot() as boot:
        code = boot.daemon(strace=["-y", "-e", f"trace=write,{call.name}", "-e", f"inject={call.name}:signal=KILL:when={call.number}"])
        if code == -signal.SIGKILL:
            killed.add(call)
        was_written = boot.writes()
        had_ended = was_written[-1:] == [0]
        marker = len(boot.log)
        boot.look_after(f"killed at {call}")
        # What had been in its after state was not expedited once more.
        if had_ended:
            assert "rcu_expedited: 0 -> 1" not in boot.log[marker:], boot.log


def test_killed_before_each_call(calls):
    killed = set()
    for_each(calls, lambda call: check_killed(call, killed))
    assert len(killed) > 0.9 * len(calls), set(calls) - killed


def check_killed_for_good(call, killed):
    with Boot() as boot:
        code = boot.daemon(strace=["-e", f"trace={call.name}", "-e", f"inject={call.name}:signal=KILL:when={call.number}"])
        if code == -signal.SIGKILL:
            killed.add(call)
        os.unlink(boot.tree / UNIT)
        assert boot.daemon("--post-stop", SERVICE_RESULT="signal") == 0, boot.log
        boot.assert_ended(f"killed for good at {call}")
        # Started once more, by hand.
        marker = len(boot.log)
        assert boot.daemon() == 0, boot.log
        assert "-> 1" not in boot.log[marker:]
        boot.assert_ended(f"killed for good at {call}, then started")


def test_killed_for_good_before_each_call(calls):
    killed = set()
    for_each(calls[::3], lambda call: check_killed_for_good(call, killed))
    assert len(killed) > 0.9 * len(calls[::3]), set(calls[::3]) - killed


def check_told_to_stop(call, killed):
    """Adds the call to the set of those at which the signal killed the daemon, if it did."""
    with Boot() as boot:
        code = boot.daemon(strace=["-e", f"trace={call.name}", "-e", f"inject={call.name}:signal=TERM:when={call.number}"])
        if code == -signal.SIGTERM:
            killed.add(call)
            boot.daemon("--post-stop", SERVICE_RESULT="protocol", EXIT_CODE="killed", EXIT_STATUS="TERM")
        else:
            assert code == 0, (call, code, boot.log)
        boot.assert_ended(f"told to stop at {call}")
        # One that lives may hear of the milestone first.
        reason = boot.tree.state()["REASON"]
        assert reason == "stopped" or (reason == "milestones" and code == 0), (call, reason, boot.log)


def test_told_to_stop_before_each_call(all_calls):
    """Also before it can hear the signal, which kills it then: only while it is being loaded."""
    loading, calls = all_calls
    killed = set()
    for_each(loading + calls, lambda call: check_told_to_stop(call, killed))
    assert killed and killed.issubset(loading), killed.difference(loading)


def check_failure(call):
    error = ERRORS.get(call.name, "ENOSYS")
    # Some failures make it deaf: then it is the deadline's turn.
    with Boot(deadline_in=5) as boot:
        code = boot.daemon(strace=["-e", f"trace={call.name}", "-e", f"inject={call.name}:error={error}:when={call.number}"])
        if code != 0:
            boot.look_after(f"{call} says {error}")
        elif boot.tree.knob("rcu_expedited") != 0:
            # The very write that matters has failed. That is told, and everything else has been done.
            assert "rcu_expedited could not be set to 0" in boot.log, boot.log
            assert boot.tree.phase() == "ended" and boot.tree.knob("rcu_normal") == 0, boot.log


def test_each_call_fails(calls):
    for_each([call for call in calls if call.name not in INFALLIBLE], check_failure)


def check_nothing_can_be_recorded(number, lock):
    """From the number-th time on no state file can be put in place, neither by the daemon nor by those that come after it.
    It is killed as soon as it expedites anything."""
    nothing = ["-e", "trace=renameat", "-e", "inject=renameat:error=EROFS:when={}+"]
    with Boot() as boot:
        boot.daemon(strace=[*nothing[:-1], nothing[-1].format(number)], die=True)
        if lock:
            os.unlink(boot.tree / "run/rcu-bootd/lock")
            (boot.tree / "run/rcu-bootd/lock").mkdir()
        # Systemd does not start it for ever: see the unit's StartLimitBurst=.
        boot.daemon("--post-stop", SERVICE_RESULT="signal", strace=[*nothing[:-1], nothing[-1].format(1)])
        assert boot.tree.knob("rcu_expedited") == 0, boot.log


@pytest.mark.parametrize("lock", [False, True])
def test_nothing_can_be_recorded(calls, lock):
    for_each([call.number for call in calls if call.name == "renameat"],
             lambda number: check_nothing_can_be_recorded(number, lock))


def test_what_cannot_be_recorded_is_not_begun():
    """Nobody could tell the next daemon that boot has ended, or the workloads that they may start."""
    with Boot() as boot:
        assert boot.daemon(strace=["-e", "trace=renameat", "-e", "inject=renameat:error=EROFS:when=1+"]) == 0
        assert "0 -> 1" not in boot.log and "RCU's boot ended" in boot.log, boot.log
        assert "Read-only file system" in boot.log


def test_full_file_system():
    """A record that is there can still be replaced, if not atomically."""
    with Boot() as boot:
        assert boot.daemon(strace=["-e", "trace=renameat", "-e", "inject=renameat:error=ENOSPC:when=2+"]) == 0
        boot.assert_ended("no room in /run")
        assert boot.tree.state()["REASON"] == "milestones"


def test_lock_is_held_for_a_moment():
    """By the --post-stop of the daemon before: that is not another daemon yet."""
    with Boot() as boot:
        assert boot.daemon(strace=["-e", "trace=fcntl", "-e", "inject=fcntl:error=EAGAIN:when=1..9"]) == 0
        assert "Another rcu-bootd" not in boot.log and "INJECTED" in boot.trace.read_text(), boot.log
        boot.assert_ended("the lock came late")
        assert boot.tree.state()["REASON"] == "milestones"
