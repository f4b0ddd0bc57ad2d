"""Assignment: find a node for every task of a problem, or find that there is no way, within a number of steps.

Searches are tried one after the other, those first that follow the scores. Each starts from the beginning. The one that
completes nodes is for tasks that ask for nearly all the capacity there is.
"""

from typing import Final

import numpy as np

from pyroclast.framework.placement.gangs.node_completion import NodeCompletion
from pyroclast.framework.placement.gangs.problem import AssignmentProblem, Trial
from pyroclast.framework.placement.gangs.tree_search import NodeOrder, TreeSearch, best_score_first, tightest_first
from pyroclast.framework.session.memory import Assignment

__all__ = ["BUDGET", "assign"]

BUDGET: Final = 2_000
"""Maximum number of placements that a search may undo before it gives up."""

_BY_SCORE: Final = 100
"""Number of these placements that a search may spend on following the scores."""
_BY_ROOM: Final = 1_200
"""Number of these placements that a search may spend on leaving the least free capacity, before it follows scores."""
_BEFORE_COMPLETION: Final = 300
"""Number of these placements after which nodes are completed, if tasks request nearly all capacity."""
_SETS_PER_STEP: Final = 4
"""Number of task sets for a node that cost as much as one placement, because a set costs less."""
_MOST_PAIRS: Final = 4_000
"""Kinds times nodes up to which nodes are completed; a set takes longer to find among more."""
_NEARLY_ALL: Final = 0.85
"""Fraction of a resource's free capacity that counts as nearly all of it."""


def assign(problem: AssignmentProblem, *, trial: Trial | None = None, budget: int = BUDGET) -> Assignment:
    """Find a node for every task.

    Args:
        problem: The tasks and the nodes.
        trial: Checks that depend on tasks that are already placed, if there are any; holds the placements on return.
        budget: Total number of placements that may be undone.

    Returns:
        The places, or none: `is_exhaustive` is true if there is no assignment, and false if the budget ended.
    """
    is_by_room = problem.is_by_room and trial is None
    completes = is_by_room and not problem.spare_in_all and _is_tight(problem)
    found = _search(problem, trial, best_score_first, min(_BY_SCORE, budget))
    if found.places is None and not found.is_exhaustive and completes:
        found = _after(found, _search(problem, trial, tightest_first, min(_BEFORE_COMPLETION, budget)))
        if found.places is None and not found.is_exhaustive:
            found = _after(found, _complete(problem, budget))
    for order, most in ((tightest_first, _BY_ROOM), (best_score_first, budget)):
        if found.places is None and not found.is_exhaustive and found.steps < budget:
            found = _after(found, _search(problem, trial, order, min(most, budget - found.steps)))
    return found


def _after(before: Assignment, found: Assignment) -> Assignment:
    """Add the steps of the searches before."""
    return Assignment(places=found.places, steps=before.steps + found.steps, is_exhaustive=found.is_exhaustive)


def _search(problem: AssignmentProblem, trial: Trial | None, order: NodeOrder, budget: int) -> Assignment:
    size = sum(problem.counts)
    search = TreeSearch(problem, trial)
    is_found = search.run(order, size + budget)
    return Assignment(
        places=list(search.places) if is_found else None,
        steps=max(search.steps - size, 0),
        is_exhaustive=is_found is False,
    )


def _complete(problem: AssignmentProblem, budget: int) -> Assignment:
    search = NodeCompletion(problem, TreeSearch(problem).sizes)
    places = search.run(budget * _SETS_PER_STEP)
    is_exhaustive = places is None and search.steps < budget * _SETS_PER_STEP
    return Assignment(places=places, steps=search.steps // _SETS_PER_STEP, is_exhaustive=is_exhaustive)


def _is_tight(problem: AssignmentProblem) -> bool:
    """Return whether tasks ask for nearly all the capacity of some resource, on few enough nodes to complete them."""
    if problem.allowed.size > _MOST_PAIRS:
        return False
    room = np.maximum(problem.room, 0).sum(axis=1)
    demand = np.array(problem.counts) @ problem.requests
    return bool((demand > room * _NEARLY_ALL)[room > 0].any())
