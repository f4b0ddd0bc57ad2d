"""ElasticQuotas: valid amounts, a guarantee within the maximum, valid annotations, and a valid parent.

A quota is validated if it is new, or if its spec, its parent or its namespaces change. Only the changes are validated.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pyroclast.controllers.admission.faults import Fault, the_first
from pyroclast.controllers.admission.rules.elastic_trees import deletion_faults, neighbour_faults
from pyroclast.controllers.admission.rules.shape import read
from pyroclast.model import wire
from pyroclast.model.elastic.names import NAMESPACES, PARENT, ROOT_QUOTA
from pyroclast.model.elastic.quota import ParsedQuota, faults_in, read_quota

__all__ = ["faults_of", "faults_of_deletion"]


def faults_of(
    quota: Mapping[str, Any] | wire.ElasticQuota,
    old: Mapping[str, Any] | wire.ElasticQuota | None = None,
    quotas: Sequence[wire.ElasticQuota] | None = None,
) -> tuple[Fault, ...]:
    """Find the faults of an ElasticQuota, or nothing if no relevant field has changed.

    Args:
        quota: The ElasticQuota, as JSON or as its struct.
        old: Previous ElasticQuota, None for a new one.
        quotas: All ElasticQuotas. Without them, rules about other quotas are skipped.
    """
    return the_first(_faults(quota, old, quotas))


def faults_of_deletion(namespace: str, name: str, quotas: Iterable[wire.ElasticQuota]) -> tuple[Fault, ...]:
    """Find why an ElasticQuota must not be deleted."""
    others = (each for each in quotas if each.metadata.key != f"{namespace}/{name}")
    # the review of each object of a collection has no name: all objects of the namespace are deleted, in any order
    return the_first(deletion_faults(name, others)) if name else ()


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
    stood = set() if before is None else set(_standing(before.object, is_same_spec=before.object.spec == quota.spec))
    for error in faults_in(quota):
        if (error.path, error.message) not in stood:
            yield Fault(field=error.path, rule=error.message)
    if quotas is not None and not now.fault:
        near = (each for each in quotas if each.metadata.key != quota.metadata.key and _is_near(now, each.metadata))
        yield from neighbour_faults(now, before, [_reading(each) for each in near])


def _said(quota: ParsedQuota) -> tuple[object, ...]:
    spec, listed = quota.object.spec, quota.object.metadata.annotations.get(NAMESPACES)
    return spec, quota.parent, quota.is_parent, quota.tree, listed


def _standing(before: wire.ElasticQuota, *, is_same_spec: bool) -> Iterator[tuple[str, str]]:
    """Return the faults of unchanged fields, by path and message."""
    for error in faults_in(before):
        if is_same_spec or not error.path.startswith("spec."):
            yield error.path, error.message


def _is_near(quota: ParsedQuota, other: wire.ObjectMeta) -> bool:
    """Return whether a rule can concern another quota. Parsing a thousand quotas would delay the response."""
    parent = other.labels.get(PARENT) or ROOT_QUOTA
    beside_it = parent in {quota.name, quota.parent} and parent != ROOT_QUOTA
    return beside_it or other.name in {quota.name, quota.parent} or NAMESPACES in other.annotations


def _reading(quota: wire.ElasticQuota) -> ParsedQuota:
    return read_quota(quota, lambda _: None)
