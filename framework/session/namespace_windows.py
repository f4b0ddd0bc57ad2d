"""Namespace windows: which pending jobs of a namespace a cycle tries, if the namespace has too many unlike ones.

Each template is asked about over all nodes, and its refusal explained, so that thousands of jobs of which no two are
alike cost every cycle seconds. So a namespace has a share of templates. Where its waiting jobs have more, half of
the share goes to the first of them, by priority and age, and half goes round among the others: in each cycle those
follow by name that did not have their turn yet. Where they have more than four times as many, the namespace has a
quarter of its share. Jobs are taken whole. All others are left out: they are not tried, and their last reasons stand.
The next turn outlives the cycle in its memory.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Final, Protocol

import numpy as np

from pyroclast.framework.session.memory import Round
from pyroclast.model.ids import JobId
from pyroclast.model.jobs import Job
from pyroclast.model.refusals import Refusal
from pyroclast.model.sealed import SealedDict

__all__ = [
    "MOST_NAMESPACES",
    "MOST_TEMPLATES",
    "NO_WINDOW",
    "SHARE_USED",
    "EachJob",
    "Looks",
    "NamespaceWindow",
    "namespaces_in_turn",
    "share_far_beyond",
    "share_of_each",
    "share_used",
    "window",
]

MOST_TEMPLATES: Final = 64
"""Maximum number of templates of one namespace's waiting jobs that are tried in a cycle."""
_REFUSED_PER_TEMPLATE: Final = 4
"""Pods with rules about other pods, refused before, that cost as much as a template: each equal one is asked about."""
_WHOLE_SHARES: Final = 4
"""Namespaces that have a whole share each; where there are more they divide as much among them."""
_FAR_BEYOND: Final = 4
"""A namespace with as many times the work of its share has this part of it in a cycle: a quarter."""
_SMALLEST_PART: Final = 8
"""A namespace has at least this part of a share: an eighth."""
MOST_NAMESPACES: Final = _WHOLE_SHARES * _SMALLEST_PART
"""Namespaces beyond their share that have a part of one in a cycle; more of them take turns."""
_NOT_BEGUN: Final = Round(after="", since=-1, is_over=False)
SHARE_USED: Final = "NamespaceShareUsed"
"""Reason of a refusal: the job was not tried, since its namespace had used up its share of the cycle."""


@dataclass(frozen=True, slots=True)
class NamespaceWindow:
    """Jobs that a cycle leaves out."""

    left_out: Mapping[JobId, Refusal] = field(default_factory=SealedDict)
    """Jobs that are not tried, and why."""
    rounds: Mapping[str, Round] = field(default_factory=SealedDict)
    """Progress of the cycle, by namespace."""
    admission_rounds: Mapping[str, Round] = field(default_factory=SealedDict)
    """The same for jobs at admission."""

    def is_whole(self, generation: int) -> bool:
        """Return whether all jobs were tried on a snapshot, by its generation, in this cycle and those before."""
        rounds = (*self.rounds.values(), *self.admission_rounds.values())
        return all(each.is_over and each.since == generation for each in rounds)

    def takes_turns(self, namespace: str) -> bool:
        """Return whether not all jobs of a namespace are tried in this cycle."""
        return namespace in self.rounds or namespace in self.admission_rounds

    def joined(self, other: "NamespaceWindow") -> "NamespaceWindow":
        """Return both together."""
        return NamespaceWindow(
            left_out=SealedDict({**self.left_out, **other.left_out}),
            rounds=SealedDict({**self.rounds, **other.rounds}),
            admission_rounds=SealedDict({**self.admission_rounds, **other.admission_rounds}),
        )


NO_WINDOW: Final = NamespaceWindow()


class Looks(Protocol):
    """Cost of trying jobs of one namespace, as far as they were counted."""

    def take(self, job: Job, most: int) -> bool:
        """Count a job, unless it costs more than is left of a share; return whether it is counted."""
        ...


def window(
    jobs: Iterable[Job],
    most: int,
    rounds: Mapping[str, Round],
    generation: int,
    *,
    cycle: int,
    looks: Callable[[], Looks] | None = None,
) -> NamespaceWindow:
    """Choose the jobs of a cycle.

    Args:
        jobs: Those that wait and may be left out, in the order of their ids.
        most: A whole share of a namespace, in templates, or in what `looks` counts.
        rounds: How far the last cycle came.
        generation: That of the snapshot.
        cycle: Number of the cycle. It decides which namespaces have a turn, if there are too many.
        looks: Makes a count of costs; templates if None.
    """
    looks = looks or _Templates
    by_namespace: dict[str, list[Job]] = {}
    for job in jobs:
        by_namespace.setdefault(job.namespace, []).append(job)
    left_out: dict[JobId, Refusal] = {}
    reached: dict[str, Round] = {}
    least = share_of_each(most, len(by_namespace))
    many = {
        namespace: waiting for namespace, waiting in sorted(by_namespace.items()) if _exceeds(waiting, least, looks())
    }
    share = share_of_each(most, len(many))
    now = namespaces_in_turn(many, cycle)
    for namespace, waiting in many.items():
        if namespace not in now:
            others, reached[namespace] = [job.id for job in waiting], rounds.get(namespace, _NOT_BEGUN)
        elif _exceeds(waiting, share, looks()):
            is_far = _exceeds(waiting, _FAR_BEYOND * share, looks())
            part = share_far_beyond(share) if is_far else share
            others, reached[namespace] = _left_out(waiting, part, rounds.get(namespace), generation, looks())
        else:
            continue
        left_out |= dict.fromkeys(others, share_used("scheduler", "the scheduler's time", namespace))
    return NamespaceWindow(SealedDict(left_out), SealedDict(reached)) if reached else NO_WINDOW


def namespaces_in_turn(names: Iterable[str], cycle: int) -> frozenset[str]:
    """Return which of some namespaces have a part of a share in a cycle: all, or so many that the sum is bounded."""
    ordered = sorted(names)
    groups = -(-len(ordered) // MOST_NAMESPACES)
    return frozenset(ordered[cycle % groups :: groups]) if groups > 1 else frozenset(ordered)


def share_of_each(most: int, namespaces: int) -> int:
    """Return the share of each of some namespaces in a cycle: a whole one, or of many a part, at least an eighth."""
    return max(min(most, _WHOLE_SHARES * most // max(namespaces, 1)), most // _SMALLEST_PART, 1)


def share_far_beyond(share: int) -> int:
    """Return what a namespace has of its share if it has far more work, so that cycles are short for others."""
    return max(share // _FAR_BEYOND, 1)


def share_used(plugin: str, of_what: str, namespace: str) -> Refusal:
    """Refuse because a job was not tried in this cycle."""
    message = f"namespace {namespace} has used up its share of {of_what} in this cycle; its jobs are tried in turn"
    return Refusal(plugin=plugin, reason=SHARE_USED, message=message)


class EachJob:
    """Cost of trying jobs if each costs the same."""

    def __init__(self) -> None:
        self._jobs = 0

    def take(self, job: Job, most: int) -> bool:  # noqa: ARG002  # all cost the same
        """Count a job, unless it costs more than is left of a share; return whether it is counted."""
        if self._jobs >= most:
            return False
        self._jobs += 1
        return True


class _Templates:
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


def _exceeds(jobs: Sequence[Job], most: int, looks: Looks) -> bool:
    """Return whether jobs cost more than a share together."""
    return not all(looks.take(job, most) for job in jobs)


def _left_out(
    jobs: Sequence[Job], most: int, known: Round | None, generation: int, looks: Looks
) -> tuple[list[JobId], Round]:
    """Return which jobs of a namespace are not tried, and how far its round came."""
    first = _taken(_by_rank(jobs), most // 2, looks)
    others = [job for job in jobs if job.id not in first]
    after, since = (known.after, known.since) if known is not None and known.after else ("", generation)
    begin = bisect_right(others, after, key=_id)
    if begin == len(others):
        begin, since = 0, generation
    taken = _taken(others[begin:], most, looks) or {others[begin].id}
    is_over = begin + len(taken) == len(others)
    # after a whole round on this snapshot it stays over, or namespaces with rounds of several lengths would never rest
    stays_over = known is not None and known.is_over and known.since == since == generation
    reached = Round(after="" if is_over else max(taken), since=since, is_over=is_over or stays_over)
    return [job.id for job in others if job.id not in taken], reached


def _by_rank(jobs: Sequence[Job]) -> Iterator[Job]:
    """Yield jobs, in the order of their ids, by priority and then by age. Only the first ones are tried."""
    priorities = np.fromiter((job.priority for job in jobs), dtype=np.int64, count=len(jobs))
    created = np.fromiter((job.created for job in jobs), dtype=np.float64, count=len(jobs))
    for position in np.lexsort((created, -priorities)):
        yield jobs[position]


def _taken(jobs: Iterable[Job], most: int, looks: Looks) -> set[JobId]:
    """Take jobs as long as they cost no more than a share together, with those that were counted before."""
    return {job.id for job in takewhile(lambda job: looks.take(job, most), jobs)}


def _id(job: Job) -> str:
    return job.id
