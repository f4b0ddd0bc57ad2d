"""Adaptor: reads node usage from the custom metrics API, which an adaptor such as prometheus-adapter serves."""

import math
from collections.abc import Collection
from typing import Final

import msgspec

from pyroclast.cache.usage.source import SourceError, paired
from pyroclast.kube.api.client import Client
from pyroclast.kube.api.errors import ApiError
from pyroclast.model import wire
from pyroclast.model.ids import NodeName
from pyroclast.model.quantity import QuantityError, parse
from pyroclast.model.usage import NodeUsage

__all__ = ["CPU_METRIC", "MEMORY_METRIC", "Adaptor"]

CPU_METRIC: Final = "node_cpu_usage_avg"
MEMORY_METRIC: Final = "node_memory_usage_avg"
_VERSIONS: Final = ("v1beta2", "v1beta1")
"""Versions of the API, newest first."""
_PERCENT: Final = 100


class _Described(msgspec.Struct, frozen=True, kw_only=True):
    name: str = ""


class _Item(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    described_object: _Described
    timestamp: str | None = ""
    value: str | float


class _List(msgspec.Struct, frozen=True, kw_only=True):
    items: list[_Item]


_LIST: Final = msgspec.json.Decoder(_List)


class Adaptor:
    """Reads custom metrics of nodes from the API server. Their values are fractions from 0 to 1."""

    def __init__(self, client: Client) -> None:
        """Prepare to read metrics with the client of the API server."""
        self._client = client

    async def measure(self, nodes: Collection[NodeName], now: float) -> dict[NodeName, NodeUsage]:
        """Return the measurements of these nodes, each with its timestamp.

        Raises:
            SourceError: The API is missing, or refuses the request.
        """
        known = frozenset(nodes)
        cpu, memory = [await self._metric(metric, known, now) for metric in (CPU_METRIC, MEMORY_METRIC)]
        return paired(cpu, memory)

    async def _metric(
        self, metric: str, nodes: Collection[NodeName], now: float
    ) -> dict[NodeName, tuple[float, float]]:
        found = {}
        for item in await self._items(metric):
            name, percent, measured = NodeName(item.described_object.name), _percent(item.value), _moment(item)
            if name in nodes and math.isfinite(percent) and measured:
                found[name] = (percent, min(measured, now))
        return found

    async def _items(self, metric: str) -> list[_Item]:
        """Return the values of a metric from the newest version of the API that the server has."""
        for version in _VERSIONS:
            path = f"/apis/custom.metrics.k8s.io/{version}/nodes/*/{metric}"
            try:
                return _LIST.decode(await self._client.request("GET", path)).items
            except (msgspec.MsgspecError, RecursionError) as error:
                raise SourceError(f"{metric}: the answer is not a list of metric values: {error}") from error
            except ApiError as error:
                if not error.is_not_found or version == _VERSIONS[-1]:
                    raise SourceError(f"{metric}: {error}") from error
        raise AssertionError("the loop above ends by returning or raising")  # pragma: no cover


def _percent(value: str | float) -> float:
    try:
        return float(parse(value) * _PERCENT)
    except QuantityError:
        return math.nan


def _moment(item: _Item) -> float:
    """Return the time of a measurement, seconds since 1970; 0 if its timestamp cannot be parsed."""
    try:
        return wire.unix_seconds(item.timestamp or "")
    except ValueError:
        return 0.0
