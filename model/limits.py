"""Limits: resource limits of a pod, from its containers."""

from collections.abc import Iterable
from fractions import Fraction
from typing import Final

from pyroclast.model import wire
from pyroclast.model.quantity import QuantityError, millis, parse, units
from pyroclast.model.requests import LARGEST_REQUEST
from pyroclast.model.resources import CPU, MEMORY

__all__ = ["pod_limit", "pod_limits"]

_NONE: Final = Fraction()


def pod_limits(spec: wire.PodSpec) -> tuple[int, int]:
    """Return the limits of a pod, CPU in thousandths and memory in bytes; 0 if no container has a limit.

    They add up as requests do: containers and sidecars, or the maximum of the init containers. Limits of the whole pod
    replace them if it has any. Overhead is added to limited resources. A malformed limit counts as absent.
    """
    cpu, memory = pod_limit(spec, CPU), pod_limit(spec, MEMORY)
    return min(millis(cpu), LARGEST_REQUEST), min(units(memory), LARGEST_REQUEST)


def pod_limit(spec: wire.PodSpec, name: str) -> Fraction:
    """Return the limit of a pod for one resource, in its units; 0 if no container has a limit."""
    running = _sum(spec.containers, name)
    sidecars = starting = _NONE
    for container in spec.init_containers:
        limit = _read(container.resources.limits, name)
        if container.restart_policy == "Always":
            running += limit
            sidecars += limit
            starting = max(starting, sidecars)
        else:
            starting = max(starting, limit + sidecars)
    whole = _NONE if spec.resources is None else _read(spec.resources.limits, name)
    total = whole or max(running, starting)
    return total + _read(spec.overhead, name) if total else total


def _sum(containers: Iterable[wire.Container], name: str) -> Fraction:
    return sum((_read(container.resources.limits, name) for container in containers), _NONE)


def _read(amounts: wire.ResourceList, name: str) -> Fraction:
    try:
        return max(parse(amounts.get(name, 0)), _NONE)
    except QuantityError:
        return _NONE
