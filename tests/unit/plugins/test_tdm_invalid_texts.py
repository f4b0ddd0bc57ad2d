"""A malformed text of tdm evicts nothing: a budget that cannot be parsed is none, a window neither."""

from datetime import UTC, datetime

import pytest

from pyroclast.plugins.tdm.budgets import most_evictions
from pyroclast.testing import Outcome, Scenario

NOON = datetime(2030, 5, 1, 12, tzinfo=UTC).timestamp()


@pytest.mark.parametrize("key", ["volcano.sh/jdb-min-available", "volcano.sh/jdb-max-unavailable"])
@pytest.mark.parametrize("text", ["", "many", "-1", "50 %", "1e3"])
def test_a_budget_that_cannot_be_read_lets_one_go(key: str, text: str) -> None:
    """As where there is no budget."""
    assert most_evictions({key: text}, running=5, ended=0, tasks=5) == 1


def at_noon(window: str) -> Outcome:
    """A pod on a node of a zone with a window, at noon; strategies may name any pod."""
    scenario = Scenario().node("n", cpu=2, labels={"volcano.sh/revocable-zone": "rz1"})
    scenario = scenario.running("old", on=["n"], annotations={"volcano.sh/preemptable": "true"})
    scenario = scenario.job("new", annotations={"volcano.sh/preemptable": "true"})
    arguments = {"tdm": {"tdm.revocable-zone.rz1": window}}
    return scenario.run("allocate", "shuffle", plugins=("gang", "predicates", "tdm"), now=NOON, arguments=arguments)


def test_a_zone_whose_window_is_over_is_emptied() -> None:
    """The rule."""
    assert at_noon("22:00-6:00").evictions == ["old-0"]


def test_a_zone_whose_window_cannot_be_read_is_closed_and_left_alone() -> None:
    """No pod arrives or is evicted, and the text is reported."""
    outcome = at_noon("22-6")

    assert (outcome.bindings, outcome.evictions) == ({}, [])
    assert any("22-6" in warning for warning in outcome.warnings)
