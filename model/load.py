"""Load: measured usage of nodes and their pods, parsed from NodeMetrics.

Each version of an object is parsed once. Malformed parts are reported and left out. If the usage of the node itself is
malformed, the usage of the node is unknown.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, NamedTuple

from pyroclast.model import wire
from pyroclast.model.colocation import PROD
from pyroclast.model.durations import parse_duration
from pyroclast.model.errors import ObjectError
from pyroclast.model.ids import TaskId
from pyroclast.model.quantity import QuantityError, millis, units
from pyroclast.model.requests import LARGEST_REQUEST
from pyroclast.model.resources import CPU
from pyroclast.model.sealed import SealedDict
from pyroclast.model.tasks import Task

__all__ = ["NANOSECONDS", "NodeLoad", "PodLoad", "Use", "read_load"]

Use = Mapping[str, int]
"""Amounts in use by resource name: CPU in thousandths, everything else in whole units."""

NANOSECONDS: Final = 10**9
"""In a second: durations are whole in these, and compare fast."""

_KIND: Final = "NodeMetric"
_INTERVAL_SECONDS: Final = 60
"""Default time between two reports."""


class PodLoad(NamedTuple):
    """Usage of one pod."""

    use: Use
    is_prod: bool
    """Whether the agent reports the priority class koord-prod."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NodeLoad:
    """Usage of one node. Immutable except for the memo of values derived from it and the tasks on its node."""

    measured: float | None
    """Time of the measurement, seconds since 1970; None if unknown."""
    interval_seconds: int
    """Time between two reports."""
    usage: Use | None
    """Usage of the whole node; None if nothing was measured."""
    system: Use
    """Usage outside of pods."""
    aggregated: Mapping[tuple[str, int], Use]
    """Statistics of the whole node, by their kind and period in nanoseconds."""
    pods: Mapping[str, PodLoad]
    """Usage of pods, by `namespace/name`."""
    _memo: dict[Hashable, tuple[Mapping[TaskId, Task], tuple[int, ...]]] = field(default_factory=dict, init=False)

    def statistic(self, kind: str, nanoseconds: int) -> Use | None:
        """Return a statistic of the whole node.

        Args:
            kind: `avg`, `p50`, `p90`, `p95` or `p99`.
            nanoseconds: Its period; 0 for the longest there is, which is the usage itself where there is none.

        Returns:
            None if it was not reported.
        """
        if nanoseconds:
            return self.aggregated.get((kind, nanoseconds))
        longest = max((period for known, period in self.aggregated if known == kind), default=None)
        return self.usage if longest is None else self.aggregated[kind, longest]

    def derive(
        self, key: Hashable, tasks: Mapping[TaskId, Task], compute: Callable[[], tuple[int, ...]]
    ) -> tuple[int, ...]:
        """Return the result of `compute`, computed once for these tasks of the node. `key` must identify it fully."""
        known = self._memo.get(key)
        # a copy of the same tasks, as when another node comes or goes, is compared in a hundredth of the time
        if known is None or (known[0] is not tasks and known[0] != tasks):
            known = self._memo[key] = tasks, compute()
        return known[1]


def read_load(metric: wire.NodeMetric, report: Callable[[ObjectError], None]) -> NodeLoad:
    """Parse a NodeMetric.

    Args:
        metric: The object.
        report: Receives each part that cannot be parsed; that part is left out.

    Raises:
        ObjectError: The usage of the node itself cannot be parsed.
    """
    return _Reader(metric.metadata.name, report).read(metric)


class _Reader:
    """Reads one object."""

    def __init__(self, name: str, report: Callable[[ObjectError], None]) -> None:
        self._name, self._report = name, report

    def read(self, metric: wire.NodeMetric) -> NodeLoad:
        """Read all of it."""
        status, info = metric.status, metric.status.node_metric
        path = "status.nodeMetric"
        usage, system = None, None
        if info is not None:
            usage = self._use(info.node_usage, f"{path}.nodeUsage")
            system = self._use_or_none(info.system_usage, f"{path}.systemUsage")
        return NodeLoad(
            measured=self._moment(status.update_time),
            interval_seconds=self._interval(metric.spec.metric_collect_policy.report_interval_seconds),
            usage=usage,
            system=SealedDict(system or {}),
            aggregated=SealedDict(() if info is None else self._aggregated(info, f"{path}.aggregatedNodeUsages")),
            pods=SealedDict(self._pods(status.pods_metric)),
        )

    def _moment(self, text: str) -> float | None:
        try:
            return wire.unix_seconds(text) if text else None
        except ValueError as error:
            self._complain("status.updateTime", f"{error}; it counts as expired")
            return None

    def _interval(self, seconds: int | None) -> int:
        if seconds is None or seconds < 0:
            if seconds is not None:
                message = f"{seconds} is negative; read as {_INTERVAL_SECONDS}"
                self._complain("spec.metricCollectPolicy.reportIntervalSeconds", message)
            return _INTERVAL_SECONDS
        return seconds

    def _aggregated(self, info: wire.NodeMetricInfo, path: str) -> Iterator[tuple[tuple[str, int], Use]]:
        for position, each in enumerate(info.aggregated_node_usages):
            try:
                seconds = parse_duration(each.duration or "0")
            except ValueError:
                seconds = Fraction(-1)
            if seconds < 0:
                message = f"got {each.duration[:100]!r}, expected a duration of at least 0, such as 5m; left out"
                self._complain(f"{path}[{position}].duration", message)
                continue
            for kind, amounts in each.usage.items():
                use = self._use_or_none(amounts, f"{path}[{position}].usage.{kind}")
                if use:
                    yield (kind, int(seconds * NANOSECONDS)), use

    def _pods(self, pods: tuple[wire.PodMetricInfo, ...]) -> Iterator[tuple[str, PodLoad]]:
        for position, each in enumerate(pods):
            use = self._use_or_none(each.pod_usage, f"status.podsMetric[{position}].podUsage")
            if use:
                yield f"{each.namespace}/{each.name}", PodLoad(use, each.priority == PROD)

    def _use_or_none(self, amounts: wire.ResourceMap, path: str) -> Use | None:
        try:
            return self._use(amounts, path)
        except ObjectError as fault:
            self._report(fault)
            return None

    def _use(self, amounts: wire.ResourceMap, path: str) -> Use:
        use = {}
        for name, text in amounts.resources.items():
            try:
                amount = millis(text) if name == CPU else units(text)
            except QuantityError as error:
                raise ObjectError(_KIND, self._name, f"{path}.resources.{name}", str(error)) from None
            if amount < 0:
                raise ObjectError(_KIND, self._name, f"{path}.resources.{name}", f"{text} is negative")
            use[name] = min(amount, LARGEST_REQUEST)
        return SealedDict(use)

    def _complain(self, path: str, message: str) -> None:
        self._report(ObjectError(_KIND, self._name, path, message))
