"""Cycle detection among names that depend on each other."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

__all__ = ["in_a_circle"]


def in_a_circle(waits_for: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the names in a cycle, and the names that depend on such a name, sorted.

    Args:
        waits_for: The dependencies of each name. A name without a key never starts.
    """
    open_waits = {name: len(set(targets)) for name, targets in waits_for.items()}
    waiting: defaultdict[str, list[str]] = defaultdict(list)
    for name, targets in waits_for.items():
        for target in set(targets):
            waiting[target].append(name)
    free = [name for name, count in open_waits.items() if not count]
    while free:
        for name in waiting[free.pop()]:
            open_waits[name] -= 1
            if not open_waits[name]:
                free.append(name)
    return [name for name in waits_for if open_waits[name]]
