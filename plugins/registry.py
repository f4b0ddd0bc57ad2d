"""The plugins that come with Pyroclast, by the names of the configuration file."""

from typing import Any, Final

from framework.extension.registry import Registry
from plugins.binpack import Binpack
from plugins.capacity import Capacity
from plugins.cdp import Cdp
from plugins.conformance import Conformance
from plugins.coscheduling import Coscheduling
from plugins.deviceshare import DeviceShare
from plugins.drf import Drf
from plugins.elastic_quota import ElasticQuota
from plugins.extender import Extender
from plugins.gang import Gang
from plugins.load_aware import LoadAware
from plugins.network_topology_aware.plugin import NetworkTopologyAware
from plugins.nodegroup import NodeGroup
from plugins.nodeorder import NodeOrder
from plugins.numa_aware.plugin import NumaAware
from plugins.overcommit import Overcommit
from plugins.pdb import Pdb
from plugins.predicates.plugin import Predicates
from plugins.priority import Priority
from plugins.proportion import Proportion
from plugins.rescheduling.plugin import Rescheduling
from plugins.resource_strategy_fit import ResourceStrategyFit
from plugins.resourcequota import ResourceQuota
from plugins.sla import Sla
from plugins.task_topology.plugin import TaskTopology
from plugins.tdm.plugin import Tdm
from plugins.usage import Usage

__all__ = ["BUILT_IN", "register_built_in"]

BUILT_IN: Final[tuple[type[Any], ...]] = (
    Binpack,
    Capacity,
    Cdp,
    Conformance,
    Coscheduling,
    DeviceShare,
    Drf,
    ElasticQuota,
    Extender,
    Gang,
    LoadAware,
    NetworkTopologyAware,
    NodeGroup,
    NodeOrder,
    NumaAware,
    Overcommit,
    Pdb,
    Predicates,
    Priority,
    Proportion,
    Rescheduling,
    ResourceQuota,
    ResourceStrategyFit,
    Sla,
    TaskTopology,
    Tdm,
    Usage,
)


def register_built_in(registry: Registry) -> None:
    """Make the built-in plugins known."""
    for plugin in BUILT_IN:
        registry.register_plugin(plugin.name, plugin)
