"""ElasticQuotas: valid amounts, a guarantee within the maximum, valid annotations, and a valid parent.

A quota is validated if it is new, or if its spec, its parent or its namespaces change. Only the changes are validated.
A new quota gets its parent, the tree of its parent, and weights for all resources of its maximum.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import msgspec

from pyroclast.controllers.admission.faults import Fault, the_first
from pyroclast.controllers.admission.patches import Patch, add
from pyroclast.controllers.admission.rules.elastic_guarantees import guarantee_faults
from pyroclast.controllers.admission.rules.elastic_trees import deletion_faults, neighbour_faults
from pyroclast.controllers.admission.rules.shape import read
from pyroclast.model import wire
from pyroclast.model.annotations import read_json
from pyroclast.model.elastic.names import MAX_STRICT_CHECK, NAMESPACES, PARENT, ROOT_QUOTA, SHARED_WEIGHT, TREE_ID
from pyroclast.model.elastic.quota import ParsedQuota, age, faults_in, read_quota
from pyroclast.model.quantity import QuantityError
from pyroclast.model.requests import amounts, quantity_text
from pyroclast.model.resources import Amounts

__all__ = ["defaulted", "faults_of", "faults_of_deletion"]


def defaulted(quota: Mapping[str, Any], quotas: Iterable[wire.ElasticQuota] | None = None) -> list[Patch]:
    """Return the defaults of a new ElasticQuota. Fields of a wrong type stay, and `faults_of` refuses them.

    Args:
        quota: The ElasticQuota, as JSON.
        quotas: All there are; without them the tree is not set, and the scheduler reads it from the parent.
    """
    given = read(wire.ElasticQuota, quota)
    if isinstance(given, Fault) or given.metadata.name == ROOT_QUOTA:
        return []
    labels = given.metadata.labels
    added: dict[str, str] = {}
    if not labels.get(PARENT):
        added[PARENT] = ROOT_QUOTA
    tree = _tree_of(given.metadata, _by_name(quotas or ()))
    if tree and not labels.get(TREE_ID):
        added[TREE_ID] = tree
    weight = _aligned_weight(given)
    annotations = {SHARED_WEIGHT: weight} if weight else {}
    return [*_members("labels", quota, added), *_members("annotations", quota, annotations)]


def _aligned_weight(quota: wire.ElasticQuota) -> str:
    """Return the weights with the resources of the maximum alone; empty if nothing differs or they are malformed."""
    text, most = quota.metadata.annotations.get(SHARED_WEIGHT, ""), quota.spec.max
    try:
        known = read_json(text or "{}", dict[str, wire.Quantity])
    except ValueError:
        return ""
    desired = {name: known.get(name, amount) for name, amount in most.items()}
    return "" if known == desired else msgspec.json.encode(desired, order="deterministic").decode()


def _members(field: str, quota: Mapping[str, Any], added: Mapping[str, str]) -> list[Patch]:
    there = quota["metadata"].get(field)
    if not added:
        return []
    if not there:
        return [add("metadata", field, value=dict(added))]
    return [add("metadata", field, key, value=value) for key, value in added.items()]


def _by_name(quotas: Iterable[wire.ElasticQuota]) -> dict[str, wire.ObjectMeta]:
    """Return the metadata by name. The oldest of several quotas of one name counts, as in the scheduler."""
    return {quota.metadata.name: quota.metadata for quota in sorted(quotas, key=age, reverse=True)}


def _tree_of(
    quota: wire.ObjectMeta, by_name: Mapping[str, wire.ObjectMeta], known: dict[str, str] | None = None
) -> str:
    """Return the tree of a quota: its own label, or that of the nearest ancestor with one.

    Args:
        quota: The quota.
        by_name: The quotas above it.
        known: Trees by name that were found before; those on the way are added.
    """
    known = {} if known is None else known
    seen: dict[str, None] = {}
    at, tree = quota, quota.labels.get(TREE_ID, "")
    while not tree and at.name not in seen:
        if at is by_name.get(at.name):  # else another quota of this name counts above others
            if at.name in known:
                tree = known[at.name]
                break
            seen[at.name] = None
        above = by_name.get(at.labels.get(PARENT, ""))
        if above is None:
            break
        at, tree = above, above.labels.get(TREE_ID, "")
    known.update(dict.fromkeys(seen, tree))
    return tree


def faults_of(
    quota: Mapping[str, Any] | wire.ElasticQuota,
    old: Mapping[str, Any] | wire.ElasticQuota | None = None,
    quotas: Sequence[wire.ElasticQuota] | None = None,
    *,
    guarantees_use: bool = False,
) -> tuple[Fault, ...]:
    """Find the faults of an ElasticQuota, or nothing if no relevant field has changed.

    Args:
        quota: The ElasticQuota, as JSON or as its struct.
        old: Previous ElasticQuota, None for a new one.
        quotas: All ElasticQuotas. Without them, rules about other quotas are skipped.
        guarantees_use: Whether quotas are guaranteed what they use, so that those above must cover it.
    """
    return the_first(_faults(quota, old, quotas, guarantees_use=guarantees_use))


def faults_of_deletion(namespace: str, name: str, quotas: Iterable[wire.ElasticQuota]) -> tuple[Fault, ...]:
    """Find why an ElasticQuota must not be deleted."""
    others = (each for each in quotas if each.metadata.key != f"{namespace}/{name}")
    # the review of each object of a collection has no name: all objects of the namespace are deleted, in any order
    return the_first(deletion_faults(name, others)) if name else ()


def _faults(
    value: Mapping[str, Any] | wire.ElasticQuota,
    old: Mapping[str, Any] | wire.ElasticQuota | None,
    quotas: Sequence[wire.ElasticQuota] | None,
    *,
    guarantees_use: bool,
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
    yield from _less_than_used(quota)
    if quotas is not None and not now.fault:
        others = [each for each in quotas if each.metadata.key != quota.metadata.key]
        own, older, near = _in_trees(now, before, others)
        yield from neighbour_faults(own, older, near)
        if guarantees_use:
            yield from guarantee_faults(own, older, others)


def _in_trees(
    now: ParsedQuota, before: ParsedQuota | None, others: Sequence[wire.ElasticQuota]
) -> tuple[ParsedQuota, ParsedQuota | None, list[ParsedQuota]]:
    """Return a quota, its older state and the quotas near it. Quotas without a tree have that of their parents."""
    by_name = _by_name(others)
    known: dict[str, str] = {}

    def placed(quota: ParsedQuota) -> ParsedQuota:
        return quota if quota.tree else replace(quota, tree=_tree_of(quota.object.metadata, by_name, known))

    # the quotas below inherit from this one, as it will be
    own, older = placed(now), None if before is None else placed(before)
    own_labels = {**now.object.metadata.labels, TREE_ID: own.tree}
    known.clear()
    by_name[now.name] = msgspec.structs.replace(now.object.metadata, labels=own_labels)
    return own, older, [placed(_reading(each)) for each in others if _is_near(now, each.metadata)]


def _less_than_used(quota: wire.ElasticQuota) -> Iterator[Fault]:
    """Find resources whose maximum is strict and less than the use, or missing."""
    text = quota.metadata.annotations.get(MAX_STRICT_CHECK, "")
    try:
        strict = read_json(text or "[]", list[str])
    except ValueError as error:
        yield Fault(field=f"metadata.annotations.{MAX_STRICT_CHECK}", rule=str(error))
        return
    most, used = (_readable(each) for each in (quota.spec.max, quota.status.used))
    for name in strict:
        if name in used and used[name] > most.get(name, -1):
            has = quantity_text(name, most[name]) if name in most else "no amount"
            yield Fault(
                field=f"spec.max.{name}",
                rule=f"its pods use {quantity_text(name, used[name])}, more than the strict maximum: {has}",
            )


def _readable(listed: Mapping[str, wire.Quantity]) -> Amounts:
    """Read amounts by resource name, without those that are none."""
    read_amounts: dict[str, int] = {}
    for name, quantity in listed.items():
        with suppress(QuantityError):
            read_amounts.update(amounts({name: quantity}))
    return read_amounts


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
