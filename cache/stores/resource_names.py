"""Resource names: which of them have a row of their own in the resource space.

Each row costs several numbers a node and a job, and tenants may invent names. Names that a node or a queue offers have
rows. Of the others, the first ones in alphabetical order have rows, so that refusals can name them. The rest share the
row `UNOFFERED`, which no node offers, so that the objects wait all the same.

The choice depends on the objects alone, not on the order in which they came.
"""

from collections.abc import Iterable
from typing import Final

from pyroclast.model.requests import ATTACHABLE_VOLUMES
from pyroclast.model.resources import MILLI, Amounts, ResourceSpace

__all__ = ["MOST_UNOFFERED", "UNOFFERED", "ResourceNames"]

UNOFFERED: Final = "unoffered-resources"
"""The row that names without a row of their own share; its amount is the number of such names."""
MOST_UNOFFERED: Final = 64
"""Names that nothing offers and that have a row all the same."""
_ALWAYS: Final = frozenset(ResourceSpace().names) | {UNOFFERED}


class ResourceNames:
    """Names with a row of their own."""

    def __init__(self) -> None:
        """Begin with the rows that every space has."""
        self._offered: set[str] = set()
        self._asked: set[str] = set()
        """Names with a row that nothing offers."""
        self._risen: set[str] = set()
        """Names that got a row since `settle`, while others had none."""
        self._is_full = False
        self.is_stale = False
        """Whether `settle` may choose other names."""

    def has_row(self, name: str) -> bool:
        """Return whether a name has a row of its own; drivers of volumes always do: only administrators name them."""
        is_named = name in _ALWAYS or name in self._offered or name in self._asked
        return is_named or name.startswith(ATTACHABLE_VOLUMES)

    def offer(self, amounts: Amounts) -> None:
        """Give the names that a node or a queue offers their rows."""
        for name in amounts:
            if name not in self._offered:
                self._offered.add(name)
                if name in self._asked:
                    self._asked.remove(name)
                elif self._is_full:  # objects may ask for it under the shared row
                    self._risen.add(name)
                    self.is_stale = True

    def withdraw(self) -> None:
        """Note that a node or a queue may offer fewer names than before."""
        self.is_stale |= len(self._offered) + len(self._asked) > MOST_UNOFFERED

    def fold(self, amounts: Amounts) -> Amounts:
        """Return what an object asks for with the names that have no row under the shared one."""
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
        """Choose anew which names have rows.

        Args:
            offered: Names that nodes and queues offer.
            asked: Names that objects ask for, those under the shared row included.

        Returns:
            The names of which it is another answer than before.
        """
        before = self._offered | self._asked
        self._offered = set(offered)
        unoffered = sorted(set(asked) - self._offered - _ALWAYS)
        self._asked = set(unoffered[:MOST_UNOFFERED])
        # while names are left over the choice may change with every object
        self._is_full = self.is_stale = len(unoffered) > MOST_UNOFFERED
        changed = self._risen | (before ^ (self._offered | self._asked))
        self._risen = set()
        return frozenset(changed)
