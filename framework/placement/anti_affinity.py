"""Shunning: members of a gang that share no domain because of required anti-affinity."""

from collections.abc import Sequence

import numpy as np

from pyroclast.framework.placement.gangs.problem import Shunning
from pyroclast.framework.session.pods import session_pods
from pyroclast.framework.session.session import Session
from pyroclast.model.matching.pods import PodTerm
from pyroclast.model.required_rules import POD_AFFINITY
from pyroclast.model.tasks import Task

__all__ = ["shunnings_of"]


def shunnings_of(session: Session, tasks: Sequence[Task]) -> list[Shunning]:
    """Return which kinds keep away from which.

    Args:
        session: The session.
        tasks: One task of each kind.
    """
    if not session.extensions.serves(POD_AFFINITY):
        return []
    pods, facts = session_pods(session), session.nodes.facts
    by_term: dict[PodTerm, list[bool]] = {}
    for kind, task in enumerate(tasks):
        terms = pods.terms(task).required_anti_affinity if task.template.spec.affinity is not None else ()
        for term in terms:
            by_term.setdefault(term, [False] * len(tasks))[kind] = True
    shunnings = []
    for term, kinds in by_term.items():
        shunned = [term.pods.matches(task.namespace, task.pod.metadata.labels) for task in tasks]
        if any(shunned):
            domains, _ = facts.label_codes(term.topology_key)
            shunnings.append(Shunning(shunning=np.array(kinds), shunned=np.array(shunned), domains=domains))
    return shunnings
