"""Laws over cycles and statements, on the clusters of this folder: gangs of mixed pods, constraints, odd nodes."""

import random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyroclast.framework.cycle import run_cycle
from pyroclast.framework.session.memory import Memory, Settled
from pyroclast.scheduler.simulation.case import moment_after
from pyroclast.testing import open_session
from pyroclast.testing.cluster import cluster_of
from pyroclast.testing.configuration import configured
from tests.differential.generated import case
from tests.drawing import examples
from tests.laws.clusters import act_at_random, picture
from tests.laws.test_settled import Taking, decided, end_one_pod

LAWS = settings(max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.too_slow])
SEEDS = st.integers(0, 2**32)


@LAWS
@given(SEEDS)
def test_forgetting_everything_changes_no_decision(seed: int) -> None:
    """A cycle that remembers what the last ones found decides what one with an empty memory decides."""
    chance = random.Random(seed)
    each = case(chance, divided=chance.random() < 0.3)
    parsed, registry = configured(each.actions, each.tiers, {})
    cluster = cluster_of(each.scenario.objects, shard_mode="none", shard="volcano", warnings=[])
    kept, memory = Settled(), Memory()
    begin = moment_after(each.scenario.objects)
    for cycle in range(4):
        now, snapshot = begin + cycle, cluster.snapshot()
        fresh, _ = run_cycle(
            snapshot, parsed.configuration, registry=registry, now=now, memory=Memory(cycle=memory.cycle)
        )
        report, memory = run_cycle(
            snapshot,
            parsed.configuration,
            registry=registry,
            now=now,
            memory=memory,
            settled=kept,
            observer=Taking(cluster, now),
        )

        assert decided(report) == decided(fresh)
        cluster.settle(report.plans, report, now=now + 0.5, recreate_evicted=False)
        if chance.random() < 0.7:
            end_one_pod(cluster, now + 0.6, chance)


@LAWS
@given(SEEDS, st.integers(1, 12))
def test_undo_restores_everything(seed: int, steps: int) -> None:
    """Amounts, tasks, counts and what every plugin answers are as before, to the bit."""
    chance = random.Random(seed)
    each = case(chance, divided=chance.random() < 0.3)
    session = open_session(each.scenario, plugins=each.tiers)
    before = picture(session)
    with session.statement() as statement:
        act_at_random(session, statement, chance, steps)

    assert picture(session) == before
