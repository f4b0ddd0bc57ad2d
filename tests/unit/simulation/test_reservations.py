"""Reservations in `simulate`: placed, used, and ended by their controller."""

from typing import Any

from pyroclast.scheduler.simulation.answer import answers_of
from pyroclast.testing import Scenario
from tests.reservations import affinity, outcome_of, reservation

BASE = Scenario().queue("default").node("n1", cpu=4).node("n2", cpu=4)


def binds(outcome: Any) -> list[dict[str, str]]:
    """Return the binds of each round."""
    return [each["binds"] for each in answers_of(outcome.rounds)]


def test_a_reservation_has_its_name_in_answers() -> None:
    """Its owner is bound in the next round, and the round after that the rest is free."""
    scenario = BASE.add(reservation("r", cpu=4)).job("a", cpu=1, labels={"app": "a"}, annotations=affinity())
    outcome = outcome_of(scenario.job("b", cpu=3, tasks=2, min_available=1), cycles=5)
    first, *_ = binds(outcome)

    assert first["reservations/r"] in {"n1", "n2"}
    names = [name for each in binds(outcome) for name in each]
    assert sorted(names) == ["default/a-0", "default/b-0", "default/b-1", "reservations/r"]


def test_a_reservation_without_a_node_has_its_name_too() -> None:
    """Under the refusals of pods."""
    outcome = outcome_of(BASE.add(reservation("r", cpu=9)))
    (answer,) = answers_of(outcome.rounds)

    assert list(answer["podRefusals"]) == ["reservations/r"]
