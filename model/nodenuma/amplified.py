"""Amplified amounts: a node may offer more than it has, by a ratio for each resource.

CPUs that a pod has for itself are physical, so they count amplified: with ratio 1.5, a pod with 4 CPUs of its own uses
6 of the amplified ones. Ratios are read as decimal numbers, and amounts are rounded up (CPU in thousandths, other
resources in whole units).
"""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final

from pyroclast.model.annotations import read_json
from pyroclast.model.quantity import QuantityError, parse
from pyroclast.model.resources import CPU, MILLI
from pyroclast.model.sealed import SealedDict

__all__ = ["LARGEST_RATIO", "NO_RATIOS", "Ratios", "amplified", "read_ratios"]

Ratios = Mapping[str, Fraction]
"""Ratios above 1, by resource."""

NO_RATIOS: Final[Ratios] = SealedDict()
LARGEST_RATIO: Final = 1000
"""A larger ratio is a slip."""


def amplified(amount: int, ratio: Fraction | None, name: str = CPU) -> int:
    """Return an amplified amount, thousandths; the amount itself without a ratio."""
    if ratio is None:
        return amount
    step = 1 if name == CPU else MILLI
    return math.ceil(amount * ratio / step) * step


def read_ratios(text: str) -> Ratios:
    """Read ratios; those of at most 1 do not count.

    Raises:
        ValueError: The text is not a JSON object, or a ratio is not a number of at most `LARGEST_RATIO`.
    """
    decoded = read_json(text, dict[str, Any])
    found = {name: _ratio(name, value) for name, value in decoded.items() if value is not None}
    return SealedDict({name: ratio for name, ratio in sorted(found.items()) if ratio > 1})


def _ratio(name: str, value: object) -> Fraction:
    try:
        ratio = parse(value) if isinstance(value, (int, float)) else None
    except QuantityError:
        ratio = None
    if ratio is None or ratio > LARGEST_RATIO:
        raise ValueError(f"{name[:40]!r}: {str(value)[:40]}, expected a number of at most {LARGEST_RATIO}")
    return ratio
