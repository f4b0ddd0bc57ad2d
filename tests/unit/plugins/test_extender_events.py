"""Extender: placements and evictions, sent and reverted."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyroclast.framework.session.session import Session
from pyroclast.model.tasks import Task, TaskStatus
from pyroclast.testing import Scenario
from tests.unit.plugins.extending import AWAY, Service, decided, opened

CLUSTER = Scenario().node("n1").node("n2").running("old", on=["n1", "n2"]).job("new", tasks=3)


def counts(service: Service) -> Counter[str]:
    """Return how many more times each task was placed than taken off."""
    told: Counter[str] = Counter()
    for verb, body in service.asked:
        told[body["task"]["Name"]] += 1 if verb == "allocateFunc" else -1
    return told


def job_of(session: Session, name: str) -> Any:
    """Return a job by its name."""
    return next(job for job in session.jobs.all() if job.job.name == name)


def pending(session: Session) -> list[Task]:
    """Return the tasks that wait, in order."""
    return session.jobs.pending_tasks(job_of(session, "new"))


def test_placements_are_sent() -> None:
    """One call for each task, with its node."""
    service = Service(allocateFunc={}, deallocateFunc={})
    outcome = decided(CLUSTER, service)

    told = {body["task"]["Name"]: body["task"]["NodeName"] for body in service.bodies("allocateFunc")}
    assert told == outcome.bindings
    assert {body["task"]["Status"] for body in service.bodies("allocateFunc")} == {2}
    assert service.bodies("deallocateFunc") == []


def test_an_undone_attempt_is_sent_in_reverse() -> None:
    """A gang that finds no room leaves nothing behind."""
    service = Service(allocateFunc={}, deallocateFunc={})
    outcome = decided(CLUSTER.job("big", tasks=2, min_available=2, cpu=5), service)

    assert not any(name.startswith("big") for name in outcome.bindings)
    assert {name: count for name, count in counts(service).items() if count} == dict.fromkeys(outcome.bindings, 1)


@pytest.mark.parametrize("ignorable", [False, True])
def test_a_message_refuses_the_placement(ignorable: bool) -> None:
    """Even of an extender that may be ignored: it did answer."""
    outcome = decided(CLUSTER, Service(allocateFunc={"errorMessage": "no licence left"}), ignorable=ignorable)

    assert outcome.bindings == {}
    assert "no licence left" in outcome.why("new")


@pytest.mark.parametrize(("ignorable", "placed"), [(False, 0), (True, 3)])
def test_a_failure_refuses_it_unless_it_may_be_ignored(ignorable: bool, placed: int) -> None:
    """It is called in both cases."""
    outcome = decided(CLUSTER, Service(allocateFunc=AWAY), ignorable=ignorable)

    assert len(outcome.bindings) == placed
    assert outcome.failed_plugins == ["extender"]


def test_an_eviction_is_a_deallocation_that_may_be_refused() -> None:
    """Undone, the task is placed again."""
    service = Service(allocateFunc={}, deallocateFunc={})
    session = opened(CLUSTER, service)
    old = job_of(session, "old")
    victim = next(iter(old.tasks.values()))
    with session.statement() as statement:
        assert statement.evict(old, victim, "preempt") is None
        assert service.verbs() == ["deallocateFunc"]
    assert service.verbs() == ["deallocateFunc", "allocateFunc"]

    service.answers["deallocateFunc"] = {"errorMessage": "it writes a checkpoint"}
    with session.statement() as statement:
        refusal = statement.evict(old, victim, "preempt")
        assert refusal is not None
        assert (refusal.plugin, refusal.message) == ("extender", "it writes a checkpoint")
    assert old.tasks[victim.id].status is TaskStatus.RUNNING


def test_of_several_tasks_that_are_placed_together_none_stays_when_one_is_refused() -> None:
    """Those called before it are reverted, last first, and it is not."""
    service = Service(
        allocateFunc=lambda body: {"errorMessage": "full"} if body["task"]["Name"] == "new-2" else {}, deallocateFunc={}
    )
    session = opened(CLUSTER, service)
    with session.statement() as statement:
        assert statement.allocate(job_of(session, "new"), pending(session), [0, 1, 0]) is not None

    assert [(verb, body["task"]["Name"]) for verb, body in service.asked] == [
        ("allocateFunc", "new-0"),
        ("allocateFunc", "new-1"),
        ("allocateFunc", "new-2"),
        ("deallocateFunc", "new-1"),
        ("deallocateFunc", "new-0"),
    ]


def test_a_ledger_that_fails_at_undo_is_reported_and_others_are_called() -> None:
    """The session is as it was all the same."""
    service = Service(allocateFunc={}, deallocateFunc=lambda body: AWAY if body["task"]["Name"] == "new-1" else {})
    session = opened(CLUSTER, service)
    before = session.nodes.state.copy()
    with session.statement() as statement:
        assert statement.allocate(job_of(session, "new"), pending(session), [0, 1, 0]) is None

    assert [body["task"]["Name"] for body in service.bodies("deallocateFunc")] == ["new-2", "new-1", "new-0"]
    assert list(session.extensions.failures) == ["extender"]
    assert (session.nodes.state == before).all()


def test_unmanaged_tasks_are_not_sent() -> None:
    """No extender is called."""
    service = Service(allocateFunc=AWAY)

    assert len(decided(CLUSTER, service, managedResources=["nvidia.com/gpu"]).bindings) == 3
    assert service.asked == []


STEPS = st.lists(st.sampled_from(["allocate", "pipeline", "evict", "undo"]), max_size=12)


@given(steps=STEPS, refused=st.sets(st.sampled_from(["new-0", "new-1", "new-2", "old-0", "old-1"]), max_size=2))
def test_what_it_counts_comes_out_even(steps: list[str], refused: set[str]) -> None:
    """Whatever is tried, refused and undone: in the end each task was placed as often as it was taken off."""

    def answer(body: Any) -> Any:
        return {"errorMessage": "no"} if body["task"]["Name"] in refused and body["task"]["Status"] != 64 else {}

    service = Service(allocateFunc=answer, deallocateFunc={})
    session = opened(CLUSTER, service)
    before = session.nodes.state.copy()
    with session.statement() as statement:
        for step in steps:
            waiting = pending(session)
            running = [task for task in job_of(session, "old").tasks.values() if task.status is TaskStatus.RUNNING]
            if step == "undo":
                statement.undo_to(len(statement.operations) // 2)
            elif step == "evict" and running:
                statement.evict(job_of(session, "old"), running[0], "preempt")
            elif step in {"allocate", "pipeline"} and waiting:
                getattr(statement, step)(job_of(session, "new"), waiting[:2], [0, 1][: len(waiting)])

    # a task that was refused was told once, and its answer said that it does not count
    told = counts(service)
    told.subtract(body["task"]["Name"] for verb, body in service.asked if verb == "allocateFunc" and answer(body))
    assert {name: count for name, count in told.items() if count} == {}
    assert (session.nodes.state == before).all()


def test_a_trial_sends_nothing() -> None:
    """A trial decides nothing, so the extender is not called; the session follows it, and is undone."""
    service = Service(allocateFunc={}, deallocateFunc={})
    session = opened(CLUSTER, service)
    old, new = job_of(session, "old"), job_of(session, "new")
    victim = next(iter(old.tasks.values()))
    with session.statement(trial=True) as trial:
        assert trial.evict(old, victim, "") is None
        assert trial.allocate(new, pending(session)[:1], [0]) is None
        assert old.tasks[victim.id].status is TaskStatus.RELEASING
    assert old.tasks[victim.id].status is TaskStatus.RUNNING
    assert service.asked == []


def test_saying_whose_end_would_help_sends_nothing() -> None:
    """Blocking jobs are found by trial evictions; with nothing decided the extender is not called."""
    service = Service(allocateFunc={}, deallocateFunc={})
    full = Scenario().node("n1", cpu=4).running("old", on=["n1"], cpu=4).job("new", cpu=4)
    outcome = decided(full, service, "allocate", plugins=("gang", "predicates"))

    assert [each.fits_when for each in outcome.refusals("new") if each.plugin == "gang"] == [("default/old",)]
    assert service.asked == []
