"""Generated gangs with an assignment that is known to exist: pods are made so that they fill idle nodes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random
from typing import Any

from pyroclast.testing import Scenario
from tests.hypernodes import rack

__all__ = ["GANG", "Pod", "draw_nodes", "draw_pods", "fitting_gang", "minimum_of", "restrict", "scenario_of"]

GANG = "gang"
_SELF = {"labelSelector": {"matchLabels": {"gang": GANG}}}


@dataclass(kw_only=True)
class Pod:
    """One member, and the node that was meant for it."""

    node: int
    cpu: int
    memory: int
    gpu: int
    labels: dict[str, str] = field(default_factory=dict)
    spec: dict[str, Any] = field(default_factory=dict)
    role: str = ""


def fitting_gang(chance: Random, *, most_nodes: int = 8, most_pods: int = 24) -> Scenario:
    """Make 2 to 8 idle nodes and a gang of 2 to 24 unlike pods that has an assignment to them.

    Some pods ask for labels of nodes, tolerate taints, ask for GPUs, use host ports, or shun each other. Some gangs lie
    in one zone by affinity, are spread over hosts or zones, are larger than their minimum, have minimums of roles, fill
    a queue up to its limit, or must lie in one rack.
    """
    zones = chance.randint(1, 3)
    nodes = draw_nodes(chance, zones, chance.randint(2, most_nodes))
    zone = chance.choice(nodes)["labels"]["zone"]
    kind = chance.choice(["none", "none", "none", "affinity", "spread", "rack", "surplus", "roles", "queue"])
    used = [at for at, node in enumerate(nodes) if kind not in {"affinity", "rack"} or node["labels"]["zone"] == zone]
    pods = draw_pods(chance, nodes, used, chance.randint(2, most_pods))
    for pod in pods:
        restrict(chance, pod, nodes[pod.node])
    _shun(chance, pods)
    _share_ports(chance, pods)
    scenario = Scenario()
    group: dict[str, Any] = {"min": len(pods), "roles": {}, "group": None}
    if kind == "affinity":
        for pod in pods:
            pod.labels["gang"] = GANG
            pod.spec.setdefault("affinity", {})["podAffinity"] = {
                "requiredDuringSchedulingIgnoredDuringExecution": [{**_SELF, "topologyKey": "zone"}]
            }
    elif kind == "spread":
        _spread(chance, pods, nodes)
    elif kind == "rack":
        for each in sorted({node["labels"]["zone"] for node in nodes}):
            here = [f"n{at}" for at, node in enumerate(nodes) if node["labels"]["zone"] == each]
            scenario = scenario.add(rack(f"rack-{each}", *here))
        group["group"] = {"networkTopology": {"mode": "hard", "highestTierAllowed": 1}}
    elif kind == "surplus":
        pods += [
            Pod(node=0, cpu=chance.randint(1, 64), memory=chance.randint(1, 128), gpu=chance.randint(0, 2))
            for _ in range(chance.randint(1, 4))
        ]
    elif kind == "roles":
        for pod in pods:
            pod.role = chance.choice(["a", "b"])
        group["roles"] = {role: sum(pod.role == role for pod in pods) for role in sorted({pod.role for pod in pods})}
        pods += [
            Pod(node=0, cpu=chance.randint(1, 64), memory=chance.randint(1, 128), gpu=0, role=chance.choice(["a", "b"]))
            for _ in range(chance.randint(0, 3))
        ]
        group["roles"] = {role: least for role, least in group["roles"].items() if least}
    limit: dict[str, int | str] | None = None
    if kind == "queue":
        limit = {"cpu": sum(pod.cpu for pod in pods), "memory": f"{sum(pod.memory for pod in pods)}Gi"}
        limit |= {"nvidia.com/gpu": sum(pod.gpu for pod in pods)} if any(pod.gpu for pod in pods) else {}
    chance.shuffle(pods)
    return scenario_of(scenario.queue("research", capability=limit), nodes, pods, group)


def minimum_of(scenario: Scenario) -> int:
    """Return how many members the gang needs."""
    minimum: int = next(each["spec"]["minMember"] for each in scenario.objects if each["kind"] == "PodGroup")
    return minimum


def draw_nodes(chance: Random, zones: int, count: int) -> list[dict[str, Any]]:
    """Make unlike nodes in some zones."""
    return [_node(chance, zones) for _ in range(count)]


def _node(chance: Random, zones: int) -> dict[str, Any]:
    return {
        "cpu": chance.choice([4, 8, 16, 31, 32, 53, 64]),
        "memory": chance.choice([16, 32, 64, 128]),
        "gpu": chance.choice([0, 0, 0, 1, 2, 4, 8]),
        "labels": {"zone": f"z{chance.randrange(zones)}", "disk": chance.choice(["ssd", "hdd"])},
        "tainted": chance.random() < 0.15,
    }


def draw_pods(chance: Random, nodes: Sequence[dict[str, Any]], used: Sequence[int], count: int) -> list[Pod]:
    """Divide nodes among pods, to the last piece or nearly so."""
    by_node: dict[int, int] = {}
    for _ in range(count):
        at = chance.choice(used)
        by_node[at] = min(by_node.get(at, 0) + 1, nodes[at]["cpu"])
    pods = []
    for at, many in by_node.items():
        filled = chance.choice([1, 1, 0.95, 0.8])
        cpus = _divided(chance, max(int(nodes[at]["cpu"] * filled), many), many, least=1)
        memories = _divided(chance, int(nodes[at]["memory"] * chance.choice([filled, 0.5])), many, least=0)
        gpus = _divided(chance, nodes[at]["gpu"], many, least=0) if chance.random() < 0.7 else [0] * many
        pods += [Pod(node=at, cpu=a, memory=b, gpu=c) for a, b, c in zip(cpus, memories, gpus, strict=True)]
    return pods


def _divided(chance: Random, total: int, parts: int, *, least: int) -> list[int]:
    cuts = sorted(chance.randint(0, total - least * parts) for _ in range(parts - 1))
    edges = [0, *cuts, total - least * parts]
    return [right - left + least for left, right in pairwise(edges)]


def restrict(chance: Random, pod: Pod, node: dict[str, Any]) -> None:
    """Let a pod tolerate the taint of the node meant for it, and perhaps ask for a label that it has."""
    if node["tainted"]:
        pod.spec["tolerations"] = [{"key": "own", "operator": "Exists"}]
    if chance.random() < 0.25:
        key = chance.choice(["zone", "disk"])
        pod.spec["nodeSelector"] = {key: node["labels"][key]}


def _shun(chance: Random, pods: Sequence[Pod]) -> None:
    """Let one pod of each of some nodes shun the others of its set."""
    if chance.random() < 0.6 or len(pods) < 2:
        return
    first_on = {pod.node: pod for pod in reversed(pods)}
    for pod in first_on.values():
        pod.labels["shuns"] = "others"
        pod.spec.setdefault("affinity", {})["podAntiAffinity"] = {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": {"matchLabels": {"shuns": "others"}}, "topologyKey": "kubernetes.io/hostname"}
            ]
        }


def _share_ports(chance: Random, pods: Sequence[Pod]) -> None:
    """Let one pod of each of some nodes use the same port of its host."""
    if chance.random() < 0.8:
        return
    for pod in {pod.node: pod for pod in pods}.values():
        pod.spec["hostNetworkPort"] = 8080


def _spread(chance: Random, pods: Sequence[Pod], nodes: Sequence[dict[str, Any]]) -> None:
    """Ask for the skew that the meant assignment has."""
    key = chance.choice(["zone", "kubernetes.io/hostname"])
    domains = {node["labels"]["zone"] if key == "zone" else at: 0 for at, node in enumerate(nodes)}
    for pod in pods:
        domains[nodes[pod.node]["labels"]["zone"] if key == "zone" else pod.node] += 1
        pod.labels["gang"] = GANG
    skew = max(1, max(domains.values()) - min(domains.values()))
    for pod in pods:
        pod.spec["topologySpreadConstraints"] = [
            {
                "maxSkew": skew,
                "topologyKey": key,
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"gang": GANG}},
                "nodeAffinityPolicy": "Ignore",
                "nodeTaintsPolicy": "Ignore",
            }
        ]


def scenario_of(
    scenario: Scenario, nodes: Sequence[dict[str, Any]], pods: Sequence[Pod], group: dict[str, Any]
) -> Scenario:
    """Add nodes and the gang to a scenario."""
    for at, node in enumerate(nodes):
        scenario = scenario.node(
            f"n{at}",
            cpu=node["cpu"],
            memory=f"{node['memory']}Gi",
            gpu=node["gpu"] or None,
            labels=node["labels"],
            taints=[{"key": "own", "effect": "NoSchedule"}] if node["tainted"] else (),
        )
    scenario = scenario.job(
        GANG,
        tasks=0,
        queue="research",
        min_available=group["min"],
        min_by_role=group["roles"] or None,
        group=group["group"],
    )
    for number, pod in enumerate(pods):
        spec = dict(pod.spec)
        port = spec.pop("hostNetworkPort", None)
        scenario = scenario.pod(
            f"{GANG}-{number}",
            job=GANG,
            cpu=pod.cpu,
            memory=f"{pod.memory}Gi",
            gpu=pod.gpu or None,
            labels=pod.labels,
            role=pod.role,
            spec=spec,
        )
        if port is not None:
            container = scenario.objects[-1]["spec"]["containers"][0]
            container["ports"] = [{"containerPort": port, "hostPort": port, "protocol": "TCP"}]
    return scenario
