"""Reverse index: the users of each object, so that a change of the object updates them."""

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

__all__ = ["ReverseIndex"]

User = TypeVar("User", bound=str)
T = TypeVar("T")


class ReverseIndex(Generic[User, T]):
    """Users by the name of what they use: the pods of a claim, the claims of a volume."""

    def __init__(self, used_by: Callable[[T], Iterable[str]]) -> None:
        """Start without users; `used_by` names what one uses."""
        self._used_by = used_by
        self._users: dict[str, set[User]] = {}

    def note(self, user: User, old: T | None, new: T | None) -> None:
        """Follow a user from what it was to what it is; None stands for its absence."""
        if old is not None:
            for name in self._used_by(old):
                self._leave(name, user)
        if new is not None:
            for name in self._used_by(new):
                self._users.setdefault(name, set()).add(user)

    def used(self) -> list[str]:
        """Return everything that is used."""
        return list(self._users)

    def users(self, names: Iterable[str]) -> list[User]:
        """Return who uses any of these, each once, in order."""
        return sorted({user for name in names for user in self._users.get(name, ())})

    def _leave(self, name: str, user: User) -> None:
        users = self._users.get(name)
        if users is not None:
            users.discard(user)
            if not users:
                del self._users[name]
