"""Texts from outside, shortened before they are kept or written."""

from typing import Final

__all__ = ["MOST_CHARACTERS", "said_by", "shortened"]

MOST_CHARACTERS: Final = 1024
"""What is kept of a text that a plugin or an extender gives; a pod's condition and an event hold that much."""


def shortened(text: str, most: int = MOST_CHARACTERS) -> str:
    """Return at most `most` characters of a text, with a sign where something is left out."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def said_by(error: BaseException) -> str:
    """Return what an exception says, shortened; its text may itself raise."""
    try:
        return shortened(str(error))
    except BaseException as failure:  # noqa: BLE001  # code from outside, and only for a message
        return f"(its text raises {type(failure).__name__})"
