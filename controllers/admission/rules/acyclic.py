"""Acyclic: search for circles among names that wait for each other."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

__all__ = ["in_a_circle"]


def in_a_circle(waits_for: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the names that wait forever, in order: those in a circle, and those that wait for one.

    Args:
        waits_for: Names that each name waits for. A name that is no key never starts.
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
