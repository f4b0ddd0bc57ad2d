"""PodGroups and Workloads of `scheduling.k8s.io`: defaults, validation, and what admission checks.

The API server has these kinds behind feature gates: v1alpha2 in Kubernetes 1.36, v1beta1 in 1.37.
"""

from typing import Any, Final

from pyroclast.emulator.kinds.priorities import class_of
from pyroclast.emulator.operations.strategies import Context, Strategy, invalid_value, required, section
from pyroclast.emulator.statuses import cause, forbidden
from pyroclast.emulator.storage.labels import dns_subdomain_faults, label_key_faults
from pyroclast.emulator.storage.resources import Resource, built_in

__all__ = ["NATIVE_VERSIONS", "PodGroupStrategy", "WorkloadStrategy", "native_kinds", "scheduling_group_faults"]

Object = dict[str, Any]
Faults = list[dict[str, str]]

GROUP: Final = "scheduling.k8s.io"
NATIVE_VERSIONS: Final = ("v1alpha2", "v1beta1")
OLD: Final = "v1alpha2"
MODES: Final = ("Pod", "PodGroup")
MOST_TEMPLATES: Final = 8
MOST_TOPOLOGIES: Final = 1


def native_kinds(version: str) -> tuple[Resource, ...]:
    """Return the two kinds in a version; none if it is empty."""
    if not version:
        return ()
    return (
        built_in(f"{GROUP}/{version}", "podgroups", "PodGroup", sub="status"),
        built_in(f"{GROUP}/{version}", "workloads", "Workload"),
    )


class PodGroupStrategy(Strategy):
    """A policy, and a specification that stays; the minimum alone changes since v1beta1."""

    def prepare_create(self, tree: Object, context: Context) -> None:
        """Refuse a group whose Workload did not make it, and set the priority of its class."""
        super().prepare_create(tree, context)
        check_template(tree, context)
        spec = section(tree, "spec")
        name = tree["metadata"].get("name", "")
        found = class_of(context, spec.get("priorityClassName", ""), kind=(GROUP, "podgroups", name))
        computed = int(found.get("value", 0))
        if spec.get("priority") not in (None, computed):
            why = (
                f"the integer value of priority ({spec['priority']}) must not be provided in pod group spec; "
                f"priority admission controller computed {computed} from the given PriorityClass name"
            )
            raise forbidden(GROUP, "podgroups", name, why)
        spec["priority"] = computed
        if found.get("metadata"):
            spec["priorityClassName"] = found["metadata"]["name"]

    def fill(self, tree: Object, context: Context) -> None:
        """Set the disruption mode."""
        default: Any = MODES[0] if context.call.resource.version == OLD else {"single": {}}
        section(tree, "spec").setdefault("disruptionMode", default)

    def faults(self, new: Object, old: Object | None, context: Context) -> Faults:
        """Policy, topology and disruption mode; on update, fields that cannot change."""
        if context.call.subresource:
            return []
        spec, path = new["spec"], "spec"
        faults = [*policy_faults(f"{path}.schedulingPolicy", spec.get("schedulingPolicy") or {})]
        faults += topology_faults(f"{path}.schedulingConstraints.topology", spec)
        faults += mode_faults(f"{path}.disruptionMode", spec["disruptionMode"])
        if old is not None and _fixed(spec, context) != _fixed(old["spec"], context):
            faults.append(invalid_value(path, "", "field is immutable"))
        return faults


class WorkloadStrategy(Strategy):
    """Templates of groups, which stay."""

    def faults(self, new: Object, old: Object | None, context: Context) -> Faults:
        """Return the faults of the templates; on update, of changed ones."""
        del context
        templates = new["spec"].get("podGroupTemplates") or []
        path = "spec.podGroupTemplates"
        if not templates and not new["spec"].get("compositePodGroupTemplates"):
            return [required(path)]
        if len(templates) > MOST_TEMPLATES:
            return [cause(path, "FieldValueTooMany", f"Too many: {len(templates)}: must have at most 8 items")]
        faults: Faults = []
        for number, template in enumerate(templates):
            faults += [] if template.get("name") else [required(f"{path}[{number}].name")]
            faults += policy_faults(f"{path}[{number}].schedulingPolicy", template.get("schedulingPolicy") or {})
        if old is not None and templates != (old["spec"].get("podGroupTemplates") or []):
            faults.append(invalid_value(path, "", "field is immutable"))
        return faults


def policy_faults(path: str, policy: Object) -> Faults:
    """Exactly one policy, and a minimum of at least one pod."""
    named = [each for each in ("basic", "gang") if policy.get(each) is not None]
    if len(named) != 1:
        return [invalid_value(path, "", "must specify exactly one of: `basic`, `gang`")]
    least = policy["gang"].get("minCount") if named == ["gang"] else 1
    if least is None:
        return [required(f"{path}.gang.minCount")]
    return [invalid_value(f"{path}.gang.minCount", least, "must be greater than or equal to 1")] if least < 1 else []


def topology_faults(path: str, spec: Object) -> Faults:
    """At most one topology, by the key of a label."""
    topology = (spec.get("schedulingConstraints") or {}).get("topology") or []
    if len(topology) > MOST_TOPOLOGIES:
        return [cause(path, "FieldValueTooMany", f"Too many: {len(topology)}: must have at most 1 item")]
    return [
        invalid_value(f"{path}[{number}].key", each.get("key", ""), text)
        for number, each in enumerate(topology)
        for text in label_key_faults(each.get("key", ""))
    ]


def mode_faults(path: str, mode: Any) -> Faults:
    """A name in v1alpha2, exactly one choice later."""
    if isinstance(mode, str):
        supported = ", ".join(f'"{one}"' for one in MODES)
        message = f'Unsupported value: "{mode}": supported values: {supported}'
        return [] if mode in MODES else [cause(path, "FieldValueNotSupported", message)]
    is_one = sum(mode.get(each) is not None for each in ("single", "all")) == 1
    return [] if is_one else [invalid_value(path, "", "must specify exactly one of: `all`, `single`")]


def check_template(tree: Object, context: Context) -> None:
    """Refuse a group that names a Workload or a template that does not exist.

    Raises:
        ApiError: 403.
    """
    spec, metadata = section(tree, "spec"), tree["metadata"]
    reference = spec.get("workloadRef") or (spec.get("podGroupTemplateRef") or {}).get("workload")
    if not reference:
        return
    name = reference.get("workloadName", "")
    template = reference.get("templateName") or reference.get("podGroupTemplateName", "")
    record = context.store.collection(GROUP, "workloads").get(metadata.get("namespace", ""), name)
    if record is None:
        raise forbidden(GROUP, "podgroups", metadata.get("name", ""), f'PodGroup rejected: Workload "{name}" not found')
    templates = record.object()["spec"].get("podGroupTemplates") or []
    if all(each.get("name") != template for each in templates):
        why = f'PodGroup rejected: PodGroupTemplate "{template}" not found in Workload "{name}"'
        raise forbidden(GROUP, "podgroups", metadata.get("name", ""), why)


def scheduling_group_faults(spec: Object) -> Faults:
    """Return the faults of a pod's group: a name that no object can have."""
    group, path = spec.get("schedulingGroup"), "spec.schedulingGroup.podGroupName"
    if group is None:
        return []
    name = group.get("podGroupName")
    if name is None:
        return [invalid_value(path, "null", "must specify one of: `podGroupName`")]
    return [invalid_value(path, name, text) for text in dns_subdomain_faults(name)]


def _fixed(spec: Object, context: Context) -> Object:
    """Return the part of a specification that cannot change."""
    if context.call.resource.version == OLD:
        return spec
    policy = spec.get("schedulingPolicy") or {}
    fixed = {key: "" if key == "gang" else value for key, value in policy.items()}
    return {**spec, "schedulingPolicy": fixed}
