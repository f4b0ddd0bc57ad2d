"""Parts of virtual cards as annotations tell of them: the UUID of the card, and the instance where it is cut."""

from functools import lru_cache
from typing import Final

from model.devices.cards import Use
from model.devices.vgpu_ids import Given, read_ids, split_id
from model.devices.vgpu_register import MIG, VgpuCards
from plugins.deviceshare.mig import kind_at

__all__ = ["id_of", "parts_told", "unread_parts"]

_TEXTS_KEPT: Final = 1 << 16


def id_of(cards: VgpuCards, use: Use) -> str:
    """Return how a part is called: `GPU-a`, or `GPU-a[group2-3]`."""
    uuid = cards.cards[use.card].uuid
    return uuid if use.instance is None else f"{uuid}[{use.instance[0]}-{use.instance[1]}]"


@lru_cache(_TEXTS_KEPT)
def parts_told(cards: VgpuCards, ids: str, megabytes: int) -> tuple[Use, ...]:
    """Return what an annotation says is taken of the cards of a node."""
    found = (_use(cards, given, megabytes) for given in read_ids(ids))
    return tuple(use for use in found if use is not None)


@lru_cache(_TEXTS_KEPT)
def unread_parts(cards: VgpuCards, ids: str) -> int:
    """Count what an annotation tells of that is no part of a card of the node."""
    told = sum(bool(piece) for container in ids.split(";") for piece in container.split(":"))
    return told - len(parts_told(cards, ids, 1))


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
