"""Preparers of plugins: each runs on an event loop of its own, so that one that blocks delays its own pods alone."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from pyroclast.kube.api.concurrent_calls import is_cancelled_by
from pyroclast.kube.writes.binding import Preparer
from pyroclast.model.errors import PyroclastError
from pyroclast.model.plan import Bind, Preparation
from pyroclast.model.texts import said_by
from pyroclast.scheduler.handles.plugin_thread import PluginThread

__all__ = ["PreparerEndedError", "in_threads"]


class PreparerEndedError(PyroclastError):
    """A preparer raised an exception that ends tasks or processes. Remedy: correct the preparer."""


def in_threads(preparers: Mapping[str, Preparer]) -> dict[str, Preparer]:
    """Return registered preparers, by kind, whose calls run in a thread for each kind."""
    return {kind: _Threaded(kind, preparer) for kind, preparer in preparers.items()}


class _Threaded:
    """Calls a preparer in its thread."""

    def __init__(self, kind: str, preparer: Preparer) -> None:
        self._preparer = preparer
        self._thread = PluginThread(kind)

    async def prepare(self, bind: Bind, preparation: Preparation) -> None:
        """Do the preparation."""
        await self._call(partial(self._preparer.prepare, bind, preparation))

    async def revert(self, bind: Bind, preparation: Preparation) -> None:
        """Undo the preparation."""
        await self._call(partial(self._preparer.revert, bind, preparation))

    async def _call(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await self._thread.call(work)
        except (Exception, GeneratorExit):
            raise
        except BaseException as error:
            if is_cancelled_by(error):
                raise
            raise PreparerEndedError(f"{type(error).__name__}: {said_by(error)}") from error
