# SPDX-License-Identifier: LGPL-2.1-or-later
"""What journalctl -x has to say, as journalctl reads it. That every id has its entry is a matter of test_docs.py."""

import re
import shutil
import subprocess

from conftest import PATIENCE, SOURCE

NAMES = (SOURCE / "src/names.h").read_text()
IDS = {value: name for name, value in re.findall(r'^#define MESSAGE_ID_(\w+) "([0-9a-f]{32})"', NAMES, re.M)}
TEXT = (SOURCE / "catalog/rcu-bootd.catalog").read_text()
ENTRIES = dict(re.findall(r"^-- ([0-9a-f]{32})\n(.*?)(?=^-- |\Z)", TEXT, re.M | re.S))


def test_every_entry_has_its_parts():
    for number, entry in ENTRIES.items():
        head, _, body = entry.partition("\n\n")
        assert re.search("^Subject: .{10,}$", head, re.M), IDS[number]
        assert "Defined-By: rcu-bootd" in head and re.search("^Documentation: man:rcu-bootd[(]8[)]", head, re.M), IDS[number]
        assert len(body.strip().split("\n\n")) >= 2, IDS[number]


def test_journalctl_takes_it(tmp_path):
    (tmp_path / "usr/lib/systemd/catalog").mkdir(parents=True)
    (tmp_path / "var/lib/systemd/catalog").mkdir(parents=True)
    shutil.copy(SOURCE / "catalog/rcu-bootd.catalog", tmp_path / "usr/lib/systemd/catalog")

    def journalctl(*args):
        done = subprocess.run(["journalctl", f"--root={tmp_path}", "--no-pager", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=PATIENCE)
        assert done.returncode == 0 and done.stderr == "", done
        return done.stdout

    journalctl("--update-catalog")
    listed = journalctl("--list-catalog")
    assert {line.split()[0] for line in listed.splitlines()} == set(IDS)
    assert all("rcu-bootd: " in line for line in listed.splitlines())
