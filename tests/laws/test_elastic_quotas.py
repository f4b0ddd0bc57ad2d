"""The law that whatever quotas say, and however they stand, the plugin serves those that make sense."""

from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pyroclast.framework.cycle import run_cycle
from pyroclast.framework.session.memory import Memory, Settled
from pyroclast.model.elastic.names import DEFAULT_QUOTA, ROOT_QUOTA, SYSTEM_QUOTA
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
SOUND = elastic_quota("sound", most={"cpu": 4})


@settings(max_examples=examples(200), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(quotas=st.lists(QUOTAS, max_size=6), names=st.lists(NAMES, min_size=3, max_size=3))
@example(
    quotas=[elastic_quota("r", tree="t", total={"cpu": 4}, parent="gone"), elastic_quota("q", tree="t")], names="abc"
)
@example(quotas=[elastic_quota(ROOT_QUOTA, tree="t", total={"cpu": 4}), elastic_quota("q", tree="t")], names="abc")
def test_nothing_that_quotas_say_ends_the_service_of_others(quotas: list[dict[str, Any]], names: list[str]) -> None:
    """Nor a cycle; a quota that makes sense is told how it stands, whatever stands beside it."""
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
