"""Prometheus: reads the usage of all nodes with two queries.

The label `instance` of a series is the name of its node.
"""

import math
from collections.abc import Collection, Mapping
from typing import Final

import msgspec

from pyroclast.cache.usage.http_requests import ask
from pyroclast.cache.usage.source import PERIOD, SourceError, paired
from pyroclast.model.ids import NodeName
from pyroclast.model.usage import NodeUsage, UsageSource

__all__ = ["CPU_QUERY", "MEMORY_QUERY", "Prometheus"]

CPU_QUERY: Final = (
    'avg_over_time(clamp_min(100 - (avg by (instance) (rate(node_cpu_seconds_total{mode="idle"}[5m])) * 100), 0)'
    f"[{PERIOD}:30s])"
)
MEMORY_QUERY: Final = (
    f"100 * avg_over_time((1 - node_memory_MemAvailable_bytes / node_memory_MemTotal_bytes)[{PERIOD}:30s])"
)
_VECTOR: Final = "vector"


class _Row(msgspec.Struct, frozen=True, kw_only=True):
    metric: Mapping[str, str]
    value: tuple[float, str]


class _Data(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    result_type: str = ""
    result: msgspec.Raw = msgspec.Raw(b"[]")


class _Answer(msgspec.Struct, frozen=True, kw_only=True):
    status: str = ""
    error: str = ""
    data: _Data = _Data()


_ANSWER: Final = msgspec.json.Decoder(_Answer)
_ROWS: Final = msgspec.json.Decoder(list[_Row])


class Prometheus:
    """Reads node usage from the HTTP API of Prometheus."""

    def __init__(self, source: UsageSource) -> None:
        """Prepare to query at the address of `source`."""
        self._source = source

    async def measure(self, nodes: Collection[NodeName], now: float) -> dict[NodeName, NodeUsage]:
        """Return the average usage of each node that has series of both CPU and memory.

        Raises:
            SourceError: A query failed.
        """
        known = frozenset(nodes)
        cpu, memory = [await self._query(query, known, now) for query in (CPU_QUERY, MEMORY_QUERY)]
        return paired(cpu, memory)

    async def _query(self, query: str, nodes: Collection[NodeName], now: float) -> dict[NodeName, tuple[float, float]]:
        """Return percent and time by node. The highest of several series of one node counts."""
        answer = await ask(self._source, "/api/v1/query", decoder=_ANSWER, query={"query": query})
        if answer.status != "success":
            raise SourceError(f"the query failed: {answer.error or answer.status}")
        if answer.data.result_type != _VECTOR:
            raise SourceError(f"the result has type {answer.data.result_type!r}, expected {_VECTOR!r}")
        found: dict[NodeName, tuple[float, float]] = {}
        for row in _rows(answer.data.result):
            name, percent = NodeName(row.metric.get("instance", "")), _number(row.value[1])
            if name in nodes and math.isfinite(percent):
                found[name] = max(found.get(name, (-math.inf, 0.0)), (percent, min(row.value[0], now)))
        return found


def _rows(result: msgspec.Raw) -> list[_Row]:
    try:
        return _ROWS.decode(result)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise SourceError(f"the answer is not a measurement: {error}") from error


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
