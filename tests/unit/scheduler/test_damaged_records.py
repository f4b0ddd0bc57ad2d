"""A fuzzer of records: damage ends the replay with a sentence, or changes what is decided; it never escapes."""

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pyroclast.scheduler.recording.replay import RecordError, replay
from tests.drawing import IS_DEEP, examples
from tests.unit.scheduler.test_replay import record  # noqa: F401  a fixture

DAMAGES = examples(120)
ODD: tuple[Any, ...] = (None, True, -1, 0, 2**63, 2**70, 1e308, "", "x", "\u0000", [], [None], {}, {"a": 1}, "\uff11")

Lines = list[bytes]


def truncated(lines: Lines, chance: random.Random) -> Lines:
    """Cut the file off anywhere."""
    text = b"\n".join(lines)
    return text[: chance.randrange(len(text))].split(b"\n")


def flipped(lines: Lines, chance: random.Random) -> Lines:
    """Change a few bytes."""
    text = bytearray(b"\n".join(lines))
    for _ in range(chance.randint(1, 4)):
        text[chance.randrange(len(text))] = chance.randrange(256)
    return bytes(text).split(b"\n")


def deleted(lines: Lines, chance: random.Random) -> Lines:
    """Leave lines out."""
    kept = [line for line in lines if chance.random() > 0.15]
    return kept if len(kept) < len(lines) else lines[1:]


def duplicated(lines: Lines, chance: random.Random) -> Lines:
    """Repeat a line somewhere."""
    at, to = chance.randrange(len(lines)), chance.randrange(len(lines))
    return [*lines[:to], lines[at], *lines[to:]]


def mistyped(lines: Lines, chance: random.Random) -> Lines:
    """Put another value in place of one in a line, at any depth."""
    changed = list(lines)
    at = chance.randrange(len(lines))
    value = json.loads(changed[at])
    holder: Any = value
    for _ in range(chance.randint(0, 6)):
        inner = [each for each in _items(holder) if isinstance(each, dict | list) and each]
        if not inner:
            break
        holder = chance.choice(inner)
    key = chance.choice(list(holder) if isinstance(holder, dict) else list(range(len(holder))))
    holder[key] = chance.choice(ODD)
    changed[at] = json.dumps(value).encode()
    return changed


def _items(holder: Any) -> Iterator[Any]:
    yield from holder.values() if isinstance(holder, dict) else holder


@pytest.mark.parametrize("damage", [truncated, flipped, deleted, duplicated, mistyped])
def test_damage_never_escapes(record: Path, damage: Callable[[Lines, random.Random], Lines]) -> None:  # noqa: F811  the fixture
    """Every damaged record is decided, or refused with a message of one line."""
    sound = record.read_bytes().splitlines()
    chance = random.Random() if IS_DEEP else random.Random(damage.__name__)
    answers = [answer(damage(sound, chance)) for _ in range(DAMAGES // 5)]

    assert [each for each in answers if "\n" in each or not each.startswith(("decided", "refused: "))] == []


def answer(lines: Lines) -> str:
    """Return what becomes of a record."""
    try:
        cycles = list(replay(lines))
    except RecordError as error:
        return f"refused: {error}"
    except (Exception, SystemExit) as error:  # noqa: BLE001  what must not happen
        return f"escaped: {type(error).__name__}: {error}"
    return f"decided: {len(cycles)} cycles"
