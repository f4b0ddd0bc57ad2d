"""Patches of pods: the preparation that writes labels and annotations before a bind, and what it puts back."""

from collections.abc import Mapping
from typing import Final

from pyroclast.model.plan import Preparation
from pyroclast.model.sealed import SealedDict
from pyroclast.model.tasks import Task

__all__ = ["PATCH_POD", "patch_of", "values_before"]

PATCH_POD: Final = "patch-pod"
"""Kind of the preparation."""


def patch_of(task: Task, labels: Mapping[str, str], annotations: Mapping[str, str]) -> Preparation:
    """Return the preparation that writes labels and annotations of a pod. Its details have the values before."""
    metadata = task.pod.metadata
    details = {
        f"{field}:{key}": there[key]
        for field, there, written in (
            ("labels", metadata.labels, labels),
            ("annotations", metadata.annotations, annotations),
        )
        for key in written
        if key in there
    }
    return Preparation(kind=PATCH_POD, namespace=task.namespace, name=task.name, details=SealedDict(details))


def values_before(preparation: Preparation) -> dict[str, dict[str, str]]:
    """Return the labels and annotations that the pod had; keys that it did not have are absent."""
    found: dict[str, dict[str, str]] = {"labels": {}, "annotations": {}}
    for detail, text in preparation.details.items():
        field, _, key = detail.partition(":")
        found[field][key] = text
    return found
