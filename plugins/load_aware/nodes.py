"""Nodes: usage and limits of a session's nodes, and faults of their annotations."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from pyroclast.framework.session.session import Session
from pyroclast.model.arrays import BoolArray, IntArray
from pyroclast.model.load import NodeLoad
from pyroclast.model.tasks import Task
from pyroclast.plugins.load_aware.arguments import LoadAwareArgs
from pyroclast.plugins.load_aware.estimates import Estimates
from pyroclast.plugins.load_aware.limits import Measure, NodeLimits, limits_of
from pyroclast.plugins.load_aware.loads import Loads

__all__ = ["INVALID", "Nodes"]

INVALID: Final = "InvalidLoadAnnotation"
"""Reason of events."""


class Nodes:
    """State of a session's nodes; R resources, N nodes."""

    def __init__(self, session: Session, loads: Sequence[NodeLoad | None], args: LoadAwareArgs) -> None:
        self._session, self.args = session, args
        self.estimates = Estimates(args=args, resources=args.resources)
        self.ledger = Loads(loads, self.estimates)
        self.limits: NodeLimits = limits_of(session.nodes.facts, args)
        self.is_measured: BoolArray = np.array([load is not None and load.usage is not None for load in loads])
        """Whether the usage of the node is known, shape (N,)."""
        self.is_old: BoolArray = self._old(loads)
        """Whether the last report has expired, shape (N,)."""

    def used(self, measures: tuple[Measure, ...]) -> IntArray:
        """Return the usage of nodes, which placements update, shape (R, N)."""
        return self.ledger.table(measures, self._session.nodes.table.tasks)

    def estimate(self, task: Task) -> IntArray:
        """Return the estimated usage of a task, shape (R, 1)."""
        return np.array(self.estimates.of(task), dtype=np.int64)[:, None]

    def record_faults(self) -> None:
        """Record events about annotations of nodes and pods that cannot be read."""
        for column, fault in self.limits.faults:
            node = self._session.nodes.facts.nodes[column].object
            if node is not None:
                self._session.report.warn_once("Node", node.metadata, INVALID, fault)
        for task, fault in self.estimates.bad_pods.values():
            self._session.report.warn_once(
                "Pod", task.pod.metadata, INVALID, f"{fault}; the arguments apply", job=task.job
            )
        for job in self._session.jobs.all() if self.estimates.bad_templates else ():
            for task in job.tasks.values():
                if task.template.number in self.estimates.bad_templates:
                    fault = self.estimates.bad_templates[task.template.number]
                    self._session.report.warn_once(
                        "Pod", task.pod.metadata, INVALID, f"{fault}; the arguments apply", job=task.job
                    )

    def _old(self, loads: Sequence[NodeLoad | None]) -> BoolArray:
        """Return which reports have expired, and wake the scheduler when the next one expires."""
        ends = np.array([_end(load, self.args.expiration_seconds) for load in loads])
        is_old: BoolArray = ends <= self._session.now
        next_end = float(ends[~is_old].min(initial=np.inf))
        if self.args.filters_expired and next_end < np.inf:
            self._session.report.wake(next_end)
        return is_old


def _end(load: NodeLoad | None, lasts_seconds: int) -> float:
    """Return when a report expires, in seconds since 1970.

    A report without a time has expired. A missing report never expires.
    """
    if load is None:
        return np.inf
    return -np.inf if load.measured is None else load.measured + lasts_seconds
