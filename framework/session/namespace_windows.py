"""Namespace windows: which pending jobs of a namespace a cycle tries, if the namespace has too many unlike ones.

Each template is asked about over all nodes, and its refusal explained, so that thousands of jobs of which no two are
alike cost every cycle seconds. So a namespace has a share of templates. Where its waiting jobs have more, half of
the share goes to the first of them, by priority and age, and half goes round among the others: in each cycle those
follow by name that did not have their turn yet. Where they have more than four times as many, the namespace has a
quarter of its share. Jobs are taken whole. All others are left out: they are not tried, and their last reasons stand.
The next turn outlives the cycle in its memory.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Final, Protocol

import numpy as np

from pyroclast.framework.session.memory import Round
from pyroclast.model.arrays import IntArray
from pyroclast.model.jobs import MANY_TEMPLATES, Job, JobTable
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
    "share_of_templates",
    "share_used",
    "window",
    "window_of",
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
NO_ROUNDS: Final[Mapping[str, Round]] = SealedDict()
_NOT_BEGUN: Final = Round(after="", since=-1, is_over=False)
SHARE_USED: Final = "NamespaceShareUsed"
"""Reason of a refusal: the job was not tried, since its namespace had used up its share of the cycle."""


@dataclass(frozen=True, slots=True)
class NamespaceWindow:
    """Jobs that a cycle leaves out."""

    numbers: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """For each column of the job table the number of its refusal, from 1; 0 for jobs that are not left out. Shape (J,),
    or (0,) if no job is."""
    refusals: tuple[Refusal, ...] = ()
    """Why jobs are not tried, one for each number."""
    rounds: Mapping[str, Round] = field(default_factory=SealedDict)
    """Progress of the cycle, by namespace."""
    admission_rounds: Mapping[str, Round] = field(default_factory=SealedDict)
    """The same for jobs at admission."""

    def leaves_out(self, job: Job) -> bool:
        """Return whether a job is not tried."""
        return job.column < self.numbers.size and bool(self.numbers[job.column])

    def refusal_of(self, job: Job) -> Refusal:
        """Return why a job that is left out is not tried."""
        return self.refusals[int(self.numbers[job.column]) - 1]

    def left_out(self, table: JobTable) -> IntArray:
        """Return the columns of the jobs that are not tried, in the order of their ids."""
        return table.in_order(self.numbers > 0) if self.refusals else np.zeros(0, dtype=np.int64)

    def is_whole(self, generation: int) -> bool:
        """Return whether all jobs were tried on a snapshot, by its generation, in this cycle and those before."""
        rounds = (*self.rounds.values(), *self.admission_rounds.values())
        return all(each.is_over and each.since == generation for each in rounds)

    def takes_turns(self, namespace: str) -> bool:
        """Return whether not all jobs of a namespace are tried in this cycle."""
        return namespace in self.rounds or namespace in self.admission_rounds

    def joined(self, other: "NamespaceWindow") -> "NamespaceWindow":
        """Return both together, of the same job table."""
        both = [each.numbers for each in (self, other) if each.refusals]
        numbers = both[0] if len(both) == 1 else self.numbers
        if len(both) > 1:
            numbers = np.where(other.numbers > 0, other.numbers + len(self.refusals), self.numbers)
            numbers.flags.writeable = False
        return NamespaceWindow(
            numbers=numbers,
            refusals=self.refusals + other.refusals,
            rounds=SealedDict({**self.rounds, **other.rounds}),
            admission_rounds=SealedDict({**self.admission_rounds, **other.admission_rounds}),
        )


NO_WINDOW: Final = NamespaceWindow()


class Looks(Protocol):
    """Cost of trying jobs of one namespace, as far as they were counted."""

    def take(self, job: Job, most: int) -> bool:
        """Count a job, unless it costs more than is left of a share; return whether it is counted."""
        ...

    @staticmethod
    def cost(table: JobTable, columns: IntArray, most: int) -> int:
        """Return what jobs cost together, or any number above `most` if it is more."""
        ...


def window(
    table: JobTable,
    columns: IntArray,
    most: int,
    rounds: Mapping[str, Round],
    generation: int,
    *,
    cycle: int,
    looks: type[Looks] | None = None,
) -> NamespaceWindow:
    """Choose the jobs of a cycle.

    Args:
        table: The jobs.
        columns: Those that wait and may be left out, in the order of their ids.
        most: A whole share of a namespace, in templates, or in what `looks` counts.
        rounds: How far the last cycle came.
        generation: That of the snapshot.
        cycle: Number of the cycle. It decides which namespaces have a turn, if there are too many.
        looks: Makes a count of costs; templates if None.
    """
    looks = looks or _Templates
    by_namespace = table.by_namespace(columns)
    left_out: dict[str, IntArray] = {}
    reached: dict[str, Round] = {}
    least = share_of_each(most, len(by_namespace))
    costs = {name: looks.cost(table, waiting, _FAR_BEYOND * most) for name, waiting in by_namespace.items()}
    many = {name: waiting for name, waiting in by_namespace.items() if costs[name] > least}
    share = share_of_each(most, len(many))
    now = namespaces_in_turn(many, cycle)
    for namespace, waiting in many.items():
        if namespace not in now:
            left_out[namespace], reached[namespace] = waiting, rounds.get(namespace, _NOT_BEGUN)
        elif costs[namespace] > share:
            part = share_far_beyond(share) if costs[namespace] > _FAR_BEYOND * share else share
            left_out[namespace], reached[namespace] = _left_out(
                table, waiting, part, looks(), known=rounds.get(namespace), generation=generation
            )
    if not reached:
        return NO_WINDOW
    refusals = {name: share_used("scheduler", "the scheduler's time", name) for name in left_out}
    return window_of(table, left_out, refusals, rounds=reached)


def window_of(
    table: JobTable,
    left_out: Mapping[str, IntArray],
    refusals: Mapping[str, Refusal],
    *,
    rounds: Mapping[str, Round] = NO_ROUNDS,
    admission_rounds: Mapping[str, Round] = NO_ROUNDS,
) -> NamespaceWindow:
    """Leave out jobs, given by namespace as columns of a table, with the reason of each namespace."""
    numbers = np.zeros(table.queue.size, dtype=np.int64)
    for number, columns in enumerate(left_out.values(), start=1):
        numbers[columns] = number
    numbers.flags.writeable = False
    return NamespaceWindow(
        numbers=numbers,
        refusals=tuple(refusals[name] for name in left_out),
        rounds=SealedDict(rounds),
        admission_rounds=SealedDict(admission_rounds),
    )


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


def share_of_templates(templates: int) -> int:
    """Return how many of a namespace's different templates are looked at in a cycle."""
    return share_far_beyond(MOST_TEMPLATES) if templates > _FAR_BEYOND * MOST_TEMPLATES else MOST_TEMPLATES


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

    @staticmethod
    def cost(table: JobTable, columns: IntArray, most: int) -> int:  # noqa: ARG004  # all cost the same
        """Return the number of jobs."""
        return columns.size


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

    @staticmethod
    def cost(table: JobTable, columns: IntArray, most: int) -> int:
        """Return what jobs cost together, or any number above `most` if it is more."""
        only = table.waiting_template[columns]
        templates, refused = set(np.unique(only[only >= 0]).tolist()), 0
        for job in table.jobs_in(columns[only == MANY_TEMPLATES]):
            if len(templates) + refused // _REFUSED_PER_TEMPLATE > most:
                break
            templates.update(number for number, _ in job.waiting)
            refused += job.refused_by_others
        return len(templates) + refused // _REFUSED_PER_TEMPLATE


def _left_out(
    table: JobTable, columns: IntArray, most: int, looks: Looks, *, known: Round | None, generation: int
) -> tuple[IntArray, Round]:
    """Return which jobs of a namespace are not tried, and how far its round came."""
    first = _taken(table, _by_rank(table, columns), most // 2, looks)
    others = np.delete(columns, np.flatnonzero(np.isin(columns, first)))
    after, since = (known.after, known.since) if known is not None and known.after else ("", generation)
    begin = bisect_right(others, after, key=lambda column: _id(table, column))
    if begin == len(others):
        begin, since = 0, generation
    taken = max(len(_taken(table, others[begin:], most, looks)), 1)
    is_over = begin + taken == len(others)
    # after a whole round on this snapshot it stays over, or namespaces with rounds of several lengths would never rest
    stays_over = known is not None and known.is_over and known.since == since == generation
    last = "" if is_over else _id(table, others[begin + taken - 1])
    return np.delete(others, slice(begin, begin + taken)), Round(after=last, since=since, is_over=is_over or stays_over)


def _by_rank(table: JobTable, columns: IntArray) -> IntArray:
    """Return columns, given in the order of the ids of their jobs, by priority and then by age."""
    ordered: IntArray = columns[np.lexsort((table.created[columns], -table.priority[columns]))]
    return ordered


def _taken(table: JobTable, columns: IntArray, most: int, looks: Looks) -> IntArray:
    """Take jobs as long as they cost no more than a share together, with those that were counted before."""
    number = sum(1 for _ in takewhile(lambda job: looks.take(job, most), table.jobs_in(columns)))
    return columns[:number]


def _id(table: JobTable, column: int) -> str:
    job = table.jobs[column]
    return "" if job is None else job.id
