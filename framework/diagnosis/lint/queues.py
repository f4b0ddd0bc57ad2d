"""Queues with fields whose effect differs from their apparent meaning."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pyroclast.framework.diagnosis.lint.finding import Finding, Severity
from pyroclast.model.quantity import parse as parse_quantity

__all__ = ["lint_queue"]

ZERO_IS_UNLIMITED: Final = frozenset({"cpu", "memory"})
"""Resources for which a capability of 0 sets no limit. For other resources it forbids their use."""
AMOUNTS: Final = ("capability", "deserved", "guarantee.resource")


def lint_queue(queue: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield what is odd about a Queue, given as the object of its manifest."""
    name = _mapping(queue.get("metadata")).get("name", "")
    spec = _mapping(queue.get("spec"))
    for part in AMOUNTS:
        amounts: Any = spec
        for key in part.split("."):
            amounts = _mapping(_mapping(amounts).get(key))
        for resource, amount in amounts.items():
            path = f"Queue {name}.spec.{part}.{resource}"
            try:
                value = parse_quantity(str(amount))
            except ValueError as error:
                yield Finding(Severity.FAULT, path, f"got {amount!r}: {error}")
                continue
            if part == "capability" and value == 0:
                yield Finding(Severity.WARNING, path, _meaning_of_zero(resource))


def _meaning_of_zero(resource: str) -> str:
    if resource in ZERO_IS_UNLIMITED:
        return f"0 sets no limit on {resource}; to close the queue set its state to Closed"
    return f"0 forbids {resource} in this queue, whereas 0 of cpu or memory would set no limit"


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
