"""On-demand kinds: the kinds that a configuration requires, and the informers for them."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final

from pyroclast.cache.cache import SchedulerCache
from pyroclast.cache.sync.background import Background
from pyroclast.cache.sync.on_demand_informer import EVERY_OBJECT, RequiredObjects
from pyroclast.framework.configuration import Configuration, Profile
from pyroclast.kube.api.resources import (
    CLUSTER_NETWORK_TOPOLOGIES,
    CONFIG_MAPS,
    NODE_METRICS,
    NODE_RESOURCE_TOPOLOGIES,
    RESERVATIONS,
    Resource,
)
from pyroclast.plugins import load_aware, nodenuma, reservation
from pyroclast.plugins.coscheduling import gang_rules
from pyroclast.plugins.deviceshare import DeviceShareArgs, map_of

__all__ = ["OnDemandKinds", "OnDemandWatches", "required_kinds"]

_PATIENCE_SECONDS: Final = 10.0
"""Maximum wait for newly required kinds. After it, default device settings apply, and node load, CPUs of nodes and
layers of the network are unknown."""

OnDemandKinds = Mapping[str, RequiredObjects]
"""Objects to watch on demand, by their kind."""


def _gathers(profile: Profile) -> bool:
    """Return whether a profile gathers gangs by network topology."""
    rules = gang_rules(profile)
    return rules is not None and rules.gathers


_WHOLE_KINDS: Final[tuple[tuple[Resource[Any], Callable[[Profile], bool]], ...]] = (
    (NODE_METRICS, load_aware.is_asked_for),
    (NODE_RESOURCE_TOPOLOGIES, nodenuma.is_asked_for),
    (RESERVATIONS, reservation.is_asked_for),
    (CLUSTER_NETWORK_TOPOLOGIES, _gathers),
)
"""Kinds of which all objects are watched, and whether a profile needs them. A single ConfigMap is watched, by name."""


def required_kinds(configuration: Configuration, cards: DeviceShareArgs | None) -> OnDemandKinds:
    """Return the objects that the profiles of a configuration with these device arguments require."""
    required = {kind.name: EVERY_OBJECT for kind, needs in _WHOLE_KINDS if any(map(needs, configuration.profiles))}
    named = map_of(cards)
    return required if named is None else {CONFIG_MAPS.name: RequiredObjects(*named), **required}


class OnDemandWatches:
    """Watches the required objects. All calls happen on the loop's thread."""

    def __init__(self, cache: SchedulerCache) -> None:
        """Prepare the watches."""
        kinds = (CONFIG_MAPS, *(kind for kind, _ in _WHOLE_KINDS))
        self._informers = {kind.name: cache.on_demand_informer(kind) for kind in kinds}

    def start(self, background: Background) -> None:
        """Start the background watches."""
        for name, informer in self._informers.items():
            background.keep(f"follow-{name}", informer.run)

    def follow(self, required: OnDemandKinds) -> None:
        """Watch these objects from now on."""
        for name, informer in self._informers.items():
            informer.require(required.get(name))

    async def wait(self) -> None:
        """Wait until the required objects are in the cluster state, or the timeout expires."""
        await asyncio.gather(*(each.wait(_PATIENCE_SECONDS) for each in self._informers.values()))
