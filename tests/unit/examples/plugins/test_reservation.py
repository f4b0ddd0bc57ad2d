"""The example of docs/plugins/reservation.md."""

from pyroclast.testing import Scenario
from tests.reservations import affinity, outcome_of, reservation
from tests.unit.examples.page import assert_tells

TWO = Scenario().queue("default").node("n1", cpu=4).node("n2", cpu=4).add(reservation("r", cpu=3, node="n1"))
A = {"app": "a"}


def test_the_page() -> None:
    """Where pods are bound, and the reason of the one that waits."""
    other = outcome_of(TWO.job("b", cpu=2))
    owner = outcome_of(TWO.job("a", cpu=3, labels=A))
    large = outcome_of(TWO.pod("busy", node="n1", cpu=1).job("c", cpu=4, labels=A, annotations=affinity()))

    assert other.bindings == {"b-0": "n2"}
    assert owner.bindings == {"a-0": "n1"}
    assert large.bindings == {}
    assert_tells(
        "plugins/reservation",
        "Two nodes have 4 CPUs each. Reservation `r` keeps 3 CPUs of the first node",
        "A pod of 2 CPUs without the label is bound to the second node.",
        "A pod of 3 CPUs with the label uses the Reservation.",
        f'A pod of 4 CPUs with the label and the annotation `reservation-affinity: "{{}}"` waits while another pod '
        f"uses the free CPU of the first node: `{large.condition_message('c-0')}`",
    )
