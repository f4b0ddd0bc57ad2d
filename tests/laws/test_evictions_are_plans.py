"""Each eviction has a preemptor: plans are whole, minimal, and leave gangs whole or gone."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Move, Plugin
from pyroclast.framework.session.session import Session
from pyroclast.framework.session.statements.statement import Statement
from pyroclast.model.api.names import GROUP_NAME, LENT, PREEMPTABLE
from pyroclast.model.ids import JobId, NodeName, TaskId
from pyroclast.model.plan import Eviction, Plan
from pyroclast.model.tasks import ALLOCATED_STATUSES, Task
from pyroclast.testing import Outcome, Scenario, open_session
from tests.laws.test_evictions_come_to_rest import EVICTING, LAWS, PLUGINS, crowded

WITH_SHUFFLE = [
    ("shuffle",),
    ("shuffle", "preempt"),
    ("reclaim", "shuffle", "gangreclaim"),
    ("preempt", "reclaim", "gangpreempt", "gangreclaim", "shuffle"),
]
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
    assert broken_gangs(decide(scenario, evicting)) == {}


class Moves(Plugin):
    """A strategy that proposes some pods. It states by name whether their gangs may be evicted whole."""

    name = "moves"
    watches_clock = False

    def __init__(self, takes_gangs: Mapping[str, bool]) -> None:
        self._takes_gangs = takes_gangs

    def on_session_open(self, session: Session) -> None:
        """Register."""

        def moves(tasks: Sequence[Task]) -> list[Move]:
            return [
                Move(task=task, strategy=self.name, budget="no budget", takes_gangs=self._takes_gangs[task.name])
                for task in tasks
                if task.name in self._takes_gangs
            ]

        session.extensions.register(contract.VICTIM_TASKS, self.name, moves)


@st.composite
def crowded_with_moves(draw: st.DrawFn) -> tuple[Scenario, Moves]:
    """Draw a full cluster with protected pods and disruption budgets, and a strategy that names some of its pods."""
    scenario = draw(crowded())
    pods = [each for each in scenario.objects if each["kind"] == "Pod"]
    names = st.sampled_from([each["metadata"]["name"] for each in pods])
    jobs = st.sampled_from(sorted({job_of(each) for each in pods}))
    protected = draw(st.sets(names, max_size=2))
    objects = [with_marks(each, protected) if each["kind"] == "Pod" else each for each in scenario.objects]
    for number, covered in enumerate(draw(st.lists(st.sets(jobs, min_size=1, max_size=2), max_size=2))):
        objects.append(disruption_budget(f"b{number}", covered, allowed=draw(st.integers(0, 4))))
    return Scenario().add(*objects), Moves(draw(st.dictionaries(names, st.booleans(), min_size=1, max_size=6)))


def job_of(pod: Mapping[str, Any]) -> str:
    """Return the name of the group of a pod."""
    return str(pod["metadata"]["annotations"][GROUP_NAME])


def with_marks(pod: Mapping[str, Any], protected: Collection[str]) -> dict[str, Any]:
    """Label a pod with its job, and annotate protected ones."""
    metadata = dict(pod["metadata"])
    metadata["labels"] = {**metadata.get("labels", {}), "job": job_of(pod)}
    if metadata["name"] in protected:
        metadata["annotations"] = {**metadata["annotations"], PREEMPTABLE: "false"}
    return {**pod, "metadata": metadata}


def disruption_budget(name: str, jobs: Collection[str], *, allowed: int) -> dict[str, Any]:
    """Return a budget for all pods of some jobs together."""
    selector = {"matchExpressions": [{"key": "job", "operator": "In", "values": sorted(jobs)}]}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"selector": selector},
        "status": {"disruptionsAllowed": allowed},
    }


@pytest.mark.parametrize("evicting", WITH_SHUFFLE)
@LAWS
@given(drawn=crowded_with_moves(), most=st.sampled_from([0, 0, 0, 1, 3]))
def test_gangs_keep_their_minimum_or_go_whole_with_shuffle(
    drawn: tuple[Scenario, Moves], most: int, evicting: tuple[str, ...]
) -> None:
    """All actions of one cycle together, for several cycles, within budgets and the limit of shuffle."""
    scenario, moves = drawn
    outcome = scenario.run(
        "enqueue",
        "allocate",
        *evicting,
        "backfill",
        plugins=((*PLUGINS[0], "pdb", moves), *PLUGINS[1:]),
        arguments={**IN_SHARES, "shuffle": {"maxEvictions": most}},
        cycles=3,
        recreate_evicted=True,
    )

    assert outcome.warnings == ()
    assert broken_gangs(outcome) == {}
    for each in outcome.rounds:
        shuffled = sum(len(plan.evictions) for plan in each.plans if plan.action == "shuffle")
        assert shuffled <= (most or shuffled)


def broken_gangs(outcome: Outcome) -> dict[tuple[int, JobId], int]:
    """Count the pods that are left of jobs that lost some in a cycle, and run without their minimum; by cycle."""
    broken: dict[tuple[int, JobId], int] = {}
    for number, each in enumerate(outcome.rounds):
        lost = Counter(eviction.job for plan in each.plans for eviction in plan.evictions)
        for job_id, count in lost.items():
            assert job_id is not None
            job = each.snapshot.jobs[job_id]
            bound = sum(bind.task in job.tasks for plan in each.plans for bind in plan.binds)
            left = sum(task.status in ALLOCATED_STATUSES for task in job.tasks.values()) + bound - count
            if 0 < left < job.min_available:
                broken[number, job_id] = left
    return broken


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
