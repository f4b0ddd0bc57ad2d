"""ElasticQuotas: amounts that are some, a guarantee within the maximum, annotations that are read, a place in a tree.

A quota is judged when it is new, and when its spec, its place or its namespaces change.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from controllers.admission.faults import Fault, the_first
from controllers.admission.rules.elastic_trees import deletion_faults, neighbour_faults
from controllers.admission.rules.shape import read
from model import wire
from model.elastic.quota import ElasticQuota, faults_in, read_quota

__all__ = ["faults_of", "faults_of_deletion"]


def faults_of(
    quota: Mapping[str, Any] | wire.ElasticQuota,
    old: Mapping[str, Any] | wire.ElasticQuota | None = None,
    quotas: Sequence[wire.ElasticQuota] | None = None,
) -> tuple[Fault, ...]:
    """Find what is wrong with an ElasticQuota; nothing where all that matters is what it was.

    Args:
        quota: The ElasticQuota, as JSON or as its struct.
        old: What it was; None when it is new.
        quotas: All there are; without them nothing is said about others.
    """
    return the_first(_faults(quota, old, quotas))


def faults_of_deletion(namespace: str, name: str, quotas: Iterable[wire.ElasticQuota]) -> tuple[Fault, ...]:
    """Find why an ElasticQuota must stay."""
    return the_first(deletion_faults(name, _others(f"{namespace}/{name}", quotas)))


def _faults(
    value: Mapping[str, Any] | wire.ElasticQuota,
    old: Mapping[str, Any] | wire.ElasticQuota | None,
    quotas: Sequence[wire.ElasticQuota] | None,
) -> Iterator[Fault]:
    quota = read(wire.ElasticQuota, value)
    if isinstance(quota, Fault):
        yield quota
        return
    earlier = None if old is None else read(wire.ElasticQuota, old)
    before = _reading(earlier) if isinstance(earlier, wire.ElasticQuota) else None
    now = _reading(quota)
    if before is not None and _said(before) == _said(now):
        return
    if before is None or before.object.spec != quota.spec:
        for error in faults_in(quota):
            yield Fault(field=error.path, rule=error.message)
    if quotas is not None and not now.fault:
        yield from neighbour_faults(now, before, _others(quota.metadata.key, quotas))


def _said(quota: ElasticQuota) -> tuple[object, ...]:
    return quota.object.spec, quota.parent, quota.is_parent, quota.tree, quota.namespaces


def _others(key: str, quotas: Iterable[wire.ElasticQuota]) -> list[ElasticQuota]:
    return [_reading(each) for each in quotas if each.metadata.key != key]


def _reading(quota: wire.ElasticQuota) -> ElasticQuota:
    return read_quota(quota, lambda _: None)
