"""Queues: defaults of a new queue, validation of a new or changed queue, and queues that cannot be deleted.

The rules and most messages are Volcano's. docs/admission.md lists them. Amounts are compared exactly.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pyroclast.controllers.admission.faults import Fault, the_first
from pyroclast.controllers.admission.lookups import Lookups
from pyroclast.controllers.admission.patches import Patch, add
from pyroclast.controllers.admission.rules.queue_paths import path_faults
from pyroclast.controllers.admission.rules.queue_tree import (
    SharedSums,
    allocated_pods,
    parent_faults,
    tree_amount_faults,
)
from pyroclast.controllers.admission.rules.shape import member, read
from pyroclast.controllers.admission.rules.templates.resources import amount_faults, amounts_of
from pyroclast.model.api.names import DEFAULT_QUEUE, HIERARCHY, HIERARCHY_WEIGHTS, ROOT_QUEUE
from pyroclast.model.api.scheduling import Queue, QueueSpec, QueueState
from pyroclast.model.queues import rooted

__all__ = ["QueueLimits", "defaulted", "deletion_faults", "faults_of", "root_faults", "standing_faults"]

_STATES: Final = ("", QueueState.OPEN, QueueState.CLOSED)
"""States that users may write. Only the controller writes the others."""
_KEPT_STATES: Final = (*_STATES, QueueState.CLOSING)
"""States that a queue may keep."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueLimits:
    """Settings of the operator."""

    max_depth: int = 5
    """Maximum depth of the tree below the root."""
    protects_root: bool = True
    """The amounts of the root queue may not be changed."""
    keeps_queues_in_use: bool = False
    """A queue with allocated pods may not be deleted."""


def defaulted(queue: Mapping[str, Any]) -> list[Patch]:
    """Return the defaults of a new queue. Fields of a wrong type stay, and the API server refuses them."""
    patches: list[Patch] = []
    path, weights = (member(queue, "metadata", "annotations", key) for key in (HIERARCHY, HIERARCHY_WEIGHTS))
    if isinstance(path, str) and isinstance(weights, str) and rooted(path, weights) != (path, weights):
        whole = zip((HIERARCHY, HIERARCHY_WEIGHTS), rooted(path, weights), strict=True)
        patches += [add("metadata", "annotations", key, value=value) for key, value in whole]
    spec = queue.get("spec")
    if isinstance(spec, Mapping):
        if spec.get("reclaimable") is None:
            patches.append(add("spec", "reclaimable", value=True))
        if not spec.get("weight"):
            patches.append(add("spec", "weight", value=1))
    elif spec is None:
        patches.append(add("spec", value={"reclaimable": True, "weight": 1}))
    return patches


def faults_of(
    queue: Mapping[str, Any] | Queue,
    old: Mapping[str, Any] | Queue | None = None,
    lookups: Lookups | None = None,
    limits: QueueLimits = QueueLimits(),
) -> tuple[Fault, ...]:
    """Find the faults of a queue.

    Args:
        queue: The queue, as JSON or as its struct, with its defaults.
        old: Previous queue, None for a new one.
        lookups: The other queues. Without them, rules about the tree are skipped.
        limits: What the operator chose.
    """
    return the_first(_faults(queue, old, lookups, limits))


def standing_faults(queue: Queue, lookups: Lookups, sums: SharedSums, max_depth: int) -> tuple[Fault, ...]:
    """Find the faults of an existing queue, also of one that bypassed admission.

    Args:
        queue: The queue.
        lookups: All queues.
        sums: Sums over the queues.
        max_depth: See `QueueLimits`.
    """
    return the_first(_standing_faults(queue, lookups, sums, max_depth))


def root_faults(old: Queue, queue: Queue) -> Iterator[Fault]:
    """Find amounts of the root queue that have changed."""
    if queue.metadata.name != ROOT_QUEUE:
        return
    before, after = _amounts(old.spec), _amounts(queue.spec)
    for name in before:
        if before[name] != after[name]:
            yield Fault(
                field=f"spec.{name}",
                expected="what it was",
                rule="root queue's resource attributes (capability, deserved, guarantee) cannot be modified",
            )


def deletion_faults(name: str, lookups: Lookups, limits: QueueLimits = QueueLimits()) -> tuple[Fault, ...]:
    """Find why a queue must not be deleted.

    Args:
        name: Name of the queue.
        lookups: The queues.
        limits: What the operator chose.
    """
    return the_first(_deletion_faults(name, lookups, limits))


def _faults(
    value: Mapping[str, Any] | Queue,
    old: Mapping[str, Any] | Queue | None,
    lookups: Lookups | None,
    limits: QueueLimits,
) -> Iterator[Fault]:
    queue = read(Queue, value)
    if isinstance(queue, Fault):
        yield queue
        return
    earlier = None if old is None else read(Queue, old)
    before = earlier if isinstance(earlier, Queue) else None
    if before is not None and (queue.metadata.deletion_timestamp or _is_unchanged(before, queue)):
        return
    yield from _amount_faults(queue.spec)
    if before is None or before.status.state != queue.status.state:
        yield from _state_faults(queue, _STATES)
    yield from path_faults(queue, lookups.queues() if lookups is not None else ())
    if before is not None and limits.protects_root:
        yield from root_faults(before, queue)
    if lookups is None:
        return
    is_moved = before is None or before.spec.parent != queue.spec.parent
    if is_moved:
        stopped = tuple(parent_faults(queue, lookups, limits.max_depth))
        yield from stopped
        if stopped:
            return  # sums over a missing tree would have no meaning
    if queue.metadata.name == ROOT_QUEUE:
        return
    if is_moved or (before is not None and _amounts(before.spec) != _amounts(queue.spec)):
        yield from tree_amount_faults(queue, lookups)


def _standing_faults(queue: Queue, lookups: Lookups, sums: SharedSums, max_depth: int) -> Iterator[Fault]:
    yield from _amount_faults(queue.spec)
    yield from _state_faults(queue, _KEPT_STATES)
    made = queue.metadata.creation_timestamp
    # A path that extends an existing path is allowed, because the older queue has no fault.
    yield from path_faults(queue, (each for each in lookups.queues() if each.metadata.creation_timestamp <= made))
    misplaced = tuple(parent_faults(queue, lookups, max_depth))
    yield from misplaced
    if not misplaced and queue.metadata.name != ROOT_QUEUE:
        yield from tree_amount_faults(queue, lookups, sums)


def _is_unchanged(old: Queue, queue: Queue) -> bool:
    """Return whether all fields that rules check are unchanged. Labels and finalizers are not checked."""
    return (
        old.spec == queue.spec
        and old.status.state == queue.status.state
        and all(
            old.metadata.annotations.get(key) == queue.metadata.annotations.get(key)
            for key in (HIERARCHY, HIERARCHY_WEIGHTS)
        )
    )


def _amount_faults(spec: QueueSpec) -> Iterator[Fault]:
    guarantee = spec.guarantee.resource
    yield from amount_faults(spec.capability, "spec.capability")
    yield from amount_faults(spec.deserved, "spec.deserved")
    yield from amount_faults(guarantee, "spec.guarantee.resource")
    deserved, capability = amounts_of(spec.deserved), amounts_of(spec.capability)
    for name, least in amounts_of(guarantee).items():
        field, text = f"spec.deserved.{name}", str(guarantee[name])
        if name not in spec.deserved:
            yield Fault(
                field=field,
                expected=f"at least {text}",
                rule=f"deserved[{name}] must be >= guarantee[{name}]={text}; there is no deserved",
            )
        elif name in deserved and deserved[name] < least:
            yield Fault(
                field=field,
                value=spec.deserved[name],
                expected=f"at least {text}",
                rule=f"deserved[{name}]={spec.deserved[name]} must be >= guarantee[{name}]={text}",
            )
    for name, amount in deserved.items():
        if name in capability and amount > capability[name]:
            most = spec.capability[name]
            yield Fault(
                field=f"spec.deserved.{name}",
                value=spec.deserved[name],
                expected=f"at most {most}",
                rule=f"deserved[{name}]={spec.deserved[name]} must be <= capability[{name}]={most}",
            )


def _state_faults(queue: Queue, allowed: Sequence[str]) -> Iterator[Fault]:
    state = queue.status.state
    if state not in allowed:
        yield Fault(
            field="status.state", value=state, expected="Open or Closed", rule="queue state must be in [Open Closed]"
        )


def _amounts(spec: QueueSpec) -> dict[str, dict[str, object]]:
    """Return all amounts of a queue by field, in canonical form."""
    return {
        "capability": {**spec.capability, **amounts_of(spec.capability)},
        "deserved": {**spec.deserved, **amounts_of(spec.deserved)},
        "guarantee": {**spec.guarantee.resource, **amounts_of(spec.guarantee.resource)},
    }


def _deletion_faults(name: str, lookups: Lookups, limits: QueueLimits) -> Iterator[Fault]:
    field = "metadata.name"
    if name in {DEFAULT_QUEUE, ROOT_QUEUE}:
        yield Fault(field=field, value=name, expected="another queue", rule=f"`{name}` queue can not be deleted")
        return
    queue = lookups.queue(name)
    if queue is not None and limits.keeps_queues_in_use and (pods := allocated_pods(queue)):
        yield Fault(
            field="status.allocated.pods",
            value=pods,
            expected="0",
            rule=f"queue {name} cannot be deleted because it has allocated Pods: {pods}",
        )
    children = [child.metadata.name for child in lookups.children(name)]
    if children:
        yield Fault(
            field=field,
            value=name,
            expected="a queue without queues below it",
            rule=f"queue {name} can not be deleted because it has {len(children)} child queues: {', '.join(children)}",
        )
