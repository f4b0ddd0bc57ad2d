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
from pyroclast.plugins.elastic_quota.hook_plugins import HookPlugin, read_hook_plugins

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
    """Arguments of elastic-quota, with Koordinator's names."""

    lends: bool = argument("enableRuntimeQuota", True)
    """Whether a quota's limit is its guarantee plus the unused part of others; otherwise it is its maximum."""
    checks_parents: bool = argument("enableCheckParentQuota", True)
    """Whether the limits of a quota's ancestors apply too."""
    cuts_guarantees: bool = argument("enableMinQuotaScale", True)
    """Whether guarantees are scaled down in proportion if together they exceed the cluster."""
    guarantees_use: bool = argument("enableGuaranteeUsage", False)
    """Whether the amounts in use are guaranteed beyond the minimum. Quotas then lend nothing of their guarantees."""
    monitor_all: bool = argument("monitorAllQuotas", True)
    """Whether pods are evicted from quotas that exceed their limit for long; requires the action shuffle."""
    delay: Fraction = argument("delayEvictTime", _DELAY, parse=duration)
    """Time before the eviction, in seconds."""
    spares_default: bool = argument("disableDefaultQuotaPreemption", True)
    """Whether pods of the default quota preempt, and are preempted, as if there were no quotas."""
    default_maximum: Amounts = argument("defaultQuotaGroupMax", NO_AMOUNTS, parse=_maximum)
    """Maximum of all pods without a quota; resources that it does not name are not limited."""
    system_maximum: Amounts = argument("systemQuotaGroupMax", NO_AMOUNTS, parse=_maximum)
    """Maximum of all pods of the system quota."""

    hook_plugins: tuple[HookPlugin, ...] = argument("hookPlugins", (), parse=read_hook_plugins)
    """Other plugins that also decide about pods of quotas, and annotate quotas: entries of `key`, `factoryKey` and
    `factoryArgs`."""
    own_quotas_alone: bool = argument("labelsOfOwnQuotas", False)
    """Whether a pod's label counts only for quotas that are in its namespace or list it."""

    def doubts(self) -> Iterable[str]:
        """Yield warnings about disabled parts of the quota rules."""
        if not self.lends:
            yield "enableRuntimeQuota: false permits quotas their maximum, regardless of the guarantees of others"
        elif not self.monitor_all:
            yield "monitorAllQuotas: false does not return borrowed resources, even if their owner requests them"
        if not self.checks_parents:
            yield "enableCheckParentQuota: false permits quotas together more than their parent"
