"""Locks of nodes: one pod with cards is on its way to a node at a time."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyroclast.model.plan import Preparation
from pyroclast.plugins.deviceshare.device_allocator import DeviceAllocator
from pyroclast.plugins.deviceshare.locks import Locks
from pyroclast.testing import Outcome, Scenario
from pyroclast.testing.session import open_session
from tests.unit.plugins.cards import IDS, one, with_cards

NOW = 1_800_000_000.0
WANT = one(number=1, memory=100)


def run(scenario: Scenario, *, now: float = NOW, **arguments: Any) -> Outcome:
    """Allocate with locks."""
    named = {"deviceshare.VGPUEnable": True, "deviceshare.NodeLockEnable": True, **arguments}
    return scenario.run(
        "allocate", plugins=("gang", "predicates", "deviceshare"), arguments={"deviceshare": named}, now=now
    )


def locked(text: str) -> Scenario:
    """A node with a lock."""
    return with_cards(Scenario(), "n", 1000, annotations={"hamivgpu": text})


def test_one_pod_with_cards_a_cycle() -> None:
    """The second waits until the device plugin has served the first."""
    outcome = run(with_cards(Scenario(), "n", 1000).job("p", tasks=2, min_available=1, pod=WANT))

    assert outcome.bindings == {"p-0": "n"}
    assert outcome.why_pod("p-1").endswith("1 node has been locked within 5 minutes.")


def test_the_lock_is_a_preparation_of_the_binding() -> None:
    """Its annotation is that of the family."""
    (plan,) = run(with_cards(Scenario(), "n", 1000).job("p", pod=WANT)).report.plans

    details = {"annotation": "hamivgpu"}
    assert [bind.preparations for bind in plan.binds] == [
        (Preparation(kind="lock-node", namespace="", name="n", details=details),)
    ]


@pytest.mark.parametrize(
    ("text", "is_bound"),
    [
        ("2027-01-15T07:59:59Z", False),
        ("2027-01-15T07:55:00Z", False),
        ("2027-01-15T07:54:59Z", True),
        ("2027-01-15T07:40:00Z", True),
        ("2027-01-15T08:20:00Z", False),
        ("2027-01-15T09:54:59+02:00", True),
    ],
)
def test_a_lock_holds_for_five_minutes(text: str, *, is_bound: bool) -> None:
    """The moment is 08:00:00; one from the future is held."""
    outcome = run(locked(text).job("p", pod=WANT))

    assert bool(outcome.bindings) is is_bound
    assert is_bound or "1 node has been locked within 5 minutes" in outcome.why_pod("p-0")


@pytest.mark.parametrize("text", ["soon", "", "2027-01-15T07:40:00"])
def test_a_lock_that_is_not_a_time_is_reported(text: str) -> None:
    """Its end is unknown."""
    assert "1 the lock of the node is not a time" in run(locked(text).job("p", pod=WANT)).why_pod("p-0")


def test_pods_without_cards_are_not_tracked() -> None:
    """Neither by a lock nor by others of its like."""
    assert run(locked("soon").job("p", tasks=2)).bindings == {"p-0": "n", "p-1": "n"}


def test_a_gang_of_two_on_one_node_says_why_it_waits() -> None:
    """As long as nodes are locked it cannot be bound together."""
    outcome = run(with_cards(Scenario(), "n", 1000).job("p", tasks=2, pod=WANT))

    assert outcome.bindings == {}
    assert "locked within 5 minutes" in outcome.why_pod("p-1")


def test_two_nodes_take_one_each() -> None:
    """A gang of two is bound in one cycle."""
    cluster = with_cards(with_cards(Scenario(), "n", 1000), "o", 1000)

    assert run(cluster.job("p", tasks=2, pod=WANT)).bindings == {"p-0": "n", "p-1": "o"}


def test_a_pod_on_its_way_is_a_lock() -> None:
    """Its binding is assumed, and the annotation of the node has not come back yet; afterwards the node is free."""
    cluster = with_cards(Scenario(), "n", 1000).job("p", pod=WANT)
    later = cluster.job("q", pod=WANT)
    outcome = cluster.run(
        "allocate",
        plugins=("gang", "predicates", "deviceshare"),
        arguments={"deviceshare": {"deviceshare.VGPUEnable": True, "deviceshare.NodeLockEnable": True}},
        cycles=3,
        now=NOW,
        later={1: later},
    )

    assert outcome.bindings == {"p-0": "n", "q-0": "n"}
    assert IDS in dict(outcome.rounds[0].plans[0].binds[0].annotations)


def test_whole_cards_lock_nothing() -> None:
    """As in Volcano, where shares of cards alone do."""
    cluster = Scenario().node(
        "n", resources={"volcano.sh/gpu-number": 2, "volcano.sh/gpu-memory": 2}, annotations={"gpu": "soon"}
    )
    by_number = {"deviceshare.VGPUEnable": False, "deviceshare.GPUNumberEnable": True}
    by_memory = {"deviceshare.VGPUEnable": False, "deviceshare.GPUSharingEnable": True}

    assert run(cluster.job("p", tasks=2, pod=one(gpu_number=1)), **by_number).bindings == {"p-0": "n", "p-1": "n"}
    assert run(cluster.job("p", pod=one(gpu_memory=1)), **by_memory).bindings == {}


@given(moves=st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=1, max_size=6), data=st.data())
def test_undoing_leaves_nodes_and_cards_as_they_were(moves: list[tuple[int, bool]], data: st.DataObject) -> None:
    """The second of two placements on a node is refused, pipelined ones too, and its cards are not kept."""
    cluster = with_cards(with_cards(locked("soon"), "o", 1000), "p", 1000)
    for number in range(len(moves)):
        cluster = cluster.job(f"j{number}", pod=WANT)
    arguments = {"deviceshare": {"deviceshare.VGPUEnable": True, "deviceshare.NodeLockEnable": True}}
    session = open_session(cluster, plugins=("deviceshare",), arguments=arguments, now=NOW)
    (_, books), (_, locks) = session.extensions.all_ledgers()
    assert isinstance(books, DeviceAllocator)
    assert isinstance(locks, Locks)
    jobs = list(session.jobs.all())
    asking = next(iter(jobs[0].tasks.values()))

    def standing() -> tuple[list[int], list[int]]:
        verdicts = locks.verdicts(asking, session.nodes.columns())
        assert verdicts is not None
        return verdicts.tolist(), [len(shelf.holders) for shelf in books.shelves.values()]

    before = standing()
    assert before == ([2, 0, 0], [0, 0, 0])
    held = [0, 0, 0]
    states = []
    with session.statement() as statement:
        for job, (column, is_idle) in zip(jobs, moves, strict=True):
            states.append((len(statement.operations), standing()))
            place = statement.allocate if is_idle else statement.pipeline
            refusal = place(job, list(job.tasks.values()), [column])
            is_free = column != 0 and not held[column]
            assert (refusal is None) is is_free
            held[column] += is_free
            assert standing() == ([2, *held[1:]], held)
        mark, then = data.draw(st.sampled_from(states))
        statement.undo_to(mark)
        assert standing() == then
        statement.undo()
    assert standing() == before
