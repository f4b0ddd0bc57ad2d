"""Room that pods keep after their queue has taken their gate off."""

from functools import partial
from typing import Any

from pyroclast.actions.allocate import Allocate
from pyroclast.cache.options import StateOptions
from pyroclast.cache.state import ClusterState
from pyroclast.framework.session.memory import Settled
from pyroclast.framework.session.session import Session
from pyroclast.model import wire
from pyroclast.plugins.capacity.plugin import Capacity
from tests.unit.plugins.capacity import holding
from tests.unit.plugins.policies import World, group, node, opened, pod, queue

GATE = "scheduling.volcano.sh/queue-allocation-gate"


def waiting(name: str, job: str) -> wire.Pod:
    """A pending pod of 1 CPU that had the gate."""
    return pod(name, job=job, annotations={GATE: "true"})


def world(*objects: Any, lifts: bool = True) -> World:
    """A session with capacity alone, 2 CPU in the queue, in a scheduler that takes gates off or not."""
    given = (
        node("n", cpu="8"),
        queue("q", capability={"cpu": "2"}),
        group("early", queue="q"),
        group("late", queue="q"),
        *objects,
    )
    there = opened(*given, plugins=["capacity"])
    books = ClusterState(StateOptions(lifts_queue_gates=lifts))
    for each in (queue("default"), *given):
        books.apply(type(each).__name__, each)
    option = there.session.extensions.profile.plugins[0]
    session = Session(
        books.snapshot(),
        there.session.extensions.profile,
        cycle=1,
        generation=1,
        now=0.0,
        seed=0,
        outside={},
        committed=there.plans.append,
        settled=Settled(),
    )
    session.extensions.open_plugin(option, partial(Capacity().on_session_open, session))
    session.extensions.seal()
    return World(session, there.plans)


def fits(there: World, name: str) -> bool:
    """Whether a pod may be placed."""
    return holding(there).allocatable(there.queue("q"), there.task(name)) is None


BUSY = (waiting("a", "early"), waiting("b", "early"), pod("c", job="late"))


def test_capacity_is_reserved_for_admitted_pods() -> None:
    """Both CPU are kept for two pods, each of which may have its own; the third waits."""
    there = world(*BUSY)

    assert [fits(there, name) for name in ("a", "b", "c")] == [True, True, False]


def test_nothing_is_kept_where_gates_stay() -> None:
    """A scheduler that removes no gates admits no pods."""
    assert fits(world(*BUSY, lifts=False), "c")


def test_a_placed_pod_takes_its_own_room() -> None:
    """Placing one changes nothing for the others, and undoing it neither."""
    there = world(*BUSY)
    statement = there.session.statement()
    there.place(statement, "a", "n")
    assert [fits(there, name) for name in ("b", "c")] == [True, False]
    statement.undo()
    assert [fits(there, name) for name in ("a", "b", "c")] == [True, True, False]


def test_an_evicted_pod_reserves_nothing() -> None:
    """It had one of 2 CPU: a terminating pod needs no capacity, so a pod of 2 may be placed."""
    had_gate = pod("gone", job="early", on="n", annotations={GATE: "true"})
    there = world(had_gate, pod("large", job="late", cpu="2"))
    statement = there.session.statement()
    assert not fits(there, "large")

    there.evict(statement, "gone")

    assert fits(there, "large")


def gated(name: str, job: str, *gates: str, opted_in: bool = True) -> wire.Pod:
    """A pending pod of 1 CPU behind gates."""
    names = tuple(wire.PodSchedulingGate(name=each) for each in gates or (GATE,))
    return pod(name, job=job, annotations={GATE: "true"} if opted_in else {}, spec={"scheduling_gates": names})


def lifted(there: World) -> list[str]:
    """Pods whose gate is removed when allocate runs."""
    Allocate().execute(there.session)
    return [task.name for task in there.session.report.gates_lifted]


def test_gates_go_as_far_as_the_queue_has_room() -> None:
    """Two of three pods of 1 CPU fit; their admitted capacity stays theirs, and the third has the reason."""
    there = world(gated("a", "early"), gated("b", "early"), gated("c", "late"), pod("d", job="late"))

    assert lifted(there) == ["a", "b"]
    assert there.plans == []
    assert not fits(there, "d")
    refused = there.job("late").reasons.task_refusals[there.task("c").id]
    assert refused.message == "queue q would exceed its capability of cpu"


def test_room_that_is_taken_opens_no_gate() -> None:
    """One CPU runs already."""
    there = world(pod("old", job="early", on="n"), gated("a", "early"), gated("b", "early"))

    assert lifted(there) == ["a"]


def test_gates_of_others_stay() -> None:
    """Two gates, another one, and a pod that does not ask for it; and where the feature is off, all."""
    held = (gated("a", "early", GATE, "x"), gated("b", "early", "x"), gated("c", "early", opted_in=False))

    assert lifted(world(*held)) == []
    assert lifted(world(gated("a", "early"), lifts=False)) == []


def test_a_job_with_gates_left_has_another_turn() -> None:
    """Its next cycle is not passed over because a pod without a gate fits on no node."""
    there = world(*(gated(name, "early") for name in "abc"), pod("huge", job="early", cpu="99"))
    lifted(there)

    assert there.job("early").reasons.unschedulable_template is None
