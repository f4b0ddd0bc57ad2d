"""Generated gangs whose members bear on each other's places, with an assignment that is known to exist."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from pyroclast.testing import Scenario
from tests.laws.fitting_gangs import GANG, Pod, draw_nodes, draw_pods, restrict, scenario_of

__all__ = ["entangled_gang"]

ZONE, HOST, LEADS = "zone", "kubernetes.io/hostname", "leads"

Nodes = Sequence[dict[str, Any]]


def entangled_gang(chance: Random, *, most_nodes: int = 8, most_pods: int = 24) -> Scenario:
    """Make 2 to 8 idle nodes and a gang of 2 to 24 unlike pods that has an assignment to them.

    Sets of pods are spread over hosts or zones, shun each other or others there, must lie beside one of them, or use
    the same ports of their hosts: several of this at once.
    """
    nodes = draw_nodes(chance, chance.randint(1, 3), chance.randint(2, most_nodes))
    pods = draw_pods(chance, nodes, range(len(nodes)), chance.randint(2, most_pods))
    for pod in pods:
        if chance.random() < 0.5:
            restrict(chance, pod, nodes[pod.node])
        else:
            pod.spec["tolerations"] = [{"key": "own", "operator": "Exists"}]
    relations = chance.sample([_spread, _shun_each_other, _shun_others, _follow, _share_port], chance.randint(1, 3))
    for number, relation in enumerate(relations):
        relation(chance, pods, nodes, f"set-{number}")
    chance.shuffle(pods)
    group = {"min": len(pods), "roles": {}, "group": None}
    return scenario_of(Scenario().queue("research"), nodes, pods, group)


def _domain_of(nodes: Nodes, key: str) -> Callable[[Pod], Any]:
    """Return what tells the domain that was meant for a pod."""
    return lambda pod: nodes[pod.node]["labels"]["zone"] if key == ZONE else pod.node


def _some(chance: Random, pods: Sequence[Pod]) -> list[Pod]:
    """Choose all pods, or some of them."""
    return list(pods) if chance.random() < 0.4 else [pod for pod in pods if chance.random() < 0.6]


def _selector(label: str) -> dict[str, Any]:
    return {"labelSelector": {"matchLabels": {label: GANG}}}


def _require(pod: Pod, kind: str, label: str, key: str) -> None:
    """Add a term of required affinity or anti-affinity."""
    terms = pod.spec.setdefault("affinity", {}).setdefault(kind, {})
    terms.setdefault("requiredDuringSchedulingIgnoredDuringExecution", []).append(
        {**_selector(label), "topologyKey": key}
    )


def _spread(chance: Random, pods: Sequence[Pod], nodes: Nodes, label: str) -> None:
    """Request the skew of the intended assignment; members that others depend on may go first."""
    key = chance.choice([ZONE, HOST])
    domain_of = _domain_of(nodes, key)
    domains = {node["labels"]["zone"] if key == ZONE else at: 0 for at, node in enumerate(nodes)}
    members = [pod for pod in _some(chance, pods) if LEADS not in pod.labels]
    for pod in members:
        domains[domain_of(pod)] += 1
        pod.labels[label] = GANG
    constraint = {
        **_selector(label),
        "maxSkew": max(1, max(domains.values()) - min(domains.values())),
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "nodeAffinityPolicy": "Ignore",
    }
    for pod in members:
        pod.spec.setdefault("topologySpreadConstraints", []).append(constraint)


def _shun_each_other(chance: Random, pods: Sequence[Pod], nodes: Nodes, label: str) -> None:
    """Let one pod of each domain shun the others of its set."""
    key = chance.choice([ZONE, HOST])
    domain_of = _domain_of(nodes, key)
    for pod in {domain_of(pod): pod for pod in _some(chance, pods)}.values():
        pod.labels[label] = GANG
        _require(pod, "podAntiAffinity", label, key)


def _shun_others(chance: Random, pods: Sequence[Pod], nodes: Nodes, label: str) -> None:
    """Let the pods of some domains shun pods that are not there."""
    key = chance.choice([ZONE, HOST])
    domain_of = _domain_of(nodes, key)
    shunning = {domain for domain in sorted(map(domain_of, pods)) if chance.random() < 0.4}
    for pod in _some(chance, pods):
        if domain_of(pod) in shunning:
            _require(pod, "podAntiAffinity", label, key)
        else:
            pod.labels[label] = GANG


def _follow(chance: Random, pods: Sequence[Pod], nodes: Nodes, label: str) -> None:
    """Let some pods lie where a leader does that is there."""
    key = chance.choice([ZONE, HOST])
    domain_of = _domain_of(nodes, key)
    leaders = {domain_of(pod): pod for pod in _some(chance, pods) if "topologySpreadConstraints" not in pod.spec}
    for pod in leaders.values():
        pod.labels |= {label: GANG, LEADS: GANG}
    for pod in _some(chance, pods):
        if domain_of(pod) in leaders and pod is not leaders[domain_of(pod)]:
            _require(pod, "podAffinity", label, key)


def _share_port(chance: Random, pods: Sequence[Pod], nodes: Nodes, label: str) -> None:
    """Let one pod of each node use the same port of its host."""
    port = chance.randint(8000, 8003)
    for pod in {pod.node: pod for pod in _some(chance, pods)}.values():
        pod.spec["hostNetworkPort"] = port
