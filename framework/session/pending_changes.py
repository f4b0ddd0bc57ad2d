"""Pending changes: changes of a session that a ledger built on demand has to apply first.

A ledger that few sessions need builds its counts from the snapshot at the first question, then catches up.
"""

from pyroclast.framework.extension.contract import Change

__all__ = ["PendingChanges"]


class PendingChanges:
    """Changes recorded for a ledger until it is built."""

    __slots__ = ("_changes", "is_built")

    def __init__(self) -> None:
        self._changes: list[tuple[Change, int]] = []
        self.is_built = False

    def record(self, change: Change, sign: int) -> bool:
        """Record a change for later; False when the ledger is built and must count it itself."""
        if self.is_built:
            return False
        # changes are undone in reverse order, so a session that only tries things out records nothing
        if self._changes and self._changes[-1][0] is change and self._changes[-1][1] == -sign:
            self._changes.pop()
        else:
            self._changes.append((change, sign))
        return True

    def build(self) -> list[tuple[Change, int]]:
        """Mark the ledger as built; returns what it missed, with signs, in order."""
        self.is_built = True
        changes, self._changes = self._changes, []
        return changes
