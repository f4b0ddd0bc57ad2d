"""Targets: the pods of a restart, and their text in the status."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final, Literal

from pyroclast.controllers.jobs.decision.observed import Observed, PodPlace

__all__ = ["ALL", "UNFINISHED", "Target", "covers", "is_whole", "partition_of", "targets_in"]


@dataclass(frozen=True, slots=True, order=True)
class Target:
    """Pods that a restart kills."""

    kind: Literal["all", "unfinished", "task", "pod", "partition"]
    task: str = ""
    number: int = 0
    """Index of the pod, or number of the partition."""

    def __str__(self) -> str:
        """Return the text for the status."""
        if self.kind in {"pod", "partition"}:
            return f"{self.kind}/{self.task}/{self.number}"
        return f"{self.kind}/{self.task}" if self.kind == "task" else self.kind


ALL: Final = Target("all")
"""Every pod of an older version."""
UNFINISHED: Final = Target("unfinished")
"""Every pod of an older version that has not ended."""


def is_whole(restarting: Collection[Target]) -> bool:
    """Return whether a restart covers the whole Job with its pod group. A restart without targets does."""
    return not restarting or not {ALL, UNFINISHED}.isdisjoint(restarting)


def covers(seen: Observed, target: Target, place: PodPlace) -> bool:
    """Return whether a restart of some pods covers the pod of a place. A restart of a whole version names no places."""
    match target:
        case Target(kind="task"):
            return place.task == target.task
        case Target(kind="pod"):
            return place == PodPlace(target.task, target.number)
        case Target(kind="partition"):
            return place.task == target.task and partition_of(seen, place) == target.number
    return False


def partition_of(seen: Observed, place: PodPlace) -> int | None:
    """Return the number of the partition of a place, None if the task has no partitions."""
    policy = seen.tasks[place.task].partition_policy if place.task in seen.tasks else None
    if policy is None:
        return None
    return place.index // policy.partition_size if policy.partition_size > 0 else 0


def targets_in(text: str) -> Iterator[Target]:
    """Parse targets from the status. Invalid targets are dropped."""
    for part in text.split(","):
        match part.split("/"):
            case ["all"]:
                yield ALL
            case ["unfinished"]:
                yield UNFINISHED
            case ["task", task]:
                yield Target("task", task)
            case ["pod", task, number] if number.isdecimal():
                yield Target("pod", task, int(number))
            case ["partition", task, number] if number.isdecimal():
                yield Target("partition", task, int(number))
