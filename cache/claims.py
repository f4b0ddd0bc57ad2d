"""Claims: which pods use which claims, so that what changes a claim reaches its pods."""

from collections.abc import Callable, Iterable

from model import wire
from model.ids import TaskId

__all__ = ["ClaimIndex"]


class ClaimIndex:
    """Users of claims, by `namespace/name`."""

    def __init__(self, keys_of: Callable[[wire.Pod], Iterable[str]]) -> None:
        """Start without pods; `keys_of` names the claims of one."""
        self._keys_of = keys_of
        self._users: dict[str, set[TaskId]] = {}

    def note(self, task: TaskId, old: wire.Pod | None, new: wire.Pod | None) -> None:
        """Follow a pod from what it was to what it is; None stands for its absence."""
        if old is not None:
            for key in self._keys_of(old):
                self._leave(key, task)
        if new is not None:
            for key in self._keys_of(new):
                self._users.setdefault(key, set()).add(task)

    def all_claims(self) -> list[str]:
        """Return every claim that is used."""
        return list(self._users)

    def users(self, claims: Iterable[str]) -> list[TaskId]:
        """Return the users of claims, each once, in the order of their ids."""
        return sorted({task for key in claims for task in self._users.get(key, ())})

    def _leave(self, key: str, task: TaskId) -> None:
        users = self._users.get(key)
        if users is not None:
            users.discard(task)
            if not users:
                del self._users[key]
