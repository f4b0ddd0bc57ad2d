"""Attraction: pods with an equal `network-topology-selector` are placed close to each other in the network.

A pod attracts others as Kubernetes' filters see it: pipelined pods count, pods evicted in this session do not.
Counts are sparse, so that they take memory for pods with the annotation alone, however many values these have.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Final

import numpy as np

from pyroclast.framework.session.session import Session
from pyroclast.framework.session.session_values import ScratchKey
from pyroclast.framework.session.usage import UsageLedger
from pyroclast.model.arrays import IntArray
from pyroclast.model.gangs.names import TOPOLOGY_SELECTOR
from pyroclast.model.tasks import Task
from pyroclast.model.topology.tree import Topology

__all__ = ["attraction_of", "closeness_ranks", "count_attraction", "selector_of"]

_SCRATCH: Final = ScratchKey("attraction in the network")


def selector_of(task: Task) -> str:
    """Return the value that tasks which attract each other have in common; empty if the task has none."""
    return task.pod.metadata.annotations.get(TOPOLOGY_SELECTOR, "")


def count_attraction(session: Session, plugin: str) -> None:
    """Count from now on which pods attract others; called while a plugin opens, before any placement."""
    known = session.scratch[_SCRATCH] = _Attraction(session)
    session.extensions.register_ledger(plugin, known)


def attraction_of(session: Session, task: Task) -> IntArray | None:
    """Return the number of pods on each node that attract a task, shape (N,).

    None if the task has no selector, or no plugin counts.
    """
    counted: _Attraction | None = session.scratch.get(_SCRATCH)
    selector = selector_of(task)
    return counted.of(selector) if counted is not None and selector else None


class _Attraction(UsageLedger):
    """Pods with a selector, by its value and by node."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._columns: dict[str, Counter[int]] = {}

    def of(self, selector: str) -> IntArray:
        """Return the number of pods with a selector on each node, shape (N,)."""
        self.count()
        counts = np.zeros(len(self._table), dtype=np.int64)
        found: Mapping[int, int] = self._columns.get(selector, {})
        counts[list(found)] = list(found.values())
        return counts

    def shift(self, task: Task, column: int, sign: int) -> None:
        """Count a pod by its selector."""
        selector = selector_of(task)
        if selector:
            self._columns.setdefault(selector, Counter())[column] += sign


def closeness_ranks(tree: Topology, attraction: IntArray, candidates: IntArray) -> IntArray:
    """Rank candidates, closest to the pods that attract a task first.

    Nodes and the domains around them are compared from the node upwards: first by pods that attract the task, more are
    better, then by candidates, fewer are better, then the node's name decides.

    Args:
        tree: A tree whose domains of tier 1 are the nodes.
        attraction: Pods on each node that attract the task, shape (N,).
        candidates: Columns of the candidates, shape (candidates,).

    Returns:
        Rank of each candidate, from 0, shape (candidates,).
    """
    offers = np.zeros(tree.nodes, dtype=np.int64)
    offers[candidates] = 1
    held, offered = tree.sums(attraction), tree.sums(offers)
    around = [domains[candidates] for domains in tree.chain]
    by_name = around[0]  # domains of one tier are numbered by name
    keys = [-held[numbers] for numbers in around] + [offered[numbers] for numbers in around] + [by_name]
    ranks = np.empty(candidates.size, dtype=np.int64)
    ranks[np.lexsort(keys[::-1])] = np.arange(candidates.size)
    return ranks
