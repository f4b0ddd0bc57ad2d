"""Clusters to measure with: Kubernetes objects as dictionaries, the same for the same arguments."""

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = [
    "HOSTNAME",
    "NAMESPACE",
    "Object",
    "gang",
    "hyper_nodes",
    "nodes",
    "pod",
    "pod_group",
    "queues",
    "single_jobs",
]

Object = dict[str, Any]

NAMESPACE = "bench"
ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"
REGION = "topology.kubernetes.io/region"
GPU = "nvidia.com/gpu"


def queues(count: int = 4) -> Iterator[Object]:
    """Queues `queue-1` and on, of weights 1 and on."""
    for number in range(1, count + 1):
        yield {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "Queue",
            "metadata": {"name": f"queue-{number}", "uid": f"queue-{number}", "creationTimestamp": moment(number)},
            "spec": {"weight": number, "reclaimable": True},
            "status": {"state": "Open"},
        }


def nodes(
    count: int, *, cpu: int = 32, memory_gib: int = 256, gpus: int = 0, zones: int = 10, pods: int = 110
) -> Iterator[Object]:
    """Equal nodes of one region, spread over zones in turn."""
    for number in range(count):
        name = f"node-{number:05d}"
        amounts = {**amounts_of(cpu, memory_gib, gpus), "pods": str(pods)}
        yield {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": name,
                "uid": name,
                "labels": {HOSTNAME: name, ZONE: f"zone-{number % zones}", REGION: "one"},
            },
            "spec": {},
            "status": {"allocatable": amounts, "capacity": amounts},
        }


def hyper_nodes(nodes: int, sizes: tuple[int, ...]) -> Iterator[Object]:
    """HyperNodes in tiers from 1 on: of each tier as many as there are runs of so many nodes."""
    for tier, size in enumerate(sizes, start=1):
        inner = sizes[tier - 2] if tier > 1 else 1
        for number in range(nodes // size):
            first = number * (size // inner)
            names = [
                f"tier-{tier - 1}-{each:04d}" if tier > 1 else f"node-{each:05d}"
                for each in range(first, first + size // inner)
            ]
            kind = "HyperNode" if tier > 1 else "Node"
            members = [{"type": kind, "selector": {"exactMatch": {"name": name}}} for name in names]
            yield {
                "apiVersion": "topology.volcano.sh/v1alpha1",
                "kind": "HyperNode",
                "metadata": {"name": f"tier-{tier}-{number:04d}"},
                "spec": {"tier": tier, "members": members},
            }


def moment(second: int) -> str:
    """Return a creation time, so many seconds after the first one."""
    hours, rest = divmod(second, 3600)
    return f"2026-01-{1 + hours // 24:02d}T{hours % 24:02d}:{rest // 60:02d}:{rest % 60:02d}Z"


def amounts_of(cpu: int, memory_gib: int, gpus: int, times: int = 1) -> dict[str, str]:
    """Amounts as an object carries them, so many times over; GPUs only where there are any."""
    amounts = {"cpu": str(cpu * times), "memory": f"{memory_gib * times}Gi"}
    return {**amounts, GPU: str(gpus * times)} if gpus else amounts


def pod_group(
    name: str, queue: str, *, members: int, cpu: int, memory_gib: int, second: int, phase: str, gpus: int = 0
) -> Object:
    """A group whose minimum is all its members."""
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "uid": f"{NAMESPACE}-{name}",
            "creationTimestamp": moment(second),
        },
        "spec": {
            "minMember": members,
            "queue": queue,
            "minResources": amounts_of(cpu, memory_gib, gpus, members),
        },
        "status": {"phase": phase} if phase != "Running" else running_status(members),
    }


def running_status(members: int) -> Object:
    """The status that the scheduler has written of a gang that runs."""
    scheduled = {"type": "Scheduled", "status": "True", "reason": "tasks in gang are ready to be scheduled"}
    return {"phase": "Running", "running": members, "conditions": [scheduled]}


def pod(
    name: str,
    group: str,
    *,
    cpu: int,
    memory_gib: int,
    gpus: int = 0,
    node: str | None = None,
    labels: Mapping[str, str] | None = None,
    more: Mapping[str, Any] | None = None,
) -> Object:
    """One pod; running where a node is given, pending otherwise. `more` is merged into its specification."""
    requests = amounts_of(cpu, memory_gib, gpus)
    resources = {"requests": requests, "limits": {GPU: requests[GPU]}} if gpus else {"requests": requests}
    spec: Object = {
        "schedulerName": "volcano",
        "containers": [{"name": "main", "image": "registry/app:1", "resources": resources}],
        **(more or {}),
    }
    if node is not None:
        spec["nodeName"] = node
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "uid": f"{NAMESPACE}-{name}",
            "creationTimestamp": moment(0),
            "labels": dict(labels or {}),
            "annotations": {"scheduling.k8s.io/group-name": group},
        },
        "spec": spec,
        "status": {"phase": "Pending" if node is None else "Running"},
    }


def gang(
    name: str,
    queue: str,
    *,
    members: int,
    second: int,
    cpu: int = 1,
    memory_gib: int = 2,
    gpus: int = 0,
    phase: str = "Pending",
    nodes_of: list[str] | None = None,
    labels: Mapping[str, str] | None = None,
    more: Mapping[str, Any] | None = None,
) -> Iterator[Object]:
    """A group and its pods; running on `nodes_of` where given."""
    each: dict[str, Any] = {"cpu": cpu, "memory_gib": memory_gib, "gpus": gpus}
    yield pod_group(name, queue, members=members, second=second, phase=phase, **each)
    for number in range(members):
        node = None if nodes_of is None else nodes_of[number]
        yield pod(f"{name}-worker-{number}", name, node=node, labels=labels, more=more, **each)


def single_jobs(prefix: str, count: int, *, queues: int = 4, **how: Any) -> Iterator[Object]:
    """Jobs of one pod, over queues in turn."""
    for number in range(count):
        yield from gang(f"{prefix}-{number}", f"queue-{number % queues + 1}", members=1, second=number, **how)
