"""Pods of the owners use the capacity of Reservations; other pods do not (R1 to R3, R8 to R11, R18 to R25, R28)."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from pyroclast import Plugin, Session
from pyroclast.testing import Scenario
from tests.reservations import ALLOCATED, PLUGINS, affinity, claimed, outcome_of, reservation

ONE = Scenario().queue("default").node("n1", cpu=4)
A = {"app": "a"}
CONTROLLER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "w1", "controller": True}


def used(outcome: Any) -> dict[str, str]:
    """Return the Reservation that each bound pod uses, by the pod's name; empty if it uses none."""
    binds = [bind for each in outcome.rounds for plan in each.plans for bind in plan.binds]
    notes = {bind.name: bind.annotations.get(ALLOCATED) for bind in binds if not isinstance(bind.reservation, str)}
    return {name: json.loads(note)["name"] if note else "" for name, note in notes.items()}


@pytest.mark.parametrize(
    ("owners", "is_owner"),
    [
        ([{}], True),
        ([{"object": {"name": "a-0", "namespace": "default"}}], True),
        ([{"object": {"name": "a-0", "kind": "Anything", "fieldPath": "x"}}], True),
        ([{"object": {"name": "a-0", "apiVersion": "apps/v1"}}], False),
        ([{"object": {"name": "b-0"}}], False),
        ([{"controller": {"kind": "ReplicaSet", "name": "web"}}], True),
        ([{"controller": {"uid": "w1", "controller": True, "blockOwnerDeletion": True}}], True),
        ([{"controller": {"name": "web", "controller": False}}], False),
        ([{"controller": {"name": "web", "namespace": "other"}}], False),
        ([{"labelSelector": {"matchLabels": A}}], True),
        ([{"labelSelector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}}], True),
        ([{"labelSelector": {"matchExpressions": [{"key": "app", "operator": "Wrong"}]}}, {}], False),
        ([{"labelSelector": {"matchLabels": A}, "object": {"name": "b-0"}}], False),
        ([{"object": {"name": "b-0"}}, {"labelSelector": {"matchLabels": A}}], True),
    ],
)
def test_owners(owners: Sequence[Mapping[str, Any]], is_owner: bool) -> None:
    """Entries are alternatives; the parts of one entry must all match. A broken selector lets no pod match."""
    scenario = ONE.add(reservation("r", cpu=4, node="n1", owners=owners)).job("a", labels=A)
    *others, pod = scenario.objects
    owned = {**pod, "metadata": {**pod["metadata"], "ownerReferences": [CONTROLLER]}}
    outcome = outcome_of(Scenario(tuple(others)).add(owned))

    assert used(outcome) == ({"a-0": "r"} if is_owner else {})


def test_the_first_owner_spends_a_reservation_for_one() -> None:
    """Two pods of one session: the second one gets none of it (R8)."""
    scenario = ONE.add(reservation("r", cpu=4, node="n1")).job("a", tasks=2, min_available=1, cpu=1, labels=A)
    outcome = outcome_of(scenario)

    assert list(used(outcome).values()) == ["r"]


def test_several_owners_share_a_reservation() -> None:
    """Three owners fit; the rest stays reserved."""
    scenario = ONE.add(reservation("r", cpu=4, node="n1", allocateOnce=False))
    scenario = scenario.job("a", tasks=3, cpu=1, labels=A).job("b", tasks=2, min_available=1, cpu=1)
    outcome = outcome_of(scenario)

    assert used(outcome) == {"a-0": "r", "a-1": "r", "a-2": "r"}


def test_a_gang_uses_several_reservations_in_one_plan() -> None:
    """Members are placed together, each on the Reservation that is left for it (D2)."""
    two = ONE.node("n2", cpu=4).add(reservation("r", cpu=4, node="n1"), reservation("s", cpu=4, node="n2"))
    outcome = outcome_of(two.job("a", tasks=2, cpu=4, labels=A))

    assert sorted(used(outcome).values()) == ["r", "s"]
    assert len(outcome.report.plans) == 1
    assert used(outcome_of(two.job("a", tasks=3, cpu=4, labels=A))) == {}


@pytest.mark.parametrize(("policy", "is_bound"), [("Aligned", True), ("", True), ("Restricted", False)])
def test_aligned_borrows_from_the_node_and_restricted_does_not(policy: str, is_bound: bool) -> None:
    """A pod of 3 CPU, 2 reserved and 2 free (R20)."""
    scenario = ONE.add(reservation("r", cpu=2, node="n1", allocatePolicy=policy)).job("a", cpu=3, labels=A)

    assert used(outcome_of(scenario)) == ({"a-0": "r"} if is_bound else {})


def test_restricted_takes_other_resources_from_the_node() -> None:
    """The Reservation has no memory, and the option restricts CPU alone."""
    options = {"scheduling.koordinator.sh/reservation-restricted-options": '{"resources":["cpu"]}'}
    scenario = ONE.add(
        reservation("r", node="n1", resources={"memory": "1Gi"}, allocatePolicy="Restricted", annotations=options)
    )

    assert used(outcome_of(scenario.job("a", cpu=2, memory="2Gi", labels=A))) == {"a-0": "r"}


def test_options_without_a_reserved_name_restrict_all() -> None:
    """As if there were none."""
    options = {"scheduling.koordinator.sh/reservation-restricted-options": '{"resources":["nvidia.com/gpu"]}'}
    scenario = ONE.add(reservation("r", node="n1", allocatePolicy="Restricted", annotations=options))

    assert used(outcome_of(scenario.job("a", cpu=3, labels=A))) == {}


def test_reserved_pods_limit_owners() -> None:
    """Restricted with `pods` takes so many owners; another one uses free room as any pod does."""
    scenario = ONE.add(
        reservation(
            "r", node="n1", allocatePolicy="Restricted", allocateOnce=False, allocatable={"cpu": "2", "pods": "1"}
        )
    )

    assert sorted(used(outcome_of(scenario.job("a", tasks=2, cpu=1, labels=A))).values()) == ["", "r"]


def test_amounts_that_are_kept_back_are_used_by_no_pod() -> None:
    """One of 2 reserved CPU is kept back."""
    back = {"node.koordinator.sh/reservation": '{"resources":{"cpu":"1"}}'}
    scenario = ONE.add(reservation("r", node="n1", annotations=back, allocatePolicy="Restricted"))

    assert used(outcome_of(scenario.job("a", cpu=2, labels=A, annotations=affinity()))) == {}
    assert used(outcome_of(scenario.job("a", cpu=1, labels=A, annotations=affinity()))) == {"a-0": "r"}


def exact(*names: str) -> dict[str, str]:
    """Return the annotation for an exact match."""
    return {"scheduling.koordinator.sh/exact-match-reservation": json.dumps({"resourceNames": names})}


@pytest.mark.parametrize(
    ("names", "cpu", "is_used"),
    [
        (("cpu",), 2, True),
        (("cpu",), 1, False),
        (("nvidia.com/gpu", "cpu"), 1, True),
        (("cpu", "nvidia.com/gpu"), 1, False),
        (("memory",), 2, False),
    ],
)
def test_exact_match(names: Sequence[str], cpu: int, is_used: bool) -> None:
    """A name that is in neither decides at once (R9); one that is in one of them alone does not match."""
    scenario = ONE.add(reservation("r", node="n1", resources={"memory": "1Gi"} if "memory" in names else {}))
    outcome = outcome_of(scenario.job("a", cpu=cpu, labels=A, annotations=exact(*names)))

    assert used(outcome) == {"a-0": "r" if is_used else ""}


def test_a_pod_with_affinity_uses_nothing_else() -> None:
    """The presence of the annotation is enough (R7)."""
    scenario = ONE.node("n2", cpu=9).add(reservation("r", node="n1"))

    assert used(outcome_of(scenario.job("a", cpu=1, labels=A, annotations=affinity()))) == {"a-0": "r"}
    outcome = outcome_of(scenario.job("b", cpu=1, annotations=affinity()))
    assert outcome.bindings == {}
    assert "no reservations match reservation affinity" in outcome.why_pod("b-0")


@pytest.mark.parametrize(
    ("fields", "spec", "is_used"),
    [
        ({"name": "r"}, {}, True),
        ({"name": "s"}, {}, False),
        ({"name": "r"}, {"unschedulable": True, "taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]}, True),
        ({}, {"unschedulable": True}, False),
        (
            {"tolerations": [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]},
            {"unschedulable": True},
            True,
        ),
        ({}, {"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]}, False),
        ({}, {"taints": [{"key": "k", "value": "v", "effect": "PreferNoSchedule"}]}, True),
        (
            {"tolerations": [{"key": "k", "operator": "Equal", "value": "v"}]},
            {"taints": [{"key": "k", "value": "v", "effect": "NoExecute"}]},
            True,
        ),
        ({"reservationSelector": {"size": "big"}}, {}, True),
        ({"reservationSelector": {"size": "small"}}, {}, False),
        ({"reservationSelector": {"zone": "z1"}}, {}, True),
        (
            {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "reservationSelectorTerms": [
                        {"matchExpressions": [{"key": "size", "operator": "In", "values": ["small"]}]},
                        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["r"]}]},
                    ]
                }
            },
            {},
            True,
        ),
    ],
)
def test_affinity(fields: Mapping[str, Any], spec: Mapping[str, Any], is_used: bool) -> None:
    """Names win over taints; selectors see the labels of the node below those of the Reservation (R5, R6)."""
    base = Scenario().queue("default").node("n1", cpu=4, labels={"zone": "z1", "size": "node"})
    scenario = base.add(reservation("r", node="n1", labels={"size": "big"}, **spec))
    outcome = outcome_of(scenario.job("a", cpu=1, labels=A, annotations=affinity(**fields)))

    assert used(outcome) == ({"a-0": "r"} if is_used else {})


def test_a_pod_without_affinity_is_kept_off_by_unschedulable_and_not_by_taints() -> None:
    """It uses free room then."""
    closed = ONE.add(reservation("r", node="n1", unschedulable=True)).job("a", cpu=1, labels=A)
    tainted = ONE.add(reservation("r", node="n1", taints=[{"key": "k", "effect": "NoSchedule"}]))

    assert used(outcome_of(closed)) == {"a-0": ""}
    assert used(outcome_of(tainted.job("a", cpu=1, labels=A))) == {"a-0": "r"}


def test_an_annotation_that_cannot_be_parsed_is_the_reason() -> None:
    """The pod waits (R4)."""
    broken = {"scheduling.koordinator.sh/reservation-affinity": "{"}
    outcome = outcome_of(ONE.job("a", annotations=broken))

    assert outcome.bindings == {}
    assert "annotation scheduling.koordinator.sh/reservation-affinity" in outcome.why_pod("a-0")


def ordered(order: int) -> dict[str, str]:
    """Return the label with an order."""
    return {"scheduling.koordinator.sh/reservation-order": str(order)}


def test_the_lowest_order_wins_over_the_score_across_nodes() -> None:
    """The fuller Reservation would be preferred without it (R23, R24)."""
    base = ONE.node("n2", cpu=4)
    plain = base.add(reservation("r", cpu=4, node="n1"), reservation("s", cpu=2, node="n2"))
    with_order = base.add(
        reservation("r", cpu=4, node="n1", labels=ordered(1)), reservation("s", cpu=2, node="n2", labels=ordered(2))
    )

    assert used(outcome_of(plain.job("a", cpu=2, labels=A))) == {"a-0": "s"}
    assert used(outcome_of(with_order.job("a", cpu=2, labels=A))) == {"a-0": "r"}


def test_of_several_on_a_node_the_fullest_is_used_and_ties_go_by_name() -> None:
    """The score is the mean over the reserved resources (R23, D3)."""
    fuller = ONE.add(reservation("r", cpu=3, node="n1"), reservation("s", cpu=1, node="n1"))
    equal = ONE.add(reservation("s", cpu=1, node="n1"), reservation("r", cpu=1, node="n1"))

    assert used(outcome_of(fuller.job("a", cpu=1, labels=A))) == {"a-0": "s"}
    assert used(outcome_of(equal.job("a", cpu=1, labels=A))) == {"a-0": "r"}


def test_a_pod_that_ignores_reservations_uses_the_rest_and_becomes_no_owner() -> None:
    """It needs no owner's labels (R11)."""
    scenario = ONE.add(reservation("r", cpu=4, node="n1"))
    ignoring = {"scheduling.koordinator.sh/reservation-ignored": "true"}
    outcome = outcome_of(scenario.job("b", cpu=3, labels=ignoring))

    assert used(outcome) == {"b-0": ""}


def test_only_pods_of_listed_namespaces_may_ignore_reservations() -> None:
    """Any tenant can set the label. Equal pods of two namespaces are distinguished."""
    scenario = ONE.add(reservation("r", cpu=4, node="n1"))
    ignoring = {"scheduling.koordinator.sh/reservation-ignored": "true"}
    for namespace in ("one", "two"):
        scenario = scenario.job(f"b-{namespace}", cpu=2, labels=ignoring, namespace=namespace)
    listed = {"reservation": {"ignoringNamespaces": ["one"]}}

    assert used(outcome_of(scenario, arguments=listed)) == {"b-one-0": ""}
    assert used(outcome_of(scenario)) == {"b-one-0": "", "b-two-0": ""}


def test_owners_that_run_count_after_a_restart() -> None:
    """Their annotations are read again: half of the Reservation is in use, and the node has no free room (R28)."""
    scenario = ONE.add(reservation("r", cpu=4, node="n1", allocateOnce=False))
    scenario = scenario.pod("a", node="n1", cpu=2, labels=A, annotations=claimed("r"))

    assert used(outcome_of(scenario.job("b", cpu=2, labels=A))) == {"b-0": "r"}
    assert used(outcome_of(scenario.job("b", cpu=3, labels=A))) == {}
    assert used(outcome_of(scenario.job("c", cpu=1))) == {}


def test_an_annotation_with_an_unknown_uid_is_that_of_an_ordinary_pod() -> None:
    """Its request counts beside the whole Reservation."""
    scenario = ONE.add(reservation("r", cpu=2, node="n1", allocateOnce=False))
    scenario = scenario.pod("a", node="n1", cpu=2, labels=A, annotations=claimed("other"))

    assert used(outcome_of(scenario.job("c", cpu=1))) == {}


def test_an_annotation_that_a_pod_brings_along_is_removed() -> None:
    """A pod cannot claim a Reservation by itself."""
    scenario = ONE.add(reservation("r", cpu=2, node="n1")).job("b", cpu=1, annotations=claimed("r"))
    outcome = outcome_of(scenario)

    (bind,) = [bind for plan in outcome.report.plans for bind in plan.binds]
    assert bind.annotations[ALLOCATED] == ""


def test_an_owner_that_ends_leaves_its_part_to_the_next_one() -> None:
    """A Reservation for several keeps its amounts (R40)."""
    scenario = ONE.add(reservation("r", cpu=4, node="n1", allocateOnce=False))
    scenario = scenario.pod("a", node="n1", cpu=4, labels=A, annotations=claimed("r"), phase="Succeeded")

    assert used(outcome_of(scenario.job("b", cpu=4, labels=A))) == {"b-0": "r"}


def test_an_expired_reservation_keeps_nothing() -> None:
    """Its end is looked at in each cycle, whatever its phase shows (R38)."""
    scenario = ONE.add(reservation("r", cpu=4, node="n1", ttl="1s"))

    assert used(outcome_of(scenario.job("b", cpu=4))) == {"b-0": ""}
    open_ended = ONE.add(reservation("r", cpu=4, node="n1", ttl="0", expires="2026-01-01T00:00:01Z"))
    assert used(outcome_of(open_ended.job("b", cpu=4))) == {}


@pytest.mark.parametrize("life", [{"ttl": "1s"}, {"phase": "Failed"}, {"phase": "Succeeded"}])
def test_owners_stay_when_their_reservation_ends(life: dict[str, Any]) -> None:
    """A pod uses one of four CPUs, and its port: the others are free, and a pod with that port waits (R43)."""
    port = {"ports": [{"containerPort": 80, "hostPort": 80}]}
    template = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "4"}}, **port}]}
    scenario = ONE.add(reservation("r", cpu=4, node="n1", allocateOnce=False, template=template, **life))
    user = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}, **port}]}
    scenario = scenario.running("a", on=["n1"], labels=A, annotations=claimed("r"), pod=user)

    assert used(outcome_of(scenario.job("b", cpu=3))) == {"b-0": ""}
    assert used(outcome_of(scenario.job("b", cpu=4))) == {}
    assert used(outcome_of(scenario.job("b", pod=user, tasks=1))) == {}
    assert used(outcome_of(scenario.job("a2", cpu=1, labels=A, annotations=affinity()))) == {}


def test_one_that_is_being_deleted_takes_no_new_owner() -> None:
    """As if it were unschedulable, and its capacity is kept until it is gone (R6)."""
    leaving = reservation("r", cpu=4, node="n1", allocateOnce=False)
    leaving["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:01Z", "finalizers": ["example.com/keep"]}
    tolerant = affinity(tolerations=[{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}])

    assert used(outcome_of(ONE.add(leaving).job("a", cpu=1, labels=A))) == {}
    assert used(outcome_of(ONE.add(leaving).job("a", cpu=1, labels=A, annotations=tolerant))) == {"a-0": "r"}


def test_the_last_place_of_a_node_goes_to_the_owner() -> None:
    """The pod that stands for the Reservation counts as one pod, and its owner takes that place (R19)."""
    scenario = Scenario().queue("default").node("n1", cpu=4, pods=1).add(reservation("r", node="n1"))

    assert used(outcome_of(scenario.job("b", cpu=1))) == {}
    assert used(outcome_of(scenario.job("a", cpu=1, labels=A))) == {"a-0": "r"}


def test_without_the_plugin_a_pod_that_demands_a_reservation_waits() -> None:
    """The rule is named."""
    outcome = outcome_of(ONE.job("a", annotations=affinity()), plugins=("gang", "predicates"))

    assert "the pod requires a reservation, which no configured plugin serves" in outcome.why_pod("a-0")


def test_the_reason_has_the_numbers_of_each_reservation() -> None:
    """Name, request, rest and reserved amount (R21, D4); the event counts those that match the owners (R27)."""
    scenario = ONE.add(
        reservation("r", cpu=2, node="n1", allocatePolicy="Restricted"),
        reservation("s", cpu=1, node="n1", allocatePolicy="Restricted", unschedulable=True),
    )
    outcome = outcome_of(scenario.job("a", cpu=3, labels=A, annotations=affinity()))

    assert "1 Reservation(s) Insufficient cpu" in outcome.why_pod("a-0")
    assert "r: Insufficient cpu (requested 3, 2 available, 2 reserved)" in outcome.why_pod("a-0")
    (event,) = [each for each in outcome.events if each.reason == "FailedScheduling-Reservation"]
    assert event.message == (
        "0/2 reservations are available: 2 Reservation(s) matched owner total, 1 Reservation(s) is unschedulable."
    )


def test_evicting_an_owner_makes_room_in_the_reservation_alone() -> None:
    """Its place does not go to a pod that cannot use the Reservation (R45)."""
    base = ONE.priority_class("high", 9).add(reservation("r", cpu=4, node="n1", allocateOnce=False))
    base = base.job("low", cpu=4, min_available=0, labels=A, annotations=claimed("r"), running_on=["n1"])

    def evicted(**job: Any) -> list[str]:
        scenario = base.job("top", cpu=4, priority_class="high", **job)
        outcome: Any = scenario.run(
            "enqueue", "allocate", "preempt", plugins=("priority", "gang", "predicates", "reservation")
        )
        return list(outcome.evictions)

    assert evicted(labels=A) == ["low-0"]
    assert evicted() == []


PORT = [{"containerPort": 80, "hostPort": 80}]


def with_port(cpu: int) -> dict[str, Any]:
    """Return a specification with a host port."""
    return {"containers": [{"name": "c", "resources": {"requests": {"cpu": str(cpu)}}, "ports": PORT}]}


def test_the_port_of_a_reservation_is_for_its_owner() -> None:
    """Another pod cannot have it, nor can a second owner (R18)."""
    scenario = ONE.add(reservation("r", node="n1", template=with_port(2), allocateOnce=False))

    assert used(outcome_of(scenario.job("b", pod=with_port(1)))) == {}
    assert used(outcome_of(scenario.job("a", pod=with_port(1), labels=A))) == {"a-0": "r"}
    two = scenario.job("a", tasks=2, min_available=1, pod=with_port(1), labels=A)
    assert list(used(outcome_of(two)).values()) == ["r"]


def test_what_has_expired_keeps_no_port_and_counts_for_no_affinity() -> None:
    """Its phase still shows that it is Available (R43)."""
    there = Scenario().queue("default").node("n1", cpu=4, labels={"kubernetes.io/hostname": "n1"})
    apart = {"labelSelector": {"matchLabels": A}, "topologyKey": "kubernetes.io/hostname"}
    anti = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}
    for ttl, expected in (("0", {}), ("1s", {"b-0": ""})):
        kept = there.add(reservation("r", node="n1", template=with_port(2), template_metadata={"labels": A}, ttl=ttl))
        assert used(outcome_of(kept.job("b", pod=with_port(1)))) == expected
        assert used(outcome_of(kept.job("b", cpu=1, pod={"affinity": anti}))) == expected


def test_anti_affinity_to_itself_does_not_keep_an_owner_off() -> None:
    """A pod that moves has the labels and terms of the template; other pods are kept off (R32)."""
    term = {"labelSelector": {"matchLabels": A}, "topologyKey": "kubernetes.io/hostname"}
    apart = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    base = Scenario().queue("default").node("n1", cpu=4, labels={"kubernetes.io/hostname": "n1"})
    scenario = base.add(reservation("r", node="n1", template=apart, template_metadata={"labels": A}))

    assert used(outcome_of(scenario.job("a", pod=apart, labels=A))) == {"a-0": "r"}
    others = base.add(
        reservation("r", node="n1", template=apart, template_metadata={"labels": A}, owners=[{"object": {"name": "x"}}])
    )
    assert used(outcome_of(others.job("a", pod=apart, labels=A))) == {}
    ran = scenario.pod("old", node="n1", labels=A)
    assert used(outcome_of(ran.job("a", pod=apart, labels=A))) == {}


def operating(*, is_ready: bool = True, phase: str = "Running", base: Scenario = ONE) -> Scenario:
    """Return a node that a pod in operating mode fills."""
    owners = json.dumps([{"labelSelector": {"matchLabels": A}}])
    scenario = base.pod(
        "stand-in",
        node="n1",
        phase=phase,
        cpu=4,
        labels={"scheduling.koordinator.sh/operating-mode": "Reservation"},
        annotations={"scheduling.koordinator.sh/reservation-owners": owners},
    )
    *others, pod = scenario.objects
    conditions = [{"type": "Ready", "status": str(is_ready)}]
    return Scenario(tuple(others)).add({**pod, "status": {**pod["status"], "conditions": conditions}})


def test_a_pod_in_operating_mode_is_a_reservation_while_it_is_ready() -> None:
    """Its owner uses the capacity while it still runs; other pods do not (R37)."""
    assert used(outcome_of(operating().job("a", cpu=4, labels=A))) == {"a-0": "stand-in"}
    assert used(outcome_of(operating().job("b", cpu=1))) == {}
    assert used(outcome_of(operating(is_ready=False).job("a", cpu=1, labels=A))) == {}
    two = operating().job("a", tasks=2, min_available=1, cpu=2, labels=A)
    assert list(used(outcome_of(two)).values()) == ["stand-in"]


def test_a_pod_in_operating_mode_offers_its_capacity_in_its_namespace_alone() -> None:
    """A tenant must not draw the pods of other tenants onto capacity that it uses itself."""
    elsewhere = operating().job("a", cpu=4, labels=A, namespace="other")

    assert used(outcome_of(elsewhere)) == {}


def test_a_pod_that_ignores_reservations_does_not_use_a_pod_in_operating_mode() -> None:
    """That pod runs, so the node would be overcommitted, and no binding would be accepted."""
    ignores = {"scheduling.koordinator.sh/reservation-ignored": "true"}

    assert used(outcome_of(operating().job("b", cpu=1, labels=ignores))) == {}


def test_a_user_counts_beside_the_pod_in_operating_mode() -> None:
    """Both run, so an annotation that is written by hand frees no capacity of the node."""
    eight = Scenario().queue("default").node("n1", cpu=8)
    *others, first, second = operating(base=eight).pod("x", node="n1", cpu=4, labels=A).objects
    acting = {**first, "metadata": {**first["metadata"], "uid": "uid-stand-in"}}
    by_hand = {**second, "metadata": {**second["metadata"], "annotations": claimed("stand-in")}}
    outcome = outcome_of(Scenario((*others, acting, by_hand)).job("b", cpu=4))
    (capacity,) = outcome.rounds[0].snapshot.reservations.values()

    assert list(capacity.users) == ["default-x"]
    assert capacity.held() == {}
    assert outcome.report.plans == ()


def test_a_pod_in_operating_mode_gets_the_name_of_its_user() -> None:
    """The annotation is written before the user is bound (R37)."""
    outcome = outcome_of(operating().job("a", cpu=4, labels=A))
    (bind,) = [bind for plan in outcome.rounds[0].plans for bind in plan.binds]
    (step,) = bind.preparations

    assert (step.kind, step.name) == ("annotate-pod", "stand-in")
    assert step.details["key"] == "scheduling.koordinator.sh/reservation-current-owner"
    assert json.loads(step.details["text"]) == {"namespace": "default", "name": "a-0", "uid": bind.task}


def test_the_label_that_ignores_reservations_counts_in_some_namespaces_if_configured() -> None:
    """Two pods have the label, and only the pod of `kube-system` uses reserved capacity."""
    labels = {"scheduling.koordinator.sh/reservation-ignored": "true"}
    there = ONE.add(reservation("r", cpu=4, node="n1"))
    args = {"reservation": {"ignoringNamespaces": ["kube-system"]}}

    tenant = there.job("a", cpu=1, labels=labels)
    system = there.job("a", cpu=1, labels=labels, namespace="kube-system")
    assert outcome_of(tenant).bindings == {"a-0": "n1"}
    assert outcome_of(tenant, arguments=args).bindings == {}
    assert outcome_of(system, arguments=args).bindings == {"kube-system/a-0": "n1"}


def test_restricted_does_not_restrict_ignored_resources() -> None:
    """One card is reserved, and the pod needs two: the other one comes from the node."""
    card = "example.com/card"
    there = Scenario().queue("default").node("n1", cpu=4, resources={card: 2})
    there = there.add(reservation("r", node="n1", cpu=2, resources={card: "1"}, allocatePolicy="Restricted"))
    there = there.job("a", cpu=1, resources={card: 2}, labels=A, annotations=affinity())

    assert outcome_of(there).bindings == {}
    for ignored in ({"ignoredResources": [card]}, {"ignoredResourceGroups": ["example.com"]}):
        assert outcome_of(there, arguments={"reservation": ignored}).bindings == {"a-0": "n1"}


def test_pods_are_no_reserved_resource_in_scores() -> None:
    """The pod exceeds the Reservation of the second node, whose score is 0: the first node is used (R23)."""
    there = Scenario().queue("default").node("n1", cpu=4).node("n2", cpu=4).add(reservation("r", cpu=1, node="n2"))

    assert outcome_of(there.job("a", cpu=2, labels=A)).bindings == {"a-0": "n1"}


ZONES = (
    Scenario()
    .queue("default")
    .node("a1", cpu=4, labels={"zone": "a"})
    .node("a2", cpu=4, labels={"zone": "a"})
    .node("b1", cpu=4, labels={"zone": "b"})
)
IN_ZONE = {"labelSelector": {"matchLabels": A}, "topologyKey": "zone"}
SPREAD = {"topologySpreadConstraints": [{**IN_ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}]}


def required(kind: str, term: Mapping[str, Any]) -> dict[str, Any]:
    """Return a specification with one required term."""
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def test_spread_does_not_count_a_reservation_that_the_pod_may_use() -> None:
    """One pod of the zone would be counted, and another zone has none (R32)."""
    there = ZONES.add(reservation("r", node="a1", template_metadata={"labels": A}))
    there = there.pod("other", node="b1", cpu=4)

    assert used(outcome_of(there.job("a", pod=SPREAD, labels=A))) == {"a-0": "r"}


def test_spread_counts_a_reservation_that_the_pod_may_not_use() -> None:
    """The pod has the labels of the Reservation, and matches no owner: it is bound in the other zone."""
    elsewhere = [{"object": {"name": "x"}}]
    there = ZONES.add(reservation("r", node="a1", template_metadata={"labels": A}, owners=elsewhere))

    assert outcome_of(there.job("a", pod=SPREAD, labels=A)).bindings == {"a-0": "b1"}


def test_members_of_a_gang_spread_over_reservations() -> None:
    """Two members use a Reservation in each zone."""
    there = ZONES.add(*(reservation(name, node=name, cpu=4, template_metadata={"labels": A}) for name in ("a1", "b1")))
    there = there.pod("other", node="a2", cpu=4)

    assert used(outcome_of(there.job("a", tasks=2, cpu=4, pod=SPREAD, labels=A))) == {"a-0": "a1", "a-1": "b1"}


def test_anti_affinity_does_not_count_it_in_the_whole_domain() -> None:
    """The pod is too large for the node of its Reservation, and is bound to another node of the zone."""
    apart = required("podAntiAffinity", IN_ZONE)
    there = ZONES.add(reservation("r", node="a1", template=apart, template_metadata={"labels": A}))
    there = there.pod("other", node="a1", cpu=2).pod("busy", node="b1", cpu=4)

    assert outcome_of(there.job("a", cpu=3, pod=apart, labels=A)).bindings == {"a-0": "a2"}
    assert outcome_of(there.job("b", cpu=3, pod=apart)).bindings == {}


def test_affinity_is_not_met_by_a_reservation_that_the_pod_may_use() -> None:
    """Only the Reservation has the labels: for its owner it does not count, for others it does."""
    near = {"labelSelector": {"matchLabels": {"role": "x"}}, "topologyKey": "zone"}
    there = ZONES.add(reservation("r", node="a1", template_metadata={"labels": {"role": "x"}}))
    beside = required("podAffinity", near)

    assert outcome_of(there.job("a", cpu=1, pod=beside, labels=A)).bindings == {}
    assert outcome_of(there.job("b", cpu=1, pod=beside)).bindings.keys() == {"b-0"}


class Delegating(Plugin):
    """Binds all pods through a delegate."""

    name = "delegating"

    def on_session_open(self, session: Session) -> None:
        """Register as the delegate."""
        session.extensions.register_delegate(self.name, lambda _task, _column: True)


def test_a_pod_that_a_delegate_binds_is_annotated_before() -> None:
    """An extender of kube-scheduler writes no annotations, so the pod has them before its bind."""
    there = ONE.add(reservation("r", cpu=2, node="n1", allocateOnce=False))
    outcome = outcome_of(there.job("a", cpu=1, labels=A).job("b", cpu=1), plugins=(*PLUGINS, Delegating()))
    steps = {bind.name: bind.preparations for plan in outcome.rounds[0].plans for bind in plan.binds}

    assert [(step.kind, step.details["key"]) for step in steps["a-0"]] == [("annotate-pod", ALLOCATED)]
    assert steps["b-0"] == ()
