"""Capacity in a session: worked numbers of docs/plugins/capacity.md."""

from collections.abc import Mapping
from typing import Any

import pytest

from framework import points
from framework.points import Vote
from model.refusals import Refusal
from plugins.capacity.plugin import Holding
from tests.unit.plugins.policies import World, group, node, opened, pod, queue


def world(*objects: Any, tree: bool = False, level: int = 0) -> World:
    """A session with capacity alone, on one node."""
    option = {"name": "capacity", "enableHierarchy": tree, "arguments": {"ancestorReclaimLevel": level}}
    root = [queue("root")] if tree else []
    return opened(node("n", cpu="100", memory="100Gi"), *root, *objects, plugins=[option])


def jobs(name: str, own: str, cpu: str, memory: str = "1Gi", on: str = "", **more: Any) -> list[Any]:
    """A group with one pod."""
    return [group(name, queue=own, **more), pod(name, job=name, cpu=cpu, memory=memory, on=on)]


def holding(there: World) -> Holding:
    """What the plugin keeps."""
    made = there.function(points.QUEUE_ORDER).function.__self__
    assert isinstance(made, Holding)
    return made


def victims(there: World, reclaimer: str, *names: str) -> list[str]:
    """Which tasks may give way."""
    chosen, vote = holding(there).reclaimable(there.task(reclaimer), there.tasks(*names))
    assert vote is Vote.PERMIT
    return [task.name for task in chosen]


@pytest.mark.parametrize(
    ("deserved", "cpu", "memory", "share"),
    [
        ({}, "1", "1Gi", 1.0),
        ({"cpu": "0", "memory": "0"}, "1", "1Gi", 1.0),
        ({"cpu": "2", "memory": "2Gi"}, "1", "1Gi", 0.5),
        ({"cpu": "2", "memory": "2Gi"}, "3", "2Gi", 1.5),
        ({"cpu": "2", "memory": "4Gi"}, "1", "3Gi", 0.75),
    ],
)
def test_share(deserved: Mapping[str, str], cpu: str, memory: str, share: float) -> None:
    """The largest part of what is deserved; 1 where nothing is."""
    there = world(queue("q", deserved=dict(deserved)), *jobs("a", "q", cpu, memory, on="n"))

    assert holding(there).books[there.queue("q").name].share == share


@pytest.mark.parametrize(
    ("deserved", "held", "memory", "may"),
    [({"cpu": "1", "memory": "2Gi"}, "1", "1Gi", False), ({"cpu": "2", "memory": "2Gi"}, "1", "3Gi", True)],
)
def test_who_may_reclaim(deserved: Mapping[str, str], held: str, memory: str, may: bool) -> None:
    """One resource within what is deserved is enough."""
    there = world(
        queue("q", deserved=dict(deserved)), *jobs("a", "q", held, memory, on="n"), *jobs("b", "q", "1", "2Gi")
    )

    assert (holding(there).preemptive(there.queue("q"), there.tasks("b")) is None) is may


def test_capability_stops_reclaim() -> None:
    """7 of 8 CPU are held, 2 more are asked for."""
    there = world(
        queue("q", capability={"cpu": "8"}, deserved={"cpu": "8", "memory": "90Gi"}),
        *jobs("a", "q", "7", on="n"),
        *jobs("b", "q", "2"),
    )

    answer = holding(there).preemptive(there.queue("q"), there.tasks("b"))
    assert isinstance(answer, Refusal)
    assert answer.message == "queue q would have more cpu than it may"


@pytest.mark.parametrize(("level", "gone"), [(0, ["b"]), (1, ["b"]), (2, [])])
def test_ancestors_that_have_no_more_than_they_deserve_protect(level: int, gone: list[str]) -> None:
    """The parent has 2 of 1 CPU, the grandparent 2 of 3: level 2 spares."""
    there = world(
        queue("grand-a", deserved={"cpu": "2"}),
        queue("parent-a", parent="grand-a", deserved={"cpu": "2"}),
        queue("queue-a", parent="parent-a", deserved={"cpu": "2"}),
        queue("grand-b", deserved={"cpu": "3"}),
        queue("parent-b", parent="grand-b", deserved={"cpu": "1"}),
        queue("queue-b", parent="parent-b", deserved={"cpu": "1"}),
        *jobs("a", "queue-a", "2"),
        *jobs("b", "queue-b", "2", on="n"),
        tree=True,
        level=level,
    )

    assert victims(there, "a", "b") == gone


def test_relatives_without_deserved_do_not_take_from_each_other() -> None:
    """Two queues below one parent, neither is promised anything."""
    there = world(
        queue("parent", deserved={"cpu": "4"}),
        queue("queue-a", parent="parent"),
        queue("queue-b", parent="parent"),
        *jobs("a", "queue-a", "2"),
        *jobs("b", "queue-b", "2", on="n"),
        tree=True,
        level=1,
    )

    assert victims(there, "a", "b") == []


def test_guarantees_of_siblings_limit() -> None:
    """6 CPU above, 4 guaranteed to each of two: each may have 4."""
    there = world(
        queue("q7", capability={"cpu": "6", "memory": "4Gi"}),
        queue("q71", parent="q7", guarantee={"cpu": "4", "memory": "3Gi"}),
        queue("q72", parent="q7", guarantee={"cpu": "4", "memory": "3Gi"}),
        tree=True,
    )

    assert holding(there).books[there.queue("q71").name].limit[:2] == [4000, 3 * 2**30]


def test_the_gate_counts_what_relatives_reserve() -> None:
    """The parent's 2 CPU are reserved by the first child's job: the second child's waits."""
    minimum = {"phase": "Pending", "min_resources": {"cpu": "2", "memory": "4Gi"}}
    there = world(
        queue("q6", capability={"cpu": "2", "memory": "4Gi"}),
        queue("q61", parent="q6"),
        queue("q62", parent="q6"),
        *jobs("a", "q61", "2", **minimum),
        *jobs("b", "q62", "2", **minimum),
        tree=True,
    )
    held = holding(there)

    assert held.enqueueable(there.job("a")) is Vote.PERMIT
    held.enqueued(there.job("a"))
    answer = held.enqueueable(there.job("b"))
    assert isinstance(answer, Refusal)
    assert answer.message == "queue resource quota insufficient: insufficient cpu, insufficient memory"


def test_a_broken_branch_is_fenced_and_the_rest_goes_on() -> None:
    """A circle, a missing parent, a job that is not in a leaf; a sound queue beside them."""
    there = world(
        queue("x", parent="y"),
        queue("y", parent="x"),
        queue("lost", parent="nowhere"),
        queue("top"),
        queue("leaf", parent="top"),
        *jobs("in-x", "x", "1"),
        *jobs("in-lost", "lost", "1"),
        *jobs("in-top", "top", "1"),
        *jobs("in-leaf", "leaf", "1"),
        tree=True,
    )
    held = holding(there)
    refusals = {
        name: held.allocatable(there.queue(name), there.task(f"in-{name}")) for name in ("x", "lost", "top", "leaf")
    }

    assert {name: refusal and refusal.message for name, refusal in refusals.items()} == {
        "x": "queue x is out of service: its ancestors form a circle at queue x",
        "lost": "queue lost is out of service: parent nowhere of queue lost does not exist",
        "top": "queue top has queues below it; jobs belong into these",
        "leaf": None,
    }


def test_undone_placements_leave_no_trace() -> None:
    """Queue, parent and share are as they were."""
    there = world(queue("top"), queue("leaf", parent="top", deserved={"cpu": "2"}), *jobs("a", "leaf", "1"), tree=True)
    books = holding(there).books
    before = {name: (list(book.allocated), book.share) for name, book in books.items()}
    statement = there.session.statement()
    there.place(statement, "a", "n")

    assert [books[there.queue(name).name].allocated[0] for name in ("root", "top", "leaf")] == [1000] * 3
    statement.undo()
    assert {name: (list(book.allocated), book.share) for name, book in books.items()} == before
