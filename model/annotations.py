"""Annotations: JSON text that a tenant writes, as a value."""

from typing import Final, TypeVar

import msgspec

__all__ = ["read_json"]

T = TypeVar("T")

MOST_CHARACTERS: Final = 262_144
"""Maximum length of all annotations of an object in Kubernetes."""


def read_json(text: str, kind: type[T], *, longest: int = MOST_CHARACTERS) -> T:
    """Parse the text of an annotation.

    Args:
        text: The text.
        kind: Type of the value.
        longest: Maximum length of a text that is parsed.

    Raises:
        ValueError: The text is too long, is nested too deeply, or is not JSON of this kind.
    """
    if len(text) > longest:
        raise ValueError(f"{len(text)} characters, at most {longest} are supported")
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise ValueError(str(error)) from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
