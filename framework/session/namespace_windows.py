"""Namespace windows: which pending jobs of a namespace a cycle tries, if the namespace has too many unlike ones.

Each template is asked about over all nodes, and its refusal explained, so that thousands of jobs of which no two are
alike cost everybody's cycle seconds. So a namespace has a share of templates. Where its waiting jobs have more, half of
the share goes to the first of them, by priority and age, and half goes round among the others: in each cycle those
follow by name that did not have their turn yet. Jobs are taken whole. All others are left out: they are not tried, and
what they were told stands. Whose turn is next outlives the cycle in its memory.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pyroclast.framework.session.memory import Round
from pyroclast.model.ids import JobId
from pyroclast.model.jobs import Job
from pyroclast.model.refusals import Refusal
from pyroclast.model.sealed import SealedDict
from pyroclast.model.tasks import TaskStatus

__all__ = ["MOST_TEMPLATES", "NO_WINDOW", "SHARE_USED", "NamespaceWindow", "share_used", "window"]

MOST_TEMPLATES: Final = 256
"""Templates of waiting jobs of one namespace that are looked at in a cycle."""
SHARE_USED: Final = "NamespaceShareUsed"
"""Reason of a refusal: the job was not tried, since its namespace had used up its share of the cycle."""


@dataclass(frozen=True, slots=True)
class NamespaceWindow:
    """What a cycle leaves out."""

    left_out: Mapping[JobId, Refusal] = field(default_factory=SealedDict)
    """Jobs that are not tried, and why."""
    rounds: Mapping[str, Round] = field(default_factory=SealedDict)
    """By namespace how far the cycle came."""

    def is_whole(self, generation: int) -> bool:
        """Return whether all jobs were tried on a snapshot, by its generation, in this cycle and those before."""
        return all(each.is_over and each.since == generation for each in self.rounds.values())


NO_WINDOW: Final = NamespaceWindow()


def window(jobs: Iterable[Job], most: int, rounds: Mapping[str, Round], generation: int) -> NamespaceWindow:
    """Choose the jobs of a cycle.

    Args:
        jobs: Those that wait and may be left out.
        most: The share of a namespace, in templates.
        rounds: How far the last cycle came.
        generation: That of the snapshot.
    """
    by_namespace: dict[str, list[Job]] = {}
    unlike: dict[str, set[int]] = {}
    for job in jobs:
        by_namespace.setdefault(job.namespace, []).append(job)
        unlike.setdefault(job.namespace, set()).update(_templates(job))
    left_out: dict[JobId, Refusal] = {}
    reached: dict[str, Round] = {}
    for namespace in sorted(each for each, templates in unlike.items() if len(templates) > most):
        others, reached[namespace] = _left_out(by_namespace[namespace], most, rounds.get(namespace), generation)
        left_out |= dict.fromkeys(others, share_used("scheduler", "the scheduler's time", namespace))
    return NamespaceWindow(SealedDict(left_out), SealedDict(reached)) if reached else NO_WINDOW


def share_used(plugin: str, of_what: str, namespace: str) -> Refusal:
    """Say that a job was not tried in this cycle."""
    message = f"namespace {namespace} has used up its share of {of_what} in this cycle; its jobs are tried in turn"
    return Refusal(plugin=plugin, reason=SHARE_USED, message=message)


def _left_out(jobs: Sequence[Job], most: int, known: Round | None, generation: int) -> tuple[set[JobId], Round]:
    """Return which jobs of a namespace are not tried, and how far its round came."""
    templates: set[int] = set()
    first = _taken(sorted(jobs, key=lambda job: (-job.priority, job.created, job.id)), most // 2, templates)
    others = sorted({job.id: job for job in jobs if job.id not in first}.items())
    after, since = (known.after, known.since) if known is not None and known.after else ("", generation)
    left = [job for job_id, job in others if job_id > after]
    if not left:
        left, since = [job for _, job in others], generation
    taken = _taken(left, most, templates) or {left[0].id}
    is_over = len(taken) == len(left)
    reached = Round(after="" if is_over else max(taken), since=since, is_over=is_over)
    return {job_id for job_id, _ in others} - taken, reached


def _taken(jobs: Iterable[Job], most: int, templates: set[int]) -> set[JobId]:
    """Take jobs as long as they have no more than so many templates together, those included that are known."""
    taken: set[JobId] = set()
    for job in jobs:
        fresh = _templates(job) - templates
        if len(templates) + len(fresh) > most:
            break
        templates |= fresh
        taken.add(job.id)
    return taken


def _templates(job: Job) -> set[int]:
    return {task.template.number for task in job.tasks.values() if task.status is TaskStatus.PENDING}
