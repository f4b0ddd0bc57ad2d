"""Scores over all nodes, scores of one node, and the formula written out give the same, on clusters by chance."""

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Locality, Registered
from pyroclast.model import wire
from pyroclast.model.tasks import TaskStatus
from pyroclast.model.usage import NodeUsage
from tests.drawing import examples
from tests.unit.plugins.policies import World, group, opened, pod, queue

ALIKE = settings(max_examples=examples(60), deadline=None)
SEEDS = st.integers(0, 2**32)
GPU = "nvidia.com/gpu"
NOW = 1_000_000_000.0
ONE_GPU: tuple[dict[str, Any], ...] = ({}, {"gpu": "1"})
TWO_GPUS: tuple[dict[str, Any], ...] = ({}, {"gpu": "2"})
Answers = dict[str, float]


def machines(chance: Random) -> list[wire.Node]:
    """Nodes of different sizes, some in a group, some with devices, capacity beyond what they offer."""
    made = []
    for number in range(chance.randint(1, 6)):
        offered = {"cpu": chance.choice(["2", "4", "7500m"]), "memory": chance.choice(["4Gi", "10G"]), "pods": "9"}
        if chance.random() < 0.5:
            offered[GPU] = chance.choice(["0", "1", "4"])
        labels = {"volcano.sh/nodegroup-name": chance.choice("abc")} if chance.random() < 0.7 else {}
        name = f"n{number}"
        capacity = {**offered, "cpu": chance.choice(["8", "0"])}
        made.append(
            wire.Node(
                metadata=wire.ObjectMeta(name=name, uid=name, labels=labels),
                status=wire.NodeStatus(allocatable=offered, capacity=capacity),
            )
        )
    return made


def pods(chance: Random, nodes: list[wire.Node]) -> Iterator[wire.Pod]:
    """Running ones, young and old, and one that waits."""
    for number in range(chance.randint(0, 8)):
        made = pod(
            f"r{number}",
            on=chance.choice(nodes).metadata.name,
            cpu=chance.choice(["", "100m", "1500m"]),
            memory=chance.choice(["", "1Gi", "900M"]),
            **chance.choice(ONE_GPU),
        )
        start = wire.time_text(NOW - chance.choice([5, 29, 30, 500]))
        status = wire.PodStatus(phase="Running", start_time=chance.choice([start, start, ""]))
        yield wire.Pod(metadata=made.metadata, spec=made.spec, status=status)
    yield pod("p", cpu=chance.choice(["", "1", "3"]), memory=chance.choice(["", "3Gi"]), **chance.choice(TWO_GPUS))


def world(chance: Random, name: str, arguments: dict[str, Any], *more: Any) -> World:
    """A session by chance with one plugin."""
    nodes = machines(chance)
    usage = {
        each.metadata.name: NodeUsage(
            cpu_percent=chance.uniform(0, 120),
            memory_percent=chance.uniform(0, 100),
            measured=NOW - chance.choice([0, 299, 301]),
        )
        for each in nodes
        if chance.random() < 0.8
    }
    option = {"name": name, "arguments": arguments}
    metrics = {"type": "prometheus_adaptor"}
    return opened(*nodes, *pods(chance, nodes), *more, plugins=[option], usage=usage, metrics=metrics, now=NOW)


def answers(there: World, each: Registered[Any], *, one_by_one: bool) -> Answers:
    """What a function says of every node, asked about all at once or about each."""
    nodes, task = there.session.nodes, there.task("p")
    names = [str(name) for name in nodes.table.names]
    if not one_by_one:
        answer = each.function(task, nodes.columns())
        return dict.fromkeys(names, 0.0) if answer is None else dict(zip(names, answer.tolist(), strict=True))
    singly = [each.function(task, nodes.one(column)) for column in range(len(nodes))]
    return {name: 0.0 if each is None else float(each[0]) for name, each in zip(names, singly, strict=True)}


def agree(there: World, plain: Callable[[World, str], float], each: Registered[Any]) -> None:
    """All three ways come to the same, to the last bit between the product's own two."""
    together = answers(there, each, one_by_one=False)

    assert answers(there, each, one_by_one=True) == together
    assert together.keys() == {str(name) for name in there.session.nodes.table.names}
    for name, found in together.items():
        assert abs(found - plain(there, name)) < 1e-6, name


def amounts(there: World, name: str) -> Iterator[tuple[str, int, int, int]]:
    """Yield of each resource that the waiting task asks for: name, request, used, offered."""
    nodes, task = there.session.nodes, there.task("p")
    columns = nodes.columns(np.array([nodes.table.column[name]]))  # type: ignore[index]  # names are texts
    request = nodes.needs(task.template).request
    for row, resource in enumerate(there.session.resources.names):
        if request[row] > 0:
            yield resource, int(request[row]), int(columns.used[row, 0]), int(columns.allocatable[row, 0])


def fit(there: World, name: str) -> float:
    """Resource strategy fit with CPU spread out by 2, everything of nvidia filled up by 3, memory spread by 1."""
    kinds = {"cpu": (False, 2), "memory": (False, 1), GPU: (True, 3)}
    total, score = 0, 0.0
    for resource, request, used, offered in amounts(there, name):
        if resource in kinds:
            fills, weight = kinds[resource]
            total += weight
            if offered > 0:
                if used + request > offered:
                    return 0.0
                score += weight * ((used + request) if fills else (offered - used - request)) / offered
    return 10 * 100 * score / total if total else 0.0


FIT = {
    "resources": {
        "cpu": {"type": "LeastAllocated", "weight": 2},
        "memory": {"type": "LeastAllocated", "weight": 1},
        "nvidia.com/*": {"type": "MostAllocated", "weight": 3},
    },
    "sra": {"enable": True, "resources": f"{GPU}, example.com/none", "weight": 4, "resourceWeight": {GPU: 3}},
    "proportional": {"enable": True, "resources": GPU, "resourceProportion": {f"{GPU}.cpu": 1.2, f"{GPU}.memory": 0.5}},
}


@ALIKE
@given(SEEDS)
def test_fit(seed: int) -> None:
    """Filled up and spread out."""
    there = world(Random(seed), "resource-strategy-fit", FIT)

    agree(there, fit, there.function(contract.NODE_ORDER, part=0))


def scarce(there: World, name: str) -> float:
    """GPUs weigh 3 of 4."""
    nodes = there.session.nodes
    column, row = nodes.table.column[name], there.session.resources.rows.get(GPU)  # type: ignore[index]  # as above
    if any(offered <= 0 for _, _, _, offered in amounts(there, name)):
        return 0.0
    has = row is not None and nodes.table.allocatable[row, column] > 0
    return (1 - 3 / 4 if has else 1.0) * 400


@ALIKE
@given(SEEDS)
def test_scarce_resources(seed: int) -> None:
    """Nodes that have them are left to others."""
    there = world(Random(seed), "resource-strategy-fit", FIT)

    agree(there, scarce, there.function(contract.NODE_ORDER, part=1))


def proportional(there: World, name: str) -> float:
    """1.2 CPU and half a gigabyte are kept beside each idle GPU."""
    nodes, rows = there.session.nodes, there.session.resources.rows
    column, task = nodes.table.column[name], there.task("p")  # type: ignore[index]  # as above
    request = task.template.request
    if request.get(GPU, 0) or GPU not in rows or nodes.table.allocatable[rows[GPU], column] <= 0:
        return 0.0
    idle = nodes.columns().idle[:, column]
    gpus = float(idle[rows[GPU]]) / there.session.resources.scales[rows[GPU]]
    short_of_cpu = idle[rows["cpu"]] - request.get("cpu", 0) < gpus * 1200
    return float(short_of_cpu or idle[rows["memory"]] - request.get("memory", 0) // 1000 < gpus * 5e8)


@ALIKE
@given(SEEDS)
def test_room_beside_devices(seed: int) -> None:
    """Too little left refuses."""
    there = world(Random(seed), "resource-strategy-fit", FIT)
    found = [
        each for each in there.session.extensions.functions(contract.PREDICATE) if each.locality is Locality.AMOUNTS
    ]

    for each in found:
        agree(there, proportional, each)


TERMS = (("a",), ("b",), (), ("c",))


def grouped(there: World, name: str) -> float:
    """Group a is required, b preferred, c shunned."""
    node = there.session.nodes.facts.nodes[there.session.nodes.table.column[name]]  # type: ignore[index]  # as above
    return {"a": 100.0, "b": 50.0, "c": -1.0}.get(node.labels.get("volcano.sh/nodegroup-name", ""), 0.0)


@ALIKE
@given(SEEDS)
def test_node_groups(seed: int) -> None:
    """What a queue thinks of the groups."""
    required, preferred, never, rather_not = (tuple(terms) for terms in TERMS)
    affinity = wire.QueueAffinity(
        node_group_affinity=wire.NodeGroupTerms(required=required, preferred=preferred),
        node_group_anti_affinity=wire.NodeGroupTerms(required=never, preferred=rather_not),
    )
    there = world(Random(seed), "nodegroup", {}, queue("default", affinity=affinity), group("job"))

    agree(there, grouped, there.function(contract.NODE_ORDER))


def loaded(there: World, name: str) -> float:
    """Measured load and the estimates of young pods, with the arguments' defaults."""
    measured = there.session.snapshot.usage.get(name)  # type: ignore[call-overload]  # as above
    if measured is None or NOW - measured.measured > 300:
        return 0.0
    nodes = there.session.nodes
    column = nodes.table.column[name]  # type: ignore[index]  # as above
    node = nodes.facts.nodes[column].object
    assert node is not None
    cpus = int(node.status.capacity["cpu"]) * 1000
    memory = 4 * 2**30 if node.status.capacity["memory"] == "4Gi" else 10**10

    def used(percent: float, estimates: float, capacity: int) -> float:
        return 0.0 if not capacity else min(percent / 100 + estimates / capacity, 1.0)

    sums = [0.0, 0.0]
    for task in sorted(nodes.tasks_on(column).values(), key=lambda each: each.key):
        start = task.pod.status.start_time
        is_measured = bool(start) and wire.unix_seconds(start) <= NOW - 30
        if task.status is TaskStatus.RELEASING or (task.status is TaskStatus.RUNNING and is_measured):
            continue
        load = (used(measured.cpu_percent, sums[0], cpus) + used(measured.memory_percent, sums[1], memory)) / 2
        asked = task.template.request.get("cpu", 0), task.template.request.get("memory", 0) / 1000
        for at, (request, otherwise) in enumerate(zip(asked, (250, 200 * 2**20), strict=True)):
            risk = 1.2 if load >= 0.6 else 1.0
            sums[at] += otherwise * risk if task.template.best_effort else min(request * 0.7 * risk, request)
    free = 2 - used(measured.cpu_percent, sums[0], cpus) - used(measured.memory_percent, sums[1], memory)
    return free / 2 * 500


@ALIKE
@given(SEEDS)
def test_usage(seed: int) -> None:
    """What is not in use."""
    there = world(Random(seed), "usage", {})

    for each in there.session.extensions.functions(contract.NODE_ORDER):
        agree(there, loaded, each)


@ALIKE
@given(SEEDS)
def test_usage_while_tasks_come_and_go(seed: int) -> None:
    """Scores kept true by the ledger are those of a session that begins with the task placed; undoing restores them."""
    there = world(Random(seed), "usage", {})
    for each in there.session.extensions.functions(contract.NODE_ORDER):
        before = answers(there, each, one_by_one=False)
        with there.session.statement() as statement:
            for task in [task for job in there.session.jobs.all() for task in job.tasks.values() if task.node]:
                there.evict(statement, task.name)
            there.place(statement, "p", str(there.session.nodes.table.names[0]))
            agree(there, loaded, each)
        assert answers(there, each, one_by_one=False) == before
