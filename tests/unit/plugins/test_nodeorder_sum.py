"""The sum of all scores equals a slow computation, node by node, by the rules of docs/plugins/nodeorder.md."""

import functools
import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import hypothesis.strategies as st
import numpy as np
from hypothesis import given, settings

from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Locality
from pyroclast.model import wire
from tests.unit.plugins.policies import GIB, MIB, node, opened, pod

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
APPS = ("web", "db")
WEIGHTS = {
    "leastrequested": 1,
    "mostrequested": 2,
    "balancedresource": 3,
    "nodeaffinity": 5,
    "podaffinity": 7,
    "tainttoleration": 11,
    "imagelocality": 13,
    "podtopologyspread": 17,
}
BINPACK = {"binpack.weight": 19, "binpack.cpu": 2, "binpack.resources": "nvidia.com/gpu"}


@dataclass(frozen=True)
class PlainPod:
    """A pod as numbers; amounts are None where not written."""

    app: str
    cpu: int | None
    memory: int | None
    gpu: int
    likes: tuple[tuple[int, str, str], ...] = ()
    """Weight (negative shuns), app, topology key."""


@dataclass(frozen=True)
class PlainNode:
    """A node as numbers."""

    name: str
    cpu: int
    memory: int
    gpu: int
    zone: str
    fast: bool
    taints: int
    images: tuple[tuple[str, int], ...]
    pods: tuple[PlainPod, ...]


@dataclass(frozen=True)
class Wanting:
    """The pod to be placed."""

    shape: PlainPod
    fast_weight: int
    images: tuple[str, ...]
    spread: tuple[tuple[str, int], ...]
    """Topology key, skew; over pods of its app."""
    tolerates: bool


# Slowly ---------------------------------------------------------------------------------------------------------------


def scored(each: PlainPod) -> tuple[int, int]:
    """What least and most allocated take a pod to use."""
    return (100 if each.cpu is None else each.cpu), (200 * MIB if each.memory is None else each.memory)


def real(each: PlainPod) -> tuple[int, int, int]:
    """What a pod asks for."""
    return each.cpu or 0, each.memory or 0, each.gpu


def label(on: PlainNode, key: str) -> str | None:
    """A node's label."""
    return {HOST: on.name, ZONE: on.zone or None}[key]


def least(task: Wanting, on: PlainNode) -> int:
    """Least allocated."""
    parts = []
    for row, capacity in enumerate((on.cpu, on.memory)):
        used = scored(task.shape)[row] + sum(scored(each)[row] for each in on.pods)
        parts.append(0 if used > capacity else (capacity - used) * 100 // capacity)
    return sum(parts) // 2


def most(task: Wanting, on: PlainNode) -> int:
    """Most allocated."""
    parts = []
    for row, capacity in enumerate((on.cpu, on.memory)):
        used = scored(task.shape)[row] + sum(scored(each)[row] for each in on.pods)
        parts.append(min(used, capacity) * 100 // capacity)
    return sum(parts) // 2


def evenness(used: Sequence[int], capacity: Sequence[int]) -> int:
    """How even the fractions are."""
    fractions = [min(1.0, have / offered) for have, offered in zip(used, capacity, strict=True) if offered]
    if len(fractions) == 2:
        deviation = abs((fractions[0] - fractions[1]) / 2)
    else:
        # added one by one: `sum` corrects for rounding since Python 3.12, kube-scheduler does not
        mean = functools.reduce(operator.add, fractions) / len(fractions)
        squares = [(each - mean) * (each - mean) for each in fractions]
        deviation = math.sqrt(functools.reduce(operator.add, squares) / len(fractions))
    return int((1 - deviation) * 100)


def balance(task: Wanting, on: PlainNode) -> int:
    """Balanced allocation of Kubernetes 1.36."""
    asked = real(task.shape)
    if not any(asked):
        return 0
    rows = (0, 1, 2) if asked[2] else (0, 1)
    before = [sum(real(each)[row] for each in on.pods) for row in rows]
    after = [have + asked[row] for have, row in zip(before, rows, strict=True)]
    capacity = [(on.cpu, on.memory, on.gpu)[row] for row in rows]
    return 50 + (50 + evenness(after, capacity) - evenness(before, capacity)) // 2


def node_affinity(task: Wanting, nodes: Sequence[PlainNode]) -> list[int]:
    """Preferred node affinity."""
    raw = [task.fast_weight if each.fast else 0 for each in nodes]
    return [100 * each // max(raw) if max(raw) else 0 for each in raw]


def taints(task: Wanting, nodes: Sequence[PlainNode]) -> list[int]:
    """Taints to be avoided."""
    raw = [0 if task.tolerates else each.taints for each in nodes]
    return [100 - 100 * each // max(raw) if max(raw) else 100 for each in raw]


def images(task: Wanting, on: PlainNode, nodes: Sequence[PlainNode]) -> int:
    """Image locality."""
    total = 0
    for image in task.images:
        holders = [each for each in nodes if image in dict(each.images)]
        if on in holders:
            total += int(dict(on.images)[image] * (len(holders) / len(nodes)))
    low, high = 23 * MIB, 1000 * MIB * len(task.images)
    return 100 * (min(max(total, low), high) - low) // (high - low)


def pod_affinity(task: Wanting, nodes: Sequence[PlainNode]) -> list[int]:
    """Preferred pod affinity, both ways."""
    by_domain: dict[tuple[str, str], int] = {}
    for each in nodes:
        for there in each.pods:
            wishes = [(weight, key) for weight, app, key in task.shape.likes if app == there.app]
            wishes += [(weight, key) for weight, app, key in there.likes if app == task.shape.app]
            for weight, key in wishes:
                value = label(each, key)
                if value is not None:
                    by_domain[key, value] = by_domain.get((key, value), 0) + weight
    raw = [sum(by_domain.get((key, label(each, key) or ""), 0) for key in (HOST, ZONE)) for each in nodes]
    low, high = min(raw), max(raw)
    return [int(100 * ((each - low) / (high - low))) if high > low else 0 for each in raw]


def topology_spread(task: Wanting, nodes: Sequence[PlainNode]) -> list[int]:
    """Constraints that are wished for."""
    if not task.spread:
        return [0] * len(nodes)
    whole = [each for each in nodes if all(label(each, key) is not None for key, _ in task.spread)]
    raw: dict[str, int] = {}
    for each in whole:
        total = 0.0
        for key, skew in task.spread:
            domains = {label(other, key) for other in whole}
            alike = [other for other in whole if label(other, key) == label(each, key)]
            count = sum(there.app == task.shape.app for other in alike for there in other.pods)
            total += count * math.log(len(domains) + 2) + (skew - 1)
        raw[each.name] = round(total)
    if not raw:
        return [0] * len(nodes)
    low, high = min(raw.values()), max(raw.values())
    return [
        0 if each.name not in raw else 100 if not high else 100 * (high + low - raw[each.name]) // high
        for each in nodes
    ]


def binpack(task: Wanting, on: PlainNode) -> float:
    """Fullness after."""
    weights, asked, offered = (2, 1, 1), real(task.shape), (on.cpu, on.memory, on.gpu)
    total, score = 0, 0.0
    for row, weight in enumerate(weights):
        if not asked[row]:
            continue
        total += weight
        after = asked[row] + sum(real(each)[row] for each in on.pods)
        if offered[row]:
            if after > offered[row]:
                return 0.0
            score += after * weight / offered[row]
    return 19 * (score / total * 100) if total else 0.0


def slowly(task: Wanting, nodes: Sequence[PlainNode]) -> list[float]:
    """The sum of all scores, weighted."""
    together = {
        "nodeaffinity": node_affinity(task, nodes),
        "podaffinity": pod_affinity(task, nodes),
        "tainttoleration": taints(task, nodes),
        "podtopologyspread": topology_spread(task, nodes),
        "leastrequested": [least(task, each) for each in nodes],
        "mostrequested": [most(task, each) for each in nodes],
        "balancedresource": [balance(task, each) for each in nodes],
        "imagelocality": [images(task, each, nodes) for each in nodes],
    }
    return [
        sum(WEIGHTS[name] * scores[at] for name, scores in together.items()) + binpack(task, each)
        for at, each in enumerate(nodes)
    ]


# As objects -----------------------------------------------------------------------------------------------------------


def asked_for(each: PlainPod) -> dict[str, Any]:
    """Requests as keywords of `pod`."""
    return {
        "cpu": "" if each.cpu is None else f"{each.cpu}m",
        "memory": "" if each.memory is None else str(each.memory),
        "gpu": str(each.gpu) if each.gpu else "",
    }


def wishes_of(each: PlainPod) -> wire.Affinity:
    """Preferred terms."""

    def half(sign: int) -> wire.PodAffinity:
        return wire.PodAffinity(
            preferred=tuple(
                wire.WeightedPodAffinityTerm(
                    weight=abs(weight),
                    pod_affinity_term=wire.PodAffinityTerm(
                        label_selector=wire.LabelSelector(match_labels={"app": app}), topology_key=key
                    ),
                )
                for weight, app, key in each.likes
                if weight * sign > 0
            )
        )

    return wire.Affinity(pod_affinity=half(1), pod_anti_affinity=half(-1))


def objects_of(task: Wanting, nodes: Sequence[PlainNode]) -> list[Any]:
    """Nodes, the pods on them, and the pod `p`."""
    made: list[Any] = []
    for each in nodes:
        labels = {HOST: each.name, **({ZONE: each.zone} if each.zone else {}), **({"fast": ""} if each.fast else {})}
        made.append(
            node(
                each.name,
                cpu=f"{each.cpu}m",
                memory=str(each.memory),
                gpu=str(each.gpu),
                labels=labels,
                taints=[wire.Taint(key=f"t{at}", effect="PreferNoSchedule") for at in range(each.taints)],
                images=dict(each.images),
            )
        )
        made += [
            pod(
                f"{each.name}-{at}",
                on=each.name,
                labels={"app": there.app},
                spec={"affinity": wishes_of(there)},
                **asked_for(there),
            )
            for at, there in enumerate(each.pods)
        ]
    preferred = wire.PreferredSchedulingTerm(
        weight=task.fast_weight,
        preference=wire.NodeSelectorTerm(match_expressions=(wire.SelectorRequirement(key="fast", operator="Exists"),)),
    )
    pods = wishes_of(task.shape)
    wanted = wire.Affinity(
        node_affinity=wire.NodeAffinity(preferred=(preferred,) if task.fast_weight else ()),
        pod_affinity=pods.pod_affinity,
        pod_anti_affinity=pods.pod_anti_affinity,
    )
    spec: Mapping[str, Any] = {
        "affinity": wanted,
        "tolerations": (wire.Toleration(operator="Exists"),) if task.tolerates else (),
        "init_containers": tuple(wire.Container(name=f"i{at}", image=name) for at, name in enumerate(task.images[1:])),
        "topology_spread_constraints": tuple(
            wire.TopologySpreadConstraint(
                topology_key=key,
                max_skew=skew,
                when_unsatisfiable="ScheduleAnyway",
                label_selector=wire.LabelSelector(match_labels={"app": task.shape.app}),
            )
            for key, skew in task.spread
        ),
    }
    amounts = {name: amount for name, amount in asked_for(task.shape).items() if amount}
    amounts = {"nvidia.com/gpu" if name == "gpu" else name: amount for name, amount in amounts.items()}
    main = wire.Container(name="c", image=task.images[0], resources=wire.ResourceRequirements(requests=amounts))
    made.append(pod("p", labels={"app": task.shape.app}, containers=[main], spec=spec))
    return made


# Generated ------------------------------------------------------------------------------------------------------------

LIKES = st.lists(
    st.tuples(st.sampled_from((-7, -1, 1, 3, 100)), st.sampled_from(APPS), st.sampled_from((HOST, ZONE))), max_size=2
).map(tuple)
PODS = st.builds(
    PlainPod,
    app=st.sampled_from(APPS),
    cpu=st.one_of(st.none(), st.integers(0, 3000)),
    memory=st.one_of(st.none(), st.integers(0, 4 * GIB)),
    gpu=st.sampled_from((0, 0, 0, 1, 2)),
    likes=LIKES,
)
IMAGES = ("app:1", "app:2", "tool:latest")
NODES = st.lists(
    st.builds(
        PlainNode,
        name=st.just(""),
        cpu=st.integers(1, 16000),
        memory=st.integers(1, 64 * GIB),
        gpu=st.sampled_from((0, 4, 8)),
        zone=st.sampled_from(("", "a", "b")),
        fast=st.booleans(),
        taints=st.integers(0, 3),
        images=st.lists(
            st.tuples(st.sampled_from(IMAGES), st.integers(1, 3000 * MIB)), max_size=3, unique_by=lambda each: each[0]
        ).map(tuple),
        pods=st.lists(PODS, max_size=3).map(tuple),
    ),
    min_size=1,
    max_size=6,
)
TASKS = st.builds(
    Wanting,
    # what is not written for an init container would be assumed, so the pod writes both
    shape=st.builds(
        PlainPod,
        app=st.sampled_from(APPS),
        cpu=st.integers(100, 3000),
        memory=st.integers(200 * MIB, 4 * GIB),
        gpu=st.sampled_from((0, 0, 1, 2)),
        likes=LIKES,
    ),
    fast_weight=st.integers(0, 100),
    images=st.lists(st.sampled_from(IMAGES), min_size=1, max_size=3).map(tuple),
    spread=st.lists(st.tuples(st.sampled_from((ZONE, HOST)), st.integers(1, 5)), max_size=2).map(tuple),
    tolerates=st.booleans(),
)


@settings(max_examples=60, deadline=None)
@given(task=TASKS, drawn=NODES)
def test_all_scores_together_equal_a_slow_computation(task: Wanting, drawn: list[PlainNode]) -> None:
    """Every score of nodeorder and binpack, weighted, for any nodes, pods and wishes."""
    nodes = [
        PlainNode(**{**{name: getattr(each, name) for name in PlainNode.__dataclass_fields__}, "name": f"n{at}"})
        for at, each in enumerate(drawn)
    ]
    arguments = {f"{name}.weight": weight for name, weight in WEIGHTS.items()}
    there = opened(
        *objects_of(task, nodes),
        plugins=[{"name": "nodeorder", "arguments": arguments}, {"name": "binpack", "arguments": BINPACK}],
    )

    assert list(there.scores("p").values()) == slowly(task, nodes)
    for each in there.session.extensions.functions(contract.NODE_ORDER):
        if each.locality is Locality.AMOUNTS:
            columns = [there.session.nodes.one(at) for at in range(len(nodes))]
            answers = [each.function(there.task("p"), column) for column in columns]
            assert (
                each.function(there.task("p"), there.session.nodes.columns()).tolist()
                == np.concatenate(answers).tolist()
            )
