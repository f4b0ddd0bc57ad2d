"""Limits: the capability and the deserved amounts of a queue, within those of its ancestors."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from pyroclast.model.arrays import BoolArray, IntArray
from pyroclast.model.ids import QueueName
from pyroclast.model.queues import ROOT_QUEUE, Queue, capability_limits, usable_guarantee
from pyroclast.model.resources import UNLIMITED, ResourceSpace
from pyroclast.plugins.capacity.tree import Tree

__all__ = ["Limits", "excesses", "flat_limits", "tree_limits"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Limits:
    """Guarantee, deserved amount and limits of one queue, base units, shape (R,)."""

    guarantee: IntArray
    deserved: IntArray
    capability: IntArray
    """As declared or inherited."""
    limit: IntArray
    """The capability, reduced by guarantees of other queues."""


def flat_limits(
    space: ResourceSpace,
    queues: Mapping[QueueName, Queue],
    _: Tree,
    *,
    total: IntArray,
    kept: Mapping[QueueName, IntArray],
) -> dict[QueueName, Limits]:
    """Return the limits of queues without a tree. Deserved amounts are cut to the limit.

    Args:
        space: The resources.
        queues: The queues.
        total: Allocatable amounts of all nodes.
        kept: Amounts that each queue's guarantee withholds from other queues.
    """
    guarantees = {name: usable_guarantee(space, queue) for name, queue in queues.items()}
    promised = sum(guarantees.values(), start=np.zeros_like(total))
    others = np.maximum(total - sum(kept.values(), start=np.zeros_like(total)), 0)
    # A resource that no node has and no queue guarantees does not cut the deserved amount.
    unknown: BoolArray = (total == 0) & (promised == 0)
    made = {}
    for name, queue in queues.items():
        capability = capability_limits(space, queue)
        limit = np.minimum(others + kept[name], capability)
        asked = space.vector(queue.deserved)
        deserved = np.maximum(np.where(unknown, asked, np.minimum(asked, limit)), guarantees[name])
        made[name] = Limits(guarantee=guarantees[name], deserved=deserved, capability=capability, limit=limit)
    return made


def tree_limits(space: ResourceSpace, queues: Mapping[QueueName, Queue], tree: Tree) -> dict[QueueName, Limits]:
    """Return the limits of queues in a tree, from the root down. The root's guarantee is the sum of its children's."""
    declared = {name: _declared(space, queue) for name, queue in queues.items()}
    made = {name: declared[name] for name in queues if len(tree.paths[name]) == 1}
    for name in tree.downwards():
        above, below = made[name], tree.children[name]
        promised = sum((declared[child].guarantee for child in below), start=np.zeros(len(space), dtype=np.int64))
        if name == ROOT_QUEUE:
            deserved = sum((declared[child].deserved for child in below), start=np.zeros(len(space), dtype=np.int64))
            made[name] = Limits(guarantee=promised, deserved=deserved, capability=above.capability, limit=above.limit)
        for child in below:
            made[child] = _handed_down(above, declared[child], promised)
    return made


def excesses(
    space: ResourceSpace, queues: Mapping[QueueName, Queue], tree: Tree, limits: Mapping[QueueName, Limits]
) -> Iterator[tuple[QueueName, str]]:
    """Yield the queues whose children exceed them, with a message. The children are served as far as possible.

    The root can be exceeded only in its capability.
    """
    for name in tree.downwards():
        found = [
            f"capability of {child} ({_named(space, over)})"
            for child in tree.children[name]
            if (over := _capability_above(space, queues[child], limits[name])).any()
        ]
        if name != ROOT_QUEUE:
            declared = space.vector(dict.fromkeys(queues[name].deserved, 1)) > 0
            together = _together(limits, tree.children[name])
            for what, over in (
                ("deserved", (together.deserved > limits[name].deserved) & declared),
                ("guarantees", together.guarantee > limits[name].guarantee),
            ):
                found += [f"{what} together ({_named(space, over)})"] if over.any() else []
        if found:
            yield name, f"queues below exceed queue {name}: {', '.join(found)}"


def _capability_above(space: ResourceSpace, child: Queue, above: Limits) -> BoolArray:
    declared = capability_limits(space, child)
    over: BoolArray = (declared < UNLIMITED) & (declared > above.capability)
    return over


def _together(limits: Mapping[QueueName, Limits], below: tuple[QueueName, ...]) -> Limits:
    each = [limits[name] for name in below]
    zero = np.zeros_like(each[0].guarantee)
    return Limits(
        guarantee=sum((own.guarantee for own in each), start=zero),
        deserved=sum((own.deserved for own in each), start=zero),
        capability=zero,
        limit=zero,
    )


def _named(space: ResourceSpace, rows: BoolArray) -> str:
    return ", ".join(space.names[row] for row in np.flatnonzero(rows).tolist())


def _declared(space: ResourceSpace, queue: Queue) -> Limits:
    guarantee = usable_guarantee(space, queue)
    capability = capability_limits(space, queue)
    deserved = np.maximum(space.vector(queue.deserved), guarantee)
    return Limits(guarantee=guarantee, deserved=deserved, capability=capability, limit=capability)


def _handed_down(above: Limits, own: Limits, promised: IntArray) -> Limits:
    capability = np.where(own.capability >= UNLIMITED, above.capability, own.capability)
    limit = np.minimum(np.maximum(above.limit - promised, 0) + own.guarantee, capability)
    return Limits(guarantee=own.guarantee, deserved=own.deserved, capability=capability, limit=limit)
