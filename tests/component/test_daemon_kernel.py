# SPDX-License-Identifier: LGPL-2.1-or-later
"""rcu-bootd on kernels that end RCU's boot when user space reports, built in or as a module."""

import re
import subprocess

import pytest

from conftest import BUILD, environment, wait_for
from daemon_helpers import knob_record, policy, reach
from status_helpers import notes

DELAY = "sys/module/rcupdate/parameters/rcu_boot_end_delay"
DELAY_OF_MODULE = "sys/module/rcu_boot_end/parameters/rcu_boot_end_delay"
PROMISE = "sys/module/kernel/parameters/user_booted_reported"
PROMISE_OF_MODULE = "sys/module/rcu_boot_end/parameters/user_booted_reported"
WARNING = "The kernel was promised a report (user_booted_reported=1), but policy 50-test.policy does not write user_booted=1"

TELLS = "rcu_expedited=0 rcu_normal=1 rcu_boot_end_delay=0 user_booted=1"


def traced(bootd, *strace):
    """Starts the daemon under strace(1), whose options are given."""
    command = ["strace", "-f", "-qq", "-y", "-o", str(bootd.tree.path.parent / "trace"), *strace,
               str(BUILD / "rcu-bootd"), f"--root={bootd.tree.path}", "--foreground-log"]
    with open(bootd.log_path, "ab") as log:
        # LeakSanitizer cannot work under a tracer.
        bootd.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                         env=environment(ASAN_OPTIONS="exitcode=99:detect_leaks=0"))
    bootd.until("booting")


def trace(tree):
    return (tree.path.parent / "trace").read_text()


# --- what tells the kernel, and in which order ---

def test_order_of_writes(tree, bootd):
    """The report comes before the delay: it is to be what ended the kernel's boot, and all it tells of is done by then."""
    tree.add_all_knobs()
    tree.policy(text=policy(after=TELLS))
    traced(bootd, "-e", "trace=write")
    reach(tree, "ready")
    bootd.wait()
    written = re.findall(r"write\(\d+<[^>]*/((?:rcu_|user_)\w+)>, \"(\d+)\\n\"", trace(tree))
    assert written == [("rcu_expedited", "1"), ("rcu_normal", "1"), ("rcu_expedited", "0"), ("user_booted", "1"),
                       ("rcu_boot_end_delay", "0")]


def test_case_5_a_delay_that_the_report_has_ended(tree, bootd, bootctl):
    """EBUSY is the kernel's answer to the delay then, and is not worth a word."""
    tree.add_all_knobs()
    tree.policy(text=policy(after=TELLS))
    traced(bootd, "-P", str(tree / DELAY), "-e", "trace=write", "-e", "inject=write:error=EBUSY")
    reach(tree, "ready")
    bootd.wait()
    assert "INJECTED" in trace(tree) and knob_record(tree, "rcu_boot_end_delay")["after_errno"] == "16"
    assert "rcu_boot_end_delay" not in bootd.log and "user_booted: 0 -> 1" in bootd.log

    since = int(tree.state()["SINCE_USEC"])
    for name, text in (("", "1"), ("_by", "user_booted"), ("_ms", since // 1000)):
        tree.write(f"sys/kernel/rcu_boot_ended{name}", f"{text}\n")
    assert f"Kernel: RCU's boot ended at {since // 1000 / 1000:.3f} s, by user_booted: agrees\n" in bootctl("status").out
    assert bootctl("status", "--json").json()["notes"] == []


def test_delay_that_cannot_be_put_off_any_more(tree, bootd, bootctl):
    """EBUSY at the start is something else: the kernel's boot was over before the daemon came."""
    tree.add_all_knobs()
    tree.policy(text=policy(deadline="120", during="rcu_expedited=1 rcu_boot_end_delay=deadline", after=TELLS))
    traced(bootd, "-P", str(tree / DELAY), "-e", "trace=write", "-e", "inject=write:error=EBUSY")
    wait_for(lambda: "during_errno" in knob_record(tree, "rcu_boot_end_delay"), "the write's record")
    note = notes(bootctl("status", "--json", code=3).json())["during-failed"]
    for text in (bootd.log, note["text"]):
        assert "RCU's boot has ended in the kernel already (/sys/kernel/rcu_boot_ended_by says by what)" in text
    reach(tree, "ready")
    bootd.wait()


# --- the module ---

def with_module_nodes(tree):
    tree.add_knob("user_booted", 0)
    tree.add_knob("rcu_boot_end_delay", 120000, DELAY_OF_MODULE)


def with_module(tree):
    with_module_nodes(tree)
    tree.policy(text=policy(deadline="100", during="rcu_expedited=1 rcu_boot_end_delay=deadline", after=TELLS))


def test_module(tree, bootd, bootctl):
    """Its delay is the deadline, follows an extension, and is ended."""
    with_module(tree)
    bootd.boot()
    assert tree.knob("rcu_boot_end_delay", DELAY_OF_MODULE) == 100000
    bootctl("extend", "75")
    deadline = int(tree.state()["DEADLINE_USEC"])
    assert 100_000_000 < deadline <= 120_000_000
    assert tree.knob("rcu_boot_end_delay", DELAY_OF_MODULE) == deadline // 1000
    reach(tree, "ready")
    bootd.wait()
    assert (tree.knob("user_booted"), tree.knob("rcu_boot_end_delay", DELAY_OF_MODULE)) == (1, 0)
    assert not (tree / DELAY).exists()
    assert bootctl("knobs", "--json").json()["knobs"][3]["path"] == f"/{DELAY_OF_MODULE}"


@pytest.mark.parametrize("died", [False, True])
def test_module_loaded_while_waiting(tree, bootd, bootctl, died):
    """As by modules-load.d: it gets the deadline at the next milestone, and is told of the end. A daemon's death does not
    matter."""
    tree.policy(text=policy("early ready", deadline="100", during="rcu_expedited=1 rcu_boot_end_delay=deadline", after=TELLS))
    bootd.boot()
    if died:
        bootd.kill()
        bootd.start()
        wait_for(lambda: tree.state()["STARTS"] == "2", "the second daemon")
    with_module_nodes(tree)
    reach(tree, "early")
    wait_for(lambda: tree.knob("rcu_boot_end_delay", DELAY_OF_MODULE) == 100000, "the deadline to be set")
    reach(tree, "ready")
    bootd.wait()
    assert (tree.knob("user_booted"), tree.knob("rcu_boot_end_delay", DELAY_OF_MODULE)) == (1, 0)
    assert knob_record(tree, "user_booted")["after_errno"] == "0"
    assert bootctl("status", "--json").json()["notes"] == []


def test_module_loaded_before_the_end(tree, bootd):
    """No milestone before it, but the last."""
    tree.policy(text=policy(after=TELLS))
    bootd.boot()
    with_module_nodes(tree)
    reach(tree, "ready")
    bootd.wait()
    assert (tree.knob("user_booted"), tree.knob("rcu_boot_end_delay", DELAY_OF_MODULE)) == (1, 0)


def test_module_and_a_daemon_that_died(tree, bootd):
    with_module(tree)
    bootd.boot()
    bootd.kill()
    assert tree.knob("rcu_boot_end_delay", DELAY_OF_MODULE) == 100000
    bootd.run("--post-stop", env={"SERVICE_RESULT": "success"})
    assert tree.state()["REASON"] == "daemon-died"
    assert (tree.knob("user_booted"), tree.knob("rcu_boot_end_delay", DELAY_OF_MODULE)) == (1, 0)


# --- the promise ---

@pytest.mark.parametrize("path", [PROMISE, PROMISE_OF_MODULE])
@pytest.mark.parametrize("after", ["rcu_expedited=0", "rcu_expedited=0 rcu_boot_end_delay=0"])
def test_unkept_promise(tree, bootd, bootctl, path, after):
    tree.write(path, "Y\n")
    tree.write("dev/kmsg", "")
    tree.policy(text=policy(after=after))
    bootd.boot()
    assert bootd.log.count(WARNING) == 1
    assert f"<4>rcu-bootd: {WARNING}" in (tree / "dev/kmsg").read_text()
    assert "Add user_booted=1 to [After], or take user_booted_reported off the kernel command line" in bootd.log
    assert notes(bootctl("status", "--json", code=3).json())["unkept-promise"]["level"] == "warning"
    bootd.kill()
    bootd.start()
    wait_for(lambda: bootd.log.count(WARNING) == 2, "the second daemon to say it, too")
    reach(tree, "ready")
    bootd.wait()
    bootd.run()  # has nothing to do, and nothing to say
    assert bootd.log.count(WARNING) == 2


def test_unkept_promise_of_a_late_start(tree, bootd):
    tree.write(PROMISE, "Y\n")
    tree.policy()
    reach(tree, "ready")
    bootd.run()
    assert tree.state()["REASON"] == "late-start" and bootd.log.count(WARNING) == 1


@pytest.mark.parametrize("text, after", [("N\n", "rcu_expedited=0"), ("N\n", TELLS), ("Y\n", TELLS), ("1\n", "rcu_expedited=0"),
                                         ("", "rcu_expedited=0"), (None, "rcu_expedited=0")])
def test_no_unkept_promise(tree, bootd, text, after):
    """Kept, not made, or not to be read."""
    if text is not None:
        tree.write(PROMISE, text)
    tree.add_all_knobs()
    tree.policy(text=policy(after=after))
    bootd.boot()
    reach(tree, "ready")
    bootd.wait()
    assert tree.state()["REASON"] == "milestones" and "promised" not in bootd.log


@pytest.mark.parametrize("after, looks", [(TELLS, 0), ("rcu_expedited=0", 1)])
def test_promise_is_looked_at_only_where_it_matters(tree, bootd, after, looks):
    """As early as can be, each call counts; and of the kernel's other nodes the daemon reads none."""
    for path in (PROMISE, "sys/kernel/rcu_boot_ended", "sys/kernel/rcu_boot_ended_by", "sys/kernel/rcu_boot_ended_ms"):
        tree.write(path, "Y\n")
    tree.add_all_knobs()
    tree.policy(text=policy(after=after))
    traced(bootd, "-e", "trace=openat,openat2")
    reach(tree, "ready")
    bootd.wait()
    assert trace(tree).count('/user_booted_reported"') == looks and "rcu_boot_ended" not in trace(tree)
