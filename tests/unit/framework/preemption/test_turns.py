"""Jobs of a namespace that used up its share go by rounds, and the scheduler comes to rest after a whole round."""

import msgspec
import pytest

from pyroclast.actions.preempt import Preempt
from pyroclast.framework.cycle import run_cycle
from pyroclast.framework.placement.gangs.refusals import SEARCH_ENDED
from pyroclast.framework.preemption.harm import Effort, effort_of
from pyroclast.framework.session.memory import Memory, Settled
from pyroclast.framework.session.session_values import Scratch
from pyroclast.model.ids import JobId
from pyroclast.testing import open_session
from pyroclast.testing.cluster import cluster_of
from pyroclast.testing.configuration import configured
from tests.laws.test_turns_of_namespaces import NOISY, TIERS, TRIALS, cluster, with_noisy

JOBS = 4


def test_a_whole_round_on_one_snapshot_is_followed_by_rest() -> None:
    """One job a cycle: as long as one of them has not seen the cluster as it is, another cycle is due."""
    scenario = with_noisy(cluster("preempt", 1), JOBS)
    parsed, registry = configured(("allocate", "preempt"), TIERS, {"preempt": {"namespaceSteps": TRIALS["preempt"]}})
    simulated = cluster_of(scenario.objects, shard_mode="none", shard="volcano", warnings=[])
    memory, settled, generations, rests = Memory(), Settled(), [], []
    for cycle in range(3 * JOBS):
        snapshot = simulated.snapshot()
        report, memory = run_cycle(
            snapshot, parsed.configuration, registry=registry, now=2e9 + cycle, memory=memory, settled=settled
        )
        simulated.settle(report.plans, report, now=2e9 + cycle + 0.5, recreate_evicted=False)
        generations.append(snapshot.generation)
        rests.append(memory.is_quiet(snapshot.generation, parsed.configuration.generation, 2e9))

    first = rests.index(True)
    assert all(rests[first:])
    last_round = {turn.snapshot for turn in memory.turns["preempt"].values()}
    assert last_round == {generations[first]}
    assert generations[first - JOBS + 1 :] == [generations[first]] * (3 * JOBS - first + JOBS - 1)


def test_tenants_have_budgets_of_their_own() -> None:
    """What the searches for one namespace take leaves those of others what they have."""
    scratch = Scratch()
    effort_of(scratch, "a").left = 0

    assert effort_of(scratch, "a").left == 0
    assert effort_of(scratch, "b").left == Effort().left


@pytest.mark.parametrize(("most", "reason"), [(1, SEARCH_ENDED), (100, "NoEvictionHelps")])
def test_the_search_for_one_job_ends(most: int, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three nodes are tried in vain for each of its pods, unless it gives up after one."""
    monkeypatch.setattr("pyroclast.framework.preemption.namespace_turns._MOST_STEPS_OF_JOB", most)
    session = open_session(with_noisy(cluster("preempt", 3), 1), plugins=TIERS)
    session.action = "preempt"
    job = session.jobs.get(JobId(f"{NOISY}/n0"))
    assert job is not None
    Preempt().execute(session)

    assert job.reasons.eviction_refusals["preempt"].reason == reason


def test_rounds_can_be_recorded() -> None:
    """What a cycle leaves is in the record, from which `replay` decides the next one."""
    scenario = with_noisy(cluster("preempt", 1), JOBS)
    arguments = {"allocate": {"namespaceTemplates": 2}, "preempt": {"namespaceSteps": 1}}
    parsed, registry = configured(("allocate", "preempt"), TIERS, arguments)
    simulated = cluster_of(scenario.objects, shard_mode="none", shard="volcano", warnings=[])
    _, memory = run_cycle(simulated.snapshot(), parsed.configuration, registry=registry, now=2e9)

    assert memory.turns["preempt"]
    assert memory.rounds[NOISY].after
    assert msgspec.json.decode(msgspec.json.encode(memory), type=Memory) == memory
