"""Provisioning: the nodes for which a storage class can create a volume for a claim.

The class needs a provisioner, and the node must be in its allowed topologies. If its CSI driver publishes storage
capacity, enough of it must be left in a segment with the node.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from pyroclast.model import wire
from pyroclast.model.arrays import BoolArray, IntArray
from pyroclast.model.matching.nodes import requirement_mask, selector_mask
from pyroclast.model.matching.selectors import IN, Selector
from pyroclast.model.nodes import NodeFacts
from pyroclast.model.quantity import QuantityError, millis
from pyroclast.model.resources import MILLI
from pyroclast.model.snapshot import ClusterObjects
from pyroclast.plugins.predicates.claims import class_name
from pyroclast.plugins.predicates.static_volumes import requested_storage

__all__ = ["Provisionable", "capacities", "provisionable", "storage_left"]

_NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"


class Provisionable(NamedTuple):
    """Nodes for which a volume can be created; masks of shape (N,)."""

    allowed: BoolArray
    """Whether there is a provisioner and the class allows the topology."""
    has_space: BoolArray
    """Whether enough storage is left, as far as known."""


def provisionable(claim: wire.PersistentVolumeClaim, objects: ClusterObjects, facts: NodeFacts) -> Provisionable:
    """Return the nodes for which the class of a claim can create a volume."""
    everywhere = np.ones(len(facts.nodes), dtype=np.bool_)
    storage_class = objects.storage_classes.get(class_name(claim))
    if storage_class is None or storage_class.provisioner in {"", _NO_PROVISIONER}:
        return Provisionable(~everywhere, everywhere)
    allowed = _allowed(storage_class, facts)
    return Provisionable(everywhere if allowed is None else allowed, _with_space(claim, storage_class, objects, facts))


def _allowed(storage_class: wire.StorageClass, facts: NodeFacts) -> BoolArray | None:
    if not storage_class.allowed_topologies:
        return None
    allowed = np.zeros(len(facts.nodes), dtype=np.bool_)
    for term in storage_class.allowed_topologies:
        inside = np.full(len(facts.nodes), bool(term.match_label_expressions))
        for each in term.match_label_expressions:
            inside &= requirement_mask(facts, each.key, IN, each.values)
        allowed |= inside
    return allowed


def _with_space(
    claim: wire.PersistentVolumeClaim, storage_class: wire.StorageClass, objects: ClusterObjects, facts: NodeFacts
) -> BoolArray:
    driver = objects.csi_drivers.get(storage_class.provisioner)
    if driver is None or not driver.spec.storage_capacity or "storage" not in claim.spec.resources.requests:
        return np.ones(len(facts.nodes), dtype=np.bool_)
    requested = requested_storage(claim)
    enough = np.zeros(len(facts.nodes), dtype=np.bool_)
    for capacity, topology in capacities(storage_class.metadata.name, objects):
        if capacity >= requested:
            enough |= selector_mask(facts, topology)
    return enough


def storage_left(storage_class: str, objects: ClusterObjects, facts: NodeFacts) -> IntArray:
    """Return the largest volume that a class can create on each node, bytes, shape (N,); 0 if unknown."""
    left = np.zeros(len(facts.nodes), dtype=np.int64)
    for capacity, topology in capacities(storage_class, objects):
        left[selector_mask(facts, topology) & (left < capacity // MILLI)] = capacity // MILLI
    return left


def capacities(storage_class: str, objects: ClusterObjects) -> Iterator[tuple[int, Selector]]:
    """Yield the largest volume, in thousandths of a byte, and the nodes of each segment with capacity of a class."""
    for each in objects.csi_capacities.values():
        limit = each.maximum_volume_size or each.capacity
        if each.storage_class_name != storage_class or not limit:
            continue
        try:
            yield millis(limit), Selector.of(each.node_topology)
        except QuantityError:
            continue
