"""Gangs by annotations, pod by pod: what docs/plugins/coscheduling.md says of those that are Strict."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from tests.differential.cluster import ALLOCATED, Cluster, Group, Pod
from tests.differential.policy import Key, Policy

PREFIX = "gang.scheduling.koordinator.sh/"
ENDED = ("Succeeded", "Failed")


class Coscheduling(Policy):
    """Groups of gangs as jobs whose roles are the gangs."""

    name = "coscheduling"

    def __init__(self, cluster: Cluster, now: float, arguments: Mapping[str, Any], last: float | None = None) -> None:
        super().__init__(cluster, now, arguments, last)
        self.incomplete: set[str] = set()
        self.satisfied: set[str] = set()
        """Groups whose members are each for themselves."""
        members: dict[str, list[Pod]] = {}
        for pod in cluster.pods:
            name = said(pod, "name")
            if name and not pod.group and pod.status not in ENDED:
                members.setdefault(f"{pod.namespace}/{name}", []).append(pod)
        for gangs in sorted({group_of(own) for own in members.values()}):
            self.add({gang: oldest_first(members.get(gang, [])) for gang in gangs})

    def add(self, gangs: Mapping[str, list[Pod]]) -> None:
        """Make the job of a group of gangs, by their members."""
        pods = oldest_first([pod for own in gangs.values() for pod in own])
        satisfied = any(pod.node for pod in pods) and said(pods[0], "match-policy") != "waiting-and-running"
        least = {gang: int(said(own[0], "min-available")) if own else 1 for gang, own in gangs.items()}
        namespace, _, names = ",".join(gangs).partition("/")
        key = f"{namespace}/gang:{names}"
        if not satisfied and any(len(own) < least[gang] for gang, own in gangs.items()):
            self.incomplete.add(key)
        if satisfied:
            self.satisfied.add(key)
        ready = {gang: sum(pod.status in ALLOCATED for pod in own) for gang, own in gangs.items()}
        by_role = {gang: min(least[gang], ready[gang]) if satisfied else least[gang] for gang in gangs if gangs[gang]}
        minimum, running = sum(by_role.values()), sum(ready.values())
        for gang, own in gangs.items():
            for pod in own:
                pod.group, pod.role = key, gang
        annotations = pods[0].object["metadata"]["annotations"]
        self.cluster.groups[key] = Group(
            key=key,
            queue=annotations.get("scheduling.volcano.sh/queue-name", "default"),
            minimum=minimum,
            by_role=by_role,
            reserves=None,
            phase="Running" if running and running >= minimum else "Inqueue",
            created=min(pod.created for pod in pods),
            priority=max(pod.priority for pod in pods),
            waits=None,
            policies=[],
            preemptable=annotations.get("volcano.sh/preemptable") != "false",
            object={"metadata": {"annotations": annotations, "labels": pods[0].labels}, "spec": {}},
            pods=pods,
        )
        self.cluster.groups = dict(sorted(self.cluster.groups.items()))

    def is_complete(self, group: Group) -> bool:
        """Whether all gangs of a group have as many pods as they need."""
        return group.key not in self.incomplete

    def tries_all(self, group: Group) -> bool:
        """Where each is for itself."""
        return group.key in self.satisfied

    def pod_key(self, pod: Pod) -> Key:
        """Gang by gang, then by priority, age and name."""
        if "/gang:" not in pod.group:
            return "", 0, 0.0, ""
        return pod.role, -pod.priority, datetime.fromisoformat(pod.created).timestamp(), pod.name


def said(pod: Pod, key: str) -> str:
    """What a pod says of its gang."""
    return str(pod.object["metadata"]["annotations"].get(PREFIX + key, ""))


def oldest_first(pods: list[Pod]) -> list[Pod]:
    """Sort by age, then by name."""
    return sorted(pods, key=lambda pod: (pod.created, pod.namespace, pod.name))


def group_of(members: list[Pod]) -> tuple[str, ...]:
    """The gangs that wait for each other, by the oldest member."""
    oldest = oldest_first(members)[0]
    listed = said(oldest, "groups")
    return tuple(sorted(json.loads(listed))) if listed else (f"{oldest.namespace}/{said(oldest, 'name')}",)
