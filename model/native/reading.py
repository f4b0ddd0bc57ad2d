"""Reading: parse a native group, with the rules by which the API server accepts one.

The API server refuses a group that breaks a rule, so faults are seen in files alone, or where a later version of
Kubernetes permits more. A group with a fault is not used, because a part of it would be ignored.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from pyroclast.model import wire
from pyroclast.model.label_keys import LONGEST_SUBDOMAIN, is_label_key, is_subdomain
from pyroclast.model.native.group import Disruption, NativeGroup
from pyroclast.model.texts import quoted

__all__ = ["NativeFault", "group_name_fault", "native_faults", "read_native", "template_fault"]

_LARGEST: Final = 2**31 - 1
_HIGHEST_PRIORITY: Final = 1_000_000_000
_MOST_TOPOLOGIES: Final = 1
_MODES: Final = {"": Disruption.SINGLE, "Pod": Disruption.SINGLE, "PodGroup": Disruption.ALL}
_PREEMPTION_POLICIES: Final = ("", "PreemptLowerPriority", "Never")


class NativeFault(NamedTuple):
    """A field that cannot be used."""

    path: str
    message: str


def read_native(group: wire.NativePodGroup) -> NativeGroup | NativeFault:
    """Return the settings of a group, or its first fault."""
    fault = next(native_faults(group), None)
    if fault is not None:
        return fault
    spec = group.spec
    gang, constraints = spec.scheduling_policy.gang, spec.scheduling_constraints
    topology = () if constraints is None else constraints.topology
    return NativeGroup(
        object=group,
        minimum=1 if gang is None else gang.min_count,
        disruption=_disruption(spec.disruption_mode),
        topology_key=topology[0].key if topology else "",
    )


def native_faults(group: wire.NativePodGroup) -> Iterator[NativeFault]:
    """Yield the fields of a group that cannot be used."""
    spec = group.spec
    yield from _policy_faults(spec.scheduling_policy)
    yield from _topology_faults(spec.scheduling_constraints)
    yield from _disruption_faults(spec.disruption_mode)
    yield from _priority_faults(spec)
    if spec.parent_composite_pod_group_name:
        parent = quoted(spec.parent_composite_pod_group_name)
        message = f"it is part of the CompositePodGroup {parent}, and groups of groups are not supported"
        yield NativeFault("spec.parentCompositePodGroupName", message)


def group_name_fault(name: str) -> str:
    """Return why a pod's `podGroupName` cannot name a group; empty if it can."""
    if is_subdomain(name):
        return ""
    return f"{quoted(name)} is not a DNS subdomain of at most {LONGEST_SUBDOMAIN} characters"


def template_fault(group: wire.NativePodGroup, workload: wire.Workload | None) -> str:
    """Return why the Workload that a group refers to cannot have made it; empty if it can, or if none is named.

    Admission checks this when the group is created. Later the Workload may be deleted, and the group stays.

    Args:
        group: The group.
        workload: The Workload of that name; None if there is none.
    """
    reference = group.spec.reference
    if reference is None:
        return ""
    name, template = quoted(reference.workload_name), quoted(reference.template)
    if workload is None:
        return f"there is no Workload {name}"
    spec = workload.spec
    if spec.composite_pod_group_templates or any(each.name == reference.template for each in spec.pod_group_templates):
        return ""
    return f"Workload {name} has no template {template}"


def _policy_faults(policy: wire.SchedulingPolicy) -> Iterator[NativeFault]:
    if (policy.basic is None) is (policy.gang is None):
        yield NativeFault("spec.schedulingPolicy", "exactly one of basic and gang must be set")
    elif policy.gang is not None and not 1 <= policy.gang.min_count <= _LARGEST:
        message = f"{policy.gang.min_count} is not a whole number from 1 to {_LARGEST}"
        yield NativeFault("spec.schedulingPolicy.gang.minCount", message)


def _topology_faults(constraints: wire.SchedulingConstraints | None) -> Iterator[NativeFault]:
    topology, path = () if constraints is None else constraints.topology, "spec.schedulingConstraints.topology"
    if len(topology) > _MOST_TOPOLOGIES:
        yield NativeFault(path, f"{len(topology)} constraints, of which Kubernetes permits {_MOST_TOPOLOGIES}")
    for number, each in enumerate(topology[:_MOST_TOPOLOGIES]):
        if not is_label_key(each.key):
            yield NativeFault(f"{path}[{number}].key", f"{quoted(each.key)} is not a key of labels")


def _disruption_faults(mode: str | wire.DisruptionChoice | None) -> Iterator[NativeFault]:
    if isinstance(mode, str) and mode not in _MODES:
        yield NativeFault("spec.disruptionMode", f"{quoted(mode)} is none of Pod, PodGroup")
    if isinstance(mode, wire.DisruptionChoice) and (mode.single is None) is (mode.all is None):
        yield NativeFault("spec.disruptionMode", "exactly one of single and all must be set")


def _priority_faults(spec: wire.NativePodGroupSpec) -> Iterator[NativeFault]:
    if spec.priority is not None and not -_LARGEST - 1 <= spec.priority <= _HIGHEST_PRIORITY:
        message = f"{spec.priority} is not a whole number from {-_LARGEST - 1} to {_HIGHEST_PRIORITY}"
        yield NativeFault("spec.priority", message)
    if spec.preemption_policy not in _PREEMPTION_POLICIES:
        message = f"{quoted(spec.preemption_policy)} is none of {', '.join(_PREEMPTION_POLICIES[1:])}"
        yield NativeFault("spec.preemptionPolicy", message)


def _disruption(mode: str | wire.DisruptionChoice | None) -> Disruption:
    if isinstance(mode, wire.DisruptionChoice):
        return Disruption.SINGLE if mode.all is None else Disruption.ALL
    return _MODES[mode or ""]
