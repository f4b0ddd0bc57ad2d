"""Register of Ascend chips: the annotations that HAMi's device plugin writes on a node, one for each kind of chips.

Example of `hami.io/node-register-Ascend310P`: `[{"id":"a","count":7,"devmem":21527,"devcore":8,"health":true}]`. Chips
of kind 910 also have `"custominfo":{"NetworkID":0}`. Chips with the same id of a network exchange data faster.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Final, NamedTuple

import msgspec

from pyroclast.model import wire
from pyroclast.model.devices.cards import WHOLE_CORES
from pyroclast.model.devices.koordinator.annotations import read_annotation
from pyroclast.model.devices.names import ASCEND_REGISTER, ASCEND_SOFT
from pyroclast.model.devices.settings import AscendSettings
from pyroclast.model.quantity import QuantityError, units
from pyroclast.model.requests import saturated
from pyroclast.model.resources import MILLI

__all__ = ["AscendCard", "AscendCards", "ascend_cards", "ascend_offers"]

_MOST_CARDS: Final = 1024
"""Maximum number of chips of one kind on one node."""
_MOST_REGISTERS: Final = 64
"""Maximum number of registers of a node whose chips are offered."""
_REGISTERS_KEPT: Final = 1 << 14
_SIGNS: Final = frozenset(",:;")
"""Characters with a special meaning in the annotations of pods."""
_SHOWN: Final = 64
"""Maximum number of characters of an id in a message."""
_ASCEND: Final = "Ascend"
_NETWORKED: Final = "Ascend910"
"""Beginning of the words of the chips that have networks."""
_NETWORK: Final = "NetworkID"
_LARGEST_NETWORK: Final = 2**53
_Amount = Annotated[int, msgspec.Meta(ge=0, lt=2**31)]


class AscendCard(NamedTuple):
    """One chip."""

    word: str
    uuid: str
    shares: int
    """Pods that it may have."""
    memory: int
    """Megabytes."""
    cores: int
    """AI cores."""
    is_healthy: bool
    network: int | None
    """Id of its network; None if it has none."""
    is_soft: bool = False
    """Whether it can be sliced softly, with percentages of cores."""

    @property
    def most_cores(self) -> int:
        """Cores that its parts may have together."""
        return max(self.cores, WHOLE_CORES) if self.is_soft else self.cores


@dataclass(frozen=True, slots=True, eq=False)
class AscendCards:
    """The chips of a node."""

    cards: tuple[AscendCard, ...]
    """All chips: the kinds in the order of the settings, chips of one kind in the order of the register."""
    by_word: Mapping[str, tuple[int, ...]]
    """Positions of the chips of each kind."""
    networked: frozenset[str]
    """Kinds of which each chip has a network."""
    positions: Mapping[tuple[str, str], int]
    """Positions of chips, by kind and id."""
    shape: str
    """Key that is equal for nodes whose chips differ only in ids."""


class _Chip(msgspec.Struct, frozen=True):
    id: str = ""
    count: _Amount = 0
    devmem: _Amount = 0
    devcore: _Amount = 0
    health: bool = False
    custominfo: dict[str, Any] = {}


def ascend_cards(node: wire.Node, settings: AscendSettings) -> AscendCards | None:
    """Return the chips of a node; None if it has none, or offers none of them.

    Raises:
        ValueError: A register, or an amount, cannot be read. The message names the annotation.
    """
    annotations, registers = node.metadata.annotations, list[tuple[str, str]]()
    soft = annotations.get(ASCEND_SOFT)
    is_soft = settings.hami_vnpu_core if soft is None else soft == "true"
    for chip in settings.configs:
        try:
            offered = units(node.status.allocatable.get(chip.resource_name, 0))
        except QuantityError as error:
            raise ValueError(f"status.allocatable.{chip.resource_name}: {error}") from None
        text = annotations.get(ASCEND_REGISTER + chip.common_word)
        if offered and text is not None:
            registers.append((chip.common_word, text))
    return _cards(tuple(registers), is_soft=is_soft) if registers else None


@lru_cache(_REGISTERS_KEPT)
def _cards(registers: tuple[tuple[str, str], ...], *, is_soft: bool) -> AscendCards | None:
    """Return the chips of registers by kind; equal registers give the same object as long as it is remembered."""
    cards = [card._replace(is_soft=is_soft) for word, text in registers for card in _read(word, text)]
    if not cards:
        return None
    by_word: dict[str, tuple[int, ...]] = {}
    for at, card in enumerate(cards):
        by_word[card.word] = (*by_word.get(card.word, ()), at)
    return AscendCards(
        cards=tuple(cards),
        by_word=by_word,
        networked=frozenset(
            word
            for word, positions in by_word.items()
            if word.startswith(_NETWORKED) and all(cards[at].network is not None for at in positions)
        ),
        positions={(card.word, card.uuid): at for at, card in enumerate(cards)},
        shape=str([card._replace(uuid="") for card in cards]),  # a text keeps its hash, a tuple does not
    )


def ascend_offers(annotations: Mapping[str, str]) -> dict[str, int]:
    """Return the memory and the cores of the chips of a node, thousandths by the usual names of the resources.

    HAMi's device plugin offers numbers of chips alone, and Volcano counts neither memory nor cores of nodes. They are
    offered once more than all parts of the chips could use, so that chips limit pods and these sums do not.
    """
    registers = sorted(key for key in annotations if key.startswith(ASCEND_REGISTER + _ASCEND))
    offered: dict[str, int] = {}
    for key in registers[:_MOST_REGISTERS]:
        word = key.removeprefix(ASCEND_REGISTER)
        try:
            cards = _read(word, annotations[key])
        except ValueError:  # reported where the chips are allocated
            continue
        for name, amount in (
            (f"huawei.com/{word}-memory", sum((card.shares + 1) * card.memory for card in cards)),
            (f"huawei.com/{word}-core", sum((card.shares + 1) * max(card.cores, WHOLE_CORES) for card in cards)),
        ):
            offered[name] = saturated(name, amount * MILLI)
    return offered


@lru_cache(_REGISTERS_KEPT)
def _read(word: str, text: str) -> tuple[AscendCard, ...]:
    key = ASCEND_REGISTER + word
    chips = read_annotation({key: text}, key, tuple[_Chip, ...]) or ()
    if len(chips) > _MOST_CARDS:
        raise ValueError(f"{key}: {len(chips)} chips are more than {_MOST_CARDS}")
    for uuid, count in Counter(chip.id for chip in chips).items():
        if count > 1:
            raise ValueError(f"{key}: {count} chips are called {uuid[:_SHOWN]!r}")
        if not uuid or set(uuid) & _SIGNS:
            raise ValueError(f"{key}: chip {uuid[:_SHOWN]!r}: expected an id without ',', ':' and ';'")
    return tuple(
        AscendCard(word, chip.id, chip.count, chip.devmem, chip.devcore, chip.health, _network(key, chip))
        for chip in chips
    )


def _network(key: str, chip: _Chip) -> int | None:
    network = chip.custominfo.get(_NETWORK)
    if network is None:
        return None
    if isinstance(network, bool) or not isinstance(network, int | float) or not abs(network) < _LARGEST_NETWORK:
        raise ValueError(f"{key}: chip {chip.id[:_SHOWN]!r}: {_NETWORK}: expected a number")
    return int(network)
