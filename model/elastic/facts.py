"""Facts of one quota, as hook plugins read them."""

from dataclasses import dataclass

from pyroclast.model.resources import Amounts

__all__ = ["QuotaFacts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaFacts:
    """One quota of a session: thousandths by resource name."""

    name: str
    parent: str
    """Name of its parent; the root quota if it is at the top of its tree."""
    children: tuple[str, ...]
    """Names of its child quotas, in order."""
    minimum: Amounts
    maximum: Amounts
    used: Amounts
    """Use of its pods and of its child quotas at this moment."""
    non_preemptible_used: Amounts
    request: Amounts
    runtime: Amounts
    """The most that it may use in this cycle."""
    guaranteed: Amounts
