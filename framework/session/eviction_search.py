"""Eviction search: the pods that the last search considered and the plugins that protected them, for messages."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from pyroclast.model.ids import JobId, TaskId
from pyroclast.model.refusals import Refusal
from pyroclast.model.tasks import Task

__all__ = ["EvictionSearch"]

_PROTECTED: Final[Mapping[str, str]] = {
    "WonByEviction": "holding room won from it by an eviction",
    "NotPreemptable": "marked as not preemptable",
    "GroupNotPreemptable": "in a PodGroup marked as not preemptable",
    "NotRunning": "not running yet",
    "AsksForMore": "asking for resources while it asks for none",
    "NotLessImportant": "of a job that is no less important",
    "HigherPriority": "of a higher priority",
    "QueueNotReclaimable": "of a queue that is not reclaimable",
    "GangKeptTogether": "needed by its gang",
}
"""What is said of pods by the reason for which they are protected; other reasons are a plugin's."""


class EvictionSearch:
    """Victims considered by one action for one job."""

    __slots__ = ("_asked", "_protected", "action", "beneficiary")

    def __init__(self, action: str, beneficiary: JobId | None) -> None:
        self.action = action
        self.beneficiary = beneficiary
        self._asked: list[Sequence[Task]] = []
        self._protected: dict[str, set[TaskId]] = {}
        """Pods by what is said of them."""

    def is_for(self, action: str, beneficiary: JobId | None) -> bool:
        """Return whether it is the search of an action for a job."""
        return (self.action, self.beneficiary) == (action, beneficiary)

    def note_asked(self, candidates: Sequence[Task]) -> None:
        """Note that plugins were asked about candidates."""
        if not self._asked or self._asked[-1] is not candidates:
            self._asked.append(candidates)

    def note_protected(self, victim: TaskId, refusal: Refusal) -> None:
        """Note why a pod was spared."""
        what = _PROTECTED.get(refusal.reason, f"protected by {refusal.plugin}")
        self._protected.setdefault(what, set()).add(victim)

    def in_words(self) -> str:
        """Say how many pods were considered and what protected them; empty where none was."""
        considered = {task.id for candidates in self._asked for task in candidates}.union(*self._protected.values())
        if not considered:
            return ""
        ranked = sorted(self._protected.items(), key=lambda each: (-len(each[1]), each[0]))
        words = ", ".join(f"{len(pods)} {what}" for what, pods in ranked)
        return f"of {_pods(considered)} considered: {words or 'none protected'}"


def _pods(pods: Iterable[TaskId]) -> str:
    count = len(set(pods))
    return f"{count} pod" if count == 1 else f"{count} pods"
