"""Elasticsearch: reads the usage of all nodes with one search over the documents of Metricbeat."""

import math
from collections.abc import Collection
from typing import Any, Final
from urllib.parse import quote

import msgspec

from pyroclast.cache.usage.http_requests import ask
from pyroclast.cache.usage.source import PERIOD, SourceError, paired
from pyroclast.model.ids import NodeName
from pyroclast.model.usage import NodeUsage, UsageSource

__all__ = ["CPU_FIELD", "MEMORY_FIELD", "Elasticsearch"]

CPU_FIELD: Final = "host.cpu.usage"
MEMORY_FIELD: Final = "system.memory.actual.used.pct"
_PERCENT: Final = 100


class _Average(msgspec.Struct, frozen=True, kw_only=True):
    value: float | None = None


class _Bucket(msgspec.Struct, frozen=True, kw_only=True):
    key: str
    cpu: _Average = _Average()
    memory: _Average = _Average()


class _Buckets(msgspec.Struct, frozen=True, kw_only=True):
    buckets: list[_Bucket]


class _Aggregations(msgspec.Struct, frozen=True, kw_only=True):
    nodes: _Buckets


class _Answer(msgspec.Struct, frozen=True, kw_only=True):
    aggregations: _Aggregations
    timed_out: bool = False


_ANSWER: Final = msgspec.json.Decoder(_Answer)


class Elasticsearch:
    """Reads node usage from the search API of Elasticsearch. Its fields are fractions from 0 to 1."""

    def __init__(self, source: UsageSource) -> None:
        """Prepare to search at the address and in the index of `source`."""
        self._source = source

    async def measure(self, nodes: Collection[NodeName], now: float) -> dict[NodeName, NodeUsage]:
        """Return the average usage of each node whose documents have both CPU and memory.

        Raises:
            SourceError: The search failed, or timed out with partial results.
        """
        path = f"/{quote(self._source.index, safe='*,')}/_search"
        answer = await ask(self._source, path, decoder=_ANSWER, body=search(self._source.host_field, nodes))
        if answer.timed_out:
            raise SourceError("the search timed out with partial results")
        buckets = answer.aggregations.nodes.buckets
        cpu = {NodeName(each.key): (_percent(each.cpu), now) for each in buckets}
        memory = {NodeName(each.key): (_percent(each.memory), now) for each in buckets}
        known = frozenset(nodes)
        return {
            name: usage
            for name, usage in paired(cpu, memory).items()
            if name in known and math.isfinite(usage.cpu_percent) and math.isfinite(usage.memory_percent)
        }


def search(host_field: str, nodes: Collection[NodeName]) -> dict[str, Any]:
    """Return the search request for average usage by node."""
    names = sorted(nodes)
    return {
        "size": 0,
        "query": {
            "bool": {
                "filter": [
                    {"range": {"@timestamp": {"gte": f"now-{PERIOD}", "lt": "now"}}},
                    {"terms": {host_field: names}},
                ]
            }
        },
        "aggs": {
            "nodes": {
                "terms": {"field": host_field, "size": max(len(names), 1)},
                "aggs": {"cpu": {"avg": {"field": CPU_FIELD}}, "memory": {"avg": {"field": MEMORY_FIELD}}},
            }
        },
    }


def _percent(average: _Average) -> float:
    return math.nan if average.value is None else average.value * _PERCENT
