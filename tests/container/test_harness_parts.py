# SPDX-License-Identifier: LGPL-2.1-or-later
"""Parts of the guest harness that need no guest: the cache, trees, prerequisites, the reading of reports."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import guest

from guest import GuestError, KnobWrite, MissingPrerequisite, Tree, prereq, wait_for
from guest.cache import artifact, cache_dir, prune
from guest.fixtures import split_modules
from guest.report import Report, parse_knob_writes
from guest.vm import CLOCKS, default_cpus, timer_options
from guest.watch import KnobWatch


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("RCU_BOOTD_CACHE", str(tmp_path / "cache"))


def build_slowly(log, release):
    """Builds an artifact that stands still half-way until file @release exists."""

    def build(directory):
        with open(log, "a", encoding="ascii") as file:
            file.write("built\n")
        (directory / "first").touch()
        wait_for(release.exists, "leave to go on")
        (directory / "second").touch()

    path = artifact("thing", ["inputs"], "a thing", build)
    os._exit(0 if (path / "first").exists() and (path / "second").exists() else 1)


def test_cache_is_built_once_and_whole(tmp_path):
    log, release = tmp_path / "log", tmp_path / "release"
    context = multiprocessing.get_context("fork")
    builders = [context.Process(target=build_slowly, args=(log, release)) for _ in range(4)]
    for builder in builders:
        builder.start()
    wait_for(log.exists, "a build to begin")
    assert not [path for path in cache_dir().glob("thing-*") if path.suffix != ".tmp"]
    release.touch()
    for builder in builders:
        builder.join()
        assert builder.exitcode == 0
    assert log.read_text(encoding="ascii") == "built\n"


def test_cache_survives_a_killed_build(tmp_path):
    log, release = tmp_path / "log", tmp_path / "release"
    builder = multiprocessing.get_context("fork").Process(target=build_slowly, args=(log, release))
    builder.start()
    wait_for(log.exists, "a build to begin")
    os.kill(builder.pid, signal.SIGKILL)
    builder.join()
    path = artifact("thing", ["inputs"], "a thing", lambda directory: (directory / "whole").touch())
    assert [entry.name for entry in path.iterdir()] == ["whole"]
    assert sorted(entry.name for entry in cache_dir().iterdir()) == [path.name, "thing.lock"]


def test_cache_keeps_nothing_of_a_failed_build():
    def fail(directory):
        (directory / "half").touch()
        raise RuntimeError("no network")

    with pytest.raises(RuntimeError, match="no network"):
        artifact("thing", [1], "a thing", fail)
    assert [entry.name for entry in cache_dir().iterdir()] == ["thing.lock"]


def test_cache_key_follows_inputs():
    made = [artifact("thing", [inputs], "a thing", lambda directory: None) for inputs in (1, 2, 1)]
    assert made[0] == made[2] != made[1]
    prune({made[1]})
    assert not made[0].exists() and made[1].exists()


def test_missing_tool_names_its_package(monkeypatch):
    monkeypatch.setattr(prereq, "SEARCH_PATH", "/nonexistent")
    with pytest.raises(MissingPrerequisite, match="apt-get install mmdebstrap systemd-container"):
        prereq.need("mmdebstrap", "systemd-nspawn")


def test_tree_that_would_hide_the_guests_lib(tmp_path):
    tree = Tree(tmp_path / "tree").write("lib/systemd/system/x.service", "").write("usr/lib/y", "")
    with pytest.raises(ValueError, match="hide"):
        tree.check()
    tree.merge_usr().check()
    assert (tree.path / "usr/lib/systemd/system/x.service").exists() and (tree.path / "usr/lib/y").exists()


def test_tree_enables_units(tmp_path):
    tree = Tree(tmp_path / "tree")
    tree.write("usr/lib/systemd/system/x.service", "[Service]\nExecStart=true\n[Install]\nWantedBy=sysinit.target\n")
    tree.enable("x")
    assert (tree.path / "etc/systemd/system/sysinit.target.wants/x.service").is_symlink()
    with pytest.raises(RuntimeError, match="nonesuch"):
        tree.enable("nonesuch")


TRACE = """# tracer: nop
#
           <...>-1       [000] .....     9.000001: knob_rcu_normal: (rcu_normal_store+0x4/0x40) value="0
"
      rcu-bootd-183     [000] .N...    15.356562: knob_rcu_expedited: (rcu_expedited_store+0x4/0x40) value="1
"
      my prog-2-236     [001] .....    25.246485: knob_rcu_normal: (rcu_normal_store+0x4/0x40) value="1"
      rcu-bootd-183     [000] .....    26.000000: other: (rcu_normal_store+0x4/0x40) value="1"
"""


def test_trace_of_knob_writes():
    assert parse_knob_writes(TRACE) == [
        KnobWrite(9_000_001, "rcu_normal", "0", "<...>", 1),
        KnobWrite(15_356_562, "rcu_expedited", "1", "rcu-bootd", 183),
        KnobWrite(25_246_485, "rcu_normal", "1", "my prog-2", 236),
    ]


def test_watch_sees_each_write_once(tmp_path):
    """Also where the file changes several times until it is closed, and whoever watches looks in between."""
    knob = tmp_path / "knob"
    knob.write_text("0\n", encoding="ascii")
    watch = KnobWatch([tmp_path])
    try:
        for count, value in enumerate("1010", start=1):
            with open(knob, "w", encoding="ascii") as file:
                time.sleep(0.01)
                file.write(value)
                file.flush()
                time.sleep(0.01)
                file.write("\n")
            wait_for(lambda count=count: len(watch.writes) >= count, f"write {count}")
        with open(knob, "r+", encoding="ascii"):
            pass
        (tmp_path / "other").write_text("7\n", encoding="ascii")
        wait_for(lambda: watch.writes[-1].knob == "other", "the other file")
    finally:
        watch.close()
    assert [write.value for write in watch.writes] == ["1", "0", "1", "0", "7"]


def test_report(tmp_path):
    texts = {
        "state": "PHASE=ended\nREASON=milestones\n",
        "knobs": "/sys/kernel/rcu_expedited=0\n",
        "processes": "1 systemd\n7 rcu-bootd\n70 rcu-bootd x\n",
        "failed": "x.service loaded failed failed X\n",
        "status.rc": "3\n",
        "journal.json": '{"A":"1","B":"2"}\n{"A":"2","B":"2"}\n',
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="ascii")
    report = Report(tmp_path)
    assert report.state == {"PHASE": "ended", "REASON": "milestones"}
    assert report.knobs == {"rcu_expedited": "0"}
    assert report.processes("rcu-bootd") == [7]
    assert report.failed == ["x.service"]
    assert report.rc("status") == 3
    assert report.journal(A=2) == [{"A": "2", "B": "2"}]
    assert report.errors("status") == ""


def test_shards_are_a_partition():
    sizes = {"a": 5, "b": 3, "c": 3, "d": 1}
    for shards in range(1, 6):
        parts = split_modules(sizes, shards)
        assert len(parts) == shards
        assert sorted(name for part in parts for name in part) == sorted(sizes)
    assert split_modules(sizes, 2) == [["a", "d"], ["b", "c"]]


def test_counted_instructions_mean_one_cpu():
    """And only one may do without the timer that each CPU has of its own."""
    assert {clock: default_cpus(clock) for clock in CLOCKS} == {
        "instructions": 1, "skip-idle": 1, "host": 2, "host-single": 2,
    }  # fmt: skip
    assert timer_options("instructions", 1).split() == ["nolapic_timer", "tsc=reliable"]
    assert timer_options("instructions", 2) == timer_options("host-single", 2) == "tsc=reliable"
    assert timer_options("host", 2) == ""


def test_waiting_gives_up():
    started = time.monotonic()
    with pytest.raises(Exception, match="in vain for godot"):
        wait_for(lambda: False, "godot", timeout=0.1)
    assert time.monotonic() - started >= 0.1


def test_waiting_asks_seldom_where_answers_take_time():
    """Of a predicate that takes a twentieth of a second no more than one answer in a fifth of a second."""
    asked = []
    with pytest.raises(GuestError, match="in vain"):
        wait_for(lambda: asked.append(time.sleep(0.05)), "an answer", timeout=0.5)
    assert 2 <= len(asked) <= 4


def test_demo_needs_only_the_standard_library():
    """tools/demo installs python3, and no module that is not part of it."""
    script = f"import sys; sys.path.insert(0, {str(Path(guest.__file__).parents[1])!r}); import guest.demo"
    subprocess.run([sys.executable, "-I", "-S", "-B", "-c", script], check=True)
