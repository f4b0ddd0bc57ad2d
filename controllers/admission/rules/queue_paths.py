"""Paths of queues for hierarchical DRF: two annotations of equal length, names and weights."""

import math
from collections.abc import Iterable, Iterator

from pyroclast.controllers.admission.faults import Fault
from pyroclast.model.api.names import HIERARCHY, HIERARCHY_WEIGHTS
from pyroclast.model.api.scheduling import Queue

__all__ = ["path_faults"]


def path_faults(queue: Queue, others: Iterable[Queue]) -> Iterator[Fault]:
    """Find the faults of a queue's path.

    Args:
        queue: The queue.
        others: Existing queues. The queue itself is ignored.
    """
    path, weights = (queue.metadata.annotations.get(key, "") for key in (HIERARCHY, HIERARCHY_WEIGHTS))
    if not path and not weights:
        return
    field, weights_field = (f"metadata.annotations[{key}]" for key in (HIERARCHY, HIERARCHY_WEIGHTS))
    length, count = len(path.split("/")), len(weights.split("/"))
    if length != count:
        yield Fault(
            field=field,
            value=path,
            expected=f"{count} names, as {HIERARCHY_WEIGHTS} has weights",
            rule=f"{HIERARCHY} must have the same length with {HIERARCHY_WEIGHTS}",
        )
        return
    yield from _weight_faults(weights, weights_field)
    for other in others:
        longer = other.metadata.annotations.get(HIERARCHY, "")
        if other.metadata.name != queue.metadata.name and longer.startswith(f"{path}/"):
            yield Fault(
                field=field,
                value=path,
                expected="a path that no other queue's path goes on from",
                rule=f"{path} is not allowed to be in the sub path of {longer} of queue {other.metadata.name}",
            )
            return


def _weight_faults(weights: str, field: str) -> Iterator[Fault]:
    for weight in weights.split("/"):
        try:
            number = float(weight)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            yield Fault(
                field=field,
                value=weights,
                expected="numbers greater than 0",
                rule=f"{weight} in the {weights} is invalid number",
            )
        elif number <= 0:
            yield Fault(
                field=field,
                value=weights,
                expected="numbers greater than 0",
                rule=f"{weight} in the {weights} must be larger than 0",
            )
