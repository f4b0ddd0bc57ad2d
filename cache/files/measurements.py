"""Measurements of node usage as objects in a file: a dump writes them, and `pyroclast simulate` reads them.

The kind exists only in files. Lists contain it beside the kinds of the API server, so that one file has all inputs of
the decisions:

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
"""The kind of measurements."""


class NodeMeasurement(Wire, frozen=True, kw_only=True):
    """Average usage of one node over the last ten minutes."""

    metadata: ObjectMeta = ObjectMeta()
    """Its name is the name of the node."""
    cpu_percent: float
    memory_percent: float
    measured: float | str
    """Time of the measurement: seconds since 1970, or RFC 3339."""


def measured_objects(usage: Mapping[NodeName, NodeUsage]) -> list[tuple[str, Any]]:
    """Return measurements as objects with their kind, in the order of node names."""
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
    """Return the measurements among decoded objects, by node. The last measurement of a node counts.

    Args:
        found: Objects with their kinds.
        report: Receives each time that cannot be read. Such a measurement is ignored.
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
