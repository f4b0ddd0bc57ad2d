"""Laws of whole cycles, on generated clusters."""

import random
from dataclasses import replace
from typing import Any
from uuid import UUID

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyroclast.scheduler.simulation.answer import answers_of
from pyroclast.testing import Outcome, Scenario
from tests.conformance.invariants import broken_invariants
from tests.drawing import examples
from tests.laws.clusters import ACTIONS, PLUGINS, clusters

LAWS = settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.too_slow])


def decide(scenario: Scenario, cycles: int = 1) -> Outcome:
    """Run the default configuration."""
    return scenario.run(*ACTIONS, plugins=PLUGINS, cycles=cycles)


def as_case(scenario: Scenario) -> dict[str, Any]:
    """Return a scenario in the shape of a decision table."""
    objects: dict[str, list[Any]] = {"pods": [], "nodes": [], "podGroups": []}
    kinds = {"Pod": "pods", "Node": "nodes", "PodGroup": "podGroups"}
    for each in scenario.objects:
        if each["kind"] in kinds:
            objects[kinds[each["kind"]]].append(each)
    return {"objects": objects, "config": {"actions": list(ACTIONS)}}


@LAWS
@given(clusters())
def test_no_node_is_overcommitted_and_no_gang_half_bound(scenario: Scenario) -> None:
    """Reckoned from the objects alone: pods on a node never ask for more than it offers, gangs are whole or absent."""
    outcome = decide(scenario, cycles=3)

    assert list(broken_invariants(as_case(scenario), answers_of(outcome.rounds))) == []


@LAWS
@given(clusters(), st.integers(0, 2**32))
def test_order_of_objects_does_not_matter(scenario: Scenario, seed: int) -> None:
    """A cluster listed in another order is the same cluster."""
    shuffled = list(scenario.objects)
    random.Random(seed).shuffle(shuffled)

    assert answers_of(decide(scenario).rounds) == answers_of(decide(replace(scenario, objects=tuple(shuffled))).rounds)


@LAWS
@given(clusters(), st.integers(0, 2**32))
def test_uids_do_not_matter(scenario: Scenario, seed: int) -> None:
    """The same manifests applied twice within one second are decided alike: an API server draws new UIDs each time."""
    decided = [answers_of(decide(applied_at_once(scenario, drawn), cycles=3).rounds) for drawn in (seed, seed + 1)]

    assert decided[0] == decided[1]


def applied_at_once(scenario: Scenario, seed: int) -> Scenario:
    """Return a scenario whose objects are of one second and have random UIDs."""
    drawn = random.Random(seed)
    objects = []
    for each in scenario.objects:
        uid = str(UUID(int=drawn.getrandbits(128)))
        metadata = {**each["metadata"], "uid": uid, "creationTimestamp": "2026-01-01T00:00:00Z"}
        objects.append({**each, "metadata": metadata})
    return replace(scenario, objects=tuple(objects))


@LAWS
@given(clusters())
def test_same_input_same_bytes(scenario: Scenario) -> None:
    """Reports are equal to the byte, events and conditions included."""
    first, second = (decide(scenario, cycles=2) for _ in range(2))

    assert [msgspec.json.encode(each.report) for each in first.rounds] == [
        msgspec.json.encode(each.report) for each in second.rounds
    ]


@LAWS
@given(clusters())
def test_rest_is_reached(scenario: Scenario) -> None:
    """After a few cycles nothing more is decided, and nothing was decided twice."""
    outcome = decide(scenario, cycles=6)

    assert outcome.is_at_rest
    assert outcome.rounds[-1].report.group_statuses == ()


@LAWS
@given(clusters())
def test_no_plan_is_refused_and_no_plugin_fails(scenario: Scenario) -> None:
    """What a session thinks possible, the books find possible."""
    outcome = decide(scenario, cycles=3)

    assert outcome.warnings == ()
    assert outcome.failed_plugins == []


@LAWS
@given(clusters())
def test_every_waiting_pod_has_a_reason(scenario: Scenario) -> None:
    """A pending pod has a reason: its own, or that of its job."""
    outcome = decide(scenario)
    report = outcome.report
    held = {task for places in report.pipelined.values() for task in places}
    bound = {bind.task for plan in report.plans for bind in plan.binds}
    told_pods = {each.task for each in report.pod_conditions if each.message}

    for job in outcome.rounds[0].snapshot.jobs.values():
        waiting = {task.id for task in job.tasks.values() if task.status.label == "Pending"} - held - bound
        assert waiting <= told_pods
