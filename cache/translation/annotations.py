"""Annotations: parses values of annotations and labels as Volcano does."""

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
    """Return the annotation of a key, or the label of this key, or None."""
    value = metadata.annotations.get(key)
    return metadata.labels.get(key) if value is None else value


def parse_bool(text: str) -> bool:
    """Parse a boolean as Go does.

    Raises:
        ValueError: The text is not a boolean.
    """
    if text not in GO_BOOLEANS:
        raise ValueError(f"{text!r} is not a boolean (true or false)")
    return GO_BOOLEANS[text]


def parse_int32(text: str) -> int:
    """Parse a 32-bit integer.

    Raises:
        ValueError: The text is not a 32-bit integer.
    """
    if not _INTEGER.fullmatch(text) or not -(2**31) <= int(text) < 2**31:
        raise ValueError(f"{text!r} is not a 32-bit integer")
    return int(text)


def parse_float(text: str) -> float:
    """Parse a finite number.

    Raises:
        ValueError: The text is not a finite number.
    """
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text!r} is not a finite number")
    return value


def parse_seconds(text: str) -> float:
    """Parse a duration of Go, such as `1h30m`, and return its seconds.

    Raises:
        ValueError: The text is not a duration.
    """
    try:
        return float(parse_duration(text))
    except ValueError:
        raise ValueError(f"{text!r} is not a duration such as 90s or 1h30m") from None
