"""Builder: the pod group of a pod, as a pure function of the pod, its owners' annotations and its namespace.

docs/controllers/podgroup.md contains the tables.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from msgspec.structs import replace

from pyroclast.controllers.admission.rules.podgroups import queue_of
from pyroclast.controllers.admission.rules.pods import BUDGETS, budget_faults
from pyroclast.model.api import names
from pyroclast.model.api.meta import EMPTY, ObjectMeta, OwnerReference, ResourceList
from pyroclast.model.api.scheduling import (
    NetworkTopologyMode,
    NetworkTopologySpec,
    PodGroup,
    PodGroupPhase,
    PodGroupSpec,
    PodGroupStatus,
)
from pyroclast.model.gangs.identity import gang_of
from pyroclast.model.native.identity import native_group_of
from pyroclast.model.quantity import QuantityError, parse
from pyroclast.model.quota_usage import add_usages, quota_usage, usage_text
from pyroclast.model.wire import Pod

__all__ = [
    "build_group",
    "changed_metadata",
    "differs",
    "generated_name",
    "is_alive",
    "min_member",
    "needs_group",
    "owner_uid",
]

PREFIX: Final = "podgroup-"
_ENDED: Final = frozenset({"Succeeded", "Failed"})
_WHOLE_NUMBER: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)
_LARGEST: Final = 2**31 - 1

COPIED_ANNOTATIONS: Final = (names.PREEMPTABLE, names.COOLDOWN_TIME, names.REVOCABLE_ZONE)
COPIED_LABELS: Final = (names.PREEMPTABLE, names.COOLDOWN_TIME)


def owner_uid(pod: Pod) -> str:
    """Return the UID of the object that defines the group: the controller of a pod, or the pod."""
    controller = pod.metadata.controller
    return controller.uid if controller is not None else pod.metadata.uid


def generated_name(pod: Pod) -> str:
    """Return the name of the generated group of a pod."""
    return PREFIX + owner_uid(pod)


def is_alive(pod: Pod) -> bool:
    """Return whether a pod has not ended and is not being deleted."""
    return not pod.metadata.deletion_timestamp and pod.status.phase not in _ENDED


def needs_group(pod: Pod, scheduler_names: Collection[str]) -> bool:
    """Return whether a pod needs a generated group: alive, of our schedulers, without a group or with a generated one.

    A pod of a Koordinator gang, or of a PodGroup of `scheduling.k8s.io`, needs none: the scheduler forms a job of the
    gang or, if it is not to form gangs, of the pod.
    """
    if pod.spec.scheduler_name not in scheduler_names or not is_alive(pod):
        return False
    group = pod.metadata.annotations.get(names.GROUP_NAME)
    return group == generated_name(pod) or not (group or native_group_of(pod) or gang_of(pod.metadata))


def build_group(
    pod: Pod,
    *,
    owner_annotations: Mapping[str, str],
    namespace_annotations: Mapping[str, str] = EMPTY,
    inherits: bool = True,
) -> PodGroup:
    """Return the group of a pod.

    Args:
        pod: One of the pods that share the group.
        owner_annotations: Annotations of its owners. The first owner's take precedence.
        namespace_annotations: Annotations of its namespace, which may contain the queue.
        inherits: Whether owners' annotations count.

    Raises:
        ObjectError: An amount of the pod is not a quantity.
    """
    inherited = owner_annotations if inherits else {}
    minimum = min_member(inherited)
    annotations = pod.metadata.annotations
    return PodGroup(
        metadata=ObjectMeta(
            namespace=pod.metadata.namespace,
            name=generated_name(pod),
            owner_references=_owner_references(pod),
            annotations={
                **{key: value for key, value in sorted(inherited.items()) if key.startswith(names.INHERITED_PREFIX)},
                **_copied(annotations, COPIED_ANNOTATIONS),
                **_budget(annotations),
            },
            labels=_copied(pod.metadata.labels, COPIED_LABELS),
        ),
        spec=PodGroupSpec(
            min_member=minimum,
            queue=queue_of(annotations.get(names.POD_QUEUE_NAME) or names.DEFAULT_QUEUE, namespace_annotations),
            priority_class_name=pod.spec.priority_class_name,
            min_resources=usage_text(add_usages((quota_usage(pod.spec), minimum))),
            network_topology=network_topology(annotations),
        ),
        status=PodGroupStatus(phase=PodGroupPhase.PENDING),
    )


def min_member(owner_annotations: Mapping[str, str]) -> int:
    """Return the gang size in the annotations of owners. An invalid or negative number counts as 1."""
    desired = _whole(owner_annotations.get(names.GROUP_MIN_MEMBER, ""))
    return desired if desired is not None and 0 <= desired <= _LARGEST else 1


def network_topology(annotations: Mapping[str, str]) -> NetworkTopologySpec | None:
    """Return the network topology of a pod's annotations.

    Invalid values are ignored, and an unknown mode counts as hard.
    """
    mode = annotations.get(names.NETWORK_TOPOLOGY_MODE)
    tier = annotations.get(names.NETWORK_TOPOLOGY_HIGHEST_TIER)
    if mode is None and tier is None:
        return None
    known = {each.value for each in NetworkTopologyMode}
    highest = _whole(tier or "")
    return NetworkTopologySpec(
        mode=mode.lower() if mode is not None and mode.lower() in known else NetworkTopologyMode.HARD.value,
        highest_tier_allowed=highest if highest is not None and highest >= 0 else None,
    )


def differs(desired: PodGroup, there: PodGroup, *, inherits: bool = True) -> bool:
    """Return whether an existing group differs from the desired group. Keys that other clients added do not count."""
    return not _is_same_spec(desired.spec, there.spec) or any(
        changed_metadata(desired, there, inherits=inherits).values()
    )


def changed_metadata(desired: PodGroup, there: PodGroup, *, inherits: bool = True) -> dict[str, dict[str, str | None]]:
    """Return the merge patch of annotations and labels. It sets the desired keys and removes our other keys.

    Args:
        desired: The desired group.
        there: The existing group.
        inherits: Whether owners' annotations count. A key that an owner no longer has is removed from the group.
    """
    annotations = {*COPIED_ANNOTATIONS, *BUDGETS}
    if inherits:
        annotations |= {key for key in there.metadata.annotations if key.startswith(names.INHERITED_PREFIX)}
        annotations -= {names.ALLOCATED_HYPER_NODE}  # written by the scheduler
    return {
        "annotations": _change(there.metadata.annotations, desired.metadata.annotations, annotations),
        "labels": _change(there.metadata.labels, desired.metadata.labels, COPIED_LABELS),
    }


def _change(there: Mapping[str, str], desired: Mapping[str, str], ours: Iterable[str]) -> dict[str, str | None]:
    return {
        **{key: None for key in sorted(ours) if key in there and key not in desired},
        **{key: value for key, value in desired.items() if there.get(key) != value},
    }


def _owner_references(pod: Pod) -> tuple[OwnerReference, ...]:
    """Return the owners of the pod if one of them is its controller, otherwise the pod.

    The references do not block the deletion of owners. Blocking would need rights on owners of any kind with the
    admission plugin OwnerReferencesPermissionEnforcement.
    """
    if pod.metadata.controller is not None:
        return tuple(replace(each, block_owner_deletion=False) for each in pod.metadata.owner_references)
    return (
        OwnerReference(
            api_version="v1",
            kind="Pod",
            name=pod.metadata.name,
            uid=pod.metadata.uid,
            controller=True,
            block_owner_deletion=True,
        ),
    )


def _budget(annotations: Mapping[str, str]) -> dict[str, str]:
    """Return the first valid budget of a pod, because a group may have only one."""
    sound = [key for key in BUDGETS if key in annotations and not any(budget_faults({key: annotations[key]}))]
    return _copied(annotations, sound[:1])


def _copied(values: Mapping[str, str], keys: Collection[str]) -> dict[str, str]:
    return {key: values[key] for key in keys if key in values}


def _is_same_spec(one: PodGroupSpec, other: PodGroupSpec) -> bool:
    """Return whether the built fields of two specs are equal. Amounts are compared by value."""
    return (
        (one.min_member, one.queue, one.priority_class_name, one.network_topology)
        == (other.min_member, other.queue, other.priority_class_name, other.network_topology)
        and not other.min_task_member
        and not other.sub_group_policy
        and _amounts(one.min_resources) == _amounts(other.min_resources)
    )


def _amounts(resources: ResourceList | None) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, text in (resources or {}).items():
        try:
            found[name] = parse(text)
        except QuantityError:
            found[name] = text
    return found


def _whole(text: str) -> int | None:
    return int(text) if _WHOLE_NUMBER.fullmatch(text) else None
