"""The group of a pod follows from the pod, its owners' annotations and its namespace."""

from typing import Any

import msgspec
import pytest

from pyroclast.controllers.podgroups.builder import build_group, changed_metadata, differs, generated_name, needs_group
from pyroclast.model.api import names
from pyroclast.model.api.meta import OwnerReference
from pyroclast.model.api.scheduling import NetworkTopologySpec, PodGroup, PodGroupStatus
from pyroclast.model.gangs.names import LABEL_NAME, LABEL_POD_GROUP, NAME
from pyroclast.model.wire import Pod, PodSchedulingGroup, PodStatus
from tests.unit.controllers.podgroups.pods import owner, pod

OURS = ("volcano",)


def group(item: Pod, owner_annotations: dict[str, str] | None = None, **options: Any) -> PodGroup:
    """The group of a pod."""
    return build_group(item, owner_annotations=owner_annotations or {}, **options)


def test_a_bare_pod_has_a_group_of_its_own() -> None:
    """Vector 1: everything that the group takes from the pod."""
    made = group(
        pod(
            annotations={names.POD_QUEUE_NAME: "q", names.PREEMPTABLE: "true"},
            labels={names.COOLDOWN_TIME: "60s"},
            priority_class_name="high",
        )
    )

    assert made.metadata.name == "podgroup-p"
    assert (made.spec.min_member, made.spec.queue, made.spec.priority_class_name) == (1, "q", "high")
    assert made.spec.min_resources == {"cpu": "1", "requests.cpu": "1", "pods": "1", "count/pods": "1"}
    assert made.metadata.annotations == {names.PREEMPTABLE: "true"}
    assert made.metadata.labels == {names.COOLDOWN_TIME: "60s"}
    assert made.metadata.owner_references == (
        OwnerReference(api_version="v1", kind="Pod", name="pod", uid="p", controller=True, block_owner_deletion=True),
    )
    assert made.status == PodGroupStatus(phase="Pending")


def test_pods_of_one_controller_share_a_group_of_the_size_it_asks_for() -> None:
    """Vector 2: the size is an annotation of the owner, and the owners are the pod's, which do not wait for it."""
    reference = owner(uid="r-uid")
    made = group(pod(reference), {names.GROUP_MIN_MEMBER: "3"})

    assert made.metadata.name == "podgroup-r-uid"
    assert made.spec.min_member == 3
    assert made.spec.min_resources == {"cpu": "3", "requests.cpu": "3", "pods": "3", "count/pods": "3"}
    assert made.metadata.owner_references == (msgspec.structs.replace(reference, block_owner_deletion=False),)


@pytest.mark.parametrize(
    ("wanted", "size"),
    [("abc", 1), ("-1", 1), ("0", 0), ("+2", 2), ("2147483648", 1), ("1_0", 1), (" 3", 1), ("", 1), ("1.5", 1)],
)
def test_a_size_that_cannot_be_read_is_one(wanted: str, size: int) -> None:
    """Vector 3: zero is a size."""
    assert group(pod(owner()), {names.GROUP_MIN_MEMBER: wanted}).spec.min_member == size


def test_a_group_of_none_needs_nothing() -> None:
    """Its minimum is empty, so that it passes every gate."""
    assert group(pod(owner()), {names.GROUP_MIN_MEMBER: "0"}).spec.min_resources == {}


def test_without_inheritance_owners_say_nothing() -> None:
    """Vector 4."""
    made = group(pod(owner()), {names.GROUP_MIN_MEMBER: "3", "volcano.sh/x": "y"}, inherits=False)

    assert (made.spec.min_member, made.metadata.annotations) == (1, {})


def test_annotations_of_owners_pass_by_their_prefix() -> None:
    """`scheduling.volcano.sh/` is another prefix, so the queue of a workload stands on its pod template."""
    made = group(
        pod(owner(), annotations={names.PREEMPTABLE: "false"}),
        {
            names.PREEMPTABLE: "true",
            names.SLA_WAITING_TIME: "1h",
            names.POD_QUEUE_NAME: "q",
            names.GROUP_MIN_MEMBER: "1",
            "other": "x",
        },
    )

    assert made.metadata.annotations == {names.SLA_WAITING_TIME: "1h", names.PREEMPTABLE: "false"}
    assert made.spec.queue == "default"


def test_of_two_budgets_the_minimum_is_copied() -> None:
    """They exclude each other."""
    both = {names.MAX_UNAVAILABLE: "1", names.MIN_AVAILABLE: "2"}

    assert group(pod(annotations=both)).metadata.annotations == {names.MIN_AVAILABLE: "2"}
    assert group(pod(annotations={names.MAX_UNAVAILABLE: "1"})).metadata.annotations == {names.MAX_UNAVAILABLE: "1"}


def test_a_namespace_may_name_the_queue() -> None:
    """Where the pod does not."""
    team = {names.POD_QUEUE_NAME: "team"}
    assert group(pod(), namespace_annotations=team).spec.queue == "team"
    assert group(pod(annotations={names.POD_QUEUE_NAME: "q"}), namespace_annotations=team).spec.queue == "q"
    assert group(pod(annotations={names.POD_QUEUE_NAME: "default"}), namespace_annotations=team).spec.queue == "team"
    assert group(pod(), namespace_annotations={names.POD_QUEUE_NAME: ""}).spec.queue == "default"


@pytest.mark.parametrize(
    ("mode", "tier", "topology"),
    [
        (None, None, None),
        ("SOFT", None, NetworkTopologySpec(mode="soft")),
        ("abc", None, NetworkTopologySpec(mode="hard")),
        (None, "2", NetworkTopologySpec(mode="hard", highest_tier_allowed=2)),
        ("hard", "x", NetworkTopologySpec(mode="hard")),
        ("soft", "-1", NetworkTopologySpec(mode="soft")),
    ],
)
def test_a_topology_is_read_as_far_as_it_can_be(
    mode: str | None, tier: str | None, topology: NetworkTopologySpec | None
) -> None:
    """Vector 7: an unknown mode is hard, a tier that is none is left out."""
    annotations = {names.NETWORK_TOPOLOGY_MODE: mode, names.NETWORK_TOPOLOGY_HIGHEST_TIER: tier}
    given = {key: value for key, value in annotations.items() if value is not None}

    assert group(pod(annotations=given)).spec.network_topology == topology


def test_owners_that_do_not_manage_the_pod_do_not_share_its_group() -> None:
    """The pod itself is the owner then."""
    made = group(pod(owner(controller=False)))

    assert made.metadata.name == "podgroup-p"
    assert [reference.kind for reference in made.metadata.owner_references] == ["Pod"]


def test_pods_that_need_a_group() -> None:
    """Pods of ours that live and have no group, or have one created here, which may have been deleted."""
    mine = pod()
    assert needs_group(mine, OURS)
    assert needs_group(pod(annotations={names.GROUP_NAME: generated_name(mine)}), OURS)
    assert needs_group(pod(annotations={names.GROUP_NAME: ""}), OURS)

    assert not needs_group(pod(annotations={names.GROUP_NAME: "mine"}), OURS)
    assert not needs_group(mine, ("other",))
    assert not needs_group(msgspec.structs.replace(mine, status=PodStatus(phase="Succeeded")), OURS)
    going = msgspec.structs.replace(mine.metadata, deletion_timestamp="2026-01-01T00:00:00Z")
    assert not needs_group(msgspec.structs.replace(mine, metadata=going), OURS)


@pytest.mark.parametrize(
    ("labels", "annotations"),
    [
        ({LABEL_POD_GROUP: "a"}, {}),
        ({LABEL_NAME: "a"}, {}),
        ({}, {NAME: "a"}),
    ],
)
def test_members_of_gangs_need_no_group(labels: dict[str, str], annotations: dict[str, str]) -> None:
    """The scheduler makes jobs of gangs; a group that was made earlier is kept up all the same."""

    def member(**more: str) -> Pod:
        metadata = msgspec.structs.replace(pod().metadata, labels=labels, annotations={**annotations, **more})
        return msgspec.structs.replace(pod(), metadata=metadata)

    assert not needs_group(member(), OURS)
    assert needs_group(member(**{names.GROUP_NAME: generated_name(pod())}), OURS)
    assert needs_group(pod(annotations={NAME: ""}), OURS)


def test_a_group_as_built_does_not_differ_from_itself() -> None:
    """However the server writes amounts, and whatever others added."""
    wanted = group(pod(owner(), cpu="1"), {"volcano.sh/x": "y"})
    amounts = {"cpu": "1000m", "requests.cpu": 1, "pods": "1", "count/pods": "1"}
    there = msgspec.structs.replace(
        wanted,
        spec=msgspec.structs.replace(wanted.spec, min_resources=amounts),
        metadata=msgspec.structs.replace(
            wanted.metadata, annotations={**wanted.metadata.annotations, "volcano.sh/job-allocated-hypernode": "s1"}
        ),
    )

    assert not differs(wanted, there)


@pytest.mark.parametrize(
    "other",
    [
        group(pod(owner()), {names.GROUP_MIN_MEMBER: "2"}),
        group(pod(owner(), cpu="2")),
        group(pod(owner(), annotations={names.POD_QUEUE_NAME: "q"})),
        group(pod(owner(), annotations={names.PREEMPTABLE: "true"})),
        group(pod(owner(), labels={names.PREEMPTABLE: "true"})),
        group(pod(owner(), annotations={names.NETWORK_TOPOLOGY_MODE: "soft"})),
        group(pod(owner(), priority_class_name="high")),
    ],
)
def test_what_differs_is_seen_both_ways(other: PodGroup) -> None:
    """What came and what went."""
    plain = group(pod(owner()))

    assert differs(other, plain)
    assert differs(plain, other)


def test_what_an_owner_has_no_more_goes() -> None:
    """Annotations that it may pass on; those of the scheduler and others stay."""
    others = {names.ALLOCATED_HYPER_NODE: "s1", "example.com/note": "mine"}
    plain, there = group(pod(owner())), group(pod(owner()), {"volcano.sh/sla-waiting-time": "1h"})
    annotations = {**there.metadata.annotations, **others}
    there = msgspec.structs.replace(there, metadata=msgspec.structs.replace(there.metadata, annotations=annotations))

    assert differs(plain, there)
    assert changed_metadata(plain, there) == {"annotations": {"volcano.sh/sla-waiting-time": None}, "labels": {}}
    assert not differs(plain, there, inherits=False)


def test_a_budget_that_cannot_be_read_is_left_out() -> None:
    """The other one counts, if it can be."""
    both = {names.MIN_AVAILABLE: "half", names.MAX_UNAVAILABLE: "50%"}

    assert group(pod(annotations=both)).metadata.annotations == {names.MAX_UNAVAILABLE: "50%"}
    assert group(pod(annotations={names.MIN_AVAILABLE: "0"})).metadata.annotations == {}


def test_pods_of_native_groups_need_no_group() -> None:
    """The scheduler makes a job of the PodGroup of `scheduling.k8s.io` that they name."""
    named = PodSchedulingGroup(pod_group_name="train")
    member = msgspec.structs.replace(pod(), spec=msgspec.structs.replace(pod().spec, scheduling_group=named))
    assert not needs_group(member, OURS)
