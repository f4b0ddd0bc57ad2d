"""Plugins of the plain scheduler, each in a file of its own, by name."""

from collections.abc import Callable, Mapping
from typing import Any

from tests.differential.cluster import Cluster
from tests.differential.policies.ascend_chips import AscendChips
from tests.differential.policies.cdp import Cdp
from tests.differential.policies.coscheduling import Coscheduling
from tests.differential.policies.deviceshare import DeviceShare
from tests.differential.policies.elastic_quota import ElasticQuota
from tests.differential.policies.extender import Extender
from tests.differential.policies.koordinator_devices import KoordinatorDevices
from tests.differential.policies.load_aware import LoadAware
from tests.differential.policies.network_topology_aware import NetworkTopologyAware
from tests.differential.policies.nodegroup import NodeGroup
from tests.differential.policies.nodenuma import NodeNuma
from tests.differential.policies.numa_aware import NumaAware
from tests.differential.policies.pdb import Pdb
from tests.differential.policies.rescheduling import Rescheduling
from tests.differential.policies.resource_strategy_fit import ResourceStrategyFit
from tests.differential.policies.resourcequota import ResourceQuota
from tests.differential.policies.task_topology import TaskTopology
from tests.differential.policies.tdm import Tdm
from tests.differential.policies.usage import Usage
from tests.differential.policy import Policy


def deviceshare(cluster: Cluster, now: float, arguments: Mapping[str, Any], last: float | None = None) -> Policy:
    """Cards of the family that is switched on."""
    kind = DeviceShare
    if arguments.get("deviceshare.KoordinatorEnable"):
        kind = KoordinatorDevices
    elif arguments.get("deviceshare.AscendHAMiVNPUEnable"):
        kind = AscendChips
    return kind(cluster, now, arguments, last)


POLICIES: dict[str, Callable[..., Policy]] = {
    each.name: each
    for each in (
        Cdp,
        Coscheduling,
        ElasticQuota,
        Extender,
        LoadAware,
        NetworkTopologyAware,
        NodeGroup,
        NodeNuma,
        NumaAware,
        Pdb,
        Rescheduling,
        ResourceQuota,
        ResourceStrategyFit,
        TaskTopology,
        Tdm,
        Usage,
    )
} | {DeviceShare.name: deviceshare}
