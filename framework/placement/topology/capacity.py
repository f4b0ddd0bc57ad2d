"""Capacity of domains: how many tasks fit the nodes of each domain, computed for all domains at once.

A bound, not a promise: it counts what the nodes' capacity and standing rules allow, which is exact for equal tasks that
nothing but their nodes concerns. Tasks that shun each other on a host count once for each node. Where the bound is too
low no trial is worth making.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from pyroclast.framework.placement.gangs.exclusions import HOST, are_exclusive
from pyroclast.model.arrays import IntArray
from pyroclast.model.nodes import ABSENT
from pyroclast.model.tasks import Task

if TYPE_CHECKING:
    from pyroclast.framework.session.session import Session
    from pyroclast.framework.state.domains import Domains

__all__ = ["RoomInDomains", "fits_per_node", "most_per_node"]


class RoomInDomains:
    """Bounds for some tasks; D domains."""

    def __init__(self, session: "Session", domains: "Domains", tasks: Sequence[Task]) -> None:
        self._session = session
        self._topology = domains.topology
        self._counts: IntArray | None = None
        self._version = -1
        self._tasks = tasks

    @property
    def size(self) -> int:
        """Number of the tasks."""
        return len(self._tasks)

    def hold(self, numbers: Sequence[int], needed: int) -> list[int]:
        """Return those of some domains that may take so many of the tasks."""
        counts = self.counts(numbers)
        return [number for number, count in zip(numbers, counts.tolist(), strict=True) if count >= needed]

    def counts(self, numbers: Sequence[int]) -> IntArray:
        """Return how many of the tasks each of some domains may take at most, shape of `numbers`."""
        version = len(self._session.nodes.log)
        if self._counts is None or self._version != version:
            self._counts, self._version = self._count(), version
        counts: IntArray = self._counts[np.asarray(numbers, dtype=np.int64)]
        return counts

    def _count(self) -> IntArray:
        session = self._session
        total = np.zeros(len(self._topology.domains), dtype=np.int64)
        for alike in self._alike():
            per_node = np.minimum(fits_per_node(session, alike[0]), most_per_node(session, alike))
            total += np.minimum(self._topology.sums(per_node), len(alike))
        return total

    def _alike(self) -> Iterable[list[Task]]:
        by_number: dict[int, list[Task]] = {}
        for task in self._tasks:
            by_number.setdefault(self._session.candidates.number(task), []).append(task)
        return by_number.values()

    def counts_if_empty(self, numbers: Sequence[int]) -> IntArray:
        """Return how many of the tasks each domain could take if its nodes were empty, shape of `numbers`."""
        total = np.zeros(len(self._topology.domains), dtype=np.int64)
        for alike in self._alike():
            per_node = np.minimum(self._session.candidates.fits_per_empty_node(alike[0]), len(alike))
            total += np.minimum(self._topology.sums(per_node), len(alike))
        counts: IntArray = total[np.asarray(numbers, dtype=np.int64)]
        return counts

    def first_short(self, number: int, *, if_empty: bool) -> tuple[Task, IntArray] | None:
        """Return the first task whose like do not all fit a domain, and how many of them each node takes, shape (N,).

        Args:
            number: A domain.
            if_empty: Whether other pods count for nothing.

        Returns:
            None if all tasks fit the domain, each kind by itself.
        """
        session = self._session
        for alike in self._alike():
            fits = session.candidates.fits_per_empty_node(alike[0]) if if_empty else fits_per_node(session, alike[0])
            most = len(alike) if if_empty else most_per_node(session, alike)
            per_node: IntArray = np.minimum(fits, most)
            if self._topology.sums(per_node)[number] < len(alike):
                return alike[0], per_node
        return None


def most_per_node(session: "Session", tasks: Sequence[Task]) -> IntArray:
    """Return how many of some tasks of one template each node may take, whatever its capacity is, shape (N,)."""
    most = np.full(len(session.nodes), len(tasks), dtype=np.int64)
    if _is_refused_for_pods(session, tasks[0]) and are_exclusive(tasks):
        most[session.nodes.facts.label_codes(HOST)[0] != ABSENT] = 1
    return most


def _is_refused_for_pods(session: "Session", task: Task) -> bool:
    """Return whether a plugin may refuse a node for its pods. Rules that no plugin enforces do not count."""
    candidates = session.candidates
    beyond = candidates.answers.beyond(task)
    if beyond is not None and beyond.verdicts:
        return True
    return candidates.has_room(task) and candidates.of(task).refusing_by_pods


def fits_per_node(session: "Session", task: Task) -> IntArray:
    """Count how many tasks of a template each node could take now or later in this session, shape (N,)."""
    if not session.candidates.has_room(task):
        return np.zeros(len(session.nodes), dtype=np.int64)
    candidates = session.candidates.of(task)
    candidates.refresh(task)
    request = session.nodes.needs(task.template).request
    asked = np.flatnonzero(request > 0)
    open_nodes = candidates.allowed & candidates.fits_future
    if not asked.size:
        return open_nodes * len(session.nodes)
    room = session.reserved.future_room(task)[asked]
    fits: IntArray = np.where(open_nodes, (room // request[asked, None]).min(axis=0), 0)
    return fits
