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
"""Maximum number of resources in the arguments, because reasons of refusals are numbered in a byte."""

_LARGEST: Final = 100
_FACTORS: Final = {CPU: 85, MEMORY: 70}
_THRESHOLDS: Final = {CPU: 65, MEMORY: 95}
_WEIGHTS: Final = {CPU: 1, MEMORY: 1}

Numbers = Mapping[str, int]
"""Numbers by resource name."""
Statistic = Literal["", "avg", "p50", "p90", "p95", "p99"]


def _numbers(value: object, *, least: int) -> Numbers:
    """Parse whole numbers from `least` to 100 by resource name. All faults are reported together."""
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
    """Parse numbers; if there are none, return the defaults."""
    return _numbers(value, least=least) or defaults


def _factors(value: object) -> Numbers:
    """Parse percentages above 0; resources that are not named keep their defaults."""
    return {**_FACTORS, **_numbers(value, least=1)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregated:
    """Statistics instead of averages."""

    thresholds: Numbers = argument("usageThresholds", {}, parse=partial(_numbers, least=0))
    """Thresholds of usage in percent, by resource; a node above one accepts no more pods."""
    kind: Statistic = argument("usageAggregationType", "")
    """Statistic that is compared with them; without one they have no effect."""
    seconds: Fraction = argument("usageAggregatedDuration", Fraction(0), parse=duration)
    """Period of the statistic; 0 for the longest reported period."""
    score_kind: Statistic = argument("scoreAggregationType", "")
    """Statistic for scores; without one the usage counts."""
    score_seconds: Fraction = argument("scoreAggregatedDuration", Fraction(0), parse=duration)
    """Period of this statistic; 0 for the longest reported period."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadAwareArgs:
    """Arguments of load-aware, with Koordinator's names; numbers by resource are percentages, except weights."""

    weight: int = argument("weight", 1, least=0)
    """Weight of this plugin's score; 0 disables it."""
    filters_expired: bool = argument("filterExpiredNodeMetrics", True)
    """Whether old measurements expire; otherwise they count like new ones."""
    expiration_seconds: int = argument("nodeMetricExpirationSeconds", 180, least=1)
    """Age at which a measurement expires."""
    takes_expired: bool = argument("enableScheduleWhenNodeMetricsExpired", False)
    """Whether nodes with an expired measurement accept pods."""
    weights: Numbers = argument("resourceWeights", {}, parse=partial(_numbers, least=1))
    """Weights of resources in the score. By default CPU and memory have 1, unless `dominantResourceWeight` is set."""
    dominant_weight: int = argument("dominantResourceWeight", 0, least=0, most=_LARGEST)
    """Additional weight of the scarcest resource."""
    thresholds: Numbers = argument(
        "usageThresholds", _THRESHOLDS, parse=partial(_with_defaults, defaults=_THRESHOLDS, least=0)
    )
    """Thresholds of usage in percent; a node above one accepts no more pods; 0 for no threshold."""
    prod_thresholds: Numbers = argument("prodUsageThresholds", {}, parse=partial(_numbers, least=0))
    """Thresholds of the usage of all koord-prod pods, for pods of that class."""
    prod_includes_system: bool = argument("prodUsageIncludeSys", False)
    """Whether usage outside pods counts towards the usage of koord-prod pods."""
    scores_prod: bool = argument("scoreAccordingProdUsage", False)
    """Whether nodes are scored for koord-prod pods by the usage of such pods."""
    aggregated: Aggregated = argument("aggregated", Aggregated(), nested=True)
    """Statistics instead of averages."""
    factors: Numbers = argument("estimatedScalingFactors", _FACTORS, parse=_factors)
    """Estimated usage of a pod as a percentage of its request or limit."""
    seconds_after_scheduled: int = argument("estimatedSecondsAfterPodScheduled", 0, least=0)
    """Seconds after its binding during which the estimate of a pod counts despite measurements; 0 disables this."""
    seconds_after_initialized: int = argument("estimatedSecondsAfterInitialized", 0, least=0)
    """Seconds after the end of its init containers during which the estimate of a pod counts; 0 disables this."""
    customised: bool = argument("allowCustomizeEstimation", False)
    """Whether annotations of pods set their estimates."""
    supported: tuple[str, ...] = argument("supportedResources", ())
    """Further resources for which annotations of nodes have thresholds."""

    def __post_init__(self) -> None:
        """Refuse arguments that cannot be evaluated."""
        for name in self.weights:
            if name not in self.factors:
                expected = "resources of estimatedScalingFactors: the usage of others is unknown"
                raise ArgumentError("resourceWeights", name, expected)
        if len(self.resources) > MOST_RESOURCES:
            got = f"{len(self.resources)} resources in all arguments"
            raise ArgumentError("supportedResources", got, f"at most {MOST_RESOURCES}")

    @property
    def importance(self) -> Numbers:
        """Weights of resources in the score."""
        return self.weights or ({} if self.dominant_weight else _WEIGHTS)

    @property
    def resources(self) -> tuple[str, ...]:
        """All resources of the arguments, sorted by name."""
        limits = self.thresholds, self.prod_thresholds, self.aggregated.thresholds
        others = self.weights, self.factors, self.supported
        return tuple(sorted({CPU, MEMORY, *(name for names in (*limits, *others) for name in names)}))

    def doubts(self) -> Iterable[str]:
        """Yield warnings about arguments without effect."""
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
