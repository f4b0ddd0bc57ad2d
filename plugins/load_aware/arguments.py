"""Arguments of load-aware."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Final, Literal

from pyroclast.framework.configuration.arguments import argument
from pyroclast.framework.configuration.conversions import Mismatch, convert, duration
from pyroclast.model.errors import ArgumentError
from pyroclast.model.resources import CPU, MEMORY

__all__ = ["MOST_RESOURCES", "Aggregated", "LoadAwareArgs", "Numbers", "Statistic"]

MOST_RESOURCES: Final = 100
"""Resources that arguments may speak of together: reasons of refusals are numbered in a byte."""

_LARGEST: Final = 100
_FACTORS: Final = {CPU: 85, MEMORY: 70}
_THRESHOLDS: Final = {CPU: 65, MEMORY: 95}
_WEIGHTS: Final = {CPU: 1, MEMORY: 1}

Numbers = Mapping[str, int]
"""By resource name."""
Statistic = Literal["", "avg", "p50", "p90", "p95", "p99"]


def _numbers(value: object, *, least: int) -> Numbers:
    """Read whole numbers from `least` to 100 by resource name; all that is wrong is told."""
    read: Numbers = convert(Mapping[str, int], value)
    wrong = [
        Mismatch(number, f"a whole number from {least} to {_LARGEST}", f".{name}")
        for name, number in read.items()
        if not least <= number <= _LARGEST
    ]
    if wrong:
        first, *others = wrong
        raise Mismatch(first.got, first.expected, first.path, others)
    return read


def _with_defaults(value: object, *, defaults: Numbers, least: int) -> Numbers:
    """Read numbers; where there are none at all the defaults hold."""
    return _numbers(value, least=least) or defaults


def _factors(value: object) -> Numbers:
    """Read percentages above 0; resources that are not named keep theirs."""
    return {**_FACTORS, **_numbers(value, least=1)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregated:
    """Statistics in place of averages."""

    thresholds: Numbers = argument("usageThresholds", {}, parse=partial(_numbers, least=0))
    """Percent by resource above which a node takes no more pods."""
    kind: Statistic = argument("usageAggregationType", "")
    """Which statistic is held against them; without one they have no effect."""
    seconds: Fraction = argument("usageAggregatedDuration", Fraction(0), parse=duration)
    """Of which period; 0 for the longest that is reported."""
    score_kind: Statistic = argument("scoreAggregationType", "")
    """Which statistic nodes are scored by; without one the usage."""
    score_seconds: Fraction = argument("scoreAggregatedDuration", Fraction(0), parse=duration)
    """Of which period; likewise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadAwareArgs:
    """Arguments of load-aware, spelled as Koordinator's; numbers by resource are percent, but for weights."""

    weight: int = argument("weight", 1, least=0)
    """Say of this plugin in the node order; 0 mutes it there."""
    filters_expired: bool = argument("filterExpiredNodeMetrics", True)
    """Whether old measurements are known for what they are; else they count as if they were new."""
    expiration_seconds: int = argument("nodeMetricExpirationSeconds", 180, least=1)
    """Age from which on a measurement is old."""
    takes_expired: bool = argument("enableScheduleWhenNodeMetricsExpired", False)
    """Whether nodes whose measurement is old take pods, whatever it says."""
    weights: Numbers = argument("resourceWeights", {}, parse=partial(_numbers, least=1))
    """Importance of resources in the score; of CPU and memory 1 where nothing is said, nor of what is scarcest."""
    dominant_weight: int = argument("dominantResourceWeight", 0, least=0, most=_LARGEST)
    """Importance of the resource of which least is left, beside its own."""
    thresholds: Numbers = argument(
        "usageThresholds", _THRESHOLDS, parse=partial(_with_defaults, defaults=_THRESHOLDS, least=0)
    )
    """Loads above which a node takes no more pods; 0 for any."""
    prod_thresholds: Numbers = argument("prodUsageThresholds", {}, parse=partial(_numbers, least=0))
    """The same of what pods of koord-prod use together, for pods of that class."""
    prod_includes_system: bool = argument("prodUsageIncludeSys", False)
    """Whether what runs outside of pods counts to what pods of koord-prod use."""
    scores_prod: bool = argument("scoreAccordingProdUsage", False)
    """Whether nodes are scored for pods of koord-prod by what such pods use."""
    aggregated: Aggregated = argument("aggregated", Aggregated(), nested=True)
    """Statistics in place of averages."""
    factors: Numbers = argument("estimatedScalingFactors", _FACTORS, parse=_factors)
    """What a pod is taken to use of its request or limit."""
    seconds_after_scheduled: int = argument("estimatedSecondsAfterPodScheduled", 0, least=0)
    """For how long a pod counts with its estimate from its binding on, whatever is measured; 0 for not."""
    seconds_after_initialized: int = argument("estimatedSecondsAfterInitialized", 0, least=0)
    """The same from the moment on at which its init containers have ended."""
    customised: bool = argument("allowCustomizeEstimation", False)
    """Whether annotations of pods say how they are estimated."""
    supported: tuple[str, ...] = argument("supportedResources", ())
    """Further resources that annotations of nodes have thresholds for."""

    def __post_init__(self) -> None:
        """Refuse what cannot be computed."""
        for name in self.weights:
            if name not in self.factors:
                expected = "resources of estimatedScalingFactors: what pods use of others is unknown"
                raise ArgumentError("resourceWeights", name, expected)
        if len(self.resources) > MOST_RESOURCES:
            got = f"{len(self.resources)} resources in all arguments"
            raise ArgumentError("supportedResources", got, f"at most {MOST_RESOURCES}")

    @property
    def importance(self) -> Numbers:
        """Importance of resources in the score."""
        return self.weights or ({} if self.dominant_weight else _WEIGHTS)

    @property
    def resources(self) -> tuple[str, ...]:
        """All resources that are looked at, in the order of their names."""
        limits = self.thresholds, self.prod_thresholds, self.aggregated.thresholds
        others = self.weights, self.factors, self.supported
        return tuple(sorted({CPU, MEMORY, *(name for names in (*limits, *others) for name in names)}))

    def doubts(self) -> Iterable[str]:
        """Name what has no effect."""
        aggregated = self.aggregated
        if aggregated.thresholds and not aggregated.kind:
            yield "aggregated.usageThresholds: has no effect without aggregated.usageAggregationType"
        if aggregated.kind and not aggregated.thresholds:
            yield "aggregated.usageAggregationType: has no effect without aggregated.usageThresholds"
        if aggregated.seconds and not aggregated.kind:
            yield "aggregated.usageAggregatedDuration: has no effect without aggregated.usageAggregationType"
        if aggregated.score_seconds and not aggregated.score_kind:
            yield "aggregated.scoreAggregatedDuration: has no effect without aggregated.scoreAggregationType"
        if self.prod_includes_system and not (self.scores_prod or any(self.prod_thresholds.values())):
            yield "prodUsageIncludeSys: has no effect without prodUsageThresholds or scoreAccordingProdUsage"
        if self.takes_expired and not self.filters_expired:
            yield "enableScheduleWhenNodeMetricsExpired: has no effect beside filterExpiredNodeMetrics false"
