"""No victim can be spared by placing the beneficiary elsewhere: protecting one leads to no better plan.

A plan that places fewer pods of the beneficiary is no better one: these pods have victims of their own a cycle later.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyroclast.model.plan import Plan
from pyroclast.model.tasks import Task
from pyroclast.testing import Outcome, Scenario
from tests.drawing import examples

EXAMPLES = examples(25)
LAWS = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
GANG = {"name": "gang", "enablePreemptable": False, "enableReclaimable": False}
TIERS: Any = (("priority", GANG, "conformance", "proportion"), ("predicates", "nodeorder"))
ELASTIC: Any = (("priority", "conformance", "proportion"), ("predicates", "nodeorder"))
"""Jobs starve as long as a pod waits, also beyond their minimum."""
ACTIONS = [
    *((action, TIERS) for action in ("preempt", "reclaim", "gangpreempt", "gangreclaim")),
    *((action, ELASTIC) for action in ("preempt", "reclaim")),
]
PRIORITIES = {"low": 1, "mid": 5, "high": 9}


@st.composite
def full(draw: st.DrawFn) -> Scenario:
    """Draw up to six nodes full of gangs and single pods of two queues, and one gang that waits in one of them."""
    scenario = Scenario().queue("ours", weight=draw(st.integers(1, 3))).queue("theirs")
    for name, value in PRIORITIES.items():
        scenario = scenario.priority_class(name, value)
    free = {}
    for number in range(draw(st.integers(1, 6))):
        cpu, gpu = draw(st.integers(3, 8)), draw(st.integers(0, 4))
        free[f"n{number}"] = [cpu, gpu]
        scenario = scenario.node(f"n{number}", cpu=cpu, gpu=gpu)
    for number in range(draw(st.integers(3, 12))):
        cpu, gpu, tasks = draw(st.integers(1, 4)), draw(st.sampled_from([0, 0, 1, 2])), draw(st.integers(1, 5))
        on: list[str] = []
        for node, room in free.items():
            while len(on) < tasks and room[0] >= cpu and room[1] >= gpu:
                on.append(node)
                room[0], room[1] = room[0] - cpu, room[1] - gpu
        if on:
            kind = draw(st.sampled_from(["low", "low", "mid"]))
            scenario = scenario.job(
                f"v{number}",
                tasks=len(on),
                min_available=draw(st.integers(1, len(on))),
                queue=draw(st.sampled_from(["ours", "theirs", "theirs"])),
                cpu=cpu,
                gpu=gpu or None,
                running_on=on,
                priority_class=kind,
                priority=PRIORITIES[kind],
            )
    tasks = draw(st.integers(1, 4))
    return scenario.job(
        "wait",
        tasks=tasks,
        min_available=draw(st.sampled_from([tasks, tasks, draw(st.integers(1, tasks))])),
        queue="ours",
        cpu=draw(st.integers(1, 5)),
        gpu=draw(st.sampled_from([None, None, 1])),
        priority_class="high",
        priority=9,
    )


def plan_of(outcome: Outcome) -> Plan | None:
    """The plan that evicts, where there is one."""
    return next((plan for plan in outcome.rounds[0].plans if plan.evictions), None)


def harm_of(outcome: Outcome, plan: Plan) -> tuple[int, int, int, int]:
    """The places, the highest priority of a victim, the gangs that end below their minimum, the number of victims.

    More places come first, so they count below zero.
    """
    jobs = outcome.rounds[0].snapshot.jobs
    lost = Counter(victim.job for victim in plan.evictions)
    broken = 0
    priorities = []
    for victim in plan.evictions:
        assert victim.job is not None
        job = jobs[victim.job]
        task: Task = job.tasks[victim.task]
        priorities.append(max(task.pod.spec.priority or 0, job.priority))
    for job_id, count in lost.items():
        assert job_id is not None
        job = jobs[job_id]
        broken += job.min_available > 1 and len(job.tasks) - count < job.min_available
    return -len(plan.nominations), max(priorities), broken, len(plan.evictions)


def protected(scenario: Scenario, name: str) -> Scenario:
    """The same cluster, with one pod marked as not preemptable."""
    objects: list[Mapping[str, Any]] = []
    for each in scenario.objects:
        metadata = each["metadata"]
        if each["kind"] == "Pod" and metadata["name"] == name:
            annotations = {**(metadata.get("annotations") or {}), "volcano.sh/preemptable": "false"}
            objects.append({**each, "metadata": {**metadata, "annotations": annotations}})
        else:
            objects.append(each)
    return Scenario().add(*objects)


@pytest.mark.parametrize(("action", "tiers"), ACTIONS)
@LAWS
@given(scenario=full())
def test_no_victim_can_be_spared(scenario: Scenario, action: str, tiers: Any) -> None:
    """Each victim is protected in turn; the plan that is found then harms no less."""
    outcome = scenario.run("enqueue", "allocate", action, plugins=tiers)
    plan = plan_of(outcome)
    if plan is None:
        return
    harm = harm_of(outcome, plan)
    for victim in plan.evictions:
        other = protected(scenario, victim.name).run("enqueue", "allocate", action, plugins=tiers)
        elsewhere = plan_of(other)
        assert elsewhere is None or harm_of(other, elsewhere) >= harm, victim.name


@pytest.mark.parametrize("action", ["preempt", "reclaim"])
def test_no_place_is_given_up_for_a_victim(action: str) -> None:
    """Eight pods of a job with a minimum of one take eight places: with seven, the eighth victim goes a cycle later."""
    scenario = Scenario().queue("ours").queue("theirs").node("n", cpu=8).priority_class("low", 1)
    scenario = scenario.priority_class("high", 9)
    for number in range(8):
        queue = "ours" if action == "preempt" else "theirs"
        scenario = scenario.running(f"low-{number}", on=["n"], queue=queue, priority_class="low", priority=1)
    scenario = scenario.job("wait", tasks=8, min_available=1, queue="ours", priority_class="high", priority=9)
    outcome = scenario.run("enqueue", "allocate", action, plugins=ELASTIC)
    plan = plan_of(outcome)
    assert plan is not None
    expected = 8 if action == "preempt" else 4
    assert (len(plan.nominations), len(plan.evictions)) == (expected, expected)


def test_a_cheap_victim_does_not_leave_the_next_pod_without_a_place() -> None:
    """One victim with two cards makes two places; the least important pod, with one card, makes one."""
    scenario = Scenario().queue("ours", weight=2).queue("theirs").node("n0", cpu=4, gpu=3).node("n1", cpu=3, gpu=4)
    scenario = scenario.running(
        "two-cards", on=["n0", "n1", "n1"], min_available=2, queue="theirs", gpu=2, priority_class="mid", priority=5
    )
    scenario = scenario.running("cheap", on=["n0"], queue="theirs", cpu=3, gpu=1, priority_class="low", priority=1)
    for name, value in PRIORITIES.items():
        scenario = scenario.priority_class(name, value)
    scenario = scenario.job("wait", tasks=2, min_available=2, queue="ours", gpu=1, priority_class="high", priority=9)
    plan = plan_of(scenario.run("enqueue", "allocate", "reclaim", plugins=ELASTIC))
    assert plan is not None
    assert [victim.name for victim in plan.evictions] == ["two-cards-2"]
    assert [place.node for place in plan.nominations] == ["n1", "n1"]


Gang = tuple[str, list[str], str, str, int, int, int]
"""Name, nodes of its pods, queue, priority class, CPU and GPUs of each pod, minimum."""


def filled(nodes: Mapping[str, tuple[int, int]], *gangs: Gang) -> Scenario:
    """Nodes with so many CPUs and GPUs, on which gangs of the queues ours and theirs run."""
    scenario = Scenario().queue("ours", weight=3).queue("theirs")
    for name, (cpu, gpu) in nodes.items():
        scenario = scenario.node(name, cpu=cpu, gpu=gpu)
    for name, value in PRIORITIES.items():
        scenario = scenario.priority_class(name, value)
    for name, on, queue, kind, cpu, gpu, minimum in gangs:
        scenario = scenario.running(
            name,
            on=on,
            min_available=minimum,
            queue=queue,
            cpu=cpu,
            gpu=gpu or None,
            priority_class=kind,
            priority=PRIORITIES[kind],
        )
    return scenario


def test_an_equal_plan_leads_to_one_with_fewer_victims() -> None:
    """One large pod makes three places; it is found by protecting a victim of an equal plan with two small ones."""
    scenario = filled(
        {"n0": (5, 0), "n1": (6, 3), "n2": (5, 4), "n3": (4, 2)},
        ("large", ["n1", "n1"], "theirs", "low", 3, 1, 1),
        ("cards", ["n2", "n3"], "theirs", "mid", 3, 2, 2),
        ("small", ["n0", "n0"], "theirs", "low", 1, 0, 1),
        ("own", ["n0", "n2"], "ours", "mid", 2, 0, 2),
        ("pair", ["n0", "n3"], "theirs", "low", 1, 0, 2),
    ).job("wait", tasks=3, min_available=3, queue="ours", priority_class="high", priority=9)
    plan = plan_of(scenario.run("enqueue", "allocate", "reclaim", plugins=ELASTIC))
    assert plan is not None
    assert len(plan.nominations) == 3
    assert [victim.name for victim in plan.evictions] == ["large-1"]


def test_a_more_harmful_plan_leads_to_a_less_harmful_one() -> None:
    """Three of a gang make all places; the plan is found by protecting victims of a plan that breaks three gangs."""
    scenario = filled(
        {"n0": (4, 2), "n1": (8, 2), "n2": (6, 2), "n3": (8, 0), "n4": (6, 1)},
        ("v0", ["n0", "n0"], "theirs", "low", 1, 0, 2),
        ("v1", ["n1"], "theirs", "mid", 3, 1, 1),
        ("v2", ["n0", "n1"], "theirs", "low", 2, 1, 2),
        ("v3", ["n1", "n2"], "theirs", "low", 2, 0, 1),
        ("v4", ["n2"], "ours", "low", 4, 0, 1),
        ("v5", ["n4"], "theirs", "mid", 1, 1, 1),
        ("v7", ["n3", "n3", "n4"], "theirs", "mid", 4, 0, 3),
        ("v9", ["n1"], "theirs", "low", 1, 0, 1),
    ).job("wait", tasks=3, min_available=3, queue="ours", cpu=4, priority_class="high", priority=9)
    plan = plan_of(scenario.run("enqueue", "allocate", "reclaim", plugins=TIERS))
    assert plan is not None
    assert sorted(victim.name for victim in plan.evictions) == ["v7-0", "v7-1", "v7-2"]


def test_a_victim_that_a_later_gang_makes_unnecessary_is_left_out() -> None:
    """Four pods of a gang on three nodes make all places. A pod of another gang, which was the first choice, stays."""
    scenario = filled(
        {"n0": (8, 1), "n1": (8, 2), "n2": (8, 3), "n3": (5, 4), "n4": (8, 3)},
        ("v0", ["n0"] * 5, "theirs", "low", 1, 0, 4),
        ("v1", ["n0", "n1", "n1", "n2"], "theirs", "mid", 3, 1, 2),
        ("v2", ["n1", "n2", "n2", "n3"], "theirs", "low", 2, 0, 4),
        ("v3", ["n2", "n3", "n3"], "ours", "mid", 1, 0, 3),
        ("v4", ["n4"], "ours", "low", 4, 2, 1),
        ("v5", ["n4"], "ours", "low", 3, 1, 1),
        ("v8", ["n3"], "theirs", "low", 1, 1, 1),
    ).job("wait", tasks=4, min_available=4, queue="ours", priority_class="high", priority=9)
    plan = plan_of(scenario.run("enqueue", "allocate", "reclaim", plugins=TIERS))
    assert plan is not None
    assert sorted(victim.name for victim in plan.evictions) == ["v2-0", "v2-1", "v2-2", "v2-3"]
