"""Event handlers: apply the watch events of each kind to the cluster state."""

import asyncio
from collections.abc import Callable
from typing import Any, Final

from pyroclast.cache.files.objects import KINDS
from pyroclast.cache.state import ClusterState
from pyroclast.cache.sync.wake_triggers import Trigger, trigger_of
from pyroclast.kube import resources
from pyroclast.kube.resources import Resource
from pyroclast.model import wire

__all__ = ["FOLLOWED", "Arrivals", "EventHandlers"]

FOLLOWED: Final[tuple[Resource[Any], ...]] = tuple(each for each in resources.ALL if each.name in KINDS)
"""Every kind that the books take; those that a server lacks count as empty."""


class EventHandlers:
    """Passes the changes of one kind on to the books."""

    def __init__(self, kind: str, state: ClusterState, on_trigger: Callable[[Trigger], None] = lambda _: None) -> None:
        """Feed objects of `kind` to `state`; call `on_trigger` for changes that a cycle should not wait for."""
        self._kind = kind
        self._state = state
        self._on_trigger = on_trigger

    def added(self, new: Any) -> None:
        """Take over a new object."""
        self._change(None, new)

    def updated(self, old: Any, new: Any) -> None:
        """Take over a changed object."""
        self._change(old, new)

    def deleted(self, old: Any) -> None:
        """Forget an object."""
        self._change(old, None)

    def _change(self, old: Any, new: Any) -> None:
        before = self._state.generation
        if new is None:
            self._state.remove(self._kind, old)
        else:
            self._state.apply(self._kind, new)
        if self._state.generation == before:
            return  # not of this scheduler, or a heartbeat
        trigger = trigger_of(self._kind, old, new, self._state)
        if trigger is not None:
            self._on_trigger(trigger)


class Arrivals:
    """Tells of pods that arrive without a node; what was there at the start did not arrive just now."""

    def __init__(self, synced: asyncio.Event, tell: Callable[[wire.Pod], None]) -> None:
        """Tell once `synced` is set."""
        self._synced = synced
        self._tell = tell

    def added(self, new: wire.Pod) -> None:
        """Tell of a new pod that waits."""
        if self._synced.is_set() and not new.spec.node_name:
            self._tell(new)

    def updated(self, old: wire.Pod, new: wire.Pod) -> None:
        """Take no notice: it arrived before."""

    def deleted(self, old: wire.Pod) -> None:
        """Take no notice."""
