"""Gangs and Reservations: members that are Reservations, and members that use them (R46, D2)."""

import json

from pyroclast.testing import Scenario
from tests.gangs import annotated
from tests.reservations import outcome_of, reservation

PLUGINS = ("coscheduling", "gang", "predicates", "reservation")


def member(name: str, cpu: int) -> dict[str, object]:
    """Return a Reservation that is a member of gang `a`, which needs two."""
    return reservation(name, cpu=cpu, template_metadata={"annotations": annotated("a", 2)})


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
