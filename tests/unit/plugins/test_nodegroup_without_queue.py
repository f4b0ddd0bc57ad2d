"""Nodegroup has nothing to say of a task whose job or queue is gone: it waits for another reason."""

import msgspec

from pyroclast.framework.extension import contract
from pyroclast.model.ids import JobId
from tests.unit.plugins.policies import node, opened, pod


def test_a_task_of_no_job_is_neither_refused_nor_scored() -> None:
    """Where one of a queue without rules may use no node with a group."""
    there = opened(node("n", labels={"volcano.sh/nodegroup-name": "g"}), pod("p"), plugins=["nodegroup"])
    known = there.task("p")
    stray = msgspec.structs.replace(known, job=JobId("ns/gone"))
    predicate, order = there.function(contract.PREDICATE), there.function(contract.NODE_ORDER)
    columns = there.session.nodes.columns()

    assert predicate.function(known, columns).all()
    assert predicate.function(stray, columns) is None
    assert order.function(stray, columns) is None
    assert predicate.cares is not None
    assert not predicate.cares(stray)
