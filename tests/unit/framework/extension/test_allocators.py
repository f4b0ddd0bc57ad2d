"""Allocators: what they give is allocated with a placement and undone exactly, whatever they answer."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from pyroclast import Allocation, Allocator, Plugin, Reason, Session, Task
from pyroclast.framework.extension.allocators import MOST_NUMA_NODES, MOST_REASONS, AllocatorLedger
from pyroclast.testing import Outcome, Scenario, open_session
from tests.unit.framework.asking import job_of, tasks_of

CLUSTER = Scenario().node("n1").node("n2").running("old", on=["n1"]).job("a", tasks=3)


class Slots(Allocator):
    """Two numbered slots on each node, for all tasks."""

    def __init__(self, session: Session) -> None:
        self.free_slots = [[0, 1] for _ in range(len(session.nodes))]
        self.held: dict[str, list[int]] = {}
        for column in range(len(session.nodes)):
            for task in session.nodes.tasks_on(column).values():
                self.give(task, column, Allocation(items=[self.free_slots[column][0]]))

    def concerns(self, task: Task) -> bool:  # noqa: ARG002  # as in `Allocator`
        """All."""
        return True

    def allocate(self, task: Task, column: int, numa_nodes: int | None, *, dry_run: bool) -> Any:  # noqa: ARG002  # as in `Allocator`
        """The first free slot."""
        if not self.free_slots[column]:
            return Reason("node(s) without a slot")
        given = Allocation(annotations={"slot": str(self.free_slots[column][0])}, items=[self.free_slots[column][0]])
        if not dry_run:
            self.give(task, column, given)
        return given

    def free(self, task: Task, column: int) -> Allocation | None:
        """Put the slots back in order."""
        slots = self.held.pop(task.id, None)
        if slots is None:
            return None
        self.free_slots[column] = sorted([*self.free_slots[column], *slots])
        return Allocation(items=slots)

    def give(self, task: Task, column: int, allocation: Allocation) -> None:
        """Take them."""
        self.held[task.id] = list(allocation.items)
        self.free_slots[column] = [each for each in self.free_slots[column] if each not in allocation.items]

    @property
    def state(self) -> Any:
        """All that it counts."""
        return [list(each) for each in self.free_slots], dict(self.held)


def giving(make: Callable[[Session], Any]) -> tuple[type[Plugin], list[Any]]:
    """Return a plugin with an allocator, and a list that receives the allocators of its sessions."""
    made: list[Any] = []

    class Giving(Plugin):
        name = "giving"
        watches_clock = False

        def on_session_open(self, session: Session) -> None:
            made.append(make(session))
            session.extensions.register_allocator(self.name, made[-1])

    return Giving, made


def decided(make: Callable[[Session], Any], scenario: Scenario = CLUSTER) -> Outcome:
    """Run allocate with an allocator."""
    return scenario.run("allocate", plugins=("gang", "predicates", giving(make)[0]))


def opened(make: Callable[[Session], Any] = Slots) -> tuple[Session, Any]:
    """Open a session with an allocator."""
    plugin, made = giving(make)
    return open_session(CLUSTER, plugins=("gang", "predicates", plugin)), made[0]


def slots_of(outcome: Outcome) -> dict[str, tuple[str, str]]:
    """Return node and slot of each bound pod."""
    binds = [bind for each in outcome.rounds for plan in each.plans for bind in plan.binds]
    return {bind.name: (bind.node, bind.annotations["slot"]) for bind in binds}


def test_a_gang_gets_what_is_left() -> None:
    """One slot of the first node is in use."""
    assert slots_of(decided(Slots)) == {"a-0": ("n1", "1"), "a-1": ("n2", "0"), "a-2": ("n2", "1")}


def test_nodes_without_are_counted_under_the_reason() -> None:
    """And what the gang had is given back to others."""
    outcome = decided(Slots, CLUSTER.job("big", tasks=4))

    assert "2 node(s) without a slot" in outcome.why("big")
    assert set(slots_of(outcome)) == {"a-0", "a-1", "a-2"}


@pytest.mark.parametrize("verb", ["allocate", "pipeline"])
def test_undoing_a_placement_is_exact(verb: str) -> None:
    """Several tasks, in one statement and in nested ones."""
    session, slots = opened()
    before, tasks, job = slots.state, tasks_of(session), job_of(session)
    with session.statement() as outer:
        assert getattr(outer, verb)(job, tasks[:1], [0]) is None
        between = slots.state
        with session.statement() as inner:
            assert getattr(inner, verb)(job, tasks[1:], [1, 1]) is None
            assert slots.state != between
        assert slots.state == between

    assert slots.state == before


def test_undoing_an_eviction_is_exact() -> None:
    """The pod has the same slot again."""
    session, slots = opened()
    before, old = slots.state, tasks_of(session, "old")[0]
    with session.statement(trial=True) as statement:
        assert statement.evict(job_of(session, "old"), old, "preempt") is None
        assert old.id not in slots.held
        assert statement.pipeline(job_of(session), tasks_of(session)[:1], [0]) is None
    assert slots.state == before


def test_what_an_evicted_pod_had_is_given_to_waiting_tasks_only() -> None:
    """The pod still uses it; after the eviction is undone others are served again."""
    session, _ = opened()
    tasks, job = tasks_of(session), job_of(session)
    with session.statement() as statement:
        statement.evict(job_of(session, "old"), tasks_of(session, "old")[0], "preempt")
        refusal = statement.allocate(job, tasks[:1], [0])
        assert refusal is not None
        assert refusal.message == "what evicted pods of the node have is not free yet"
        assert statement.pipeline(job, tasks[:1], [0]) is None
    with session.statement() as statement:
        assert statement.allocate(job, tasks[:1], [0]) is None


def test_a_change_that_is_refused_counts_nothing() -> None:
    """The node has one slot for two tasks."""
    session, slots = opened()
    before = slots.state
    with session.statement() as statement:
        refusal = statement.allocate(job_of(session), tasks_of(session)[:2], [0, 0])

    assert refusal is not None
    assert (refusal.plugin, refusal.reason, refusal.message) == ("giving", "NotAllocated", "node(s) without a slot")
    assert slots.state == before


def test_a_change_during_which_it_fails_counts_nothing() -> None:
    """The exception is that of the second task; the plugin is named."""

    class Failing(Slots):
        def allocate(self, task: Task, column: int, numa_nodes: int | None, *, dry_run: bool) -> Any:
            if task.name == "a-1" and not dry_run:
                raise RuntimeError("broken")
            return super().allocate(task, column, numa_nodes, dry_run=dry_run)

    session, slots = opened(Failing)
    before = slots.state
    with session.statement() as statement:
        assert statement.allocate(job_of(session), tasks_of(session)[:2], [1, 1]) is not None

    assert slots.state == before
    assert list(session.extensions.failures) == ["giving"]


@pytest.mark.parametrize("answer", [None, True, 7, [], Allocation(annotations={"a b": "c"}), Allocation(annotations=7)])  # type: ignore[arg-type]  # the faults
def test_wrong_answers_name_the_plugin_and_bind_nothing(answer: Any) -> None:
    """Also annotations that the API server would refuse."""

    class Wrong(Slots):
        def allocate(self, task: Task, column: int, numa_nodes: int | None, *, dry_run: bool) -> Any:  # noqa: ARG002  # as in `Allocator`
            return answer

    outcome = decided(Wrong)

    assert outcome.bindings == {}
    assert outcome.failed_plugins == ["giving"]


def test_a_plugin_may_have_several_allocators() -> None:
    """Each decides about nodes and gives something."""

    class Both(Plugin):
        name = "both"

        def on_session_open(self, session: Session) -> None:
            session.extensions.register_allocator(self.name, Slots(session))
            session.extensions.register_allocator(self.name, Silent())

    outcome = CLUSTER.run("allocate", plugins=("gang", "predicates", Both))

    assert outcome.bindings == {}
    assert "2 no." in outcome.why("a")
    assert outcome.failed_plugins == []


def test_something_else_is_no_allocator() -> None:
    """The plugin is not opened."""
    outcome = decided(lambda _: object())

    assert outcome.failed_plugins == ["giving"]


class Silent(Allocator):
    """One that gives nothing."""

    aligns = True

    def __init__(self, reasons: Sequence[str] = (), serves: int = 0) -> None:
        self.reasons, self.serves = list(reasons), serves

    def concerns(self, task: Task) -> bool:  # noqa: ARG002  # as in `Allocator`
        """All."""
        return True

    def allocate(self, task: Task, column: int, numa_nodes: int | None, *, dry_run: bool) -> Any:  # noqa: ARG002  # as in `Allocator`
        """Refuse with the next reason, or serve some NUMA nodes."""
        if numa_nodes is not None and numa_nodes & self.serves == self.serves:
            return Allocation()
        return self.reasons.pop() if self.reasons else "no"

    def free(self, task: Task, column: int) -> None:
        """Nothing is taken back."""


def test_different_reasons_are_bounded() -> None:
    """Others are counted under the plugin's name."""
    session, _ = opened()
    (task, *_), columns = tasks_of(session), session.nodes.columns()
    ledger = AllocatorLedger("silent", Silent([f"reason {n}" for n in range(1000)]), lambda *_, **__: None)
    for _ in range(MOST_REASONS):
        ledger.verdicts(task, columns)

    assert len(ledger.reasons(task)) == MOST_REASONS + 1
    assert ledger.reasons(task)[-1].text == "refused by silent"


def test_sets_of_many_numa_nodes_are_bounded() -> None:
    """Up to eight nodes all sets are tried, else single ones and all together."""
    session, _ = opened()
    (task, *_) = tasks_of(session)

    def hints(nodes: int, serves: int) -> list[tuple[int, bool]]:
        ledger = AllocatorLedger("silent", Silent(serves=serves), lambda *_, **__: None)
        found = ledger.numa_hints(task, 0, range(nodes), False)
        assert found is not None
        return [(each.nodes, each.preferred) for each in found["silent"]]

    assert hints(2, 0b10) == [(0b10, True), (0b11, False)]
    assert len(hints(MOST_NUMA_NODES, 0)) == 2**MOST_NUMA_NODES - 1
    assert hints(MOST_NUMA_NODES + 1, 0b11) == [(2 ** (MOST_NUMA_NODES + 1) - 1, True)]


def test_an_allocator_that_fails_to_give_allocates_nothing_more() -> None:
    """What it counts as free may still be in use by the pod whose eviction was undone."""

    class Failing(Slots):
        def give(self, task: Task, column: int, allocation: Allocation) -> None:
            if hasattr(self, "is_opened"):
                raise RuntimeError("broken")
            super().give(task, column, allocation)

    session, slots = opened(Failing)
    slots.is_opened = True
    with session.statement(trial=True) as statement:
        assert statement.evict(job_of(session, "old"), tasks_of(session, "old")[0], "preempt") is None

    with session.statement() as statement:
        refusal = statement.allocate(job_of(session), tasks_of(session)[:1], [0])
    assert refusal is not None
    assert refusal.message == "plugin giving failed: RuntimeError: broken"


def test_a_plan_that_a_ledger_does_not_accept_again_is_dropped() -> None:
    """Nothing of it counts, and the reason is that of the plugin."""
    session, slots = opened()
    before, state = slots.state, session.nodes.state.copy()
    with session.statement() as statement:
        assert statement.allocate(job_of(session), tasks_of(session)[:1], [0]) is None
        assert statement.allocate(job_of(session), tasks_of(session)[1:2], [1]) is None
        done = list(statement.operations)
        statement.undo_to(0)
        slots.free_slots[1] = []
        refusal = statement.redo(done)
        assert statement.operations == []

    assert refusal is not None
    assert refusal.message == "node(s) without a slot"
    assert slots.state == ([before[0][0], []], before[1])
    assert (session.nodes.state == state).all()
