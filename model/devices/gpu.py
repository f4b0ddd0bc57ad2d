"""GPU: whole cards and shares of their memory, of a node and in the request of a pod.

A node offers the memory of all its cards as one number; each card has an equal part of it, rounded down. Cards that the
device plugin reports as unhealthy are left out. The part of the others does not change.
"""

import re
from dataclasses import dataclass
from typing import Final

from pyroclast.model import wire
from pyroclast.model.devices.names import GPU_INDEX, GPU_MEMORY, GPU_NUMBER, GPU_UNHEALTHY
from pyroclast.model.quantity import QuantityError, units

__all__ = ["GpuCards", "GpuDemand", "gpu_cards", "gpu_demand", "gpu_indices"]

_MOST_CARDS: Final = 1024
"""Maximum number of cards of one node. A node's status must not be able to exhaust the memory."""
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII)


@dataclass(frozen=True, slots=True)
class GpuCards:
    """The healthy cards of a node."""

    indices: tuple[int, ...]
    """Ascending."""
    memory: int
    """Megabytes of each."""
    unhealthy: frozenset[int] = frozenset()
    """Indices of cards that the node has and does not offer."""


@dataclass(frozen=True, slots=True)
class GpuDemand:
    """Request of a pod: memory of one card, or whole cards."""

    memory: int = 0
    number: int = 0


def gpu_cards(node: wire.Node) -> GpuCards | None:
    """Return the cards of a node; None if it has none.

    Raises:
        ValueError: An amount is no quantity, or more cards than a node can have.
    """
    capacity = node.status.capacity
    if GPU_MEMORY not in capacity or GPU_NUMBER not in capacity:
        return None
    try:
        memory, number = (max(units(capacity[name]), 0) for name in (GPU_MEMORY, GPU_NUMBER))
    except QuantityError as error:
        raise ValueError(f"status.capacity: {error}") from None
    if not number:
        return None
    if number > _MOST_CARDS:
        raise ValueError(f"status.capacity.{GPU_NUMBER}: {number} is more than {_MOST_CARDS}")
    unhealthy = set(_integers(node.metadata.annotations.get(GPU_UNHEALTHY, "")))
    healthy = tuple(index for index in range(number) if index not in unhealthy)
    return GpuCards(healthy, memory // number, frozenset(range(number)).difference(healthy))


def gpu_demand(spec: wire.PodSpec) -> GpuDemand:
    """Return the request of a pod, from the limits of its containers.

    Raises:
        ValueError: A limit is no quantity.
    """
    return GpuDemand(_asked(spec, GPU_MEMORY), _asked(spec, GPU_NUMBER))


def gpu_indices(pod: wire.Pod) -> tuple[int, ...]:
    """Return the cards that a pod was given; none if one of them cannot be read."""
    pieces = pod.metadata.annotations.get(GPU_INDEX, "").split(",")
    found = [int(piece) for piece in pieces if _INTEGER.fullmatch(piece)]
    return tuple(dict.fromkeys(found)) if len(found) == len(pieces) else ()


def _asked(spec: wire.PodSpec, name: str) -> int:
    """Add up containers and sidecars, or take the most that any moment of the start needs, as for other resources."""
    running = sum(_limit(container, name) for container in spec.containers)
    sidecars = starting = 0
    for container in spec.init_containers:
        limit = _limit(container, name)
        starting = max(starting, sidecars + limit)
        if container.restart_policy == "Always":
            sidecars += limit
    return max(running + sidecars, starting)


def _limit(container: wire.Container, name: str) -> int:
    try:
        return max(units(container.resources.limits.get(name, 0)), 0)
    except QuantityError as error:
        raise ValueError(f"container {container.name}: resources.limits.{name}: {error}") from None


def _integers(text: str) -> list[int]:
    pieces = (piece.strip() for piece in text.split(","))
    return [int(piece) for piece in pieces if _INTEGER.fullmatch(piece)]
