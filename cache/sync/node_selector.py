"""Node selector: the nodes that this scheduler uses, by label.

Entries are `key:value`, split at the first colon; a node with any one of the labels is taken. Entries without a value
are ignored, and without valid entries every node is taken.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

__all__ = ["NodeFilter"]


@dataclass(frozen=True, slots=True)
class NodeFilter:
    """Labels, any one of which makes a node eligible."""

    labels: frozenset[tuple[str, str]] = frozenset()

    @classmethod
    def parse(cls, entries: Iterable[str]) -> "NodeFilter":
        """Read the entries of the flag."""
        pairs = (entry.partition(":") for entry in entries)
        return cls(frozenset((key.strip(), value.strip()) for key, _, value in pairs if value.strip()))

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Tell whether a node with these labels is used."""
        return not self.labels or any(labels.get(key) == value for key, value in self.labels)
