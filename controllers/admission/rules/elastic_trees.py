"""Trees of ElasticQuotas: unique names and namespaces, consistent trees, and guarantees within those of the parent.

A missing parent is not a fault, because quotas of one file arrive in any order. The scheduler ignores quotas below it.
"""

from collections.abc import Iterable, Iterator, Sequence

from pyroclast.controllers.admission.faults import Fault, some
from pyroclast.model import wire
from pyroclast.model.elastic.names import (
    ALLOW_FORCE_UPDATE,
    IS_PARENT,
    IS_ROOT,
    NAMESPACES,
    PARENT,
    TREE_ID,
)
from pyroclast.model.elastic.quota import ParsedQuota
from pyroclast.model.requests import quantity_text
from pyroclast.model.resources import NO_AMOUNTS

__all__ = ["deletion_faults", "neighbour_faults"]


def deletion_faults(name: str, others: Iterable[wire.ElasticQuota]) -> Iterator[Fault]:
    """Find why a quota must not be deleted. A quota of the same name can replace it as a parent.

    Args:
        name: Its name.
        others: The other quotas.
    """
    named = [each.metadata for each in others]
    below = sorted(each.name for each in named if each.labels.get(PARENT) == name)
    if below and all(each.name != name for each in named):
        yield Fault(field="metadata.name", value=name, rule=f"quotas stand below it: {some(below)}")


def neighbour_faults(quota: ParsedQuota, before: ParsedQuota | None, others: Sequence[ParsedQuota]) -> Iterator[Fault]:
    """Find the new faults of a quota among other quotas.

    Args:
        quota: The quota.
        before: Previous quota, None for a new one.
        others: All related quotas.
    """
    yield from _shared_names(quota, before, others)
    above = next((each for each in others if each.name == quota.parent), None)
    below = [each for each in others if each.parent == quota.name]
    yield from _moved(quota, before, below)
    if above is not None:
        siblings = [each for each in others if each.parent == above.name]
        yield from _misplaced(quota, before, above)
        yield from _crowded(quota, before, above, siblings)
    if below:
        yield from _narrowed(quota, before, below)


def _shared_names(quota: ParsedQuota, before: ParsedQuota | None, others: Iterable[ParsedQuota]) -> Iterator[Fault]:
    listed = set(quota.namespaces) - set(before.namespaces if before is not None else ())
    for other in others:
        if before is None and other.name == quota.name:
            yield Fault(
                field="metadata.name",
                value=quota.name,
                rule=f"names of quotas are unique in the cluster; {other.namespace} has one of this name",
            )
        both = sorted(listed & set(other.namespaces))
        if both:
            field = f"metadata.annotations.{NAMESPACES}"
            yield Fault(field=field, rule=f"quota {other.name} lists them already: {some(both)}")


def _moved(quota: ParsedQuota, before: ParsedQuota | None, below: Sequence[ParsedQuota]) -> Iterator[Fault]:
    if below and not quota.is_parent and (before is None or before.is_parent):
        names = some(sorted(each.name for each in below))
        yield Fault(field=f"metadata.labels.{IS_PARENT}", expected="true", rule=f"quotas stand below it: {names}")
    if before is not None and before.tree == quota.tree:
        return
    field = f"metadata.labels.{TREE_ID}"
    if before is not None:
        yield Fault(field=field, value=quota.tree, expected=before.tree or "none", rule="the tree of a quota stays")
    strays = sorted(each.name for each in below if each.tree != quota.tree)
    if strays:
        yield Fault(field=field, value=quota.tree, rule=f"quotas below it are of another tree: {some(strays)}")


def _misplaced(quota: ParsedQuota, before: ParsedQuota | None, above: ParsedQuota) -> Iterator[Fault]:
    here = before if before is not None and before.parent == quota.parent else None
    if here is None and not above.is_parent:
        field = f"metadata.labels.{PARENT}"
        yield Fault(field=field, value=above.name, rule="this quota is not marked as a parent")
    if (here is None or here.tree != quota.tree) and above.tree != quota.tree:
        field = f"metadata.labels.{TREE_ID}"
        yield Fault(field=field, value=quota.tree, expected=above.tree or "none", rule=f"{above.name} has another tree")
    named = quota.maximum.keys() - (() if here is None else here.maximum.keys())
    if unnamed := sorted(named - above.maximum.keys()):
        rule = f"quota {above.name} above it has no maximum of them: {some(unnamed)}"
        yield Fault(field="spec.max", rule=rule)


def _crowded(
    quota: ParsedQuota, before: ParsedQuota | None, above: ParsedQuota, siblings: Iterable[ParsedQuota]
) -> Iterator[Fault]:
    """Find resources in which the guarantees of a quota and its siblings now exceed their parent's guarantee."""
    had = before.minimum if before is not None and before.parent == quota.parent else NO_AMOUNTS
    more = [name for name, least in quota.minimum.items() if least > had.get(name, 0)]
    yield from _guaranteed_beyond(quota, above, [quota, *siblings], more, f"it and its siblings below {above.name}")


def _narrowed(quota: ParsedQuota, before: ParsedQuota | None, below: Sequence[ParsedQuota]) -> Iterator[Fault]:
    """Find resources in which the guarantee of a quota is now less than the guarantees below it."""
    together = {name for each in below for name in each.minimum}
    less = [name for name in together if before is None or quota.minimum.get(name, 0) < before.minimum.get(name, 0)]
    yield from _guaranteed_beyond(quota, quota, below, less, "quotas below it")
    for each in below:
        unnamed = each.maximum.keys() - quota.maximum.keys()
        if dropped := sorted(unnamed if before is None else unnamed & before.maximum.keys()):
            yield Fault(field="spec.max", rule=f"quota {each.name} below it names more: {some(dropped)}")


def _guaranteed_beyond(
    quota: ParsedQuota, above: ParsedQuota, below: Sequence[ParsedQuota], names: Iterable[str], whose: str
) -> Iterator[Fault]:
    """Find resources in which the guarantees of children exceed their parent's guarantee, unless this is permitted."""
    labels = quota.object.metadata.labels
    if "true" in {labels.get(ALLOW_FORCE_UPDATE), labels.get(IS_ROOT)}:
        return
    for name in sorted(names):
        together, least = sum(each.minimum.get(name, 0) for each in below), above.minimum.get(name, 0)
        if together > least:
            guaranteed = f"{whose} are guaranteed {quantity_text(name, together)} together"
            yield Fault(
                field=f"spec.min.{name}",
                rule=f"{guaranteed}, more than the {quantity_text(name, least)} of {above.name}",
            )
