"""What is wrong with an object: a value that names field, value and limit."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

__all__ = ["Fault", "told"]

_LONGEST_VALUE: Final = 100
"""Characters of a value in a message: a user recognises it, and the answer stays small."""
_MOST_TOLD: Final = 20
"""Faults in one message; an object may have thousands, a terminal has not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One fault of an object."""

    field: str
    """Where, as Kubernetes writes it: `spec.tasks[0].replicas`."""
    value: object = None
    """What stands there; None when nothing does, or when the rule names it."""
    expected: str = ""
    """What may stand there: `at most 3`; empty when the rule says it."""
    rule: str
    """The rule that is broken, in Volcano's words where it has some."""

    def __str__(self) -> str:
        """Say all of it in one line."""
        details = [
            *([f"got {_shown(self.value)}"] if self.value is not None else ()),
            *([f"expected {self.expected}"] if self.expected else ()),
        ]
        return f"{self.field}: {self.rule}" + (f" ({', '.join(details)})" if details else "")


def told(faults: Sequence[Fault]) -> str:
    """Return all faults as one message, the first twenty in full."""
    more = len(faults) - _MOST_TOLD
    return "; ".join([*map(str, faults[:_MOST_TOLD]), *([f"and {more} more"] if more > 0 else ())])


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"
