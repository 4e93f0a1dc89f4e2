# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the tests of rcu-bootd share."""

from conftest import now_usec


def policy(end_when="ready", deadline="3600", during="rcu_expedited=1", after="rcu_expedited=0", more=""):
    lines = [f"EndWhen={line}" for line in ([end_when] if isinstance(end_when, str) else end_when)]
    return ("[Boot]\n" + "\n".join(lines) + f"\nDeadlineSec={deadline}\n{more}\n"
            f"[During]\n" + during.replace(" ", "\n") + "\n[After]\n" + after.replace(" ", "\n") + "\n")


def seconds_from_now(seconds):
    return f"{now_usec() / 1e6 + seconds:.3f}"


def reach(tree, name):
    tree.write(f"run/rcu-bootd/milestones/{name}", "")


def knob_record(tree, name):
    """KNOB_name= of the state file as a dict."""
    return dict(word.split(":", 1) for word in tree.state()[f"KNOB_{name}"].split())


def never_expedited(tree):
    return "during_asked" not in knob_record(tree, "rcu_expedited")
