"""Following: the kinds that the cache watches, each feeding the books."""

from typing import Any, Final

from cache.books import Books
from cache.objects import KINDS
from kube import resources
from kube.resources import Resource

__all__ = ["FOLLOWED", "Feeder"]

FOLLOWED: Final[tuple[Resource[Any], ...]] = tuple(each for each in resources.ALL if each.kind in KINDS)
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
