"""Pod groups: the queue of their namespace, and validation of their queue."""

from collections.abc import Iterator, Mapping
from typing import Any

from pyroclast.controllers.admission.faults import Fault, the_first
from pyroclast.controllers.admission.lookups import Lookups
from pyroclast.controllers.admission.patches import Patch, add
from pyroclast.controllers.admission.rules.queue_use import queue_use_faults
from pyroclast.controllers.admission.rules.shape import member, read
from pyroclast.controllers.admission.rules.topology import topology_faults
from pyroclast.model import group_notes
from pyroclast.model.api.names import DEFAULT_QUEUE, POD_QUEUE_NAME
from pyroclast.model.api.scheduling import PodGroup

__all__ = ["defaulted", "faults_of", "queue_of", "warnings_of"]


def defaulted(pod_group: Mapping[str, Any], namespace_annotations: Mapping[str, str]) -> list[Patch]:
    """Return the defaults of a new pod group.

    In the default queue it gets the queue of its namespace, if there is one.
    """
    named = member(pod_group, "spec", "queue")
    queue = queue_of(named, namespace_annotations)
    return [add("spec", "queue", value=queue)] if queue != named else []


def queue_of(named: str, namespace_annotations: Mapping[str, str]) -> str:
    """Return the queue of a new pod group. The queue of its namespace replaces the default queue."""
    of_namespace = namespace_annotations.get(POD_QUEUE_NAME, "")
    return of_namespace if of_namespace and named == DEFAULT_QUEUE else named


def faults_of(
    pod_group: Mapping[str, Any] | PodGroup,
    old: Mapping[str, Any] | PodGroup | None = None,
    lookups: Lookups | None = None,
) -> tuple[Fault, ...]:
    """Find the faults of a new pod group. An admitted pod group is not validated again.

    Args:
        pod_group: The pod group, as JSON or as its struct.
        old: Previous pod group, None for a new one.
        lookups: The queues. Without them, rules about queues are skipped.
    """
    return () if old is not None else the_first(_faults(pod_group, lookups))


def warnings_of(pod_group: Mapping[str, Any] | PodGroup) -> tuple[str, ...]:
    """Return the warnings for a pod group that Volcano accepts: fields that limit nothing or select no pod.

    Args:
        pod_group: The pod group, as JSON or as its struct.
    """
    known = read(PodGroup, pod_group)
    if isinstance(known, Fault):
        return ()
    notes = [*group_notes.topology_notes(known.spec.network_topology, "spec.networkTopology")]
    for number, policy in enumerate(known.spec.sub_group_policy):
        path = f"spec.subGroupPolicy[{number}]"
        notes += group_notes.selector_faults(policy, path)
        notes += group_notes.topology_notes(policy.network_topology, f"{path}.networkTopology")
    return tuple(map(str, notes))


def _faults(value: Mapping[str, Any] | PodGroup, lookups: Lookups | None) -> Iterator[Fault]:
    pod_group = read(PodGroup, value)
    if isinstance(pod_group, Fault):
        yield pod_group
        return
    spec = pod_group.spec
    if lookups is not None and spec.queue:
        yield from queue_use_faults(spec.queue, "PodGroup", lookups, only_leaves=False)
    yield from topology_faults(spec.network_topology, "spec.networkTopology")
    for number, policy in enumerate(spec.sub_group_policy):
        yield from topology_faults(
            policy.network_topology,
            f"spec.subGroupPolicy[{number}].networkTopology",
            of=f"in subGroupPolicy '{policy.name}': ",
        )
