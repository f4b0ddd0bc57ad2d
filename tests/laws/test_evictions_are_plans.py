"""Each eviction has a preemptor: plans are whole, minimal, and leave gangs whole or gone."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
from hypothesis import given

from pyroclast.framework.session.session import Session
from pyroclast.framework.session.statements.statement import Statement
from pyroclast.model.api.names import LENT
from pyroclast.model.ids import NodeName, TaskId
from pyroclast.model.plan import Eviction, Plan
from pyroclast.model.tasks import ALLOCATED_STATUSES
from pyroclast.testing import Outcome, Scenario, open_session
from tests.laws.test_evictions_come_to_rest import EVICTING, LAWS, PLUGINS, crowded

IN_SHARES = {"proportion": {"lendIdle": False}}
"""What is lent is beyond shares, so a queue refuses it when it is asked again."""


def decide(scenario: Scenario, evicting: tuple[str, ...]) -> Outcome:
    """Run one cycle."""
    return scenario.run("enqueue", "allocate", *evicting, "backfill", plugins=PLUGINS, arguments=IN_SHARES)


def evicting_plans(outcome: Outcome) -> Iterator[Plan]:
    """Plans that evict."""
    return (plan for plan in outcome.rounds[0].plans if plan.evictions)


@pytest.mark.parametrize("evicting", EVICTING)
@LAWS
@given(scenario=crowded())
def test_each_eviction_has_a_beneficiary_that_is_placed_whole(scenario: Scenario, evicting: tuple[str, ...]) -> None:
    """A plan that evicts places its job's minimum, with what runs of it already."""
    outcome = decide(scenario, evicting)
    jobs = outcome.rounds[0].snapshot.jobs
    for plan in evicting_plans(outcome):
        assert plan.job is not None
        job = jobs[plan.job]
        running = sum(task.status in ALLOCATED_STATUSES for task in job.tasks.values())
        bound = sum(bind.task in job.tasks for each in outcome.rounds[0].plans for bind in each.binds)
        assert len(plan.nominations) + running + bound >= job.min_available


@pytest.mark.parametrize("evicting", EVICTING)
@LAWS
@given(scenario=crowded())
def test_gangs_keep_their_minimum_or_go_whole(scenario: Scenario, evicting: tuple[str, ...]) -> None:
    """After the cycle a victim's job runs with its minimum, or not at all."""
    outcome = decide(scenario, evicting)
    lost = Counter(each.job for plan in evicting_plans(outcome) for each in plan.evictions)
    for job_id, count in lost.items():
        assert job_id is not None
        job = outcome.rounds[0].snapshot.jobs[job_id]
        left = sum(task.status in ALLOCATED_STATUSES for task in job.tasks.values()) - count
        assert left == 0 or left >= job.min_available


@pytest.mark.parametrize("evicting", EVICTING)
@LAWS
@given(scenario=crowded())
def test_no_victim_can_be_taken_out_of_a_plan(scenario: Scenario, evicting: tuple[str, ...]) -> None:
    """With any victim back a pod has no place, or is refused by its queue; or a gang would be incomplete."""
    outcome = decide(scenario, evicting)
    session = open_session(scenario, plugins=PLUGINS, arguments=IN_SHARES)
    nominated = {place.task for plan in outcome.rounds[0].plans for place in plan.nominations}
    with session.statement() as whole:
        for places in outcome.report.pipelined.values():
            for task, node in places.items():
                if task not in nominated:  # held, on room that was free or, later on, on what a plan freed beyond need
                    is_placed(session, whole, task, node, evicts=True)
        for plan in outcome.rounds[0].plans:
            for victim in plan.evictions:
                spared = [each for each in plan.evictions if each is not victim]
                if can_go_alone(session, plan, victim):
                    with session.statement() as trial:
                        assert not works(session, trial, plan, spared)
            assert works(session, whole, plan, plan.evictions)


def test_a_plan_inside_a_queue_on_lent_room_can_be_repeated() -> None:
    """A queue that was lent room has no more than before; only to actions that exchange pods proportion permits it."""
    scenario = (
        Scenario()
        .queue("ours")
        .queue("theirs")
        .node("n1", cpu=4)
        .running("low", on=["n1"] * 4, queue="ours", annotations={LENT: "true"}, priority_class="low", priority=1)
        .job("waits", queue="theirs", cpu=8)
        .job("high", queue="ours", cpu=2, priority_class="high", priority=9)
        .priority_class("low", 1)
        .priority_class("high", 9)
    )
    arguments = {"proportion": {"countUnusableRequests": True}}
    outcome = scenario.run("enqueue", "allocate", "preempt", plugins=PLUGINS, arguments=arguments)
    plan = next(evicting_plans(outcome))
    session = open_session(scenario, plugins=PLUGINS, arguments=arguments)
    with session.statement() as trial:
        assert works(session, trial, plan, plan.evictions)


def can_go_alone(session: Session, plan: Plan, victim: Eviction) -> bool:
    """Whether a victim's job keeps its minimum with the victim back; a gang that goes whole cannot."""
    assert victim.job is not None
    job = session.jobs.get(victim.job)
    assert job is not None
    left = job.allocated_count - sum(each.job == victim.job for each in plan.evictions)
    return left + 1 >= job.min_available


def works(session: Session, statement: Statement, plan: Plan, victims: Sequence[Eviction]) -> bool:
    """Whether all places of a plan are to be had with some victims gone, asked as by the plan's action."""
    for victim in victims:
        assert victim.job is not None
        job = session.jobs.get(victim.job)
        assert job is not None
        assert statement.evict(job, job.tasks[victim.task], plan.action) is None
    with acting_as(session, plan.action):
        return all(is_placed(session, statement, bind.task, bind.node, evicts=False) for bind in plan.binds) and all(
            is_placed(session, statement, place.task, place.node, evicts=True) for place in plan.nominations
        )


@contextmanager
def acting_as(session: Session, action: str) -> Iterator[None]:
    """Let plugins take questions for those of an action: a queue on lent room may exchange pods by preempt alone."""
    before, session.action = session.action, action
    try:
        yield
    finally:
        session.action = before


def is_placed(session: Session, statement: Statement, task_id: TaskId, node: NodeName, *, evicts: bool) -> bool:
    """Place a task where queue and node permit it; return whether they do."""
    job = next(job for job in session.jobs.all() if task_id in job.tasks)
    task, column = job.tasks[task_id], session.nodes.table.column[node]
    if session.queues.allocatable(session.queues.by_name[job.queue], task) or not session.candidates.of(task).takes(
        task, column
    ):
        return False
    place = statement.pipeline if evicts else statement.allocate
    return place(job, [task], [column]) is None


@pytest.mark.parametrize("evicting", EVICTING)
@LAWS
@given(scenario=crowded())
def test_the_order_of_the_input_does_not_matter(scenario: Scenario, evicting: tuple[str, ...]) -> None:
    """The same objects in reverse order give the same plans."""
    turned = Scenario().add(*reversed(scenario.objects))

    assert decide(turned, evicting).rounds[0].plans == decide(scenario, evicting).rounds[0].plans
