"""B6: how long a snapshot takes after one pod in a hundred changed.

Input: nodes of 64 CPU and 256 GiB with eight labels; running pods of 1 CPU and 2 GiB spread over them in turn, half of
them in gangs of 100, half single pods with a group each, four queues, two hundred templates. Each round changes the
phase of one pod in a hundred, drawn with seed 0, then takes a snapshot.
"""

import gc
import random
import time
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np

from benchmarks.results import Result
from cache.books import Books
from model import wire
from model.arrays import FloatArray

GANG = 100
QUEUES = 4
TEMPLATES = 200
NODES = 4000
PODS = 140_000
CHANGED = 0.01
ROUNDS = 20


def b6(runs: int) -> Result:
    """Time of a snapshot, median over rounds."""
    books, pods = Books(), list(running_pods(PODS, NODES))
    for kind, each in surroundings(PODS, NODES):
        books.apply(kind, each)
    for pod in pods:
        books.apply("Pod", pod)
    books.snapshot()
    gc.collect()
    gc.freeze()
    applied, taken = measured(books, pods, max(ROUNDS, runs))
    milliseconds = float(np.median(taken, axis=0)[0])
    return Result(
        "B6",
        "snapshot of 4,000 nodes and 140,000 pods, 1 % of them changed",
        f"{milliseconds:.0f} ms",
        "< 50 ms",
        milliseconds < 50,
        note=f"snapshot {told(taken)}; taking over the changes before it {told(applied)}",
    )


def moment() -> FloatArray:
    """Return wall and processor time in milliseconds."""
    return np.array([time.perf_counter(), time.process_time()]) * 1000


def told(spans: list[FloatArray]) -> str:
    """Say median and worst of some spans."""
    wall, processor = np.median(spans, axis=0)
    return f"{wall:.1f} ms median ({processor:.1f}), {np.max(spans, axis=0)[0]:.1f} ms worst of {len(spans)}"


def measured(books: Books, pods: list[wire.Pod], rounds: int) -> tuple[list[FloatArray], list[FloatArray]]:
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
            books.apply("Pod", pods[position])
        between = moment()
        books.snapshot()
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


def surroundings(pods: int, nodes: int) -> Iterator[tuple[str, Any]]:
    """Return queues, nodes and groups."""
    for number in range(QUEUES):
        yield "Queue", wire.Queue(metadata=wire.ObjectMeta(name=f"queue-{number}", uid=f"queue-{number}"))
    for number in range(nodes):
        yield "Node", node(number)
    for group in {group_of(number, pods): number for number in range(pods)}:
        minimum = GANG if group.startswith("gang") else 1
        yield (
            "PodGroup",
            wire.PodGroup(
                metadata=wire.ObjectMeta(
                    name=group, namespace="work", uid=group, creation_timestamp="2026-01-01T00:00:00Z"
                ),
                spec=wire.PodGroupSpec(min_member=minimum, queue=f"queue-{hash_of(group) % QUEUES}"),
                status=wire.PodGroupStatus(phase="Running"),
            ),
        )


def node(number: int) -> wire.Node:
    """Return one node."""
    offered = {"cpu": "64", "memory": "256Gi", "pods": "250", "nvidia.com/gpu": "8", "ephemeral-storage": "1Ti"}
    labels = {f"label-{each}": f"value-{number % (each + 2)}" for each in range(7)}
    return wire.Node(
        metadata=wire.ObjectMeta(
            name=f"node-{number:05}",
            uid=f"node-{number}",
            labels={"kubernetes.io/hostname": f"node-{number:05}"} | labels,
        ),
        status=wire.NodeStatus(allocatable=offered, capacity=offered),
    )


def running_pods(pods: int, nodes: int) -> Iterator[wire.Pod]:
    """Return the pods."""
    for number in range(pods):
        group = group_of(number, pods)
        yield wire.Pod(
            metadata=wire.ObjectMeta(
                name=f"{group}-worker-{number}",
                namespace="work",
                uid=f"00000000-0000-4000-8000-{number:012}",
                resource_version="v",
                creation_timestamp="2026-01-01T00:00:00Z",
                annotations={"scheduling.k8s.io/group-name": group},
            ),
            spec=wire.PodSpec(
                scheduler_name="volcano",
                node_name=f"node-{number % nodes:05}",
                containers=(
                    wire.Container(
                        name="main",
                        image=f"image-{hash_of(group) % TEMPLATES}",
                        resources=wire.ResourceRequirements(requests={"cpu": "1", "memory": "2Gi"}),
                    ),
                ),
            ),
            status=wire.PodStatus(phase="Running"),
        )


def group_of(number: int, pods: int) -> str:
    """Return the group of a pod: the first half stands in gangs."""
    return f"gang-{number // GANG}" if number < pods // 2 else f"single-{number}"


def hash_of(group: str) -> int:
    """Return a number that is the same in every run."""
    return int(group.rsplit("-", 1)[1])
