"""Elastic quotas follow their objects; what pods ask for and have is summed by what decides on their quota."""

from collections.abc import Mapping
from typing import Any

from pyroclast.cache.files.audit import differences
from pyroclast.cache.files.objects import decoded
from pyroclast.cache.state import ClusterState
from pyroclast.model.elastic import Claim
from pyroclast.model.elastic.names import RUNTIME, SHARED_WEIGHT
from pyroclast.model.errors import ObjectError
from pyroclast.model.ids import TaskId
from pyroclast.model.resources import ResourceSpace
from pyroclast.testing import Scenario
from tests.elastic_quotas import elastic_quota, uses


def apply(state: ClusterState, *objects: Mapping[str, Any]) -> None:
    """Take over objects."""
    for kind, each in decoded(objects):
        state.apply(kind, each)


def pods(scenario: Scenario) -> ClusterState:
    """Books of a cluster with one quota."""
    state = ClusterState()
    apply(state, elastic_quota("q", most={"cpu": 9}), *scenario.objects)
    return state


def sums(state: ClusterState) -> dict[Claim, tuple[dict[str, int], dict[str, int]]]:
    """What is asked for and used, by claim, pods left out; a rebuild must find the same."""
    snapshot = state.snapshot()
    assert differences(snapshot, state.rebuild().snapshot()) == []
    found, table = {}, snapshot.quota_uses
    assert table is not None
    for column, claim in enumerate(table.claims):
        both = (snapshot.resources.amounts(array[:, column]) for array in (table.requested, table.used))
        asked, used = ({name: amount for name, amount in each.items() if name != "pods"} for each in both)
        found[claim] = (asked, used)
    return found


Q, KEPT, NONE = Claim("q", "default", True), Claim("q", "default", False), Claim("", "default", True)


def test_pods_are_summed_while_there_is_a_quota() -> None:
    """Those that wait, that run, that others placed, that must not be evicted; not those that ended."""
    scenario = Scenario().node("n")
    scenario = scenario.job("a", tasks=2, running_on=["n"], labels=uses("q"))
    scenario = scenario.job("b", cpu=3, labels=uses("q", preemptible=False))
    scenario = scenario.pod("other", node="n", cpu=4, scheduler="default-scheduler")
    scenario = scenario.pod("done", node="n", phase="Succeeded", cpu=5, labels=uses("q"))
    state = pods(scenario)
    assert sums(state) == {
        Q: ({"cpu": 2000}, {"cpu": 1000}),
        KEPT: ({"cpu": 3000}, {}),
        NONE: ({"cpu": 4000}, {"cpu": 4000}),
    }

    state.remove("ElasticQuota", state.stored("ElasticQuota")["quotas/q"])
    assert state.snapshot().quota_uses is None
    assert state.snapshot().elastic_quotas == {}


def test_sums_follow_pods() -> None:
    """A pod that begins to go is used no more, and asked for until it is gone."""
    state = pods(Scenario().node("n").pod("p", node="n", cpu=2, labels=uses("q")))
    assert sums(state) == {Q: ({"cpu": 2000}, {"cpu": 2000})}

    (pod,) = (each for each in Scenario().pod("p", node="n", cpu=2, labels=uses("q")).objects)
    going = {**pod, "metadata": {**pod["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}
    apply(state, going)
    assert sums(state) == {Q: ({"cpu": 2000}, {})}

    (uid,) = state.stored("Pod")
    state.remove("Pod", state.stored("Pod")[TaskId(uid)])
    assert sums(state) == {}


def test_sums_survive_a_larger_space() -> None:
    """A resource that nobody spoke of before gives rows new numbers."""
    state = pods(Scenario().node("n").pod("p", cpu=2, memory="1Gi", labels=uses("q")))
    before = sums(state)
    apply(state, *Scenario().node("m", resources={"example.com/a": 1}).objects)
    assert state.snapshot().resources.names != ResourceSpace().names
    assert sums(state) == before


def test_amounts_of_quotas_are_covered() -> None:
    """Also resources that no node and no pod names."""
    state = ClusterState()
    apply(state, elastic_quota("q", most={"example.com/b": 3}, least={"example.com/b": "1500m"}))
    space = state.snapshot().resources
    assert space.scales[space.rows["example.com/b"]] == 1000


def test_a_faulty_quota_is_named_once_for_each_version() -> None:
    """It stays in the picture, with its fault."""
    faults: list[ObjectError] = []
    state = ClusterState(report=faults.append)
    apply(state, elastic_quota("q", most={"cpu": "x"}), elastic_quota("p", most={"cpu": 1}))
    first = state.snapshot().elastic_quotas
    apply(state, *Scenario().queue("red").objects)
    assert state.snapshot().elastic_quotas is first
    assert [(fault.kind, fault.name, fault.path) for fault in faults] == [("ElasticQuota", "quotas/q", "spec.max.cpu")]
    assert list(first) == ["p", "q"]
    assert (bool(first["p"].fault), bool(first["q"].fault)) == (False, True)


def test_how_a_quota_stands_is_no_news_of_its_faults() -> None:
    """The scheduler writes it all the time; what it writes is seen."""
    told: list[ObjectError] = []
    state = ClusterState(report=told.append)
    faulty = elastic_quota("q", most={"cpu": 1}, annotations={SHARED_WEIGHT: "x"})
    stands = elastic_quota("q", most={"cpu": 1}, annotations={SHARED_WEIGHT: "x", RUNTIME: '{"cpu": "1"}'})
    apply(state, faulty, {**stands, "status": {"used": {"cpu": "1"}}})
    assert state.snapshot().elastic_quotas["q"].object.status.used == {"cpu": "1"}
    assert len(told) == 1
    apply(state, elastic_quota("q", most={"cpu": 1}, annotations={SHARED_WEIGHT: "y"}))
    assert len(told) == 2


def test_a_namesake_is_told_once_that_it_has_no_effect() -> None:
    """Names are unique in the cluster: the older counts, until it goes; how a quota stands is no news."""
    told: list[ObjectError] = []
    state = ClusterState(report=told.append)
    old = elastic_quota("q", most={"cpu": 1}, namespace="b", creationTimestamp="2026-01-01T00:00:00Z")
    new = elastic_quota("q", most={"cpu": 9}, namespace="a", creationTimestamp="2026-01-02T00:00:00Z")
    apply(state, new, old)
    assert state.snapshot().elastic_quotas["q"].namespace == "b"
    apply(state, {**old, "status": {"used": {"cpu": "1"}}})
    assert state.snapshot().elastic_quotas["q"].namespace == "b"
    assert [(each.name, each.path) for each in told] == [("a/q", "metadata.name")]
    assert told[0].message == "has no effect: b/q is older, and names of quotas are unique in the cluster"

    state.remove("ElasticQuota", state.stored("ElasticQuota")["b/q"])
    assert state.snapshot().elastic_quotas["q"].namespace == "a"
    apply(state, old)
    state.snapshot()
    assert len(told) == 2
