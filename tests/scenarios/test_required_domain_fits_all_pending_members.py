"""Where a topology is required, a domain must have room for all members that wait, as in Volcano, not for a minimum."""

from typing import Any, Final

import pytest

from pyroclast.testing import Outcome, Scenario
from tests.hypernodes import rack

PLUGINS: Final = (("priority", "gang"), ("predicates", "nodeorder", "network-topology-aware"))
TWO_RACKS: Final = (
    Scenario()
    .node("n0", cpu=2)
    .node("n1", cpu=2)
    .node("n2", cpu=2)
    .node("n3", cpu=2)
    .add(rack("r0", "n0", "n1"), rack("r1", "n2", "n3"))
)


def gang_of_eight(*, mode: str, **more: Any) -> Outcome:
    """Place eight pods, of which four are the minimum, where each of two racks has room for four."""
    group = {"networkTopology": {"mode": mode, "highestTierAllowed": 1} if mode == "hard" else {"mode": mode}}
    scenario = TWO_RACKS.job("g", tasks=8, min_available=4, cpu=1, group=group, **more)
    return scenario.run("enqueue", "allocate", "backfill", plugins=PLUGINS, cycles=2)


@pytest.mark.parametrize("more", [{}, {"min_resources": {"cpu": 4}}])
def test_a_rack_for_the_minimum_alone_is_not_enough(more: dict[str, Any]) -> None:
    """What is said names the number that is asked for, and the best domain."""
    outcome = gang_of_eight(mode="hard", **more)

    assert outcome.bindings == {}
    assert outcome.condition_message("g-7") == (
        "no domain of tier 1 or below could fit 8 tasks even if empty: largest r0 (tier 1) fits 4; "
        "0/2 nodes of r0 take more: 2 Insufficient cpu"
    )


def test_a_wish_binds_all() -> None:
    """A soft one leaves the rack."""
    assert len(gang_of_eight(mode="soft").bindings) == 8
