"""The built-in plugins, by their names in the configuration file."""

from typing import Any, Final

from pyroclast.framework.extension.registry import Registry
from pyroclast.plugins.binpack import Binpack
from pyroclast.plugins.capacity import Capacity
from pyroclast.plugins.cdp import Cdp
from pyroclast.plugins.conformance import Conformance
from pyroclast.plugins.coscheduling import Coscheduling
from pyroclast.plugins.deviceshare import DeviceShare
from pyroclast.plugins.drf import Drf
from pyroclast.plugins.elastic_quota import ElasticQuota
from pyroclast.plugins.extender import Extender
from pyroclast.plugins.gang import Gang
from pyroclast.plugins.load_aware import LoadAware
from pyroclast.plugins.network_topology_aware.plugin import NetworkTopologyAware
from pyroclast.plugins.nodegroup import NodeGroup
from pyroclast.plugins.nodenuma import NodeNuma
from pyroclast.plugins.nodeorder import NodeOrder
from pyroclast.plugins.numa_aware.plugin import NumaAware
from pyroclast.plugins.overcommit import Overcommit
from pyroclast.plugins.pdb import Pdb
from pyroclast.plugins.predicates.plugin import Predicates
from pyroclast.plugins.priority import Priority
from pyroclast.plugins.proportion import Proportion
from pyroclast.plugins.rescheduling.plugin import Rescheduling
from pyroclast.plugins.reservation import Reservations
from pyroclast.plugins.resource_strategy_fit import ResourceStrategyFit
from pyroclast.plugins.resourcequota import ResourceQuota
from pyroclast.plugins.sla import Sla
from pyroclast.plugins.task_topology.plugin import TaskTopology
from pyroclast.plugins.tdm.plugin import Tdm
from pyroclast.plugins.usage import Usage

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
    NodeNuma,
    NodeOrder,
    NumaAware,
    Overcommit,
    Pdb,
    Predicates,
    Priority,
    Proportion,
    Rescheduling,
    Reservations,
    ResourceQuota,
    ResourceStrategyFit,
    Sla,
    TaskTopology,
    Tdm,
    Usage,
)


def register_built_in(registry: Registry) -> None:
    """Register the built-in plugins."""
    for plugin in BUILT_IN:
        registry.register_plugin(plugin.name, plugin)
