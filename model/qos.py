"""Quality of service: the class of a pod by its requests and limits, as Kubernetes defines it."""

from typing import Final

from pyroclast.model import wire
from pyroclast.model.quantity import QuantityError, parse
from pyroclast.model.resources import CPU, MEMORY

__all__ = ["BEST_EFFORT", "BURSTABLE", "GUARANTEED", "quality_of"]

BEST_EFFORT: Final = "BestEffort"
BURSTABLE: Final = "Burstable"
GUARANTEED: Final = "Guaranteed"


def quality_of(spec: wire.PodSpec) -> str:
    """Return the class of a pod by its requests and limits, as an API server writes it into `status.qosClass`.

    A pod is guaranteed if every container, or the pod itself if it has pod-level resources, requests CPU and memory
    with equal limits. An absent request is equal to its limit, as API servers set it.
    """
    containers = (*spec.init_containers, *spec.containers)
    asked = [each.resources for each in containers] if spec.resources is None else [spec.resources]
    if all(_is_guaranteed(each, name) for each in asked for name in (CPU, MEMORY)):
        return GUARANTEED if asked else BEST_EFFORT
    names_some = any(
        _is_positive(amounts.get(name, 0))
        for each in asked
        for amounts in (each.requests, each.limits)
        for name in (CPU, MEMORY)
    )
    return BURSTABLE if names_some else BEST_EFFORT


def _is_guaranteed(asked: wire.ResourceRequirements, name: str) -> bool:
    limit = asked.limits.get(name, 0)
    return _is_positive(limit) and _is_same(asked.requests.get(name, limit), limit)


def _is_positive(amount: wire.Quantity) -> bool:
    try:
        return parse(amount) > 0
    except QuantityError:
        return False


def _is_same(one: wire.Quantity, other: wire.Quantity) -> bool:
    try:
        return one == other or parse(one) == parse(other)
    except QuantityError:
        return False
