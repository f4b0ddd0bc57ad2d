"""Volcano's switches for caches of refusals are taken and change nothing: verdicts are always kept, and kept true."""

import pytest

from pyroclast.testing import Outcome, Scenario


def decided(*, is_on: bool) -> Outcome:
    """A cycle of all actions that read the switch, beside the switch of predicates."""
    scenario = Scenario().priority_class("high", 10).node("n", cpu=2).node("m", cpu=1, unschedulable=True)
    scenario = scenario.running("low", on=["n", "n"]).job("high", priority_class="high").job("huge", cpu=9)
    actions = ("allocate", "preempt", "reclaim", "backfill")
    arguments = {action: {"predicateErrorCacheEnable": is_on} for action in actions}
    arguments["predicates"] = {"predicate.CacheEnable": is_on}
    plugins = (("priority", "gang"), ("predicates", "proportion"))
    return scenario.run("enqueue", *actions, plugins=plugins, arguments=arguments)


@pytest.mark.parametrize("is_on", [False, True])
def test_they_are_accepted(is_on: bool) -> None:
    """Nothing is warned of."""
    assert decided(is_on=is_on).warnings == ()


def test_they_change_nothing() -> None:
    """Neither the victims nor the reasons of pending jobs."""
    off, on = decided(is_on=False), decided(is_on=True)

    assert off.evictions == on.evictions == ["low-1"]
    assert off.why("huge") == on.why("huge") != ""
