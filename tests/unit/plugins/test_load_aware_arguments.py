"""Arguments of load-aware: what is read, what is refused, what is doubted."""

from fractions import Fraction
from typing import Any

import pytest

from pyroclast.framework.configuration.arguments import decode
from pyroclast.model.errors import ConfigError
from pyroclast.plugins.load_aware import LoadAwareArgs


def read(**raw: Any) -> tuple[LoadAwareArgs, list[str]]:
    """What comes of arguments, and the warnings."""
    return decode(LoadAwareArgs, raw, "arguments")


def test_defaults() -> None:
    """Those of Koordinator; nothing is doubted."""
    args, warnings = read()

    assert warnings == []
    assert (args.filters_expired, args.expiration_seconds, args.takes_expired) == (True, 180, False)
    assert args.thresholds == {"cpu": 65, "memory": 95}
    assert args.factors == {"cpu": 85, "memory": 70}
    assert args.importance == {"cpu": 1, "memory": 1}
    assert (args.dominant_weight, args.prod_thresholds, args.scores_prod, args.prod_includes_system) == (
        0,
        {},
        False,
        False,
    )
    assert (args.aggregated.kind, args.aggregated.score_kind) == ("", "")
    assert (args.seconds_after_scheduled, args.seconds_after_initialized, args.customised) == (0, 0, False)
    assert args.resources == ("cpu", "memory")


def test_what_is_said_replaces_defaults_as_in_koordinator() -> None:
    """Thresholds and weights as a whole, scaling factors one by one; an empty mapping says nothing."""
    args, warnings = read(
        usageThresholds={"cpu": "70"},
        estimatedScalingFactors={"memory": 80, "example.com/slots": 50},
        resourceWeights={"example.com/slots": 3},
        supportedResources=["z"],
        aggregated={
            "usageThresholds": {"a": 1},
            "usageAggregationType": "p95",
            "usageAggregatedDuration": "5m",
            "scoreAggregationType": "p50",
        },
    )

    assert warnings == []
    assert args.thresholds == {"cpu": 70}
    assert args.factors == {"cpu": 85, "memory": 80, "example.com/slots": 50}
    assert args.importance == {"example.com/slots": 3}
    assert (args.aggregated.kind, args.aggregated.seconds, args.aggregated.score_kind) == ("p95", Fraction(300), "p50")
    assert args.resources == ("a", "cpu", "example.com/slots", "memory", "z")
    assert read(usageThresholds={}, resourceWeights={}, estimatedScalingFactors={}) == (LoadAwareArgs(), [])


def test_a_weight_of_the_scarcest_resource_stands_alone() -> None:
    """Without it CPU and memory count by themselves."""
    assert read(dominantResourceWeight=1)[0].importance == {}
    assert read(dominantResourceWeight=1, resourceWeights={"cpu": 2})[0].importance == {"cpu": 2}


@pytest.mark.parametrize(
    ("key", "value", "path"),
    [
        ("filterExpiredNodeMetrics", "perhaps", ""),
        ("nodeMetricExpirationSeconds", 0, ""),
        ("nodeMetricExpirationSeconds", "3m", ""),
        ("enableScheduleWhenNodeMetricsExpired", 1, ""),
        ("resourceWeights", {"cpu": 0}, ".cpu"),
        ("resourceWeights", {"cpu": 101}, ".cpu"),
        ("resourceWeights", ["cpu"], ""),
        ("dominantResourceWeight", 101, ""),
        ("dominantResourceWeight", -1, ""),
        ("usageThresholds", {"cpu": -1}, ".cpu"),
        ("usageThresholds", {"cpu": 65.5}, ".cpu"),
        ("prodUsageThresholds", {"memory": 101}, ".memory"),
        ("estimatedScalingFactors", {"cpu": 0}, ".cpu"),
        ("estimatedScalingFactors", 85, ""),
        ("estimatedSecondsAfterPodScheduled", -1, ""),
        ("estimatedSecondsAfterInitialized", "soon", ""),
        ("aggregated", "p95", ""),
        ("allowCustomizeEstimation", "x", ""),
        ("supportedResources", 1, ""),
        ("weight", -1, ""),
    ],
)
def test_what_cannot_be_read_warns_and_the_default_holds(key: str, value: Any, path: str) -> None:
    """With its path, what was got and what was expected."""
    args, warnings = read(**{key: value})

    assert args == LoadAwareArgs()
    (warning,) = warnings
    assert warning.startswith(f"arguments.{key}{path}: got ")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("usageThresholds", {"cpu": 200}),
        ("usageAggregationType", "p42"),
        ("usageAggregatedDuration", "-1s"),
        ("usageAggregatedDuration", 300),
        ("scoreAggregationType", "max"),
        ("scoreAggregatedDuration", "soon"),
    ],
)
def test_what_cannot_be_read_of_statistics_warns(key: str, value: Any) -> None:
    """Each by itself."""
    args, warnings = read(aggregated={key: value})

    assert args == LoadAwareArgs()
    (warning,) = warnings
    assert warning.startswith(f"arguments.aggregated.{key}")
    assert ": got " in warning


def test_every_fault_of_a_mapping_is_reported() -> None:
    """At once."""
    _, warnings = read(usageThresholds={"cpu": 101, "memory": -1})

    assert [warning.split(":")[0] for warning in warnings] == [
        "arguments.usageThresholds.cpu",
        "arguments.usageThresholds.memory",
    ]


def test_weights_of_what_is_not_estimated_are_refused() -> None:
    """Every pod would seem to use none of it."""
    with pytest.raises(ConfigError, match=r"\.resourceWeights: got 'example.com/slots', expected resources of"):
        read(resourceWeights={"example.com/slots": 1})


def test_more_resources_than_reasons_can_name_are_refused() -> None:
    """A hundred is far beyond any measurement."""
    with pytest.raises(ConfigError, match=r"arguments\.supportedResources: got '102 resources .*expected at most 100"):
        read(supportedResources=[f"example.com/r{number}" for number in range(100)])


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        ({"aggregated": {"usageThresholds": {"cpu": 1}}}, "aggregated.usageThresholds: has no effect without"),
        ({"aggregated": {"usageAggregationType": "p95"}}, "aggregated.usageAggregationType: has no effect without"),
        (
            {"aggregated": {"usageAggregatedDuration": "5m"}},
            "aggregated.usageAggregatedDuration: has no effect",
        ),
        (
            {"aggregated": {"scoreAggregatedDuration": "5m"}},
            "aggregated.scoreAggregatedDuration: has no effect",
        ),
        ({"prodUsageIncludeSys": True}, "prodUsageIncludeSys: has no effect without"),
        (
            {"filterExpiredNodeMetrics": False, "enableScheduleWhenNodeMetricsExpired": True},
            "enableScheduleWhenNodeMetricsExpired: has no effect beside",
        ),
    ],
)
def test_arguments_without_effect_are_reported(raw: dict[str, Any], told: str) -> None:
    """It is not refused."""
    _, warnings = read(**raw)

    (warning,) = warnings
    assert warning.startswith(f"arguments.{told}")


def test_what_belongs_together_is_not_doubted() -> None:
    """Statistics with their kind, system use with what counts it."""
    aggregated = {"usageThresholds": {"cpu": 1}, "usageAggregationType": "p95", "usageAggregatedDuration": "5m"}

    assert read(aggregated=aggregated)[1] == []
    assert read(aggregated={"scoreAggregationType": "avg", "scoreAggregatedDuration": "5m"})[1] == []
    assert read(prodUsageIncludeSys=True, scoreAccordingProdUsage=True)[1] == []
