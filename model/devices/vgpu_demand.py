"""Virtual GPU demand: number of cards, amounts of each, and rules for suitable cards."""

from dataclasses import dataclass
from typing import Final, NamedTuple

from pyroclast.model import wire
from pyroclast.model.api.names import GROUP_NAME
from pyroclast.model.devices.cards import WHOLE_CORES
from pyroclast.model.devices.names import (
    AVOID_TYPES,
    AVOID_UUIDS,
    USE_TYPES,
    USE_UUIDS,
    VGPU_GROUP_POLICY,
    VGPU_MODE,
    VOLCANO_GROUP_NAME,
)
from pyroclast.model.devices.settings import VgpuSettings
from pyroclast.model.devices.vgpu_ids import NVIDIA
from pyroclast.model.devices.vgpu_register import Card
from pyroclast.model.quantity import QuantityError, units

__all__ = ["UNSET", "CardRules", "ContainerDemand", "card_rules", "spread_group", "vgpu_demand"]

UNSET: Final = 101
"""Percentage of a container that requests memory as an amount."""
_SPREAD: Final = "spread"


class ContainerDemand(NamedTuple):
    """Request of one container for each of its cards."""

    cards: int
    memory: int
    percentage: int
    """Percentage of the memory of a card; `UNSET` if `memory` counts."""
    cores: int

    def memory_of(self, card: Card) -> int:
        """Return the requested memory of a card."""
        return self.memory if self.percentage == UNSET else card.memory * self.percentage // 100


@dataclass(frozen=True, slots=True)
class CardRules:
    """Rules for suitable cards, from the annotations of a pod."""

    mode: str | None = None
    use_types: tuple[str, ...] | None = None
    avoid_types: tuple[str, ...] = ()
    """Ignored if the former is set."""
    use_uuids: frozenset[str] = frozenset()
    avoid_uuids: frozenset[str] = frozenset()

    @property
    def names_uuids(self) -> bool:
        """Whether single cards are named."""
        return bool(self.use_uuids or self.avoid_uuids)

    def permit_uuid(self, uuid: str) -> bool:
        """Return whether the rules permit a card by its UUID."""
        if not self.names_uuids:
            return True
        return bool(uuid) and uuid not in self.avoid_uuids and (not self.use_uuids or uuid in self.use_uuids)

    def permit_model(self, model: str) -> bool:
        """Return whether the rules permit a card by its model."""
        if NVIDIA not in model:
            return False
        upper = model.upper()
        if self.use_types is not None:
            return any(part in upper for part in self.use_types)
        return not any(part in upper for part in self.avoid_types)


def vgpu_demand(spec: wire.PodSpec, settings: VgpuSettings) -> tuple[ContainerDemand, ...]:
    """Return the requests of sidecars and containers that request cards, in the order in which a kubelet starts them.

    Other init containers are given none.

    Raises:
        ValueError: An amount is no quantity.
    """
    sidecars = (container for container in spec.init_containers if container.restart_policy == "Always")
    found = (_of_container(container, settings) for container in (*sidecars, *spec.containers))
    return tuple(each for each in found if each is not None)


def card_rules(pod: wire.Pod) -> CardRules:
    """Read which cards will do."""
    annotations = pod.metadata.annotations
    use, avoid = annotations.get(USE_TYPES), annotations.get(AVOID_TYPES)
    return CardRules(
        mode=annotations.get(VGPU_MODE),
        use_types=None if use is None else tuple(use.upper().split(",")),
        avoid_types=() if avoid is None else tuple(avoid.upper().split(",")),
        use_uuids=_uuids(annotations.get(USE_UUIDS, "")),
        avoid_uuids=_uuids(annotations.get(AVOID_UUIDS, "")),
    )


def spread_group(pod: wire.Pod) -> tuple[str, bool]:
    """Return the group of a pod, `namespace/name` or empty, and whether its pods must be on different cards."""
    annotations = pod.metadata.annotations
    name = annotations.get(GROUP_NAME) or annotations.get(VOLCANO_GROUP_NAME)
    group = f"{pod.metadata.namespace}/{name}" if name else ""
    return group, bool(group) and annotations.get(VGPU_GROUP_POLICY) == _SPREAD


def _of_container(container: wire.Container, settings: VgpuSettings) -> ContainerDemand | None:
    asked = _Asked(container)
    cards = asked.limit(settings.resource_count_name)
    if cards is None:
        if asked.limit(settings.resource_memory_name) is None:
            return None
        cards = 1
    memory = asked.amount(settings.resource_memory_name) or 0
    percentage = asked.amount(settings.resource_memory_percentage_name)
    if percentage is None:
        percentage = UNSET
    if percentage == UNSET and not memory:
        percentage = WHOLE_CORES
    return ContainerDemand(cards, memory, percentage, asked.amount(settings.resource_core_name) or 0)


class _Asked(NamedTuple):
    """Limits and requests of one container."""

    container: wire.Container

    def limit(self, name: str) -> int | None:
        """Return a limit; None if it is absent."""
        return self._read(self.container.resources.limits, name, "limits")

    def amount(self, name: str) -> int | None:
        """Return a limit, else a request; None if there is neither."""
        limit = self.limit(name)
        return self._read(self.container.resources.requests, name, "requests") if limit is None else limit

    def _read(self, listed: wire.ResourceList, name: str, what: str) -> int | None:
        if not name or name not in listed:
            return None
        try:
            return max(units(listed[name]), 0)
        except QuantityError as error:
            raise ValueError(f"container {self.container.name}: resources.{what}.{name}: {error}") from None


def _uuids(text: str) -> frozenset[str]:
    return frozenset(uuid for piece in text.split(",") if (uuid := piece.strip()))
