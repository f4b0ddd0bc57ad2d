"""Refusals: why something does not run, as values.

The same values feed events, conditions, metrics and `simulate`. The first binding rule stands first.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

__all__ = ["NO_PLAN", "Reason", "Refusal"]

NO_PLAN: Final = "NoEvictionHelps"
"""Reason of a refusal: no evictions that the rules permit would make a place. It stands behind all others."""


@dataclass(frozen=True, slots=True)
class Reason:
    """One way in which a node can refuse a task, short enough to count."""

    text: str
    """`insufficient cpu`, `node(s) had untolerated taint(s)`: counted over nodes."""
    resolvable: bool = True
    """True: does not fit now, eviction may help. False: cannot fit here, nothing helps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why a job or a task was not placed."""

    plugin: str
    """Whose rule it was: a plugin, an action, or `scheduler`."""
    reason: str
    """A CamelCase word for machines: `NotEnoughResources`, `QueueOverused`."""
    message: str = ""
    """A sentence for people, complete in itself."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """Nodes by reason text, for refusals by nodes; each node counts once, under the first rule that refused it."""
    resolvable: bool = True
    """Whether room made by eviction might help."""
