"""Types of command line arguments. Their error messages state the expected value."""

from argparse import ArgumentTypeError
from collections.abc import Callable

__all__ = ["natural", "positive", "up_to"]


def natural(text: str) -> int:
    """Read a whole number, 0 or more."""
    return _whole(text, at_least=0)


def positive(text: str) -> int:
    """Read a whole number, 1 or more."""
    return _whole(text, at_least=1)


def up_to(most: int) -> Callable[[str], int]:
    """Return a function that reads a whole number from 1 to a maximum."""

    def read(text: str) -> int:
        number = _whole(text, at_least=1)
        if number > most:
            raise ArgumentTypeError(f"got {text}, expected at most {most}")
        return number

    return read


def _whole(text: str, *, at_least: int) -> int:
    try:
        number = int(text)
    except ValueError:
        raise ArgumentTypeError(f"got {text!r}, expected a whole number") from None
    if number < at_least:
        raise ArgumentTypeError(f"got {text}, expected at least {at_least}")
    return number
