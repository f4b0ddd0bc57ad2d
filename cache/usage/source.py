"""Source: what all kinds of monitoring systems have in common."""

from collections.abc import Collection, Mapping
from typing import Final, Protocol

from pyroclast.model.errors import PyroclastError
from pyroclast.model.ids import NodeName
from pyroclast.model.usage import NodeUsage

__all__ = ["PERIOD", "SourceError", "UsageReader", "paired"]

PERIOD: Final = "10m"
"""Over which averages are taken."""


class SourceError(PyroclastError):
    """A source did not answer, or with something else than measurements; earlier ones stay until they are too old."""


class UsageReader(Protocol):
    """A monitoring system."""

    async def measure(self, nodes: Collection[NodeName], now: float) -> dict[NodeName, NodeUsage]:
        """Return what is known of these nodes; those of which nothing is known are left out.

        Args:
            nodes: Their names.
            now: Seconds since 1970.

        Raises:
            SourceError: The answer cannot be used.
        """
        ...


def paired(
    cpu: Mapping[NodeName, tuple[float, float]], memory: Mapping[NodeName, tuple[float, float]]
) -> dict[NodeName, NodeUsage]:
    """Join (percent, moment) by node; a node without one of the two is not measured, the older moment holds."""
    return {
        name: NodeUsage(cpu_percent=percent, memory_percent=memory[name][0], measured=min(measured, memory[name][1]))
        for name, (percent, measured) in cpu.items()
        if name in memory
    }
