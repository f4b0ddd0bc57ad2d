"""Arguments of elastic-quota: what is read, what is refused, what is doubted."""

from fractions import Fraction
from typing import Any

import pytest

from pyroclast.framework.configuration.arguments import decode
from pyroclast.plugins.elastic_quota import ElasticQuotaArgs


def read(**raw: Any) -> tuple[ElasticQuotaArgs, list[str]]:
    """What comes of arguments, and the warnings."""
    return decode(ElasticQuotaArgs, raw, "arguments")


def test_defaults() -> None:
    """What quotas promise is on; nothing is doubted."""
    args, warnings = read()
    assert (args.monitor_all, args.lends, args.checks_parents, args.cuts_guarantees) == (True,) * 4
    assert args.delay == Fraction(120)
    assert args.spares_default
    assert warnings == []


def test_values_are_read_as_koordinator_writes_them() -> None:
    """Durations of Go, quantities of Kubernetes."""
    args, warnings = read(delayEvictTime="1m30s", defaultQuotaGroupMax={"cpu": 2, "memory": "1Gi"})
    assert args.delay == Fraction(90)
    assert args.default_maximum == {"cpu": 2000, "memory": 1024**3 * 1000}
    assert warnings == []


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("delayEvictTime", "-1s"),
        ("delayEvictTime", 120),
        ("delayEvictTime", "soon"),
        ("defaultQuotaGroupMax", "2"),
        ("defaultQuotaGroupMax", {"cpu": "many"}),
        ("defaultQuotaGroupMax", {"cpu": -1}),
        ("systemQuotaGroupMax", {"cpu": None}),
        ("systemQuotaGroupMax", [1]),
        ("monitorAllQuotas", "perhaps"),
    ],
)
def test_what_cannot_be_read_warns_and_the_default_holds(key: str, value: Any) -> None:
    """With its path, what was got and what was expected."""
    args, warnings = read(**{key: value})
    assert args == ElasticQuotaArgs()
    (warning,) = warnings
    assert warning.startswith(f"arguments.{key}: got ")


@pytest.mark.parametrize(
    ("off", "told"),
    [
        ("monitorAllQuotas", "does not return borrowed resources"),
        ("enableRuntimeQuota", "permits quotas their maximum"),
        ("enableCheckParentQuota", "permits quotas together more than their parent"),
    ],
)
def test_disabled_features_are_reported(off: str, told: str) -> None:
    """Though it is what quotas are there for."""
    _, warnings = read(**{off: False})
    (warning,) = warnings
    assert warning.startswith(f"arguments.{off}: false {told}")
