"""Laws of sessions and statements, on generated clusters and random operations."""

import random

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyroclast import Session
from pyroclast.model.tasks import ALLOCATED_STATUSES
from pyroclast.testing import Scenario
from tests.drawing import examples
from tests.laws.clusters import act_at_random, clusters, opened, picture

LAWS = settings(max_examples=examples(50), deadline=None, suppress_health_check=[HealthCheck.too_slow])


@LAWS
@given(clusters(), st.integers(0, 2**32), st.integers(1, 12))
def test_undo_restores_the_session(scenario: Scenario, seed: int, steps: int) -> None:
    """Amounts, tasks and everything that plugins answer are as before, to the bit."""
    session = opened(scenario)
    before = picture(session)
    with session.statement() as statement:
        act_at_random(session, statement, random.Random(seed), steps)

    assert picture(session) == before


@LAWS
@given(clusters(), st.integers(0, 2**32), st.integers(1, 8), st.integers(1, 8))
def test_undo_of_the_inner_statement_leaves_the_outer(scenario: Scenario, seed: int, outer: int, inner: int) -> None:
    """And undoing the outer one restores the beginning."""
    session, choose = opened(scenario), random.Random(seed)
    beginning = picture(session)
    with session.statement() as first:
        act_at_random(session, first, choose, outer)
        between = picture(session)
        with session.statement() as second:
            act_at_random(session, second, choose, inner)
        assert picture(session) == between

    assert picture(session) == beginning


@LAWS
@given(clusters(), st.integers(0, 2**32), st.integers(2, 12))
def test_undo_to_a_point_restores_that_point(scenario: Scenario, seed: int, steps: int) -> None:
    """What came before it stays."""
    session, choose = opened(scenario), random.Random(seed)
    statement = session.statement()
    act_at_random(session, statement, choose, steps)
    kept, then = len(statement.operations), picture(session)
    act_at_random(session, statement, choose, steps)
    statement.undo_to(kept)

    assert picture(session) == then


@LAWS
@given(clusters(), st.integers(0, 2**32), st.integers(1, 12))
def test_sums_equal_a_fresh_count(scenario: Scenario, seed: int, steps: int) -> None:
    """Amounts of nodes, jobs and queues are those of their tasks, counted anew."""
    session = opened(scenario)
    statement = session.statement()
    act_at_random(session, statement, random.Random(seed), steps)
    statement.hold()

    assert_sums_hold(session)


def assert_sums_hold(session: Session) -> None:
    """Count everything anew."""
    by_queue = {name: np.zeros(len(session.resources), dtype=np.int64) for name in session.queues.by_name}
    used = np.zeros((len(session.resources), len(session.nodes)), dtype=np.int64)
    for job in session.jobs.all():
        allocated = np.zeros(len(session.resources), dtype=np.int64)
        for task in job.tasks.values():
            request = session.nodes.needs(task.template).request
            if task.status in ALLOCATED_STATUSES:
                allocated += request
            if task.node is not None and task.status.label != "Pipelined":
                used[:, session.nodes.table.column[task.node]] += request
        assert job.allocated.tolist() == allocated.tolist()
        assert [job.counts[status] for status in range(10)] == [
            sum(task.status == status for task in job.tasks.values()) for status in range(10)
        ]
        by_queue[job.queue] += allocated
    assert {name: each.tolist() for name, each in session.jobs.allocated_by_queue().items()} == {
        name: each.tolist() for name, each in by_queue.items()
    }
    assert session.nodes.columns().used.tolist() == used.tolist()


@LAWS
@given(clusters(), st.integers(0, 2**32), st.integers(0, 6))
def test_explanations_count_every_node_once(scenario: Scenario, seed: int, steps: int) -> None:
    """A pending task has each node counted under one reason; a placed task has no such reason."""
    session = opened(scenario)
    statement = session.statement()
    act_at_random(session, statement, random.Random(seed), steps)
    for job in session.jobs.all():
        for task in session.jobs.pending_tasks(job):
            refusal = session.candidates.explain(task)
            if session.candidates.of(task).choose(task) is None:
                assert sum(refusal.counts.values()) == len(session.nodes)
            else:
                assert sum(refusal.counts.values()) < len(session.nodes)
