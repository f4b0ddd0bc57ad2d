"""Secret: a text that prints as stars, so that no log, message or traceback shows it."""

from typing import Final

__all__ = ["NO_SECRET", "SecretText"]


class SecretText:
    """A password or token. Only code that sends it calls `reveal`."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        """Wrap a text."""
        self._text = text

    def reveal(self) -> str:
        """Return the text."""
        return self._text

    def __bool__(self) -> bool:
        """Return whether there is a text."""
        return bool(self._text)

    def __eq__(self, other: object) -> bool:
        """Return whether both hold the same text."""
        return isinstance(other, SecretText) and self._text == other._text

    def __hash__(self) -> int:
        """Return a hash of the text."""
        return hash(self._text)

    def __repr__(self) -> str:
        """Return stars."""
        return "***" if self._text else "''"


NO_SECRET: Final = SecretText("")
