"""Rescheduling by averages that are not measured evicts nothing, as in Volcano by default: there is a warning."""

import pytest

from pyroclast.framework.configuration.arguments import decode
from pyroclast.plugins.rescheduling import ReschedulingArgs


@pytest.mark.parametrize(
    ("raw", "is_told"), [({}, True), ({"metricsPeriod": "5m"}, True), ({"metricsPeriod": "10m"}, False)]
)
def test_an_unmeasured_period_is_reported(raw: dict[str, str], is_told: bool) -> None:
    """The default is one."""
    _, warnings = decode(ReschedulingArgs, raw, "arguments")

    assert any("metricsPeriod" in warning for warning in warnings) is is_told
