"""Gang permits everybody to gangreclaim, so capacity is heard in gang's tier alone; behind it a due is lost."""

from typing import Any

from pyroclast.testing import Outcome, Scenario


def gangreclaim(*tiers: Any) -> Outcome:
    """A queue that has the 2 CPU that it deserves, and a gang of another that wants both."""
    scenario = Scenario().node("n", cpu=2)
    scenario = scenario.queue("due", deserved={"cpu": 2}).queue("other", deserved={"cpu": 2})
    scenario = scenario.running("old", on=["n", "n"], queue="due", min_available=0)
    return scenario.job("new", tasks=2, queue="other", phase="Inqueue").run("gangreclaim", plugins=tiers)


def test_in_gangs_tier_it_spares_what_is_deserved() -> None:
    """Nobody goes."""
    assert gangreclaim(("gang", "capacity"), ("predicates",)).evictions == []


def test_behind_gangs_tier_it_is_not_asked() -> None:
    """Both go."""
    assert gangreclaim(("gang",), ("capacity", "predicates")).evictions == ["old-1", "old-0"]
