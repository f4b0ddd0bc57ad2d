"""The product and a plain scheduler decide alike where one more plugin has its say, on clusters by chance."""

from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyroclast.framework.cycle import run_cycle
from pyroclast.framework.session.memory import Memory
from pyroclast.plugins.coscheduling import gang_rules
from pyroclast.testing.cluster import cluster_of
from pyroclast.testing.configuration import configured
from tests.differential.extended import MARKED
from tests.differential.often import at_least
from tests.differential.topological import Topological
from tests.differential.varied import VARIATIONS, Varied, varied
from tests.drawing import examples
from tests.laws.test_settled import Taking

ALIKE = settings(max_examples=examples(16), deadline=None, suppress_health_check=[HealthCheck.too_slow])
SEEDS = st.integers(0, 2**32)
PLUGINS = sorted(VARIATIONS)


def plainly(each: Varied) -> dict[str, Any]:
    """Decide as the rules are written."""
    plain = Topological(each.scenario.objects, each.tiers, each.now, each.arguments, each.runs)
    plain.run(each.actions)
    return {"plans": plain.plans, "evicting": plain.evicting, "held": plain.held, "phases": plain.phases}


def by_the_product(each: Varied) -> dict[str, Any]:
    """Decide as the product does."""
    warnings: list[str] = []
    parsed, registry = configured(each.actions, each.tiers, each.arguments)
    cluster = cluster_of(each.scenario.objects, shard_mode="none", shard="volcano", warnings=warnings)
    cluster.follow_gangs(gang_rules(parsed.configuration.profiles[0]))
    report, _ = run_cycle(
        cluster.snapshot(),
        parsed.configuration,
        registry=registry,
        now=each.now,
        memory=Memory(runs=each.runs),
        outside=MARKED,
        observer=Taking(cluster, each.now),
    )
    # a switch turned off is doubted, and meant; so is a configuration without gang
    unmeant = [each for each in parsed.warnings if ": false " not in each and "without gang" not in each]
    assert [*unmeant, *warnings] == []
    assert not [sample for sample in report.samples if sample.metric == "plugin_failures_total"]
    names = cluster.pod_names()
    return {
        "plans": [[(names[bind.task], bind.node) for bind in plan.binds] for plan in report.plans if plan.binds],
        "evicting": [
            {
                "evicted": [names[eviction.task] for eviction in plan.evictions],
                "for": [(names[place.task], place.node) for place in plan.nominations],
            }
            for plan in report.plans
            if plan.evictions
        ],
        "held": {names[task]: node for places in report.pipelined.values() for task, node in places.items()},
        "phases": {job: phase.value for job, phase in report.phases.items()},
    }


@pytest.mark.parametrize("plugin", PLUGINS)
@ALIKE
@given(SEEDS)
def test_same_decisions(plugin: str, seed: int) -> None:
    """Binds and evictions of each plan, in order, places of waiting pods, and phases of jobs."""
    each = varied(plugin, Random(seed))

    assert by_the_product(each) == plainly(each)


@pytest.mark.parametrize("plugin", PLUGINS)
def test_the_plugin_matters(plugin: str) -> None:
    """At least an eighth of forty clusters are decided otherwise without it."""
    cases = (varied(plugin, Random(seed)) for seed in range(40))

    assert at_least(5, (plainly(each) != plainly(each.without(plugin)) for each in cases))
