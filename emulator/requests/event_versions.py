"""Events have two faces, core `v1` and `events.k8s.io/v1`, over one store: fields are renamed on the way."""

from typing import Any

__all__ = ["from_core", "to_core"]

Object = dict[str, Any]

NAMES = {
    "involvedObject": "regarding",
    "message": "note",
    "reportingComponent": "reportingController",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
}
"""Core field names, and what `events.k8s.io` calls them."""
BACK = {new: old for old, new in NAMES.items()}


def from_core(tree: Object) -> Object:
    """A stored event as `events.k8s.io/v1` shows it."""
    return {**{NAMES.get(key, key): value for key, value in tree.items()}, "apiVersion": "events.k8s.io/v1"}


def to_core(tree: Object) -> Object:
    """An event of `events.k8s.io/v1` as it is stored."""
    return {**{BACK.get(key, key): value for key, value in tree.items()}, "apiVersion": "v1"}
