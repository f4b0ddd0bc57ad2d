"""Spreading: limits from topology spread constraints that are known before any member of a gang is placed.

A constraint limits the whole gang if it counts only the members that have it, over the same nodes.
What other constraints permit depends on the order of placements; they are asked when something is placed.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from pyroclast.framework.placement.gangs.problem import Spread
from pyroclast.framework.session.pods import NodeGroup, session_pods
from pyroclast.framework.session.session import Session
from pyroclast.model.arrays import BoolArray
from pyroclast.model.matching.nodes import has_labels
from pyroclast.model.matching.pods import SpreadConstraint, spread_constraints
from pyroclast.model.matching.spread import eligible_nodes
from pyroclast.model.required_rules import TOPOLOGY_SPREAD
from pyroclast.model.tasks import Task

__all__ = ["spreads_of"]

_HARD: Final = "DoNotSchedule"


def spreads_of(session: Session, tasks: Sequence[Task]) -> list[Spread]:
    """Return how evenly tasks must run.

    Args:
        session: The session.
        tasks: One task of each kind.
    """
    if not session.extensions.serves(TOPOLOGY_SPREAD):
        return []
    by_constraint: dict[tuple[SpreadConstraint, bytes], list[bool]] = {}
    first: dict[tuple[SpreadConstraint, bytes], tuple[Task, BoolArray]] = {}
    for kind, task in enumerate(tasks):
        for constraint, eligible in _constraints(session, task):
            key = constraint, eligible.tobytes()
            by_constraint.setdefault(key, [False] * len(tasks))[kind] = True
            first.setdefault(key, (task, eligible))
    return [
        _spread(session, *first[key], key[0], np.array(kinds))
        for key, kinds in by_constraint.items()
        if kinds == [key[0].pods.matches(task.namespace, task.pod.metadata.labels) for task in tasks]
    ]


def _constraints(session: Session, task: Task) -> Iterator[tuple[SpreadConstraint, BoolArray]]:
    """Yield the constraints of a task that must be met, each with the nodes that count."""
    spec, facts = task.template.spec, session.nodes.facts
    own = spec.topology_spread_constraints
    hard = [each for each in own if each.when_unsatisfiable == _HARD]
    if not hard or any(session.reserved.matched_pods(task).values()):
        return  # the pods that stand for Reservations do not count for it
    labelled = has_labels(facts, dict.fromkeys(each.topology_key for each in hard))
    for constraint in spread_constraints(own, task.namespace, task.pod.metadata.labels, _HARD):
        yield constraint, eligible_nodes(facts, spec, constraint, labelled)


def _spread(
    session: Session, task: Task, eligible: BoolArray, constraint: SpreadConstraint, kinds: BoolArray
) -> Spread:
    group = NodeGroup((task.template.number, constraint), eligible)
    counts = session_pods(session).domains(
        (constraint.pods,), constraint.topology_key, counts_terminating=False, within=group
    )
    used, domains = np.unique(counts.codes[eligible], return_inverse=True)
    numbers = np.full(eligible.size, -1, dtype=np.int64)
    numbers[eligible] = domains
    return Spread(
        kinds=kinds,
        domains=numbers,
        before=counts.counts[used].copy(),
        max_skew=constraint.max_skew,
        is_from_zero=used.size < constraint.min_domains,
    )
