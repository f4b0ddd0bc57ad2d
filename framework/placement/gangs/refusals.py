"""Refusals: the reasons that a gang is refused after a search for an assignment of its members."""

from typing import Final

from pyroclast.model.refusals import Refusal

__all__ = ["NO_ASSIGNMENT", "SEARCH_ENDED", "gave_up", "no_assignment", "postponed"]

NO_ASSIGNMENT: Final = "NoAssignment"
"""Reason of a refusal: each member may have a node of its own, but not all that the gang needs together."""
SEARCH_ENDED: Final = "SearchBudgetExhausted"
"""Reason of a refusal: an assignment may exist, but none was found in the steps that a search may take."""


def no_assignment(size: int, tried: Refusal | None) -> Refusal:
    """Refuse a gang for which there is no assignment.

    Args:
        size: Number of tasks that it needs.
        tried: Refusal of a task that got no node after the others were placed in order.
    """
    return _refusal(NO_ASSIGNMENT, f"no assignment of the {size} tasks that the gang needs to nodes exists", tried)


def gave_up(size: int, steps: int, tried: Refusal | None) -> Refusal:
    """Refuse a gang whose search ended before it was complete; arguments as above."""
    words = f"the search for an assignment of the {size} tasks that the gang needs gave up after {steps} steps"
    return _refusal(SEARCH_ENDED, words, tried)


def postponed(size: int) -> Refusal:
    """Refuse a gang whose search did not begin, because others used up the steps of the cycle, or of its namespace."""
    used_up = "the steps of the cycle, or of its namespace, are used up"
    words = f"no assignment of the {size} tasks that the gang needs was searched for: {used_up}"
    return _refusal(SEARCH_ENDED, words, None)


def _refusal(reason: str, words: str, tried: Refusal | None) -> Refusal:
    if tried is None:
        return Refusal(plugin="allocate", reason=reason, message=words)
    return Refusal(
        plugin="allocate",
        reason=reason,
        message=f"{words}; with other members placed in order: {tried.message}",
        counts=tried.counts,
        resolvable=tried.resolvable,
    )
