"""On-demand kinds: the kinds that a configuration requires, and the informers for them."""

import asyncio
from typing import Final, NamedTuple

from pyroclast.cache.cache import SchedulerCache
from pyroclast.cache.sync.background import Background
from pyroclast.cache.sync.on_demand_informer import EVERY_OBJECT, RequiredObjects
from pyroclast.framework.configuration import Configuration
from pyroclast.kube.resources import CONFIG_MAPS, NODE_METRICS, NODE_RESOURCE_TOPOLOGIES, RESERVATIONS
from pyroclast.plugins import load_aware, nodenuma, reservation
from pyroclast.plugins.deviceshare import DeviceShareArgs, map_of

__all__ = ["OnDemandKinds", "OnDemandWatches", "required_kinds"]

_PATIENCE_SECONDS: Final = 10.0
"""Maximum wait for newly required kinds. After it, default device settings apply, and node load and CPUs of
nodes are unknown."""


class OnDemandKinds(NamedTuple):
    """Objects to watch on demand; None for no object of a kind."""

    device_map: RequiredObjects | None = None
    """The ConfigMap with device settings."""
    node_metrics: RequiredObjects | None = None
    node_topologies: RequiredObjects | None = None
    reservations: RequiredObjects | None = None


def required_kinds(configuration: Configuration, cards: DeviceShareArgs | None) -> OnDemandKinds:
    """Return the objects that the profiles of a configuration with these device arguments require."""
    named = map_of(cards)
    return OnDemandKinds(
        device_map=None if named is None else RequiredObjects(*named),
        node_metrics=EVERY_OBJECT if any(map(load_aware.is_asked_for, configuration.profiles)) else None,
        node_topologies=EVERY_OBJECT if any(map(nodenuma.is_asked_for, configuration.profiles)) else None,
        reservations=EVERY_OBJECT if any(map(reservation.is_asked_for, configuration.profiles)) else None,
    )


class OnDemandWatches:
    """Watches the required objects. All calls happen on the loop's thread."""

    def __init__(self, cache: SchedulerCache) -> None:
        """Prepare the watches."""
        self._device_map = cache.on_demand_informer(CONFIG_MAPS)
        self._node_metrics = cache.on_demand_informer(NODE_METRICS)
        self._node_topologies = cache.on_demand_informer(NODE_RESOURCE_TOPOLOGIES)
        self._reservations = cache.on_demand_informer(RESERVATIONS)

    def start(self, background: Background) -> None:
        """Start the background watches."""
        background.keep("follow-device-map", self._device_map.run)
        background.keep("follow-node-metrics", self._node_metrics.run)
        background.keep("follow-node-topologies", self._node_topologies.run)
        background.keep("follow-reservations", self._reservations.run)

    def follow(self, required: OnDemandKinds) -> None:
        """Watch these objects from now on."""
        self._device_map.require(required.device_map)
        self._node_metrics.require(required.node_metrics)
        self._node_topologies.require(required.node_topologies)
        self._reservations.require(required.reservations)

    async def wait(self) -> None:
        """Wait until the required objects are in the cluster state, or the timeout expires."""
        informers = (self._device_map, self._node_metrics, self._node_topologies, self._reservations)
        await asyncio.gather(*(each.wait(_PATIENCE_SECONDS) for each in informers))
