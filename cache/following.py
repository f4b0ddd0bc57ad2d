"""Following: the kinds that the cache watches, each feeding the books."""

import asyncio
from collections.abc import Callable
from typing import Any, Final

from cache.books import Books
from cache.objects import KINDS
from kube import resources
from kube.resources import Resource
from model import wire

__all__ = ["FOLLOWED", "Arrivals", "Feeder"]

FOLLOWED: Final[tuple[Resource[Any], ...]] = tuple(each for each in resources.ALL if each.name in KINDS)
"""Every kind that the books take; those that a server lacks count as empty."""


class Feeder:
    """Passes what a reflector tells of one kind on to the books."""

    def __init__(self, kind: str, books: Books) -> None:
        """Feed objects of `kind` to `books`."""
        self._kind = kind
        self._books = books

    def added(self, new: Any) -> None:
        """Take over a new object."""
        self._books.apply(self._kind, new)

    def updated(self, old: Any, new: Any) -> None:  # noqa: ARG002 - the books know what they had
        """Take over a changed object."""
        self._books.apply(self._kind, new)

    def deleted(self, old: Any) -> None:
        """Forget an object."""
        self._books.remove(self._kind, old)


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
