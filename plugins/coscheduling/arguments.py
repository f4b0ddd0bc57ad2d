"""Arguments of coscheduling."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from pyroclast.framework.configuration.arguments import argument
from pyroclast.framework.configuration.conversions import Mismatch, duration
from pyroclast.model.gangs.names import MATCH_POLICIES, ONCE_SATISFIED

__all__ = ["CoschedulingArgs"]

_TIMEOUT: Final = Fraction(600)
_LONGEST: Final = Fraction(3600)


def _policy(value: object) -> str:
    if not isinstance(value, str) or value not in MATCH_POLICIES:
        raise Mismatch(value, f"one of {', '.join(MATCH_POLICIES)}")
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class CoschedulingArgs:
    """Arguments of coscheduling, spelled as Koordinator's."""

    match_policy: str = argument("defaultMatchPolicy", ONCE_SATISFIED, parse=_policy)
    """Match policy of gangs that name none."""
    timeout: Fraction = argument("defaultTimeout", _TIMEOUT, parse=duration)
    """Waiting time of gangs that name none, seconds."""
    longest_wait: Fraction = argument("maxWaitingTime", _LONGEST, parse=duration)
    """Most that counts of a gang's waiting time, seconds."""
    keeps_places: bool = argument("nonStrictHold", True)
    """Whether members of NonStrict gangs that found nodes keep them, for the waiting time, while others lack."""
    workers: int = argument("controllerWorkers", 1, least=1)
    """Has no effect: the controllers write the status of these pod groups."""
    preempts: bool = argument("enablePreemption", False)
    """Has no effect: the actions preempt and gangpreempt evict for gangs."""
    gathers: bool = argument("awareNetworkTopology", False)
    """Has no effect: gangs are not gathered by network topology yet."""
    skips_check: bool = argument("skipCheckScheduleCycle", False)
    """Has no effect, as in Koordinator."""

    def doubts(self) -> Iterable[str]:
        """Name what is asked for and has no effect."""
        if self.workers != 1:
            yield "controllerWorkers: has no effect: the controllers write the status of these pod groups"
        if self.preempts:
            yield "enablePreemption: has no effect: the actions preempt and gangpreempt evict for gangs"
        if self.gathers:
            yield "awareNetworkTopology: has no effect: gangs are not gathered by network topology yet"
        if self.skips_check:
            yield "skipCheckScheduleCycle: has no effect"
