"""Arguments of rescheduling, spelled as in the configuration file."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

from pyroclast.framework.configuration.arguments import argument
from pyroclast.model.durations import parse_duration

__all__ = ["LOW_NODE_UTILIZATION", "Marks", "Params", "ReschedulingArgs", "Strategy"]

LOW_NODE_UTILIZATION: Final = "lowNodeUtilization"
MEASURED_PERIOD: Final = "10m"
"""The only period over which the usage of nodes is averaged."""
NO_MARK: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """A threshold for each resource, in percent."""

    cpu: int = NO_MARK
    memory: int = NO_MARK

    @property
    def in_order(self) -> tuple[int, int]:
        """CPU, then memory."""
        return self.cpu, self.memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Parameters of a strategy."""

    thresholds: Marks = field(default_factory=Marks)
    """A node below all of them is idle."""
    target_thresholds: Marks = field(default_factory=Marks)
    """A node above any of them is busy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """A strategy that chooses pods to move."""

    name: str = ""
    params: Params = field(default_factory=Params)


def _interval(value: object) -> Fraction:
    seconds = parse_duration(value)
    if seconds < 0:
        raise ValueError("a duration of at least 0, such as 5m")
    return seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class ReschedulingArgs:
    """Arguments of rescheduling."""

    interval: Fraction = argument("interval", Fraction(300), parse=_interval)
    """Minimum time between two runs, a Go duration, stored in seconds."""
    metrics_period: str = argument("metricsPeriod", "5m")
    """Period of the usage averages."""
    strategies: tuple[Strategy, ...] = argument("strategies", (Strategy(name=LOW_NODE_UTILIZATION),))
    """The strategies; if empty, the default."""

    def doubts(self) -> Iterator[str]:
        """Yield warnings about arguments without effect."""
        if not self.reads_measurements:
            yield (
                f"metricsPeriod: usage is averaged over {MEASURED_PERIOD} alone; with {self.metrics_period!r} every "
                "node counts as idle and no pods are evicted"
            )
        for number, strategy in enumerate(self.strategies):
            if strategy.name != LOW_NODE_UTILIZATION:
                yield f"strategies[{number}].name: unknown strategy {strategy.name!r}, it is ignored"

    @property
    def in_force(self) -> tuple[Strategy, ...]:
        """The effective strategies."""
        return self.strategies or (Strategy(name=LOW_NODE_UTILIZATION),)

    @property
    def reads_measurements(self) -> bool:
        """Whether averages over the configured period exist."""
        return self.metrics_period == MEASURED_PERIOD
