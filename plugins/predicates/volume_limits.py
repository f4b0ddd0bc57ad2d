"""Volume limits: a CSI driver attaches a limited number of volumes to a node; an attached volume costs nothing.

A volume counts once per node, however many pods use it. The limits are those of the CSINode; without one there is no
limit.
"""

from collections import Counter
from typing import Final, NamedTuple

import numpy as np

from pyroclast.framework.candidates.explaining import TOO_MANY_VOLUMES
from pyroclast.framework.session.session import Session
from pyroclast.framework.session.usage import UsageLedger
from pyroclast.framework.state.nodes import NodeColumns
from pyroclast.model import wire
from pyroclast.model.arrays import IntArray, ReasonArray
from pyroclast.model.ids import NodeName
from pyroclast.model.refusals import Reason
from pyroclast.model.resources import UNLIMITED
from pyroclast.model.tasks import Task
from pyroclast.plugins.predicates.claims import class_name, named_claims

__all__ = ["REASONS", "Attachment", "VolumeLimits"]

REASONS: Final = (Reason(TOO_MANY_VOLUMES),)


class Attachment(NamedTuple):
    """A volume with the handle of its driver."""

    driver: str
    handle: str


class VolumeLimits(UsageLedger):
    """Attached volumes of each node."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._objects = session.snapshot.objects
        self._users: dict[Attachment, Counter[int]] = {}
        """Number of pods and attachments by column, for each volume; no zero counts."""
        self._attached: dict[str, IntArray] = {}
        """Distinct volumes by driver, shape (N,)."""
        self._limits: dict[str, IntArray] = {}

    def cares(self, task: Task) -> bool:
        """Return whether a task has attachable volumes."""
        volumes = task.pod.spec.volumes
        return bool(volumes) and any(_may_attach(volume) for volume in volumes)

    def fault(self, task: Task) -> str:
        """Return why the volumes of a task cannot be counted; empty if they can."""
        for named in named_claims(task.pod):
            if f"{task.namespace}/{named.name}" not in self._objects.volume_claims:
                return f'looking up PVC {task.namespace}/{named.name}: persistentvolumeclaim "{named.name}" not found'
        return ""

    def verdicts(self, task: Task, columns: NodeColumns) -> ReasonArray | None:
        """Refuse nodes whose drivers cannot attach a task's volumes, shape (columns,); None if it has none."""
        volumes = self._volumes(task.pod)
        if not volumes:
            return None
        self.count()
        refused = np.zeros(len(self._table), dtype=np.bool_)
        for driver in sorted({volume.driver for volume in volumes}):
            coming = self._new_on_nodes([volume for volume in volumes if volume.driver == driver])
            refused |= (coming > 0) & (self._attached_by(driver) + coming > self._limit(driver))
        return (refused if columns.is_all else refused[columns.index]).view(np.uint8)

    def _new_on_nodes(self, volumes: list[Attachment]) -> IntArray:
        """Count the volumes that are not attached yet, by node, shape (N,)."""
        coming = np.full(len(self._table), len(volumes), dtype=np.int64)
        for volume in volumes:
            coming[list(self._users.get(volume, ()))] -= 1
        return coming

    def _attached_by(self, driver: str) -> IntArray:
        known = self._attached.get(driver)
        if known is None:
            known = self._attached[driver] = np.zeros(len(self._table), dtype=np.int64)
        return known

    def _limit(self, driver: str) -> IntArray:
        known = self._limits.get(driver)
        if known is None:
            csi_nodes = self._objects.csi_nodes
            limits = [_limit_of(csi_nodes.get(name), driver) for name in self._table.names]
            known = self._limits[driver] = np.array(limits, dtype=np.int64)
        return known

    # Volumes ----------------------------------------------------------------------------------------------------------

    def _volumes(self, pod: wire.Pod) -> set[Attachment]:
        """Return the attachable volumes of a pod. Unknown ones are left out."""
        if not pod.spec.volumes:
            return set()
        inline = {attached for volume in pod.spec.volumes if (attached := _inline(volume)) is not None}
        claims = (
            self._objects.volume_claims.get(f"{pod.metadata.namespace}/{named.name}") for named in named_claims(pod)
        )
        claimed = {self._of_claim(claim) for claim in claims if claim is not None}
        return inline | {volume for volume in claimed if volume is not None}

    def _of_claim(self, claim: wire.PersistentVolumeClaim) -> Attachment | None:
        volume = self._objects.volumes.get(claim.spec.volume_name) if claim.spec.volume_name else None
        if volume is not None:
            return _of_volume(volume)
        # Not bound, or the volume is unknown: it becomes a volume of the class's driver, identified by the claim.
        storage_class = self._objects.storage_classes.get(class_name(claim))
        if storage_class is None or not storage_class.provisioner:
            return None
        return Attachment(_IN_TREE.get(storage_class.provisioner, storage_class.provisioner), claim.metadata.key)

    # Ledger -----------------------------------------------------------------------------------------------------------

    def count_objects(self) -> None:
        """Count volumes that are attached without a pod."""
        for attachment in self._objects.volume_attachments.values():
            at = self._table.column.get(NodeName(attachment.spec.node_name))
            volume = self._objects.volumes.get(attachment.spec.source.persistent_volume_name)
            attached = None if volume is None else _of_volume(volume)
            if at is not None and attached is not None:
                self._add(attached, at, 1)

    def shift(self, task: Task, column: int, sign: int) -> None:
        """Count the volumes of a task."""
        for volume in self._volumes(task.pod):
            self._add(volume, column, sign)

    def _add(self, volume: Attachment, column: int, sign: int) -> None:
        users = self._users.setdefault(volume, Counter())
        before = users[column]
        if before + sign:
            users[column] = before + sign
        else:
            del users[column]
        if (before > 0) != (before + sign > 0):
            self._attached_by(volume.driver)[column] += sign


_IN_TREE: Final = {
    "kubernetes.io/aws-ebs": "ebs.csi.aws.com",
    "kubernetes.io/azure-disk": "disk.csi.azure.com",
    "kubernetes.io/gce-pd": "pd.csi.storage.gke.io",
}
"""CSI drivers that replaced in-tree volume plugins."""


def _may_attach(volume: wire.Volume) -> bool:
    return volume.persistent_volume_claim is not None or volume.ephemeral is not None or _inline(volume) is not None


def _inline(volume: wire.Volume) -> Attachment | None:
    """Return an inline volume of a pod, with the CSI driver that serves it today."""
    if volume.aws_elastic_block_store is not None:
        return Attachment(_IN_TREE["kubernetes.io/aws-ebs"], volume.aws_elastic_block_store.volume_id)
    if volume.gce_persistent_disk is not None:
        return Attachment(_IN_TREE["kubernetes.io/gce-pd"], volume.gce_persistent_disk.pd_name)
    if volume.azure_disk is not None:
        return Attachment(_IN_TREE["kubernetes.io/azure-disk"], volume.azure_disk.disk_uri)
    return None


def _of_volume(volume: wire.PersistentVolume) -> Attachment | None:
    csi = volume.spec.csi
    return None if csi is None else Attachment(csi.driver, csi.volume_handle)


def _limit_of(csi_node: wire.CSINode | None, driver: str) -> int:
    for each in csi_node.spec.drivers if csi_node is not None else ():
        if each.name == driver and each.allocatable is not None and each.allocatable.count is not None:
            return each.allocatable.count
    return UNLIMITED
