"""Who waits for whom: names left over when all that wait for nobody are taken away."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

__all__ = ["in_a_circle"]


def in_a_circle(waits_for: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the names that can never have their turn: those in a circle, and those that wait for one, in order.

    Args:
        waits_for: By name, whom it waits for; a name that is no key never comes.
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
