"""The law that whatever quotas say, and however they stand, the plugin serves those that make sense."""

from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pyroclast.framework.cycle import run_cycle
from pyroclast.framework.session.memory import Memory, Settled
from pyroclast.model.elastic.names import DEFAULT_QUOTA, QUOTA_NAME, ROOT_QUOTA, SYSTEM_QUOTA
from pyroclast.testing import Scenario
from pyroclast.testing.cluster import cluster_of
from pyroclast.testing.configuration import configured
from tests.drawing import examples
from tests.elastic_quotas import elastic_quota, uses

PARSED, REGISTRY = configured(
    ("enqueue", "allocate", "preempt", "reclaim", "shuffle"), (("priority", "gang", "elastic-quota", "predicates"),), {}
)
NAMES = st.sampled_from(["a", "b", "c", "default", ROOT_QUOTA, DEFAULT_QUOTA, SYSTEM_QUOTA])
AMOUNTS = st.dictionaries(
    st.sampled_from(["cpu", "memory", "nvidia.com/gpu", "", "a b"]),
    st.sampled_from(["1", "4", "500m", "9E", "1e99", "-1", "x", "", 0, 1.5]),
    max_size=3,
)
QUOTAS = st.builds(
    elastic_quota,
    NAMES,
    least=AMOUNTS,
    most=AMOUNTS,
    parent=st.sampled_from(["", "a", "b", "gone", ROOT_QUOTA, DEFAULT_QUOTA]),
    is_parent=st.booleans(),
    lends=st.booleans(),
    tree=st.sampled_from(["", "t", "u"]),
    total=st.one_of(st.none(), st.just({"cpu": "4", "memory": "1Gi"}), AMOUNTS),
    adds_to_cluster=st.booleans(),
    namespace=st.sampled_from(["default", "ml"]),
)
GUARANTEEING, _ = configured(
    ("allocate", "preempt", "reclaim", "gangreclaim", "shuffle"),
    (("priority", "gang", "elastic-quota", "predicates"),),
    {"elastic-quota": {"enableGuaranteeUsage": True, "delayEvictTime": "0s"}},
)
SOUND = elastic_quota("sound", most={"cpu": 4})


@settings(max_examples=examples(200), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(quotas=st.lists(QUOTAS, max_size=6), names=st.lists(NAMES, min_size=3, max_size=3))
@example(
    quotas=[elastic_quota("r", tree="t", total={"cpu": 4}, parent="gone"), elastic_quota("q", tree="t")], names="abc"
)
@example(quotas=[elastic_quota(ROOT_QUOTA, tree="t", total={"cpu": 4}), elastic_quota("q", tree="t")], names="abc")
def test_nothing_that_quotas_say_ends_the_service_of_others(quotas: list[dict[str, Any]], names: list[str]) -> None:
    """Cycles continue, too; a valid quota gets its status, whatever the others contain."""
    scenario = Scenario().queue("q").node("n1", cpu=8)
    for number, name in enumerate(names):
        scenario = scenario.job(f"j{number}", queue="q", cpu=1, labels=uses(name))
    beside = {(each["metadata"]["namespace"], each["metadata"]["name"]): each for each in quotas}
    cluster = cluster_of([*scenario.objects, SOUND, *beside.values()], shard_mode="none", shard="volcano", warnings=[])
    memory, settled = Memory(), Settled()
    for now in (0, 200, 400):
        report, memory = run_cycle(
            cluster.snapshot(), PARSED.configuration, registry=REGISTRY, now=now, memory=memory, settled=settled
        )
        assert report.failures == {}
        assert now or "sound" in {each.name for each in report.quotas}
        cluster.settle([], report, now=now + 0.5, recreate_evicted=False)


WHOLE = st.dictionaries(st.sampled_from(["cpu", "pods"]), st.integers(0, 6), max_size=2)
USED = st.lists(st.tuples(st.sampled_from(["a", "b", "c"]), st.integers(1, 3)), max_size=5)


@settings(max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(least=st.lists(WHOLE, min_size=3, max_size=3), used=USED, asked=USED, nested=st.booleans())
def test_amounts_in_use_are_guaranteed_and_not_taken(
    least: list[dict[str, int]], used: list[tuple[str, int]], asked: list[tuple[str, int]], *, nested: bool
) -> None:
    """With guarantees by use no quota uses more than it is guaranteed, and no pod is evicted for another quota."""
    scenario = Scenario().queue("q").node("n1", cpu=16)
    for name, amounts in zip("abc", least, strict=True):
        most = {key: number + 3 for key, number in amounts.items()}
        parent = "a" if nested and name != "a" else ""
        scenario = scenario.add(
            elastic_quota(name, least=amounts, most=most, parent=parent, is_parent=name == "a", uid=name)
        )
    for number, (name, cpu) in enumerate(used):
        scenario = scenario.running(f"r{number}", on=["n1"], queue="q", cpu=cpu, labels=uses(name))
    for number, (name, cpu) in enumerate(asked):
        scenario = scenario.job(f"j{number}", queue="q", cpu=cpu, labels=uses(name))
    cluster = cluster_of([*scenario.objects], shard_mode="none", shard="volcano", warnings=[])
    memory, settled = Memory(), Settled()
    for now in (0, 200, 400):
        report, memory = run_cycle(
            cluster.snapshot(), GUARANTEEING.configuration, registry=REGISTRY, now=now, memory=memory, settled=settled
        )
        assert report.failures == {}
        assert [eviction for plan in report.plans for eviction in plan.evictions] == []
        for each in report.quotas:
            for most_now in (each.guaranteed, each.runtime):
                assert all(number <= most_now.get(key, 0) for key, number in each.used.items())
        cluster.settle([], report, now=now + 0.5, recreate_evicted=False)


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    used=USED,
    asked=USED,
    least=st.integers(0, 8),
    actions=st.sampled_from([("reclaim",), ("gangreclaim",), ("preempt",)]),
)
def test_room_is_taken_only_from_quotas_beyond_their_limit(
    used: list[tuple[str, int]], asked: list[tuple[str, int]], least: int, actions: tuple[str, ...]
) -> None:
    """In one queue, among equal priorities: a victim's quota exceeds its runtime at the start, and keeps within it."""
    parsed, registry = configured(("allocate", *actions), (("elastic-quota", "predicates"),), {})
    scenario = Scenario().queue("q").node("n1", cpu=8)
    for name in "abc":
        scenario = scenario.add(elastic_quota(name, least={"cpu": least}, most={"cpu": 8}, uid=name))
    total = 0
    for number, (name, cpu) in enumerate(used):
        total += cpu
        if total <= 8:
            scenario = scenario.running(f"r{number}", on=["n1"], queue="q", cpu=cpu, labels=uses(name))
    for number, (name, cpu) in enumerate(asked):
        scenario = scenario.job(f"j{number}", queue="q", cpu=cpu, labels=uses(name))
    cluster = cluster_of([*scenario.objects], shard_mode="none", shard="volcano", warnings=[])
    snapshot = cluster.snapshot()
    report, _ = run_cycle(snapshot, parsed.configuration, registry=registry, now=0, memory=Memory(), settled=Settled())
    assert report.failures == {}
    excess = {each.name: each.used.get("cpu", 0) - each.runtime.get("cpu", 0) for each in report.quotas}
    quota_by_task = {
        task.id: task.pod.metadata.labels[QUOTA_NAME] for job in snapshot.jobs.values() for task in job.tasks.values()
    }
    cpu_by_task = {
        task.id: task.template.request["cpu"] for job in snapshot.jobs.values() for task in job.tasks.values()
    }
    for plan in report.plans:
        for eviction in plan.evictions:
            name = quota_by_task[eviction.task]
            assert excess[name] > 0
            excess[name] -= cpu_by_task[eviction.task]
