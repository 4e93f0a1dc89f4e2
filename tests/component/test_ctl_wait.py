# SPDX-License-Identifier: LGPL-2.1-or-later
"""rcu-bootctl wait: what rcu-boot-wait.service runs. A waiter is seen to wait by its inotify watch, and then to wake up."""

import shutil
import threading

import pytest

from conftest import PATIENCE, now_usec, state_text, wait_for

HOUR = 3600 * 1000000


def booting(**changes):
    return {"phase": "booting", "reason": "none", "mode": "unknown", "end_when": ["ready"],
            "deadline_usec": now_usec() + HOUR // 4, **changes}


def is_watching(process):
    """Whether it has an inotify watch; then it has looked, or is about to look, at the state once more."""
    assert process.poll() is None, process.communicate()
    for fdinfo in (f"/proc/{process.pid}/fdinfo/{fd}" for fd in range(3, 32)):
        try:
            with open(fdinfo, encoding="ascii") as f:
                if "inotify wd:" in f.read():
                    return True
        except FileNotFoundError:
            continue
    return False


def is_asleep(process):
    """In poll(2), to be woken up by what happens next."""
    with open(f"/proc/{process.pid}/stat", encoding="ascii") as f:
        return is_watching(process) and f.read().rsplit(")", 1)[1].split()[0] == "S"


@pytest.fixture
def waiter(bootctl):
    """Starts `wait`; it is killed if the test left it."""
    started = []

    def start(*args):
        started.append(bootctl.start("wait", *args))
        return started[-1]

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
            process.wait()
        process.stdout.close()
        process.stderr.close()


def test_ended_already(bootctl, tree):
    tree.write_state()
    result = bootctl("wait")
    assert (result.out, result.err) == ("", "")


def test_wakes_up(bootctl, tree, waiter):
    tree.write_state(**booting())
    with tree.locked():
        process = waiter()
        wait_for(lambda: is_watching(process))
        tree.write_state(**booting(starts=2))
        tree.write_state(phase="ending", reason="manual")
        assert process.poll() is None
        tree.write_state()
        result = bootctl.finish(process)
    assert (result.out, result.err) == ("", "")


def test_wakes_up_where_there_is_no_room_for_a_second_file(bootctl, tree, waiter):
    """The state file is then written in place."""
    tree.write_state(**booting())
    with tree.locked():
        process = waiter()
        wait_for(lambda: is_asleep(process))
        (tree / "run/rcu-bootd/state").write_text(state_text())
        assert bootctl.finish(process).err == ""


def test_real_daemon(bootctl, bootd, tree, waiter):
    tree.policy()
    bootd.boot()
    first, second = waiter(), waiter("--timeout=1h")
    wait_for(lambda: is_watching(first) and is_watching(second))
    bootctl("milestone", "ready")
    bootctl.finish(first)
    bootctl.finish(second)


def test_timeout(bootctl, tree):
    tree.write_state(**booting())
    with tree.locked():
        for timeout in ("0", "50ms", "0.2"):
            result = bootctl("wait", f"--timeout={timeout}", code=3)
            assert f"has not ended within the timeout of {timeout} (phase: booting)" in result.err


def test_timeout_with_no_state_yet(bootctl, tree):
    """The daemon is just starting."""
    (tree / "run/rcu-bootd").mkdir()
    with tree.locked():
        assert "has not ended" in bootctl("wait", "--timeout=50ms", code=3).err


def test_timeout_that_is_not_needed(bootctl, tree):
    tree.write_state()
    bootctl("wait", "--timeout=0")
    bootctl("wait", "--timeout=infinity")


def test_nothing_will_end_it(bootctl):
    """No directory, no state, no daemon."""
    result = bootctl("wait", code=1)
    assert "rcu-bootd has not run since this system started" in result.err


def test_empty_directory(bootctl, tree):
    (tree / "run/rcu-bootd").mkdir()
    assert "rcu-bootd has not run" in bootctl("wait", code=1).err


def test_daemon_dies_before_it_wrote_a_state(bootctl, tree, waiter):
    (tree / "run/rcu-bootd").mkdir()
    with tree.locked():
        process = waiter()
        wait_for(lambda: is_watching(process))
        assert process.poll() is None
    assert "rcu-bootd has not run" in bootctl.finish(process, code=1).err


def test_daemon_writes_its_first_state(bootctl, tree, waiter):
    (tree / "run/rcu-bootd").mkdir()
    with tree.locked():
        process = waiter()
        wait_for(lambda: is_watching(process))
        tree.write_state(**booting())
        tree.write_state()
        bootctl.finish(process)


def test_daemon_killed_and_restarted(bootctl, bootd, tree, waiter):
    """case 12: a death in between is not the end of waiting."""
    tree.policy()
    bootd.boot()
    process = waiter()
    wait_for(lambda: is_asleep(process))
    bootd.kill()
    bootd.start()
    wait_for(lambda: (tree.state() or {}).get("STARTS") == "2")
    assert process.poll() is None
    bootctl("end")
    bootctl.finish(process)


def test_daemon_killed_for_good(bootctl, bootd, tree, waiter):
    """case 12: --post-stop's write is what is waited for then."""
    tree.policy()
    bootd.boot()
    process = waiter()
    wait_for(lambda: is_asleep(process))
    bootd.kill()
    assert process.poll() is None
    bootd.run("--post-stop")
    bootctl.finish(process)
    assert tree.state()["REASON"] == "daemon-died"


@pytest.mark.parametrize("alive, words", [(False, "rcu-bootd is not running"), (True, "rcu-bootd does not get on")])
def test_not_for_ever(bootctl, tree, alive, words):
    """The deadline, and a grace, have passed; nothing ends it."""
    tree.write_state(**booting(deadline_usec=1000000))
    if alive:
        with tree.locked():
            result = bootctl("wait", code=1)
    else:
        result = bootctl("wait", code=1)
    assert words in result.err and "rcu-bootctl status" in result.err


def test_gives_up_by_itself(bootctl, tree, waiter):
    """The same while it waits: the grace runs out."""
    tree.write_state(**booting(deadline_usec=now_usec() - 28 * 1000000))
    assert "rcu-bootd is not running" in bootctl.finish(waiter(), code=1).err


def test_damaged_state(bootctl, tree):
    tree.write_state("PHASE=")
    assert "cannot be understood" in bootctl("wait", code=1).err


def test_damaged_state_that_a_daemon_replaces(bootctl, tree, waiter):
    tree.write_state("PHASE=")
    with tree.locked():
        process = waiter()
        wait_for(lambda: is_watching(process))
        tree.write_state()
        bootctl.finish(process)


def test_directory_is_removed(bootctl, tree, waiter):
    """Somebody tidied /run: nothing is left to wait for."""
    tree.write_state(**booting())
    process = waiter()
    wait_for(lambda: is_asleep(process))
    shutil.rmtree(tree / "run/rcu-bootd")
    assert "rcu-bootd has not run" in bootctl.finish(process, code=1).err


def test_directory_is_replaced(bootctl, tree, waiter):
    tree.write_state(**booting())
    process = waiter()
    wait_for(lambda: is_asleep(process))
    (tree / "run/rcu-bootd-new").mkdir()
    (tree / "run/rcu-bootd").rename(tree / "run/gone")
    tree.write_state()
    result = bootctl.finish(process, code=None)
    # It may have looked between the two, and found nothing.
    assert result.code == 0 or "rcu-bootd has not run" in result.err


def test_nothing_is_missed(bootctl, tree):
    """The end comes at any moment between looking and watching: many times over. Only a lost wake-up reaches the bound."""
    for _ in range(100):
        tree.write_state(**booting())
        process = bootctl.start("wait")
        timer = threading.Thread(target=tree.write_state)
        timer.start()
        bootctl.finish(process)
        timer.join(PATIENCE)
