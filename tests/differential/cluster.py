"""The cluster of the plain scheduler: dicts and loops over Kubernetes objects, nothing of the product.

Amounts are whole numbers: cpu in thousandths, memory in bytes, pods in pods, everything else in thousandths.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from typing import Any

SUFFIXES = {"m": Fraction(1, 1000), "Mi": Fraction(2**20), "Gi": Fraction(2**30)}
ALLOCATED = {"Allocated", "Binding", "Bound", "Running"}
READY = ALLOCATED | {"Succeeded"}
UNSPOKEN_CPU = 100
UNSPOKEN_MEMORY = 200 * 2**20

Amounts = dict[str, int]


def amounts(listed: Mapping[str, Any] | None) -> Amounts:
    """Read a resource list."""
    return {name: amount(name, str(text)) for name, text in (listed or {}).items()}


def amount(name: str, text: str) -> int:
    """Read one quantity, rounded up."""
    suffix = next((each for each in SUFFIXES if text.endswith(each)), "")
    number = Fraction(text.removesuffix(suffix)) * (SUFFIXES[suffix] if suffix else 1)
    return math.ceil(number * (1 if name in ("memory", "pods") else 1000))


@dataclass(eq=False)
class Pod:
    """One pod."""

    key: str
    namespace: str
    name: str
    uid: str
    group: str
    role: str
    labels: Mapping[str, str]
    spec: Mapping[str, Any]
    request: Amounts
    scored: tuple[int, int]
    status: str
    node: str
    priority: int
    terminating: bool
    created: str
    preemptable: bool
    """Whether it may be evicted at all."""
    started: float
    """When it started, seconds since 1970; one that has not, last of all."""
    object: Mapping[str, Any]
    """As it was read."""
    counted: Amounts = field(default_factory=dict)
    """What its queue and its quota count: of a pod on a node no more than the node offers beside earlier ones."""

    @property
    def best_effort(self) -> bool:
        """Whether it asks for nothing but a place."""
        return not any(number for name, number in self.request.items() if name != "pods")

    @property
    def gated(self) -> bool:
        """Whether it may not be placed yet."""
        return bool(self.spec.get("schedulingGates"))


@dataclass(eq=False)
class Node:
    """One node."""

    name: str
    labels: Mapping[str, str]
    taints: list[Mapping[str, str]]
    unschedulable: bool
    offers: Amounts
    object: Mapping[str, Any]
    """As it was read."""


@dataclass(eq=False)
class Group:
    """One pod group."""

    key: str
    queue: str
    minimum: int
    by_role: Mapping[str, int]
    reserves: Amounts | None
    phase: str
    created: str
    priority: int
    waits: float | None
    policies: list[Mapping[str, Any]]
    preemptable: bool
    """Whether its owner lets whole gangs take its room."""
    object: Mapping[str, Any]
    """As it was read."""
    pods: list[Pod] = field(default_factory=list)
    nowhere: set[str] = field(default_factory=set)
    """Best-effort pods that no node takes."""

    def count(self, *statuses: str) -> int:
        """Count pods by status."""
        return sum(pod.status in statuses for pod in self.pods)

    @property
    def topology(self) -> Mapping[str, Any] | None:
        """Weight of topology distance."""
        found: Mapping[str, Any] | None = self.object["spec"].get("networkTopology")
        return found

    @property
    def ready(self) -> int:
        """Pods that count towards the minimum."""
        return self.count(*READY)

    @property
    def stranded(self) -> bool:
        """Some run, and the minimum does not, those that have ended included; failed ones only if none waits."""
        running = self.count("Running", "Bound")
        others = self.count("Binding", "Allocated", "Succeeded")
        others += 0 if self.count("Pending") else self.count("Failed")
        return running > 0 and running + others < self.minimum

    @property
    def has_lost(self) -> bool:
        """Whether some run and others wait."""
        return self.count("Running", "Bound") > 0 and self.count("Pending") > 0

    @property
    def rests(self) -> bool:
        """Whether none has a place."""
        return not self.count("Running", "Bound", "Binding", "Allocated", "Pipelined")

    @property
    def only_succeeded(self) -> bool:
        """Whether some succeeded, others wait, and none has a place."""
        return self.minimum > 0 and self.rests and self.count("Succeeded") > 0 and self.count("Pending") > 0

    def counts(self, pod: Pod) -> bool:
        """Whether a pending pod counts as placed: it asks for nothing, and is not known to fit nowhere."""
        return pod.status == "Pending" and pod.best_effort and pod.key not in self.nowhere

    @property
    def light(self) -> int:
        """Pending pods that count as placed."""
        return sum(self.counts(pod) for pod in self.pods)


@dataclass(eq=False)
class Queue:
    """One queue."""

    name: str
    weight: int
    priority: int
    state: str
    created: str
    capability: Amounts
    guarantee: Amounts
    deserved: Amounts
    reclaimable: bool
    object: Mapping[str, Any]
    """As it was read."""


class Cluster:
    """Everything, read from objects."""

    def __init__(self, objects: Iterable[Mapping[str, Any]]) -> None:
        self.nodes: list[Node] = []
        self.pods: list[Pod] = []
        self.groups: dict[str, Group] = {}
        self.queues: dict[str, Queue] = {}
        self.objects = list(objects)
        """All of them, as they were read."""
        readers = {"Node": self._node, "Pod": self._pod, "PodGroup": self._group, "Queue": self._queue}
        classes = {each["metadata"]["name"]: each["value"] for each in self.of_kind("PriorityClass")}
        for each in self.objects:
            if each["kind"] in readers:
                readers[each["kind"]](each)
        self.nodes.sort(key=lambda node: node.name)
        self.groups = dict(sorted(self.groups.items()))
        for group in self.groups.values():
            group.priority = classes.get(str(group.priority), 0)
        for pod in self.pods:
            if pod.group in self.groups:
                self.groups[pod.group].pods.append(pod)
        known = {node.name for node in self.nodes}
        self.placed = [pod for pod in self.pods if pod.node in known and pod.status not in ("Succeeded", "Failed")]
        self.count()
        self.evicted: list[Pod] = []
        """Pods that this cycle evicted: they use their nodes until they are gone, and no rule sees them any more."""
        self.total: Amounts = {}
        for node in self.nodes:
            for name, number in node.offers.items():
                self.total[name] = self.total.get(name, 0) + number

    def count(self) -> None:
        """Count of the pods on a node what it offers: of those that run first, then of the oldest."""
        offers = {node.name: dict(node.offers) for node in self.nodes}
        for pod in self.pods:
            pod.counted = dict(pod.request)
        on_nodes = [pod for pod in self.pods if pod.node and pod.status not in ("Succeeded", "Failed")]
        for pod in sorted(on_nodes, key=lambda pod: (pod.status == "Bound", pod.created, pod.key)):
            left = offers.get(pod.node, {})
            for name, number in pod.request.items():
                pod.counted[name] = min(number, left.get(name, 0))
                left[name] = left.get(name, 0) - pod.counted[name]

    def of_kind(self, kind: str) -> list[Mapping[str, Any]]:
        """List the objects of a kind."""
        return [each for each in self.objects if each["kind"] == kind]

    def _node(self, each: Mapping[str, Any]) -> None:
        metadata, spec = each["metadata"], each["spec"]
        offers = amounts(each["status"]["allocatable"])
        self.nodes.append(
            Node(
                metadata["name"], metadata["labels"], spec["taints"], spec["unschedulable"], {"pods": 0} | offers, each
            )
        )

    def _pod(self, each: Mapping[str, Any]) -> None:
        metadata, spec = each["metadata"], each["spec"]
        requests = [amounts(container["resources"]["requests"]) for container in spec["containers"]]
        total: Amounts = {"pods": 1}
        for request in requests:
            for name, number in request.items():
                total[name] = total.get(name, 0) + number
        namespace, annotations = metadata["namespace"], metadata["annotations"]
        group = annotations.get("scheduling.k8s.io/group-name", "")
        started = each["status"].get("startTime")
        self.pods.append(
            Pod(
                key=f"{namespace}/{metadata['name']}",
                namespace=namespace,
                name=metadata["name"],
                uid=metadata.get("uid", ""),
                group=f"{namespace}/{group}" if group else "",
                role=annotations.get("volcano.sh/task-spec", ""),
                labels=metadata["labels"],
                spec=spec,
                request=total,
                scored=(
                    sum(request.get("cpu", UNSPOKEN_CPU) for request in requests),
                    sum(request.get("memory", UNSPOKEN_MEMORY) for request in requests),
                ),
                status=_status(each),
                node=spec["nodeName"],
                priority=spec["priority"],
                terminating="deletionTimestamp" in metadata,
                created=metadata["creationTimestamp"],
                preemptable=annotations.get("volcano.sh/preemptable") != "false",
                started=datetime.fromisoformat(started).timestamp() if started else math.inf,
                object=each,
            )
        )

    def _group(self, each: Mapping[str, Any]) -> None:
        metadata, spec = each["metadata"], each["spec"]
        waits = metadata["annotations"].get("sla-waiting-time")
        key = f"{metadata['namespace']}/{metadata['name']}"
        self.groups[key] = Group(
            key=key,
            queue=spec["queue"],
            minimum=spec["minMember"],
            by_role=spec["minTaskMember"],
            reserves=None if spec["minResources"] is None else amounts(spec["minResources"]),
            phase=each["status"]["phase"],
            created=metadata["creationTimestamp"],
            priority=spec["priorityClassName"],
            waits=None if waits is None else float(waits.removesuffix("s")),
            policies=spec.get("subGroupPolicy", []),
            preemptable=metadata["annotations"].get("volcano.sh/preemptable") != "false",
            object=each,
        )

    def _queue(self, each: Mapping[str, Any]) -> None:
        metadata, spec = each["metadata"], each["spec"]
        self.queues[metadata["name"]] = Queue(
            name=metadata["name"],
            weight=spec["weight"],
            priority=spec["priority"],
            state=each["status"]["state"],
            created=metadata["creationTimestamp"],
            capability=amounts(spec["capability"]),
            guarantee=amounts(spec.get("guarantee", {}).get("resource")),
            deserved=amounts(spec["deserved"]),
            reclaimable=spec["reclaimable"],
            object=each,
        )


def _status(each: Mapping[str, Any]) -> str:
    phase = str(each["status"]["phase"])
    if phase in ("Running", "Pending") and "deletionTimestamp" in each["metadata"]:
        return "Releasing"
    return "Bound" if phase == "Pending" and each["spec"]["nodeName"] else phase
