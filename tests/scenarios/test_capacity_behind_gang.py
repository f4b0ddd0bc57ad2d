"""Gang permits every candidate of gangreclaim; capacity protects what queues deserve in whichever tier it stands."""

from typing import Any

from pyroclast.testing import Outcome, Scenario


def gangreclaim(*tiers: Any, protects: bool = True) -> Outcome:
    """A queue that has the 2 CPU that it deserves, and a gang of another queue that requests both."""
    scenario = Scenario().node("n", cpu=2)
    scenario = scenario.queue("due", deserved={"cpu": 2}).queue("other", deserved={"cpu": 2})
    scenario = scenario.running("old", on=["n", "n"], queue="due", min_available=0)
    waiting = scenario.job("new", tasks=2, queue="other", phase="Inqueue")
    return waiting.run("gangreclaim", plugins=tiers, arguments={"gangreclaim": {"protectDeserved": protects}})


def test_in_gangs_tier_it_spares_what_is_deserved() -> None:
    """Nothing is evicted."""
    assert gangreclaim(("gang", "capacity"), ("predicates",)).evictions == []


def test_behind_gangs_tier_it_does_so_too() -> None:
    """Nothing is evicted."""
    assert gangreclaim(("gang",), ("capacity", "predicates")).evictions == []


def test_without_protection_it_is_not_asked() -> None:
    """Both pods are evicted, as in Volcano."""
    assert gangreclaim(("gang",), ("capacity", "predicates"), protects=False).evictions == ["old-1", "old-0"]
