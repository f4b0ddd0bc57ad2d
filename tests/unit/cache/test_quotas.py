"""Elastic quotas, and the requested and used amounts of pods by claim."""

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
    """Apply objects to a cluster state."""
    for kind, each in decoded(objects):
        state.apply(kind, each)


def pods(scenario: Scenario) -> ClusterState:
    """Return the state of a cluster with one quota."""
    state = ClusterState()
    apply(state, elastic_quota("q", most={"cpu": 9}), *scenario.objects)
    return state


def sums(state: ClusterState) -> dict[Claim, tuple[dict[str, int], dict[str, int]]]:
    """Return requested and used amounts by claim, without `pods`. A rebuild must have the same."""
    snapshot = state.snapshot()
    assert differences(snapshot, state.rebuild().snapshot()) == []
    found, table = {}, snapshot.quota_uses
    assert table is not None
    for column, claim in enumerate(table.claims):
        both = (snapshot.resources.amounts(array[:, column]) for array in (table.requested, table.used))
        asked, used = ({name: amount for name, amount in each.items() if name != "pods"} for each in both)
        found[claim] = (asked, used)
    return found


Q, NON_PREEMPTIBLE, NONE = Claim("q", "default", True), Claim("q", "default", False), Claim("", "default", True)


def test_pods_are_counted_while_a_quota_exists() -> None:
    """Pending, running, foreign and non-preemptible pods count. Finished pods do not."""
    scenario = Scenario().node("n")
    scenario = scenario.job("a", tasks=2, running_on=["n"], labels=uses("q"))
    scenario = scenario.job("b", cpu=3, labels=uses("q", preemptible=False))
    scenario = scenario.pod("other", node="n", cpu=4, scheduler="default-scheduler")
    scenario = scenario.pod("done", node="n", phase="Succeeded", cpu=5, labels=uses("q"))
    state = pods(scenario)
    assert sums(state) == {
        Q: ({"cpu": 2000}, {"cpu": 1000}),
        NON_PREEMPTIBLE: ({"cpu": 3000}, {}),
        NONE: ({"cpu": 4000}, {"cpu": 4000}),
    }

    state.remove("ElasticQuota", state.stored("ElasticQuota")["quotas/q"])
    assert state.snapshot().quota_uses is None
    assert state.snapshot().elastic_quotas == {}


def test_sums_change_with_pods() -> None:
    """A terminating pod is no longer used. It is requested until it is gone."""
    state = pods(Scenario().node("n").pod("p", node="n", cpu=2, labels=uses("q")))
    assert sums(state) == {Q: ({"cpu": 2000}, {"cpu": 2000})}

    (pod,) = (each for each in Scenario().pod("p", node="n", cpu=2, labels=uses("q")).objects)
    terminating = {**pod, "metadata": {**pod["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}
    apply(state, terminating)
    assert sums(state) == {Q: ({"cpu": 2000}, {})}

    (uid,) = state.stored("Pod")
    state.remove("Pod", state.stored("Pod")[TaskId(uid)])
    assert sums(state) == {}


def test_sums_stay_correct_in_a_larger_resource_space() -> None:
    """A new resource name changes the numbers of the rows."""
    state = pods(Scenario().node("n").pod("p", cpu=2, memory="1Gi", labels=uses("q")))
    before = sums(state)
    apply(state, *Scenario().node("m", resources={"example.com/a": 1}).objects)
    assert state.snapshot().resources.names != ResourceSpace().names
    assert sums(state) == before


def test_the_resource_space_covers_the_amounts_of_quotas() -> None:
    """It covers resources that no node and no pod names, too."""
    state = ClusterState()
    apply(state, elastic_quota("q", most={"example.com/b": 3}, least={"example.com/b": "1500m"}))
    space = state.snapshot().resources
    assert space.scales[space.rows["example.com/b"]] == 1000


def test_a_broken_quota_is_reported_once_per_version() -> None:
    """It stays in the snapshot with its fault."""
    faults: list[ObjectError] = []
    state = ClusterState(report=faults.append)
    apply(state, elastic_quota("q", most={"cpu": "x"}), elastic_quota("p", most={"cpu": 1}))
    first = state.snapshot().elastic_quotas
    apply(state, *Scenario().queue("red").objects)
    assert state.snapshot().elastic_quotas is first
    assert [(fault.kind, fault.name, fault.path) for fault in faults] == [("ElasticQuota", "quotas/q", "spec.max.cpu")]
    assert list(first) == ["p", "q"]
    assert (bool(first["p"].fault), bool(first["q"].fault)) == (False, True)


def test_a_status_update_of_a_quota_does_not_repeat_its_faults() -> None:
    """The scheduler writes the status often, and the state has the newest object."""
    reported: list[ObjectError] = []
    state = ClusterState(report=reported.append)
    faulty = elastic_quota("q", most={"cpu": 1}, annotations={SHARED_WEIGHT: "x"})
    with_status = elastic_quota("q", most={"cpu": 1}, annotations={SHARED_WEIGHT: "x", RUNTIME: '{"cpu": "1"}'})
    apply(state, faulty, {**with_status, "status": {"used": {"cpu": "1"}}})
    assert state.snapshot().elastic_quotas["q"].object.status.used == {"cpu": "1"}
    assert len(reported) == 1
    apply(state, elastic_quota("q", most={"cpu": 1}, annotations={SHARED_WEIGHT: "y"}))
    assert len(reported) == 2


def test_a_newer_quota_with_the_same_name_is_reported_once() -> None:
    """The older quota counts until it is deleted. Status updates do not repeat the report."""
    reported: list[ObjectError] = []
    state = ClusterState(report=reported.append)
    old = elastic_quota("q", most={"cpu": 1}, namespace="b", creationTimestamp="2026-01-01T00:00:00Z")
    new = elastic_quota("q", most={"cpu": 9}, namespace="a", creationTimestamp="2026-01-02T00:00:00Z")
    apply(state, new, old)
    assert state.snapshot().elastic_quotas["q"].namespace == "b"
    apply(state, {**old, "status": {"used": {"cpu": "1"}}})
    assert state.snapshot().elastic_quotas["q"].namespace == "b"
    assert [(each.name, each.path) for each in reported] == [("a/q", "metadata.name")]
    assert reported[0].message == "has no effect: b/q is older, and the names of quotas must be unique in the cluster"

    state.remove("ElasticQuota", state.stored("ElasticQuota")["b/q"])
    assert state.snapshot().elastic_quotas["q"].namespace == "a"
    apply(state, old)
    state.snapshot()
    assert len(reported) == 2
