"""Gates of queues under proportion: as many come off as the queue has room for, and each pod let in keeps its room."""

from functools import partial
from typing import Any

from pyroclast.actions.allocate import Allocate
from pyroclast.cache.options import StateOptions
from pyroclast.cache.state import ClusterState
from pyroclast.framework.session.memory import Settled
from pyroclast.framework.session.session import Session
from pyroclast.model import wire
from pyroclast.plugins.proportion.plugin import Proportion
from tests.unit.plugins.policies import World, group, node, opened, pod, queue

GATE = "scheduling.volcano.sh/queue-allocation-gate"


def gated(name: str, job: str) -> wire.Pod:
    """A pending pod of 1 CPU behind the gate of its queue."""
    gates = (wire.PodSchedulingGate(name=GATE),)
    return pod(name, job=job, annotations={GATE: "true"}, spec={"scheduling_gates": gates})


def let_in(name: str, job: str) -> wire.Pod:
    """A pending pod of 1 CPU whose gate came off before."""
    return pod(name, job=job, annotations={GATE: "true"})


def world(*objects: Any) -> World:
    """A session with proportion alone, in which queue q deserves 4 of 8 CPU."""
    given = (
        node("n", cpu="8"),
        queue("q"),
        queue("other"),
        group("early", queue="q"),
        group("late", queue="q"),
        group("rest", queue="other"),
        pod("large", job="rest", cpu="8"),
        *objects,
    )
    there = opened(*given, plugins=["proportion"])
    books = ClusterState(StateOptions(lifts_queue_gates=True))
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
    session.extensions.open_plugin(option, partial(Proportion().on_session_open, session))
    session.extensions.seal()
    return World(session, there.plans)


def lifted(there: World) -> list[str]:
    """Return the pods whose gate comes off when allocate runs."""
    Allocate().execute(there.session)
    return sorted(task.name for task in there.session.report.gates_lifted)


def fits(there: World, name: str) -> bool:
    """Return whether a pod may be placed."""
    return there.session.queues.allocatable(there.queue("q"), there.task(name)) is None


def test_gates_come_off_as_far_as_the_share_goes() -> None:
    """The queue deserves capacity for four of six pods of 1 CPU; the others keep their gates."""
    there = world(*(gated(f"p{index}", "early") for index in range(6)))

    assert len(lifted(there)) == 4


def test_pods_let_in_before_count() -> None:
    """Three pods were let in by an earlier cycle and have no place yet: one more gate comes off."""
    there = world(
        *(let_in(f"a{index}", "early") for index in range(3)), *(gated(f"p{index}", "late") for index in "xy")
    )
    for index in range(3):
        assert fits(there, f"a{index}")

    assert len(lifted(there)) == 1


def test_a_placed_pod_takes_the_room_that_it_kept() -> None:
    """Placing one of four pods let in changes nothing for the others, nor for a pod that has to wait."""
    there = world(*(let_in(f"a{index}", "early") for index in range(4)), pod("c", job="late"))
    statement = there.session.statement()
    there.place(statement, "a0", "n")

    assert [fits(there, name) for name in ("a1", "a2", "a3", "c")] == [True, True, True, False]
    statement.undo()
    assert not fits(there, "c")
