"""Types of command line arguments, whose refusals say what was expected."""

import argparse
from collections.abc import Callable
from typing import Final

from pyroclast.emulator.kinds.quantities import amount

__all__ = ["MOST_PORTS", "pair", "quantity", "seconds", "whole"]

MOST_PORTS: Final = 2**16 - 1


def whole(*, most: int | None = None) -> Callable[[str], int]:
    """Return a type for whole numbers from 0 to `most`."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"got {text!r}, expected a whole number") from None
        if number < 0:
            raise argparse.ArgumentTypeError(f"got {text}, expected at least 0")
        if most is not None and number > most:
            raise argparse.ArgumentTypeError(f"got {text}, expected less than {most + 1}")
        return number

    return read


def seconds(text: str) -> float:
    """Read a time, 0 or more."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise argparse.ArgumentTypeError(f"got {text!r}, expected seconds, 0 or more")
    return number


def quantity(text: str) -> str:
    """Let a quantity of Kubernetes pass, such as `64` or `256Gi`."""
    value = amount(text)
    if value is None or value < 0:
        raise argparse.ArgumentTypeError(f"got {text!r}, expected a quantity such as 64 or 256Gi")
    return text


def pair(text: str) -> tuple[str, str]:
    """Read `KEY=VALUE`."""
    key, separator, value = text.partition("=")
    if not key or not separator:
        raise argparse.ArgumentTypeError(f"got {text!r}, expected KEY=VALUE")
    return key, value
