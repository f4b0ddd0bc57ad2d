"""The law that nothing in annotations, labels and topologies about CPUs stops a cycle, and that undo is exact."""

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyroclast.plugins.nodenuma.allocator import CpuAllocator
from pyroclast.testing import open_session
from tests.drawing import examples
from tests.laws.junk import JUNK, Path, paths, planted
from tests.nodenuma import LARGE, NODE, NUMA, QOS, SPEC, STATUS, holding, node, pinned, run, topology

SOUND = pinned(node("sound"), "sound", 2, tasks=2)
TOPOLOGY = topology("odd", policies=["Restricted"])
NOTES: dict[str, Any] = {
    "cpu-topology": {"detail": [{"id": cpu, "core": cpu, "socket": 0, "node": 0} for cpu in range(4)]},
    "pod-cpu-allocs": [{"uid": "a", "cpuset": "0", "managedByKubelet": True}],
    "reservation": {"reservedCPUs": "0-1", "resources": {"cpu": "1"}},
    "system-qos-resource": {"cpuset": "2", "cpusetExclusive": True},
    "resource-amplification-ratio": {"cpu": 1.5, "memory": 2},
}
MANAGER = {"policy": "static", "options": {"full-pcpus-only": "true"}, "reservedCPUs": "0"}
HELD = {"cpuset": "0-1", "numaNodeResources": [{"node": 0, "resources": {"cpu": "2", "memory": 5}}]}
OF_POD = {
    "spec": {"requiredCPUBindPolicy": "FullPCPUs", "preferredCPUExclusivePolicy": "PCPULevel"},
    "numa": {"numaTopologyPolicy": "SingleNUMANode", "singleNUMANodeExclusive": "Required"},
}
LABELS = {"cpu-bind-policy": "FullPCPUsOnly", "numa-topology-policy": "BestEffort", "numa-allocate-strategy": "x"}
ODD: tuple[dict[str, Any], ...] = (
    TOPOLOGY,
    {"notes": NOTES},
    {"manager": MANAGER},
    {"held": HELD},
    {"pod": OF_POD},
    {"labels": LABELS},
    {"ratio": {"cpu": 1.5}},
)
NEEDED = {
    ("kind",),
    ("apiVersion",),
    ("metadata",),
    ("metadata", "name"),
    *((each,) for part in ODD[1:] for each in part),
    *(("pod", each) for each in OF_POD),
}
PLACES = [(number, path) for number, each in enumerate(ODD) for path in paths(each) if path not in NEEDED]


@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.sampled_from(PLACES), JUNK), max_size=5))
def test_no_value_stops_a_cycle(changes: list[tuple[tuple[int, Path], Any]]) -> None:
    """A sound gang beside it is placed."""
    written, notes, manager, held, pod, labels, ratio = planted(ODD, changes)
    metadata = written["metadata"]
    if isinstance(notes["notes"], dict) and isinstance(metadata.get("annotations"), dict):
        told = {f"{NODE}{key}": json.dumps(each) for key, each in notes["notes"].items()}
        told["kubelet.koordinator.sh/cpu-manager-policy"] = json.dumps(manager["manager"])
        metadata["annotations"] = {**metadata["annotations"], **told}
    named = labels["labels"] if isinstance(labels["labels"], dict) else {}
    own = {SPEC: json.dumps(pod["pod"]["spec"]), NUMA: json.dumps(pod["pod"]["numa"])}
    there = (
        SOUND.node(
            "odd",
            labels={f"{NODE}{key}": text for key, text in named.items() if isinstance(text, str)},
            annotations={f"{NODE}resource-amplification-ratio": json.dumps(ratio["ratio"])},
        )
        .add(written)
        .running("runs", on=["odd"], cpu=2, annotations={**own, STATUS: json.dumps(held["held"])})
        .job("odd", cpu=2, labels={QOS: "LSR"}, annotations=own)
    )
    outcome = run(there)

    assert outcome.failed_plugins == []
    assert {"sound-0", "sound-1"} <= outcome.bindings.keys()


STEPS = st.lists(
    st.tuples(st.sampled_from(["allocate", "pipeline", "evict", "undo"]), st.integers(0, 9), st.integers(0, 1)),
    min_size=1,
    max_size=12,
)


@settings(max_examples=examples(100), deadline=None)
@given(STEPS, st.booleans())
def test_undo_is_exact(steps: list[tuple[str, int, int]], built: bool) -> None:
    """Placements and evictions in any order, whether the ledger was built before or in between."""
    there = node("n1", cpus=LARGE, base=node("n0"))
    for number, cpus in enumerate(("0,4", "1", "2-3")):
        there = holding(there, f"h{number}", cpus, 2, on=f"n{number % 2}", amounts={0: {"cpu": "1"}}, min_available=0)
    there = pinned(there, "p", 2, tasks=6, exclusive="PCPULevel")
    there = pinned(there, "q", 3, tasks=3, qos="LS", numa="SingleNUMANode")
    session = open_session(there, plugins=("gang", "predicates", "nodenuma"))
    (ledger,) = [each for _, each in session.extensions.all_ledgers() if isinstance(each, CpuAllocator)]
    jobs = {job.id: job for job in session.jobs.all()}
    waiting = [task for job in jobs.values() for task in job.tasks.values() if task.node is None]
    running = [task for job in jobs.values() for task in job.tasks.values() if task.node is not None]
    fresh = open_session(there, plugins=("gang", "predicates", "nodenuma"))
    (expected,) = [each for _, each in fresh.extensions.all_ledgers() if isinstance(each, CpuAllocator)]
    if built:
        assert _picture(ledger) == _picture(expected)

    with session.statement() as statement:
        for verb, number, column in steps:
            if verb == "undo":
                statement.undo_to(max(len(statement.operations) - number, 0))
            elif verb == "evict":
                task = running[number % len(running)]
                job = jobs[task.job or next(iter(jobs))]
                if job.tasks[task.id].status is task.status:
                    statement.evict(job, task, "preempt")
            else:
                task = waiting[number % len(waiting)]
                job = jobs[task.job or next(iter(jobs))]
                if job.tasks[task.id].status is task.status:
                    place = statement.allocate if verb == "allocate" else statement.pipeline
                    place(job, [task], [column])

    assert session.extensions.failures == {}
    assert _picture(ledger) == _picture(expected)
    assert list(ledger.given()) == []


def _picture(ledger: CpuAllocator) -> Any:
    return {column: (dict(each.staying), dict(each.leaving)) for column, each in ledger.holders.items()}
