"""Virtual GPU ids: the annotation of a pod with its allocated cards.

Cards of a container end with `:`, containers stand between `;`, and only containers that request cards are listed. A
card has its UUID, `NVIDIA` or the kind of Ascend chips, memory and cores. An instance follows the UUID as
`[<cut>-<position>]`.

Example: `GPU-a,NVIDIA,3000,50:;GPU-b[group2-3],NVIDIA,8000,0:`.
"""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from pyroclast.model.devices.cards import Instance

__all__ = ["NVIDIA", "Given", "read_ids", "split_id", "write_ids"]

NVIDIA: Final = "NVIDIA"

_FIELDS: Final = 4
_LARGEST: Final = 2**32 - 1
_INSTANCE: Final = re.compile(r"([^\[\]]*)\[([^\[\]-]*)-([0-9]{1,9})\].*")


class Given(NamedTuple):
    """One card of one container."""

    uuid: str
    """UUID of the card, followed by the instance if there is one."""
    memory: int
    cores: int
    container: int


def write_ids(given: Iterable[Given], kind: str = NVIDIA) -> str:
    """Write the cards of a pod, container after container."""
    texts: dict[int, str] = {}
    for each in given:
        entry = f"{each.uuid},{kind},{each.memory},{each.cores}:"
        texts[each.container] = texts.get(each.container, "") + entry
    return ";".join(texts[container] for container in sorted(texts))


def read_ids(text: str) -> tuple[Given, ...]:
    """Read the cards of a pod; one that cannot be read is left out."""
    found = []
    for container, cards in enumerate(text.split(";")):
        for card in cards.split(":"):
            fields = card.split(",")
            if len(fields) >= _FIELDS and _is_amount(fields[2]) and _is_amount(fields[3]):
                found.append(Given(fields[0], int(fields[2]), int(fields[3]), container))
    return tuple(found)


def split_id(uuid: str) -> tuple[str, Instance | None]:
    """Return the UUID of a card and its instance; None if the instance is absent or malformed."""
    match = _INSTANCE.fullmatch(uuid)
    if match is None:
        return uuid.partition("[")[0], None
    return match[1], (match[2], int(match[3]))


def _is_amount(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= len(str(_LARGEST)) and int(text) <= _LARGEST
