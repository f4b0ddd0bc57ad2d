"""Kubernetes objects of tests; fields that a test does not set have defaults."""

from collections.abc import Mapping
from typing import Any, Final

from pyroclast.model.wire import time_text, unix_seconds

__all__ = ["GPU", "NAMESPACE", "Quantity", "amounts", "made", "merged"]

Quantity = str | int | float
"""An amount in the notation of Kubernetes: `2`, `0.5`, `"500m"`, `"4Gi"`."""

GPU: Final = "nvidia.com/gpu"
NAMESPACE: Final = "default"

_BEGINNING: Final = unix_seconds("2026-01-01T00:00:00Z")
_STEP_SECONDS: Final = 60.0


def made(number: int) -> str:
    """Return the creation time of the n-th object of a scenario, a minute after the previous one."""
    return time_text(_BEGINNING + _STEP_SECONDS * number)


def amounts(
    cpu: Quantity | None, memory: Quantity | None, gpu: Quantity | None, others: Mapping[str, Quantity] | None
) -> dict[str, Quantity]:
    """Return a resource list of the given amounts."""
    listed = {"cpu": cpu, "memory": memory, GPU: gpu, **(others or {})}
    return {name: amount for name, amount in listed.items() if amount is not None}


def merged(base: Mapping[str, Any], more: Mapping[str, Any] | None) -> dict[str, Any]:
    """Merge a mapping into another one, at every depth; lists are replaced."""
    result = dict(base)
    for key, value in (more or {}).items():
        known = result.get(key)
        result[key] = merged(known, value) if isinstance(known, Mapping) and isinstance(value, Mapping) else value
    return result
