"""Candidates: runs of equal tasks go exactly where one by one they would."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyroclast import Locality, NodeColumns, Plugin, Session, Task
from pyroclast.testing import Scenario, open_session
from tests.unit.framework.asking import job_of, tasks_of

SCORES: tuple[tuple[Any, ...], ...] = (
    ("predicates",),
    ("predicates", "binpack"),
    ("predicates", "nodeorder"),
    ("predicates", "nodeorder", "binpack"),
)


@st.composite
def crowds(draw: st.DrawFn) -> Scenario:
    """Draw nodes of few sizes, so that ties are frequent, some in use, and a crowd of equal tasks."""
    scenario = Scenario()
    count = draw(st.integers(1, 8))
    for number in range(count):
        scenario = scenario.node(
            f"n{number}", cpu=draw(st.sampled_from([2, 4, 8])), memory="16Gi", pods=draw(st.sampled_from([3, 50]))
        )
    for number in range(draw(st.integers(0, 4))):
        node = f"n{draw(st.integers(0, count - 1))}"
        scenario = scenario.running(f"old{number}", on=[node], cpu=draw(st.sampled_from([None, 1])), memory="1Gi")
    sizes: list[str | int] = ["500m", 1, 2]
    return scenario.job("a", tasks=draw(st.integers(1, 30)), cpu=draw(st.sampled_from(sizes)), memory="1Gi")


def one_by_one(session: Session, tasks: list[Task]) -> list[int]:
    """Place tasks in turn, each where it is best, as a plain loop."""
    chosen: list[int] = []
    statement = session.statement()
    for task in tasks:
        choice = session.candidates.of(task).choose(task)
        if choice is None or not choice.is_idle:
            break
        assert statement.allocate(job_of(session), [task], [choice.column]) is None
        chosen.append(choice.column)
    statement.undo()
    return chosen


def best_by_hand(session: Session, tasks: list[Task]) -> list[int]:
    """Place tasks in turn with candidates made anew each time, so that nothing can be stale."""
    chosen: list[int] = []
    statement = session.statement()
    for task in tasks:
        session.candidates._store.clear()
        candidates = session.candidates.of(task)
        fits = [
            column
            for column in range(len(session.nodes))
            if candidates.allowed[column] and candidates.fits_idle[column]
        ]
        if not fits:
            break
        best = candidates.best_among(task, candidates.allowed & candidates.fits_idle)
        assert best is not None
        statement.allocate(job_of(session), [task], [best])
        chosen.append(best)
    statement.undo()
    session.candidates._store.clear()
    return chosen


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(crowds(), st.sampled_from(SCORES), st.integers(1, 30))
def test_a_run_equals_one_by_one(scenario: Scenario, plugins: tuple[Any, ...], count: int) -> None:
    """Same nodes, same order, also after earlier placements and where room ends."""
    session = open_session(scenario, plugins=plugins)
    tasks = tasks_of(session)
    candidates = session.candidates.of(tasks[0])
    expected = one_by_one(session, tasks[:count])
    assert expected == best_by_hand(session, tasks[:count])

    if session.candidates.of(tasks[0]).can_look_ahead(tasks[0]):
        assert session.candidates.of(tasks[0]).run(tasks[0], len(tasks[:count])) == expected
        assert candidates.run(tasks[0], len(tasks[:count])) == expected


@pytest.mark.parametrize(("locality", "can"), [(Locality.AMOUNTS, True), (Locality.NODE, False), (None, False)])
def test_what_depends_on_pods_is_not_looked_ahead(locality: Locality | None, can: bool) -> None:
    """Only where amounts tell all may a run be placed in one go."""

    class Score(Plugin):
        name = "score"

        def on_session_open(self, session: Session) -> None:
            from pyroclast import contract  # noqa: PLC0415  # a plugin of its own, as in a file

            session.extensions.register(contract.NODE_ORDER, self.name, self.score, locality=locality)

        def score(self, _: Task, nodes: NodeColumns) -> Any:
            return nodes.idle[0] * 1.0 if locality is not None else 1.0

    session = open_session(Scenario().node("n1").job("a", tasks=2), plugins=(Score,))
    task = tasks_of(session)[0]

    assert session.candidates.of(task).can_look_ahead(task) is can


def test_ties_go_to_the_lowest_name() -> None:
    """Whatever the order in which nodes were made."""
    session = open_session(Scenario().node("n2").node("n1").job("a"))
    (task,) = tasks_of(session)
    choice = session.candidates.of(task).choose(task)

    assert choice is not None
    assert session.nodes.table.names[choice.column] == "n1"


def test_free_room_comes_before_room_that_is_being_released() -> None:
    """Even where the score of the latter is higher."""
    session = open_session(
        Scenario().node("n1", cpu=1).node("n2", cpu=1).running("old", on=["n1"], cpu=1).job("a", tasks=2)
    )
    with session.statement() as statement:
        statement.evict(job_of(session, "old"), tasks_of(session, "old")[0], "preempt")
        first, second = tasks_of(session)
        choice = session.candidates.of(first).choose(first)
        assert choice is not None
        assert (choice.column, choice.is_idle) == (1, True)
        statement.allocate(job_of(session), [first], [1])
        choice = session.candidates.of(second).choose(second)
        assert choice is not None
        assert (choice.column, choice.is_idle) == (0, False)


def test_free_room_that_is_held_is_not_given_away() -> None:
    """A task waits for one CPU that is free and one that is being released; the free one is not taken from under it."""
    leaving = {
        "kind": "Pod",
        "metadata": {"name": "leaving", "namespace": "x", "deletionTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"nodeName": "n1", "containers": [{"name": "c", "resources": {"requests": {"cpu": 1}}}]},
        "status": {"phase": "Running"},
    }
    held = Scenario().node("n1", cpu=2).add(leaving).job("big", cpu=2).job("small", cpu=1)

    for plugins in (("gang",), ("gang", "predicates", "nodeorder")):
        outcome = held.run("allocate", plugins=plugins)
        assert outcome.pipelined == {"big-0": "n1"}
        assert outcome.bindings == {}
