"""A plugin that guards victims and fails spares all: nothing is evicted that it could have spared."""

from collections.abc import Sequence
from typing import Any

import pytest

from pyroclast import Plugin, Session, Task, contract
from pyroclast.framework.extension.contract import Point
from pyroclast.testing import Outcome, Scenario

ONE_QUEUE = (
    Scenario()
    .node("n0", cpu=2)
    .queue("red")
    .priority_class("low", 10)
    .priority_class("high", 100)
    .running("low", on=["n0"] * 2, queue="red", priority_class="low", min_available=0)
    .job("high", queue="red", priority_class="high", phase="Inqueue")
)
TWO_QUEUES = (
    Scenario()
    .queue("red")
    .queue("mine")
    .node("n0", cpu=2)
    .running("r", on=["n0"] * 2, queue="red")
    .job("a", queue="mine", phase="Inqueue")
)


class Gives(Plugin):
    """A plugin that permits all evictions."""

    name = "gives"

    def on_session_open(self, session: Session) -> None:
        """Register."""
        points: tuple[Point[Any], ...] = (contract.PREEMPTABLE, contract.RECLAIMABLE, contract.UNIFIED_EVICTABLE)
        for point in points:
            session.extensions.register(point, self.name, lambda _, candidates: candidates)
        session.extensions.register(contract.VICTIM_TASKS, self.name, lambda tasks: tasks)


class Unopened(Plugin):
    """A plugin that cannot be opened."""

    name = "guard"
    filters_nodes = False

    def on_session_open(self, _session: Session) -> None:
        """Fail."""
        raise RuntimeError("no licence")


class Unbuilt(Unopened):
    """A plugin that cannot even be made."""

    def __init__(self) -> None:
        raise SystemExit(3)


class Unable(Unopened):
    """A plugin that cannot answer about the first victim."""

    def on_session_open(self, session: Session) -> None:
        """Register."""

        def spare(_: Any, candidates: Sequence[Task]) -> Sequence[Task]:
            raise LookupError(candidates[0].name)

        points: tuple[Point[Any], ...] = (contract.PREEMPTABLE, contract.RECLAIMABLE, contract.UNIFIED_EVICTABLE)
        for point in points:
            session.extensions.register(point, self.name, spare)
        session.extensions.register(contract.MOVABLE, self.name, lambda tasks: spare(None, tasks))


class Scorer(Unopened):
    """A plugin that protects no pod, and answers so."""

    guards_victims = False


def decided(action: str, *tiers: tuple[Any, ...]) -> Outcome:
    """Run an action that evicts."""
    scenario = TWO_QUEUES if "reclaim" in action else ONE_QUEUE
    return scenario.run("allocate", action, plugins=(*tiers[:-1], (*tiers[-1], "priority", "gang")))


EVICTING = ("preempt", "reclaim", "gangpreempt", "gangreclaim", "shuffle")


@pytest.mark.parametrize("action", EVICTING)
def test_with_a_sound_guard_there_are_victims(action: str) -> None:
    """So that the others fail for the guard alone."""
    assert decided(action, (Gives,)).evictions


@pytest.mark.parametrize("guard", [Unopened, Unbuilt, Unable])
@pytest.mark.parametrize("action", EVICTING)
def test_a_guard_that_fails_spares_all(action: str, guard: Any) -> None:
    """It is named, the veto says why, and a later tier does not decide in its place."""
    outcome = decided(action, (guard, Gives))

    assert outcome.evictions == []
    assert outcome.failed_plugins == ["guard"]
    assert decided(action, (guard,), (Gives,)).evictions == []


@pytest.mark.parametrize("action", EVICTING)
def test_a_plugin_without_vetoes_may_fail(action: str) -> None:
    """Victims go as without it."""
    assert decided(action, (Scorer, Gives)).evictions


def test_flags_hold_for_a_guard_that_fails() -> None:
    """If it is switched off, it could not have protected any pod."""
    guard = {"name": Unopened, "enablePreemptable": False}

    assert decided("preempt", (guard, Gives)).evictions


def test_earlier_tiers_decide_without_a_guard_that_fails() -> None:
    """It would not have been asked."""
    outcome = ONE_QUEUE.run("allocate", "preempt", plugins=((Gives, "priority", "gang"), (Unopened,)))

    assert outcome.evictions
