"""The ledger of CPUs and NUMA amounts: placements, evictions and undo."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from pyroclast import Session, Task
from pyroclast.model.cpusets import as_text
from pyroclast.model.ids import TaskId
from pyroclast.plugins.nodenuma.allocator import CpuAllocator
from pyroclast.plugins.nodenuma.usage import Holding
from pyroclast.testing import Scenario, open_session
from tests.nodenuma import LARGE, QOS, STATUS, holding, node, pinned, run
from tests.reservations import claimed, reservation


def opened(scenario: Scenario) -> Session:
    """A session with nodenuma and Reservations."""
    session = open_session(scenario, plugins=("gang", "predicates", "nodenuma", "reservation"))
    assert session.extensions.failures == {}
    return session


def ledger_of(session: Session) -> CpuAllocator:
    """The plugin's ledger."""
    (found,) = [ledger for _, ledger in session.extensions.all_ledgers() if isinstance(ledger, CpuAllocator)]
    return found


def tasks(session: Session, name: str) -> tuple[Any, list[Task]]:
    """A job and its tasks."""
    job = next(job for job in session.jobs.all() if job.id == f"default/{name}")
    return job, sorted(job.tasks.values(), key=lambda task: task.name)


def picture(session: Session) -> tuple[Mapping[TaskId, Holding], Mapping[TaskId, Holding]]:
    """Holders of the first node: those that stay, and those that leave."""
    holders = ledger_of(session).holders[0]
    return dict(holders.staying), dict(holders.leaving)


def in_use(session: Session, *, in_future: bool) -> str:
    """CPUs of the first node in use, now or later."""
    return as_text(ledger_of(session).usage(0, in_future=in_future).cpus)


def test_undoing_leaves_what_was_there() -> None:
    """Placements and evictions in any order."""
    session = opened(pinned(holding(node(cpus=LARGE), "held", "0,16", 2, amounts={0: {"cpu": "2"}}), "p", 4, tasks=3))
    job, waiting = tasks(session, "p")
    held_job, (held,) = tasks(session, "held")
    before = picture(session)

    with session.statement() as statement:
        assert statement.allocate(job, [waiting[0]], [0]) is None
        assert statement.evict(held_job, held, "preempt") is None
        assert statement.pipeline(job, [waiting[1]], [0]) is None
        assert statement.allocate(job, [waiting[2]], [0]) is None
        assert picture(session) != before

    assert picture(session) == before


@pytest.mark.parametrize("early", [True, False])
def test_an_evicted_pod_holds_its_cpus_until_it_is_gone(early: bool) -> None:
    """They are free for a pod that waits for them, and in use for one that starts now; whenever the ledger is built."""
    session = opened(pinned(holding(node(), "held", "0-1,4-5", 4), "p", 6))
    held_job, (held,) = tasks(session, "held")
    job, (waiting,) = tasks(session, "p")
    if not early:
        assert in_use(session, in_future=True) == "0-1,4-5"

    with session.statement() as statement:
        assert statement.evict(held_job, held, "preempt") is None
        assert in_use(session, in_future=True) == ""
        assert in_use(session, in_future=False) == "0-1,4-5"
        refusal = statement.allocate(job, [waiting], [0])
        assert refusal is not None
        assert (refusal.plugin, refusal.message) == ("nodenuma", "n1: not enough cpus available to satisfy request")
        assert statement.pipeline(job, [waiting], [0]) is None
        assert in_use(session, in_future=True).count("-") == 2

    assert in_use(session, in_future=True) == "0-1,4-5"


def test_a_terminating_pod_holds_its_cpus() -> None:
    """Its CPUs are free for pods that wait until it is gone."""
    there = holding(node(), "held", "0-1,4-5", 4)
    leaving = next(each for each in there.objects if each["kind"] == "Pod")
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    session = opened(pinned(there, "p", 4))

    assert in_use(session, in_future=False) == "0-1,4-5"
    assert in_use(session, in_future=True) == ""


def test_pods_that_wait_for_cpus_keep_them() -> None:
    """A second pod that waits gets others."""
    session = opened(pinned(holding(node(), "held", "0-1,4-5", 4), "p", 4, tasks=2))
    held_job, (held,) = tasks(session, "held")
    job, waiting = tasks(session, "p")

    with session.statement() as statement:
        assert statement.evict(held_job, held, "preempt") is None
        assert statement.pipeline(job, [waiting[0]], [0]) is None
        assert statement.pipeline(job, [waiting[1]], [0]) is None
        cpus = [choice.cpus for _, _, choice in ledger_of(session).given()]
        assert not cpus[0] & cpus[1]
        assert in_use(session, in_future=True) == "0-7"


def test_several_tasks_in_one_change() -> None:
    """Each has its own CPUs; where one finds none, none of them keeps any."""
    session = opened(pinned(node(), "p", 4, tasks=3))
    job, waiting = tasks(session, "p")

    with session.statement() as statement:
        assert statement.allocate(job, waiting[:2], [0, 0]) is None
        assert in_use(session, in_future=True) == "0-7"
    with session.statement() as statement:
        assert statement.allocate(job, waiting, [0, 0, 0]) is not None
        assert in_use(session, in_future=True) == ""


def with_owner(*, once: bool) -> Scenario:
    """A Reservation of CPUs 0 and 4, which its owner uses."""
    told = {STATUS: json.dumps({"cpuset": "0,4"})}
    there = node().add(reservation("r", node="n1", annotations=told, labels={QOS: "LSR"}, allocateOnce=once))
    return there.running("o", on=["n1"], cpu=2, labels={"app": "a", QOS: "LSR"}, annotations={**claimed("r"), **told})


@pytest.mark.parametrize(("once", "later"), [(True, ""), (False, "0,4")])
def test_a_reservation_has_the_cpus_of_terminating_owners_back(once: bool, later: str) -> None:
    """When the owner is gone, a Reservation that may be used once has nothing left, and another one has its CPUs."""
    there = with_owner(once=once)
    leaving = next(each for each in there.objects if each["kind"] == "Pod")
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    session = opened(there)

    assert in_use(session, in_future=False) == "0,4"
    assert in_use(session, in_future=True) == later


@pytest.mark.parametrize(("once", "later"), [(True, ""), (False, "0,4")])
def test_a_reservation_has_the_cpus_of_evicted_owners_back(once: bool, later: str) -> None:
    """As for terminating owners. Undo returns the CPUs to the owner."""
    session = opened(with_owner(once=once))
    job, (owner,) = tasks(session, "o")
    before = picture(session)

    with session.statement() as statement:
        assert statement.evict(job, owner, "preempt") is None
        assert in_use(session, in_future=False) == "0,4"
        assert in_use(session, in_future=True) == later

    assert picture(session) == before


def test_nodes_of_one_kind_answer_by_what_is_in_use_there() -> None:
    """All CPUs of the first node are in use: the first pod gets the second node, and the third node is left."""
    there = node("n3", base=node("n2", base=holding(node("n1"), "held", "0-7", 8)))
    outcome = run(pinned(there, "p", 8, tasks=3, min_available=1))

    assert sorted(outcome.bindings.values()) == ["n2", "n3"]


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        ({"labels": {"numa-allocate-strategy": "MostAllocated"}}, ["2-3,18-19", "8-9,24-25"]),
        ({"reservation": {"reservedCPUs": "8,24"}}, ["12-13,28-29", "8-9,24-25"]),
    ],
)
def test_nodes_of_different_kinds_answer_differently(first: dict[str, Any], expected: list[str]) -> None:
    """The same CPUs are in use, but the first node fills its NUMA nodes, or reserves CPUs; only memory is on them."""
    zones = [{"memory": "64Gi"}] * 4
    there = node("n2", LARGE, base=node("n1", LARGE, zones=zones, **first), zones=zones)
    for name in ("n1", "n2"):
        there = holding(there, f"held-{name}", "0-1,16-17", 4, on=name)
    session = opened(pinned(there, "p", 4))
    _, (task,) = tasks(session, "p")
    choices = [ledger_of(session).choice(task, column, in_future=True) for column in range(2)]

    assert [as_text(each.cpus) for each in choices if not isinstance(each, str)] == expected
