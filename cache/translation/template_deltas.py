"""Template deltas: the amounts that one task adds to its node and its job, computed once per template."""

import numpy as np

from pyroclast.cache.stores.amounts.columns import PER_RESOURCE, Segments, frozen
from pyroclast.model.arrays import IntArray
from pyroclast.model.nodes import StateRows
from pyroclast.model.resources import ResourceSpace
from pyroclast.model.tasks import ALLOCATED_STATUSES, TaskStatus, TaskTemplate

__all__ = ["JOB_SEGMENTS", "NODE_SEGMENTS", "TemplateDeltas"]

NODE_SEGMENTS = Segments((*[PER_RESOURCE] * 4, 2, PER_RESOURCE, PER_RESOURCE))
"""used, releasing, pipelined, viewed, scored (together `NodeTable.state`); reported, allocatable."""

JOB_SEGMENTS = Segments((len(TaskStatus), 1, *[PER_RESOURCE] * 4, PER_RESOURCE, 6))
"""counts, pending best-effort, allocated, pending, total, gated; min_resources; the six fixed numbers of a job."""


class TemplateDeltas:
    """Columns to add to the matrices of nodes and jobs, by template."""

    def __init__(self, space: ResourceSpace) -> None:
        """Start without templates; the rows are those of `space`."""
        self._space = space
        self._requests: dict[int, IntArray] = {}
        self._on_node: dict[tuple[int, bool], IntArray] = {}
        self._on_job: dict[tuple[int, TaskStatus, bool], IntArray] = {}

    def knows(self, template: TaskTemplate) -> bool:
        """Return whether the request of a template is computed, which means that the space covers it."""
        return template.number in self._requests

    def request(self, template: TaskTemplate) -> IntArray:
        """Return the request of a template in base units, shape (resources,)."""
        known = self._requests.get(template.number)
        if known is None:
            known = self._requests[template.number] = self._space.vector(template.request)
        return known

    def on_node(self, template: TaskTemplate, *, releasing: bool) -> IntArray:
        """Return the delta of a task to the column of its node, shape (rows of `NODE_SEGMENTS`,)."""
        key = (template.number, releasing)
        known = self._on_node.get(key)
        if known is None:
            rows = StateRows(len(self._space))
            column = np.zeros(NODE_SEGMENTS.height(len(self._space)), dtype=np.int64)
            request = self.request(template)
            column[rows.used] = column[rows.viewed] = request
            if releasing:
                column[rows.releasing] = request
            column[rows.scored] = (template.scored_cpu_millis, template.scored_memory_bytes)
            known = self._on_node[key] = frozen(column)
        return known

    def on_job(self, template: TaskTemplate, status: TaskStatus, *, counts_as_gated: bool) -> IntArray:
        """Return the delta of a task to the column of its job, shape (rows of `JOB_SEGMENTS`,)."""
        key = (template.number, status, counts_as_gated)
        known = self._on_job.get(key)
        if known is None:
            column = np.zeros(JOB_SEGMENTS.height(len(self._space)), dtype=np.int64)
            counts, best_effort, allocated, pending, total, gated, *_ = JOB_SEGMENTS.slices(len(self._space))
            request = self.request(template)
            column[counts.start + status] = 1
            column[total] = request
            if status is TaskStatus.PENDING:
                column[pending] = request
                column[best_effort] = template.best_effort
            if status in ALLOCATED_STATUSES:
                column[allocated] = request
            if counts_as_gated:
                column[gated] = request
            known = self._on_job[key] = frozen(column)
        return known
