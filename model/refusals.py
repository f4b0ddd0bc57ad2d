"""Refusals: reasons why a job or a task does not run, as values.

Events, conditions, metrics and `simulate` use the same values. The first binding rule is first.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pyroclast.model.ids import JobId
from pyroclast.model.sealed import SealedDict

__all__ = ["NO_PLAN", "Reason", "Refusal", "without_amounts"]

NO_PLAN: Final = "NoEvictionHelps"
"""Reason of a refusal: no evictions that the rules permit would make a place."""


_NOTHING: Final[SealedDict[str, Any]] = SealedDict()
"""One for all refusals without counts or amounts."""
_USAGE: Final = re.compile(r"\S+ of \S+ (\S+) used(, \S+ reserved for [^;]*)?; requested [^\s;.,]+(\.\d+)?")
"""Amounts of an account, as `queue_refusals.usage_text` writes them."""


def _nothing() -> SealedDict[str, Any]:
    return _NOTHING


def without_amounts(text: str) -> str:
    """Return a text without used, reserved and requested amounts. Texts that differ only in them are reported once."""
    return _USAGE.sub(r"\1", text)


@dataclass(frozen=True, slots=True)
class Reason:
    """One way in which a node can refuse a task, short enough to count."""

    text: str
    """`insufficient cpu`, `node(s) had untolerated taint(s)`: counted over nodes."""
    resolvable: bool = True
    """True: does not fit now, eviction may help. False: cannot fit here, nothing helps."""
    amounts: Mapping[str, tuple[int, int]] = field(default_factory=_nothing, compare=False)
    """Requested and available amounts on the node that comes nearest, thousandths, by the resource that is short.
    Reasons that differ only in amounts are equal."""

    def __post_init__(self) -> None:
        """Seal the amounts."""
        if type(self.amounts) is dict:
            object.__setattr__(self, "amounts", SealedDict(self.amounts))


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Reason why a job or a task was not placed."""

    plugin: str
    """Source of the refusal: a plugin, an action, or `scheduler`."""
    reason: str
    """CamelCase reason for programs: `NotEnoughResources`, `QueueOverused`."""
    message: str = ""
    """A sentence for people, complete in itself."""
    counts: Mapping[str, int] = field(default_factory=_nothing)
    """Nodes by reason text, for refusals by nodes; each node counts once, under the first rule that refused it."""
    resolvable: bool = True
    """Whether evictions might help."""
    action: str = ""
    """Action that evicts no pod for this reason. Empty if the refusal is about placement without evictions."""
    amounts: Mapping[str, tuple[int, int]] = field(default_factory=_nothing, compare=False)
    """Requested and available amounts by resource, thousandths. For a queue: its usage after placement and its limit.
    For a task: its request and the most that is free on a node that lacks it. Includes the amounts of reasons. Refusals
    that differ only in amounts are equal."""
    lendable: bool = False
    """Whether only a share refuses, so that idle resources may be lent beyond it (`framework.queues.lending`)."""
    details: str = field(default="", compare=False)
    """A sentence with the amounts behind the message, as `queue_refusals.usage_text` writes it; other amounts are no
    news."""
    fits_when: tuple[JobId, ...] = ()
    """Jobs on nodes that would free enough resources if they all ended; empty if none are known."""

    def __post_init__(self) -> None:
        """Seal counts and amounts."""
        if type(self.counts) is dict:
            object.__setattr__(self, "counts", SealedDict(self.counts))
        if type(self.amounts) is dict:
            object.__setattr__(self, "amounts", SealedDict(self.amounts))

    @property
    def text(self) -> str:
        """The message with its details."""
        return f"{self.message.rstrip('.')}. {self.details}" if self.details else self.message
