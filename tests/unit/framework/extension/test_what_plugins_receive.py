"""What plugins receive refuses to be changed: all containers that can be reached by public names, at each point."""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final

import numpy as np
import pytest

from pyroclast import Session
from pyroclast.framework.extension import contract
from pyroclast.framework.state.nodes import SessionNodes
from pyroclast.model.nodes import NodeFacts
from tests.unit.framework.extension.test_wrong_answers import OTHERS, ROWS, UNASKED, Row

EXCEPTIONS: Final = frozenset({"node_reduce, argument 1"})
"""What a plugin is to change: scores of its own."""

OPEN: Final = frozenset({"NodeColumns.idle", "NodeColumns.future_idle"})
"""Not checked: arrays that are computed for each caller."""

OURS: Final = ("framework", "model", "plugins", "actions")
MOST_ELEMENTS: Final = 3


WRITES: Final[Sequence[tuple[type, Sequence[tuple[str, tuple[Any, ...]]]]]] = (
    (np.ndarray, [("fill", (0,))]),
    (Mapping, [("__setitem__", ("written", None)), ("update", ({"written": None},)), ("popitem", ()), ("clear", ())]),
    (AbstractSet, [("add", ("written",)), ("clear", ())]),
    (object, [("append", (None,)), ("__setitem__", (slice(None), ())), ("reverse", ()), ("clear", ())]),
)
"""How containers of each kind are changed: the methods and their arguments."""


def refuses(container: Any) -> bool:
    """Return whether a container refuses all changes."""
    writes = next(writes for kind, writes in WRITES if isinstance(container, kind))
    for method, arguments in writes:
        try:
            getattr(container, method)(*arguments)
        except (TypeError, AttributeError, ValueError):
            continue
        except KeyError:
            pass  # it is empty, else it would have lost something
        return False
    return True


def is_container(value: Any) -> bool:
    """Return whether something holds others."""
    return isinstance(value, (np.ndarray, Mapping, AbstractSet, bytearray)) or (
        isinstance(value, Sequence) and not isinstance(value, (str, bytes, range))
    )


def answers_of(value: Any) -> Iterator[tuple[str, Any]]:
    """Return what methods give that plugins call, by name."""
    if isinstance(value, Session):
        yield "jobs", tuple(value.jobs.all())[:MOST_ELEMENTS]
        yield "known_jobs", value.jobs.known()
        for job in value.jobs.all():
            for task in list(job.tasks.values())[:1]:
                yield "permitted_by_facts", value.candidates.answers.permitted_by_facts(task)
                yield "counted_amounts", value.nodes.counted_amounts(task)
                yield "needs", value.nodes.needs(task.template)
    elif isinstance(value, SessionNodes) and len(value):
        yield "columns", value.columns()
        yield "one", value.one(0)
        yield "view", value.view(0)
        yield "tasks_on", value.tasks_on(0)
    elif isinstance(value, NodeFacts):
        yield "label_codes", value.label_codes("kubernetes.io/hostname")


def parts_of(value: Any) -> Iterator[tuple[str, Any]]:
    """Return what can be reached from a value in one step, by name."""
    if isinstance(value, Mapping):
        for key, each in list(value.items())[:MOST_ELEMENTS]:
            yield "[key]", key
            yield "[]", each
    elif is_container(value):
        if not isinstance(value, np.ndarray):
            yield from (("[]", each) for each in list(value)[:MOST_ELEMENTS])
    elif type(value).__module__.startswith(OURS) and not isinstance(value, type):
        for name in dir(value):
            if not name.startswith("_"):
                try:
                    yield name, getattr(value, name)
                except (AssertionError, AttributeError):
                    continue  # asked at another time
        yield from answers_of(value)


def faults_in(value: Any, name: str) -> set[str]:
    """Return which containers that can be reached from a value can be changed, by their owners and names."""
    faults: set[str] = set()
    seen: dict[int, Any] = {}
    left = [(name, value)]
    while left:
        path, each = left.pop()
        if id(each) in seen or path in EXCEPTIONS or path in OPEN:
            continue
        seen[id(each)] = each  # kept, so that no other gets its id
        left += [
            (f"{path}{part}" if part.startswith("[") else f"{type(each).__name__}.{part}", found)
            for part, found in parts_of(each)
        ]
        if is_container(each) and not refuses(each):
            faults.add(path)
    return faults


def faults_at(row: Row, name: str) -> set[str]:
    """Return what of that which a plugin receives at a point can be changed."""
    faults: set[str] = set()
    times = 0

    def ask(*about: Any) -> Any:
        nonlocal times
        times += 1
        for number, each in enumerate(about if times == 1 else ()):
            faults.update(faults_in(each, f"{name}, argument {number}"))
        raise RuntimeError("it has seen enough")

    row.ground.decide(lambda session: row.register(session, ask))
    return faults if times else {"it was not asked"}


@pytest.mark.parametrize("name", [each.name for each in contract.ALL_POINTS if each.name not in UNASKED])
def test_each_point(name: str) -> None:
    """Nothing that is reached from what is asked about can be changed."""
    assert faults_at(ROWS[name], name) == set()


@pytest.mark.parametrize("name", OTHERS)
def test_each_other_function(name: str) -> None:
    """The same of what is registered otherwise."""
    assert faults_at(OTHERS[name], name) == set()


@pytest.mark.parametrize("name", ["predicate", "hyper_node_order", "sub_job_ready", "reclaimable"])
def test_a_session_that_is_opened(name: str) -> None:
    """What a plugin receives as it is opened, in clusters of several kinds."""
    faults: set[str] = set()
    ROWS[name].ground.decide(lambda session: faults.update(faults_in(session, "session")))

    assert faults == set()


def test_a_session_at_its_end() -> None:
    """The same after all placements, refusals and reports."""
    faults: set[str] = set()
    row = OTHERS["on_close"]
    sessions: list[Session] = []

    def register(session: Session) -> None:
        sessions.append(session)
        session.extensions.on_close("odd", lambda: faults.update(faults_in(session, "session")))

    report = row.ground.decide(register)

    assert faults == set()
    assert report.failures == {}
    assert sessions[0].plans


def test_a_statement_is_no_container() -> None:
    """Operations of a statement are its own."""
    session: list[Session] = []
    ROWS["predicate"].ground.decide(session.append)

    assert faults_in(session[0].statement(trial=True), "statement") == set()
