"""Namespace windows: which pending jobs of a namespace a cycle tries, if the namespace has too many unlike ones.

Each template is asked about over all nodes, and its refusal explained, so that thousands of jobs of which no two are
alike cost every cycle seconds. So a namespace has a share of templates. Where its waiting jobs have more, half of
the share goes to the first of them, by priority and age, and half goes round among the others: in each cycle those
follow by name that did not have their turn yet. Jobs are taken whole. All others are left out: they are not tried, and
their last reasons stand. The next turn outlives the cycle in its memory.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop
from itertools import takewhile
from typing import Final

from pyroclast.framework.session.memory import Round
from pyroclast.model.ids import JobId
from pyroclast.model.jobs import Job
from pyroclast.model.refusals import Refusal
from pyroclast.model.sealed import SealedDict

__all__ = ["MOST_TEMPLATES", "NO_WINDOW", "SHARE_USED", "NamespaceWindow", "share_of_each", "share_used", "window"]

MOST_TEMPLATES: Final = 64
"""Maximum number of templates of one namespace's waiting jobs that are tried in a cycle."""
_REFUSED_PER_TEMPLATE: Final = 4
"""Pods with rules about other pods, refused before, that cost as much as a template: each equal one is asked about."""
_WHOLE_SHARES: Final = 4
"""Namespaces that have a whole share each; where there are more they divide as much among them."""
SHARE_USED: Final = "NamespaceShareUsed"
"""Reason of a refusal: the job was not tried, since its namespace had used up its share of the cycle."""


@dataclass(frozen=True, slots=True)
class NamespaceWindow:
    """Jobs that a cycle leaves out."""

    left_out: Mapping[JobId, Refusal] = field(default_factory=SealedDict)
    """Jobs that are not tried, and why."""
    rounds: Mapping[str, Round] = field(default_factory=SealedDict)
    """Progress of the cycle, by namespace."""

    def is_whole(self, generation: int) -> bool:
        """Return whether all jobs were tried on a snapshot, by its generation, in this cycle and those before."""
        return all(each.is_over and each.since == generation for each in self.rounds.values())


NO_WINDOW: Final = NamespaceWindow()


def window(jobs: Iterable[Job], most: int, rounds: Mapping[str, Round], generation: int) -> NamespaceWindow:
    """Choose the jobs of a cycle.

    Args:
        jobs: Those that wait and may be left out, in the order of their ids.
        most: A whole share of a namespace, in templates.
        rounds: How far the last cycle came.
        generation: That of the snapshot.
    """
    by_namespace: dict[str, list[Job]] = {}
    for job in jobs:
        by_namespace.setdefault(job.namespace, []).append(job)
    left_out: dict[JobId, Refusal] = {}
    reached: dict[str, Round] = {}
    least = share_of_each(most, len(by_namespace))
    many = {namespace: waiting for namespace, waiting in sorted(by_namespace.items()) if _exceeds(waiting, least)}
    share = share_of_each(most, len(many))
    for namespace, waiting in many.items():
        if _exceeds(waiting, share):
            others, reached[namespace] = _left_out(waiting, share, rounds.get(namespace), generation)
            left_out |= dict.fromkeys(others, share_used("scheduler", "the scheduler's time", namespace))
    return NamespaceWindow(SealedDict(left_out), SealedDict(reached)) if reached else NO_WINDOW


def share_of_each(most: int, namespaces: int) -> int:
    """Return the share of each of some namespaces in a cycle: a whole one, or of many a part, at least an eighth."""
    return max(min(most, _WHOLE_SHARES * most // max(namespaces, 1)), most // _WHOLE_SHARES // 2, 1)


def share_used(plugin: str, of_what: str, namespace: str) -> Refusal:
    """Refuse because a job was not tried in this cycle."""
    message = f"namespace {namespace} has used up its share of {of_what} in this cycle; its jobs are tried in turn"
    return Refusal(plugin=plugin, reason=SHARE_USED, message=message)


class _Looks:
    """Cost of trying jobs, in templates."""

    def __init__(self) -> None:
        self._templates: set[int] = set()
        self._refused = 0
        """Pods with rules about others."""

    def take(self, job: Job, most: int) -> bool:
        """Count a job, unless it costs more than is left of a share; return whether it is counted."""
        fresh = {number for number, _ in job.waiting} - self._templates
        refused = self._refused + job.refused_by_others
        if len(self._templates) + len(fresh) + refused // _REFUSED_PER_TEMPLATE > most:
            return False
        self._templates |= fresh
        self._refused = refused
        return True


def _exceeds(jobs: Sequence[Job], most: int) -> bool:
    """Return whether jobs cost more than a share together."""
    looks = _Looks()
    return not all(looks.take(job, most) for job in jobs)


def _left_out(jobs: Sequence[Job], most: int, known: Round | None, generation: int) -> tuple[list[JobId], Round]:
    """Return which jobs of a namespace are not tried, and how far its round came."""
    looks = _Looks()
    first = _taken(_by_rank(jobs), most // 2, looks)
    others = [job for job in jobs if job.id not in first]
    after, since = (known.after, known.since) if known is not None and known.after else ("", generation)
    begin = bisect_right(others, after, key=_id)
    if begin == len(others):
        begin, since = 0, generation
    taken = _taken(others[begin:], most, looks) or {others[begin].id}
    is_over = begin + len(taken) == len(others)
    reached = Round(after="" if is_over else max(taken), since=since, is_over=is_over)
    return [job.id for job in others if job.id not in taken], reached


def _by_rank(jobs: Iterable[Job]) -> Iterator[Job]:
    """Yield jobs by priority and then by age. Only the first ones are tried."""
    ranked = [(-job.priority, job.created, job.id, job) for job in jobs]
    heapify(ranked)
    while ranked:
        yield heappop(ranked)[-1]


def _taken(jobs: Iterable[Job], most: int, looks: _Looks) -> set[JobId]:
    """Take jobs as long as they cost no more than a share together, with those that were counted before."""
    return {job.id for job in takewhile(lambda job: looks.take(job, most), jobs)}


def _id(job: Job) -> str:
    return job.id
