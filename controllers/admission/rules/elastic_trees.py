"""ElasticQuotas beside each other: names and namespaces once, trees that hold together, guarantees that fit.

A parent that is not there is no fault: quotas of one file come in any order. The scheduler serves nothing below it.
"""

from collections.abc import Iterable, Iterator, Sequence

from controllers.admission.faults import Fault, some
from model.elastic.names import (
    ALLOW_FORCE_UPDATE,
    IS_PARENT,
    IS_ROOT,
    NAMESPACES,
    PARENT,
    TREE_ID,
)
from model.elastic.quota import ElasticQuota
from model.requests import quantity_text
from model.resources import Amounts

__all__ = ["deletion_faults", "neighbour_faults"]


def deletion_faults(name: str, others: Iterable[ElasticQuota]) -> Iterator[Fault]:
    """Find why a quota must stay.

    Args:
        name: Its name.
        others: The other quotas.
    """
    below = sorted(each.name for each in others if each.parent == name)
    if below:
        yield Fault(field="metadata.name", value=name, rule=f"quotas stand below it: {some(below)}")


def neighbour_faults(
    quota: ElasticQuota, before: ElasticQuota | None, others: Sequence[ElasticQuota]
) -> Iterator[Fault]:
    """Find what is wrong with a quota beside others.

    Args:
        quota: The quota.
        before: What it was; None when it is new.
        others: All others, as they are.
    """
    yield from _shared_names(quota, others)
    yield from _moved(quota, before, others)
    above = next((each for each in others if each.name == quota.parent), None)
    below = [each for each in others if each.parent == quota.name]
    if above is not None:
        yield from _misplaced(quota, above)
        siblings = [each for each in others if each.parent == above.name]
        yield from _guaranteed_beyond(above, [quota, *siblings], is_own=False, exempt=quota)
    if below:
        yield from _guaranteed_beyond(quota, below, is_own=True, exempt=quota)
        yield from _unnamed_above(quota, below)


def _shared_names(quota: ElasticQuota, others: Iterable[ElasticQuota]) -> Iterator[Fault]:
    for other in others:
        if other.name == quota.name:
            yield Fault(
                field="metadata.name",
                value=quota.name,
                rule=f"names of quotas are unique in the cluster; {other.namespace} has one of this name",
            )
        both = sorted(set(quota.namespaces) & set(other.namespaces))
        if both:
            field = f"metadata.annotations.{NAMESPACES}"
            yield Fault(field=field, rule=f"quota {other.name} lists them already: {some(both)}")


def _moved(quota: ElasticQuota, before: ElasticQuota | None, others: Iterable[ElasticQuota]) -> Iterator[Fault]:
    below = sorted(each.name for each in others if each.parent == quota.name)
    if below and not quota.is_parent:
        yield Fault(field=f"metadata.labels.{IS_PARENT}", expected="true", rule=f"quotas stand below it: {some(below)}")
    if before is not None and before.tree != quota.tree:
        field = f"metadata.labels.{TREE_ID}"
        yield Fault(field=field, value=quota.tree, expected=before.tree or "none", rule="the tree of a quota stays")
    strays = sorted(each.name for each in others if each.parent == quota.name and each.tree != quota.tree)
    if strays:
        field = f"metadata.labels.{TREE_ID}"
        yield Fault(field=field, value=quota.tree, rule=f"quotas below it are of another tree: {some(strays)}")


def _misplaced(quota: ElasticQuota, above: ElasticQuota) -> Iterator[Fault]:
    field = f"metadata.labels.{PARENT}"
    if not above.is_parent:
        yield Fault(field=field, value=above.name, rule="this quota is not marked as a parent")
    if above.tree != quota.tree:
        field = f"metadata.labels.{TREE_ID}"
        yield Fault(field=field, value=quota.tree, expected=above.tree or "none", rule=f"{above.name} has another tree")
    if unnamed := sorted(quota.maximum.keys() - above.maximum.keys()):
        rule = f"quota {above.name} above it has no maximum of them: {some(unnamed)}"
        yield Fault(field="spec.max", rule=rule)


def _unnamed_above(quota: ElasticQuota, below: Iterable[ElasticQuota]) -> Iterator[Fault]:
    for each in below:
        if unnamed := sorted(each.maximum.keys() - quota.maximum.keys()):
            yield Fault(field="spec.max", rule=f"quota {each.name} below it names more: {some(unnamed)}")


def _guaranteed_beyond(
    above: ElasticQuota, below: Iterable[ElasticQuota], *, is_own: bool, exempt: ElasticQuota
) -> Iterator[Fault]:
    """Find what quotas below one are guaranteed together beyond its own guarantee, unless that was asked for."""
    labels = exempt.object.metadata.labels
    if "true" in {labels.get(ALLOW_FORCE_UPDATE), labels.get(IS_ROOT)}:
        return
    together: Amounts = {}
    for each in below:
        together = {
            name: together.get(name, 0) + each.minimum.get(name, 0) for name in together.keys() | each.minimum.keys()
        }
    for name in sorted(together):
        least = above.minimum.get(name, 0)
        if together[name] > least:
            whose = "quotas below it" if is_own else f"it and its siblings below {above.name}"
            guaranteed = f"{whose} are guaranteed {quantity_text(name, together[name])} together"
            yield Fault(
                field=f"spec.min.{name}",
                rule=f"{guaranteed}, more than the {quantity_text(name, least)} of {above.name}",
            )
