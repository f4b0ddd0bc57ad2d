"""Reservations and pods that use them, as objects of scenarios."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pyroclast.testing import Scenario

__all__ = ["ALLOCATED", "PLUGINS", "affinity", "claimed", "outcome_of", "reservation"]

ALLOCATED = "scheduling.koordinator.sh/reservation-allocated"
PLUGINS = ("gang", "predicates", "reservation")
_API = "scheduling.koordinator.sh/v1alpha1"


def reservation(  # fields of the object
    name: str = "r",
    *,
    node: str = "",
    cpu: int | str = 2,
    resources: Mapping[str, Any] | None = None,
    owners: Sequence[Mapping[str, Any]] = ({"labelSelector": {"matchLabels": {"app": "a"}}},),
    phase: str = "",
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    allocatable: Mapping[str, Any] | None = None,
    template: Mapping[str, Any] | None = None,
    template_metadata: Mapping[str, Any] | None = None,
    created: str = "2026-01-01T00:00:00Z",
    ttl: str = "0",
    **spec: Any,
) -> dict[str, Any]:
    """Return a Reservation; on a node it is Available unless `phase` is given."""
    requests = {"cpu": str(cpu), **(resources or {})}
    status: dict[str, Any] = {}
    if node:
        status = {"phase": phase or "Available", "nodeName": node, "allocatable": allocatable or requests}
    elif phase:
        status = {"phase": phase}
    return {
        "apiVersion": _API,
        "kind": "Reservation",
        "metadata": {
            "name": name,
            "uid": f"uid-{name}",
            "creationTimestamp": created,
            "labels": dict(labels or {}),
            "annotations": dict(annotations or {}),
        },
        "spec": {
            "template": {
                "metadata": dict(template_metadata or {}),
                "spec": {
                    "schedulerName": "volcano",
                    "containers": [{"name": "c", "resources": {"requests": requests}}],
                    **(template or {}),
                },
            },
            "owners": list(owners),
            "ttl": ttl,
            **spec,
        },
        "status": status,
    }


def affinity(**fields: Any) -> dict[str, str]:
    """Return the annotation of a pod that must use a Reservation."""
    return {"scheduling.koordinator.sh/reservation-affinity": json.dumps(fields)}


def claimed(name: str) -> dict[str, str]:
    """Return the annotation of a pod that uses a Reservation."""
    return {ALLOCATED: json.dumps({"name": name, "uid": f"uid-{name}"})}


def outcome_of(scenario: Scenario, *, cycles: int = 1, plugins: Sequence[Any] = PLUGINS, **more: Any) -> Any:
    """Decide with the plugin reservation."""
    return scenario.run("enqueue", "allocate", plugins=tuple(plugins), cycles=cycles, **more)
