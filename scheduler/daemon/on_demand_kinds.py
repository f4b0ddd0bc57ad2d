"""On-demand kinds: the kinds that a configuration requires, and the informers for them."""

import asyncio
from typing import Final, NamedTuple

from pyroclast.cache.cache import SchedulerCache
from pyroclast.cache.sync.background import Background
from pyroclast.cache.sync.on_demand_informer import EVERY_OBJECT, RequiredObjects
from pyroclast.framework.configuration import Profile
from pyroclast.kube.resources import CONFIG_MAPS, NODE_METRICS
from pyroclast.plugins.deviceshare import DeviceShareArgs, map_of
from pyroclast.plugins.load_aware import is_asked_for

__all__ = ["WantedKinds", "Wants", "wants_of"]

_PATIENCE_SECONDS: Final = 10.0
"""How long what is newly wanted is waited for; then cards are read by the defaults, and loads are not known."""


class Wants(NamedTuple):
    """What is to be followed; None for nothing of a kind."""

    device_map: RequiredObjects | None = None
    """The ConfigMap about devices."""
    node_metrics: RequiredObjects | None = None


def wants_of(profile: Profile, cards: DeviceShareArgs | None) -> Wants:
    """Return what a configuration asks for that wants cards to be shared so."""
    named = map_of(cards)
    return Wants(
        device_map=None if named is None else RequiredObjects(*named),
        node_metrics=EVERY_OBJECT if is_asked_for(profile) else None,
    )


class WantedKinds:
    """Follows what is wanted; everything happens on the loop's thread."""

    def __init__(self, cache: SchedulerCache) -> None:
        """Prepare to follow."""
        self._device_map = cache.on_demand_informer(CONFIG_MAPS)
        self._node_metrics = cache.on_demand_informer(NODE_METRICS)

    def start(self, background: Background) -> None:
        """Begin to follow what will be wanted."""
        background.keep("follow-device-map", self._device_map.run)
        background.keep("follow-node-metrics", self._node_metrics.run)

    def follow(self, wants: Wants) -> None:
        """Follow these from now on."""
        self._device_map.require(wants.device_map)
        self._node_metrics.require(wants.node_metrics)

    async def wait(self) -> None:
        """Wait until what is wanted is in the books, or the patience ends."""
        await asyncio.gather(*(each.wait(_PATIENCE_SECONDS) for each in (self._device_map, self._node_metrics)))
