"""Cases of `simulate --batch` for tests, and their answers."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pyroclast.scheduler.data import default_configuration
from pyroclast.scheduler.registry import load_registry
from pyroclast.scheduler.simulation.batch import answer_lines

__all__ = ["answer_of", "group", "node", "pod"]

Object = dict[str, Any]


def answer_of(case: Mapping[str, Any]) -> Any:
    """Return the answer to a case."""
    text = default_configuration().read_text()
    (line,) = answer_lines([json.dumps(case)], load_registry(), default_config=text)
    answer = json.loads(line)
    assert "error" not in answer, answer
    return answer


def node(name: str, *, cpu: int = 4, taints: Sequence[Object] = ()) -> Object:
    """Return a node."""
    amounts = {"cpu": str(cpu), "memory": "32Gi", "pods": "50"}
    return {
        "metadata": {"name": name},
        "spec": {"taints": list(taints)},
        "status": {"allocatable": amounts, "capacity": amounts},
    }


def group(name: str, *, members: int = 1, owner: str = "") -> Object:
    """Return a PodGroup; with an owner it is named after the Job that controls it."""
    uid = f"uid-of-{owner}"
    owned = {"kind": "Job", "name": owner, "uid": uid, "controller": True, "apiVersion": "batch.volcano.sh/v1alpha1"}
    metadata: Object = {"name": f"{owner}-{uid}" if owner else name, "namespace": "default"}
    if owner:
        metadata["ownerReferences"] = [owned]
    return {"metadata": metadata, "spec": {"minMember": members, "queue": "default"}, "status": {"phase": "Inqueue"}}


def pod(name: str, of: str, *, cpu: int = 1, on: str = "", scheduler: str = "volcano") -> Object:
    """Return a pod of a PodGroup, which runs if it is on a node."""
    spec: Object = {
        "schedulerName": scheduler,
        "containers": [{"name": "c", "resources": {"requests": {"cpu": str(cpu), "memory": "1Gi"}}}],
    }
    if on:
        spec["nodeName"] = on
    metadata = {
        "name": name,
        "namespace": "default",
        "uid": name,
        "annotations": {"scheduling.k8s.io/group-name": of},
    }
    return {"metadata": metadata, "spec": spec, "status": {"phase": "Running" if on else "Pending"}}
