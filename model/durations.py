"""Durations as Go writes them: `300ms`, `1h2m3.5s`."""

import re
from fractions import Fraction
from typing import Final

__all__ = ["parse_duration"]

UNITS_NANOSECONDS: Final = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,  # micro sign
    "μs": 10**3,  # the Greek letter, which Go accepts too
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
MAX_NANOSECONDS: Final = 2**63 - 1
"""Go keeps durations in 63 bits: about 292 years."""

PIECE: Final = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)")
WHOLE: Final = re.compile(rf"[-+]?(?:{PIECE.pattern})+")
MAX_LENGTH: Final = 128
"""Longer texts are not durations. Bounds the work on text from the cluster."""


def parse_duration(text: object) -> Fraction:
    """Return the seconds that a duration means, exactly; parts below a nanosecond are cut off, unit by unit.

    Raises:
        ValueError: The value is not a text, is not a duration, or is beyond 292 years.
    """
    if not isinstance(text, str) or len(text) > MAX_LENGTH:
        raise ValueError("a duration such as 1h30m or 100ms")
    if text in {"0", "+0", "-0"}:
        return Fraction(0)
    if not WHOLE.fullmatch(text):
        raise ValueError("a duration such as 1h30m or 100ms")
    nanoseconds = sum(int(Fraction(_number(amount)) * UNITS_NANOSECONDS[unit]) for amount, unit in PIECE.findall(text))
    if nanoseconds > MAX_NANOSECONDS:
        raise ValueError("a duration below 292 years")
    return Fraction(-nanoseconds if text.startswith("-") else nanoseconds, 10**9)


def _number(amount: str) -> str:
    """Return a decimal that `Fraction` reads: `.5` and `5.` are written out."""
    return f"0{amount}" if amount.startswith(".") else amount.rstrip(".")
