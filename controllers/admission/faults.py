"""Faults: errors of an object, as values that name field, value and limit."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

__all__ = ["Fault", "faults_message", "some", "the_first"]

_LONGEST_VALUE: Final = 100
"""Characters of a value in a message, so that messages stay short."""
_LONGEST_RULE: Final = 500
"""Characters of a rule, and of a path, in a message. Both quote the text of users."""
_MOST_LISTED: Final = 20
"""Faults that one message lists in full."""
_MOST_FOUND: Final = 100
"""Maximum number of faults that are searched for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One fault of an object."""

    field: str
    """Path in the form of Kubernetes, such as `spec.tasks[0].replicas`."""
    value: object = None
    """Current value. None if the field is absent, or if the rule names the value."""
    expected: str = ""
    """Permitted values, such as `at most 3`. Empty if the rule names them."""
    rule: str
    """The rule that is broken, in Volcano's words where it has some."""

    def __str__(self) -> str:
        """Return the fault as one line."""
        details = [
            *([f"got {_shown(self.value)}"] if self.value is not None else ()),
            *([f"expected {self.expected}"] if self.expected else ()),
        ]
        return f"{_clipped(self.field, _LONGEST_RULE)}: {_clipped(self.rule, _LONGEST_RULE)}" + (
            f" ({', '.join(details)})" if details else ""
        )


def some(names: Iterable[str], most: int = 10) -> str:
    """List the first names of many, because an object may have thousands of faulty tasks."""
    first = list(islice(names, most + 1))
    return ", ".join(first[:most]) + (", …" if len(first) > most else "")


def the_first(faults: Iterable[Fault]) -> tuple[Fault, ...]:
    """Return the first hundred faults, so that a malicious object costs a bounded time."""
    return tuple(islice(faults, _MOST_FOUND))


def faults_message(faults: Sequence[Fault]) -> str:
    """Return one message for all faults, with the first twenty in full."""
    more = len(faults) - _MOST_LISTED
    return "; ".join([*map(str, faults[:_MOST_LISTED]), *([f"and {more} more"] if more > 0 else ())])


def _shown(value: object) -> str:
    return _clipped(json.dumps(value, ensure_ascii=False, default=str), _LONGEST_VALUE)


def _clipped(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
