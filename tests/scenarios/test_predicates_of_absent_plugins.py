"""A plugin that may keep pods off nodes and cannot be opened: no pod is placed that it could have forbidden."""

from typing import Any

import pytest

from pyroclast import NodeView, Plugin, Reason, Session, Task, contract
from pyroclast.testing import Outcome, Scenario

CLUSTER = (
    Scenario()
    .node("n1", cpu=2)
    .queue("red")
    .priority_class("low", 10)
    .priority_class("high", 100)
    .job("a", tasks=2, queue="red")
)
FULL = CLUSTER.running("low", on=["n1"] * 2, queue="red", priority_class="low", min_available=0).job(
    "high", queue="red", priority_class="high", phase="Inqueue"
)


class Filter(Plugin):
    """A plugin that forbids a node, once it is open."""

    name = "filter"

    def __init__(self) -> None:
        """Open."""

    def on_session_open(self, session: Session) -> None:
        """Register."""
        session.extensions.register(contract.PREDICATE, self.name, self.forbid)

    def forbid(self, _task: Task, node: NodeView) -> Reason | None:
        """Forbid the node."""
        return Reason("node(s) for others", resolvable=False) if node.name == "n1" else None


class Unopened(Filter):
    """One that cannot be opened."""

    def on_session_open(self, session: Session) -> None:
        """Register, and fail."""
        super().on_session_open(session)
        raise RuntimeError("no licence")


class Unbuilt(Filter):
    """One that cannot even be made."""

    def __init__(self) -> None:
        """Fail."""
        raise SystemExit(3)


class Scorer(Unopened):
    """One that has no predicate, and says so."""

    filters_nodes = False


def decided(plugin: Any, *actions: str, scenario: Scenario = CLUSTER) -> Outcome:
    """Run a cycle with a plugin before ours."""
    return scenario.run(
        *(actions or ("enqueue", "allocate", "backfill")), plugins=((plugin, "priority", "gang"), ("predicates",))
    )


@pytest.mark.parametrize("plugin", [Unopened, Unbuilt])
def test_waiting_pods_name_the_blocking_jobs(plugin: Any) -> None:
    """Nothing would undo a binding that it forbids."""
    outcome = decided(plugin)

    assert outcome.bindings == {}
    assert outcome.failed_plugins == ["filter"]
    assert "plugin filter failed: " in outcome.why("a")


@pytest.mark.parametrize("action", ["preempt", "gangpreempt", "reclaim", "gangreclaim"])
def test_no_pod_is_evicted_for_its_waiting_siblings(action: str) -> None:
    """A victim's place would be of no use."""
    outcome = decided(Unopened, "allocate", action, scenario=FULL)

    assert (outcome.bindings, outcome.evictions) == ({}, [])


@pytest.mark.parametrize("plugin", [Scorer, Scorer()])
def test_a_plugin_that_says_it_has_no_predicate_may_fail(plugin: Any) -> None:
    """Pods are placed as without it; a class says so, or what a function made."""
    assert decided(plugin).bindings == {"a-0": "n1", "a-1": "n1"}


def test_flags_hold() -> None:
    """Where its predicates are switched off it could not have forbidden anything."""
    assert decided({"name": Unopened, "enablePredicate": False}).bindings


def test_its_failure_may_be_ignored() -> None:
    """The rule of before: predicates of a plugin that cannot be opened are left out, and its vetoes too."""
    ignored = {"name": Unopened, "failurePolicy": "Ignore"}

    assert decided(ignored).bindings
    assert decided(ignored, "allocate", "preempt", scenario=FULL).evictions


def test_in_the_next_cycle_it_is_opened_anew() -> None:
    """Pods wait for one cycle alone."""

    class Once(Filter):
        opened = 0

        def on_session_open(self, session: Session) -> None:
            super().on_session_open(session)
            Once.opened += 1
            if Once.opened == 1:
                raise RuntimeError("not yet")

        def forbid(self, _task: Task, _node: NodeView) -> Reason | None:
            return None

    outcome = CLUSTER.run("allocate", plugins=((Once, "gang"), ("predicates",)), cycles=2)

    assert Once.opened == 2
    assert outcome.bindings == {"a-0": "n1", "a-1": "n1"}
