# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the tests of rcu-bootctl status share."""

LATER = 3600 * 1000000


def booting(**changes):
    """Of a boot that goes on for a long time."""
    return {"phase": "booting", "reason": "none", "mode": "unknown", "deadline_usec": LATER,
            "knobs": {"rcu_expedited": "present:1 found:0 default:0 during:1 during_asked:1 during_errno:0 during_read:1 "
                                       "after:0"},
            **changes}


def both(bootctl, code, **kwargs):
    """Text and JSON, which must agree on the exit code."""
    text = bootctl("status", code=code, **kwargs)
    data = bootctl("status", "--json", code=code, **kwargs).json()
    assert data["exit_code"] == code
    assert text.err == ""
    return text.out, data


def notes(data):
    return {note["id"]: note for note in data["notes"]}
