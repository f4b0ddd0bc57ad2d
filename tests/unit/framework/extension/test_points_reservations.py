"""The points about Reservations: which of them tasks use, what is restored, and which one is nominated."""

from collections.abc import Sequence
from typing import Any

import pytest

from pyroclast import NodeView, Reason, Refusal, ReservationView, Task, TaskId, contract
from pyroclast.framework.extension.contract import RestoredReservations
from pyroclast.model.reservations.use import ReservationUse
from pyroclast.testing import Outcome, Scenario
from tests.reservations import ALLOCATED, reservation
from tests.unit.framework.asking import Saying, always, failing

SCENARIO = Scenario().queue("default").node("n1", cpu=4).add(reservation("r", cpu=4, node="n1")).job("b", cpu=2)
TWO = (
    Scenario()
    .queue("default")
    .node("n1", cpu=8)
    .add(reservation("r", cpu=4, node="n1"), reservation("s", cpu=4, node="n1"))
    .job("b", tasks=1, cpu=2)
)
"""A node that two Reservations fill."""


def saying(point: Any, function: Any) -> Saying:
    """Return a plugin with one function."""
    return Saying("test", {point: function})


def run(answer: Any) -> Any:
    """Decide with a plugin of the test; the pods have no owner's labels."""
    return SCENARIO.run("enqueue", "allocate", plugins=("gang", "predicates", saying(contract.RESERVATION_USE, answer)))


def using(*names: str, is_required: bool = False) -> Any:
    """Return a function by which all tasks may use some Reservations."""
    return always(ReservationUse(usable=tuple(TaskId(f"uid-{name}") for name in names), is_required=is_required))


def decided(*plugins: Any, scenario: Scenario = TWO, is_required: bool = False) -> Outcome:
    """Decide with plugins of the test, where all tasks may use the Reservations `r` and `s`."""
    uses = Saying("uses", {contract.RESERVATION_USE: using("r", "s", is_required=is_required)})
    return scenario.run("enqueue", "allocate", plugins=("gang", "predicates", uses, *plugins))


def used_by(outcome: Outcome) -> dict[str, str]:
    """Return the Reservation that each pod was bound with."""
    binds = [bind for plan in outcome.rounds[0].plans for bind in plan.binds]
    return {bind.name: bind.annotations.get("used", "") for bind in binds}


class Naming(Saying):
    """A plugin whose annotations name the Reservation that a task uses."""

    def on_session_open(self, session: Any) -> None:
        """Register."""
        super().on_session_open(session)

        def name(task: Task, _: int) -> dict[str, str]:
            room = session.reserved.used_by(task.id)
            return {"used": "" if room is None else room.name}

        session.extensions.register_annotations(self.name, name)


def test_room_of_a_usable_reservation_counts() -> None:
    """A plugin may let any task use any Reservation."""
    assert run(using("r")).bindings == {"b-0": "n1"}


@pytest.mark.parametrize("answer", [lambda _: None, failing])
def test_without_an_answer_reserved_room_is_kept(answer: Any) -> None:
    """As with a plugin that fails."""
    assert run(answer).bindings == {}


# Filter ---------------------------------------------------------------------------------------------------------------


def only(name: str) -> Any:
    """Return a function that permits one Reservation."""
    return lambda _, each: each.name == name


def test_a_filter_leaves_the_others() -> None:
    """Asked about each Reservation of the node."""
    assert used_by(decided(Naming("test", {contract.RESERVATION_FILTER: only("s")}))) == {"b-0": "s"}
    assert used_by(decided(Naming("test", {}))) == {"b-0": "r"}


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (False, "refused by test"),
        ("too old", "too old"),
        (Reason("too far"), "too far"),
        (Refusal(plugin="test", reason="TooOld", message="very old"), "very old"),
    ],
)
def test_a_reservation_that_is_refused_is_named_with_the_reason(answer: Any, text: str) -> None:
    """For pods that must use one."""
    told = decided(saying(contract.RESERVATION_FILTER, always(answer)), is_required=True)

    assert told.bindings == {}
    assert f"r: {text}, s: {text}" in told.why_pod("b-0")


def test_a_filter_that_fails_refuses() -> None:
    """In the name of its plugin."""
    told = decided(saying(contract.RESERVATION_FILTER, failing), is_required=True)

    assert told.bindings == {}
    assert "r: plugin test failed: RuntimeError: broken" in told.why_pod("b-0")
    assert told.failed_plugins == ["test"]


def test_a_filter_sees_what_earlier_placements_took() -> None:
    """One pod for each Reservation, as the state of the session shows."""

    def unused(_: Task, each: ReservationView) -> bool:
        return not each.users

    scenario = TWO.job("c", tasks=1, cpu=1)
    used = used_by(decided(Naming("test", {contract.RESERVATION_FILTER: unused}), scenario=scenario))

    assert sorted(used.values()) == ["r", "s"]


# Nomination and score -------------------------------------------------------------------------------------------------


def test_a_plugin_nominates_one_of_several() -> None:
    """Before the scores; the first answer counts."""

    def last(_: Task, reservations: Sequence[ReservationView]) -> Any:
        return reservations[-1].id

    plugin = Naming("test", {contract.RESERVATION_NOMINATE: last, contract.RESERVATION_SCORE: only("r")})

    assert used_by(decided(plugin)) == {"b-0": "s"}


@pytest.mark.parametrize("answer", [None, "unknown"])
def test_without_a_nomination_the_best_score_counts(answer: Any) -> None:
    """Scores of all plugins are added. A nomination of something else is a failure."""
    one = Naming("test", {contract.RESERVATION_NOMINATE: always(answer), contract.RESERVATION_SCORE: only("s")})
    two = Saying("two", {contract.RESERVATION_SCORE: lambda _, each: 2.0 * (each.name == "r")})

    assert used_by(decided(one)) == {"b-0": "s"}
    assert used_by(decided(one, two)) == {"b-0": "r"}
    assert decided(one).failed_plugins == ([] if answer is None else ["test"])


def test_a_score_that_fails_adds_nothing() -> None:
    """Ties go to the first name."""
    told = decided(Naming("test", {contract.RESERVATION_SCORE: failing}))

    assert used_by(told) == {"b-0": "r"}
    assert told.failed_plugins == ["test"]


def test_the_plugin_reservation_is_asked_at_these_points() -> None:
    """Another plugin before it nominates, and one after it does not."""
    owner = TWO.job("o", tasks=1, cpu=2, labels={"app": "a"})

    def last(_: Task, reservations: Sequence[ReservationView]) -> Any:
        return reservations[-1].id

    mine = saying(contract.RESERVATION_NOMINATE, last)
    before = owner.run("enqueue", "allocate", plugins=("gang", "predicates", mine, "reservation"))
    without = owner.run("enqueue", "allocate", plugins=("gang", "predicates", "reservation"))
    names = [
        {bind.name: bind.annotations.get(ALLOCATED, "") for plan in each.rounds[0].plans for bind in plan.binds}["o-0"]
        for each in (before, without)
    ]

    assert ['"s"' in names[0], '"r"' in names[1]] == [True, True]


# Restore --------------------------------------------------------------------------------------------------------------


def test_plugins_learn_which_reservations_are_given_back_once_for_a_template() -> None:
    """Before pre-predicates, with those that the tasks may use and the others, by node."""
    seen: list[Any] = []

    def restore(_: Task, reservations: RestoredReservations) -> None:
        seen.append(
            [
                {node: [each.name for each in there] for node, there in group.items()}
                for group in (reservations.matched, reservations.unmatched)
            ]
        )

    plugin = Saying(
        "test", {contract.RESERVATION_RESTORE: restore, contract.PRE_PREDICATE: lambda _: seen.append("pre-predicate")}
    )
    scenario = TWO.node("n2", cpu=2).add(reservation("t", cpu=2, node="n2")).job("c", tasks=2, cpu=2)
    decided(plugin, scenario=scenario)

    assert seen[0] == [{"n1": ["r", "s"]}, {"n2": ["t"]}]
    assert [each for each in seen if each != "pre-predicate"] == [seen[0]]


def test_a_plugin_with_books_of_its_own_gives_back_what_a_reservation_keeps() -> None:
    """Here a licence: each pod takes one of the node, and the Reservation keeps the only one."""
    kept: dict[int, bool] = {}

    def restore(task: Task, reservations: RestoredReservations) -> None:
        kept[task.template.number] = any(each.name == "r" for there in reservations.matched.values() for each in there)

    def has_licence(task: Task, _: NodeView) -> bool:
        return kept.get(task.template.number, False)

    functions: dict[contract.Point[Any], Any] = {
        contract.RESERVATION_RESTORE: restore,
        contract.PREDICATE: has_licence,
    }
    mine, others = Saying("test", functions), Saying("uses", {contract.RESERVATION_USE: using("s")})

    assert decided(mine).bindings == {"b-0": "n1"}
    assert TWO.run("enqueue", "allocate", plugins=("gang", "predicates", others, mine)).bindings == {}


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (always(False), "refused by test"),
        (always(Refusal(plugin="test", reason="NoBooks", message="no books")), "test: no books"),
        (failing, "plugin test failed"),
    ],
)
def test_a_plugin_that_cannot_restore_refuses(answer: Any, text: str) -> None:
    """The task gets no node."""
    told = decided(saying(contract.RESERVATION_RESTORE, answer))

    assert told.bindings == {}
    assert text in told.why_pod("b-0")


def test_without_reservations_nothing_is_restored() -> None:
    """The cluster keeps nothing."""
    plugin = saying(contract.RESERVATION_RESTORE, always(False))

    assert decided(plugin, scenario=Scenario().queue("default").node("n1").job("b")).bindings == {"b-0": "n1"}
