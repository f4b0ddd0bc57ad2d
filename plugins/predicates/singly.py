"""Singly: a run of equal tasks is placed at once only where no filter of more than one node minds any of them.

Tasks of one template differ in labels and claims. Whoever places a run asks about its first task; where a later one is
of concern to such a filter, the run is refused as a whole, and its tasks are placed one by one.
"""

from collections.abc import Callable, Sequence

from framework.ledgers import Change, Verb
from model.refusals import Refusal
from model.tasks import Task

__all__ = ["Singly"]


class Singly:
    """A ledger that counts nothing and refuses runs with tasks that must be looked at one by one."""

    def __init__(self, plugin: str, cares: Sequence[Callable[[Task], bool]]) -> None:
        self._cares = cares
        self._refusal = Refusal(plugin=plugin, reason="PlaceSingly", message="tasks of the run must be placed singly")

    def apply(self, change: Change) -> Refusal | None:
        """Refuse a run with a task that some filter cares about."""
        if change.verb is not Verb.ALLOCATE or len(change.tasks) == 1:
            return None
        minded = any(cares(task) for task in change.tasks for cares in self._cares)
        return self._refusal if minded else None

    def revert(self, change: Change) -> None:
        """Do nothing: nothing was counted."""
