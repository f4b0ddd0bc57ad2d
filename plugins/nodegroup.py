"""Node groups: queues require, prefer or avoid labelled groups of nodes.

Points: predicate, node order; a ledger.  Arguments: `NodeGroupArgs`.  Rules and example: docs/plugins/nodegroup.md.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from pyroclast.framework.configuration.arguments import argument
from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Change, Ledger, Locality, Plugin
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.nodes import NodeColumns
from pyroclast.model import wire
from pyroclast.model.arrays import FloatArray, IntArray, ReasonArray
from pyroclast.model.ids import NodeName, QueueName
from pyroclast.model.quantity import millis
from pyroclast.model.queues import Queue, with_ancestors
from pyroclast.model.refusals import Reason
from pyroclast.model.tasks import ALLOCATED_STATUSES, Task

__all__ = ["NodeGroup", "NodeGroupArgs", "allows", "score_of"]

GROUP: Final = "volcano.sh/nodegroup-name"
LIMITS: Final = "volcano.sh/nodegroup-resource-limits"

REQUIRED_SCORE: Final = 100.0
PREFERRED_SCORE: Final = 50.0
AVOIDED_SCORE: Final = -1.0

REASONS: Final = (
    Reason("node group resource limit annotation invalid", resolvable=False),
    Reason("node group label not found", resolvable=False),
    Reason("node group affinity not specified", resolvable=False),
    Reason("node does not satisfy the node group affinity", resolvable=False),
    Reason("node group resource limit exceeded"),  # by pods of the queue itself, which can be evicted
)
INVALID_LIMITS, NO_LABEL, NO_AFFINITY, NOT_ALLOWED, OVER_LIMIT = range(1, 6)

NO_TERMS: Final = wire.NodeGroupTerms()


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeGroupArgs:
    """Arguments of nodegroup, spelled as in the configuration file."""

    strict: bool = True
    """Whether queues without rules must not use nodes without a group."""
    enable_preferred_order: bool = argument("enablePreferredOrder", False)
    """Whether preferred groups score by their position in the list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeGroup(Plugin):
    """Restrict queues to groups of nodes."""

    name = "nodegroup"
    watches_clock = False
    args: NodeGroupArgs = NodeGroupArgs()

    def on_session_open(self, session: Session) -> None:
        """Register every extension point this plugin serves."""
        rules = Rules(session, self.args, hierarchy=session.extensions.option.hierarchy)
        # Tasks of several queues may share a template, so the rules of the queue are evaluated for each task.
        session.extensions.register(
            contract.PREDICATE,
            self.name,
            rules.verdicts,
            locality=Locality.GLOBAL,
            reasons=REASONS,
            cares=rules.may_refuse,
        )
        session.extensions.register(
            contract.NODE_ORDER, self.name, rules.scores, locality=Locality.GLOBAL, cares=rules.adds_to_scores
        )
        session.extensions.register_ledger(self.name, rules)


class QueueRules:
    """Rules of one queue, as tables by group code; the last entry is for nodes without a group."""

    def __init__(
        self, queue: Queue, affinity: wire.QueueAffinity | None, codes: Mapping[str, int], args: NodeGroupArgs
    ) -> None:
        self.limits = limits_of(queue)
        groups = sorted(codes, key=codes.__getitem__)
        without = 0 if not args.strict and _is_unset(affinity) else NO_LABEL
        verdicts = [_verdict(affinity, group) for group in groups] + [without]
        self.verdicts: ReasonArray = np.array(verdicts, dtype=np.uint8)
        if self.limits is None:
            self.verdicts[:] = INVALID_LIMITS
        ordered = args.enable_preferred_order
        self.scores: FloatArray = np.array([*(score_of(affinity, group, ordered=ordered) for group in groups), 0.0])
        self.may_refuse = bool(self.verdicts.any()) or bool(self.limits)
        self.adds_to_scores = bool(self.scores.any())


class Rules(Ledger):
    """Rules of all queues in one session, and the usage of each limited queue in each group."""

    def __init__(self, session: Session, args: NodeGroupArgs, *, hierarchy: bool) -> None:
        self._session = session
        self._codes, self._code_of = session.nodes.facts.label_codes(GROUP)
        self._queues: dict[QueueName, QueueRules] = {
            name: QueueRules(
                queue,
                affinity_of(session.queues.by_name, name) if hierarchy else _own_affinity(queue),
                self._code_of,
                args,
            )
            for name, queue in session.queues.by_name.items()
        }
        self._limits: dict[QueueName, dict[int, IntArray]] = {
            name: {
                self._code_of[group]: session.resources.limits(amounts)
                for group, amounts in rules.limits.items()
                if group in self._code_of
            }
            for name, rules in self._queues.items()
            if rules.limits
        }
        self._used: dict[tuple[QueueName, int], IntArray] = {
            (name, code): np.zeros(len(session.resources), dtype=np.int64)
            for name, limits in self._limits.items()
            for code in limits
        }
        for job in session.jobs.all() if self._limits else ():
            if job.queue in self._limits:
                for task in job.tasks.values():
                    if task.status in ALLOCATED_STATUSES and task.node is not None:
                        self._count(job.queue, task, task.node)

    def _count(self, queue: QueueName, task: Task, node: NodeName) -> None:
        column = self._session.nodes.table.column.get(node)
        used = None if column is None else self._used.get((queue, int(self._codes[column])))
        if used is not None:
            used += np.array(self._session.nodes.counted_amounts(task), dtype=np.int64)

    def _of(self, task: Task) -> QueueRules | None:
        job = self._session.jobs.of(task)
        return None if job is None else self._queues.get(job.queue)

    def may_refuse(self, task: Task) -> bool:
        """Return whether the task's queue may refuse a node."""
        rules = self._of(task)
        return rules is not None and rules.may_refuse

    def adds_to_scores(self, task: Task) -> bool:
        """Return whether the task's queue prefers or avoids a group."""
        rules = self._of(task)
        return rules is not None and rules.adds_to_scores

    def verdicts(self, task: Task, columns: NodeColumns) -> ReasonArray | None:
        """Refuse nodes of groups that the task's queue must not use or has exhausted."""
        rules, job = self._of(task), self._session.jobs.of(task)
        if rules is None or job is None:
            return None
        table = rules.verdicts.copy()
        request = self._session.nodes.needs(task.template).request
        for code, limit in self._limits.get(job.queue, {}).items():
            if not table[code] and (self._used[job.queue, code] + request > limit).any():
                table[code] = OVER_LIMIT
        return table[self._codes[columns.index]]

    def scores(self, task: Task, columns: NodeColumns) -> FloatArray | None:
        """Score nodes by the rules of the task's queue."""
        rules = self._of(task)
        return None if rules is None else rules.scores[self._codes[columns.index]]

    def apply(self, change: Change) -> None:
        """Count placements and evictions of queues with limits."""
        self._shift(change, change.sign)

    def revert(self, change: Change) -> None:
        """Undo `apply`."""
        self._shift(change, -change.sign)

    def _shift(self, change: Change, sign: int) -> None:
        if change.job.queue not in self._limits:
            return
        amounts = sign * np.array(change.each, dtype=np.int64)
        for column in change.columns:
            used = self._used.get((change.job.queue, int(self._codes[column])))
            if used is not None:
                used += amounts


def affinity_of(queues: Mapping[QueueName, Queue], name: QueueName) -> wire.QueueAffinity | None:
    """Return the affinity of a queue or of its nearest ancestor with one."""
    found = (_own_affinity(queues[each]) for each in with_ancestors(queues, name))
    return next((affinity for affinity in found if affinity is not None), None)


def _own_affinity(queue: Queue) -> wire.QueueAffinity | None:
    return None if queue.object is None else queue.object.spec.affinity


def limits_of(queue: Queue) -> dict[str, dict[str, int]] | None:
    """Return the limits of a queue in each group, in thousandths by resource; None if the annotation is invalid."""
    text = "" if queue.object is None else queue.object.metadata.annotations.get(LIMITS, "")
    if not text:
        return {}
    try:
        return {
            group: {name: millis(amount) for name, amount in (amounts or {}).items()}
            for group, amounts in json.loads(text).items()
        }
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None


def allows(affinity: wire.QueueAffinity, group: str) -> bool:
    """Return whether a queue may use a group. Preferred anti-affinity outranks required anti-affinity."""
    affinity_terms = affinity.node_group_affinity or NO_TERMS
    anti_affinity_terms = affinity.node_group_anti_affinity or NO_TERMS
    if group in anti_affinity_terms.preferred:
        return True
    return group not in anti_affinity_terms.required and (
        group in affinity_terms.required or group in affinity_terms.preferred
    )


def score_of(affinity: wire.QueueAffinity | None, group: str, *, ordered: bool) -> float:
    """Score a group: 100 if required, up to 50 if preferred (by position if `ordered`), -1 if avoided."""
    if affinity is None:
        return 0.0
    affinity_terms = affinity.node_group_affinity or NO_TERMS
    if group in (affinity.node_group_anti_affinity or NO_TERMS).preferred:
        return AVOIDED_SCORE
    score = REQUIRED_SCORE if group in affinity_terms.required else 0.0
    places = {name: place for place, name in enumerate(affinity_terms.preferred)}
    if group in places:
        score += PREFERRED_SCORE * (len(places) - places[group]) / len(places) if ordered else PREFERRED_SCORE
    return score


def _verdict(affinity: wire.QueueAffinity | None, group: str) -> int:
    if affinity is None or _is_unset(affinity):
        return NO_AFFINITY
    return 0 if allows(affinity, group) else NOT_ALLOWED


def _is_unset(affinity: wire.QueueAffinity | None) -> bool:
    if affinity is None:
        return True
    halves = (affinity.node_group_affinity or NO_TERMS, affinity.node_group_anti_affinity or NO_TERMS)
    return not any(half.required or half.preferred for half in halves)
