"""Faults of fields, with the API server's messages."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

__all__ = ["FieldError", "Reason"]

_WORDS = {
    "Duplicate": "Duplicate value",
    "Forbidden": "Forbidden",
    "Invalid": "Invalid value",
    "NotSupported": "Unsupported value",
    "Required": "Required value",
    "TooLong": "Too long",
    "TooMany": "Too many",
    "TypeInvalid": "Invalid value",
}
_WITHOUT_VALUE = frozenset({"Forbidden", "Required", "TooLong"})


class Reason:
    """Kinds of fault; a Status carries them as `FieldValue…` causes."""

    DUPLICATE = "Duplicate"
    FORBIDDEN = "Forbidden"
    INVALID = "Invalid"
    NOT_SUPPORTED = "NotSupported"
    REQUIRED = "Required"
    TOO_LONG = "TooLong"
    TOO_MANY = "TooMany"
    TYPE_INVALID = "TypeInvalid"


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldError:
    """One fault of one field."""

    field: str
    """Path such as `spec.queues[0].weight`."""
    type: str
    """One of `Reason`."""
    detail: str = ""
    value: Any = ""
    """The offending value, where the message shows one."""

    @property
    def message(self) -> str:
        """The fault without its field, as in a Status' cause."""
        text = _WORDS.get(self.type, self.type)
        if self.type not in _WITHOUT_VALUE:
            text += f": {_shown(self.value)}"
        return f"{text}: {self.detail}" if self.detail else text

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"

    def cause(self) -> dict[str, str]:
        """The fault as a cause in the details of a Status."""
        return {"reason": f"FieldValue{self.type}", "message": self.message, "field": self.field}


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
