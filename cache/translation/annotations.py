"""Values of annotations and labels, read as Volcano reads them."""

import math
import re

from pyroclast.model import wire
from pyroclast.model.booleans import GO_BOOLEANS
from pyroclast.model.durations import parse_duration

__all__ = [
    "annotation_or_label",
    "parse_bool",
    "parse_float",
    "parse_int32",
    "parse_seconds",
]

_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)


def annotation_or_label(metadata: wire.ObjectMeta, key: str) -> str | None:
    """Return an annotation, else the label of the same key, else None."""
    value = metadata.annotations.get(key)
    return metadata.labels.get(key) if value is None else value


def parse_bool(text: str) -> bool:
    """Read a boolean in Go's vocabulary.

    Raises:
        ValueError: The text is not of it.
    """
    if text not in GO_BOOLEANS:
        raise ValueError(f"{text!r} is not a boolean (true or false)")
    return GO_BOOLEANS[text]


def parse_int32(text: str) -> int:
    """Read a 32-bit integer.

    Raises:
        ValueError: The text is none.
    """
    if not _INTEGER.fullmatch(text) or not -(2**31) <= int(text) < 2**31:
        raise ValueError(f"{text!r} is not a 32-bit integer")
    return int(text)


def parse_float(text: str) -> float:
    """Read a finite number.

    Raises:
        ValueError: The text is none.
    """
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text!r} is not a finite number")
    return value


def parse_seconds(text: str) -> float:
    """Read a duration as Go writes it, `1h30m`, in seconds.

    Raises:
        ValueError: The text is no duration.
    """
    try:
        return float(parse_duration(text))
    except ValueError:
        raise ValueError(f"{text!r} is not a duration such as 90s or 1h30m") from None
