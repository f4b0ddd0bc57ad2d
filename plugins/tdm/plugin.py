"""Tdm: revocable nodes are used only in their daily window, and only by tasks that opt in.

Points: predicate, node order, preemptable, victim tasks, job order, job pipelined, job starving.  Arguments: `TdmArgs`.
Rules and example: docs/plugins/tdm.md.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from fractions import Fraction
from functools import partial
from typing import Final
from zoneinfo import ZoneInfo

import numpy as np

from pyroclast.framework.configuration.arguments import argument
from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Locality, Move, Plugin, Vote
from pyroclast.framework.preemption.victim_gangs import active_count
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.framework.state.nodes import NodeColumns
from pyroclast.model.arrays import FloatArray, IntArray, ReasonArray
from pyroclast.model.durations import parse_duration
from pyroclast.model.refusals import Reason
from pyroclast.model.tasks import Task, TaskStatus
from pyroclast.plugins.tdm.budgets import cut, has_budget, most_of
from pyroclast.plugins.tdm.windows import Window, parse_window

__all__ = ["Tdm", "TdmArgs"]

SCORE: Final = 100.0
STRATEGY: Final = "tdm"
MOST_NAMED: Final = 252
"""Maximum number of zones with their own reason: verdicts are bytes, and three other values are needed."""


def _period(value: object) -> Fraction:
    seconds = parse_duration(value) if isinstance(value, str) else None
    if seconds is None or seconds < 0:
        raise ValueError("a duration of at least 0, such as 1m")
    return seconds


def _zone(value: object) -> tzinfo:
    try:
        return ZoneInfo(value if isinstance(value, str) else "")
    except (KeyError, OSError, ValueError) as error:  # an unknown name is a KeyError
        raise ValueError("the name of a time zone, such as Europe/Berlin") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class TdmArgs:
    """Arguments of tdm, spelled as in the configuration file."""

    windows: Mapping[str, Window] = argument(None, {}, prefix="tdm.revocable-zone.", parse=parse_window)
    """Daily window of each zone."""
    period: Fraction = argument("tdm.evict.period", Fraction(60), parse=_period)
    """Minimum time between two searches for victims, a Go duration, stored in seconds."""
    whole_gangs: bool = argument("tdm.evict.wholeGangs", True)
    """Whether a gang without a budget of its own is evicted whole if it cannot spare a task on a closed node."""
    zone: tzinfo = argument("tdm.timezone", UTC, parse=_zone)
    """Time zone of the windows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tdm(Plugin):
    """Use revocable nodes by the time of day."""

    name = "tdm"
    watches_clock = True
    args: TdmArgs = field(default_factory=TdmArgs)

    def on_session_open(self, session: Session) -> None:
        """Register every extension point this plugin serves."""
        zones = Zones(session, self.args)
        if zones.revocable.any():
            session.extensions.register(
                contract.PREDICATE, self.name, zones.verdicts, locality=Locality.FACTS, reasons=zones.reasons
            )
            session.extensions.register(contract.NODE_ORDER, self.name, zones.scores, locality=Locality.FACTS)
        session.extensions.register(
            contract.PREEMPTABLE, self.name, zones.preemptable, together=zones.preemptable_whole
        )
        session.extensions.register(contract.JOB_ORDER, self.name, is_preemptable)
        session.extensions.register(contract.JOB_PIPELINED, self.name, pipelined_vote)
        session.extensions.register(contract.JOB_STARVING, self.name, is_starving)
        last = session.report.runs.get(session.extensions.option.instance)
        if last is None or Fraction(last) + self.args.period <= Fraction(session.now):
            session.extensions.register(
                contract.VICTIM_TASKS, self.name, partial(_searched, session, session.extensions.option.instance, zones)
            )


def _searched(session: Session, instance: str, zones: "Zones", tasks: Sequence[Task]) -> Iterable[Move]:
    """Return tasks to evict, and record the run. An earlier tier may decide, so that no search takes place."""
    session.report.note_run(instance, session.now)
    return zones.overdue(tasks)


class Zones:
    """The nodes of one session by zone; N nodes."""

    def __init__(self, session: Session, args: TdmArgs) -> None:
        self._session = session
        self._windows = args.windows
        self._whole_gangs = args.whole_gangs
        nodes = session.nodes.facts.nodes
        names = sorted({node.revocable_zone for node in nodes if node.revocable_zone})
        self._open = {name for name in names if self._is_open(name, args)}
        codes = {name: number for number, name in enumerate(names, start=1)}
        self._codes: IntArray = np.array([codes.get(node.revocable_zone, 0) for node in nodes], dtype=np.int64)
        """Number of each node's zone, from 1; 0 if the node is not revocable, shape (N,)."""
        self._names = ("", *names)
        self.revocable = self._codes > 0
        self._refusals: ReasonArray = np.minimum(self._codes, MOST_NAMED + 1).astype(np.uint8)
        closed = [Reason(self._why_closed(name), resolvable=False) for name in names[:MOST_NAMED]]
        if len(names) > MOST_NAMED:
            closed.append(Reason("current time beyond revocable zone", resolvable=False))
        self.reasons = (*closed, Reason("not allow to dispatch to revocable node", resolvable=False))
        is_open = np.array([False, *(name in self._open for name in names)])
        self._usable = is_open[self._codes]

    def _is_open(self, name: str, args: TdmArgs) -> bool:
        window = self._windows.get(name)
        return window is not None and window.is_open(self._session.now, args.zone)

    def _why_closed(self, name: str) -> str:
        window = self._windows.get(name)
        if window is None:
            return f"revocable zone {name} not support"
        return f"current time beyond revocable zone {name}:{window.text}"

    def verdicts(self, task: Task, columns: NodeColumns) -> ReasonArray:
        """Refuse revocable nodes outside their window, and for tasks that do not opt in."""
        usable = self._usable[columns.index]
        if_usable = 0 if task.revocable_zone else len(self.reasons)
        return np.where(usable, np.uint8(if_usable), self._refusals[columns.index])

    def scores(self, task: Task, columns: NodeColumns) -> FloatArray | None:
        """Prefer revocable nodes for tasks that may use them."""
        if not task.revocable_zone:
            return None
        return np.where(self._usable[columns.index], SCORE, 0.0)

    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> tuple[list[Task], Vote]:
        """Permit tasks that cannot use revocable nodes to preempt preemptable tasks on other nodes."""
        if preemptor.preemptable or preemptor.revocable_zone:
            return [], Vote.REJECT
        staying = (task for task in candidates if task.preemptable and self._runs_on(task, revocable=False))
        return cut(self._session, staying), Vote.PERMIT

    def preemptable_whole(self, preemptor: Task, _: Sequence[Task], gang: Sequence[Task]) -> tuple[list[Task], Vote]:
        """Permit the same for a gang that is evicted whole: its budget must permit all members."""
        return self.preemptable(preemptor, gang)

    def _runs_on(self, task: Task, *, revocable: bool) -> bool:
        column = None if task.node is None else self._session.nodes.table.column.get(task.node)
        running = task.status is TaskStatus.RUNNING
        return running and column is not None and bool(self.revocable[column]) is revocable

    def overdue(self, tasks: Sequence[Task]) -> Iterable[Move]:
        """Return tasks on nodes whose window is closed, as many of each job as its budget permits."""
        session = self._session
        by_job = sorted(tasks, key=lambda task: (task.job or "", session.jobs.task_order_key(task)), reverse=True)
        late = [
            task for task in by_job if task.preemptable and self._runs_on(task, revocable=True) and self._is_late(task)
        ]
        for task in cut(session, late):
            takes_gangs = self._takes_gang(task)
            yield Move(
                task=task,
                strategy=STRATEGY,
                budget=f"the window of zone {self._zone_of(task)} is closed",
                takes_gangs=takes_gangs,
                breaks_gangs=not takes_gangs,
            )

    def _takes_gang(self, task: Task) -> bool:
        """Return whether the gang of a task is evicted whole if it cannot spare the task.

        A budget below the size of the gang permits to break it: its owner states how many pods may be missing.
        """
        job = self._session.jobs.of(task)
        assert job is not None, "only tasks of jobs have a budget"
        return self._whole_gangs and (not has_budget(job) or most_of(job) >= active_count(job))

    def _is_late(self, task: Task) -> bool:
        name = self._zone_of(task)
        return name in self._windows and name not in self._open

    def _zone_of(self, task: Task) -> str:
        assert task.node is not None, "a running task has a node"
        return self._names[int(self._codes[self._session.nodes.table.column[task.node]])]


def is_preemptable(job: SessionJob) -> bool:
    """Return whether a job is declared preemptable; as a rank, False comes first."""
    return job.job.preemptable is True


def pipelined_vote(job: SessionJob) -> Vote:
    """Permit a job to keep its placements if pipelined tasks complete its minimum."""
    return Vote.PERMIT if job.is_pipelined else Vote.REJECT


def is_starving(job: SessionJob) -> bool:
    """Return whether a job may cause evictions: a preemptable job may not."""
    return not is_preemptable(job) and job.counts[TaskStatus.PENDING] > 0
