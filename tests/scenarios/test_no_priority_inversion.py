"""A pod is never evicted for a pod of a lower priority, whichever tier names victims."""

from collections.abc import Mapping
from typing import Any

import pytest

from pyroclast.testing import Outcome, Scenario

TIERS: tuple[Any, ...] = (("priority", "gang", "conformance"), ("drf", "predicates", "proportion", "nodeorder"))
CLASSES = Scenario().priority_class("low", 1).priority_class("high", 9)
LARGE_SHARE = CLASSES.node("n1", cpu=4).job(
    "important", cpu=1, tasks=4, min_available=1, running_on=["n1"] * 4, priority_class="high", priority=9
)


def preempt(scenario: Scenario, arguments: Mapping[str, Any] | None = None, *actions: str) -> Outcome:
    """Run one cycle."""
    return scenario.run(*(actions or ("allocate", "preempt")), plugins=TIERS, arguments=arguments)


def test_a_second_tier_cannot_name_more_important_pods() -> None:
    """Priority names no victim, so drf is asked, which looks at shares alone."""
    outcome = preempt(LARGE_SHARE.job("modest", cpu=1, priority_class="low", priority=1))

    assert outcome.evictions == []
    assert "its priority is higher" in str(outcome.rounds[0].report.vetoes)


def test_an_argument_restores_the_rule_of_tiers() -> None:
    """With `protectPriority` off the second tier decides, as in Volcano."""
    waiting = LARGE_SHARE.job("modest", cpu=1, priority_class="low", priority=1)

    assert len(preempt(waiting, {"preempt": {"protectPriority": False}}).evictions) == 1


def test_equal_priorities_are_left_to_shares() -> None:
    """A job with a smaller share still takes room from an equal one."""
    assert len(preempt(LARGE_SHARE.job("equal", cpu=1, priority_class="high", priority=9)).evictions) == 1


@pytest.mark.parametrize("action", ["preempt", "gangpreempt"])
def test_the_priority_of_the_pod_counts_too(action: str) -> None:
    """A pod of a high priority stays though its PodGroup names no class."""
    scenario = (
        CLASSES.node("n1", cpu=1)
        .job("pods", cpu=1, running_on=["n1"], priority=9)
        .job("class", cpu=1, priority_class="low", priority=1)
    )

    assert preempt(scenario, None, "allocate", action).evictions == []


def test_pods_without_a_priority_have_that_of_their_job() -> None:
    """The class of the PodGroup is enough."""
    scenario = (
        CLASSES.node("n1", cpu=2)
        .job("victim", cpu=1, tasks=2, min_available=1, running_on=["n1"] * 2, priority_class="low", priority=1)
        .job("class", cpu=1, priority_class="high")
    )

    assert preempt(scenario).evictions == ["victim-1"]
