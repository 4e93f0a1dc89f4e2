# SPDX-License-Identifier: LGPL-2.1-or-later
"""rcu-bootctl: its command line, its errors of usage, colours and pager."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

import pytest

from conftest import PATIENCE, environment

VERBS = ["status", "knobs", "log", "wait", "end", "extend", "milestone", "policy list", "policy show", "policy check",
         "policy explain"]


def on_terminal(command, env):
    """What it prints on a terminal, and its exit code."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 60, 200, 0, 0))
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=follower, stderr=follower, env=environment(**env))
    os.close(follower)
    out = b""
    while True:
        try:
            data = os.read(leader, 65536)
        except OSError:  # EIO: nobody has it open any more
            break
        if not data:
            break
        out += data
    os.close(leader)
    return process.wait(PATIENCE), out.decode()


def test_help_is_one_screen(bootctl):
    out = bootctl("--help").out
    assert len(out.splitlines()) <= 32
    assert max(map(len, out.splitlines())) <= 110
    for verb in VERBS:
        assert re.search(rf"^  {verb}\b", out, re.M)
    for option in ("--root=DIR", "--json", "--no-pager", "--reason=TEXT", "--timeout=SEC", "--boot=ID", "-f --follow",
                   "-h --help", "--version"):
        assert option in out
    assert bootctl("-h", "status").out == out


def test_version(bootctl):
    assert re.fullmatch(r"rcu-bootctl \d+\.\d+\.\d+\n", bootctl("--version").out)


@pytest.mark.parametrize("args, hint", [
    (["stauts"], 'Did you mean "status"?'),
    (["sta"], 'Did you mean "status"?'),
    (["milestones"], 'Did you mean "milestone"?'),
    (["xyzzy"], "rcu-bootctl --help"),
    (["policy", "lst"], 'Did you mean "policy list"?'),
    (["policy", "xyzzy"], "list, show, check or explain"),
    (["policy"], "Too few arguments"),
    (["--jsno"], "Did you mean --json?"),
    (["--no-such-thing"], "rcu-bootctl --help"),
    (["-x"], "Unknown option -x"),
    (["--json=yes"], "Option --json takes no value"),
    (["--help=me"], "Option --help takes no value"),
    (["end", "--reason"], "Option --reason needs a value"),
    (["status", "now"], "Too many arguments"),
    (["knobs", "all"], "Too many arguments"),
    (["end", "now"], "Too many arguments"),
    (["wait", "5"], "Too many arguments"),
    (["log", "5"], "Too many arguments"),
    (["extend"], "rcu-bootctl extend SECONDS"),
    (["extend", "1", "2"], "rcu-bootctl extend SECONDS"),
    (["milestone"], "rcu-bootctl milestone NAME..."),
    (["policy", "list", "x"], "Too many arguments"),
    (["policy", "explain", "x"], "Too many arguments"),
    (["policy", "show", "x", "y"], "rcu-bootctl policy show [NAME]"),
    (["status", "--reason=x"], 'Option --reason has no place with "status"'),
    (["end", "--json"], 'Option --json has no place with "end"'),
    (["wait", "--follow"], 'Option --follow has no place with "wait"'),
    (["status", "--boot=1"], 'Option --boot has no place with "status"'),
    (["end", "--timeout=1"], 'Option --timeout has no place with "end"'),
    (["wait", "--timeout=soon"], "--timeout=soon is not a time"),
    (["wait", "--timeout="], "is not a time"),
    (["extend", "soon"], '"soon" is not a time'),
    (["extend", "--", "-5"], '"-5" is not a time'),
    (["extend", "0"], '"0" is not a time'),
    (["extend", "2h"], "an hour at most"),
    (["extend", "infinity"], "an hour at most"),
    (["milestone", "home screen"], "not a milestone's name"),
    (["milestone", "ok", "a\nX_RCU_BOOT_END=1"], "not a milestone's name"),
    (["milestone", ""], "not a milestone's name"),
])
def test_wrong_usage(bootctl, args, hint):
    result = bootctl(*args, code=2)
    assert result.out == ""
    assert hint in result.err
    assert result.err.startswith("rcu-bootctl: ")


def test_options_stand_anywhere(bootctl, tree):
    tree.write_state()
    for args in (["--json", "status"], ["status", "--json"], ["--json"]):
        assert bootctl(*args).json()["phase"] == "ended"


def test_without_a_command_it_is_status(bootctl, tree):
    tree.write_state()
    assert "has ended" in bootctl().out


def test_no_such_root(bootctl):
    result = bootctl("status", root="/no/such/root", code=1)
    assert "/no/such/root" in result.err and "No such file" in result.err


def test_full_disk_is_no_success(bootctl):
    with open("/dev/full", "w", encoding="ascii") as full:
        process = subprocess.run(bootctl.arguments("knobs"), stdout=full, stderr=subprocess.PIPE, env=environment(),
                                 timeout=PATIENCE, check=False)
    assert process.returncode == 1


def test_no_colours_in_files(bootctl, tree):
    tree.write_state()
    for env in ({}, {"SYSTEMD_COLORS": "1"}):
        for verb in (["status"], ["knobs"], ["--help"], ["policy", "list"], ["policy", "explain"]):
            assert "\x1b" not in bootctl(*verb, env=env).out


@pytest.mark.parametrize("env, coloured", [
    ({}, True),
    ({"SYSTEMD_COLORS": "0"}, False),
    ({"SYSTEMD_COLORS": "false"}, False),
    ({"SYSTEMD_COLORS": "16"}, True),
    ({"NO_COLOR": "1"}, False),
    ({"NO_COLOR": ""}, True),
    ({"NO_COLOR": "1", "SYSTEMD_COLORS": "1"}, True),
    ({"TERM": "dumb"}, False),
    ({"TERM": None}, False),
])
def test_colours_on_terminal(bootctl, tree, env, coloured):
    tree.write_state()
    code, out = on_terminal(bootctl.arguments("status", "--no-pager"), env)
    assert code == 0 and "has ended" in re.sub("\x1b\\[[0-9;]*m", "", out)
    assert ("\x1b[" in out) == coloured


@pytest.mark.parametrize("locale, dot", [("C.UTF-8", "●"), ("C", "*")])
def test_dot(bootctl, tree, locale, dot):
    tree.write_state()
    assert bootctl("status", env={"LC_ALL": locale}).out.startswith(f"{dot} RCU's boot")


def write_pager(tree):
    pager = tree.write("../pager", "#!/bin/sh\necho \"PAGED $*\"\ncat\nexit 7\n")
    pager.chmod(0o755)
    return pager.resolve()


@pytest.mark.parametrize("verb", [["status"], ["knobs"], ["policy", "list"], ["policy", "show"], ["policy", "explain"]])
def test_pager(bootctl, tree, verb):
    """The exit code is ours, not the pager's."""
    tree.write_state()
    pager = write_pager(tree)
    for env in ({"SYSTEMD_PAGER": f"{pager} --with 'an argument'"}, {"PAGER": f"{pager} --with 'an argument'"}):
        code, out = on_terminal(bootctl.arguments(*verb), {"SYSTEMD_PAGERSECURE": "0", **env})
        assert code == 0
        assert out.startswith("PAGED --with an argument\r\n") and len(out.splitlines()) > 3


@pytest.mark.parametrize("args, env", [
    (["--no-pager"], {}),
    ([], {"SYSTEMD_PAGER": ""}),
    ([], {"SYSTEMD_PAGER": "cat"}),
    ([], {"TERM": "dumb"}),
])
def test_no_pager(bootctl, tree, args, env):
    tree.write_state()
    pager = write_pager(tree)
    _code, out = on_terminal(bootctl.arguments("status", *args), {"PAGER": str(pager), "SYSTEMD_PAGERSECURE": "0", **env})
    assert "PAGED" not in out and "has ended" in out.replace("\x1b[0;1;32m", "")


def path_with(tree, name):
    """A $PATH with one pager only, whatever this machine has: a real one might wait for a key."""
    pager = tree.path.parent / "bin" / name
    pager.parent.mkdir()
    pager.write_text("#!/bin/sh\necho FOUND\nexec /bin/cat\n")
    pager.chmod(0o755)
    return str(pager.parent)


@pytest.mark.parametrize("name", ["less", "more"])
def test_pager_that_is_not_there(bootctl, tree, name):
    tree.write_state()
    _code, out = on_terminal(bootctl.arguments("status"),
                             {"PAGER": "/no/such/pager", "SYSTEMD_PAGERSECURE": "0", "PATH": path_with(tree, name)})
    assert "FOUND" in out and "RCU's boot" in out


def test_no_pager_anywhere(bootctl, tree):
    tree.write_state()
    _code, out = on_terminal(bootctl.arguments("status"),
                             {"PAGER": "/no/such/pager", "SYSTEMD_PAGERSECURE": "0", "PATH": "/no/such"})
    assert "RCU's boot" in out


def test_pager_in_secure_mode_is_no_program_of_the_users(bootctl, tree):
    """sudo rcu-bootctl must not run what the user's environment names as root."""
    tree.write_state()
    pager = write_pager(tree)
    _code, out = on_terminal(bootctl.arguments("status"),
                             {"PAGER": str(pager), "SYSTEMD_PAGERSECURE": "1", "PATH": path_with(tree, "less")})
    assert "PAGED" not in out and "RCU's boot" in out


def test_pager_that_quits_at_once(bootctl, tree):
    """Nothing of it shows in the exit code."""
    tree.write_state(phase="booting", reason="none", deadline_usec=3600000000)
    code, _out = on_terminal(bootctl.arguments("status"), {"PAGER": "true", "SYSTEMD_PAGERSECURE": "0"})
    assert code == 1  # boot has not ended, and no daemon runs
