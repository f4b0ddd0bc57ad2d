"""Examining pods in a running daemon: the last cycle is decided once more, in the cycle's thread, and dropped.

Requests wait for one another, and at most a few may wait, so that callers cannot keep the thread from its cycles.
"""

import asyncio
from collections.abc import Callable, Collection, Sequence
from itertools import chain, islice
from typing import Any, Final

import structlog

from pyroclast.framework.session.ownership import tasks_of_profile
from pyroclast.framework.session.shadows.tracing import Tracing
from pyroclast.model.examination import Examination
from pyroclast.model.ids import JobId, TaskId
from pyroclast.model.tasks import TaskStatus
from pyroclast.scheduler.daemon.cycle_thread import CycleThread
from pyroclast.scheduler.daemon.daemon import Seen
from pyroclast.scheduler.monitoring.debug_endpoints import BusyError
from pyroclast.scheduler.monitoring.debug_flags import DebugFlags
from pyroclast.scheduler.monitoring.examinations import chooser, examination_json, names_in

__all__ = ["MOST_WAITING", "PodExaminer"]

MOST_WAITING: Final = 4
"""Maximum number of requests that wait; further ones are refused."""
MOST_LOGGED: Final = 100
"""Maximum number of pods of one cycle whose tables are logged."""
_NODES_LOGGED: Final = 10
"""Nodes that a log line names for each rule."""

_log = structlog.get_logger(__name__)


class PodExaminer:
    """Examines pods of the last cycle."""

    def __init__(self, seen: Callable[[], Seen | None], thread: CycleThread, *, seed: int) -> None:
        """Examine what `seen` returns, in a thread. `seed` is that of all cycles."""
        self._seen, self._thread, self._seed = seen, thread, seed
        self._lock = asyncio.Lock()
        self._waiting = 0

    async def explain(self, name: str, node_limit: int) -> list[dict[str, Any]] | None:
        """Return the examinations of the pods that a name means; None if there is no cycle or no such pod.

        Raises:
            BusyError: Too many requests wait.
        """
        if self._waiting >= MOST_WAITING:
            raise BusyError
        self._waiting += 1
        try:
            async with self._lock:
                seen = self._seen()
                # The thread also looks for the name, since that reads every task of the cluster.
                return None if seen is None else await self._thread.run(self._examine_named, seen, name, node_limit)
        finally:
            self._waiting -= 1

    def _examine_named(self, seen: Seen, name: str, node_limit: int) -> list[dict[str, Any]] | None:
        tasks = names_in(seen.snapshot, (name,))
        return [examination_json(each) for each in self._examine(seen, tasks, node_limit)] if tasks else None

    def log(self, seen: Seen, flags: DebugFlags) -> None:
        """Log the tables and reasons of a cycle that the flags select. Called in the cycle's thread."""
        if flags.diagnosis:
            _log_diagnosis(seen)
        placed = [bind.task for plan in seen.report.plans for bind in plan.binds] if flags.scores else []
        refused = list(seen.report.task_refusals) if flags.filters else []
        tasks = frozenset([*placed, *refused][:MOST_LOGGED])
        if not tasks:
            return
        for each in self._examine(seen, tasks, max(flags.scores, _NODES_LOGGED)):
            if flags.scores and each.scores:
                _log.info("node_scores", pod=each.pod, node=each.node, scores=_ranked(each)[: flags.scores])
            if flags.filters:
                for refusal in each.refusals:
                    _log.info(
                        "node_refusals",
                        pod=each.pod,
                        plugin=refusal.plugin,
                        reason=refusal.reason,
                        count=refusal.count,
                        nodes=refusal.nodes[:_NODES_LOGGED],
                    )

    def _examine(self, seen: Seen, tasks: Collection[TaskId], node_limit: int) -> Sequence[Examination]:
        """Examine each task in the session of its profile."""
        found: list[Examination] = []
        for each in seen.turns or (seen,):
            own = own_tasks(each, tasks)
            if each.inputs is None or not own:
                continue
            tracing = Tracing(chooser(own), node_limit=node_limit)
            each.inputs.decide_again(each.snapshot, seed=self._seed, tracing=tracing)
            found += tracing.examinations()
        return found


def _log_diagnosis(seen: Seen) -> None:
    """Log the reasons of waiting pods and of their jobs: those of the cycle, which is not decided again for this."""
    snapshot, report = seen.snapshot, seen.report
    of_jobs = ((task, job.id) for job in snapshot.jobs.values() for task in job.tasks.values())
    of_none = ((each.task, JobId("")) for each in snapshot.orphan_pods)
    waiting = (
        (task, job)
        for task, job in chain(of_jobs, of_none)
        if task.status is TaskStatus.PENDING and (task.id in report.task_refusals or job in report.refusals)
    )
    for task, job in islice(waiting, MOST_LOGGED):
        reasons = {"pod": report.task_refusals.get(task.id, ()), "job": report.refusals.get(job, ())}
        _log.info(
            "pod_diagnosis",
            pod=task.key,
            job=job,
            reasons=[
                {
                    "of": subject,
                    "plugin": each.plugin,
                    "reason": each.reason,
                    "message": each.text,
                    "action": each.action,
                }
                for subject, refusals in reasons.items()
                for each in refusals
            ],
        )


def own_tasks(seen: Seen, tasks: Collection[TaskId]) -> frozenset[TaskId]:
    """Return the tasks that the profile of a session decides about."""
    if seen.inputs is None:
        return frozenset(tasks)
    return tasks_of_profile(seen.snapshot, seen.inputs.configuration, tasks)


def _ranked(examination: Examination) -> list[dict[str, Any]]:
    """Return the rows of the table: rank, node, score, and a column for each plugin."""
    labels = [column.label for column in examination.columns]
    return [
        {"#": rank, "node": each.node, "score": each.total, **dict(zip(labels, each.weighted, strict=True))}
        for rank, each in enumerate(examination.scores, start=1)
    ]
