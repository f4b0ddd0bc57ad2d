"""Claims: which pods use which volume claims, so that what changes a claim reaches its pods."""

from collections.abc import Iterable

from cache.volumes import claim_keys
from model import wire
from model.ids import TaskId

__all__ = ["ClaimIndex"]


class ClaimIndex:
    """Users of claims, by `namespace/name`."""

    def __init__(self) -> None:
        """Start without pods."""
        self._users: dict[str, set[TaskId]] = {}

    def note(self, task: TaskId, old: wire.Pod | None, new: wire.Pod | None) -> None:
        """Follow a pod from what it was to what it is; None stands for its absence."""
        if old is not None and old.spec.volumes:
            for key in claim_keys(old):
                self._leave(key, task)
        if new is not None and new.spec.volumes:
            for key in claim_keys(new):
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
