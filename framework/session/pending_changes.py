"""Pending changes: changes of a session that a ledger built on demand has to apply first.

A ledger that few sessions need builds its counts from the snapshot at the first question, then catches up.
"""

from pyroclast.framework.extension.contract import Change

__all__ = ["EarlyChanges"]


class EarlyChanges:
    """Changes kept for a ledger until it is built."""

    __slots__ = ("_kept", "is_built")

    def __init__(self) -> None:
        self._kept: list[tuple[Change, int]] = []
        self.is_built = False

    def keep(self, change: Change, sign: int) -> bool:
        """Keep a change for later; False when the ledger is built and must count it itself."""
        if self.is_built:
            return False
        # changes are undone in reverse order, so a session that only tries things out keeps nothing
        if self._kept and self._kept[-1][0] is change and self._kept[-1][1] == -sign:
            self._kept.pop()
        else:
            self._kept.append((change, sign))
        return True

    def build(self) -> list[tuple[Change, int]]:
        """Mark the ledger as built; returns what it missed, with signs, in order."""
        self.is_built = True
        kept, self._kept = self._kept, []
        return kept
