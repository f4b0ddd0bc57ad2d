"""A registration is heeded or refused; none is ignored, whatever was asked before it."""

from collections.abc import Callable
from typing import Any

import pytest

from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Locality, Plugin
from pyroclast.framework.extension.registration import LateRegistrationError
from pyroclast.framework.session.session import Session
from pyroclast.testing import Outcome, Scenario, open_session

THERE = Scenario().node("n1").node("n2").job("a")


def plugin(plugin_name: str, opening: Callable[[Session], None]) -> Any:
    """Return a plugin of a name that does something when it is opened."""

    class Opened(Plugin):
        name = plugin_name
        watches_clock = False

        def on_session_open(self, session: Session) -> None:
            opening(session)

    return Opened()


def decided(*plugins: Any) -> Outcome:
    """Run a cycle with plugins."""
    return THERE.run("enqueue", "allocate", plugins=plugins)


def test_a_plugin_that_asks_for_an_order_silences_no_later_plugin() -> None:
    """The order that is asked for while plugins are opened is that of the plugins opened so far, for that moment."""

    def asks(session: Session) -> None:
        for job in session.jobs.all():
            session.jobs.order_key(job)
            assert session.queues.allocatable(session.queues.by_name[job.queue], next(iter(job.tasks.values()))) is None

    def refuses(session: Session) -> None:
        session.extensions.register(contract.ALLOCATABLE, "refuses", lambda _queue, _task: False)

    assert decided("gang", plugin("asks", asks), plugin("refuses", refuses)).bindings == {}


def test_a_plugin_that_asks_for_candidates_silences_no_later_plugin() -> None:
    """Candidates are found anew when all plugins are opened."""

    def asks(session: Session) -> None:
        for job in session.jobs.all():
            for task in job.tasks.values():
                assert session.candidates.of(task).choose(task) is not None
                assert session.candidates.fits_empty_nodes(task)

    def refuses(session: Session) -> None:
        def judge(_task: Any, columns: Any) -> Any:
            return (columns.index == 0).astype("uint8")

        session.extensions.register(contract.PREDICATE, "refuses", judge, locality=Locality.FACTS)

    assert decided("gang", plugin("asks", asks), plugin("refuses", refuses)).bindings == {"a-0": "n2"}


def test_plugins_opened_so_far_answer_about_nodes() -> None:
    """What is asked while plugins are opened knows the predicates, scores and failures up to then."""
    seen: list[tuple[int, bool]] = []

    def refuses(session: Session) -> None:
        def judge(_task: Any, columns: Any) -> Any:
            return (columns.index == 0).astype("uint8")

        session.extensions.register(contract.PREDICATE, "refuses", judge, locality=Locality.FACTS)

    def asks(session: Session) -> None:
        (job,) = session.jobs.all()
        (task,) = job.tasks.values()
        choice = session.candidates.of(task).choose(task)
        assert choice is not None
        seen.append((choice.column, session.candidates.answers.takes_best_score))

    def fails(session: Session) -> None:
        session.extensions.register(contract.NODE_ORDER, "fails", lambda _task, _node: 1.0)
        asks(session)
        raise RuntimeError("after it registered")

    first, failing, last = plugin("first", asks), plugin("fails", fails), plugin("last", asks)
    decided("gang", first, plugin("refuses", refuses), failing, last)

    assert seen == [(0, True), (1, False), (1, True)]


REGISTRATIONS: dict[str, Callable[[Session], None]] = {
    "function": lambda session: session.extensions.register(contract.JOB_ORDER, "late", lambda _: 0),
    "ledger": lambda session: session.extensions.register_ledger("late", None),  # type: ignore[arg-type]  # refused before it is used
    "preparations": lambda session: session.extensions.register_preparations("late", lambda *_: ()),
    "annotations": lambda session: session.extensions.register_annotations("late", lambda *_: {}),
    "plan annotations": lambda session: session.extensions.register_plan_annotations("late", lambda _: {}),
    "labels": lambda session: session.extensions.register_labels("late", lambda *_: {}),
    "delegate": lambda session: session.extensions.register_delegate("late", lambda *_: False),
    "NUMA hints": lambda session: session.extensions.register_numa_hints("late", lambda *_: None),
    "NUMA plan": lambda session: session.extensions.register_numa_plan("late", lambda *_: None),
    "allocator": lambda session: session.extensions.register_allocator("late", contract.Allocator()),
    "rule": lambda session: session.extensions.register_rule("late", "a reservation"),
    "hook": lambda session: session.extensions.on_opened("late", lambda: None),
}


@pytest.mark.parametrize("register", REGISTRATIONS.values(), ids=REGISTRATIONS)
def test_a_registration_after_the_opening_is_an_error(register: Callable[[Session], None]) -> None:
    """It raises, and the plugin counts as failed."""
    session = open_session(THERE)

    with pytest.raises(LateRegistrationError, match="on_session_open"):
        register(session)
    assert "late" in session.extensions.failures


def test_a_late_registration_is_reported_even_if_the_plugin_catches_it() -> None:
    """The plugin is named in the report of the cycle."""

    def opening(session: Session) -> None:
        def order(_job: Any) -> int:
            try:
                session.extensions.register(contract.QUEUE_ORDER, "late", lambda _: 0)
            except LateRegistrationError:
                return 0
            return 1

        session.extensions.register(contract.JOB_ORDER, "late", order)

    assert decided("gang", plugin("late", opening)).failed_plugins == ["late"]
