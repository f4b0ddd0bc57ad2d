"""Laws of reasons, on generated clusters: what a message says of nodes, room and releases is so, from objects alone."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hypothesis import HealthCheck, example, given, settings

from pyroclast.model.ids import TaskId
from pyroclast.model.refusals import Refusal
from pyroclast.scheduler.simulation.rounds import SimulatedRound
from pyroclast.testing import Outcome, Scenario
from tests.drawing import examples
from tests.laws.clusters import PLUGINS, clusters

LAWS = settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
EVICTING = ("enqueue", "allocate", "preempt", "reclaim", "gangpreempt", "gangreclaim", "backfill")
NO_MATCH = "node(s) didn't match Pod's node affinity/selector"
CORDONED = "node(s) were unschedulable"
LARGEST = re.compile(r"It can never run: the largest node has (\d+) cpu")
LARGEST_OF_OTHERS = re.compile(r"The largest of the other nodes has (\d+) cpu")
SMALL: Mapping[str, Any] = {"cpu": 1, "memory": "2Gi", "pods": 1}
CORDONED_IS_LARGEST = (
    Scenario()
    .queue("red")
    .node("n0", **SMALL)
    .node("n1", cpu=2, memory="2Gi", pods=1, unschedulable=True)
    .job("j0", min_available=0, queue="red", cpu=3)
)
"""The largest node is cordoned, and too small as well."""
GANG_ON_IDLE_AND_RELEASED_NODES = (
    Scenario()
    .queue("red")
    .queue("green", capability={"cpu": 3})
    .queue("blue")
    .node("n0", **SMALL)
    .node("n1", cpu=2, memory="2Gi", pods=1, unschedulable=True)
    .node("n2", cpu=2, memory="2Gi", pods=2)
    .node("n3", **SMALL, unschedulable=True)
    .node("n4", **SMALL, unschedulable=True)
    .job("j0", tasks=3, min_available=3, queue="red", cpu=None)
    .running("j1", on=["n1", "n2"], min_available=0, queue="green", cpu=2)
)
"""A place for one member of a gang is idle, and waits for an eviction on the node of another one."""


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
@example(CORDONED_IS_LARGEST)
def test_permanent_causes_are_permanent(scenario: Scenario) -> None:
    """A refusal that no eviction changes is one where no node that permits the pod could hold it when empty."""
    outcome, nodes = decide(scenario), nodes_of(scenario)
    for pod, refusal in refusals_by_nodes(outcome, scenario):
        permitting = [each for each in nodes if not (each["spec"]["unschedulable"] or lacks_label(pod, each))]
        fitting = [each for each in permitting if not is_too_small(pod, each)]
        largest, of_others = LARGEST.search(refusal.message), LARGEST_OF_OTHERS.search(refusal.message)

        assert refusal.resolvable or not fitting or "memory" in refusal.message
        assert fitting or not refusal.resolvable
        if largest is not None:
            assert int(largest[1]) == most_cpus(nodes)
        if of_others is not None:
            assert int(of_others[1]) == most_cpus(permitting)


def most_cpus(nodes: Sequence[Mapping[str, Any]]) -> int:
    """Return the CPUs of the largest node."""
    return max(int(each["status"]["allocatable"]["cpu"]) for each in nodes)


@LAWS
@given(clusters())
@example(GANG_ON_IDLE_AND_RELEASED_NODES)
def test_room_that_is_said_to_be_released_is_released(scenario: Scenario) -> None:
    """A pod that fits once resources are released, or another member of its gang, has a node from which a pod goes."""
    outcome = decide(scenario)
    for done in outcome.rounds:
        leaving = leaving_nodes(done)
        for condition in done.report.pod_conditions:
            if "once resources are released" in condition.message:
                node = condition.message.split(" fits on node ")[1].split(" ")[0]
                assert leaving & {node, *nodes_of_gang(done, condition.task)}, condition.message


def nodes_of_gang(done: SimulatedRound, member: TaskId) -> set[str]:
    """Return the nodes on which the members of a pod's gang have places."""
    gangs = (places for places in done.report.pipelined.values() if member in places)
    return {str(node) for places in gangs for node in places.values()}


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
