"""B6: how long a snapshot takes after one pod in a hundred changed.

Input: nodes of 64 CPU and 256 GiB with eight labels; running pods of 1 CPU and 2 GiB spread over them in turn, half of
them in gangs of 100, half single pods with a group each, four queues, two hundred templates. Each round changes the
phase of one pod in a hundred, drawn with seed 0, then takes a snapshot.
"""

import gc
import random
import time
from collections.abc import Iterator

import msgspec
import numpy as np

from benchmarks import clusters
from benchmarks.clusters import Object
from benchmarks.cycles import DEFAULT
from benchmarks.inputs import Input
from benchmarks.results import Result, below
from pyroclast.cache.files.objects import decoded
from pyroclast.cache.state import ClusterState
from pyroclast.model import wire
from pyroclast.model.arrays import FloatArray

__all__ = ["BENCHMARKS", "INPUTS"]

GANG = 100
QUEUES = 4
TEMPLATES = 200
NODES = 4000
PODS = 140_000
CHANGED = 0.01
ROUNDS = 20
CREATED = "2026-01-01T00:00:00Z"


def b6(runs: int, seed: int) -> Iterator[Result]:
    """Time of a snapshot, median over rounds."""
    state, pods = ClusterState(), list[wire.Pod]()
    for kind, each in decoded(INPUTS["b6"].objects(seed)):
        state.apply(kind, each)
        if kind == "Pod":
            pods.append(each)
    state.snapshot()
    gc.collect()
    gc.freeze()
    applied, taken = measured(state, pods, max(ROUNDS, runs))
    yield Result(
        name="B6",
        work="snapshot of 4,000 nodes and 140,000 pods, 1 % of them changed",
        budget=below(50, "ms"),
        figure=float(np.median(taken, axis=0)[0]),
        note=f"snapshot {summary(taken)}; taking over the changes before it {summary(applied)}",
    )


def moment() -> FloatArray:
    """Return wall and processor time in milliseconds."""
    return np.array([time.perf_counter(), time.process_time()]) * 1000


def summary(spans: list[FloatArray]) -> str:
    """Return the median and the worst of some spans as text."""
    wall, processor = np.median(spans, axis=0)
    return f"{wall:.1f} ms median ({processor:.1f}), {np.max(spans, axis=0)[0]:.1f} ms worst of {len(spans)}"


def measured(state: ClusterState, pods: list[wire.Pod], rounds: int) -> tuple[list[FloatArray], list[FloatArray]]:
    """Change pods and take snapshots; return the time of each."""
    draw = random.Random(0)
    applied, taken = [], []
    gc.disable()
    for round_number in range(rounds):
        positions = draw.sample(range(len(pods)), int(len(pods) * CHANGED))
        for position in positions:
            pods[position] = changed(pods[position], round_number)
        begun = moment()
        for position in positions:
            state.apply("Pod", pods[position])
        between = moment()
        state.snapshot()
        taken.append(moment() - between)
        applied.append(between - begun)
    gc.enable()
    return applied, taken


def changed(pod: wire.Pod, version: int) -> wire.Pod:
    """Let a running pod finish, and a finished one run again."""
    phase = "Succeeded" if pod.status.phase == "Running" else "Running"
    return msgspec.structs.replace(
        pod,
        metadata=msgspec.structs.replace(pod.metadata, resource_version=f"v{version}"),
        status=msgspec.structs.replace(pod.status, phase=phase),
    )


def all_running(nodes: int = NODES, pods: int = PODS) -> Iterator[Object]:
    """Nodes, and the pods that run on them with their groups."""
    for number in range(QUEUES):
        yield {"kind": "Queue", "metadata": {"name": f"queue-{number}", "uid": f"queue-{number}"}}
    yield from (node(number) for number in range(nodes))
    for group in {group_of(number, pods): None for number in range(pods)}:
        yield {
            "kind": "PodGroup",
            "metadata": {"name": group, "namespace": "work", "uid": group, "creationTimestamp": CREATED},
            "spec": {
                "minMember": GANG if group.startswith("gang") else 1,
                "queue": f"queue-{hash_of(group) % QUEUES}",
            },
            "status": {"phase": "Running"},
        }
    yield from (pod(number, pods, nodes) for number in range(pods))


def node(number: int) -> Object:
    """Return one node."""
    offered = {"cpu": "64", "memory": "256Gi", "pods": "250", "nvidia.com/gpu": "8", "ephemeral-storage": "1Ti"}
    labels = {f"label-{each}": f"value-{number % (each + 2)}" for each in range(7)}
    name = f"node-{number:05}"
    return {
        "kind": "Node",
        "metadata": {"name": name, "uid": f"node-{number}", "labels": {clusters.HOSTNAME: name, **labels}},
        "status": {"allocatable": offered, "capacity": offered},
    }


def pod(number: int, pods: int, nodes: int) -> Object:
    """Return one of so many pods."""
    group = group_of(number, pods)
    container = {
        "name": "main",
        "image": f"image-{hash_of(group) % TEMPLATES}",
        "resources": {"requests": {"cpu": "1", "memory": "2Gi"}},
    }
    return {
        "kind": "Pod",
        "metadata": {
            "name": f"{group}-worker-{number}",
            "namespace": "work",
            "uid": f"00000000-0000-4000-8000-{number:012}",
            "creationTimestamp": CREATED,
            "annotations": {"scheduling.k8s.io/group-name": group},
        },
        "spec": {"schedulerName": "volcano", "nodeName": f"node-{number % nodes:05}", "containers": [container]},
        "status": {"phase": "Running"},
    }


def group_of(number: int, pods: int) -> str:
    """Return the group of a pod: the first half stands in gangs."""
    return f"gang-{number // GANG}" if number < pods // 2 else f"single-{number}"


def hash_of(group: str) -> int:
    """Return a number that is the same in every run."""
    return int(group.rsplit("-", 1)[1])


BENCHMARKS = {"b6": b6}
INPUTS = {"b6": Input(make=all_running, config=DEFAULT, small={"nodes": 10, "pods": 400})}
