"""Gangs and Reservations: members that are Reservations, and members that use them (R46, D2)."""

import json
from typing import Any

import pytest

from pyroclast.testing import Scenario
from tests.gangs import annotated
from tests.hypernodes import rack
from tests.reservations import outcome_of, reservation

PLUGINS = ("coscheduling", "gang", "predicates", "reservation")


def member(name: str, cpu: int, **fields: Any) -> dict[str, object]:
    """Return a Reservation that is a member of gang `a`, which needs two."""
    return reservation(name, cpu=cpu, template_metadata={"annotations": annotated("a", 2)}, **fields)


def reserved(scenario: Scenario) -> list[str]:
    """Return the Reservations that get a node, in the order of their names."""
    outcome = outcome_of(scenario, plugins=PLUGINS)
    binds = [bind for plan in outcome.report.plans for bind in plan.binds]
    assert len(outcome.report.plans) <= 1
    return sorted(bind.reservation for bind in binds if isinstance(bind.reservation, str))


def test_reservations_are_members_of_a_gang() -> None:
    """All of the minimum get nodes in one plan, or none."""
    base = Scenario().queue("default").node("n1", cpu=4)

    assert reserved(base.add(member("r", 2), member("s", 2))) == ["r", "s"]
    assert reserved(base.add(member("r", 2), member("s", 3))) == []


def test_a_member_that_has_expired_gets_no_node() -> None:
    """Both have equal templates, and the gang needs both."""
    base = Scenario().queue("default").node("n1", cpu=4)

    assert reserved(base.add(member("r", 2), member("s", 2, ttl="1s"))) == []


def test_a_reservation_that_is_available_counts_for_its_gang() -> None:
    """The second member joins it later."""
    base = Scenario().queue("default").node("n1", cpu=4)
    first = reservation("r", node="n1", template_metadata={"annotations": annotated("a", 2)})

    assert reserved(base.add(first, member("s", 2))) == ["s"]


def test_members_of_a_gang_use_one_reservation_together() -> None:
    """Three members share what is reserved; the fourth has no room, so that none is bound."""
    base = Scenario().queue("default").node("n1", cpu=4).add(reservation("r", cpu=3, node="n1", allocateOnce=False))
    base = base.pod("busy", node="n1", cpu=1)
    three = outcome_of(base.job("a", tasks=3, labels={"app": "a"}))
    four = outcome_of(base.job("a", tasks=4, labels={"app": "a"}))

    notes = [bind.annotations for plan in three.report.plans for bind in plan.binds]
    assert [json.loads(note["scheduling.koordinator.sh/reservation-allocated"])["name"] for note in notes] == ["r"] * 3
    assert four.bindings == {}


ORDER = {"scheduling.koordinator.sh/reservation-order": "1"}
A = {"app": "a"}


def gang(base: Scenario, *cpus: int) -> Scenario:
    """Add a gang whose members request these CPUs."""
    base = base.job("g", tasks=0, min_available=len(cpus))
    for number, cpu in enumerate(cpus):
        base = base.pod(f"g-{number}", job="g", cpu=cpu, labels=A)
    return base


def test_members_leave_each_other_the_reservations_that_they_need() -> None:
    """The small member prefers the large Reservation, by its order, and the large member fits no other (D2)."""
    base = Scenario().queue("default").node("n1", cpu=4).node("n2", cpu=2)
    base = base.add(reservation("r", node="n1", cpu=4, labels=ORDER), reservation("s", node="n2", cpu=2))

    assert outcome_of(gang(base, 2, 4)).bindings == {"g-0": "n2", "g-1": "n1"}
    assert outcome_of(gang(base, 4, 4)).bindings == {}


def test_members_leave_each_other_the_reservations_of_one_node() -> None:
    """Both Reservations are on one node."""
    base = Scenario().queue("default").node("n1", cpu=6)
    base = base.add(reservation("r", node="n1", cpu=4, labels=ORDER), reservation("s", node="n1", cpu=2))

    assert outcome_of(gang(base, 2, 4)).bindings == {"g-0": "n1", "g-1": "n1"}


RACKS = (
    Scenario()
    .queue("default")
    .node("a1", cpu=4)
    .node("a2", cpu=4)
    .node("b1", cpu=4)
    .node("b2", cpu=4)
    .add(rack("a", "a1", "a2"), rack("b", "b1", "b2"))
)
IN_ONE_RACK = {"networkTopology": {"mode": "hard", "highestTierAllowed": 1}}


@pytest.mark.parametrize("once", [True, False])
def test_reserved_capacity_counts_for_topology_domains(once: bool) -> None:
    """The capacity of the second rack is reserved for the gang, and the first rack is too full."""
    base = RACKS.pod("busy", node="a1", cpu=1)
    base = base.add(*(reservation(name, node=name, cpu=4, allocateOnce=once) for name in ("b1", "b2")))
    large = base.job("g", tasks=2, cpu=4, labels=A, group=IN_ONE_RACK)
    plugins = ("gang", "predicates", "network-topology-aware", "reservation")

    assert outcome_of(large, plugins=plugins).bindings == {"g-0": "b1", "g-1": "b2"}


def test_several_members_on_one_reservation_count_for_topology_domains() -> None:
    """Two members share each Reservation."""
    base = RACKS.pod("busy", node="a1", cpu=1).pod("busier", node="a2", cpu=3)
    base = base.add(*(reservation(name, node=name, cpu=4, allocateOnce=False) for name in ("b1", "b2")))
    small = base.job("g", tasks=4, cpu=2, labels=A, group=IN_ONE_RACK)
    plugins = ("gang", "predicates", "network-topology-aware", "reservation")

    assert sorted(outcome_of(small, plugins=plugins).bindings.values()) == ["b1", "b1", "b2", "b2"]
