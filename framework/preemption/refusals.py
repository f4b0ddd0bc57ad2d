"""Refusals: why no evictions make enough capacity available, as counts of nodes by cause.

Each node counts once. Only what seldom changes is put into words; counts stand in the refusal beside them.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

import numpy as np

from pyroclast.framework.placement.gangs.refusals import SEARCH_ENDED
from pyroclast.framework.session.session import Session
from pyroclast.model.arrays import BoolArray
from pyroclast.model.refusals import NO_PLAN, Refusal
from pyroclast.model.tasks import Task

__all__ = [
    "ALL_SPARED",
    "NO_HELP",
    "NO_ROOM",
    "NO_VICTIMS",
    "OUT_OF_TURN",
    "QUEUE_FULL",
    "TOO_FEW_GO",
    "TOO_FEW_TASKS",
    "TRIED_BEFORE",
    "count_by_reason",
    "no_domain",
    "no_plan",
    "search_ended",
    "too_few_tasks",
    "whoever_goes",
]

NO_HELP: Final = "node(s) that evictions cannot make suitable"
NO_VICTIMS: Final = "node(s) without pods to evict"
NO_ROOM: Final = "node(s) on which all pods that could be evicted free too little"
ALL_SPARED: Final = "node(s) on which all pods are protected"
TOO_FEW_GO: Final = "node(s) on which the pods that are not protected free too little"
TRIED_BEFORE: Final = "node(s) on which evictions failed in previous cycles"
TOO_FEW_TASKS: Final = "TooFewTasks"
QUEUE_FULL: Final = "node(s) on which evictions leave the queue at its limit"
OUT_OF_TURN: Final = "node(s) on which its tasks conflict with each other"


def count_by_reason(nodes: BoolArray, helped: BoolArray, lose: BoolArray, tried: Mapping[int, str]) -> Counter[str]:
    """Count nodes by what stands in the way of evictions.

    Args:
        nodes: Those that count, shape (N,).
        helped: Those where evictions could ever help, shape (N,).
        lose: Those with tasks that might be evicted, shape (N,).
        tried: What was found, by column, where evictions were tried.
    """
    untried = nodes.copy()
    untried[list(tried)] = False
    counts = Counter(reason for column, reason in tried.items() if nodes[column])
    for mask, reason in ((~helped, NO_HELP), (helped & ~lose, NO_VICTIMS), (helped & lose, NO_ROOM)):
        counts[reason] += int(np.count_nonzero(untried & mask))
    return +counts


def no_plan(session: Session, action: str, task: Task, found: Iterable[str], counts: Mapping[str, int]) -> Refusal:
    """Refuse because no evictions help a job.

    Args:
        session: Knows which pods were considered.
        action: The action that searched.
        task: The first of its tasks for which no capacity could be made.
        found: Obstacles on any node.
        counts: Number of nodes by obstacle; empty if they were not counted.
    """
    texts = sorted(set(found))
    counted = [f"{counts[text]} {text}" if text in counts else text for text in texts]
    message = f"no evictions free enough capacity: {', '.join(counted) or 'there are no nodes'}"
    search = session.evictions.search_for(task)
    considered = search.in_words() if not _AFTER_QUESTIONS.isdisjoint(texts) else ""
    return Refusal(plugin=action, reason=NO_PLAN, message="; ".join(filter(None, (message, considered))), counts=counts)


_AFTER_QUESTIONS: Final = frozenset({ALL_SPARED, NO_VICTIMS, TOO_FEW_GO})
"""Refusals that follow from what plugins and rules answer about pods."""


def search_ended(action: str, tried: Refusal | None) -> Refusal:
    """Refuse because the search for evictions gave up, though some may exist.

    Args:
        action: The action that searched.
        tried: Reason that there is no plan with the tasks placed in order.
    """
    words = "the search for evictions for the whole gang ended without a result"
    message = words if tried is None else f"{words}; with members placed in order: {tried.message}"
    counts = {} if tried is None else tried.counts
    return Refusal(plugin=action, reason=SEARCH_ENDED, message=message, counts=counts)


def no_domain(action: str) -> Refusal:
    """Refuse because no domain permits the job."""
    message = "no domain of its network topology can hold the job"
    return Refusal(plugin=action, reason="NoDomain", message=message)


def too_few_tasks(action: str, able: int) -> Refusal:
    """Refuse because too few tasks of a job can preempt. The other tasks wait, or can preempt no pods."""
    message = f"only {able} of its tasks can preempt, fewer than its minimum"
    return Refusal(plugin=action, reason=TOO_FEW_TASKS, message=message)


def whoever_goes(session: Session, action: str, task: Task) -> Refusal | None:
    """Return the first refusal of a task that no eviction resolves; None if evictions may help.

    Such a refusal has one of these causes: its queue accepts no work, an object that it names does not exist, no node
    permits it, or no permitted node is large enough.
    """
    job = session.jobs.of(task)
    refusal = None if job is None else session.queues.allocatable(session.queues.by_name[job.queue], task)
    if refusal is not None and not refusal.resolvable:
        return refusal
    refusal = session.candidates.pre_predicate(task)
    if refusal is not None or session.candidates.fits_empty_nodes(task):
        return refusal
    if session.candidates.answers.permitted_by_facts(task).any():
        message = "no permitted node is large enough, even if it were empty"
        return Refusal(plugin=action, reason="TooGreat", message=message, resolvable=False)
    nodes = len(session.nodes)
    counts = {NO_HELP: nodes} if nodes else {}
    return replace(no_plan(session, action, task, counts, counts), resolvable=False)
