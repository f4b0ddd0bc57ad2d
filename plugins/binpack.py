"""Binpack: prefer the nodes that a task would leave fullest.

Points: node order.  Arguments: `BinpackArgs`.  Formula and example: docs/plugins/binpack.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np

from framework import points
from framework.arguments import argument
from framework.nodes import NodeColumns
from framework.points import Locality
from framework.session import Session
from model.arrays import FloatArray, IntArray
from model.resources import CPU, MEMORY
from model.tasks import Task

__all__ = ["Binpack", "BinpackArgs", "fullness_after"]

MAX_SCORE: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class BinpackArgs:
    """Arguments of binpack, spelled as in the configuration file; a negative weight of a resource is read as 1."""

    weight: int = argument("binpack.weight", 1)
    """Say of this plugin in the node order; 0 mutes it."""
    cpu: int = argument("binpack.cpu", 1)
    """Importance of CPU."""
    memory: int = argument("binpack.memory", 1)
    """Importance of memory."""
    resources: Mapping[str, int] = argument("binpack.resources", {}, prefix="binpack.resources.", listed=1)
    """Other resources that count, separated by commas; `binpack.resources.<name>` gives the importance of one."""

    def weights(self) -> dict[str, int]:
        """Return the importance of each resource by name."""
        weights = {**self.resources, CPU: self.cpu, MEMORY: self.memory}
        return {name: 1 if weight < 0 else weight for name, weight in weights.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Binpack:
    """Fill nodes up before opening new ones."""

    name: ClassVar[str] = "binpack"
    watches_clock: ClassVar[bool] = False
    args: BinpackArgs = BinpackArgs()

    def on_session_open(self, session: Session) -> None:
        """Register every extension point this plugin serves."""
        if self.args.weight == 0:
            return
        weights = self.args.weights()
        space = session.resources
        rows_of: dict[int, tuple[IntArray, IntArray, FloatArray]] = {}

        def rows(task: Task) -> tuple[IntArray, IntArray, FloatArray]:
            known = rows_of.get(task.template.number)
            if known is None:
                asked = [name for name, amount in task.template.request.items() if amount > 0 and name in weights]
                counted = np.array([space.rows[name] for name in asked], dtype=np.int64)
                request = space.vector(task.template.request)[counted]
                shares = np.array([weights[name] for name in asked], dtype=np.float64)
                known = rows_of[task.template.number] = (counted, request, shares)
            return known

        def score(task: Task, columns: NodeColumns) -> FloatArray | None:
            counted, request, shares = rows(task)
            if not counted.size:
                return None
            fullness = fullness_after(request, columns.used[counted], columns.allocatable[counted], shares)
            return self.args.weight * fullness

        session.register(points.NODE_ORDER, self.name, score, locality=Locality.AMOUNTS)


def fullness_after(request: IntArray, used: IntArray, allocatable: IntArray, weights: FloatArray) -> FloatArray:
    """Score how full each node would be with the task on it.

    Args:
        request: What the task asks for, base units, shape (k,): only requested resources with a weight.
        used: What runs on each node already, base units, shape (k, n).
        allocatable: What each node offers, base units, shape (k, n).
        weights: Importance of each resource, unitless, shape (k,).

    Returns:
        Scores from 0 (empty) to 100 (full), shape (n,). A resource that a node does not offer counts as empty; a node
        that the task would overfill scores 0.
    """
    total = weights.sum()
    if not total:
        return np.zeros(used.shape[1])
    after = used + request[:, None]
    counts = (allocatable > 0) & (weights > 0)[:, None]
    fractions = np.divide(after, allocatable, out=np.zeros(after.shape), where=counts)
    overfull = (counts & (after > allocatable)).any(axis=0)
    scores: FloatArray = np.where(overfull, 0.0, (weights @ fractions) / total * MAX_SCORE)
    return scores
