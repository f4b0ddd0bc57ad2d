"""Booleans in texts, as Go reads them."""

from typing import Final

__all__ = ["GO_BOOLEANS"]

GO_BOOLEANS: Final = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False),
}
"""Texts that Go's `strconv.ParseBool` accepts."""
