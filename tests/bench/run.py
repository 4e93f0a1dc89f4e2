#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs the benchmarks that are named, or all of them; see README.md beside this file."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent

# The quick ones first. The words for the exit codes of bench.main().
BENCHMARKS = ("instructions", "memory", "latency", "boot-time")
WORDS = {0: "reached", 1: "MISSED", 2: "NOT MEASURED"}


def main():
    names = sys.argv[1:] or BENCHMARKS
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        print(f"bench: no benchmark {', '.join(unknown)} (there are {', '.join(BENCHMARKS)})", file=sys.stderr)
        return 2
    results = {}
    for name in names:
        script = HERE / f"{name.replace('-', '_')}.py"
        results[name] = subprocess.run([sys.executable, "-B", script], check=False).returncode
        print(flush=True)
    print("Targets: " + ", ".join(f"{name} {WORDS.get(code, 'NOT MEASURED')}" for name, code in results.items()))
    return max(results.values())


if __name__ == "__main__":
    sys.exit(main())
