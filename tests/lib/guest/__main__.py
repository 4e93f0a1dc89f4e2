# SPDX-License-Identifier: LGPL-2.1-or-later
"""Command line of the guest cache: see tests/guest/build."""

import argparse
import sys

from . import artifacts
from .cache import cache_dir
from .prereq import MissingPrerequisite


def main():
    parser = argparse.ArgumentParser(
        prog="tests/guest/build",
        description="Builds what test guests are made of, into the cache. What is there already is not built again.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(artifacts.ALL)}; all if none is given")
    parser.add_argument("--prune", action="store_true", help="also remove artifacts that nothing uses any more")
    parser.add_argument("--print", action="store_true", help="print each artifact's directory on standard output")
    args = parser.parse_args()
    unknown = sorted(set(args.names) - set(artifacts.ALL))
    if unknown:
        parser.error(f"no such artifact: {', '.join(unknown)} (there are {', '.join(artifacts.ALL)})")
    try:
        for name, path in artifacts.build_all(args.names).items():
            if args.print:
                print(path)
            else:
                print(f"{name}: {path}")
        if args.prune:
            artifacts.prune_unused()
    except (MissingPrerequisite, RuntimeError) as error:
        print(f"tests/guest/build: {error}", file=sys.stderr)
        return 1
    print(f"The guest cache is {cache_dir()}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
