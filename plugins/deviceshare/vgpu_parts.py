"""Parts of virtual cards in annotations: the UUID of the card, and the instance if it is divided.

Ascend chips are limited in the same way.
"""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, Protocol, TypeVar

from pyroclast.model.devices.cards import State, Use
from pyroclast.model.devices.vgpu_ids import Given, read_ids, split_id
from pyroclast.model.devices.vgpu_register import MIG, VgpuCards
from pyroclast.plugins.deviceshare.mig import kind_at

__all__ = ["PartDemand", "SharedCard", "annotated_parts", "id_of", "room_for", "unread_parts", "within"]

_TEXTS_KEPT: Final = 1 << 16


class SharedCard(Protocol):
    """A card that pods may have parts of."""

    @property
    def shares(self) -> int:
        """Number of parts."""

    @property
    def memory(self) -> int:
        """Memory of all parts together."""

    @property
    def most_cores(self) -> int:
        """Cores of all parts together."""


C = TypeVar("C", bound=SharedCard)
C_contra = TypeVar("C_contra", bound=SharedCard, contravariant=True)


class PartDemand(Protocol[C_contra]):
    """Request of one container for each of its cards."""

    @property
    def cards(self) -> int:
        """Number of cards."""

    @property
    def cores(self) -> int:
        """Cores of each."""

    def memory_of(self, card: C_contra) -> int:
        """Return the requested memory of a card."""


def id_of(cards: VgpuCards, use: Use) -> str:
    """Return the id of a part: `GPU-a`, or `GPU-a[group2-3]`."""
    uuid = cards.cards[use.card].uuid
    return uuid if use.instance is None else f"{uuid}[{use.instance[0]}-{use.instance[1]}]"


@lru_cache(_TEXTS_KEPT)
def annotated_parts(cards: VgpuCards, ids: str, megabytes: int) -> tuple[Use, ...]:
    """Return the annotated parts of a node's cards."""
    found = (_use(cards, given, megabytes) for given in read_ids(ids))
    return tuple(use for use in found if use is not None)


@lru_cache(_TEXTS_KEPT)
def unread_parts(cards: VgpuCards, ids: str) -> int:
    """Return the number of annotated parts that are not parts of the node's cards."""
    annotated = sum(bool(piece) for container in ids.split(";") for piece in container.split(":"))
    return annotated - len(annotated_parts(cards, ids, 1))


def within(cards: Sequence[C], uses: Sequence[Use], containers: Sequence[PartDemand[C]]) -> tuple[Use, ...]:
    """Return the requested parts of the annotated cards; the first cards of each container count.

    Amounts are those of the request, because a pod can write smaller ones. An instance has its own memory.
    """
    numbers = {annotated: number for number, annotated in enumerate(sorted({use.container for use in uses}))}
    counts: Counter[int] = Counter()
    found = []
    for use in uses:
        number = numbers[use.container]
        if number >= len(containers) or counts[number] >= containers[number].cards:
            continue
        counts[number] += 1
        asked = containers[number].memory_of(cards[use.card])
        memory = use.memory if use.instance is not None else asked
        found.append(use._replace(memory=memory, cores=containers[number].cores, asked=asked, container=number))
    return tuple(found)


def room_for(cards: Sequence[SharedCard], taken: State, uses: Sequence[Use]) -> bool:
    """Return whether cards have room for more parts in addition to the allocated ones."""
    parts, memory, cores, instances = list(taken[0]), list(taken[1]), list(taken[2]), taken[3]
    for use in uses:
        card, at = cards[use.card], use.card
        if use.instance is not None and use.instance in instances[at]:
            return False
        parts[at], memory[at], cores[at] = parts[at] + 1, memory[at] + use.memory, cores[at] + use.cores
        if parts[at] > card.shares or memory[at] > card.memory or cores[at] > card.most_cores:
            return False
    return True


def _use(cards: VgpuCards, given: Given, megabytes: int) -> Use | None:
    uuid, instance = split_id(given.uuid)
    position = cards.positions.get(uuid)
    if position is None:
        return None
    if cards.mode != MIG:
        return Use(position, given.memory, given.cores, given.memory, container=given.container)
    if instance is None:
        return None
    kind = kind_at(cards.cards[position].groups, instance)
    memory = 0 if kind is None else kind.memory // megabytes
    return Use(position, memory, given.cores, given.memory, instance, given.container)
