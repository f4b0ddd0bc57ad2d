"""Places that members of gangs keep: the cluster rests meanwhile, and a cycle is due when the time is over."""

from pyroclast.framework.cycle import run_cycle
from pyroclast.framework.session.memory import Memory
from pyroclast.plugins.coscheduling import gang_rules
from pyroclast.scheduler.simulation.case import moment_after
from pyroclast.testing import Scenario
from pyroclast.testing.cluster import cluster_of
from pyroclast.testing.configuration import configured
from tests.gangs import annotated

PATIENT = annotated("a", 2, mode="NonStrict")
SCENARIO = Scenario().queue("default").node("n", cpu=4).node("full", cpu=9)
SCENARIO = SCENARIO.pod("busy", node="full", cpu=9, scheduler="other")
SCENARIO = SCENARIO.pod("fits", annotations=PATIENT, cpu=3).pod("large", annotations=PATIENT, cpu=9)


def test_keeping_is_quiet_until_the_time_is_over() -> None:
    """Nothing is decided again before; then the place goes, and is found anew in the next cycle."""
    arguments = {"coscheduling": {"defaultTimeout": "30s"}}
    parsed, registry = configured(("allocate",), ("coscheduling", "gang", "predicates"), arguments)
    configuration = parsed.configuration
    cluster = cluster_of(SCENARIO.objects, shard_mode="none", shard="volcano", warnings=[])
    cluster.follow_gangs(gang_rules(configuration.profiles[0]))
    begin, memory = moment_after(SCENARIO.objects), Memory()

    def held(now: float) -> list[str]:
        nonlocal memory
        report, memory = run_cycle(cluster.snapshot(), configuration, registry=registry, now=now, memory=memory)
        cluster.settle(report.plans, report, now=now, recreate_evicted=False)
        return [node for places in report.pipelined.values() for node in places.values()]

    def is_quiet(now: float) -> bool:
        return memory.is_quiet(cluster.snapshot().generation, configuration.generation, now)

    assert held(begin) == ["n"]
    assert held(begin + 1) == ["n"]  # what it is told was written meanwhile
    assert is_quiet(begin + 2)
    assert is_quiet(begin + 29.9)
    assert not is_quiet(begin + 30)
    assert held(begin + 30) == []
    assert not is_quiet(begin + 31)
    assert held(begin + 31) == ["n"]


def test_memory_that_is_lost_begins_anew() -> None:
    """A restart forgets who kept what: the place is found again, and the time begins anew."""
    parsed, registry = configured(("allocate",), ("coscheduling", "gang", "predicates"), {})
    configuration = parsed.configuration
    cluster = cluster_of(SCENARIO.objects, shard_mode="none", shard="volcano", warnings=[])
    cluster.follow_gangs(gang_rules(configuration.profiles[0]))
    now = moment_after(SCENARIO.objects)
    _, first = run_cycle(cluster.snapshot(), configuration, registry=registry, now=now)
    _, again = run_cycle(cluster.snapshot(), configuration, registry=registry, now=now + 50)
    assert [record.ends for record in first.held or ()] == [now + 600]
    assert [record.ends for record in again.held or ()] == [now + 650]
    assert [record.places for record in first.held or ()] == [record.places for record in again.held or ()]
