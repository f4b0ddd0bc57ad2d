"""Patches of pods: preparations that write labels and annotations before a bind, and what they put back."""

from collections.abc import Mapping
from typing import Final

from pyroclast.model.plan import Preparation
from pyroclast.model.sealed import SealedDict
from pyroclast.model.tasks import Task

__all__ = ["ANNOTATE_POD", "PATCH_POD", "annotation_of", "patch_of", "values_before"]

PATCH_POD: Final = "patch-pod"
"""Kind of the preparation."""
ANNOTATE_POD: Final = "annotate-pod"
"""Kind of the preparation that annotates another pod than the one that is bound."""


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


def annotation_of(pod: Task, key: str, text: str, *, is_optional: bool = False) -> Preparation:
    """Return the preparation that annotates a pod, which may be another one than the pod that is bound.

    Its details are the UID of the pod, the key, the text, and the text before if there was one. If it is optional,
    a server that refuses it does not prevent the bind.
    """
    before = pod.pod.metadata.annotations.get(key)
    details = {"uid": pod.id, "key": key, "text": text, **({} if before is None else {"before": before})}
    if is_optional:
        details["optional"] = "true"
    return Preparation(kind=ANNOTATE_POD, namespace=pod.namespace, name=pod.name, details=SealedDict(details))


def values_before(preparation: Preparation) -> dict[str, dict[str, str]]:
    """Return the labels and annotations that the pod had; keys that it did not have are absent."""
    found: dict[str, dict[str, str]] = {"labels": {}, "annotations": {}}
    for detail, text in preparation.details.items():
        field, _, key = detail.partition(":")
        found[field][key] = text
    return found
