"""Elastic quotas for tests, as objects."""

import json
from collections.abc import Mapping
from typing import Any

from pyroclast.model.elastic.names import (
    ALLOW_LENT_RESOURCE,
    IGNORE_DEFAULT_TREE,
    IS_PARENT,
    IS_ROOT,
    PARENT,
    PREEMPTIBLE,
    QUOTA_NAME,
    TOTAL_RESOURCE,
    TREE_ID,
)

__all__ = ["elastic_quota", "is_preemptible", "quota_of", "uses"]


def elastic_quota(
    name: str,
    *,
    least: Mapping[str, Any] | None = None,
    most: Mapping[str, Any] | None = None,
    parent: str = "",
    is_parent: bool = False,
    lends: bool = True,
    tree: str = "",
    total: Mapping[str, Any] | None = None,
    adds_to_cluster: bool = False,
    namespace: str = "quotas",
    annotations: Mapping[str, str] | None = None,
    **metadata: Any,
) -> dict[str, Any]:
    """A quota; one that names no parent stands below the root, and one with a total is the root of its tree."""
    labels = {IS_PARENT: str(is_parent).lower(), ALLOW_LENT_RESOURCE: str(lends).lower()}
    labels |= {PARENT: parent} if parent else {}
    labels |= {TREE_ID: tree} if tree else {}
    labels |= {IGNORE_DEFAULT_TREE: "true"} if adds_to_cluster else {}
    notes = dict(annotations or {})
    if total is not None:
        labels[IS_ROOT] = "true"
        notes[TOTAL_RESOURCE] = json.dumps(total)
    return {
        "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
        "kind": "ElasticQuota",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": labels,
            "annotations": notes,
            **metadata,
        },
        "spec": {"min": dict(least or {}), "max": dict(most or {})},
    }


def uses(quota: str, *, preemptible: bool = True) -> dict[str, str]:
    """Labels of a pod of a quota, or of none where the name is empty."""
    return ({QUOTA_NAME: quota} if quota else {}) | ({} if preemptible else {PREEMPTIBLE: "false"})


def quota_of(pod: Mapping[str, Any]) -> str:
    """The quota that a pod names; empty where it names none."""
    return str(pod["metadata"].get("labels", {}).get(QUOTA_NAME, ""))


def is_preemptible(pod: Mapping[str, Any]) -> bool:
    """Whether quotas may have a pod evicted."""
    label: str | None = pod["metadata"].get("labels", {}).get(PREEMPTIBLE)
    return label != "false"
