"""Resource names: which names have a row of their own in the resource space.

Each row costs several numbers per node and per job, and tenants may invent names. Names that a node or a queue offers
have rows. The first ones of the other names, in alphabetical order, have rows too, so that refusals can name them. The
rest share the row `UNOFFERED`. No node offers it, so the pods that request these names wait.

The choice depends only on the objects, not on the order of their events.
"""

from collections.abc import Iterable
from typing import Final

from pyroclast.model.requests import ATTACHABLE_VOLUMES
from pyroclast.model.resources import MILLI, Amounts, ResourceSpace

__all__ = ["MOST_UNOFFERED", "UNOFFERED", "ResourceNames"]

UNOFFERED: Final = "unoffered-resources"
"""The shared row of names without a row of their own. Its amount is the number of such names."""
MOST_UNOFFERED: Final = 64
"""Largest number of names with a row that no node or queue offers."""
_ALWAYS: Final = frozenset(ResourceSpace().names) | {UNOFFERED}


class ResourceNames:
    """The names with a row of their own."""

    def __init__(self) -> None:
        """Start with the rows of every space."""
        self._offered: set[str] = set()
        self._asked: set[str] = set()
        """Names with a row that no node or queue offers."""
        self._risen: set[str] = set()
        """Names that received a row since `settle` while other names had none."""
        self._is_full = False
        self.is_stale = False
        """Whether `settle` may choose different names."""

    def has_row(self, name: str) -> bool:
        """Return whether a name has a row of its own. Volume drivers always have one: only administrators name them."""
        is_named = name in _ALWAYS or name in self._offered or name in self._asked
        return is_named or name.startswith(ATTACHABLE_VOLUMES)

    def offer(self, amounts: Amounts) -> None:
        """Give rows to the names that a node or a queue offers."""
        for name in amounts:
            if name not in self._offered:
                self._offered.add(name)
                if name in self._asked:
                    self._asked.remove(name)
                elif self._is_full:  # the shared row may contain requests for it
                    self._risen.add(name)
                    self.is_stale = True

    def withdraw(self) -> None:
        """Note that a node or a queue may offer fewer names."""
        self.is_stale |= len(self._offered) + len(self._asked) > MOST_UNOFFERED

    def fold(self, amounts: Amounts) -> Amounts:
        """Return the amounts of an object with the names without a row replaced by the shared name."""
        unknown = [name for name in amounts if not self.has_row(name)]
        if not unknown:
            return amounts
        if not self._is_full and len(self._asked) + len(unknown) <= MOST_UNOFFERED:
            self._asked.update(unknown)
            return amounts
        self._is_full = self.is_stale = True
        positive = sum(amounts[name] > 0 for name in unknown)
        kept = {name: amount for name, amount in amounts.items() if self.has_row(name)}
        return kept | ({UNOFFERED: positive * MILLI} if positive else {})

    def settle(self, offered: Iterable[str], asked: Iterable[str]) -> frozenset[str]:
        """Choose again which names have rows.

        Args:
            offered: The names that nodes and queues offer.
            asked: The names that objects request, including names under the shared row.

        Returns:
            The names that gained or lost a row.
        """
        before = self._offered | self._asked
        self._offered = set(offered)
        unoffered = sorted(set(asked) - self._offered - _ALWAYS)
        self._asked = set(unoffered[:MOST_UNOFFERED])
        # while some names have no row, the choice may change with every object
        self._is_full = self.is_stale = len(unoffered) > MOST_UNOFFERED
        changed = self._risen | (before ^ (self._offered | self._asked))
        self._risen = set()
        return frozenset(changed)
