"""Companions: which members of a gang must share a domain with which others because of required affinity.

Members with affinity to their own kind all share one domain (`regions`). Each other member needs one member that its
affinity selects in its domain, which may be placed before it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pyroclast.framework.placement.gangs.problem import Companions
from pyroclast.framework.session.pods import session_pods
from pyroclast.framework.session.session import Session
from pyroclast.model.required_rules import POD_AFFINITY
from pyroclast.model.tasks import Task

__all__ = ["companions_of"]


def companions_of(session: Session, tasks: Sequence[Task]) -> list[Companions]:
    """Return which kinds need others beside them.

    Args:
        session: The session.
        tasks: One task of each kind.
    """
    if not session.extensions.serves(POD_AFFINITY):
        return []
    pods = session_pods(session)
    sources: dict[tuple[Any, str], list[bool]] = {}
    for kind, task in enumerate(tasks):
        terms = pods.terms(task).required_affinity if task.template.spec.affinity is not None else ()
        every = tuple(dict.fromkeys(term.pods for term in terms))
        for term in terms:
            sources.setdefault((every, term.topology_key), [False] * len(tasks))[kind] = True
    found = []
    for (every, key), kinds in sources.items():
        labels = [(task.namespace, task.pod.metadata.labels) for task in tasks]
        targets = [all(matcher.matches(*each) for matcher in every) for each in labels]
        if not any(a and b for a, b in zip(kinds, targets, strict=True)):
            counts = pods.domains(every, key)
            found.append(
                Companions(
                    sources=np.array(kinds),
                    targets=np.array(targets),
                    domains=counts.codes,
                    before=counts.counts.copy(),
                )
            )
    return found
