"""Queue tree: rules for parents, and for amounts within the amounts of ancestors.

Amounts are not compared with the root, whose amounts are those of the cluster.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Final

from pyroclast.controllers.admission.faults import Fault
from pyroclast.controllers.admission.lookups import Lookups
from pyroclast.controllers.admission.rules.templates.resources import amounts_of
from pyroclast.model import quantity
from pyroclast.model.api.meta import ResourceList
from pyroclast.model.api.names import ROOT_QUEUE
from pyroclast.model.api.scheduling import Queue

__all__ = ["SharedSums", "allocated_pods", "parent_faults", "tree_amount_faults"]

_TOP: Final = frozenset({"", ROOT_QUEUE})
"""Parents without further ancestors to check."""


def parent_faults(queue: Queue, lookups: Lookups, max_depth: int) -> Iterator[Fault]:
    """Find the faults of a queue's parent.

    Args:
        queue: The queue.
        lookups: The other queues.
        max_depth: Maximum depth below the root.
    """
    name, parent_name, field = queue.metadata.name, queue.spec.parent, "spec.parent"
    if parent_name in _TOP:
        return
    if parent_name == name:
        yield Fault(field=field, value=name, expected="another queue", rule=f"queue {name} cannot use itself as parent")
        return
    chain, missing = _ancestors(queue, lookups)
    if missing:
        yield Fault(
            field=field,
            value=parent_name,
            expected="a queue whose ancestors exist",
            rule=f"failed to get parent queue {missing} of queue {name}",
        )
    elif name in chain:
        yield Fault(
            field=field,
            value=parent_name,
            expected="a queue that is not below it",
            rule=f"queue {name} cannot be below itself",
        )
    elif len(chain) + 1 > max_depth:
        yield Fault(
            field=field,
            value=parent_name,
            expected=f"a queue at most {max_depth - 1} below the root",
            rule=f"queue {name} exceeds the maximum allowed depth of {max_depth}",
        )
    else:
        yield from _taken_faults(queue, lookups)


def allocated_pods(queue: Queue) -> int:
    """Return the number of allocated pods of a queue."""
    return int(amounts_of(queue.status.allocated).get("pods", 0))


class SharedSums:
    """Faults of the sums below the queues of an unchanged tree. The sum of a thousand siblings is computed once."""

    def __init__(self, lookups: Lookups) -> None:
        """Start without sums."""
        self._lookups = lookups
        self._known: dict[str, tuple[Fault, ...]] = {}

    def faults(self, parent: Queue) -> tuple[Fault, ...]:
        """Return the faults of the queues below `parent`."""
        name = parent.metadata.name
        if name not in self._known:
            self._known[name] = tuple(_sum_faults(parent, self._lookups.children(name), f"parent queue {name}"))
        return self._known[name]


def tree_amount_faults(queue: Queue, lookups: Lookups, sums: SharedSums | None = None) -> Iterator[Fault]:
    """Find amounts that do not fit those of the parent or of the children.

    Args:
        queue: The queue, which is not the root; its parent exists.
        lookups: The other queues.
        sums: Sums of a tree that contains the queue unchanged.
    """
    parent = None if queue.spec.parent in _TOP else lookups.queue(queue.spec.parent)
    if parent is not None:
        yield from _ancestor_faults(queue, lookups)
        yield from sums.faults(parent) if sums is not None else _sum_faults_with(queue, parent, lookups)
    children = lookups.children(queue.metadata.name)
    if children:
        yield from _descendant_faults(queue, children, lookups)
        yield from _sum_faults(queue, children, f"queue {queue.metadata.name}")


def _ancestors(queue: Queue, lookups: Lookups) -> tuple[list[str], str]:
    """Return the names of the ancestors up to the root or to a repeated name, and the name of a missing ancestor."""
    chain: list[str] = []
    name = queue.spec.parent
    while name not in _TOP and name not in chain:
        above = lookups.queue(name)
        if above is None:
            return chain, name
        chain.append(name)
        name = above.spec.parent
    return chain, ""


def _taken_faults(queue: Queue, lookups: Lookups) -> Iterator[Fault]:
    parent = lookups.queue(queue.spec.parent)
    if parent is None or lookups.children(queue.spec.parent):
        return
    if pods := allocated_pods(parent):
        yield Fault(
            field="spec.parent",
            value=queue.spec.parent,
            expected="a queue without allocated pods",
            rule=f"queue {queue.spec.parent} cannot be the parent queue of queue {queue.metadata.name} "
            f"because it has allocated Pods: {pods}",
        )


def _ancestor_faults(queue: Queue, lookups: Lookups) -> Iterator[Fault]:
    chain, _ = _ancestors(queue, lookups)
    above = [each for each in map(lookups.queue, chain) if each is not None]
    for name, amount in amounts_of(queue.spec.capability).items():
        found = next(((each, limit) for each in above if (limit := _capability(each, name))), None)
        if found is not None and amount > found[1]:
            ancestor, text = found[0].metadata.name, found[0].spec.capability[name]
            yield Fault(
                field=f"spec.capability.{name}",
                value=queue.spec.capability[name],
                expected=f"at most {text}, the capability of queue {ancestor}",
                rule=f"queue {queue.metadata.name} capability[{name}]={queue.spec.capability[name]} "
                f"exceeds its ancestor's capability={text}",
            )


def _descendant_faults(queue: Queue, children: Iterable[Queue], lookups: Lookups) -> Iterator[Fault]:
    for name, amount in amounts_of(queue.spec.capability).items():
        if not amount:
            continue  # 0 means no limit
        largest = _largest_below(children, name, lookups, {queue.metadata.name})
        if largest is not None and (limit := _capability(largest, name)) and amount < limit:
            text = largest.spec.capability[name]
            yield Fault(
                field=f"spec.capability.{name}",
                value=queue.spec.capability[name],
                expected=f"at least {text}, the capability of queue {largest.metadata.name}",
                rule=f"queue {queue.metadata.name} capability[{name}]={queue.spec.capability[name]} "
                f"is smaller than its descendants' max capability={text}",
            )


def _largest_below(children: Iterable[Queue], name: str, lookups: Lookups, seen: set[str]) -> Queue | None:
    """Return the queue with the largest capability. In each branch, the topmost queue with a capability counts."""
    found: Queue | None = None
    for child in children:
        if child.metadata.name in seen:
            continue  # a cycle: reported elsewhere
        seen.add(child.metadata.name)
        if _capability(child, name):
            best: Queue | None = child
        else:
            best = _largest_below(lookups.children(child.metadata.name), name, lookups, seen)
        if best is not None and (found is None or _capability(best, name) > _capability(found, name)):
            found = best
    return found


def _capability(queue: Queue, name: str) -> Fraction:
    """Return a capability. 0 means no limit."""
    return (
        amounts_of({name: queue.spec.capability[name]}).get(name, Fraction())
        if name in queue.spec.capability
        else Fraction()
    )


def _sum_faults_with(queue: Queue, parent: Queue, lookups: Lookups) -> Iterator[Fault]:
    """Find the faults of the sums below `parent` with the requested `queue`."""
    siblings = [each for each in lookups.children(queue.spec.parent) if each.metadata.name != queue.metadata.name]
    yield from _sum_faults(parent, [*siblings, queue], f"parent queue {parent.metadata.name}")


def _sum_faults(parent: Queue, children: Iterable[Queue], who: str) -> Iterator[Fault]:
    below = list(children)
    for what, own, all_of_them in (
        ("guarantee", parent.spec.guarantee.resource, [child.spec.guarantee.resource for child in below]),
        ("deserved", parent.spec.deserved, [child.spec.deserved for child in below]),
    ):
        limits = amounts_of(own)
        for name, total in _sums(all_of_them).items():
            if total > limits.get(name, 0):
                field = "spec.guarantee.resource" if what == "guarantee" else "spec.deserved"
                yield Fault(
                    field=f"{field}.{name}",
                    value=_written(total),
                    expected=f"a sum of at most {own.get(name, 0)}",
                    rule=f"{who} validation failed: sum of children's {what} ({name} {_written(total)}) "
                    f"exceeds parent's {what} limit ({name} {own.get(name, 0)})",
                )


def _sums(lists: Iterable[ResourceList]) -> Mapping[str, Fraction]:
    totals: defaultdict[str, Fraction] = defaultdict(Fraction)
    for amounts in lists:
        for name, amount in amounts_of(amounts).items():
            totals[name] += amount
    return totals


def _written(amount: Fraction) -> str:
    """Return a sum as text: with a suffix if it is whole, otherwise in thousandths."""
    if amount.denominator != 1:
        return quantity.format_millis(quantity.millis(amount))
    return quantity.format_bytes(int(amount)) if int(amount) % 1024 == 0 else quantity.format_count(int(amount))
