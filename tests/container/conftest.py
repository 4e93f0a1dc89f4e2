# SPDX-License-Identifier: LGPL-2.1-or-later
"""Makes the guest harness (tests/lib/guest) and its fixtures available to the tests here."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from guest.fixtures import *  # noqa: E402,F401,F403 pylint: disable=wrong-import-position,wildcard-import,unused-wildcard-import
