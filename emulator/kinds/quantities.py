"""Quantities, as far as the server itself must compare them: for a pod's quality of service."""

import functools
from fractions import Fraction
from typing import Any

__all__ = ["amount", "requests_of"]

SUFFIXES = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "k": Fraction(1000),
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


@functools.lru_cache(maxsize=4096)
def amount(word: str) -> Fraction | None:
    """The exact value of a quantity, or None for what is none."""
    for length in (2, 1):
        if word[-length:] in SUFFIXES:
            try:
                return Fraction(word[:-length]) * SUFFIXES[word[-length:]]
            except ValueError:
                return None
    try:
        return Fraction(word)
    except ValueError:
        return None


def requests_of(container: dict[str, Any], which: str) -> dict[str, Fraction]:
    """A container's requests or limits of cpu and memory, without zeros."""
    resources = container.get("resources")
    amounts = resources.get(which) if isinstance(resources, dict) else None
    if not isinstance(amounts, dict):
        return {}
    found = {name: amount(str(amounts[name])) for name in ("cpu", "memory") if name in amounts}
    return {name: value for name, value in found.items() if value}
