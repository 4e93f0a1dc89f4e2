# SPDX-License-Identifier: LGPL-2.1-or-later
"""Scenario (k): a real-time workload is not started before RCU's boot has ended."""

from guest.evidence import assert_over, be_patient, expedited_now, finish, wait_booting
from guest.scenario import reached

WORKLOAD = """\
read -r expedited </sys/kernel/rcu_expedited
read -r normal </sys/kernel/rcu_normal
echo "expedited=$expedited normal=$normal" >/run/workload
/usr/lib/rcu-test/event workload
"""


def test_k_workload_n_normal_after_boot(vm, tree):
    """(k): the workload's first instruction finds the knobs in their after state. (n): the kernel set rcu_normal
    itself before init, as real-time kernels do; it is cleared while booting and set again at the end, in that order.

    Nothing but rcu-boot-wait.service holds the workload up, and the boot is held where the milestone is still to come.
    PID 1 itself announces basic.target, by the socket unit that the policy recommends.
    """
    be_patient(tree, "10-realtime")
    tree.service("workload", WORKLOAD, wanted_by="sysinit.target",
                 unit="DefaultDependencies=no\nWants=rcu-boot-wait.service\nAfter=rcu-boot-wait.service")  # fmt: skip
    tree.hold("here", before="basic.target")
    guest = vm(
        kernel="6.1",
        enable=("rcu-boot-end", "rcu-boot-milestone@basic.target.socket"),
        cmdline="rcu_bootd.class=realtime rcupdate.rcu_normal_after_boot=1",
    )
    guest.wait_held("here")
    wait_booting(guest)
    guest.wait_for(lambda: guest.active("rcu-boot-wait.service") == "activating", "the workload to be wanted")
    assert guest.active("workload.service") == "inactive"
    assert (expedited_now(guest), guest.output("cat /sys/kernel/rcu_normal")) == ("1", "0")
    guest.release("here")
    guest.wait_event("workload")
    found = guest.output("cat /run/workload")
    shown = guest.show("workload.service", "ExecMainStartTimestampMonotonic")
    began = int(shown["ExecMainStartTimestampMonotonic"])
    guest.wait_booted()
    report = finish(guest)

    assert found == "expedited=0 normal=1"
    wanted = ["rcu_expedited=1", "rcu_normal=0", "rcu_normal=1", "rcu_expedited=0"]
    status = assert_over(report, "milestones", wanted)
    assert report.knob_writes()[-1].usec < began
    assert reached(status) == {"basic.target": "directory"}
    assert status["policy"]["name"] == "10-realtime.policy"
    knobs = {one["name"]: one for one in status["knobs"]}
    assert (knobs["rcu_expedited"]["before"], knobs["rcu_normal"]["before"]) == (0, 1)
    assert (status["mode_at_end"], status["mode"]) == ("normal", "normal")
