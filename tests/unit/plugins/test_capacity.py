"""Capacity in a session: worked numbers of docs/plugins/capacity.md."""

from collections.abc import Mapping
from typing import Any

import pytest

from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Vote
from pyroclast.framework.preemption.gang_plans import GangEviction
from pyroclast.model.refusals import Refusal
from tests.unit.plugins.capacity import holding
from tests.unit.plugins.policies import World, group, node, opened, pod, queue


def world(*objects: Any, tree: bool = False, level: int = 0) -> World:
    """A session with capacity alone, on one node."""
    option = {"name": "capacity", "enableHierarchy": tree, "arguments": {"ancestorReclaimLevel": level}}
    root = [queue("root")] if tree else []
    return opened(node("n", cpu="100", memory="100Gi"), *root, *objects, plugins=[option])


def jobs(name: str, own: str, cpu: str, memory: str = "1Gi", on: str = "", **more: Any) -> list[Any]:
    """A group with one pod."""
    return [group(name, queue=own, **more), pod(name, job=name, cpu=cpu, memory=memory, on=on)]


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

    assert holding(there).usage[there.queue("q").name].share == share
    assert there.samples("queue_overused")["q"] == (share > 1)


@pytest.mark.parametrize(
    ("deserved", "held", "memory", "may"),
    [({"cpu": "1", "memory": "2Gi"}, "1", "1Gi", False), ({"cpu": "2", "memory": "2Gi"}, "1", "3Gi", True)],
)
def test_queues_that_may_reclaim(deserved: Mapping[str, str], held: str, memory: str, may: bool) -> None:
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
    assert answer.message == "queue q would exceed its capability of cpu"


@pytest.mark.parametrize(
    ("capability", "guarantee", "what"),
    [
        ("80", "0", "its capability of cpu"),
        (None, "0", "the cpu of all nodes"),
        (None, "20", "the cpu not guaranteed to other queues"),
    ],
)
def test_the_message_names_the_binding_limit(capability: str | None, guarantee: str, what: str) -> None:
    """No queue can have 110 of 100 CPU, whatever the capability; nor what is guaranteed to others."""
    there = world(
        queue("q", capability={"cpu": capability} if capability else {}),
        queue("other", guarantee={"cpu": guarantee}),
        *jobs("a", "q", "70", on="n"),
        *jobs("b", "q", "40"),
    )
    answer = holding(there).allocatable(there.queue("q"), there.tasks("b")[0])

    assert answer is not None
    assert answer.message == f"queue q would exceed {what}"


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

    assert holding(there).usage[there.queue("q71").name].limit[:2] == [4000, 3 * 2**30]


def test_the_gate_counts_what_relatives_reserve() -> None:
    """The parent's 2 CPU are reserved by the first child's job: the second child's waits."""
    minimum: dict[str, Any] = {"phase": "Pending", "min_resources": {"cpu": "2", "memory": "4Gi"}}
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
        "top": "queue top has child queues; submit the job to one of them",
        "leaf": None,
    }


def test_undone_placements_leave_no_trace() -> None:
    """Queue, parent and share are as they were."""
    there = world(queue("top"), queue("leaf", parent="top", deserved={"cpu": "2"}), *jobs("a", "leaf", "1"), tree=True)
    books = holding(there).usage
    before = {name: (list(book.allocated), book.share) for name, book in books.items()}
    statement = there.session.statement()
    there.place(statement, "a", "n")

    assert [books[there.queue(name).name].allocated[0] for name in ("root", "top", "leaf")] == [1000] * 3
    statement.undo()
    assert {name: (list(book.allocated), book.share) for name, book in books.items()} == before


@pytest.mark.parametrize(("is_reclaim", "gone"), [(True, ["b1", "b2", "c"]), (False, ["b1", "b2", "b3", "c", "d"])])
def test_a_gang_takes_what_queues_have_beyond_their_part(is_reclaim: bool, gone: list[str]) -> None:
    """One deserves 1 of 3 CPU; another has no capacity reserved; a guarantee stays; inside a queue all may go."""
    there = world(
        queue("q", deserved={"cpu": "4"}),
        queue("rich", deserved={"cpu": "1"}),
        queue("other", deserved={"example.com/fpga": "1"}),
        queue("sure", guarantee={"cpu": "1"}),
        *jobs("a", "q", "4"),
        *jobs("b1", "rich", "1", on="n"),
        *jobs("b2", "rich", "1", on="n"),
        *jobs("b3", "rich", "1", on="n"),
        *jobs("c", "other", "1", on="n"),
        *jobs("d", "sure", "1", on="n"),
    )
    ask = there.function(contract.UNIFIED_EVICTABLE).function
    context = GangEviction(job=there.job("a"), task=there.task("a"), is_reclaim=is_reclaim)
    chosen, vote = ask(context, there.tasks("b1", "b2", "b3", "c", "d"))

    assert (vote, [task.name for task in chosen]) == (Vote.PERMIT, gone)


def test_side_by_side_reclaim() -> None:
    """4 of 2 CPU deserved are held: one pod of 2 CPU goes, after that the queue has what it deserves."""
    there = world(
        queue("q3", deserved={"cpu": "2", "memory": "4Gi"}),
        queue("q4", deserved={"cpu": "2", "memory": "4Gi"}),
        *jobs("a", "q4", "2", "4Gi"),
        *jobs("b", "q3", "2", "4Gi", on="n"),
        *jobs("c", "q3", "2", "4Gi", on="n"),
    )

    assert holding(there).preemptive(there.queue("q4"), there.tasks("a")) is None
    assert len(victims(there, "a", "b", "c")) == 1


def gpu_jobs(name: str, own: str, *, gpu: str, on: str = "", cpu: str = "", memory: str = "") -> list[Any]:
    """A group with one pod that asks for GPUs."""
    return [group(name, queue=own), pod(name, job=name, cpu=cpu, memory=memory, on=on, gpu=gpu)]


def test_pods_beyond_the_reservations_of_their_queue_are_evicted_at_once() -> None:
    """CPU and memory are deserved: the GPU pod goes for a GPU pod, one without GPU does not meet the need."""
    there = world(
        queue("q"),
        queue("v", deserved={"cpu": "8", "memory": "8Gi"}),
        *gpu_jobs("a", "q", gpu="1"),
        *gpu_jobs("b", "v", gpu="1", on="m"),
        *jobs("c", "v", "", on="n"),
        gpu_node(),
    )

    assert victims(there, "a", "b", "c") == ["b"]


def test_resources_without_a_deserved_amount_do_not_count() -> None:
    """One GPU is deserved and held; that the pod also has 4 CPU makes it no victim of a CPU pod."""
    there = world(
        queue("q", deserved={"cpu": "4"}),
        queue("v", deserved={"nvidia.com/gpu": "1"}),
        *jobs("a", "q", "4"),
        *gpu_jobs("b", "v", gpu="1", cpu="4", memory="4Gi", on="m"),
        gpu_node(),
    )

    assert victims(there, "a", "b") == []


def gpu_node() -> Any:
    """A node with GPUs, so that what is deserved of them is not cut to nothing."""
    return node("m", cpu="8", memory="32Gi", gpu="8")


def test_an_ancestor_that_deserves_is_licence_enough() -> None:
    """The leaf deserves no GPU, its parent one: with level 1 it reclaims from who is promised none."""
    there = world(
        queue("queue1", deserved={"nvidia.com/gpu": "1"}),
        queue("queue11", parent="queue1"),
        queue("queue2"),
        *gpu_jobs("a", "queue11", gpu="1"),
        *gpu_jobs("b", "queue2", gpu="4", on="m"),
        gpu_node(),
        tree=True,
        level=1,
    )

    assert holding(there).preemptive(there.queue("queue11"), there.tasks("a")) is None
    assert victims(there, "a", "b") == ["b"]


def test_a_leaf_inherits_what_its_capability_does_not_say() -> None:
    """Memory is limited above and below, cpu nowhere: a pod of 1 CPU may be placed."""
    there = world(
        queue("q5", capability={"memory": "4Gi"}),
        queue("q51", parent="q5", capability={"memory": "2Gi"}),
        *jobs("a", "q51", "1"),
        *jobs("b", "q51", "1", "3Gi"),
        tree=True,
    )
    held = holding(there)

    assert held.allocatable(there.queue("q51"), there.task("a")) is None
    refusal = held.allocatable(there.queue("q51"), there.task("b"))
    assert refusal is not None
    assert refusal.message == "queue q51 would exceed its capability of memory"


def told(there: World) -> dict[str, tuple[str, str]]:
    """Reason and text of the events on queues, by name."""
    return {each.name: (each.reason, each.message) for each in there.session.report.events if each.kind == "Queue"}


EXCESS = "queues below exceed queue top: capability of left (cpu), deserved together (cpu), guarantees together (cpu)"


def test_owners_get_events_about_broken_branches_and_excess_of_children() -> None:
    """The sum of what is deserved and guaranteed below, and a capability beyond the parent's; served all the same."""
    there = world(
        queue("lost", parent="nowhere"),
        queue("top", capability={"cpu": "4"}, deserved={"cpu": "3"}),
        queue("left", parent="top", capability={"cpu": "5"}, deserved={"cpu": "2"}),
        queue("right", parent="top", guarantee={"cpu": "2"}),
        *jobs("a", "left", "1"),
        tree=True,
    )

    assert told(there) == {
        "lost": ("QueueTreeBroken", "out of service: parent nowhere of queue lost does not exist"),
        "top": (
            "QueuesBelowExceed",
            EXCESS,
        ),
    }
    assert holding(there).allocatable(there.queue("left"), there.task("a")) is None


def test_a_capability_of_no_cpu_is_reported() -> None:
    """It sets no limit, which is rarely meant."""
    there = world(queue("q", capability={"cpu": "0", "example.com/fpga": "0"}))

    assert told(there) == {
        "q": ("CapabilityZero", "a capability of 0 sets no limit on cpu; to close the queue set its state")
    }


@pytest.mark.parametrize(("branch", "leaf"), [("a", "b"), ("b", "a")])
def test_of_a_branch_and_a_leaf_with_equal_shares_the_first_goes_first(branch: str, leaf: str) -> None:
    """Older, or of equal age by name: neither uses anything, and how deep a queue lies decides nothing."""
    there = world(
        queue(branch, deserved={"cpu": "2"}),
        queue("twig", parent=branch, deserved={"cpu": "2"}),
        queue(leaf, deserved={"cpu": "2"}),
        *jobs("one", "twig", "1"),
        *jobs("other", leaf, "1"),
        tree=True,
    )
    below, beside = (holding(there).rank(there.queue(name)) for name in ("twig", leaf))

    assert (below < beside) is (branch < leaf)
