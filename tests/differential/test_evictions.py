"""The product and a plain, slow search for victims evict alike, on crowded clusters by chance."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyroclast.scheduler.simulation.case import moment_after
from tests.differential.cluster import Group, Pod
from tests.differential.crowded import Crowded, crowded
from tests.differential.evicting import Evicting
from tests.differential.minimums import Step
from tests.differential.often import at_least
from tests.differential.scarce import scarce
from tests.differential.treed import Treed, branched
from tests.differential.weighed import Weighed, pathed
from tests.drawing import examples

ALIKE = settings(max_examples=examples(50), deadline=None, suppress_health_check=[HealthCheck.too_slow])
SEEDS = st.integers(0, 2**32)


def plainly(each: Crowded, kind: type[Evicting] = Evicting) -> dict[str, Any]:
    """Decide as the rules are written."""
    objects = each.scenario.objects
    plain = kind(objects, each.tiers, moment_after(objects), each.arguments)
    plain.run(each.actions)
    return {"plans": plain.plans, "evicting": plain.evicting, "held": plain.held}


def by_the_product(each: Crowded) -> dict[str, Any]:
    """Decide as the product does."""
    outcome = each.scenario.run(
        *each.actions, plugins=each.configured, arguments=each.arguments, now=moment_after(each.scenario.objects)
    )
    assert outcome.failed_plugins == []
    assert outcome.warnings == ()
    names = outcome.rounds[0].pod_names
    plans = outcome.report.plans
    return {
        "plans": [[(names[bind.task], bind.node) for bind in plan.binds] for plan in plans if plan.binds],
        "evicting": [
            {
                "evicted": [names[eviction.task] for eviction in plan.evictions],
                "for": [(names[place.task], place.node) for place in plan.nominations],
            }
            for plan in plans
            if plan.evictions
        ],
        "held": {names[task]: node for places in outcome.report.pipelined.values() for task, node in places.items()},
    }


@ALIKE
@given(SEEDS)
def test_same_evictions_for_the_same_pods(seed: int) -> None:
    """Preempt, reclaim, gangpreempt, gangreclaim: victims of each plan, in order, and places of waiting pods."""
    each = crowded(Random(seed))

    assert by_the_product(each) == plainly(each)


@settings(ALIKE, max_examples=examples(5))
@given(SEEDS)
def test_same_evictions_where_candidates_are_many(seed: int) -> None:
    """The same for whole gangs of dozens of pods, whose candidates are asked about in portions."""
    chance = Random(seed)
    each = crowded(chance, times=12)
    each = replace(each, actions=("allocate", chance.choice(["gangpreempt", "gangreclaim"])))

    assert by_the_product(each) == plainly(each)


@settings(ALIKE, max_examples=examples(25))
@given(SEEDS)
def test_same_evictions_in_a_tree_of_queues(seed: int) -> None:
    """The same with a hierarchy of queues in capacity."""
    each = branched(Random(seed))

    assert by_the_product(each) == plainly(each, Treed)


@settings(ALIKE, max_examples=examples(25))
@given(SEEDS)
def test_same_evictions_among_weighed_branches(seed: int) -> None:
    """The same with paths and weights of queues in drf."""
    each = pathed(Random(seed))

    assert by_the_product(each) == plainly(each, Weighed)


@settings(ALIKE, max_examples=examples(40))
@given(SEEDS, st.booleans())
def test_same_choice_where_room_is_short(seed: int, full: bool) -> None:
    """The same where roles and sub-groups are mixed in the order of pods, and not all pods of a job find room."""
    each = scarce(Random(seed), full=full)

    assert by_the_product(each) == plainly(each)


class InOrder(Evicting):
    """Knows no minimums of roles and sub-groups as it chooses: the first pods are as good as any."""

    def steps(self, group: Group, pods: Sequence[Pod]) -> list[Step]:
        """The pods in their order."""
        return [(part, [pod]) for part in self.parts(group) for pod in pods if pod in part.members]


@pytest.mark.parametrize("full", [False, True])
def test_the_choice_matters(full: bool) -> None:
    """At least a twentieth of a hundred clusters are decided otherwise if pods are taken in their order."""
    cases = (scarce(Random(seed), full=full) for seed in range(100))

    assert at_least(5, (plainly(each, InOrder) != plainly(each) for each in cases))


@pytest.mark.parametrize(("made", "kind"), [(branched, Treed), (pathed, Weighed)])
def test_the_tree_matters(made: Callable[[Random], Crowded], kind: type[Evicting]) -> None:
    """At least a tenth of fifty clusters are decided otherwise if all queues are siblings."""
    cases = (made(Random(seed)) for seed in range(50))

    assert at_least(5, (plainly(each, kind) != plainly(each) for each in cases))


def test_the_clusters_are_worth_it() -> None:
    """At least a third of a hundred clusters have evictions, by each action."""
    seen: dict[str, int] = {}
    for seed in range(100):
        each = crowded(Random(seed))
        if plainly(each)["evicting"]:
            for action in each.actions:
                seen[action] = seen.get(action, 0) + 1
    assert seen["allocate"] >= 33
    assert all(seen.get(action, 0) >= 5 for action in ("preempt", "reclaim", "gangpreempt", "gangreclaim")), seen
