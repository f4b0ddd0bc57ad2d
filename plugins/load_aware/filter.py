"""Filter: refuse nodes whose usage is too high for pods of one kind."""

from typing import Final

import numpy as np

from pyroclast.framework.state.nodes import NodeColumns
from pyroclast.model.arrays import BoolArray, IntArray, ReasonArray
from pyroclast.model.refusals import Reason
from pyroclast.model.resources import MILLI
from pyroclast.model.tasks import Task
from pyroclast.plugins.load_aware.arithmetic import exceeding, percent
from pyroclast.plugins.load_aware.limits import Limits
from pyroclast.plugins.load_aware.nodes import Nodes

__all__ = ["Filter"]

EXPIRED: Final = Reason("node(s) nodeMetric expired", resolvable=False)


class Filter:
    """Refuses nodes whose usage is too high for pods of one kind."""

    def __init__(self, nodes: Nodes, limits: Limits) -> None:
        self._nodes, self._limits = nodes, limits
        self._used = nodes.used(limits.measures)
        args = nodes.args
        is_limited = limits.thresholds.any(axis=0)
        is_old = nodes.is_old if args.filters_expired else np.zeros_like(nodes.is_old)
        self._refuses_age: BoolArray = is_limited & is_old & (not args.takes_expired)
        self._judges: BoolArray = is_limited & nodes.is_measured & ~is_old

    def verdicts(self, task: Task, columns: NodeColumns) -> ReasonArray | None:
        """Return the number of the reason that refuses each node, 0 for none. The first is age, then come resources."""
        at = columns.index
        above = exceeding(self._percent(task, at), self._limits.thresholds[:, at])
        found = np.where(self._judges[at] & (above > 0), above + 1, self._refuses_age[at])
        return found.astype(np.uint8)

    def reasons(self, task: Task) -> list[Reason]:
        """Return the reasons, with usage and threshold of the refused node that exceeds its threshold least."""
        everywhere = np.arange(len(self._judges))
        percents = self._percent(task, everywhere)
        above = np.where(self._judges, exceeding(percents, self._limits.thresholds), 0)
        return [EXPIRED, *(self._reason(row, percents[row], above == row + 1) for row in range(len(percents)))]

    def _reason(self, row: int, percents: IntArray, refused: BoolArray) -> Reason:
        name, thresholds = self._nodes.args.resources[row], self._limits.thresholds[row]
        amounts = {}
        if refused.any():
            nearest = np.where(refused, percents - thresholds, np.iinfo(np.int64).max).argmin()
            amounts = {f"{name} usage percent": (int(percents[nearest]) * MILLI, int(thresholds[nearest]) * MILLI)}
        text = f"node(s) {name} usage exceed threshold{_spread(thresholds[thresholds > 0])}"
        return Reason(text, resolvable=False, amounts=amounts)

    def _percent(self, task: Task, at: IntArray) -> IntArray:
        return percent(self._used[:, at] + self._nodes.estimate(task), self._nodes.limits.allocatable[:, at])


def _spread(thresholds: IntArray) -> str:
    """Return the thresholds as text. The text does not depend on measurements."""
    if not thresholds.size:
        return ""
    least, most = thresholds.min(), thresholds.max()
    return f" of {least}%" if least == most else f" of {least}% to {most}%"
