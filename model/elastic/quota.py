"""What an ElasticQuota says, read once for each of its versions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from model import wire
from model.elastic.names import (
    ALLOW_LENT_RESOURCE,
    IS_PARENT,
    NAMESPACES,
    PARENT,
    ROOT_QUOTA,
    SHARED_WEIGHT,
    TREE_ID,
)
from model.errors import ObjectError
from model.quantity import QuantityError
from model.requests import amounts, is_whole
from model.resources import MILLI, NO_AMOUNTS, Amounts

__all__ = ["LARGEST_AMOUNT", "ElasticQuota", "read_quota"]

KIND: Final = "ElasticQuota"
LARGEST_AMOUNT: Final = 2**58
"""Amounts of quotas saturate here, in base units, so that sums over a tree stay inside 63 bits."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ElasticQuota:
    """One ElasticQuota, its amounts parsed; resources that its maximum does not speak of are not its concern."""

    name: str
    """Unique in the cluster, though the object is in a namespace."""
    namespace: str
    parent: str
    is_parent: bool
    tree: str
    """Empty for the tree that all share which name none."""
    lends: bool
    """Whether others may use what it is guaranteed while it does not ask for it."""
    minimum: Amounts
    """What it is guaranteed."""
    maximum: Amounts
    """Most that it may have."""
    weight: Amounts
    """Its part, beside others', of what nobody is guaranteed or asks for by guarantee."""
    namespaces: tuple[str, ...]
    """Whose pods use it without naming it."""
    fault: str
    """What is wrong with its amounts, so that none of them counts; empty where nothing is."""
    object: wire.ElasticQuota


def read_quota(quota: wire.ElasticQuota, report: Callable[[ObjectError], None]) -> ElasticQuota:
    """Read an ElasticQuota.

    Args:
        quota: The object.
        report: Is told what cannot be read: an amount of the spec that is no quantity, is negative, or is guaranteed
            beyond the maximum makes the quota a faulty one, an annotation counts as absent.
    """
    metadata, fault = quota.metadata, ""
    minimum = maximum = NO_AMOUNTS
    try:
        minimum, maximum = _limits(quota)
    except ObjectError as error:
        report(error)
        fault = f"{error.path}: {error.message}"
    return ElasticQuota(
        name=metadata.name,
        namespace=metadata.namespace,
        parent=metadata.labels.get(PARENT) or ROOT_QUOTA,
        is_parent=metadata.labels.get(IS_PARENT) == "true",
        tree=metadata.labels.get(TREE_ID, ""),
        lends=metadata.labels.get(ALLOW_LENT_RESOURCE) != "false",
        minimum=minimum,
        maximum=maximum,
        weight=_weight(metadata, report) or maximum,
        namespaces=_namespaces(metadata, report),
        fault=fault,
        object=quota,
    )


def _limits(quota: wire.ElasticQuota) -> tuple[Amounts, Amounts]:
    """Return minimum and maximum; raises ObjectError where they cannot be read, or do not go together."""
    key = quota.metadata.key
    minimum, maximum = _amounts(key, "spec.min", quota.spec.min), _amounts(key, "spec.max", quota.spec.max)
    for name, least in minimum.items():
        if name not in maximum:
            raise ObjectError(KIND, key, f"spec.min.{name}", "has no maximum in spec.max")
        if least > maximum[name]:
            raise ObjectError(KIND, key, f"spec.min.{name}", "is more than spec.max has of it")
    return minimum, maximum


def _weight(metadata: wire.ObjectMeta, report: Callable[[ObjectError], None]) -> Amounts | None:
    """Return the weights that an object gives; None where it gives none, only zeros, or what cannot be read."""
    text = metadata.annotations.get(SHARED_WEIGHT)
    if not text:
        return None
    try:
        weights = _amounts(metadata.key, SHARED_WEIGHT, _json(metadata, SHARED_WEIGHT, text, dict[str, wire.Quantity]))
    except ObjectError as fault:
        report(fault)
        return None
    return weights if any(weights.values()) else None


def _namespaces(metadata: wire.ObjectMeta, report: Callable[[ObjectError], None]) -> tuple[str, ...]:
    text = metadata.annotations.get(NAMESPACES)
    if not text:
        return ()
    try:
        return tuple(_json(metadata, NAMESPACES, text, list[str]))
    except ObjectError as fault:
        report(fault)
        return ()


def _json(metadata: wire.ObjectMeta, key: str, text: str, kind: Any) -> Any:
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ObjectError(KIND, metadata.key, f"metadata.annotations.{key}", str(error)) from None


def _amounts(key: str, path: str, resources: Mapping[str, wire.Quantity]) -> dict[str, int]:
    read: dict[str, int] = {}
    for name, quantity in resources.items():
        try:
            each = amounts({name: quantity})
        except QuantityError as error:
            raise ObjectError(KIND, key, f"{path}.{name}", str(error)) from None
        for own, amount in each.items():
            if amount < 0:
                raise ObjectError(KIND, key, f"{path}.{own}", f"is negative: {quantity}")
            read[own] = min(amount, LARGEST_AMOUNT * MILLI if is_whole(own) else LARGEST_AMOUNT)
    return read
