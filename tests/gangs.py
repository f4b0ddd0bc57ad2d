"""Koordinator's gangs for tests: pod groups as objects, and what pods carry."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pyroclast.model.gangs.names import GROUPS, LABEL_POD_GROUP, MATCH_POLICY, MIN_AVAILABLE, MODE, NAME

__all__ = ["annotated", "described_by", "gang_pod_group", "said"]


def said(
    *, mode: str = "", policy: str = "", groups: Sequence[str] = (), more: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Annotations that pods and pod groups have alike; what is empty is left out."""
    each = {MODE: mode, MATCH_POLICY: policy, GROUPS: json.dumps(list(groups)) if groups else "", **(more or {})}
    return {key: value for key, value in each.items() if value}


def annotated(name: str, minimum: int | str, **more: Any) -> dict[str, str]:
    """Annotations of a pod that describe its gang; `more` is as for `said`."""
    return {NAME: name, MIN_AVAILABLE: str(minimum), **said(**more)}


def described_by(name: str) -> dict[str, str]:
    """Labels of a pod whose gang a pod group describes."""
    return {LABEL_POD_GROUP: name}


def gang_pod_group(
    name: str, minimum: int, *, namespace: str = "default", seconds: int | None = None, created: str = "", **more: Any
) -> dict[str, Any]:
    """A pod group; `more` is as for `said`."""
    return {
        "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "creationTimestamp": created or "2026-01-01T00:00:00Z",
            "annotations": said(**more),
        },
        "spec": {"minMember": minimum, **({} if seconds is None else {"scheduleTimeoutSeconds": seconds})},
    }
