"""Event handlers: apply the watch events of each kind to the cluster state."""

import asyncio
from collections.abc import Callable
from typing import Any, Final

from pyroclast.cache.files.objects import KINDS
from pyroclast.cache.state import ClusterState
from pyroclast.cache.sync.wake_triggers import OnTrigger, trigger_of, waiting_namespace
from pyroclast.kube.api import resources
from pyroclast.kube.api.resources import Resource
from pyroclast.model import wire

__all__ = ["WATCHED_KINDS", "EventHandlers", "PendingPodHandler"]

WATCHED_KINDS: Final[tuple[Resource[Any], ...]] = tuple(each for each in resources.ALL if each.name in KINDS)
"""Every kind that the cluster state stores. Kinds that the API server does not know count as empty."""


class EventHandlers:
    """Applies the changes of one kind to the cluster state."""

    def __init__(
        self, kind: str, state: ClusterState, on_trigger: OnTrigger = lambda _trigger, _namespace: None
    ) -> None:
        """Apply objects of `kind` to `state`.

        `on_trigger` receives the trigger of changes that need a cycle soon, with `waiting_namespace`.
        """
        self._kind = kind
        self._state = state
        self._on_trigger = on_trigger

    def added(self, new: Any) -> None:
        """Apply a new object."""
        self._change(None, new)

    def updated(self, old: Any, new: Any) -> None:
        """Apply a changed object."""
        self._change(old, new)

    def deleted(self, old: Any) -> None:
        """Remove a deleted object."""
        self._change(old, None)

    def _change(self, old: Any, new: Any) -> None:
        before = self._state.generation
        if new is None:
            self._state.remove(self._kind, old)
        else:
            self._state.apply(self._kind, new)
        if self._state.generation == before:
            return  # an object of another scheduler, or a heartbeat
        trigger = trigger_of(self._kind, old, new, self._state)
        if trigger is not None:
            self._on_trigger(trigger, waiting_namespace(self._kind, old, new))


class PendingPodHandler:
    """Reports new pods without a node. Pods of the first list are not new."""

    def __init__(self, synced: asyncio.Event, on_waiting_pod: Callable[[wire.Pod], None]) -> None:
        """Report pods to `on_waiting_pod` once `synced` is set."""
        self._synced = synced
        self._on_waiting_pod = on_waiting_pod

    def added(self, new: wire.Pod) -> None:
        """Report a new pod without a node."""
        if self._synced.is_set() and not new.spec.node_name:
            self._on_waiting_pod(new)

    def updated(self, old: wire.Pod, new: wire.Pod) -> None:
        """Ignore a changed pod: it was reported when it was new."""

    def deleted(self, old: wire.Pod) -> None:
        """Ignore a deleted pod."""
