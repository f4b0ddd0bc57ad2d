"""Wrong uses: whatever a plugin tells the session, the cycle goes on, bounded, and the plugin is named."""

from collections.abc import Callable
from operator import attrgetter
from typing import Any, Final

import msgspec
import pytest

from pyroclast import Session
from pyroclast.framework.extension import contract
from pyroclast.framework.extension.uses import MOST_USES
from pyroclast.model.report import CycleReport, EventNote, GroupCondition, JobShare
from pyroclast.model.texts import MOST_CHARACTERS
from tests.unit.framework.extension.test_wrong_answers import ODD, PLACING, decided

Use = Callable[[Session], Any]

LONG: Final = "long" * 1_000_000
HALF: Final = "\ud800"
"""Half a pair of surrogates, which no encoding writes."""
ENDLESS: Final = JobShare(resource="", share=float("inf"), allocated={})
NOTE: Final = EventNote(kind="Queue", namespace="", name="red", uid="", type="Normal", reason="Odd", message="odd")
CONDITION: Final = GroupCondition(type="Odd", status="True", reason="Odd", message="odd", transition_id="1")


def job_of(session: Session) -> Any:
    """Return the first job."""
    return next(session.jobs.all())


def note(**fields: Any) -> Use:
    """Return a use: an event with a wrong field."""
    return lambda session: session.report.record_events(msgspec.structs.replace(NOTE, **fields))


def condition(**fields: Any) -> Use:
    """Return a use: a condition with a wrong field."""
    return lambda session: session.report.set_condition(job_of(session), msgspec.structs.replace(CONDITION, **fields))


def loosely(method: str, *arguments: Any, **more: Any) -> Use:
    """Return a use whose arguments have types that the method does not take."""
    return lambda session: attrgetter(method)(session)(*arguments, **more)


def often(use: Use) -> Use:
    """Return a million times the same use."""

    def repeat(session: Session) -> None:
        for _ in range(1_000_000):
            use(session)

    return repeat


WRONG: Final[dict[str, Use]] = {
    "an event of no type": note(type="Odd"),
    "an event of no text": note(message=7),
    "an event of half a character": note(message=HALF),
    "an event of a long reason": note(reason=LONG),
    "an event of nothing": loosely("report.record_events", None),
    "a group event of no job": loosely("report.group_event", None, "Normal", "Odd", "odd"),
    "a group event of no text": lambda session: session.report.group_event(job_of(session), "Normal", "Odd", {}),  # type: ignore[arg-type]  # the fault
    "a million events": often(note()),
    "a million events at once": lambda session: session.report.record_events(*[NOTE] * 1_000_000),
    "a condition of no status": condition(status=True),
    "a condition of a long type": condition(type=LONG),
    "a condition of nothing": lambda session: session.report.set_condition(job_of(session), None),  # type: ignore[arg-type]  # the fault
    "a million conditions": often(condition()),
    "a sample of no number": loosely("report.sample", "odd", "much"),
    "a sample that is not finite": loosely("report.sample", "odd", float("nan")),
    "a sample of no name": loosely("report.sample", "odd one", 1.0),
    "a sample of a long name": loosely("report.sample", "o" * 1000, 1.0),
    "a sample of no kind": loosely("report.sample", "odd", 1.0, "odd"),
    "a counter that goes back": loosely("report.sample", "odd", -1.0, "counter"),
    "a sample of a long label": loosely("report.sample", "odd", 1.0, queue=LONG),
    "a sample of many labels": loosely("report.sample", "odd", 1.0, **{f"label{number}": "" for number in range(1000)}),
    "a million samples": often(loosely("report.sample", "odd", 1.0)),
    "amounts of no resources": loosely("report.sample_amounts", "odd", [1]),
    "a difference of no queue": loosely("report.count_otherwise", "odd", {"cpu": 1}),
    "a difference of no number": loosely("report.count_otherwise", "red", {"cpu": "much"}),
    "a moment of no number": loosely("report.wake", "soon"),
    "a moment that never comes": loosely("report.wake", float("nan")),
    "a run of no number": loosely("report.note_run", ODD, "soon"),
    "a share of nothing": loosely("report.note_share", "default/pair", None),
    "a share of no number": loosely(
        "report.note_share", "default/pair", JobShare(resource="", share=float("inf"), allocated={})
    ),
    "figures of nothing": loosely("report.note_quota", None),
    "news of no text": loosely("report.is_news", "odd", None),
    "news of a long name": loosely("report.is_news", LONG, "odd"),
    "a statement": loosely("statement"),
    "an admission": lambda session: session.jobs.job_enqueued(job_of(session)),
    "a nomination": loosely("report.nominate", ["odd"]),
    "a lifted gate": loosely("report.lift_gate", None),
    "a refusal of a job": lambda session: job_of(session).refuse(None),
    "a move of a task": lambda session: job_of(session).move([], 0, 1, None),
    "a node's tasks": lambda session: session.nodes.add([0], 1, []),  # type: ignore[arg-type]  # the fault
}

REGISTERED: Final[dict[str, Use]] = {
    "no point": loosely("extensions.register", "job_order", ODD, print),
    "no function": loosely("extensions.register", contract.JOB_ORDER, ODD, None),
    "no locality": loosely("extensions.register", contract.NODE_ORDER, ODD, print, locality="facts"),
    "no reasons": loosely("extensions.register", contract.PREDICATE, ODD, print, reasons=[1]),
    "no other function": loosely("extensions.register", contract.ALLOCATABLE, ODD, print, headroom=3),
    "no name": loosely("extensions.register", contract.JOB_ORDER, 3, print),
    "many functions": often(loosely("extensions.register", contract.PREDICATE, ODD, print)),
    "no ledger": loosely("extensions.register_ledger", ODD, object()),
    "no annotations": loosely("extensions.register_annotations", ODD, None),
    "no hook": loosely("extensions.on_close", ODD, 3),
    "no rule": loosely("extensions.register_rule", ODD, None),
}


def used(use: Use, *, swallows: bool = False) -> CycleReport:
    """Run a cycle with a plugin that uses the session, once, while it is asked."""

    def register(session: Session) -> None:
        def ask(_: Any) -> int:
            try:
                use(session)
            except Exception:
                if not swallows:
                    raise
            return 0

        session.extensions.register(contract.JOB_ORDER, ODD, ask)

    return PLACING.decide(register)


@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_use_names_the_plugin_and_nothing_else_changes(kind: str) -> None:
    """It is left out, and all is decided as without it."""
    report = used(WRONG[kind])

    assert list(report.failures) == [ODD]
    assert report.failures[ODD].message.startswith(f"plugin {ODD} failed: WrongUseError: ")
    assert len(report.failures[ODD].message) <= MOST_CHARACTERS + 100
    assert decided(report) == decided(PLACING.sound)
    assert len(report.events) <= len(PLACING.sound.events) + MOST_USES["events"]
    assert len(report.samples) <= len(PLACING.sound.samples) + MOST_USES["samples"] + 1


@pytest.mark.parametrize("kind", ["a statement", "a sample of no number", "an event of no text"])
def test_a_plugin_that_swallows_it_is_named_too(kind: str) -> None:
    """What was wrong is noted where it comes in."""
    assert list(used(WRONG[kind], swallows=True).failures) == [ODD]


@pytest.mark.parametrize("kind", REGISTERED)
def test_a_wrong_registration_leaves_the_plugin_out(kind: str) -> None:
    """As whatever fails while a plugin is opened."""
    report = PLACING.decide(REGISTERED[kind])

    assert list(report.failures) == [ODD]
    assert decided(report) == decided(PLACING.sound)


def test_texts_are_shortened() -> None:
    """Messages for people; what is said is not lost for its length."""
    report = used(note(message=LONG))

    assert report.failures == {}
    assert {len(each.message) for each in report.events if each.reason == "Odd"} == {MOST_CHARACTERS}


def test_sound_uses_are_kept() -> None:
    """So that the others fail for what is wrong alone."""

    def use(session: Session) -> None:
        session.report.record_events(NOTE)
        session.report.group_event(job_of(session), "Warning", "Odd", "odd")
        session.report.set_condition(job_of(session), CONDITION)
        session.report.sample("odd", 1, "gauge", queue_name="red")
        session.report.sample_amounts("odd", [1] * len(session.resources))
        session.report.wake(3e9)
        session.report.note_run(ODD, session.now)

    report = used(use)

    assert report.failures == {}
    assert [each.metric for each in report.samples if each.metric == "odd"]


def test_plugins_of_ours_are_not_counted() -> None:
    """Bounds are for what comes from outside."""
    session: list[Session] = []
    PLACING.decide(session.append)
    for _ in range(MOST_USES["events"] + 1):
        session[0].report.record_events(NOTE)

    assert len(session[0].report.events) > MOST_USES["events"]
