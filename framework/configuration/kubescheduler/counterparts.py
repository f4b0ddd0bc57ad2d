"""Counterparts of the plugins and arguments of a KubeSchedulerConfiguration, and why others have none."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pyroclast.model.sealed import SealedDict

__all__ = [
    "ALWAYS_FILTERED",
    "ARGUMENTS_WITHOUT_EFFECT",
    "BUILT_IN",
    "COUNTERPARTS",
    "FILTER_FLAGS",
    "LEADER_ELECTION",
    "PROFILE_KEYS_WITHOUT_EFFECT",
    "SCORE_WEIGHTS",
    "TOP_KEYS_WITHOUT_EFFECT",
    "WITHOUT_COUNTERPART",
    "Counterpart",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counterpart:
    """A plugin of ours that does what a plugin of Koordinator does, with arguments of the same names."""

    plugin: str
    weight: str = ""
    """Its argument for the weight of the score; empty if it has none."""
    arguments: Mapping[str, Any] = field(default_factory=SealedDict)
    """Arguments that make its defaults those of Koordinator."""


COUNTERPARTS: Final[Mapping[str, Counterpart]] = {
    "Coscheduling": Counterpart(plugin="coscheduling", weight="networkTopologySelector.weight"),
    "ElasticQuota": Counterpart(
        plugin="elastic-quota", arguments={"monitorAllQuotas": False, "enableCheckParentQuota": False}
    ),
    "LoadAwareScheduling": Counterpart(plugin="load-aware", weight="weight"),
    "NodeNUMAResource": Counterpart(plugin="nodenuma", weight="weight"),
    "DeviceShare": Counterpart(
        plugin="deviceshare",
        weight="deviceshare.ScheduleWeight",
        arguments={"deviceshare.KoordinatorEnable": True},
    ),
    "Reservation": Counterpart(plugin="reservation", weight="reservation.weight"),
}
"""Counterparts of Koordinator's plugins."""

ARGUMENTS_WITHOUT_EFFECT: Final[Mapping[str, Mapping[str, str]]] = {
    "Coscheduling": {
        "controllerWorkers": "the controllers write the status of gangs",
        "skipCheckScheduleCycle": "there are no schedule cycles of gangs",
    },
    "ElasticQuota": {
        "quotaGroupNamespace": "set --quota-group-namespace of `pyroclast controllers`",
        "revokePodInterval": "quotas are checked in each cycle",
        "enableQueueHint": "jobs are tried again when something changes for them",
        "quotaSnapshotUpdateInterval": "jobs are tried again when something changes for them",
    },
    "LoadAwareScheduling": {"estimator": "there is one estimator, Koordinator's default"},
    "DeviceShare": {"allocator": "Koordinator ignores it, too"},
    "NodeResourcesFit": {
        "ignoredResources": "all requested resources are checked",
        "ignoredResourceGroups": "all requested resources are checked",
    },
    "NodeAffinity": {"addedAffinity": "only the affinity of the pod applies"},
    "PodTopologySpread": {
        "defaultConstraints": "only the constraints of the pod apply",
        "defaultingType": "only the constraints of the pod apply",
    },
    "InterPodAffinity": {
        "hardPodAffinityWeight": "its weight is 1",
        "ignorePreferredTermsOfExistingPods": "preferred terms of other pods count",
    },
    "NodeResourcesBalancedAllocation": {"resources": "cpu, memory and nvidia.com/gpu count"},
    "DynamicResources": {"filterTimeout": "resource claims are not allocated", "bindingTimeout": "likewise"},
    "DefaultPreemption": {
        "minCandidateNodesPercentage": "all nodes are compared",
        "minCandidateNodesAbsolute": "all nodes are compared",
    },
}
"""Reasons, by plugin and argument."""

BUILT_IN: Final = frozenset(
    {
        "SchedulingGates",
        "PrioritySort",
        "NodeUnschedulable",
        "NodeName",
        "DefaultPreemption",
        "DefaultBinder",
        "DefaultPreBind",
        "GangScheduling",
    }
)
"""Plugins that the scheduler does itself, or by one of its actions."""

WITHOUT_COUNTERPART: Final[Mapping[str, str]] = {
    "SchedulingHint": "hints of nodes are not read, and all nodes are tried",
    "EBSLimits": "only limits of CSI drivers are checked",
    "GCEPDLimits": "only limits of CSI drivers are checked",
    "AzureDiskLimits": "only limits of CSI drivers are checked",
    "CinderLimits": "only limits of CSI drivers are checked",
}
"""Known plugins that are not here, with the reason."""

ALWAYS_FILTERED: Final = ("NodeUnschedulable", "NodeName", "NodeResourcesFit")
"""Filters that cannot be disabled."""

FILTER_FLAGS: Final[Mapping[str, str]] = {
    "TaintToleration": "predicate.TaintTolerationEnable",
    "NodeAffinity": "predicate.NodeAffinityEnable",
    "NodePorts": "predicate.NodePortsEnable",
    "VolumeRestrictions": "predicate.VolumeRestrictionsEnable",
    "NodeVolumeLimits": "predicate.NodeVolumeLimitsEnable",
    "VolumeBinding": "predicate.VolumeBindingEnable",
    "VolumeZone": "predicate.VolumeZoneEnable",
    "PodTopologySpread": "predicate.PodTopologySpreadEnable",
    "InterPodAffinity": "predicate.PodAffinityEnable",
    "DynamicResources": "predicate.DynamicResourceAllocationEnable",
}
"""Arguments of predicates by filter."""

SCORE_WEIGHTS: Final[Mapping[str, str]] = {
    "TaintToleration": "tainttoleration.weight",
    "NodeAffinity": "nodeaffinity.weight",
    "PodTopologySpread": "podtopologyspread.weight",
    "InterPodAffinity": "podaffinity.weight",
    "NodeResourcesBalancedAllocation": "balancedresource.weight",
    "ImageLocality": "imagelocality.weight",
}
"""Arguments of nodeorder by score."""

LEADER_ELECTION: Final[Mapping[str, str]] = {
    "leaderElect": "--leader-elect",
    "leaseDuration": "--leader-elect-lease-duration",
    "renewDeadline": "--leader-elect-renew-deadline",
    "retryPeriod": "--leader-elect-retry-period",
    "resourceLock": "--leader-elect-resource-lock",
    "resourceName": "--leader-elect-resource-name",
    "resourceNamespace": "--leader-elect-resource-namespace",
}
"""Flags by key of `leaderElection`."""

TOP_KEYS_WITHOUT_EFFECT: Final[Mapping[str, str]] = {
    "clientConnection": "the connection is set by --kubeconfig and --master, and has no limit of requests",
    "parallelism": "one thread decides about all nodes at once",
    "percentageOfNodesToScore": "all nodes are filtered and scored",
    "podInitialBackoffSeconds": "jobs are tried again in the cycle after something changes for them",
    "podMaxBackoffSeconds": "jobs are tried again in the cycle after something changes for them",
    "enableProfiling": "set --enable-pprof",
    "enableContentionProfiling": "there is no such profile",
    "delayCacheUntilActive": "standbys always watch",
    "extenders": "the plugin extender speaks another protocol; see docs/plugins/extender.md",
    "healthzBindAddress": "set --healthz-address",
    "metricsBindAddress": "set --listen-address",
}
"""Reasons by key at the top of the file."""

PROFILE_KEYS_WITHOUT_EFFECT: Final[Mapping[str, str]] = {
    "percentageOfNodesToScore": TOP_KEYS_WITHOUT_EFFECT["percentageOfNodesToScore"],
}
"""Reasons by key of a profile."""
