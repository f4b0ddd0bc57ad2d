"""Arguments of elastic-quota."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from pyroclast.framework.configuration.arguments import argument
from pyroclast.framework.configuration.conversions import Mismatch, duration
from pyroclast.model.quantity import QuantityError
from pyroclast.model.requests import amounts
from pyroclast.model.resources import NO_AMOUNTS, Amounts

__all__ = ["ElasticQuotaArgs"]

_DELAY: Final = Fraction(120)


def _maximum(value: Any) -> Amounts:
    expected = "amounts by resource name, at least 0"
    if not isinstance(value, Mapping):
        raise Mismatch(value, expected)
    try:
        read = amounts(value)
    except (QuantityError, TypeError, AttributeError):
        raise Mismatch(value, expected) from None
    if any(amount < 0 for amount in read.values()):
        raise Mismatch(value, expected)
    return read


@dataclass(frozen=True, slots=True, kw_only=True)
class ElasticQuotaArgs:
    """Arguments of elastic-quota, spelled as Koordinator's."""

    lends: bool = argument("enableRuntimeQuota", True)
    """Whether a quota may have what it is guaranteed and what others leave; else its maximum, whatever is there."""
    checks_parents: bool = argument("enableCheckParentQuota", True)
    """Whether the quotas above one's own must have room, too."""
    cuts_guarantees: bool = argument("enableMinQuotaScale", True)
    """Whether guarantees are cut in proportion where together they exceed what is there."""
    monitor_all: bool = argument("monitorAllQuotas", True)
    """Whether pods are evicted of quotas that have had more than they may for long; needs the action shuffle."""
    delay: Fraction = argument("delayEvictTime", _DELAY, parse=duration)
    """For how long, seconds."""
    spares_default: bool = argument("disableDefaultQuotaPreemption", True)
    """Whether pods of the default quota evict, and are evicted, as if there were no quotas."""
    default_maximum: Amounts = argument("defaultQuotaGroupMax", NO_AMOUNTS, parse=_maximum)
    """Most that pods without a quota may have together; what it does not speak of is not limited."""
    system_maximum: Amounts = argument("systemQuotaGroupMax", NO_AMOUNTS, parse=_maximum)
    """The same of pods of the system quota."""

    own_quotas_alone: bool = argument("labelsOfOwnQuotas", False)
    """Whether a pod's label counts only for quotas that stand in its namespace or list it."""

    def doubts(self) -> Iterable[str]:
        """Name what is switched off though quotas promise it."""
        if not self.lends:
            yield "enableRuntimeQuota: false lets quotas have their maximum, whatever others are guaranteed"
        elif not self.monitor_all:
            yield "monitorAllQuotas: false leaves with a quota what it borrowed, also when its owner asks for it"
        if not self.checks_parents:
            yield "enableCheckParentQuota: false lets quotas together have more than the one above them"
