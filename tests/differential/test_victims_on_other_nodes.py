"""The least harmful plans, with victims on any nodes, are those that a trial of all sets of victims finds."""

from random import Random

from hypothesis import example, given, settings
from hypothesis import strategies as st

from pyroclast.scheduler.simulation.case import moment_after
from tests.differential.cluster import Pod
from tests.differential.often import at_least
from tests.differential.victim_sets import NO_PLAN, Anywhere, AnywhereInTree, Limited, limited
from tests.drawing import examples

SEEDS = st.integers(0, 2**32)


def plainly(each: Limited) -> Anywhere:
    """Return the plain side, after allocate."""
    kind = AnywhereInTree if each.in_tree else Anywhere
    objects = each.scenario.objects
    return kind(objects, each.tiers, moment_after(objects), each.arguments, action=each.action)


def by_the_product(each: Limited, *, least_harm: bool = True) -> tuple[list[str], dict[str, str]]:
    """Return the victims of the product, and the places of pods that wait for the capacity."""
    arguments = {**each.arguments, each.action: {"leastHarm": least_harm}}
    outcome = each.scenario.run(
        "allocate",
        each.action,
        plugins=each.configured,
        arguments=arguments,
        now=moment_after(each.scenario.objects),
    )
    assert outcome.failed_plugins == []
    assert outcome.warnings == ()
    names = outcome.rounds[0].pod_names
    plans = [plan for plan in outcome.report.plans if plan.evictions]
    assert len(plans) <= 1
    evicted = [names[eviction.task] for plan in plans for eviction in plan.evictions]
    return evicted, {names[place.task]: place.node for plan in plans for place in plan.nominations}


def victims_of(plain: Anywhere, names: list[str]) -> list[Pod]:
    """Return pods by their names."""
    return [pod for pod in plain.cluster.placed if pod.key in names]


@settings(max_examples=examples(60))
@given(SEEDS)
@example(1000169)
@example(1001903)
@example(2001089)
@example(2001968)
@example(3001932)
@example(8002804)
def test_the_least_harmful_plan_is_found(seed: int) -> None:
    """There is a plan if any set of victims serves, its victims can be evicted, and it is the least harmful one."""
    each = limited(Random(seed))
    plain = plainly(each)
    evicted, places = by_the_product(each)
    some, every = plain.least_harm_of_plans()
    victims = victims_of(plain, evicted)

    assert some <= (plain.harm_of(victims) if victims else NO_PLAN) <= every
    if victims:
        assert plain.hold(victims, places)
        assert plain.may_go_in_some_order(victims)


def are_on_other_nodes(each: Limited) -> bool:
    """Whether the plan has a victim on a node that no pod waits for."""
    evicted, places = by_the_product(each)
    return any(pod.node not in places.values() for pod in victims_of(plainly(each), evicted))


def test_victims_on_other_nodes_matter() -> None:
    """A twentieth of a hundred clusters evict on other nodes, and some of these have no plan without `leastHarm`."""
    cases = [case for case in map(limited, map(Random, range(100))) if are_on_other_nodes(case)]

    assert len(cases) >= 5
    assert at_least(2, (by_the_product(case, least_harm=False) == ([], {}) for case in cases))


def test_the_order_of_evictions_rarely_matters() -> None:
    """The two bounds differ in at most two of fifty clusters."""
    bounds = (plainly(limited(Random(seed))).least_harm_of_plans() for seed in range(50))

    assert not at_least(3, (some != every for some, every in bounds))
