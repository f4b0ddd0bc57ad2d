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
    """Arguments of coscheduling, with Koordinator's names."""

    match_policy: str = argument("defaultMatchPolicy", ONCE_SATISFIED, parse=_policy)
    """Match policy of gangs without their own."""
    timeout: Fraction = argument("defaultTimeout", _TIMEOUT, parse=duration)
    """Waiting time of gangs without their own, in seconds."""
    longest_wait: Fraction = argument("maxWaitingTime", _LONGEST, parse=duration)
    """Maximum waiting time of a gang, in seconds."""
    keeps_places: bool = argument("nonStrictHold", True)
    """Whether members of NonStrict gangs keep their nodes during the waiting time while other members lack nodes."""
    workers: int = argument("controllerWorkers", 1, least=1)
    """Has no effect: the controllers write the status of these pod groups."""
    preempts: bool = argument("enablePreemption", False)
    """Has no effect: the actions preempt and gangpreempt evict for gangs."""
    gathers: bool = argument("awareNetworkTopology", False)
    """Whether gangs are gathered by the layers of the ClusterNetworkTopology."""
    selector_weight: int = argument("networkTopologySelector.weight", 1, least=0)
    """Weight of the score by `network-topology-selector`; 0 disables it."""
    skips_check: bool = argument("skipCheckScheduleCycle", False)
    """Has no effect, as in Koordinator."""

    def doubts(self) -> Iterable[str]:
        """Yield warnings about arguments without effect."""
        if self.workers != 1:
            yield "controllerWorkers: has no effect: the controllers write the status of these pod groups"
        if self.preempts:
            yield "enablePreemption: has no effect: the actions preempt and gangpreempt evict for gangs"
        if self.skips_check:
            yield "skipCheckScheduleCycle: has no effect"
