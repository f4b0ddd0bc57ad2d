"""Native groups for tests: PodGroups of `scheduling.k8s.io`, and what pods carry."""

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["ALL", "native_group", "of_native"]

ALL: Final[dict[str, Any]] = {"all": {}}
"""The disruption mode of a group whose pods are evicted together, since v1alpha3."""


def of_native(name: str) -> dict[str, Any]:
    """Return the part of a pod's specification that names its group."""
    return {"schedulingGroup": {"podGroupName": name}}


def native_group(
    name: str,
    minimum: int | None = None,
    *,
    version: str = "v1beta1",
    namespace: str = "default",
    created: str = "",
    key: str = "",
    metadata: Mapping[str, Any] | None = None,
    status: Mapping[str, Any] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """Return a group; without a minimum it has the basic policy, and `key` is the label of its topology."""
    policy: dict[str, Any] = {"basic": {}} if minimum is None else {"gang": {"minCount": minimum}}
    constraints = {"schedulingConstraints": {"topology": [{"key": key}]}} if key else {}
    return {
        "apiVersion": f"scheduling.k8s.io/{version}",
        "kind": "PodGroup",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "creationTimestamp": created or "2026-01-01T00:00:00Z",
            **(metadata or {}),
        },
        "spec": {"schedulingPolicy": policy, **constraints, **spec},
        **({} if status is None else {"status": status}),
    }
