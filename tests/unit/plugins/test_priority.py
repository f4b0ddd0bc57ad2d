"""Priority: orders, victims and appetite."""

from dataclasses import dataclass
from typing import Any

import pytest

from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Vote
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model import wire
from pyroclast.testing import Scenario
from tests.unit.plugins.policies import World, group, node, opened, pod

CLASSES = tuple(
    wire.PriorityClass(metadata=wire.ObjectMeta(name=f"c{value}", uid=f"c{value}"), value=value)
    for value in (5, 10, 100, 500, 1000)
)


def ranked(name: str, value: int, **more: Any) -> wire.PodGroup:
    """A group of a priority class."""
    return group(name, priority_class_name=f"c{value}", **more)


def world(*objects: Any) -> World:
    """A session with priority alone."""
    return opened(*CLASSES, node("n"), *objects, plugins=["priority"])


@dataclass(frozen=True)
class Context:
    """What gang actions ask with."""

    job: SessionJob
    is_reclaim: bool


def test_jobs_by_priority_then_by_age() -> None:
    """A (10), B (5) and C (10), made in that order: A, C, B."""
    there = world(
        ranked("a", 10, created="2026-01-01T00:00:01Z"),
        ranked("b", 5, created="2026-01-01T00:00:02Z"),
        ranked("c", 10, created="2026-01-01T00:00:03Z"),
    )
    jobs = sorted((there.job(name) for name in ("c", "b", "a")), key=there.session.jobs.order_key)

    assert [job.job.name for job in jobs] == ["a", "c", "b"]


def test_tasks_by_priority_of_the_pod() -> None:
    """`spec.priority`, else 1; an annotation overrules both."""
    there = world(
        pod("plain"),
        pod("high", spec={"priority": 7}),
        pod("low", spec={"priority": 0}),
        pod("noted", spec={"priority": 0}, annotations={"volcano.sh/task-priority": "9"}),
        pod("odd", spec={"priority": 3}, annotations={"volcano.sh/task-priority": "9.5"}),
    )

    assert [task.name for task in there.session.jobs.pending_tasks(there.job("job"))] == [
        "noted",
        "high",
        "odd",
        "plain",
        "low",
    ]


def test_sub_jobs_by_their_highest_task() -> None:
    """A sub-job of negative priorities counts as 0."""
    policy = wire.SubGroupPolicySpec(name="part", match_label_keys=("part",))
    there = world(
        group("divided", sub_group_policy=(policy,)),
        *(
            pod(name, job="divided", labels={"part": part}, spec={"priority": value})
            for name, part, value in (("a1", "a", -5), ("b1", "b", 2), ("b2", "b", 1), ("c1", "c", -1))
        ),
    )
    rank = there.function(contract.SUB_JOB_ORDER).function

    assert [rank(part) for part in there.job("divided").sub_jobs.values()] == [0, -2, 0]


def test_lower_jobs_give_way_whatever_their_tasks_say() -> None:
    """A job of priority 100 to one of 1000: both tasks, of priority 1 and 1000."""
    there = world(
        ranked("low", 100),
        ranked("high", 1000),
        pod("t1", job="low", on="n", spec={"priority": 1}),
        pod("t2", job="low", on="n", spec={"priority": 1000}),
        pod("p", job="high"),
    )

    assert there.session.evictions.preemptable(there.task("p"), there.tasks("t1", "t2")) == there.tasks("t1", "t2")


def test_jobs_of_equal_or_higher_priority_do_not_give_way() -> None:
    """Only lower ones."""
    there = world(
        ranked("mine", 100),
        ranked("equal", 100),
        ranked("high", 1000),
        pod("e", job="equal", on="n"),
        pod("h", job="high", on="n"),
        pod("p", job="mine", spec={"priority": 5000}),
    )

    assert there.session.evictions.preemptable(there.task("p"), there.tasks("e", "h")) == []


def test_inside_a_job_lower_tasks_give_way() -> None:
    """Ordered by the priority of the pods."""
    there = world(
        pod("low", on="n", spec={"priority": 2}),
        pod("same", on="n", spec={"priority": 3}),
        pod("p", spec={"priority": 3}),
    )

    assert there.session.evictions.preemptable(there.task("p"), there.tasks("low", "same")) == there.tasks("low")


def test_a_preemptor_without_a_job_has_no_victims() -> None:
    """Its priority is unknown; the vote still permits."""
    there = world(pod("low", on="n"), pod("alone", job=""))
    alone = there.session.snapshot.orphan_pods[0].task
    answer = there.function(contract.PREEMPTABLE).function(alone, there.tasks("low"))

    assert answer == ([], Vote.PERMIT)


def test_candidates_of_no_job_are_passed_over() -> None:
    """Their priority is unknown."""
    there = world(
        ranked("low", 5), ranked("high", 10), pod("l", job="low", on="n"), pod("p", job="high"), pod("a", job="")
    )
    alone = there.session.snapshot.orphan_pods[0].task

    assert there.session.evictions.preemptable(there.task("p"), [alone, *there.tasks("l")]) == there.tasks("l")


def test_of_a_lower_job_the_less_important_pod_goes() -> None:
    """6 CPU hold pods of 3 with priorities 1 and 1000, of a job of priority 100: for 3 CPU of a job of 1000 t1 goes."""
    scenario = Scenario().queue("q").node("n1", cpu=6).priority_class("low", 100).priority_class("high", 1000)
    for name, value in (("t1", 1), ("t2", 1000)):
        scenario = scenario.pod(name, job="low", node="n1", cpu=3, priority=value, phase="Running")
    scenario = scenario.job("low", tasks=0, queue="q", min_available=0, priority_class="low", phase="Running")
    scenario = scenario.job("high", queue="q", cpu=3, priority_class="high", phase="Inqueue")

    assert scenario.run("preempt", plugins=("priority", "predicates")).evictions == ["t1"]


@pytest.mark.parametrize(("is_reclaim", "victims"), [(True, ["h", "l"]), (False, ["l"])])
def test_gangs_take_from_lower_jobs_and_reclaim_from_all(is_reclaim: bool, victims: list[str]) -> None:
    """Candidates of 1000 and 100, for a job of 500."""
    there = world(
        ranked("mine", 500),
        ranked("high", 1000),
        ranked("low", 100),
        pod("h", job="high", on="n"),
        pod("l", job="low", on="n"),
    )
    answer, vote = there.function(contract.UNIFIED_EVICTABLE).function(
        Context(there.job("mine"), is_reclaim), there.tasks("h", "l")
    )

    assert ([task.name for task in answer], vote) == (victims, Vote.PERMIT)


def test_a_job_starves_until_each_task_runs_ran_or_waits() -> None:
    """Every status counts in the total, so one failed task keeps it hungry for ever."""
    running = pod("r", on="n"), pod("s", on="n", phase="Succeeded")

    assert not world(*running).session.jobs.job_starving(world(*running).job("job"))
    for more in (pod("p"), pod("f", on="n", phase="Failed")):
        there = world(*running, more)
        assert there.session.jobs.job_starving(there.job("job"))
