"""Whether something holds often enough among clusters by chance, without looking at more of them than that takes."""

from collections.abc import Iterable

__all__ = ["at_least"]


def at_least(wanted: int, found: Iterable[bool]) -> bool:
    """Return whether so many are true; asks for no more once they are."""
    counted = 0
    for each in found:
        counted += each
        if counted >= wanted:
            return True
    return False
