"""Cases in a few lines."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from pyroclast.scheduler.registry import load_registry
from pyroclast.scheduler.simulation.batch import answer_lines

CONFIG = {
    "actions": ["enqueue", "allocate", "backfill"],
    "tiers": [{"plugins": [{"name": "priority"}, {"name": "gang"}]}, {"plugins": [{"name": "predicates"}]}],
}


def node(name: str, cpu: int = 4) -> dict[str, Any]:
    """Return a node."""
    return {"metadata": {"name": name}, "status": {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": 10}}}


def pod(name: str, group: str = "g", *, on: str = "", cpu: Any = 1, **more: Any) -> dict[str, Any]:
    """Return a pod of a group."""
    return {
        "metadata": {
            "name": name,
            "namespace": "ns",
            "uid": f"ns-{name}",
            "annotations": {"scheduling.k8s.io/group-name": group},
        },
        "spec": {"nodeName": on, "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}], **more},
        "status": {"phase": "Running" if on else "Pending"},
    }


def group(name: str = "g", minimum: int = 1, phase: str = "Pending") -> dict[str, Any]:
    """Return a PodGroup of the queue `q`."""
    return {
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {"minMember": minimum, "queue": "q"},
        "status": {"phase": phase},
    }


QUEUE = {"metadata": {"name": "q"}, "spec": {"weight": 1}, "status": {"state": "Open"}}


def case(
    *,
    nodes: Sequence[Mapping[str, Any]] = (),
    groups: Sequence[Mapping[str, Any]] = (),
    pods: Sequence[Mapping[str, Any]] = (),
    **fields: Any,
) -> dict[str, Any]:
    """Return a case; further fields are laid over it."""
    objects = {"nodes": list(nodes), "podGroups": list(groups), "pods": list(pods), "queues": [QUEUE]}
    return {"id": "c", "config": CONFIG, "objects": objects, **fields}


def answers(*cases: Any) -> list[dict[str, Any]]:
    """Return what a batch answers; a text is taken as the line itself."""
    lines = [each if isinstance(each, str) else msgspec.json.encode(each) for each in cases]
    return [msgspec.json.decode(line) for line in answer_lines(lines, load_registry(), default_config=DEFAULT)]


DEFAULT = "actions: allocate\ntiers:\n- plugins:\n  - name: gang\n"
