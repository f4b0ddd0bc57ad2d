"""Measurements of node usage as objects of a file: what a dump writes, and what `pyroclast simulate` reads.

No server knows this kind; it stands in Lists beside those that servers know, so that a file is the whole of what
decisions depended on:

    {"kind": "NodeUsage", "metadata": {"name": "n1"}, "cpuPercent": 85.5, "memoryPercent": 40, "measured": 1800000000}
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from pyroclast.model import wire
from pyroclast.model.api.meta import ObjectMeta, Wire
from pyroclast.model.errors import ObjectError
from pyroclast.model.ids import NodeName
from pyroclast.model.usage import NodeUsage

__all__ = ["MEASURED", "NodeMeasurement", "measured_objects", "measurements"]

MEASURED: Final = "NodeUsage"
"""The kind."""


class NodeMeasurement(Wire, frozen=True, kw_only=True):
    """Averages over the last ten minutes of one node."""

    metadata: ObjectMeta = ObjectMeta()
    """The name is that of the node."""
    cpu_percent: float
    memory_percent: float
    measured: float | str
    """When: seconds since 1970, or RFC 3339."""


def measured_objects(usage: Mapping[NodeName, NodeUsage]) -> list[tuple[str, Any]]:
    """Return measurements as objects with their kind, by the names of the nodes."""
    return [
        (
            MEASURED,
            NodeMeasurement(
                metadata=ObjectMeta(name=name),
                cpu_percent=each.cpu_percent,
                memory_percent=each.memory_percent,
                measured=each.measured,
            ),
        )
        for name, each in sorted(usage.items())
    ]


def measurements(
    found: Iterable[tuple[str, Any]], report: Callable[[ObjectError], None] | None = None
) -> dict[NodeName, NodeUsage]:
    """Return the measurements among decoded objects, by node; of two the later one holds.

    Args:
        found: Objects with their kinds.
        report: Is told of times that cannot be read; such a measurement is left out.
    """
    usage = {}
    for kind, each in found:
        if kind != MEASURED:
            continue
        name = NodeName(each.metadata.name)
        try:
            moment = wire.unix_seconds(each.measured) if isinstance(each.measured, str) else each.measured
        except ValueError as error:
            if report is not None:
                report(ObjectError(MEASURED, name, "measured", str(error)))
            continue
        usage[name] = NodeUsage(cpu_percent=each.cpu_percent, memory_percent=each.memory_percent, measured=moment)
    return usage
