"""Source: the interface of monitoring systems."""

from collections.abc import Collection, Mapping
from typing import Final, Protocol

from pyroclast.model.errors import PyroclastError
from pyroclast.model.ids import NodeName
from pyroclast.model.usage import NodeUsage

__all__ = ["PERIOD", "SourceError", "UsageReader", "paired"]

PERIOD: Final = "10m"
"""Period of the averages."""


class SourceError(PyroclastError):
    """A source did not answer, or its answer is not a measurement. Earlier measurements stay until they are too old."""


class UsageReader(Protocol):
    """A monitoring system."""

    async def measure(self, nodes: Collection[NodeName], now: float) -> dict[NodeName, NodeUsage]:
        """Return the usage of the nodes that the source measures.

        Args:
            nodes: The names of all nodes.
            now: Seconds since 1970.

        Raises:
            SourceError: The answer cannot be used.
        """
        ...


def paired(
    cpu: Mapping[NodeName, tuple[float, float]], memory: Mapping[NodeName, tuple[float, float]]
) -> dict[NodeName, NodeUsage]:
    """Join (percent, time) of CPU and memory by node.

    A node without one of the two is left out. The older time is the time of the measurement.
    """
    return {
        name: NodeUsage(cpu_percent=percent, memory_percent=memory[name][0], measured=min(measured, memory[name][1]))
        for name, (percent, measured) in cpu.items()
        if name in memory
    }
