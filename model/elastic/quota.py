"""ElasticQuota: the parsed object, read once for each of its versions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pyroclast.model import wire
from pyroclast.model.annotations import read_json
from pyroclast.model.elastic.names import (
    ALLOW_LENT_RESOURCE,
    IGNORE_DEFAULT_TREE,
    IS_PARENT,
    IS_ROOT,
    NAMESPACES,
    PARENT,
    ROOT_QUOTA,
    SHARED_WEIGHT,
    TOTAL_RESOURCE,
    TREE_ID,
    UNSCHEDULABLE_RESOURCE,
)
from pyroclast.model.errors import ObjectError
from pyroclast.model.quantity import QuantityError
from pyroclast.model.requests import amounts, is_whole
from pyroclast.model.resources import MILLI, NO_AMOUNTS, Amounts

__all__ = [
    "LARGEST_AMOUNT",
    "ParsedQuota",
    "age",
    "faults_in",
    "is_said_alike",
    "listed_namespaces",
    "read_quota",
    "unschedulable_amounts",
]

KIND: Final = "ElasticQuota"
LARGEST_AMOUNT: Final = 2**58
"""Amounts of quotas saturate here, in base units, so that sums over a tree stay inside 63 bits."""


_READ: Final = (SHARED_WEIGHT, TOTAL_RESOURCE, NAMESPACES)
"""Annotations that specify the quota. Other annotations are its status."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ParsedQuota:
    """One ElasticQuota with parsed amounts. It does not count resources that its maximum does not list."""

    name: str
    """Unique in the cluster, though the object is in a namespace."""
    namespace: str
    parent: str
    is_parent: bool
    tree: str
    """Empty for the default tree, which quotas without a tree share."""
    tree_total: Amounts | None
    """Amounts that its tree divides, if it is the root of one; else None."""
    adds_to_cluster: bool
    """Whether the amounts of its tree are added to those of the default tree instead of deducted from them."""
    lends: bool
    """Whether other quotas may use its guarantee while it does not request it."""
    minimum: Amounts
    """Guaranteed amounts."""
    maximum: Amounts
    """Maximum amounts."""
    weight: Amounts
    """Weight for resources that are not guaranteed, or whose guarantee is not requested."""
    namespaces: tuple[str, ...]
    """Namespaces whose pods use it without naming it."""
    fault: str
    """Error in its amounts, so that none of them counts; empty if there is none."""
    object: wire.ElasticQuota


def read_quota(quota: wire.ElasticQuota, report: Callable[[ObjectError], None]) -> ParsedQuota:
    """Read an ElasticQuota.

    Args:
        quota: The object.
        report: Receives each error. The quota is faulty if an amount of the spec is not a quantity, is negative, or is
            guaranteed beyond the maximum, or if the root of a tree gives malformed amounts of the tree. Another
            malformed annotation counts as absent.
    """
    metadata = quota.metadata
    minimum, maximum, faults = _limits(quota)
    total = _tree_total(metadata, faults.append)
    for each in faults:
        report(each)
    if faults:
        minimum = maximum = NO_AMOUNTS
    return ParsedQuota(
        name=metadata.name,
        namespace=metadata.namespace,
        parent=metadata.labels.get(PARENT) or ROOT_QUOTA,
        is_parent=metadata.labels.get(IS_PARENT) == "true",
        tree=metadata.labels.get(TREE_ID, ""),
        tree_total=total,
        adds_to_cluster=metadata.labels.get(IGNORE_DEFAULT_TREE) == "true",
        lends=metadata.labels.get(ALLOW_LENT_RESOURCE) != "false",
        minimum=minimum,
        maximum=maximum,
        weight=_aligned(_weight(metadata, report), maximum),
        namespaces=_namespaces(metadata, report),
        fault="; ".join(f"{each.path}: {each.message}" for each in faults),
        object=quota,
    )


def faults_in(quota: wire.ElasticQuota) -> list[ObjectError]:
    """Return everything that is wrong with an ElasticQuota by itself."""
    annotations: list[ObjectError] = []
    _weight(quota.metadata, annotations.append)
    _namespaces(quota.metadata, annotations.append)
    _tree_total(quota.metadata, annotations.append)
    return [*_limits(quota)[2], *annotations]


def age(quota: wire.ElasticQuota) -> tuple[str, str]:
    """Return the sort key that puts the oldest first. The oldest of several quotas of one name counts."""
    return quota.metadata.creation_timestamp, quota.metadata.key


def is_said_alike(one: wire.ElasticQuota, other: wire.ElasticQuota) -> bool:
    """Return whether two versions of an object parse to the same quota. Their statuses may differ."""
    here, there = one.metadata, other.metadata
    return (
        (here.uid, here.creation_timestamp, one.spec) == (there.uid, there.creation_timestamp, other.spec)
        and here.labels == there.labels
        and all(here.annotations.get(key) == there.annotations.get(key) for key in _READ)
    )


def listed_namespaces(quota: wire.ElasticQuota) -> tuple[str, ...]:
    """Return the namespaces that an object lists; none if the list is malformed."""
    return _namespaces(quota.metadata, lambda _: None)


def unschedulable_amounts(quota: wire.ElasticQuota) -> Amounts:
    """Return the amounts of a tree on nodes that take no pods, by its root; none if they are absent or malformed."""
    given = _json(quota.metadata, UNSCHEDULABLE_RESOURCE, dict[str, wire.Quantity], lambda _: None)
    return _amounts(quota.metadata.key, UNSCHEDULABLE_RESOURCE, given or {}, lambda _: None)


def _limits(quota: wire.ElasticQuota) -> tuple[Amounts, Amounts, list[ObjectError]]:
    """Return minimum and maximum, and their errors."""
    key, faults = quota.metadata.key, list[ObjectError]()
    minimum = _amounts(key, "spec.min", quota.spec.min, faults.append)
    maximum = _amounts(key, "spec.max", quota.spec.max, faults.append)
    for name, least in minimum.items():
        if name not in quota.spec.max:
            faults.append(ObjectError(KIND, key, f"spec.min.{name}", "has no maximum in spec.max"))
        elif least > maximum.get(name, least):
            faults.append(ObjectError(KIND, key, f"spec.min.{name}", "is more than spec.max has of it"))
    return minimum, maximum, faults


def _weight(metadata: wire.ObjectMeta, report: Callable[[ObjectError], None]) -> Amounts | None:
    """Return the weights that an object gives; None if they are absent, all zero, or malformed."""
    given = _json(metadata, SHARED_WEIGHT, dict[str, wire.Quantity], report)
    faults: list[ObjectError] = []
    weights = _amounts(metadata.key, f"metadata.annotations.{SHARED_WEIGHT}", given or {}, faults.append)
    for each in faults:
        report(each)
    return weights if any(weights.values()) and not faults else None


def _aligned(weight: Amounts | None, maximum: Amounts) -> Amounts:
    """Return a weight for each resource of the maximum: the given one, else the maximum."""
    return maximum if weight is None else {name: weight.get(name, most) for name, most in maximum.items()}


def _tree_total(metadata: wire.ObjectMeta, report: Callable[[ObjectError], None]) -> Amounts | None:
    """Return the amounts of a tree by its root; None if the quota is no root, or if the amounts are malformed."""
    if metadata.labels.get(IS_ROOT) != "true" or not metadata.labels.get(TREE_ID):
        return None
    path, faults = f"metadata.annotations.{TOTAL_RESOURCE}", list[ObjectError]()
    given = _json(metadata, TOTAL_RESOURCE, dict[str, wire.Quantity], faults.append)
    total = _amounts(metadata.key, path, given or {}, faults.append)
    if given is None and not faults:
        faults.append(ObjectError(KIND, metadata.key, path, "the root of a tree must list the resources of the tree"))
    for each in faults:
        report(each)
    return None if faults else total


def _namespaces(metadata: wire.ObjectMeta, report: Callable[[ObjectError], None]) -> tuple[str, ...]:
    return tuple(_json(metadata, NAMESPACES, list[str], report) or ())


def _json(metadata: wire.ObjectMeta, key: str, kind: Any, report: Callable[[ObjectError], None]) -> Any:
    """Return the value of an annotation; None if it is absent or malformed, which is reported."""
    text = metadata.annotations.get(key)
    if not text:
        return None
    try:
        return read_json(text, kind)
    except ValueError as error:
        report(ObjectError(KIND, metadata.key, f"metadata.annotations.{key}", str(error)))
        return None


def _amounts(
    key: str, path: str, resources: Mapping[str, wire.Quantity], report: Callable[[ObjectError], None]
) -> dict[str, int]:
    """Read amounts; those that are none, or negative, are reported and left out."""
    read: dict[str, int] = {}
    for name, quantity in resources.items():
        try:
            each = amounts({name: quantity})
        except QuantityError as error:
            report(ObjectError(KIND, key, f"{path}.{name}", str(error)))
            continue
        for own, amount in each.items():
            if amount < 0:
                report(ObjectError(KIND, key, f"{path}.{own}", f"is negative: {quantity}"))
            else:
                read[own] = min(amount, LARGEST_AMOUNT * MILLI if is_whole(own) else LARGEST_AMOUNT)
    return read
