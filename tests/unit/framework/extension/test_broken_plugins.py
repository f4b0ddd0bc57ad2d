"""A plugin that raises, wherever it does, never ends a cycle: it is named, and what it does not decide goes on."""

from typing import Any

import numpy as np
import pytest

from pyroclast import Plugin, Session
from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Locality, Point
from pyroclast.model.refusals import Reason
from pyroclast.testing import Outcome, Scenario

SOUND = ("gang", "predicates", "nodeorder", "proportion")
CLUSTER = (
    Scenario()
    .node("n0", cpu=4)
    .node("n1", cpu=4)
    .queue("red")
    .queue("green")
    .job("pair", tasks=2, queue="red", min_resources={"cpu": 1})
    .job("many", tasks=4, queue="green", min_available=1)
    .job("light", tasks=1, queue="green", cpu=None)
    .job("huge", tasks=3, cpu=9, queue="red")
)


def broken(*_: Any, **__: Any) -> Any:
    """Fail."""
    raise RuntimeError("broken")


class Broken(Plugin):
    """A plugin for tests to give one broken thing."""

    name = "broken"

    def __init__(self, register: Any) -> None:
        self.register = register

    def on_session_open(self, session: Session) -> None:
        """Register what the test is about."""
        self.register(session)


class Ledger(contract.Ledger):
    """A ledger that fails at one of its two methods."""

    def __init__(self, at: str) -> None:
        self.at = at

    def apply(self, _change: Any) -> None:
        """Count nothing, or fail."""
        if self.at == "apply":
            broken()

    def revert(self, _change: Any) -> None:
        """Count nothing, or fail."""
        if self.at == "revert":
            broken()


def decided(register: Any) -> Outcome:
    """Run a cycle with a broken plugin before and after the sound ones; both stay in one tier."""
    plugin = {"name": Broken(register), "failurePolicy": "Ignore"}
    return CLUSTER.run("enqueue", "allocate", "backfill", plugins=((plugin, *SOUND),))


@pytest.mark.parametrize("point", contract.ALL_POINTS, ids=lambda point: point.name)
def test_each_point(point: Point[Any]) -> None:
    """The cycle comes to its end."""
    outcome = decided(lambda session: session.extensions.register(point, "broken", broken))

    assert outcome.report.cycle == 1


@pytest.mark.parametrize("locality", Locality)
@pytest.mark.parametrize("point", [contract.PREDICATE, contract.NODE_ORDER], ids=lambda point: point.name)
def test_array_functions(point: Point[Any], locality: Locality) -> None:
    """A predicate that fails refuses, a score that fails adds nothing, and both are named with what they raised."""
    reasons = (Reason("no"),) if point is contract.PREDICATE else ()
    outcome = decided(
        lambda session: session.extensions.register(point, "broken", broken, locality=locality, reasons=reasons)
    )

    assert outcome.failed_plugins == ["broken"]
    assert outcome.warnings == ("plugin broken failed: RuntimeError: broken",)
    assert bool(outcome.bindings) is (point is contract.NODE_ORDER)


@pytest.mark.parametrize(
    "point", [contract.JOB_ORDER, contract.TASK_ORDER, contract.QUEUE_ORDER], ids=lambda each: each.name
)
def test_orders_fall_through(point: Point[Any]) -> None:
    """Where a key cannot be had the next plugin decides, and everything is bound that would be."""
    outcome = decided(lambda session: session.extensions.register(point, "broken", broken))

    assert outcome.failed_plugins == ["broken"]
    assert set(outcome.bindings) == {"pair-0", "pair-1", "many-0", "many-1", "many-2", "many-3", "light-0"}


def scores_of_shape(shape: int) -> Any:
    """Return a score that gives arrays of one length, whatever it is asked."""
    return lambda _task, _columns: np.zeros(shape)


@pytest.mark.parametrize(
    "registration",
    [
        lambda session: session.extensions.register(
            contract.NODE_ORDER,
            "broken",
            lambda _, columns: np.ones(len(columns)),
            locality=Locality.FACTS,
            normalise=broken,
        ),
        lambda session: session.extensions.register(
            contract.NODE_ORDER, "broken", lambda *_: None, locality=Locality.GLOBAL, cares=broken
        ),
        lambda session: session.extensions.register(contract.ALLOCATABLE, "broken", lambda *_: True, headroom=broken),
        lambda session: session.extensions.register(contract.JOB_READY, "broken", lambda *_: True, missing=broken),
        lambda session: session.extensions.register(
            contract.NODE_ORDER, "broken", scores_of_shape(7), locality=Locality.AMOUNTS
        ),
        lambda session: session.extensions.register(contract.BATCH_NODE_ORDER, "broken", lambda *_: [1]),
        lambda session: session.extensions.register(contract.NODE_ORDER, "broken", lambda *_: "much"),
        lambda session: session.extensions.on_close("broken", broken),
    ],
    ids=["normalise", "cares", "headroom", "missing", "shape", "batch", "text", "close"],
)
def test_what_goes_with_a_function(registration: Any) -> None:
    """Nothing is lost but what the plugin would have added."""
    outcome = decided(registration)

    assert outcome.failed_plugins in (["broken"], [])  # a score that is never asked for is never found out
    assert len(outcome.bindings) == 7


@pytest.mark.parametrize(
    "what", ["register_annotations", "register_labels", "register_plan_annotations", "register_preparations"]
)
def test_bindings_that_cannot_be_prepared_are_not_made(what: str) -> None:
    """Their jobs have the reason, and the capacity is free again."""
    outcome = decided(lambda session: getattr(session.extensions, what)("broken", broken))

    assert outcome.bindings == {}
    assert outcome.refusals("pair")[0].plugin == "broken"
    assert outcome.failed_plugins == ["broken"]


@pytest.mark.parametrize("at", ["apply", "revert"])
def test_ledgers(at: str) -> None:
    """A ledger that cannot count refuses; one that cannot undo is named."""
    outcome = decided(lambda session: session.extensions.register_ledger("broken", Ledger(at)))

    assert bool(outcome.bindings) is (at == "revert")
    assert outcome.failed_plugins == (["broken"] if at == "apply" else [])


def test_half_a_plugin_is_no_plugin() -> None:
    """What a plugin registered before it failed is forgotten."""

    def half(session: Session) -> None:
        session.extensions.register_ledger("broken", Ledger("apply"))
        session.extensions.register(contract.PREDICATE, "broken", broken)
        session.extensions.register_annotations("broken", broken)
        session.extensions.register_plan_annotations("broken", broken)
        session.extensions.register_labels("broken", broken)
        raise RuntimeError("broken in the middle")

    outcome = decided(half)

    assert outcome.failed_plugins == ["broken"]
    assert len(outcome.bindings) == 7


@pytest.mark.parametrize(
    "point",
    [contract.OVERUSED, contract.ALLOCATABLE, contract.JOB_VALID, contract.PRE_PREDICATE, contract.JOB_ENQUEUEABLE],
    ids=lambda point: point.name,
)
def test_questions_about_permission(point: Point[Any]) -> None:
    """The failure refuses, and is counted in the plugin's name."""
    outcome = decided(lambda session: session.extensions.register(point, "broken", broken))

    assert outcome.failed_plugins == ["broken"]


VICTIMS = (
    Scenario()
    .node("n0", cpu=2)
    .queue("red")
    .job("low", tasks=2, queue="red", min_available=1, running_on=("n0", "n0"), priority=1)
    .job("high", tasks=1, queue="red", priority=9)
)


@pytest.mark.parametrize(
    "answer",
    [broken, lambda *_: None, lambda *_: ["no task"], lambda *_: (1, 2, 3)],
    ids=["raises", "none", "text", "3"],
)
def test_choices_of_victims(answer: Any) -> None:
    """A plugin that fails protects all pods, is named, and the veto has its error."""
    plugin = Broken(lambda session: session.extensions.register(contract.PREEMPTABLE, "broken", answer))
    outcome = VICTIMS.run("allocate", "preempt", plugins=((plugin, "priority", "gang", "predicates"),))

    assert outcome.failed_plugins == ["broken"]
    assert not outcome.evictions


@pytest.mark.parametrize("score", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize(
    "register",
    [
        lambda session, score: session.extensions.register(
            contract.NODE_ORDER, "broken", lambda _, columns: np.full(len(columns), score), locality=Locality.AMOUNTS
        ),
        lambda session, score: session.extensions.register(
            contract.NODE_ORDER,
            "broken",
            lambda _, columns: columns.index + 1.0,
            locality=Locality.FACTS,
            normalise=lambda raw: raw * score,
        ),
        lambda session, score: session.extensions.register(contract.NODE_ORDER, "broken", lambda *_: score),
        lambda session, score: session.extensions.register(
            contract.BATCH_NODE_ORDER, "broken", lambda _, nodes: {node.name: score for node in nodes}
        ),
    ],
    ids=["arrays", "rescaled", "pairs", "batch"],
)
def test_scores_that_are_no_numbers(register: Any, score: float) -> None:
    """They add nothing, where one alone would decide for every node, and their plugin is named."""
    outcome = decided(lambda session: register(session, score))

    assert outcome.failed_plugins == ["broken"]
    assert len(outcome.bindings) == 7
