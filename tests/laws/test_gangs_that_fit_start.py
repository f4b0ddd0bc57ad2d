"""A gang that fits starts: where an assignment of its minimum to free room exists, allocate finds one."""

from random import Random

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pyroclast.scheduler.simulation.case import moment_after
from pyroclast.testing.cluster import cluster_of
from pyroclast.testing.configuration import configured
from tests.drawing import examples
from tests.laws.entangled_gangs import entangled_gang
from tests.laws.fitting_gangs import fitting_gang, minimum_of
from tests.laws.test_settled import forgetting_changes_nothing

PLUGINS = (
    ("priority", "gang", "conformance"),
    ("drf", "predicates", "proportion", "nodeorder", "network-topology-aware"),
)


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 1 << 32))
def test_a_gang_that_fits_starts(seed: int) -> None:
    """Members are bound, at least as many as the minimum, in the first cycle."""
    scenario = fitting_gang(Random(seed))

    outcome = scenario.run("enqueue", "allocate", "backfill", plugins=PLUGINS)

    assert len(outcome.bindings) >= minimum_of(scenario), outcome.why("gang")


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 1 << 32))
@example(102)  # followers of leaders in a domain
@example(129)  # sets that shun each other
@example(436)  # an exact fill that is spread over hosts
@example(100133)  # an exact fill of one resource, some of it spread over hosts, all but the leader beside it
def test_a_gang_whose_members_bear_on_each_other_starts(seed: int) -> None:
    """Members are bound, all of them, in the first cycle."""
    scenario = entangled_gang(Random(seed))

    outcome = scenario.run("enqueue", "allocate", "backfill", plugins=PLUGINS)

    assert len(outcome.bindings) == minimum_of(scenario), outcome.why("gang")


@settings(max_examples=examples(20), suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 1 << 32))
def test_remembered_searches_change_no_decision(seed: int) -> None:
    """A second gang that fits only by chance is searched for or remembered, with the same outcome, as pods end."""
    chance = Random(seed)
    scenario = fitting_gang(chance, most_nodes=4, most_pods=10)
    scenario = scenario.job("second", queue="research", tasks=0, min_available=4)
    for number in range(6):
        scenario = scenario.pod(f"second-{number}", job="second", cpu=chance.randint(1, 12))
    parsed, registry = configured(("enqueue", "allocate", "backfill"), PLUGINS, {})
    forgetting_changes_nothing(
        cluster_of(scenario.objects, shard_mode="none", shard="volcano", warnings=[]),
        parsed.configuration,
        registry,
        begin=moment_after(scenario.objects),
        cycles=5,
        ends=0.7,
        chance=chance,
    )
