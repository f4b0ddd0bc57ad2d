"""Scores by other pods: worked numbers of docs/plugins/nodeorder.md."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from pyroclast.model import wire
from pyroclast.plugins.nodeorder.pods import spread_normalised, spread_to_range
from tests.unit.plugins.policies import World, node, pod
from tests.unit.plugins.test_nodeorder_amounts import world

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
WEB = {"app": "web"}
SELECTOR = wire.LabelSelector(match_labels=WEB)


def at(name: str, zone: str = "", **more: Any) -> wire.Node:
    """A node in a zone, with its hostname."""
    return node(name, labels={HOST: name, **({ZONE: zone} if zone else {})}, **more)


def weighted(weight: int, key: str = ZONE) -> wire.WeightedPodAffinityTerm:
    """A preferred term for pods `app=web`."""
    term = wire.PodAffinityTerm(label_selector=SELECTOR, topology_key=key)
    return wire.WeightedPodAffinityTerm(weight=weight, pod_affinity_term=term)


def likes(*terms: wire.WeightedPodAffinityTerm) -> dict[str, Any]:
    """A specification that prefers pods' company."""
    return {"affinity": wire.Affinity(pod_affinity=wire.PodAffinity(preferred=terms))}


def shuns(*terms: wire.WeightedPodAffinityTerm) -> dict[str, Any]:
    """A specification that prefers pods' absence."""
    return {"affinity": wire.Affinity(pod_anti_affinity=wire.PodAffinity(preferred=terms))}


def spreads(*constraints: wire.TopologySpreadConstraint) -> dict[str, Any]:
    """A specification with constraints."""
    return {"topology_spread_constraints": constraints}


def soft(key: str = ZONE, skew: int = 1, **more: Any) -> wire.TopologySpreadConstraint:
    """A constraint over pods `app=web` that is wished for."""
    more = {"label_selector": SELECTOR, **more}
    return wire.TopologySpreadConstraint(topology_key=key, max_skew=skew, when_unsatisfiable="ScheduleAnyway", **more)


def webs(**counts: int) -> list[wire.Pod]:
    """So many running pods `app=web` on each node."""
    return [pod(f"{on}-{index}", on=on, labels=WEB) for on, count in counts.items() for index in range(count)]


def affinity(*objects: Any) -> World:
    """A session that scores pod affinity alone."""
    return world("podaffinity", *objects)


def spread(*objects: Any) -> World:
    """A session that scores topology spread alone."""
    return world("podtopologyspread", *objects)


# Pod affinity ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "scores"),
    [
        ([100, 0, 0], [100, 0, 0]),
        ([-50, 0, 30], [0, 62, 100]),
        ([5, 5], [0, 0]),
        ([], []),
        ([0, 29, 100], [0, 28, 100]),
    ],
)
def test_scaling_to_the_range(raw: list[float], scores: list[float]) -> None:
    """The lowest 0, the highest 100, truncated; divided first, as kube-scheduler does."""
    assert spread_to_range(np.array(raw, dtype=np.float64)).tolist() == scores


def test_company_that_a_pod_likes() -> None:
    """The zone of one web pod has 100."""
    there = affinity(at("n1", "a"), at("n2", "b"), at("n3", "b"), *webs(n1=1), pod("p", spec=likes(weighted(10))))

    assert there.scores("p") == {"n1": 100, "n2": 0, "n3": 0}


def test_company_that_a_pod_shuns() -> None:
    """Scored by weight and number: -50 in zone a, 0 in b, +30 in c."""
    nodes = at("n1", "a"), at("n2", "b"), at("n3", "c")
    other = wire.LabelSelector(match_labels={"app": "db"})
    liked = wire.WeightedPodAffinityTerm(
        weight=30, pod_affinity_term=wire.PodAffinityTerm(label_selector=other, topology_key=ZONE)
    )
    mixed = wire.Affinity(
        pod_affinity=wire.PodAffinity(preferred=(liked,)),
        pod_anti_affinity=wire.PodAffinity(preferred=(weighted(25),)),
    )
    there = affinity(*nodes, *webs(n1=2), pod("db", on="n3", labels={"app": "db"}), pod("p", spec={"affinity": mixed}))

    assert there.scores("p") == {"n1": 0, "n2": 62, "n3": 100}


def test_pods_on_nodes_have_wishes_too() -> None:
    """A pod without terms of its own is drawn to those that like it and kept from those that do not."""
    nodes = at("n1", "a"), at("n2", "b"), at("n3", "c")
    running = pod("r1", on="n1", spec=likes(weighted(10))), pod("r2", on="n2", spec=shuns(weighted(10)))

    assert affinity(*nodes, *running, pod("p", labels=WEB)).scores("p") == {"n1": 100, "n2": 0, "n3": 50}


def test_required_affinity_of_pods_on_nodes_counts_nothing() -> None:
    """Volcano leaves the weight of hard pod affinity at 0."""
    term = wire.PodAffinityTerm(label_selector=SELECTOR, topology_key=ZONE)
    needy = {"affinity": wire.Affinity(pod_affinity=wire.PodAffinity(required=(term,)))}
    there = affinity(at("n1", "a"), at("n2", "b"), pod("r", on="n1", labels=WEB, spec=needy), pod("p", labels=WEB))

    assert there.scores("p") == {"n1": 0, "n2": 0}


def test_other_namespaces_count_only_when_named() -> None:
    """A term without namespaces means the pod's own."""
    elsewhere = pod("r", on="n1", namespace="other", labels=WEB)

    assert affinity(at("n1", "a"), at("n2", "b"), elsewhere, pod("p", spec=likes(weighted(1)))).scores("p") == {
        "n1": 0,
        "n2": 0,
    }


def test_the_range_is_that_of_the_candidates() -> None:
    """Without the best node the second best has 100."""
    there = affinity(at("n1", "a"), at("n2", "b"), at("n3", "c"), *webs(n1=2, n2=1), pod("p", spec=likes(weighted(1))))

    assert there.scores("p") == {"n1": 100, "n2": 50, "n3": 0}
    assert there.scores("p", among=["n2", "n3"]) == {"n2": 100, "n3": 0}


def test_a_pod_placed_in_the_session_counts_until_it_is_undone() -> None:
    """The next of its kind is drawn to it."""
    there = affinity(at("n1", "a"), at("n2", "b"), pod("w", labels=WEB), pod("p", spec=likes(weighted(1))))
    with there.session.statement() as statement:
        there.place(statement, "w", "n2")
        assert there.scores("p") == {"n1": 0, "n2": 100}

    assert there.scores("p") == {"n1": 0, "n2": 0}


# Topology spread ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("counts", "scores"),
    [({"n1": 2, "n2": 1, "n3": 0}, [0, 33, 100]), ({"n1": 3, "n2": 1, "n3": 2}, [40, 100, 80])],
)
def test_spread_over_zones(counts: dict[str, int], scores: list[float]) -> None:
    """Three zones weigh ln 5: counts 2, 1, 0 become 3, 2, 0, and 3, 1, 2 become 5, 2, 3."""
    there = spread(at("n1", "a"), at("n2", "b"), at("n3", "c"), *webs(**counts), pod("p", spec=spreads(soft())))

    assert list(there.scores("p").values()) == scores


@pytest.mark.parametrize(
    ("raw", "ignored", "scores"),
    [
        ([3, 2, 0], [], [0, 33, 100]),
        ([0, 0], [], [100, 100]),
        ([3, 2, 0], [2], [66, 100, 0]),
        ([3], [0], [0]),
    ],
)
def test_scores_of_counts(raw: Sequence[float], ignored: Sequence[int], scores: list[float]) -> None:
    """Ignored candidates score 0 and do not count for the range; without any count all score 100."""
    mask = np.isin(np.arange(len(raw)), ignored)

    assert spread_normalised(np.array(raw, dtype=np.float64), mask).tolist() == scores


def test_candidates_without_a_label_are_ignored() -> None:
    """n3 has no zone: 0; the weight is ln 4 of the two zones left: counts 2, 0 become 3, 0."""
    there = spread(at("n1", "a"), at("n2", "b"), at("n3"), *webs(n1=2, n3=5), pod("p", spec=spreads(soft())))

    assert there.scores("p") == {"n1": 0, "n2": 100, "n3": 0}


def test_pods_on_nodes_without_all_keys_do_not_count() -> None:
    """n3 is in zone b but lacks the rack, so its pods do not count: n1 with 1 is worse than n2 with 0."""
    nodes = (
        node("n1", labels={ZONE: "a", "rack": "1"}),
        node("n2", labels={ZONE: "b", "rack": "2"}),
        node("n3", labels={ZONE: "b"}),
    )
    both = spreads(soft(), soft("rack"))
    there = spread(*nodes, *webs(n1=1, n3=5), pod("p", spec=both))

    assert there.scores("p") == {"n1": 0, "n2": 100, "n3": 0}


def test_a_wider_skew_waters_the_difference_down() -> None:
    """With maxSkew 5 each node has 4 more: 4 + 3, 4 + 2, 4 + 0 of 7."""
    nodes = at("n1", "a"), at("n2", "b"), at("n3", "c")
    there = spread(*nodes, *webs(n1=2, n2=1), pod("p", spec=spreads(soft(skew=5))))

    assert there.scores("p") == {"n1": 57, "n2": 71, "n3": 100}


def test_hosts_are_as_many_as_candidates() -> None:
    """Four hosts weigh ln 6: counts 1, 0, 0, 0 become 2, 0, 0, 0."""
    nodes = [at(f"n{index}", "a") for index in range(1, 5)]
    there = spread(*nodes, *webs(n1=1), pod("p", spec=spreads(soft(HOST))))

    assert round(math.log(6)) == 2
    assert there.scores("p") == {"n1": 0, "n2": 100, "n3": 100, "n4": 100}


def test_pods_that_leave_do_not_count() -> None:
    """Neither do pods of other namespaces."""
    others = pod("x", on="n1", labels=WEB, leaving=True), pod("y", on="n1", labels=WEB, namespace="other")

    assert spread(at("n1", "a"), at("n2", "b"), *others, pod("p", spec=spreads(soft()))).scores("p") == {
        "n1": 100,
        "n2": 100,
    }


def test_an_empty_selector_counts_no_pod() -> None:
    """As in kube-scheduler, where it would match all."""
    everything = soft(label_selector=wire.LabelSelector())

    assert spread(at("n1", "a"), at("n2", "b"), *webs(n1=3), pod("p", spec=spreads(everything))).scores("p") == {
        "n1": 100,
        "n2": 100,
    }


def test_nodes_that_the_selector_refuses_do_not_count() -> None:
    """Unless the constraint says so: n3 is in zone b too, and holds all its pods."""
    nodes = (
        at("n1", "a"),
        at("n2", "b"),
        node("n3", labels={ZONE: "b", "kind": "old"}),
    )
    choosy = wire.NodeSelectorTerm(match_expressions=(wire.SelectorRequirement(key="kind", operator="DoesNotExist"),))
    where = wire.Affinity(node_affinity=wire.NodeAffinity(required=wire.NodeSelector(node_selector_terms=(choosy,))))
    running = webs(n1=1, n3=2)
    honours = pod("p", spec={**spreads(soft()), "affinity": where})
    ignores = pod("q", spec={**spreads(soft(node_affinity_policy="Ignore")), "affinity": where})
    there = spread(*nodes, *running, honours, ignores)

    assert there.scores("p", among=["n1", "n2"]) == {"n1": 0, "n2": 100}
    assert there.scores("q", among=["n1", "n2"]) == {"n1": 100, "n2": 33}


def test_nodes_with_taints_count_unless_the_constraint_honours_them() -> None:
    """The policy for taints is to ignore them."""
    taint = wire.Taint(key="off", effect="NoSchedule")
    nodes = at("n1", "a"), at("n2", "b"), at("n3", "b", taints=[taint])
    running = webs(n1=1, n3=2)
    ignores = pod("p", spec=spreads(soft()))
    honours = pod("q", spec=spreads(soft(node_taints_policy="Honor")))
    there = spread(*nodes, *running, ignores, honours)

    assert there.scores("p", among=["n1", "n2"]) == {"n1": 100, "n2": 33}
    assert there.scores("q", among=["n1", "n2"]) == {"n1": 0, "n2": 100}


# Default constraints --------------------------------------------------------------------------------------------------


def service(**selector: str) -> wire.Service:
    """A service with a selector."""
    return wire.Service(
        metadata=wire.ObjectMeta(name="s", namespace="ns", uid="s"), spec=wire.ServiceSpec(selector=selector)
    )


def owned(kind: str, name: str = "w", version: str = "apps/v1") -> wire.OwnerReference:
    """A controller's reference."""
    return wire.OwnerReference(api_version=version, kind=kind, name=name, uid=name, controller=True)


def meta(name: str = "w") -> wire.ObjectMeta:
    """Metadata of a workload."""
    return wire.ObjectMeta(name=name, namespace="ns", uid=name)


ZONES = at("n1", "a"), at("n2", "b")


@pytest.mark.parametrize(
    ("workload", "owner"),
    [
        (service(app="web"), None),
        (wire.ReplicaSet(metadata=meta(), spec=wire.ReplicaSetSpec(selector=SELECTOR)), owned("ReplicaSet")),
        (wire.StatefulSet(metadata=meta(), spec=wire.StatefulSetSpec(selector=SELECTOR)), owned("StatefulSet")),
        (
            wire.ReplicationController(metadata=meta(), spec=wire.ReplicationControllerSpec(selector=WEB)),
            owned("ReplicationController", version="v1"),
        ),
    ],
)
def test_pods_of_a_workload_are_spread_without_asking(workload: Any, owner: wire.OwnerReference | None) -> None:
    """Hosts with skew 3 and zones with skew 5: 6 + 2 ln 4 + 2 ln 4 = 12 on n1, 6 on n2."""
    there = spread(*ZONES, workload, *webs(n1=2), pod("p", labels=WEB, owner=owner))

    assert there.scores("p") == {"n1": 50, "n2": 100}


@pytest.mark.parametrize(
    ("workload", "owner"),
    [
        (service(app="db"), None),
        (service(), None),
        (
            wire.ReplicaSet(metadata=meta(), spec=wire.ReplicaSetSpec(selector=SELECTOR)),
            owned("Job", version="batch/v1"),
        ),
        (wire.ReplicaSet(metadata=meta(), spec=wire.ReplicaSetSpec(selector=SELECTOR)), owned("StatefulSet")),
        (wire.ReplicaSet(metadata=meta(), spec=wire.ReplicaSetSpec(selector=SELECTOR)), owned("ReplicaSet", "other")),
        (wire.ReplicaSet(metadata=meta(), spec=wire.ReplicaSetSpec(selector=SELECTOR)), None),
        (
            wire.ReplicaSet(metadata=meta(), spec=wire.ReplicaSetSpec(selector=wire.LabelSelector())),
            owned("ReplicaSet"),
        ),
        (wire.ReplicaSet(metadata=meta()), owned("ReplicaSet")),
    ],
)
def test_what_does_not_select_a_pod_does_not_spread_it(workload: Any, owner: wire.OwnerReference | None) -> None:
    """Other labels, no selector, an owner of another kind or name, an empty selector."""
    there = spread(*ZONES, workload, *webs(n1=2), pod("p", labels=WEB, owner=owner))

    assert there.scores("p") == {"n1": 0, "n2": 0}


def test_equal_names_of_different_kinds_are_distinguished() -> None:
    """A stateful set selects nothing here, the replica set of its name does."""
    nothing = wire.StatefulSet(
        metadata=meta(), spec=wire.StatefulSetSpec(selector=wire.LabelSelector(match_labels={"app": "none"}))
    )
    replicas = wire.ReplicaSet(metadata=meta(), spec=wire.ReplicaSetSpec(selector=SELECTOR))
    mine = pod("p", labels=WEB, owner=owned("ReplicaSet"))

    assert spread(*ZONES, nothing, replicas, *webs(n1=2), mine).scores("p") == {"n1": 50, "n2": 100}


def test_equal_pods_of_different_owners_are_distinguished() -> None:
    """The same template and labels, but only one has an owner that selects."""
    replicas = wire.ReplicaSet(metadata=meta(), spec=wire.ReplicaSetSpec(selector=SELECTOR))
    there = spread(*ZONES, replicas, *webs(n1=2), pod("p", labels=WEB), pod("q", labels=WEB, owner=owned("ReplicaSet")))

    assert there.scores("p") == {"n1": 0, "n2": 0}
    assert there.scores("q") == {"n1": 50, "n2": 100}


def test_services_and_owner_must_both_select() -> None:
    """Their selectors are joined: of the pods that the service selects only those of the set count."""
    replicas = wire.ReplicaSet(
        metadata=meta(),
        spec=wire.ReplicaSetSpec(selector=wire.LabelSelector(match_labels={"release": "blue"})),
    )
    blue = pod("b", on="n2", labels={**WEB, "release": "blue"})
    mine = pod("p", labels={**WEB, "release": "blue"}, owner=owned("ReplicaSet"))

    assert spread(*ZONES, service(app="web"), replicas, *webs(n1=4), blue, mine).scores("p") == {"n1": 100, "n2": 66}


def test_by_default_no_candidate_is_ignored() -> None:
    """n3 has no zone, which is one more domain: ln 5 for zones and hosts; 6 + 2 * 2 ln 5, 6, and 2 for n3."""
    there = spread(*ZONES, at("n3"), service(app="web"), *webs(n1=2), pod("p", labels=WEB))

    assert round(6 + 4 * math.log(5)) == 12
    assert there.scores("p") == {"n1": 16, "n2": 66, "n3": 100}


def test_a_pod_with_constraints_of_its_own_has_no_default_ones() -> None:
    """Not even where its own are hard and not scored."""
    hard = wire.TopologySpreadConstraint(
        topology_key=ZONE, max_skew=9, when_unsatisfiable="DoNotSchedule", label_selector=SELECTOR
    )
    there = spread(*ZONES, service(app="web"), *webs(n1=2), pod("p", labels=WEB, spec=spreads(hard)))

    assert there.scores("p") == {"n1": 0, "n2": 0}
