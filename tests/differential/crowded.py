"""Crowded clusters by chance: nodes are filled with running work, and more important work waits."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from pyroclast.testing import Scenario
from tests.differential.generated import AS_VOLCANO

CLASSES = {"low": -5, "": 0, "mid": 5, "high": 10}
ZONES = ("a", "b")
APPS = ("web", "db")
GPU = "nvidia.com/gpu"
TIERS: tuple[Any, ...] = (
    (("priority", "gang", "conformance"), ("drf", "predicates", "proportion", "nodeorder")),
    (("priority", "gang", "conformance"), ("drf", "predicates", "proportion", "nodeorder", "binpack")),
    (("priority", "gang", "conformance"), ("drf", "predicates", "capacity", "nodeorder")),
    (("priority", "conformance"), ("gang", "predicates", "nodeorder", "proportion")),
    (("gang",), ("priority", "drf", "predicates", "capacity", "binpack")),
    (("gang", "predicates"), ("drf", "proportion")),
    (("priority", "predicates"), ("nodeorder", "capacity")),
    (("conformance", "gang"), ("drf", "predicates", "binpack")),
    (("priority", "gang", "drf", "predicates", "proportion"),),
)
EVICTING = (
    ("preempt",),
    ("reclaim",),
    ("preempt", "reclaim"),
    ("gangpreempt",),
    ("gangreclaim",),
    ("gangpreempt", "gangreclaim"),
    ("reclaim", "gangpreempt"),
)


@dataclass(frozen=True)
class Crowded:
    """A cluster, a configuration, and arguments of actions."""

    scenario: Scenario
    tiers: tuple[tuple[str, ...], ...]
    actions: tuple[str, ...]
    least_harm: bool
    whole: bool

    @property
    def configured(self) -> tuple[tuple[Any, ...], ...]:
        """The tiers as the configuration has them."""
        return self.tiers

    @property
    def arguments(self) -> dict[str, Mapping[str, Any]]:
        """Arguments by action."""
        whole = {"allowWholeBundle": self.whole, "leastHarm": False}
        return {
            **AS_VOLCANO,
            "preempt": {"enableTopologyAwarePreemption": self.least_harm, "leastHarm": False},
            "reclaim": {"leastHarm": False},
            "gangpreempt": whole,
            "gangreclaim": whole,
        }


def crowded(chance: Random, *, times: int = 1) -> Crowded:
    """Make a case; with nodes and jobs so many times as large."""
    tiers = chance.choice(TIERS)
    evicting = chance.choice(EVICTING)
    actions = chance.choice(
        [("allocate", "backfill", *evicting), ("allocate", *evicting, "backfill"), (*evicting, "allocate")]
    )
    scenario = Scenario()
    for name, value in CLASSES.items():
        if name:
            scenario = scenario.priority_class(name, value)
    queues = ["red", "green", "blue"][: chance.choice([1, 2, 3, 3])]
    for name in queues:
        scenario = _with_queue(scenario, name, chance)
    room: dict[str, list[int]] = {}
    for number in range(chance.randint(1, 5)):
        name, cpu, gib, pods = (
            f"n{number}",
            chance.choice([2, 3, 4, 6]),
            chance.choice([4, 8, 16]),
            chance.choice([2, 4, 110, 110]),
        )
        cpu, gib, pods = times * cpu, times * gib, times * pods
        room[name] = [cpu, gib, pods]
        scenario = scenario.node(
            name,
            cpu=cpu,
            memory=f"{gib}Gi",
            gpu=chance.choice([None, None, 2]),
            pods=pods,
            labels={"zone": chance.choice(ZONES)} if chance.random() < 0.9 else {},
            taints=[_taint(chance)] if chance.random() < 0.2 else [],
            unschedulable=chance.random() < 0.05,
        )
    plain = chance.random() < 0.4
    number = 0
    while any(cpu > 0 and pods > 0 for cpu, _gib, pods in room.values()) and number < 7:
        waits, like = chance.random() < 0.2, chance.random()
        for _ in range(_twins(chance)):
            scenario = _with_job(
                scenario, f"r{number}", queues, room, Random(like), plain=plain, waits=waits, times=times
            )
            number += 1
    for each in range(chance.randint(1, 6)):
        like = chance.random()
        for twin in range(_twins(chance)):
            scenario = _with_job(
                scenario, f"w{each}{twin or ''}", queues, {}, Random(like), plain=plain, waits=True, times=times
            )
    if chance.random() < 0.2:
        scenario = scenario.pod("alone", node=chance.choice(list(room)), cpu="500m", scheduler="default-scheduler")
    return Crowded(
        _aged(scenario, chance),
        tiers,
        actions,
        least_harm=chance.random() < 0.2,
        whole=chance.random() < 0.8,
    )


CAPABILITIES: tuple[dict[str, Any] | None, ...] = (None, None, None, {"cpu": 4}, {"cpu": 6, "memory": "12Gi"})
DESERVED: tuple[dict[str, Any] | None, ...] = (
    None,
    {"cpu": 2},
    {"cpu": 4, "memory": "8Gi"},
    {"cpu": 6},
    {GPU: 1, "cpu": 2},
)


def _with_queue(scenario: Scenario, name: str, chance: Random) -> Scenario:
    return scenario.queue(
        name,
        weight=chance.choice([1, 1, 2, 3]),
        priority=chance.choice([0, 0, 0, 5]),
        capability=chance.choice(CAPABILITIES),
        guarantee=chance.choice([None, None, None, {"cpu": 1}]),
        deserved=chance.choice(DESERVED),
        reclaimable=chance.random() < 0.9,
        state="Open" if chance.random() < 0.95 else "Closed",
    )


def _twins(chance: Random) -> int:
    """Draw how many jobs are alike: what is found for one must not be held for true of the other where it is not."""
    return chance.choice([1, 1, 1, 2])


def _taint(chance: Random) -> dict[str, str]:
    return {"key": "team", "value": "x", "effect": chance.choice(["NoSchedule", "PreferNoSchedule"])}


def _with_job(
    scenario: Scenario,
    name: str,
    queues: list[str],
    room: dict[str, list[int]],
    chance: Random,
    *,
    plain: bool,
    waits: bool,
    times: int,
) -> Scenario:
    """Add a job that runs where there is room; `waits` lets pods wait that found none."""
    roles = [""] if plain else chance.choice([[""], [""], ["ps", "worker"]])
    sizes = [times * chance.randint(1, 4) for _ in roles]
    total = sum(sizes)
    minimum = chance.choice([1, 1, total, max(1, total - 1), chance.randint(1, total)])
    by_role = {role: chance.randint(0, size) for role, size in zip(roles, sizes, strict=True) if role}
    group: dict[str, Any] = {}
    if not plain and chance.random() < 0.3:
        group["subGroupPolicy"] = [
            {
                "name": "parts",
                "matchLabelKeys": ["part"],
                "subGroupSize": chance.randint(1, 2),
                "minSubGroups": chance.choice([0, 1, 2]),
            }
        ]
    scenario = scenario.job(
        name,
        tasks=0,
        queue=chance.choice(queues),
        min_available=minimum,
        min_by_role=by_role if chance.random() < 0.7 else {},
        priority_class=chance.choice(["low", "", "mid"] if room else ["", "mid", "high", "high"]),
        phase="Running" if room else "Inqueue",
        annotations={"volcano.sh/preemptable": chance.choice(["true", "false"])} if chance.random() < 0.15 else {},
        group=group,
    )
    number = 0
    dashes = chance.choice(["-", "-w-"])
    shape = _shape(chance, plain=plain)
    for role, size in zip(roles, sizes, strict=True):
        for _ in range(size):
            own = shape if plain or chance.random() < 0.8 else _shape(chance, plain=plain)
            node = _node_for(own, room, chance)
            if not node and not waits:
                continue
            scenario = scenario.pod(
                f"{name}{dashes}{number}",
                job=name,
                role=role,
                node=node,
                phase=chance.choice(["Running"] * 5 + ["Pending"]) if node else "",
                priority=chance.choice([0, 0, 0, 3, 7]),
                labels={"app": chance.choice(APPS), "part": chance.choice(["0", "1", "2"])},
                annotations={"volcano.sh/preemptable": "false"} if chance.random() < 0.07 else {},
                cpu=own["cpu"],
                memory=own["memory"],
                gpu=own["gpu"],
                spec=own["spec"],
            )
            number += 1
    return scenario


def _node_for(own: dict[str, Any], room: dict[str, list[int]], chance: Random) -> str:
    """Take room for a running pod; constraints and GPUs are not minded here."""
    asked = [own["cpu"] or 0, int((own["memory"] or "0Gi").removesuffix("Gi")), 1]
    open_nodes = [name for name, left in room.items() if all(a <= b for a, b in zip(asked, left, strict=True))]
    if not open_nodes or own["gpu"]:
        return ""
    node = chance.choice(open_nodes)
    room[node] = [b - a for a, b in zip(asked, room[node], strict=True)]
    return node


def _shape(chance: Random, *, plain: bool) -> dict[str, Any]:
    light = chance.random() < 0.07
    return {
        "cpu": None if light else chance.choice([1, 1, 1, 2, 3]),
        "memory": None if light or plain else chance.choice([None, "1Gi", "2Gi", "4Gi"]),
        "gpu": 1 if not light and not plain and chance.random() < 0.05 else None,
        "spec": {} if plain else _spec(chance),
    }


def _spec(chance: Random) -> dict[str, Any]:
    spec: dict[str, Any] = {}
    if chance.random() < 0.1:
        spec["nodeSelector"] = {"zone": chance.choice(ZONES)}
    if chance.random() < 0.1:
        term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": chance.choice(APPS)}}}
        side, kind = chance.choice(["podAffinity", "podAntiAffinity"]), chance.choice(["required", "preferred"])
        listed: Any = [term] if kind == "required" else [{"weight": chance.randint(1, 100), "podAffinityTerm": term}]
        spec["affinity"] = {side: {f"{kind}DuringSchedulingIgnoredDuringExecution": listed}}
    if chance.random() < 0.1:
        spec["tolerations"] = [{"operator": "Exists"}]
    if chance.random() < 0.05:
        spec["preemptionPolicy"] = "Never"
    if chance.random() < 0.04:
        spec["schedulingGates"] = [{"name": "example.com/wait"}]
    if chance.random() < 0.05:
        spec["priorityClassName"] = "system-node-critical"
    if chance.random() < 0.07:
        spec["topologySpreadConstraints"] = [
            {
                "maxSkew": 1,
                "topologyKey": chance.choice(["zone", "kubernetes.io/hostname"]),
                "whenUnsatisfiable": chance.choice(["DoNotSchedule", "ScheduleAnyway"]),
                "labelSelector": {"matchLabels": {"app": chance.choice(APPS)}},
            }
        ]
    return spec


def _aged(scenario: Scenario, chance: Random) -> Scenario:
    """Let pods have started at different times, and a few be on their way out."""
    objects: list[Any] = []
    for each in scenario.objects:
        if each["kind"] != "Pod" or each["status"]["phase"] != "Running":
            objects.append(each)
            continue
        started = f"2026-02-01T00:{chance.randint(0, 59):02d}:00Z"
        changed = {**each, "status": {**each["status"], "startTime": started}}
        if chance.random() < 0.05:
            leaving = {**each["metadata"], "deletionTimestamp": each["metadata"]["creationTimestamp"]}
            changed = {**changed, "metadata": leaving}
        objects.append(changed)
    return replace(scenario, objects=tuple(objects))
