# SPDX-License-Identifier: LGPL-2.1-or-later
"""What containers and VMs have in common, so that a scenario can run in either."""

import json
import shlex
import subprocess
import time
from pathlib import Path

from .report import parse_journal, parse_pairs
from .tree import Tree

AGENT = Path(__file__).resolve().parents[2] / "guest/agent"

# How long to wait for anything. Generous, because these machines are slow and shared: a test that waits for a
# condition fails when the condition cannot come true, not when the machine is busy.
PATIENCE = 120

# What a system without D-Bus has not; logind cannot start without it.
DBUS_UNITS = ("dbus.service", "dbus.socket", "systemd-logind.service")


class GuestError(Exception):
    """The guest did not do what it must for the test to go on (did not boot, died, did not answer)."""


class CommandFailed(GuestError):
    """A command in the guest failed; `result` has its output."""

    def __init__(self, result):
        super().__init__(
            f"`{result.args}` in the guest exited with {result.returncode}\n"
            f"stdout: {result.stdout.strip()}\nstderr: {result.stderr.strip()}"
        )
        self.result = result


def wait_for(predicate, what, timeout=PATIENCE, interval=0.02):
    """Calls @predicate until it returns something true, and returns that; GuestError(@what) after @timeout s.

    Between two calls it pauses for @interval s, or, if that is more, for three times what the call took (2 s at most): a guest
    that answers questions does not get on with what is waited for.
    """
    end = time.monotonic() + timeout
    while True:
        began = time.monotonic()
        value = predicate()
        if value:
            return value
        now = time.monotonic()
        if now > end:
            raise GuestError(f"waited {timeout} s in vain for {what}")
        time.sleep(max(interval, min(3 * (now - began), 2)))


def agent_tree(path):
    """Lays out the guest's part of the harness below @path."""
    tree = Tree(path)
    for script in ("init", "hold", "event", "shell", "collect", "send-report"):
        tree.write(f"usr/lib/rcu-test/{script}", (AGENT / script).read_bytes(), 0o755)
    tree.unit(
        "rcu-test-shell.service",
        "[Unit]\nDescription=Commands from the test\nDefaultDependencies=no\nIgnoreOnIsolate=yes\n"
        # So that a soft-reboot starts it anew.
        "Conflicts=shutdown.target\nBefore=shutdown.target\n"
        "[Service]\nType=exec\nExecStart=/usr/lib/rcu-test/shell\nKillMode=process\n",
    )
    return tree


class Guest:
    """A booted guest. Subclasses start and stop it, and run commands in it."""

    def __init__(self, logs):
        self.logs = Path(logs)
        self.logs.mkdir(parents=True, exist_ok=True)

    # To be provided by the subclass ------------------------------------------------------------------------------

    def _run(self, script, timeout):
        """Runs shell text @script in the guest as root -> (exit code, stdout, stderr)."""
        raise NotImplementedError

    def alive(self):
        raise NotImplementedError

    def events(self):
        """[(seconds since boot, name)] as reported by tests/guest/agent/event."""
        raise NotImplementedError

    def wait_booted(self, timeout=PATIENCE):
        """Waits until PID 1 says that start-up is finished."""
        raise NotImplementedError

    def collect(self):
        """Runs the collector and returns its Report."""
        raise NotImplementedError

    def poweroff(self):
        """Powers off at once and waits until the guest is gone."""
        raise NotImplementedError

    def kill(self):
        """Ends the guest whatever state it is in, and removes every trace of it but its logs."""
        raise NotImplementedError

    # For scenarios ------------------------------------------------------------------------------------------------

    def run(self, command, *, user=None, check=True, timeout=PATIENCE):
        """Runs @command (a list, or text for a shell) in the guest, as @user (root if none is given).

        Returns a subprocess.CompletedProcess; raises CommandFailed on a non-zero exit code when @check.
        """
        script = command if isinstance(command, str) else shlex.join(map(str, command))
        wrapped = script
        if user is not None:
            wrapped = f"exec setpriv --reuid={user} --regid={user} --clear-groups sh -c {shlex.quote(script)}"
        code, out, err = self._run(wrapped, timeout)
        result = subprocess.CompletedProcess(script, code, out, err)
        if check and code != 0:
            raise CommandFailed(result)
        return result

    def output(self, command, **kwargs):
        """Standard output of a command that must succeed, without the last newline."""
        return self.run(command, **kwargs).stdout.rstrip("\n")

    def ok(self, command, **kwargs):
        """Whether a command succeeds."""
        return self.run(command, check=False, **kwargs).returncode == 0

    def wait_for(self, predicate, what, timeout=PATIENCE):
        """wait_for() that also notices when the guest is gone."""

        def look():
            if not self.alive():
                raise GuestError(f"the guest went away while waiting for {what}\n{self.console_tail()}")
            return predicate()

        try:
            return wait_for(look, what, timeout)
        except GuestError as error:
            raise GuestError(f"{error}\n{self.console_tail()}") from None

    def wait_until(self, command, timeout=PATIENCE):
        """Waits until @command succeeds in the guest."""
        return self.wait_for(lambda: self.ok(command), f"`{command}` to succeed", timeout)

    def wait_running(self, timeout=PATIENCE):
        """Waits until PID 1, asked by systemctl, says that start-up is finished (also "degraded", "maintenance")."""
        return self.run("systemctl is-system-running --wait", check=False, timeout=timeout).stdout.strip()

    def wait_event(self, name, timeout=PATIENCE):
        """Waits for event @name; returns its time in seconds since boot."""
        found = self.wait_for(lambda: [at for at, event in self.events() if event == name], f"event {name}", timeout)
        return found[0]

    def event_time(self, name):
        """When event @name happened, which must be already."""
        times = [at for at, event in self.events() if event == name]
        if not times:
            raise GuestError(f"event {name} did not happen, only {self.events()}")
        return times[0]

    def wait_held(self, name, timeout=PATIENCE):
        """Waits until the boot stands at Tree.hold(@name)."""
        return self.wait_event(f"held:{name}", timeout)

    def release(self, name):
        """Lets a held boot go on."""
        self.run(f"echo go >/run/rcu-test/hold-{name}")

    def ctl(self, *args, **kwargs):
        """Runs rcu-bootctl with @args."""
        return self.run(["rcu-bootctl", *args], **kwargs)

    def status(self):
        """rcu-bootctl status --json. Its exit code is not looked at: it is not 0 while boot has not ended."""
        result = self.ctl("status", "--json", check=False)
        try:
            return json.loads(result.stdout)
        except ValueError:
            raise CommandFailed(result) from None

    def state(self):
        """The daemon's state file as a dict; empty while there is none."""
        return parse_pairs(self.run("cat /run/rcu-bootd/state", check=False).stdout)

    def show(self, unit, *properties):
        """systemctl show of @unit (or of PID 1, when it is None) as a dict."""
        command = ["systemctl", "show", *[f"-p{name}" for name in properties]]
        return parse_pairs(self.output(command + ([unit] if unit else [])))

    def show_units(self, units, *properties):
        """unit -> the same of each of several, for one call of systemctl: it is dear in a VM."""
        blocks = self.output(["systemctl", "show", *[f"-p{name}" for name in properties], *units]).split("\n\n")
        return {unit: parse_pairs(block) for unit, block in zip(units, blocks, strict=True)}

    def active(self, unit):
        return self.show(unit, "ActiveState").get("ActiveState")

    def journal(self, **fields):
        """This boot's journal entries that have all these fields, oldest first."""
        matches = [f"{key}={value}" for key, value in fields.items()]
        text = self.output(["journalctl", "-b", "-o", "json", "--all", "--no-pager", *matches])
        return parse_journal(text, {})

    def finish(self):
        """Collects, powers off, and returns the Report."""
        report = self.collect()
        self.poweroff()
        return report

    def console_tail(self, lines=40):
        path = self.logs / "console.log"
        if not path.exists():
            return "(no console output)"
        tail = path.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:]
        return f"last lines of the guest's console ({path}):\n" + "\n".join(tail)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()


