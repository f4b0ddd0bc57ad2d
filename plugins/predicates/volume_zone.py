"""Volume zone: a bound volume with zone or region labels is used only on nodes of those zones."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from pyroclast.framework.session.session import Session
from pyroclast.framework.state.nodes import NodeColumns
from pyroclast.model.arrays import BoolArray, ReasonArray
from pyroclast.model.matching.nodes import requirement_mask
from pyroclast.model.matching.selectors import DOES_NOT_EXIST, EXISTS, IN
from pyroclast.model.nodes import NodeFacts
from pyroclast.model.refusals import Reason
from pyroclast.model.snapshot import ClusterObjects
from pyroclast.model.tasks import Task
from pyroclast.plugins.predicates.claims import WAIT_FOR_CONSUMER, class_name

__all__ = ["REASONS", "VolumeZone", "zone_values"]

REASONS: Final = (Reason("node(s) had no available volume zone", resolvable=False),)

_STABLE_KEY: Final = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region": "topology.kubernetes.io/region",
}
"""Zone labels, with the label that a node may have instead of a beta one."""

_SEPARATOR: Final = "__"


def zone_values(text: str) -> frozenset[str]:
    """Return the zones in a volume's label (`a__b`); none if an item is empty, which makes the label invalid."""
    zones = [zone.strip() for zone in text.split(_SEPARATOR)]
    return frozenset(zones) if all(zones) else frozenset()


class VolumeZone:
    """Zones of bound volumes. Ephemeral volumes are ignored, as in Kubernetes."""

    def __init__(self, session: Session) -> None:
        self._objects: ClusterObjects = session.snapshot.objects
        self._facts = session.nodes.facts

    def cares(self, task: Task) -> bool:
        """Return whether a task names claims."""
        volumes = task.pod.spec.volumes
        return bool(volumes) and any(volume.persistent_volume_claim is not None for volume in volumes)

    def fault(self, task: Task) -> str:
        """Return why the zones of a task's volumes are unknown; empty if they are known."""
        return next(filter(None, (self._fault_of(task.namespace, name) for name in _claim_names(task))), "")

    def _fault_of(self, namespace: str, name: str) -> str:
        if not name:
            return "PersistentVolumeClaim had no name"
        claim = self._objects.volume_claims.get(f"{namespace}/{name}")
        if claim is None:
            return f'persistentvolumeclaim "{name}" not found'
        if claim.spec.volume_name:
            known = claim.spec.volume_name in self._objects.volumes
            return "" if known else f'persistentvolume "{claim.spec.volume_name}" not found'
        named = class_name(claim)
        if not named:
            return f'persistentvolumeclaim "{name}" has neither a volume nor a storage class'
        storage_class = self._objects.storage_classes.get(named)
        if storage_class is None:
            return f'storageclass.storage.k8s.io "{named}" not found'
        if storage_class.volume_binding_mode == WAIT_FOR_CONSUMER:
            return ""
        return f'persistentvolumeclaim "{name}" is not bound yet, and its storage class "{named}" binds immediately'

    def verdicts(self, task: Task, columns: NodeColumns) -> ReasonArray | None:
        """Refuse nodes outside the zones of a task's bound volumes, shape (columns,); None without zones."""
        zones = set(self._zones(task))
        if not zones:
            return None
        inside = np.ones(len(self._facts.nodes), dtype=np.bool_)
        for key, values in zones:
            inside &= _in_zones(self._facts, key, values)
        refused = ~(inside | _without_zones(self._facts))
        return (refused if columns.is_all else refused[columns.index]).view(np.uint8)

    def _zones(self, task: Task) -> Iterator[tuple[str, frozenset[str]]]:
        for name in _claim_names(task):
            claim = self._objects.volume_claims.get(f"{task.namespace}/{name}")
            volume = self._objects.volumes.get(claim.spec.volume_name) if claim is not None else None
            for key in _STABLE_KEY if volume is not None else ():
                text = volume.metadata.labels.get(key) if volume is not None else None
                values = zone_values(text) if text is not None else frozenset()
                if values:
                    yield key, values


def _claim_names(task: Task) -> Iterator[str]:
    for volume in task.pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            yield volume.persistent_volume_claim.claim_name


def _in_zones(facts: NodeFacts, key: str, values: frozenset[str]) -> BoolArray:
    stable = _STABLE_KEY[key]
    inside = requirement_mask(facts, key, IN, values)
    if stable == key:
        return inside
    return inside | (requirement_mask(facts, key, DOES_NOT_EXIST, ()) & requirement_mask(facts, stable, IN, values))


def _without_zones(facts: NodeFacts) -> BoolArray:
    """Return the nodes without any of the labels: in a cluster with one zone nodes are often not labelled."""
    labelled = np.zeros(len(facts.nodes), dtype=np.bool_)
    for key in _STABLE_KEY:
        labelled |= requirement_mask(facts, key, EXISTS, ())
    return ~labelled
