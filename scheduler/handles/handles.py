"""Handles: what the plugins of the configuration in force watch and control, for the daemon."""

from collections.abc import Callable
from typing import Final

import structlog

from pyroclast.cache.cache import SchedulerCache
from pyroclast.framework.extension.declarations import NOTHING_DECLARED, Declared
from pyroclast.kube.api.client import Client
from pyroclast.scheduler.handles.controllers import PluginControllers
from pyroclast.scheduler.handles.watches import PluginWatches
from pyroclast.scheduler.monitoring.metrics import Metrics

__all__ = ["PluginHandles"]

_PATIENCE_SECONDS: Final = 10.0
"""Maximum wait for newly declared kinds. After it, cycles see no objects of a kind until its first list is there."""

_log = structlog.get_logger(__name__)


class PluginHandles:
    """Watches and controllers of plugins. All methods run on the thread of one event loop."""

    def __init__(
        self,
        cache: SchedulerCache,
        client: Client,
        metrics: Metrics,
        *,
        is_leader: Callable[[], bool],
        warn: Callable[[str, str], None],
    ) -> None:
        """Start with nothing declared.

        Args:
            cache: Its state receives the objects.
            client: The client of the API server.
            metrics: Receives the numbers of objects and controllers.
            is_leader: Whether this process may change the cluster.
            warn: Records an event with a reason and a message.
        """
        self._metrics, self._warn = metrics, warn
        self._declared: Declared = NOTHING_DECLARED
        self._reported: dict[str, str] = {}
        """Last reported trouble by kind."""
        self._watches = PluginWatches(cache, self._note_change)
        self.controllers = PluginControllers(
            client,
            self._watches,
            is_leader=is_leader,
            on_failure=lambda _plugin, message: warn("PluginFailed", message),
        )

    async def follow(self, declared: Declared) -> None:
        """Watch and control what is declared, and wait until the objects of new kinds are there."""
        if declared is self._declared:
            return
        await self.controllers.replace({})
        has_new = bool(declared.kinds.keys() - self._declared.kinds.keys())
        self._declared = declared
        await self._watches.follow(declared.kinds)
        if has_new:
            await self._watches.wait(_PATIENCE_SECONDS)
        await self.controllers.replace(declared.controllers)
        self.report()

    def report(self) -> None:
        """Update the metrics, and report kinds that cannot be watched, each reason once."""
        counts = self._watches.counts()
        self._metrics.replace("pyroclast_plugin_watched_objects", {(name,): count for name, count in counts.items()})
        running: dict[tuple[str, ...], float] = dict.fromkeys(self.controllers.running, 1.0)
        self._metrics.replace("pyroclast_plugin_controller_running", running)
        troubles = dict(self._watches.troubles())
        for name, trouble in troubles.items():
            if self._reported.get(name) != trouble:
                plugins = " and ".join(self._declared.watchers.get(name, ()))
                _log.error("watched_kind_failed", kind=name, plugins=plugins, error=trouble)
                self._warn("WatchFailed", f"plugin {plugins} watches {name}: {trouble}")
        self._reported = troubles

    def _note_change(self, kind: str, namespace: str, name: str) -> None:
        self.controllers.note_change(kind, namespace, name)
