"""Texts from outside, shortened before they are kept or written."""

from typing import Final

__all__ = ["MOST_CHARACTERS", "quoted", "said_by", "shortened"]

MOST_CHARACTERS: Final = 1024
"""Maximum length of a text from a plugin or an extender. A pod's condition and an event hold that many characters."""

_MOST_QUOTED: Final = 64
"""Maximum length of a malformed text in a message."""


def shortened(text: str, most: int = MOST_CHARACTERS) -> str:
    """Return at most `most` characters of a text, with an ellipsis if it is cut."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def quoted(text: str) -> str:
    """Return a text in quotes for a message, shortened."""
    return repr(shortened(text, _MOST_QUOTED))


def said_by(error: BaseException) -> str:
    """Return the text of an exception, shortened. Its `__str__` may itself raise."""
    try:
        return shortened(str(error))
    except BaseException as failure:  # noqa: BLE001  # code from outside, and only for a message
        return f"(its text raises {type(failure).__name__})"
