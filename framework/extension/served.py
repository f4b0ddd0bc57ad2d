"""Served points: which extension points each configured plugin serves, and which of them no flag switches off.

A plugin that is not here, one from outside for example, may serve any point.
"""

from collections.abc import Mapping
from typing import Final

from pyroclast.framework.configuration import PluginOption

__all__ = ["ALWAYS_ASKED", "EVICTABLE", "HIERARCHICAL", "NAMES_NO_VICTIMS", "SERVED", "can_serve", "serves"]

SERVED: Final[Mapping[str, frozenset[str]]] = {
    plugin: frozenset(flags.split())
    for plugin, flags in {
        "binpack": "enableNodeOrder",
        "capacity": "enableReclaimable enablePreemptive enabledAllocatable enableJobEnqueued enablePredicate "
        "enableQueueOrder enablePreemptable",
        "cdp": "enablePreemptable enableReclaimable",
        "conformance": "enablePreemptable enableReclaimable",
        "coscheduling": "enableTaskOrder enableNodeOrder",
        "deviceshare": "enablePredicate enableNodeOrder",
        "drf": "enablePreemptable enableJobOrder enableQueueOrder enableReclaimable",
        "elastic-quota": "enabledAllocatable enableJobEnqueued enablePreemptable enableReclaimable enabledVictim",
        "extender": "enablePredicate enableNodeOrder enablePreemptable enableReclaimable enabledOverused "
        "enableJobEnqueued enableJobReady enabledVictim",
        "gang": "enablePreemptable enableReclaimable enableJobOrder enabledSubJobOrder enableJobReady "
        "enabledSubJobReady enableJobPipelined enabledSubJobPipelined enableJobStarving",
        "load-aware": "enablePredicate enableNodeOrder",
        "network-topology-aware": "enableNodeOrder enabledHyperNodeOrder enabledHyperNodeGradient",
        "nodegroup": "enableNodeOrder enablePredicate",
        "nodenuma": "enablePredicate enableNodeOrder",
        "nodeorder": "enableNodeOrder",
        "numa-aware": "enableNodeOrder enablePredicate",
        "overcommit": "enableJobEnqueued",
        "pdb": "enabledVictim enableReclaimable enablePreemptable",
        "predicates": "enablePredicate enableNodeOrder enablePreemptable enabledAllocatable",
        "priority": "enableTaskOrder enableJobOrder enabledSubJobOrder enablePreemptable enableJobStarving",
        "proportion": "enableQueueOrder enableReclaimable enabledOverused enabledAllocatable enablePreemptive "
        "enablePredicate enableJobEnqueued enablePreemptable",
        "rescheduling": "enabledVictim",
        "reservation": "enablePredicate enableNodeOrder",
        "resource-strategy-fit": "enableNodeOrder enablePredicate",
        "resourcequota": "enableJobEnqueued",
        "sla": "enableJobOrder enableJobEnqueued enableJobPipelined",
        "tdm": "enablePredicate enableNodeOrder enablePreemptable enabledVictim enableJobOrder enableJobPipelined "
        "enableJobStarving",
        "task-topology": "enableNodeOrder enableTaskOrder",
        "usage": "enablePredicate enableNodeOrder",
    }.items()
}
"""Flags that gate a point the plugin serves; `enablePreemptable` also stands for the simulation of evictions."""

ALWAYS_ASKED: Final = frozenset(
    {
        "capacity",
        "cdp",
        "conformance",
        "coscheduling",
        "deviceshare",
        "elastic-quota",
        "extender",
        "gang",
        "nodenuma",
        "pdb",
        "priority",
        "proportion",
        "reservation",
    }
)
"""Plugins that serve a point without a flag as well."""

EVICTABLE: Final = frozenset({"capacity", "cdp", "conformance", "elastic-quota", "gang", "pdb", "priority"})
"""Plugins that choose victims for gangpreempt and gangreclaim."""

HIERARCHICAL: Final = frozenset({"capacity", "drf", "nodegroup"})
"""Plugins that heed `enableHierarchy`."""

NAMES_NO_VICTIMS: Final = frozenset({"capacity", "predicates", "proportion"})
"""Plugins that `enablePreemptable` lets take part in the simulation of evictions alone."""


def can_serve(plugin: str, flag: str) -> bool:
    """Return whether a plugin has an answer of its own at the points that a flag gates."""
    if flag == "enablePreemptable" and plugin in NAMES_NO_VICTIMS:
        return False
    return flag in SERVED.get(plugin, {flag})


def serves(option: PluginOption, flag: str) -> bool:
    """Return whether a plugin answers, as configured, at the points that a flag gates."""
    if not option.enabled(flag) or not can_serve(option.plugin, flag):
        return False
    only_in_trees = option.plugin == "drf" and flag in {"enableQueueOrder", "enableReclaimable"}
    return option.hierarchy or not only_in_trees
