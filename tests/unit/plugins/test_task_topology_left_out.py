"""Task-topology leaves out of a bucket that does not fit a node those first that would be placed last."""

import pytest

from tests.unit.plugins.policies import group, node, opened, pod


def test_the_last_in_order_is_left_out() -> None:
    """The node has 2 CPU, the bucket asks for 1 + 1 + 2: without the one of 2, which is last, the rest fits.

    Had w1 been left out first, the one of 2 would have had to follow: two of three, and a score of a third.
    """
    option = {"name": "task-topology", "arguments": {"task-topology.weight": 10}}
    members = (
        pod(name, cpu=cpu, annotations={"volcano.sh/task-spec": "worker"})
        for name, cpu in (("w0", "1"), ("w1", "1"), ("w2", "2"))
    )
    there = opened(
        node("n", cpu="2"),
        group("job", annotations={"volcano.sh/task-topology-affinity": "worker"}),
        *members,
        plugins=[option],
    )

    assert there.scores("w0")["n"] == pytest.approx((3 - 1) * 10 * 100 / 3)
