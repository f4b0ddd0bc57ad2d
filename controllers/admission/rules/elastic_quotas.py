"""ElasticQuotas: amounts that are some, a guarantee within the maximum, annotations that can be read.

What concerns other quotas, a parent that is missing for example, is not judged here: quotas of one file come in any
order. The scheduler serves no quota below a missing parent, and says so.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from controllers.admission.faults import Fault, the_first
from controllers.admission.lookups import Lookups
from controllers.admission.rules.shape import read
from model import wire
from model.elastic.quota import faults_in

__all__ = ["faults_of"]


def faults_of(
    quota: Mapping[str, Any] | wire.ElasticQuota,
    old: Mapping[str, Any] | wire.ElasticQuota | None = None,
    lookups: Lookups | None = None,  # noqa: ARG001  all rules are asked in one way
) -> tuple[Fault, ...]:
    """Find what is wrong with an ElasticQuota; nothing where its spec is what it was.

    Args:
        quota: The ElasticQuota, as JSON or as its struct.
        old: What it was; None when it is new.
        lookups: Not asked.
    """
    return the_first(_faults(quota, old))


def _faults(
    value: Mapping[str, Any] | wire.ElasticQuota, old: Mapping[str, Any] | wire.ElasticQuota | None
) -> Iterator[Fault]:
    quota = read(wire.ElasticQuota, value)
    if isinstance(quota, Fault):
        yield quota
        return
    if old is not None:
        earlier = read(wire.ElasticQuota, old)
        if isinstance(earlier, wire.ElasticQuota) and earlier.spec == quota.spec:
            return
    for error in faults_in(quota):
        yield Fault(field=error.path, rule=error.message)
