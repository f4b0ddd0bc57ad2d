"""Reverse index: the users of each object, so that a change of the object updates them."""

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

__all__ = ["ReverseIndex"]

User = TypeVar("User", bound=str)
T = TypeVar("T")


class ReverseIndex(Generic[User, T]):
    """Users by the name of the used object: the pods of a claim, the claims of a volume."""

    def __init__(self, used_by: Callable[[T], Iterable[str]]) -> None:
        """Start without users; `used_by` returns the names of the objects that a user uses."""
        self._used_by = used_by
        self._users: dict[str, set[User]] = {}

    def note(self, user: User, old: T | None, new: T | None) -> None:
        """Replace the old version of a user by the new one; None stands for its absence."""
        if old is not None:
            for name in self._used_by(old):
                self._remove(name, user)
        if new is not None:
            for name in self._used_by(new):
                self._users.setdefault(name, set()).add(user)

    def used(self) -> list[str]:
        """Return the names of all used objects."""
        return list(self._users)

    def users(self, names: Iterable[str]) -> list[User]:
        """Return the users of any of these objects, sorted and without duplicates."""
        return sorted({user for name in names for user in self._users.get(name, ())})

    def _remove(self, name: str, user: User) -> None:
        users = self._users.get(name)
        if users is not None:
            users.discard(user)
            if not users:
                del self._users[name]
