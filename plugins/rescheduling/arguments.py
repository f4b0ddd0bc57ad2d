"""Arguments of rescheduling, spelled as in the configuration file."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from framework.arguments import argument
from framework.conversions import Mismatch, convert
from framework.durations import parse_duration

__all__ = ["LOW_NODE_UTILIZATION", "ReschedulingArgs", "Strategy"]

LOW_NODE_UTILIZATION: Final = "lowNodeUtilization"
MEASURED_PERIOD: Final = "10m"
"""The one period over which usage of nodes is averaged."""
DIMENSIONS: Final = ("cpu", "memory")
NO_MARK: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """One way to choose pods that should move, with its marks for CPU and memory, percent."""

    name: str = LOW_NODE_UTILIZATION
    low: tuple[int, ...] = (NO_MARK, NO_MARK)
    """Below all of them a node is idle."""
    high: tuple[int, ...] = (NO_MARK, NO_MARK)
    """Above any of them a node is busy."""


def _interval(value: object) -> Fraction:
    seconds = parse_duration(value)
    if seconds < 0:
        raise ValueError("a duration of at least 0, such as 5m")
    return seconds


def _strategies(value: object) -> tuple[Strategy, ...]:
    if not isinstance(value, list) or not all(isinstance(each, Mapping) for each in value):
        raise ValueError("a list of mappings with name and params")
    return tuple(_strategy(each) for each in value)


def _strategy(written: Mapping[str, Any]) -> Strategy:
    params = written.get("params") or {}
    if not isinstance(params, Mapping):
        raise Mismatch(params, "a mapping", ".params")
    return Strategy(
        name=convert(str, written.get("name", "")),
        low=_marks(params, "thresholds"),
        high=_marks(params, "targetThresholds"),
    )


def _marks(params: Mapping[str, Any], key: str) -> tuple[int, ...]:
    marks = convert(Mapping[str, int], params.get(key) or {})
    return tuple(marks.get(name, NO_MARK) for name in DIMENSIONS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReschedulingArgs:
    """Arguments of rescheduling."""

    interval: Fraction = argument("interval", Fraction(300), parse=_interval)
    """Least time between two runs, a Go duration, kept in seconds."""
    metrics_period: str = argument("metricsPeriod", "5m")
    """Averages of usage over this time are read."""
    strategies: tuple[Strategy, ...] = argument("strategies", (Strategy(),), parse=_strategies)
    """What runs."""

    def doubts(self) -> Iterator[str]:
        """Name what has no effect."""
        if not self.reads_measurements:
            yield (
                f"metricsPeriod: usage is averaged over {MEASURED_PERIOD} alone; with {self.metrics_period!r} every "
                "node counts as idle and nothing moves"
            )
        for number, strategy in enumerate(self.strategies):
            if strategy.name != LOW_NODE_UTILIZATION:
                yield f"strategies[{number}].name: unknown strategy {strategy.name!r}, it is passed over"

    @property
    def reads_measurements(self) -> bool:
        """Whether the averages that are read exist."""
        return self.metrics_period == MEASURED_PERIOD
