"""Coscheduling: members of gangs wait for each other, as in Koordinator.

The gangs of a job are its roles, and the plugin `gang` enforces their minimums. This plugin does the rest: incomplete
groups wait, members are ordered by gang, and members that are bound together are annotated.

Points: job valid, task order, node order; annotations of bindings; events about invalid gangs.
Arguments: `CoschedulingArgs`.  Rules and example: docs/plugins/coscheduling.md.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Locality, Plugin
from pyroclast.framework.placement.topology.attraction import (
    attraction_of,
    closeness_ranks,
    count_attraction,
    selector_of,
)
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.framework.state.nodes import NodeColumns
from pyroclast.model.arrays import FloatArray
from pyroclast.model.gangs import GangGroup
from pyroclast.model.gangs.names import BIND_ANNOTATIONS
from pyroclast.model.gangs.parser import read_index
from pyroclast.model.ids import JobId, TaskId
from pyroclast.model.refusals import Refusal
from pyroclast.model.report import EventNote
from pyroclast.model.required_rules import GATHERING
from pyroclast.model.tasks import Task
from pyroclast.plugins.coscheduling import endpoints as gang_endpoints
from pyroclast.plugins.coscheduling.arguments import CoschedulingArgs
from pyroclast.plugins.coscheduling.settings import NAME

__all__ = ["Coscheduling"]

MAX_SCORE: Final = 100
GANG_NOT_COMPLETE: Final = "GangNotComplete"
INVALID: Final = "GangInvalid"
"""Reason of events."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coscheduling(Plugin):
    """Schedule gangs from labels, annotations and pod groups of `scheduling.sigs.k8s.io`."""

    name = NAME
    watches_clock = False
    args: CoschedulingArgs = field(default_factory=CoschedulingArgs)

    def endpoints(self) -> Mapping[str, contract.Endpoint]:
        """Return the endpoints of gangs."""
        return {"gangs": gang_endpoints.gangs, "gang/{namespace}/{name}": gang_endpoints.gang}

    def on_session_open(self, session: Session) -> None:
        """Register every extension point this plugin serves; none if the cluster has no gangs."""
        if self.args.gathers:
            session.extensions.register_rule(self.name, GATHERING)
            if session.snapshot.layers is not None:
                self._attract(session)
        gangs = session.snapshot.gangs
        if not gangs:
            return
        session.extensions.register(contract.JOB_VALID, self.name, lambda job: refuse_incomplete(gangs, job))
        session.extensions.register(contract.TASK_ORDER, self.name, lambda task: rank(gangs, task), within_job=True)
        session.extensions.register_plan_annotations(self.name, lambda tasks: group_annotations(gangs, tasks))
        session.extensions.on_close(self.name, lambda: record_faults(session, gangs))

    def _attract(self, session: Session) -> None:
        count_attraction(session, self.name)
        weight = self.args.selector_weight
        if weight:
            session.extensions.register(
                contract.NODE_ORDER,
                self.name,
                lambda task, columns: closeness_scores(session, task, columns, weight),
                locality=Locality.GLOBAL,
                cares=lambda task: bool(selector_of(task)),
                weight=weight,
                part="network topology selector",
            )


def closeness_scores(session: Session, task: Task, columns: NodeColumns, weight: int) -> FloatArray | None:
    """Score candidates by their rank, from the weight times 100 for the first down to 0, shape (columns,)."""
    attraction = attraction_of(session, task)
    if attraction is None:
        return None
    ranks = closeness_ranks(session.topology.tree_of_layers(), attraction, columns.index)
    scores: FloatArray = weight * (MAX_SCORE - MAX_SCORE * ranks // max(len(columns) - 1, 1)).astype(np.float64)
    return scores


def refuse_incomplete(gangs: Mapping[JobId, GangGroup], job: SessionJob) -> Refusal | None:
    """Refuse a group with gangs that lack their minimum of pods."""
    group = gangs.get(job.id)
    if group is None or not group.refusal:
        return None
    return Refusal(plugin=NAME, reason=GANG_NOT_COMPLETE, message=group.refusal, resolvable=False)


def rank(gangs: Mapping[JobId, GangGroup], task: Task) -> tuple[Any, ...]:
    """Rank a member by gang, then by its index if it has one, then by priority, age and name."""
    if task.job not in gangs:
        return ()
    index = read_index(task.pod.metadata)
    return task.role, index is None, index or 0, -task.priority, task.created, task.name


def group_annotations(gangs: Mapping[JobId, GangGroup], tasks: Sequence[Task]) -> dict[TaskId, dict[str, str]]:
    """Return the annotations of members that one plan binds together: the gang group's id and the number of members."""
    groups = {task.id: gangs[task.job] for task in tasks if task.job is not None and task.job in gangs}
    sizes = Counter(group.id for group in groups.values() if group.waits)
    return {
        task_id: {
            key: text
            for keys in BIND_ANNOTATIONS
            for key, text in zip(keys, (group.id, str(sizes[group.id])), strict=True)
        }
        for task_id, group in groups.items()
        if sizes[group.id] > 1
    }


def record_faults(session: Session, gangs: Mapping[JobId, GangGroup]) -> None:
    """Record an event for each fault of a gang, once, on the gang's oldest member.

    A gang without members, or of a job outside the snapshot, gets its events later, when it has members.
    """
    for job_id, group in gangs.items():
        job = session.snapshot.jobs.get(job_id)
        noted = [(gang.id, note) for gang in group.gangs for note in gang.notes]
        if job is None or not noted:
            continue
        there = {task.role for task in job.tasks.values()}
        news = [
            (gang, note)
            for gang, note in noted
            if gang in there
            and session.report.is_news(f"Gang/{note.kind}/{note.name}/{note.path}", note.message, job=job_id)
        ]
        if news:
            by_age = sorted(job.tasks.values(), key=lambda task: (task.created, task.name, task.id), reverse=True)
            oldest = {task.role: task for task in by_age}
            session.report.record_events(*(_event(oldest[gang], str(note)) for gang, note in news))


def _event(task: Task, message: str) -> EventNote:
    return EventNote(
        kind="Pod",
        namespace=task.namespace,
        name=task.name,
        uid=task.id,
        type="Warning",
        reason=INVALID,
        message=message,
    )
