"""Depth: JSON that is nested deeper than a decoder can follow, cut to what it can.

The API server takes custom resources of ten thousand levels; decoders give up at about a thousand. No field of ours is
deeper than thirty levels, so what is cut is never read.
"""

import re
from typing import Final

__all__ = ["MOST_LEVELS", "pruned"]

MOST_LEVELS: Final = 200
"""Levels of objects and arrays that are kept."""

_TOKENS: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]')


def pruned(data: bytes | memoryview) -> bytes:
    """Return JSON with `null` in place of every object and array below `MOST_LEVELS` levels."""
    text = bytes(data)
    pieces, kept_from, level = [], 0, 0
    for token in _TOKENS.finditer(text):
        match token.group():
            case b"[" | b"{":
                level += 1
                if level == MOST_LEVELS + 1:
                    pieces.append(text[kept_from : token.start()])
            case b"]" | b"}":
                if level == MOST_LEVELS + 1:
                    pieces.append(b"null")
                    kept_from = token.end()
                level -= 1
    if level > MOST_LEVELS:
        return b"".join(pieces)  # it was cut in its middle, and is no JSON
    return b"".join((*pieces, text[kept_from:]))
