"""Pod count: a node runs at most its allocatable number of pods; pipelined pods count, evicted ones do not."""

from typing import Final

import numpy as np

from pyroclast.framework.state.nodes import NodeColumns
from pyroclast.model.arrays import BoolArray, ReasonArray
from pyroclast.model.refusals import Reason
from pyroclast.model.tasks import Task

__all__ = ["REASONS", "pod_count"]

REASONS: Final = (Reason("node(s) pod number exceeded"),)

_PODS_ROW: Final = 2
"""Row of `pods` in every resource space."""


def pod_count(_: Task, columns: NodeColumns) -> ReasonArray:
    """Refuse nodes that have reached their number of pods; verdicts, shape (columns,)."""
    full: BoolArray = columns.reported[_PODS_ROW] <= columns.viewed[_PODS_ROW]
    return full.view(np.uint8)
