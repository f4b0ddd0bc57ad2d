"""Job size: maximum number of pods of a Job. One process serves all Jobs and looks at each pod repeatedly."""

from collections.abc import Iterator, Sequence
from typing import Final

from pyroclast.controllers.admission.faults import Fault
from pyroclast.model.api.batch import TaskSpec

__all__ = ["MOST_PODS", "size_faults"]

MOST_PODS: Final = 100_000
"""Maximum of an indexed Job of Kubernetes. A larger number is a mistake or an attack."""


def size_faults(tasks: Sequence[TaskSpec]) -> Iterator[Fault]:
    """Find whether the number of pods exceeds the maximum.

    Args:
        tasks: Tasks of a Job.
    """
    total = sum(task.replicas for task in tasks)
    if total > MOST_PODS:
        yield Fault(
            field="spec.tasks",
            value=f"{total} pods",
            expected=f"at most {MOST_PODS}, the sum of all replicas",
            rule="a job must not have that many pods",
        )
