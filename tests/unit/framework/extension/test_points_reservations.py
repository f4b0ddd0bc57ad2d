"""The point at which a plugin says which Reservations tasks may use."""

from typing import Any

import pytest

from pyroclast.framework.extension import contract
from pyroclast.model.reservations.use import ReservationUse
from pyroclast.testing import Scenario
from tests.reservations import reservation
from tests.unit.framework.asking import Saying, failing

SCENARIO = Scenario().queue("default").node("n1", cpu=4).add(reservation("r", cpu=4, node="n1")).job("b", cpu=2)


def saying(point: Any, function: Any) -> Saying:
    """Return a plugin with one function."""
    return Saying("test", {point: function})


def run(answer: Any) -> Any:
    """Decide with a plugin of the test; the pods have no owner's labels."""
    return SCENARIO.run("enqueue", "allocate", plugins=("gang", "predicates", saying(contract.RESERVATION_USE, answer)))


def test_room_of_a_usable_reservation_counts() -> None:
    """A plugin may let any task use any Reservation."""
    assert run(lambda _: ReservationUse(usable=("uid-r",))).bindings == {"b-0": "n1"}  # type: ignore[arg-type]  # an id


@pytest.mark.parametrize("answer", [lambda _: None, failing])
def test_without_an_answer_reserved_room_is_kept(answer: Any) -> None:
    """As with a plugin that fails."""
    assert run(answer).bindings == {}
