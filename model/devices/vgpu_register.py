"""Register of virtual cards: the annotation that the device plugin writes on a node.

Records end with `:`, their fields stand between commas: UUID, pods that may share the card, memory, model, whether it
is healthy, and how it is shared: `mig` in instances that hardware keeps apart, anything else `hami-core`, by shares.
A piece without a comma is skipped, but takes an index. The node is shared as its last record says.

Example: `GPU-1,10,81920,NVIDIA-A100-SXM4-80GB,true,mig:GPU-2,10,81920,NVIDIA-A100-SXM4-80GB,true,mig:`.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from pyroclast.model import wire
from pyroclast.model.booleans import GO_BOOLEANS
from pyroclast.model.devices.cards import WHOLE_CORES
from pyroclast.model.devices.names import VGPU_CORES, VGPU_MEMORY, VGPU_NUMBER, VGPU_REGISTER
from pyroclast.model.devices.settings import Group, VgpuSettings
from pyroclast.model.quantity import QuantityError, units

__all__ = ["HAMI_CORE", "MIG", "MODES", "Card", "VgpuCards", "read_register", "vgpu_cards"]

HAMI_CORE: Final = "hami-core"
MIG: Final = "mig"
MODES: Final = (HAMI_CORE, MIG)

_FIELDS: Final = 6
_MOST_CARDS: Final = 1024
"""Maximum number of cards of one node."""
_REGISTERS_KEPT: Final = 1 << 14
_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,15}", re.ASCII)
_SIGNS: Final = frozenset("[];")
"""Characters with a special meaning in the annotations of pods."""
_SHOWN: Final = 64
"""Maximum number of characters of a UUID in a message."""
_OFFERED: Final = (VGPU_NUMBER, VGPU_CORES, VGPU_MEMORY)
"""A node must offer each of these resources, whatever names the requested resources have."""


@dataclass(frozen=True, slots=True)
class Card:
    """One card."""

    index: int
    uuid: str
    shares: int
    """Pods, more exactly parts, that it may have."""
    memory: int
    model: str
    is_healthy: bool
    groups: tuple[Group, ...] = ()
    """Possible cuts; none if it is not shared as instances."""

    @property
    def most_cores(self) -> int:
        """Percent that its parts may have together."""
        return WHOLE_CORES


@dataclass(frozen=True, slots=True, eq=False)
class VgpuCards:
    """The cards of a node; equal registers give the same object as long as it is remembered."""

    mode: str
    """Sharing mode of the cards."""
    cards: tuple[Card, ...]
    shape: str
    """Key that is equal for nodes whose cards differ only in UUIDs."""
    positions: Mapping[str, int]
    """Position of each card by its UUID."""

    @property
    def uuids(self) -> tuple[str, ...]:
        """UUID of each card."""
        return tuple(card.uuid for card in self.cards)


def vgpu_cards(node: wire.Node, settings: VgpuSettings) -> VgpuCards | None:
    """Return the cards of a node; None if it has none, or offers nothing of them.

    Raises:
        ValueError: The register, or an amount, cannot be read.
    """
    register = node.metadata.annotations.get(VGPU_REGISTER)
    if register is None:
        return None
    offered = node.status.allocatable
    try:
        if not all(units(offered.get(name, 0)) for name in _OFFERED):
            return None
    except QuantityError as error:
        raise ValueError(f"status.allocatable: {error}") from None
    return read_register(register, settings)


@lru_cache(_REGISTERS_KEPT)
def read_register(register: str, settings: VgpuSettings) -> VgpuCards | None:
    """Read a register; None if it has no record.

    Raises:
        ValueError: A record has too few fields, there are more than a node can have, or annotations of pods could not
            tell which card is meant.
    """
    cards: list[Card] = []
    mode = HAMI_CORE
    for index, record in enumerate(register.split(":") if ":" in register else ()):
        if "," not in record:
            continue
        fields = record.split(",")
        if len(fields) < _FIELDS:
            raise ValueError(f"record {index} has {len(fields)} fields, expected {_FIELDS}")
        model = fields[3]
        cut = settings.groups_of(model) if fields[5] == MIG else ()
        mode = MIG if cut else HAMI_CORE
        health = GO_BOOLEANS.get(fields[4], False)
        cards.append(Card(index, fields[0], _number(fields[1]), _number(fields[2]), model, health, cut))
    if len(cards) > _MOST_CARDS:
        raise ValueError(f"{len(cards)} cards are more than {_MOST_CARDS}")
    if not cards:
        return None
    _check_names([card.uuid for card in cards])
    entries = [(card.index, card.shares, card.memory, card.model, card.is_healthy) for card in cards]
    return VgpuCards(mode, tuple(cards), f"{mode} {entries}", {card.uuid: at for at, card in enumerate(cards)})


def _check_names(uuids: Sequence[str]) -> None:
    """Reject UUIDs that cannot be found again from the annotations of pods: their cards would be allocated twice."""
    for uuid, count in Counter(uuids).items():
        if count > 1:
            raise ValueError(f"{count} cards are called {uuid[:_SHOWN]!r}")
        if set(uuid) & _SIGNS:
            raise ValueError(f"card {uuid[:_SHOWN]!r}: a UUID without '[', ']' and ';'")


def _number(text: str) -> int:
    """Read a number as the device plugin writes it; 0 if malformed or negative."""
    return max(int(text), 0) if _NUMBER.fullmatch(text) else 0
