"""Feature gates. A new feature starts behind an alpha gate (off), then a beta gate (on); then the gate is removed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from pyroclast.framework.configuration.suggest import did_you_mean
from pyroclast.scheduler.cli.flags import parse_boolean

__all__ = ["GATES", "KUBERNETES_GATES", "Features", "Gate", "Stage", "read_gates"]


class Stage(StrEnum):
    """Maturity of a feature, which decides its default."""

    ALPHA = "ALPHA"
    BETA = "BETA"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """One feature that can be switched."""

    stage: Stage
    about: str

    @property
    def default(self) -> bool:
        """Alpha gates are off by default, beta gates are on."""
        return self.stage is Stage.BETA


GATES: Final[Mapping[str, Gate]] = {
    "WorkLoadSupport": Gate(stage=Stage.BETA, about="watch ReplicationControllers, ReplicaSets and StatefulSets"),
    "VolcanoJobSupport": Gate(stage=Stage.BETA, about="reconcile Jobs of batch.volcano.sh (controllers)"),
    "PodDisruptionBudgetsSupport": Gate(stage=Stage.BETA, about="watch PodDisruptionBudgets"),
    "QueueCommandSync": Gate(stage=Stage.BETA, about="execute Commands on queues (controllers)"),
    "PriorityClass": Gate(stage=Stage.BETA, about="watch PriorityClasses"),
    "GenericWorkload": Gate(
        stage=Stage.BETA,
        about="watch PodGroups and Workloads of scheduling.k8s.io, and schedule pods that name a PodGroup as a gang",
    ),
    "CSIStorage": Gate(stage=Stage.ALPHA, about="without effect; --csi-storage decides"),
    "ResourceTopology": Gate(stage=Stage.BETA, about="watch Numatopologies"),
    "CronVolcanoJobSupport": Gate(stage=Stage.BETA, about="reconcile CronJobs of batch.volcano.sh (controllers)"),
    "ElasticQuotaGuaranteeUsage": Gate(
        stage=Stage.ALPHA, about="guarantees of elastic quotas, use included, must be covered above them (admission)"
    ),
    "EnableQuotaAdmission": Gate(
        stage=Stage.ALPHA, about="count new pods in their elastic quotas, and refuse those beyond them (admission)"
    ),
    "ResizePod": Gate(stage=Stage.ALPHA, about="count pods as what plugins resize them to"),
    "SchedulingGatesQueueAdmission": Gate(
        stage=Stage.ALPHA,
        about="remove the gate scheduling.volcano.sh/queue-allocation-gate from pods whose queue has capacity",
    ),
}
"""Gates of the scheduler and its controllers."""

KUBERNETES_GATES: Final = frozenset(
    {
        "DynamicResourceAllocation",
        "DRAAdminAccess",
        "DRADeviceTaints",
        "DRAExtendedResource",
        "DRAPartitionableDevices",
        "DRAPrioritizedList",
        "DRAConsumableCapacity",
        "GangScheduling",
        "InPlacePodVerticalScaling",
        "MatchLabelKeysInPodAffinity",
        "MatchLabelKeysInPodTopologySpread",
        "NodeInclusionPolicyInPodTopologySpread",
        "PodLevelResources",
        "PodSchedulingReadiness",
        "SchedulerAsyncPreemption",
        "SchedulerQueueingHints",
        "SidecarContainers",
        "StorageCapacityScoring",
        "TopologyAwareWorkloadScheduling",
        "VolumeCapacityPriority",
        "WorkloadAwarePreemption",
    }
)
"""Gates of Kubernetes that its scheduler reads. They are accepted: the API server decides about these features."""

_ALL: Final = {"AllAlpha": Stage.ALPHA, "AllBeta": Stage.BETA}


@dataclass(frozen=True, slots=True)
class Features:
    """The enabled features."""

    switched: Mapping[str, bool]
    """Gates that were named or differ from their default; use `enabled` for the whole answer."""

    def enabled(self, name: str) -> bool:
        """Return whether a feature is enabled; `name` must be one of `GATES`."""
        return self.switched.get(name, GATES[name].default)


def read_gates(entries: Iterable[str]) -> tuple[Features, list[str], list[str]]:
    """Parse `Name=true` entries.

    Returns:
        The features, warnings (gates without effect), and faults.
    """
    named: dict[str, bool] = {}
    stages: dict[Stage, bool] = {}
    warnings, faults = [], []
    for entry in entries:
        name, equals, text = entry.strip().partition("=")
        try:
            value = parse_boolean(text.strip()) if equals else True
        except ValueError as fault:
            faults.append(f"--feature-gates: {name}: got {text!r}, expected {fault}")
            continue
        if name in _ALL:
            stages[_ALL[name]] = value
        elif name in GATES:
            named[name] = value
        elif name in KUBERNETES_GATES:
            warnings.append(f"--feature-gates: {name}: a gate of Kubernetes; without effect, the API server decides")
        else:
            faults.append(
                f"--feature-gates: {name}: unknown gate{did_you_mean(name, [*GATES, *KUBERNETES_GATES, *_ALL])}"
            )
    # A named gate outranks AllAlpha and AllBeta, in any order of the entries.
    by_stage = {name: stages[gate.stage] for name, gate in GATES.items() if gate.stage in stages}
    return Features({**by_stage, **named}), warnings, faults
