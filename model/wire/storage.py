"""Storage: claims and volumes of the core group, and storage.k8s.io v1."""

from collections.abc import Mapping

from pyroclast.model.api.claims import PersistentVolumeClaimSpec
from pyroclast.model.api.meta import (
    EMPTY,
    Condition,
    LabelSelector,
    ObjectMeta,
    ObjectReference,
    Quantity,
    ResourceList,
    Wire,
)
from pyroclast.model.wire.selectors import NodeSelector

__all__ = [
    "CSIDriver",
    "CSIDriverSpec",
    "CSINode",
    "CSINodeDriver",
    "CSINodeSpec",
    "CSIStorageCapacity",
    "CSIVolume",
    "EphemeralVolumeSource",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "PersistentVolumeClaimStatus",
    "PersistentVolumeClaimTemplate",
    "PersistentVolumeSpec",
    "PersistentVolumeStatus",
    "StorageClass",
    "TemplateMeta",
    "TopologySelectorLabelRequirement",
    "TopologySelectorTerm",
    "VolumeAttachment",
    "VolumeAttachmentSource",
    "VolumeAttachmentSpec",
    "VolumeAttachmentStatus",
    "VolumeNodeAffinity",
    "VolumeNodeResources",
]


class PersistentVolumeClaimStatus(Wire, frozen=True, kw_only=True):
    """Status of a claim."""

    phase: str = ""
    capacity: ResourceList = EMPTY
    conditions: tuple[Condition, ...] = ()


class PersistentVolumeClaim(Wire, frozen=True, kw_only=True):
    """A claim for storage."""

    metadata: ObjectMeta
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: PersistentVolumeClaimStatus = PersistentVolumeClaimStatus()


class TemplateMeta(Wire, frozen=True, kw_only=True):
    """Metadata of a template; its creation time, a null, is left out."""

    labels: Mapping[str, str] = EMPTY
    annotations: Mapping[str, str] = EMPTY


class PersistentVolumeClaimTemplate(Wire, frozen=True, kw_only=True):
    """Template of the claim of an ephemeral volume."""

    metadata: TemplateMeta = TemplateMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()


class EphemeralVolumeSource(Wire, frozen=True, kw_only=True):
    """A volume whose claim has the lifetime of the pod: `<pod>-<volume>`."""

    volume_claim_template: PersistentVolumeClaimTemplate | None = None


class VolumeNodeAffinity(Wire, frozen=True, kw_only=True):
    """Nodes that reach a volume."""

    required: NodeSelector | None = None


class CSIVolume(Wire, frozen=True, kw_only=True):
    """A volume of a CSI driver."""

    driver: str = ""
    volume_handle: str = ""
    read_only: bool = False


class PersistentVolumeSpec(Wire, frozen=True, kw_only=True):
    """Specification of a volume."""

    capacity: ResourceList = EMPTY
    access_modes: tuple[str, ...] = ()
    claim_ref: ObjectReference | None = None
    storage_class_name: str = ""
    volume_mode: str = "Filesystem"
    node_affinity: VolumeNodeAffinity | None = None
    csi: CSIVolume | None = None


class PersistentVolumeStatus(Wire, frozen=True, kw_only=True):
    """Whether a volume is free."""

    phase: str = ""


class PersistentVolume(Wire, frozen=True, kw_only=True):
    """A volume."""

    metadata: ObjectMeta
    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: PersistentVolumeStatus = PersistentVolumeStatus()


class TopologySelectorLabelRequirement(Wire, frozen=True, kw_only=True):
    """A node label and its allowed values."""

    key: str = ""
    values: tuple[str, ...] = ()


class TopologySelectorTerm(Wire, frozen=True, kw_only=True):
    """Domains where a class can provision; all requirements must match."""

    match_label_expressions: tuple[TopologySelectorLabelRequirement, ...] = ()


class StorageClass(Wire, frozen=True, kw_only=True):
    """A storage class."""

    metadata: ObjectMeta
    provisioner: str = ""
    parameters: Mapping[str, str] = EMPTY
    volume_binding_mode: str = "Immediate"
    allowed_topologies: tuple[TopologySelectorTerm, ...] = ()


class VolumeNodeResources(Wire, frozen=True, kw_only=True):
    """Maximum number of volumes that a driver can attach to a node. Without a count, the limit is unknown."""

    count: int | None = None


class CSINodeDriver(Wire, frozen=True, kw_only=True):
    """A driver on a node."""

    name: str = ""
    node_id: str = ""
    allocatable: VolumeNodeResources | None = None


class CSINodeSpec(Wire, frozen=True, kw_only=True):
    """The drivers of a node."""

    drivers: tuple[CSINodeDriver, ...] = ()


class CSINode(Wire, frozen=True, kw_only=True):
    """CSI drivers of a node. The object has the name of the node."""

    metadata: ObjectMeta
    spec: CSINodeSpec = CSINodeSpec()


class CSIDriverSpec(Wire, frozen=True, kw_only=True):
    """Specification of a driver."""

    storage_capacity: bool = False


class CSIDriver(Wire, frozen=True, kw_only=True):
    """A CSI driver."""

    metadata: ObjectMeta
    spec: CSIDriverSpec = CSIDriverSpec()


class CSIStorageCapacity(Wire, frozen=True, kw_only=True):
    """Capacity left in a storage class for one topology segment."""

    metadata: ObjectMeta
    storage_class_name: str = ""
    node_topology: LabelSelector | None = None
    capacity: Quantity = ""
    maximum_volume_size: Quantity = ""


class VolumeAttachmentSource(Wire, frozen=True, kw_only=True):
    """The volume that is attached."""

    persistent_volume_name: str = ""


class VolumeAttachmentSpec(Wire, frozen=True, kw_only=True):
    """A wish to attach a volume to a node."""

    attacher: str = ""
    node_name: str = ""
    source: VolumeAttachmentSource = VolumeAttachmentSource()


class VolumeAttachmentStatus(Wire, frozen=True, kw_only=True):
    """Whether the wish was granted."""

    attached: bool = False


class VolumeAttachment(Wire, frozen=True, kw_only=True):
    """A volume attached to a node."""

    metadata: ObjectMeta
    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()
    status: VolumeAttachmentStatus = VolumeAttachmentStatus()
