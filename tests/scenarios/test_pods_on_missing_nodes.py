"""Pods that name a node in their specification close no queue: what no node offers does not count."""

import pytest

from pyroclast.testing import Scenario

HUGE = 1_000_000
QUOTA = {
    "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
    "kind": "ElasticQuota",
    "metadata": {"name": "team", "namespace": "team", "labels": {"quota.scheduling.koordinator.sh/name": "team"}},
    "spec": {"max": {"cpu": 8, "memory": "64Gi"}, "min": {"cpu": 8, "memory": "64Gi"}},
}
BASE = Scenario().node("n1", cpu=8).queue("team", capability={"cpu": 8}, deserved={"cpu": 8}).queue("other").add(QUOTA)
LABELS = {"quota.scheduling.koordinator.sh/name": "team"}


@pytest.mark.parametrize("plugin", ["proportion", "capacity", "elastic-quota", "drf", "overcommit"])
@pytest.mark.parametrize(("node", "cpu"), [("ghost", HUGE), ("ghost", 8), ("n2", HUGE)])
def test_a_pod_that_names_its_node_closes_no_queue(plugin: str, node: str, cpu: int) -> None:
    """A job of the same queue starts on the free node beside a pod that asks for a million CPUs on another one.

    That node is not there, or is there and offers next to nothing.
    """
    scenario = (
        BASE.node("n2", cpu="1m")
        .running("ghost", on=[node], queue="team", cpu=cpu, labels=LABELS, namespace="team", min_resources={"cpu": cpu})
        .job("work", tasks=4, queue="team", labels=LABELS, namespace="team", min_resources={"cpu": 4})
        .job("more", tasks=2, queue="other", min_resources={"cpu": 2})
    )

    outcome = scenario.run("enqueue", "allocate", plugins=("priority", "gang", plugin, "predicates"))

    assert sorted(outcome.bindings) == ["more-0", "more-1", *(f"team/work-{number}" for number in range(4))]


def test_of_a_full_node_what_it_offers_counts() -> None:
    """Two pods that ask for 100 CPUs each, on a node of 8, take 8 of the queue's 12: another has room, and no more."""
    scenario = (
        Scenario()
        .node("n1", cpu=8)
        .node("n2", cpu=16)
        .queue("team", capability={"cpu": 12})
        .running("full", on=["n1", "n1"], queue="team", cpu=100)
        .job("work", tasks=6, min_available=1, queue="team", cpu=1)
    )

    outcome = scenario.run("allocate", plugins=("gang", "capacity", "predicates"))

    assert len(outcome.bindings) == 4


def test_an_evicted_pod_gives_its_queue_back_what_counted_of_it() -> None:
    """The queue of a pod of 100 CPUs on a node of 8 had 8, which are free when it is gone."""
    scenario = (
        Scenario()
        .node("n1", cpu=8)
        .node("n2", cpu=32)
        .queue("team", capability={"cpu": 8})
        .running("full", on=["n1"], queue="team", cpu=100, min_available=0, priority=0)
        .job("one", tasks=8, queue="team", cpu=1, priority=10, priority_class="high")
        .job("two", tasks=8, queue="team", cpu=1, priority=10, priority_class="high")
        .priority_class("high", 10)
    )

    outcome = scenario.run("allocate", "preempt", plugins=("priority", "gang", "capacity", "predicates"), cycles=3)

    assert outcome.evictions == ["full-0"]
    assert len(outcome.bindings) == 8
