"""Node selector: selects the nodes that this scheduler uses by label.

Entries are `key:value`, split at the first colon. A node with any of the labels is selected. Entries without a value
are ignored. Without valid entries every node is selected.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

__all__ = ["NodeFilter"]


@dataclass(frozen=True, slots=True)
class NodeFilter:
    """Labels; a node with any of them is selected."""

    labels: frozenset[tuple[str, str]] = frozenset()

    @classmethod
    def parse(cls, entries: Iterable[str]) -> "NodeFilter":
        """Parse the entries of the flag."""
        pairs = (entry.partition(":") for entry in entries)
        return cls(frozenset((key.strip(), value.strip()) for key, _, value in pairs if value.strip()))

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Return whether a node with these labels is selected."""
        return not self.labels or any(labels.get(key) == value for key, value in self.labels)
