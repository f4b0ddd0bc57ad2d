"""Feature gates: new behaviour waits behind an alpha gate (off), then a beta gate (on), then the gate goes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from pyroclast.framework.configuration.suggest import did_you_mean
from pyroclast.scheduler.cli.flags import parse_boolean

__all__ = ["GATES", "KUBERNETES_GATES", "Features", "Gate", "Stage", "read_gates"]


class Stage(StrEnum):
    """How far a feature has come, which decides its default."""

    ALPHA = "ALPHA"
    BETA = "BETA"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """One feature that can be switched."""

    stage: Stage
    about: str

    @property
    def default(self) -> bool:
        """Alpha is off, beta is on."""
        return self.stage is Stage.BETA


GATES: Final[Mapping[str, Gate]] = {
    "WorkLoadSupport": Gate(stage=Stage.BETA, about="follow replication controllers, replica sets and stateful sets"),
    "VolcanoJobSupport": Gate(stage=Stage.BETA, about="serve Jobs of batch.volcano.sh (controllers)"),
    "PodDisruptionBudgetsSupport": Gate(stage=Stage.BETA, about="follow pod disruption budgets"),
    "QueueCommandSync": Gate(stage=Stage.BETA, about="obey Commands on queues (controllers)"),
    "PriorityClass": Gate(stage=Stage.BETA, about="follow priority classes"),
    "CSIStorage": Gate(stage=Stage.ALPHA, about="without effect; --csi-storage decides"),
    "ResourceTopology": Gate(stage=Stage.BETA, about="follow Numatopologies"),
    "CronVolcanoJobSupport": Gate(stage=Stage.BETA, about="serve CronJobs of batch.volcano.sh (controllers)"),
    "SchedulingGatesQueueAdmission": Gate(
        stage=Stage.ALPHA,
        about="take the gate scheduling.volcano.sh/queue-allocation-gate off pods that their queue has room for",
    ),
}
"""Gates that belong to the scheduler and its controllers."""

KUBERNETES_GATES: Final = frozenset(
    {
        "DynamicResourceAllocation",
        "DRAAdminAccess",
        "DRADeviceTaints",
        "DRAExtendedResource",
        "DRAPartitionableDevices",
        "DRAPrioritizedList",
        "DRAConsumableCapacity",
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
        "VolumeCapacityPriority",
    }
)
"""Gates of Kubernetes that its scheduler reads; accepted, because what the API server sends is followed anyway."""

_ALL: Final = {"AllAlpha": Stage.ALPHA, "AllBeta": Stage.BETA}


@dataclass(frozen=True, slots=True)
class Features:
    """Which features are on."""

    switched: Mapping[str, bool]
    """Gates that differ from their default, or were named; complete by `enabled`."""

    def enabled(self, name: str) -> bool:
        """Tell whether a feature is on; `name` must be one of `GATES`."""
        return self.switched.get(name, GATES[name].default)


def read_gates(entries: Iterable[str]) -> tuple[Features, list[str], list[str]]:
    """Read `Name=true` entries.

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
    # A gate that is named outranks its stage, wherever it stands.
    by_stage = {name: stages[gate.stage] for name, gate in GATES.items() if gate.stage in stages}
    return Features({**by_stage, **named}), warnings, faults
