"""Binpack: prefer the nodes that are fullest with the task on them.

Points: node order.  Arguments: `BinpackArgs`.  Formula and example: docs/plugins/binpack.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from pyroclast.framework.configuration.arguments import argument
from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Locality, Plugin
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.nodes import NodeColumns
from pyroclast.model.arrays import FloatArray, IntArray
from pyroclast.model.resources import CPU, MEMORY
from pyroclast.model.tasks import Task

__all__ = ["Binpack", "BinpackArgs", "fullness_after", "fullness_of_one"]

MAX_SCORE: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class BinpackArgs:
    """Arguments of binpack, spelled as in the configuration file."""

    weight: int = argument("binpack.weight", 1)
    """Weight of this plugin's score; 0 disables it."""
    cpu: int = argument("binpack.cpu", 1, least=0)
    """Importance of CPU, at least 0."""
    memory: int = argument("binpack.memory", 1, least=0)
    """Importance of memory, at least 0."""
    resources: Mapping[str, int] = argument("binpack.resources", {}, prefix="binpack.resources.", listed=1, least=0)
    """Other resources that count, separated by commas; `binpack.resources.<name>` sets the importance of one."""

    def weights(self) -> dict[str, int]:
        """Return the importance of each resource by name."""
        return {**self.resources, CPU: self.cpu, MEMORY: self.memory}


@dataclass(frozen=True, slots=True, kw_only=True)
class Binpack(Plugin):
    """Fill used nodes before empty ones."""

    name = "binpack"
    watches_clock = False
    args: BinpackArgs = BinpackArgs()

    def on_session_open(self, session: Session) -> None:
        """Register every extension point this plugin serves."""
        if self.args.weight == 0:
            return
        weights = self.args.weights()
        space = session.resources
        rows_of: dict[int, tuple[IntArray, IntArray, tuple[int, ...]]] = {}

        def rows(task: Task) -> tuple[IntArray, IntArray, tuple[int, ...]]:
            known = rows_of.get(task.template.number)
            if known is None:
                asked = [name for name, amount in task.template.request.items() if amount > 0 and name in weights]
                counted = np.array([space.rows[name] for name in asked], dtype=np.int64)
                request = space.vector(task.template.request)[counted]
                known = rows_of[task.template.number] = (counted, request, tuple(weights[name] for name in asked))
            return known

        def score(task: Task, columns: NodeColumns) -> FloatArray | None:
            counted, request, importance = rows(task)
            if not counted.size:
                return None
            if len(columns) == 1:
                used, offered = columns.used[counted, 0].tolist(), columns.allocatable[counted, 0].tolist()
                return np.array([self.args.weight * fullness_of_one(request.tolist(), used, offered, importance)])
            return self.args.weight * fullness_after(
                request, columns.used[counted], columns.allocatable[counted], importance
            )

        session.extensions.register(
            contract.NODE_ORDER, self.name, score, locality=Locality.AMOUNTS, weight=self.args.weight
        )


def fullness_after(request: IntArray, used: IntArray, allocatable: IntArray, weights: Sequence[int]) -> FloatArray:
    """Score how full each node would be with the task on it.

    Args:
        request: Request of the task, base units, shape (k,): only resources that have a weight.
        used: Used amounts of each node, base units, shape (k, n).
        allocatable: Allocatable amounts of each node, base units, shape (k, n).
        weights: Importance of each resource, unitless, k of them.

    Returns:
        Scores from 0 (empty) to 100 (full), shape (n,). A resource that a node does not offer counts as empty; a node
        that the task would overfill scores 0. A resource of weight 0 neither counts nor overfills.
    """
    total = sum(weights)
    scores = np.zeros(used.shape[1])
    overfull = np.zeros(used.shape[1], dtype=np.bool_)
    after = used + request[:, None]
    # Row by row instead of a matrix product: equal nodes get scores that are equal to the last bit.
    for row, weight in enumerate(weights):
        if weight:
            offered, taken = allocatable[row], after[row]
            overfull |= (taken > offered) & (offered > 0)
            scores += np.where(offered > 0, taken * float(weight) / np.maximum(offered, 1), 0.0)
    return np.where(overfull, 0.0, scores / total * MAX_SCORE) if total else scores


def fullness_of_one(
    request: Sequence[int], used: Sequence[int], offered: Sequence[int], weights: Sequence[int]
) -> float:
    """Score one node as `fullness_after` does. For one node, plain numbers are faster than numpy."""
    total = sum(weights)
    score = 0.0
    for asked, taken, room, weight in zip(request, used, offered, weights, strict=True):
        if weight and room > 0:
            if asked + taken > room:
                return 0.0
            score += (asked + taken) * float(weight) / room
    return score / total * MAX_SCORE if total else 0.0
