"""Native groups: PodGroup and Workload of `scheduling.k8s.io`, which Kubernetes itself serves.

One struct reads all versions: v1alpha2 (Kubernetes 1.36), v1alpha3 and v1beta1 (1.37). They differ in the disruption
mode, which is a name in v1alpha2 and an object later, and in the reference to the Workload.
"""

from pyroclast.model.api.meta import ObjectMeta, Wire

__all__ = [
    "DisruptionChoice",
    "GangPolicy",
    "GroupTemplate",
    "NativeCondition",
    "NativePodGroup",
    "NativePodGroupSpec",
    "NativePodGroupStatus",
    "NoFields",
    "PodSchedulingGroup",
    "SchedulingConstraints",
    "SchedulingPolicy",
    "TemplateReference",
    "TopologyConstraint",
    "Workload",
    "WorkloadReference",
    "WorkloadSpec",
]


class PodSchedulingGroup(Wire, frozen=True, kw_only=True):
    """The group of a pod, `spec.schedulingGroup`."""

    pod_group_name: str | None = None
    """Name of a PodGroup of the pod's namespace."""


class NoFields(Wire, frozen=True, kw_only=True):
    """An object whose presence alone counts."""


class GangPolicy(Wire, frozen=True, kw_only=True):
    """All or nothing."""

    min_count: int = 0
    """Pods that must be scheduled together."""


class SchedulingPolicy(Wire, frozen=True, kw_only=True):
    """How the pods of a group are scheduled; exactly one field is set."""

    basic: NoFields | None = None
    """Each pod for itself."""
    gang: GangPolicy | None = None


class TopologyConstraint(Wire, frozen=True, kw_only=True):
    """All pods of the group run on nodes with one value of a label."""

    key: str = ""


class SchedulingConstraints(Wire, frozen=True, kw_only=True):
    """Constraints of a group; Kubernetes permits one topology."""

    topology: tuple[TopologyConstraint, ...] = ()


class DisruptionChoice(Wire, frozen=True, kw_only=True):
    """Disruption mode since v1alpha3; exactly one field is set."""

    single: NoFields | None = None
    all: NoFields | None = None


class WorkloadReference(Wire, frozen=True, kw_only=True):
    """The template from which a group was created."""

    workload_name: str = ""
    template_name: str = ""
    """Its name since v1alpha3."""
    pod_group_template_name: str = ""
    """Its name in v1alpha2."""

    @property
    def template(self) -> str:
        """Name of the template, in any version."""
        return self.template_name or self.pod_group_template_name


class TemplateReference(Wire, frozen=True, kw_only=True):
    """The reference in v1alpha2, `spec.podGroupTemplateRef`."""

    workload: WorkloadReference | None = None


class NativePodGroupSpec(Wire, frozen=True, kw_only=True):
    """What a group requires."""

    parent_composite_pod_group_name: str = ""
    workload_ref: WorkloadReference | None = None
    pod_group_template_ref: TemplateReference | None = None
    scheduling_policy: SchedulingPolicy = SchedulingPolicy()
    scheduling_constraints: SchedulingConstraints | None = None
    disruption_mode: str | DisruptionChoice | None = None
    priority_class_name: str = ""
    priority: int | None = None
    preemption_policy: str = ""

    @property
    def reference(self) -> WorkloadReference | None:
        """The template from which the group was created, in any version."""
        if self.workload_ref is not None or self.pod_group_template_ref is None:
            return self.workload_ref
        return self.pod_group_template_ref.workload


class NativeCondition(Wire, frozen=True, kw_only=True):
    """A condition of a group."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    observed_generation: int = 0
    last_transition_time: str = ""


class NativePodGroupStatus(Wire, frozen=True, kw_only=True):
    """Status of a group; the scheduler writes its conditions."""

    conditions: tuple[NativeCondition, ...] = ()


class NativePodGroup(Wire, frozen=True, kw_only=True):
    """Pods that are scheduled together; pods name it in `spec.schedulingGroup`."""

    api_version: str = ""
    """`scheduling.k8s.io/v1alpha2` and so on; lists leave it out, and the reflector adds it."""
    metadata: ObjectMeta
    spec: NativePodGroupSpec = NativePodGroupSpec()
    status: NativePodGroupStatus = NativePodGroupStatus()


class GroupTemplate(Wire, frozen=True, kw_only=True):
    """Template of groups. Controllers copy its fields into the groups, which alone count."""

    name: str = ""


class WorkloadSpec(Wire, frozen=True, kw_only=True):
    """Templates of groups, or of groups of groups."""

    pod_group_templates: tuple[GroupTemplate, ...] = ()
    composite_pod_group_templates: tuple[GroupTemplate, ...] = ()
    """Their inner templates are not read."""


class Workload(Wire, frozen=True, kw_only=True):
    """Templates from which controllers create PodGroups."""

    api_version: str = ""
    metadata: ObjectMeta
    spec: WorkloadSpec = WorkloadSpec()
