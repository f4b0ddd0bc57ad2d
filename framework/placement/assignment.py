"""Assignment: find a node for every task of a problem, or find that there is no way, within a number of steps.

Searches are tried one after the other, those first that follow the scores. Each begins anew; the last one has all steps
that are left.
"""

from collections.abc import Sequence
from typing import Final

from framework.placement.problem import Assignment, AssignmentProblem, Trial
from framework.placement.tree_search import NodeOrder, TreeSearch, best_score_first, tightest_first

__all__ = ["BUDGET", "assign"]

BUDGET: Final = 2_000
"""Placements that a search may take back before it gives up."""

_BY_SCORE: Final = 100
"""How many of them a search may spend on following the scores."""


def assign(problem: AssignmentProblem, *, trial: Trial | None = None, budget: int = BUDGET) -> Assignment:
    """Find a node for every task.

    Args:
        problem: The tasks and the nodes.
        trial: What depends on tasks that are placed, where something does; holds the placements on return.
        budget: How many placements may be taken back, in all.

    Returns:
        The places, or none: `is_exhaustive` tells whether there is no assignment, or the budget ended.
    """
    size = sum(problem.counts)
    passes: Sequence[tuple[NodeOrder, int]] = ((best_score_first, min(_BY_SCORE, budget)), (tightest_first, budget))
    spent = 0
    for order, most in passes:
        search = TreeSearch(problem, trial)
        is_found = search.run(order, size + max(most - spent, 0))
        spent += max(search.steps - size, 0)
        if is_found is not None:
            places = list(search.places) if is_found else None
            return Assignment(places=places, steps=search.steps, is_exhaustive=not is_found)
    return Assignment(places=None, steps=spent, is_exhaustive=False)
