"""Clusters by chance: small and crowded, with everything that the plain scheduler knows."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from pyroclast.testing import Scenario

ZONES = ("a", "b", "c")
APPS = ("web", "db", "train")
GPU = "nvidia.com/gpu"
TIERS: tuple[Any, ...] = (
    (("priority", "gang", "conformance"), ("overcommit", "drf", "predicates", "proportion", "nodeorder")),
    (("priority", "gang"), ("overcommit", "drf", "predicates", "proportion", "nodeorder", "binpack")),
    (("sla", "priority", "gang"), ("drf", "predicates", "nodeorder")),
    (("sla",), ("gang", "predicates"), ("proportion", "binpack")),
    (("gang",), ("predicates", "binpack", "reservation")),
    (("predicates", "nodeorder"),),
    (("gang", "nodeorder", "proportion"),),
    (("drf", "gang", "proportion"), ("predicates",)),
    (("priority", "gang"), ("overcommit", "capacity", "predicates", "nodeorder")),
    (("gang", "capacity"), ("predicates", "binpack")),
)
"""Clusters have no Reservations, so that the plugin reservation must change nothing."""
CAPABILITIES: tuple[dict[str, Any] | None, ...] = (None, None, {"cpu": 4}, {"cpu": 6, "memory": "7Gi"}, {GPU: 1})
GUARANTEES: tuple[dict[str, Any] | None, ...] = (None, None, None, {"cpu": 2}, {"memory": "3Gi", "cpu": 1})
DESERVED: tuple[dict[str, Any] | None, ...] = (None, {"cpu": 2}, {"cpu": 4, "memory": "4Gi"}, {GPU: 1})
RESERVES: tuple[dict[str, Any] | None, ...] = (
    None,
    None,
    {"cpu": 1},
    {"cpu": 3, "memory": "2Gi"},
    {"memory": "6Gi", GPU: 1},
    {"cpu": 0},
)
CPUS: tuple[int | str, ...] = (1, 2, 4, 4, "3500m", 8)
AS_VOLCANO: Mapping[str, Mapping[str, Any]] = {
    "enqueue": {"countEvictions": False, "freeUnusablePromises": False},
    "allocate": {"gangSearch": False},
    "proportion": {"countUnusableRequests": True},
}
"""Arguments that switch off rules which the plain scheduler does not state: they have their own laws in tests/laws."""
ACTIONS = (("enqueue", "allocate", "backfill"),) * 3 + (
    ("allocate", "backfill"),
    ("enqueue", "allocate"),
    ("allocate",),
)


@dataclass(frozen=True)
class Case:
    """A cluster and a configuration."""

    scenario: Scenario
    tiers: tuple[tuple[str, ...], ...]
    actions: tuple[str, ...]


def case(chance: Random, *, divided: bool = False) -> Case:
    """Make a case; `divided` jobs have sub-groups."""
    scenario = Scenario()
    queues = ["red", "green", "blue"][: chance.randint(1, 3)]
    for name in queues:
        scenario = scenario.queue(
            name,
            weight=chance.choice([0, 1, 1, 2, 3]) if len(queues) > 1 else 1,
            priority=chance.choice([0, 0, 0, 5]),
            capability=chance.choice(CAPABILITIES),
            guarantee=chance.choice(GUARANTEES),
            deserved=chance.choice(DESERVED),
            state=chance.choice(["Open"] * 9 + ["Closed"]),
        )
    for value, name in ((10, "high"), (-5, "low")):
        scenario = scenario.priority_class(name, value)
    nodes = [f"n{number}" for number in range(chance.randint(1, 6))]
    for name in nodes:
        scenario = _with_node(scenario, name, chance)
    for number in range(chance.randint(1, 7)):
        scenario = _with_job(scenario, f"j{number}", queues, nodes, chance, divided=divided and chance.random() < 0.7)
    if chance.random() < 0.5:
        for number in range(chance.randint(1, 3)):
            scenario = scenario.pod(
                f"alone{number}",
                node=chance.choice(nodes),
                cpu=chance.choice([None, "500m", 2]),
                memory=chance.choice([None, "1Gi"]),
                scheduler="default-scheduler",
                labels={"app": chance.choice(APPS)},
                spec=_spec(chance, 0.3),
            )
    return Case(_aged(scenario, chance), chance.choice(TIERS), chance.choice(ACTIONS))


def _with_node(scenario: Scenario, name: str, chance: Random) -> Scenario:
    labels = {"zone": chance.choice(ZONES), "rank": str(chance.randint(1, 4)), "disk": "ssd"}
    for label in ("zone", "disk"):
        if chance.random() < 0.2:
            del labels[label]
    taint = {"key": "team", "value": chance.choice(["x", "y"]), "effect": chance.choice(_EFFECTS)}
    return scenario.node(
        name,
        cpu=chance.choice(CPUS),
        memory=chance.choice(["2Gi", "4Gi", "8Gi", "8Gi", "7900Mi"]),
        gpu=chance.choice([None, None, 1, 4]),
        pods=chance.choice([1, 2, 3, 110, 110, 110]),
        labels=labels,
        taints=[taint] if chance.random() < 0.3 else [],
        unschedulable=chance.random() < 0.08,
    )


_EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule", "PreferNoSchedule")


def _with_job(
    scenario: Scenario, name: str, queues: list[str], nodes: list[str], chance: Random, *, divided: bool
) -> Scenario:
    runs = chance.random() < 0.35
    roles = chance.choice([[""], [""], ["ps", "worker"], ["a", "b", "c"]])
    sizes = [chance.randint(1, 4) for _ in roles]
    total = sum(sizes)
    by_role = {role: chance.randint(0, size) for role, size in zip(roles, sizes, strict=True) if role}
    if chance.random() < 0.3:
        by_role = {}
    group: dict[str, Any] = {}
    if divided:
        group["subGroupPolicy"] = _policies(chance)
    annotations = {"sla-waiting-time": chance.choice(["60s", "900s"])} if chance.random() < 0.3 else {}
    scenario = scenario.job(
        name,
        tasks=0,
        queue=chance.choice(queues),
        min_available=chance.choice([0, 1, total, total, chance.randint(0, total + 1)]),
        min_by_role=by_role,
        min_resources=chance.choice(RESERVES),
        priority_class=chance.choice(["", "", "high", "low"]),
        phase="Running" if runs else chance.choice(["", "Pending", "Pending", "Inqueue", "Inqueue"]),
        annotations=annotations,
        group=group,
    )
    number = 0
    dashes = chance.choice(["-", "-w-"])
    shared = _shape(chance)
    for role, size in zip(roles, sizes, strict=True):
        shape = shared if chance.random() < 0.5 else _shape(chance)
        for _ in range(size):
            own = shape if chance.random() < 0.85 else _shape(chance)
            placed = runs and chance.random() < 0.6
            labels = {"app": own["labels"], "part": chance.choice(["0", "2", "10", "x"])}
            phase = chance.choice(["Running", "Running", "Running", "Pending", "Succeeded", "Failed"]) if placed else ""
            scenario = scenario.pod(
                f"{name}{dashes}{number}",
                job=name,
                role=role,
                node=chance.choice(nodes) if placed else "",
                phase=phase,
                labels=labels if chance.random() < 0.95 else {},
                priority=chance.choice([0, 0, 0, 3]),
                **own["pod"],
            )
            number += 1
    return scenario


def _policies(chance: Random) -> list[dict[str, Any]]:
    by_part = {"name": "parts", "matchLabelKeys": ["part"], "subGroupSize": chance.randint(1, 2)}
    of_app = {"name": "web", "labelSelector": {"matchLabels": {"app": "web"}}, "subGroupSize": chance.randint(1, 2)}
    chosen = chance.choice([[by_part], [of_app], [of_app, by_part]])
    return [{**each, "minSubGroups": chance.choice([0, 1, 2])} for each in chosen]


def _shape(chance: Random) -> dict[str, Any]:
    light = chance.random() < 0.15
    return {
        "labels": chance.choice(APPS),
        "pod": {
            "cpu": None if light else chance.choice([None, "500m", 1, 1, 2, 3]),
            "memory": None if light else chance.choice([None, "1Gi", "1Gi", "3Gi"]),
            "gpu": 1 if not light and chance.random() < 0.1 else None,
            "spec": _spec(chance, 0.4),
        },
    }


def _spec(chance: Random, share: float) -> dict[str, Any]:
    """Draw constraints; `share` of the pods have each kind, roughly."""
    spec: dict[str, Any] = {}
    affinity: dict[str, Any] = {}
    if chance.random() < share / 3:
        spec["nodeSelector"] = {"zone": chance.choice(ZONES)}
    if chance.random() < share / 3:
        affinity["nodeAffinity"] = _node_affinity(chance)
    for side in ("podAffinity", "podAntiAffinity"):
        if chance.random() < share / 2:
            kind = chance.choice(["required", "preferred"])
            term = {
                "topologyKey": chance.choice(["zone", "kubernetes.io/hostname"]),
                "labelSelector": {"matchLabels": {"app": chance.choice(APPS)}},
            }
            listed: Any = (
                [term] if kind == "required" else [{"weight": chance.randint(1, 100), "podAffinityTerm": term}]
            )
            affinity[side] = {f"{kind}DuringSchedulingIgnoredDuringExecution": listed}
    if affinity:
        spec["affinity"] = affinity
    if chance.random() < share / 2:
        spec["tolerations"] = [chance.choice(_TOLERATIONS)]
    if chance.random() < share / 2:
        spec["topologySpreadConstraints"] = [_constraint(chance) for _ in range(chance.randint(1, 2))]
    if chance.random() < share / 8:
        spec["schedulingGates"] = [{"name": "example.com/wait"}]
    return spec


_TOLERATIONS = (
    {"operator": "Exists"},
    {"key": "team", "operator": "Equal", "value": "x", "effect": "NoSchedule"},
    {"key": "team", "operator": "Exists", "effect": "PreferNoSchedule"},
    {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"},
)


def _node_affinity(chance: Random) -> dict[str, Any]:
    expressions = (
        {"key": "rank", "operator": "Gt", "values": [str(chance.randint(0, 3))]},
        {"key": "zone", "operator": "In", "values": ["a", "b"]},
        {"key": "zone", "operator": "NotIn", "values": ["a"]},
        {"key": "disk", "operator": "Exists"},
        {"key": "disk", "operator": "DoesNotExist"},
    )
    term = {"matchExpressions": [chance.choice(expressions)]}
    if chance.random() < 0.5:
        return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    wish = {"weight": chance.randint(1, 100), "preference": term}
    return {"preferredDuringSchedulingIgnoredDuringExecution": [wish]}


def _constraint(chance: Random) -> dict[str, Any]:
    constraint: dict[str, Any] = {
        "maxSkew": chance.randint(1, 2),
        "topologyKey": chance.choice(["zone", "kubernetes.io/hostname", "disk"]),
        "whenUnsatisfiable": chance.choice(["DoNotSchedule", "ScheduleAnyway"]),
        "labelSelector": {"matchLabels": {"app": chance.choice(APPS)}},
    }
    if constraint["whenUnsatisfiable"] == "DoNotSchedule" and chance.random() < 0.2:
        constraint["minDomains"] = 3
    if chance.random() < 0.2:
        constraint["nodeTaintsPolicy"] = "Honor"
    if chance.random() < 0.2:
        constraint["nodeAffinityPolicy"] = "Ignore"
    return constraint


def _aged(scenario: Scenario, chance: Random) -> Scenario:
    """Let some of the pods on nodes be terminating."""
    objects: list[Mapping[str, Any]] = []
    for each in scenario.objects:
        on_node = (
            each["kind"] == "Pod" and each["spec"]["nodeName"] and each["status"]["phase"] in ("Running", "Pending")
        )
        if on_node and chance.random() < 0.2:
            leaving = {**each["metadata"], "deletionTimestamp": each["metadata"]["creationTimestamp"]}
            objects.append({**each, "metadata": leaving})
        else:
            objects.append(each)
    return replace(scenario, objects=tuple(objects))
