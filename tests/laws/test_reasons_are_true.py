"""Laws of reasons, on generated clusters: what a message says of nodes, room and releases is so, from objects alone."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from hypothesis import HealthCheck, given, settings

from pyroclast.model.refusals import Refusal
from pyroclast.scheduler.simulation.rounds import SimulatedRound
from pyroclast.testing import Outcome, Scenario
from tests.drawing import examples
from tests.laws.clusters import PLUGINS, clusters

LAWS = settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
EVICTING = ("enqueue", "allocate", "preempt", "reclaim", "gangpreempt", "gangreclaim", "backfill")
NO_MATCH = "node(s) didn't match Pod's node affinity/selector"
CORDONED = "node(s) were unschedulable"
LARGEST = re.compile(r"the largest node has (\d+) cpu")


def decide(scenario: Scenario) -> Outcome:
    """Run two cycles with every way to evict."""
    return scenario.run(*EVICTING, plugins=PLUGINS, cycles=2)


def nodes_of(scenario: Scenario) -> list[Mapping[str, Any]]:
    """Return the nodes."""
    return [each for each in scenario.objects if each["kind"] == "Node"]


def refusals_by_nodes(outcome: Outcome, scenario: Scenario) -> Iterator[tuple[Mapping[str, Any], Refusal]]:
    """Yield each pod that nodes refuse, with the refusal, of the last cycle."""
    pods = {
        f"{each['metadata']['namespace']}/{each['metadata']['name']}": each
        for each in scenario.objects
        if each["kind"] == "Pod"
    }
    last = outcome.rounds[-1]
    for task, refusals in last.report.task_refusals.items():
        for refusal in refusals:
            if refusal.reason == "NoNodeFits":
                yield pods[last.pod_names[task]], refusal


def lacks_label(pod: Mapping[str, Any], node: Mapping[str, Any]) -> bool:
    """Return whether a node does not match a pod's selector."""
    labels = node["metadata"]["labels"]
    return any(labels.get(key) != value for key, value in (pod["spec"].get("nodeSelector") or {}).items())


def is_too_small(pod: Mapping[str, Any], node: Mapping[str, Any]) -> bool:
    """Return whether a node could not hold a pod even when empty, by CPU."""
    requests = pod["spec"]["containers"][0]["resources"]["requests"]
    return int(requests.get("cpu", 0)) > int(node["status"]["allocatable"]["cpu"])


@LAWS
@given(clusters())
def test_counts_of_nodes_are_true(scenario: Scenario) -> None:
    """All nodes count once; as many as lack the label or are cordoned are counted so, whether they are full or not."""
    outcome, nodes = decide(scenario), nodes_of(scenario)
    for pod, refusal in refusals_by_nodes(outcome, scenario):
        cordoned = [each for each in nodes if each["spec"]["unschedulable"]]
        lacking = [each for each in nodes if lacks_label(pod, each) and each not in cordoned]

        assert sum(refusal.counts.values()) == len(nodes)
        assert refusal.counts.get(CORDONED, 0) == len(cordoned)
        assert refusal.counts.get(NO_MATCH, 0) == len(lacking)


@LAWS
@given(clusters())
def test_permanent_causes_are_permanent(scenario: Scenario) -> None:
    """A refusal that no eviction changes is one where no node that permits the pod could hold it when empty."""
    outcome, nodes = decide(scenario), nodes_of(scenario)
    for pod, refusal in refusals_by_nodes(outcome, scenario):
        permitting = [each for each in nodes if not (each["spec"]["unschedulable"] or lacks_label(pod, each))]
        fitting = [each for each in permitting if not is_too_small(pod, each)]
        largest = LARGEST.search(refusal.message)

        assert refusal.resolvable or not fitting or "memory" in refusal.message
        assert fitting or not refusal.resolvable
        if largest is not None:
            assert int(largest[1]) == max(int(each["status"]["allocatable"]["cpu"]) for each in permitting)


@LAWS
@given(clusters())
def test_room_that_is_said_to_be_released_is_released(scenario: Scenario) -> None:
    """A pod that fits once resources are released names a node from which a pod of this or an earlier cycle goes."""
    outcome = decide(scenario)
    for done in outcome.rounds:
        leaving = leaving_nodes(done)
        for condition in done.report.pod_conditions:
            if "once resources are released" in condition.message:
                node = condition.message.split(" fits on node ")[1].split(" ")[0]
                assert node in leaving, condition.message


def leaving_nodes(done: SimulatedRound) -> set[str]:
    """Return the nodes on which pods are being deleted or evicted."""
    there = (task for job in done.snapshot.jobs.values() for task in job.tasks.values())
    releasing = {str(task.node) for task in there if task.status.label == "Releasing" and task.node is not None}
    return releasing | {str(each.node) for plan in done.plans for each in plan.evictions}


@LAWS
@given(clusters())
def test_a_job_that_can_never_run_does_not_fit_empty_nodes(scenario: Scenario) -> None:
    """Reckoned by hand: each node that permits the pod, when empty, holds as many as CPU and memory allow."""
    outcome, nodes = decide(scenario), nodes_of(scenario)
    for name, refusals in outcome.report.refusals.items():
        for refusal in refusals:
            found = re.search(r"only (\d+) of the (\d+) pods", refusal.message)
            if found is not None:
                pod = next(each for each in scenario.objects if each["metadata"]["name"] == f"{name.split('/')[1]}-0")
                permitting = [each for each in nodes if not (each["spec"]["unschedulable"] or lacks_label(pod, each))]
                assert int(found[1]) <= sum(holds(pod, each) for each in permitting)
                assert int(found[1]) < int(found[2])


def holds(pod: Mapping[str, Any], node: Mapping[str, Any]) -> int:
    """Count how many pods like one a node holds when empty."""
    requests, offered = pod["spec"]["containers"][0]["resources"]["requests"], node["status"]["allocatable"]
    by_cpu = int(offered["cpu"]) // int(requests["cpu"]) if "cpu" in requests else int(offered["pods"])
    gib = [int(str(each.get("memory", "0Gi")).removesuffix("Gi")) for each in (offered, requests)]
    by_memory = gib[0] // gib[1] if gib[1] else int(offered["pods"])
    return min(by_cpu, by_memory, int(offered["pods"]))
