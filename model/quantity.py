"""Quantities of Kubernetes, read exactly and written canonically.

Grammar and rounding are those of apimachinery's `resource.Quantity`: a signed decimal number, then a decimal suffix
(n u m k M G T P E), a binary one (Ki to Ei) or a decimal exponent. Digits below a billionth are rounded away from
zero, and amounts saturate at the largest signed 64-bit integer.
"""

import math
import re
from fractions import Fraction
from functools import lru_cache
from typing import Final

from pyroclast.model.errors import PyroclastError

__all__ = ["MAX_AMOUNT", "QuantityError", "format_bytes", "format_count", "format_millis", "millis", "parse", "units"]

MAX_AMOUNT: Final = 2**63 - 1
"""Amounts beyond this count as this."""

_CACHE_SIZE: Final = 65_536

_LONGEST: Final = 1000
"""Maximum number of characters of a quantity. A longer text is not a real amount, and parsing it is slow or fails."""

_GRAMMAR = re.compile(
    r"(?P<sign>[+-]?)(?P<number>[0-9]+\.?[0-9]*|\.[0-9]+)"
    r"(?:(?P<suffix>[numkMGTPE]|[KMGTPE]i)|[eE](?P<exponent>[+-]?[0-9]+))?"
)

_FACTORS: Final = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 10**3),
    "k": Fraction(10**3),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
    "P": Fraction(10**15),
    "E": Fraction(10**18),
    "Ki": Fraction(2**10),
    "Mi": Fraction(2**20),
    "Gi": Fraction(2**30),
    "Ti": Fraction(2**40),
    "Pi": Fraction(2**50),
    "Ei": Fraction(2**60),
}
_DECIMAL_STEPS: Final = ("", "k", "M", "G", "T", "P", "E")
_BINARY_STEPS: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_NANOS_PER_UNIT: Final = 10**9
_LARGEST_EXPONENT: Final = 64
"""Beyond it every amount saturates or rounds to a billionth, so the power itself is never computed."""


class QuantityError(PyroclastError, ValueError):
    """A text is no quantity; remedy: fix the object it stands in."""

    def __init__(self, text: object) -> None:
        """Name the text."""
        shown = text[:100] + "…" if isinstance(text, str) and len(text) > _LONGEST else text
        super().__init__(f"{shown!r} is not a quantity")
        self.text = text


@lru_cache(_CACHE_SIZE, typed=True)
def parse(text: str | float) -> Fraction:
    """Read a quantity, or a number as JSON has it, exactly.

    Raises:
        QuantityError: The text does not follow the grammar, or is longer than a thousand characters.
    """
    if isinstance(text, bool) or (isinstance(text, str) and len(text) > _LONGEST):
        raise QuantityError(text)
    match = _GRAMMAR.fullmatch(text if isinstance(text, str) else repr(text))
    if match is None:
        raise QuantityError(text)
    magnitude = _magnitude(match["number"], match["suffix"], match["exponent"])
    return -magnitude if match["sign"] == "-" else magnitude


@lru_cache(_CACHE_SIZE, typed=True)
def units(quantity: str | float | Fraction) -> int:
    """Whole units, a fraction rounded away from zero (`Value` of Kubernetes).

    Raises:
        QuantityError: The text is no quantity.
    """
    return _away_from_zero(_exact(quantity))


@lru_cache(_CACHE_SIZE, typed=True)
def millis(quantity: str | float | Fraction) -> int:
    """Thousandths, a fraction of one rounded away from zero (`MilliValue` of Kubernetes).

    Raises:
        QuantityError: The text is no quantity.
    """
    return _away_from_zero(_exact(quantity) * 1000)


def format_millis(amount: int) -> str:
    """Write thousandths, of a CPU for example: 1500 is `1500m`, 2000 is `2`."""
    return f"{amount}m" if amount % 1000 else format_count(amount // 1000)


def format_bytes(amount: int) -> str:
    """Write bytes with the largest binary suffix that keeps them whole: 1073741824 is `1Gi`."""
    return _with_largest_step(amount, 1024, _BINARY_STEPS)


def format_count(amount: int) -> str:
    """Write a count with the largest decimal suffix that keeps it whole: 1000 is `1k`."""
    return _with_largest_step(amount, 1000, _DECIMAL_STEPS)


def _magnitude(number: str, suffix: str | None, exponent: str | None) -> Fraction:
    value = Fraction(number)
    if suffix:
        value *= _FACTORS[suffix]
    elif exponent and value:
        value *= Fraction(10) ** max(-_LARGEST_EXPONENT - len(number), min(int(exponent), _LARGEST_EXPONENT))
    nanos = value * _NANOS_PER_UNIT
    if nanos.denominator != 1:
        value = Fraction(math.ceil(nanos), _NANOS_PER_UNIT)
    return min(value, Fraction(MAX_AMOUNT))


def _exact(quantity: str | float | Fraction) -> Fraction:
    return quantity if isinstance(quantity, Fraction) else parse(quantity)


def _away_from_zero(value: Fraction) -> int:
    magnitude = min(math.ceil(abs(value)), MAX_AMOUNT)
    return magnitude if value >= 0 else -magnitude


def _with_largest_step(amount: int, base: int, suffixes: tuple[str, ...]) -> str:
    step = 0
    while amount and step + 1 < len(suffixes) and amount % base == 0:
        amount //= base
        step += 1
    return f"{amount}{suffixes[step]}"
