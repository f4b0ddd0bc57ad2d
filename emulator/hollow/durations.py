"""Durations in annotations: seconds (`90`, `0.5`) or as Go writes them (`1m30s`)."""

import re
from typing import Final

__all__ = ["seconds_in"]

_UNITS: Final = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|ms|s|m|h)")
_PLAIN = re.compile(r"[0-9]+\.?[0-9]*|\.[0-9]+")


def seconds_in(text: str) -> float | None:
    """Read a duration; None for what is none."""
    if _PLAIN.fullmatch(text):
        return float(text)
    parts = list(_PART.finditer(text))
    if not parts or "".join(part[0] for part in parts) != text:
        return None
    return sum(float(part[1]) * _UNITS[part[2]] for part in parts)
