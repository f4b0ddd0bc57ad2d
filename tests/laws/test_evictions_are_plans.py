"""Whoever is evicted gives way to somebody: plans are whole, minimal, and leave gangs whole or gone."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given

from model.plan import Plan
from model.tasks import ALLOCATED_STATUSES
from pyroclast.testing import Outcome, Scenario
from tests.laws.test_evictions_last import EVICTING, LAWS, PLUGINS, crowded

GPU = "nvidia.com/gpu"
Amounts = Counter[str]


def decide(scenario: Scenario, evicting: tuple[str, ...]) -> Outcome:
    """Run one cycle."""
    return scenario.run("enqueue", "allocate", *evicting, "backfill", plugins=PLUGINS)


def requests_of(scenario: Scenario) -> dict[str, Amounts]:
    """Requests by pod."""
    return {each["metadata"]["name"]: requested(each) for each in scenario.objects if each["kind"] == "Pod"}


def requested(pod: Any) -> Amounts:
    """What a pod asks for."""
    requests = pod["spec"]["containers"][0]["resources"]["requests"]
    return Counter({name: int(requests.get(name, 0)) for name in ("cpu", GPU)})


def free_room(scenario: Scenario) -> dict[str, Amounts]:
    """What running pods leave free, by node."""
    free = {
        each["metadata"]["name"]: Counter(
            {name: int(each["status"]["allocatable"].get(name, 0)) for name in ("cpu", GPU)}
        )
        for each in scenario.objects
        if each["kind"] == "Node"
    }
    for each in scenario.objects:
        if each["kind"] == "Pod" and each["spec"]["nodeName"]:
            free[each["spec"]["nodeName"]].subtract(requested(each))
    return free


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
    """With any one of them back on its node the node is too small, or its gang would be left in part."""
    outcome = decide(scenario, evicting)
    jobs, requests, free = outcome.rounds[0].snapshot.jobs, requests_of(scenario), free_room(scenario)
    lost: dict[Any, int] = defaultdict(int)
    for plan in outcome.rounds[0].plans:
        for place in (*plan.binds, *plan.nominations):
            free[place.node].subtract(requests[place.name])
        for each in plan.evictions:
            free[each.node].update(requests[each.name])
            lost[each.job] += 1
        for each in plan.evictions:
            job = jobs[each.job]
            running = sum(task.status in ALLOCATED_STATUSES for task in job.tasks.values())
            goes_whole = running == lost[each.job]
            back = Counter(free[each.node])
            back.subtract(requests[each.name])
            assert min(back.values()) < 0 or (goes_whole and job.min_available > 1)


@pytest.mark.parametrize("evicting", EVICTING)
@LAWS
@given(scenario=crowded())
def test_the_order_of_the_input_does_not_matter(scenario: Scenario, evicting: tuple[str, ...]) -> None:
    """The same objects in reverse order give the same plans."""
    turned = Scenario().add(*reversed(scenario.objects))

    assert decide(turned, evicting).rounds[0].plans == decide(scenario, evicting).rounds[0].plans
