"""Statements: transactions on a session."""

from typing import Any

import pytest

from pyroclast import Change, Ledger, Plan, Plugin, Refusal, Session, Statement, TaskStatus, Verb
from pyroclast.testing import Scenario
from tests.unit.framework.asking import job_of, session_of, tasks_of

BASE = Scenario().node("n1", cpu=4).node("n2", cpu=4).running("old", on=["n1"]).job("a", tasks=3, cpu=1)


class Counting(Plugin, Ledger):
    """A plugin with a ledger that counts, and refuses or fails as configured."""

    def __init__(self, name: str = "counting") -> None:
        self.name = name
        self.seen: list[tuple[str, Verb, int]] = []
        self.answer: Refusal | Exception | None = None

    def on_session_open(self, session: Session) -> None:
        """Register the ledger."""
        session.extensions.register_ledger(self.name, self)

    def apply(self, change: Change) -> Refusal | None:
        """A count, or a refusal."""
        if isinstance(self.answer, Exception):
            raise self.answer
        if self.answer is None:
            self.seen.append(("apply", change.verb, len(change.tasks)))
        return self.answer

    def revert(self, change: Change) -> None:
        """Count back."""
        self.seen.append(("revert", change.verb, len(change.tasks)))


def opened(*plugins: Any, **options: Any) -> Session:
    """Open a session on the base cluster."""
    return session_of(BASE, plugins, **options)


def idle(session: Session) -> list[int]:
    """Return free CPU by node, thousandths."""
    return list(session.nodes.columns().idle[0])


def test_places_take_room_at_once() -> None:
    """Before anything is committed, other jobs see less room."""
    session = opened()
    statement = session.statement()

    assert statement.allocate(job_of(session), tasks_of(session)[:2], [0, 1]) is None
    assert idle(session) == [2000, 3000]
    assert job_of(session).ready_count == 2


def test_leaving_the_block_undoes() -> None:
    """Unless it was settled; where tasks had been is remembered for messages."""
    session = opened()
    with session.statement() as statement:
        statement.allocate(job_of(session), tasks_of(session)[:2], [0, 1])

    assert idle(session) == [3000, 4000]
    assert {task.node for task in job_of(session).reasons.last_places.values()} == {"n1", "n2"}


def test_an_exception_undoes_too() -> None:
    """The error is not swallowed."""
    session = opened()
    with pytest.raises(RuntimeError), session.statement() as statement:  # noqa: PT012  # the block is the subject
        statement.allocate(job_of(session), tasks_of(session)[:1], [0])
        raise RuntimeError

    assert idle(session) == [3000, 4000]


def test_commit_hands_on_one_plan() -> None:
    """With what is bound and evicted; the tasks are binding from then on."""
    plans: list[Plan] = []
    session = opened(committed=plans.append)
    session.action = "preempt"
    (old,) = tasks_of(session, "old")
    with session.statement() as statement:
        statement.evict(job_of(session, "old"), old, "preempt")
        statement.allocate(job_of(session), tasks_of(session)[:1], [1])
        statement.pipeline(job_of(session), tasks_of(session)[1:2], [0], evicts_for=True)
        statement.commit()

    (plan,) = plans
    assert (plan.action, plan.job, plan.number, plan.cycle) == ("preempt", "default/a", 0, 1)
    assert [(bind.name, bind.node) for bind in plan.binds] == [("a-0", "n2")]
    assert [(each.name, each.node, each.reason) for each in plan.evictions] == [("old-0", "n1", "preempt")]
    assert [(each.name, each.node) for each in plan.nominations] == [("a-1", "n1")]
    assert [task.status for task in tasks_of(session)] == [
        TaskStatus.BINDING,
        TaskStatus.PIPELINED,
        TaskStatus.PENDING,
    ]


def test_an_empty_commit_is_no_plan() -> None:
    """No other plugin is called."""
    plans: list[Plan] = []
    with opened(committed=plans.append).statement() as statement:
        statement.commit()

    assert plans == []


def test_held_places_stay_until_the_end() -> None:
    """Room is held, nothing is bound."""
    plans: list[Plan] = []
    session = opened(committed=plans.append)
    with session.statement() as statement:
        statement.pipeline(job_of(session), tasks_of(session)[:1], [0])
        statement.hold()

    assert plans == []
    assert tasks_of(session)[0].status is TaskStatus.PIPELINED
    assert list(session.nodes.columns().future_idle[0]) == [2000, 4000]


def test_a_merged_statement_shares_the_fate_of_the_other() -> None:
    """Undoing the outer one undoes what was merged."""
    session = opened()
    outer = session.statement()
    with session.statement() as inner:
        inner.allocate(job_of(session), tasks_of(session)[:1], [0])
        outer.merge(inner)

    assert idle(session) == [2000, 4000]
    assert list(outer.placed()) == [tasks_of(session)[0].id]
    outer.undo()
    assert idle(session) == [3000, 4000]


def test_ledgers_see_every_change_and_its_undoing() -> None:
    """In the order of the changes, then in reverse."""
    counting = Counting()
    session = opened(counting)
    (old,) = tasks_of(session, "old")
    with session.statement() as statement:
        statement.allocate(job_of(session), tasks_of(session)[:2], [0, 1])
        statement.evict(job_of(session, "old"), old, "preempt")

    assert counting.seen == [
        ("apply", Verb.ALLOCATE, 2),
        ("apply", Verb.EVICT, 1),
        ("revert", Verb.EVICT, 1),
        ("revert", Verb.ALLOCATE, 2),
    ]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (Refusal(plugin="second", reason="Full", message="enough"), "enough"),
        (RuntimeError("broken"), "plugin second failed: RuntimeError: broken"),
    ],
)
def test_a_refusing_ledger_leaves_nothing_behind(answer: Any, message: str) -> None:
    """Ledgers asked before it take the change back, and the session is as before; an exception refuses too."""
    first, second = Counting("first"), Counting("second")
    session = opened(first, second)
    second.answer = answer
    statement = session.statement()
    refusal = statement.allocate(job_of(session), tasks_of(session)[:1], [0])

    assert refusal is not None
    assert (refusal.plugin, refusal.message) == ("second", message)
    assert first.seen == [("apply", Verb.ALLOCATE, 1), ("revert", Verb.ALLOCATE, 1)]
    assert second.seen == []
    assert statement.operations == []
    assert idle(session) == [3000, 4000]


def test_undoing_an_eviction_brings_the_task_back_as_it_was() -> None:
    """Running, on its node, taking no released room."""
    session = opened()
    (old,) = tasks_of(session, "old")
    with session.statement() as statement:
        statement.evict(job_of(session, "old"), old, "preempt")
        assert list(session.nodes.columns().future_idle[0]) == [4000, 4000]

    assert tasks_of(session, "old") == [old]
    assert list(session.nodes.columns().future_idle[0]) == [3000, 4000]


def test_a_statement_knows_when_it_is_settled() -> None:
    """Committed, held, merged and undone statements are not undone again."""
    session = opened()
    statements: list[Statement] = [session.statement() for _ in range(4)]
    statements[0].commit()
    statements[1].hold()
    statements[2].undo()
    session.statement().merge(statements[3])

    assert all(each.is_settled for each in statements)


@pytest.mark.parametrize("settle", ["commit", "hold"])
def test_a_trial_is_never_kept(settle: str) -> None:
    """It decides nothing."""
    session = session_of(BASE)
    with pytest.raises(AssertionError, match="a trial decides nothing"):
        getattr(session.statement(trial=True), settle)()
    with pytest.raises(AssertionError, match="a trial decides nothing"):
        session.statement().merge(session.statement(trial=True))
