"""A volume claim in Job volumes, for the schema. Objects keep it as plain JSON."""

from typing import Annotated, ClassVar

from pyroclast.model.api.meta import EMPTY, LabelSelector, ResourceList, Wire
from pyroclast.model.api.rules import REQUIRED, FieldRules

__all__ = ["PersistentVolumeClaimSpec", "TypedObjectReference", "VolumeResourceRequirements"]


class TypedObjectReference(Wire, frozen=True, kw_only=True):
    """Object whose content fills the volume."""

    is_atomic: ClassVar[bool] = True
    api_group: str = ""
    """API group of the source; empty for the core group."""
    kind: Annotated[str, REQUIRED] = ""
    """Kind of the source."""
    name: Annotated[str, REQUIRED] = ""
    """Name of the source."""


class _DataSourceRef(TypedObjectReference, frozen=True, kw_only=True):
    """Object of any kind and namespace whose content fills the volume."""

    is_atomic: ClassVar[bool] = False
    namespace: str = ""
    """Namespace of the source, when it is another one."""


class VolumeResourceRequirements(Wire, frozen=True, kw_only=True):
    """Size of the volume."""

    limits: ResourceList = EMPTY
    """Upper limit of the volume, by resource name."""
    requests: ResourceList = EMPTY
    """Minimum of the volume, by resource name."""


class PersistentVolumeClaimSpec(Wire, frozen=True, kw_only=True):
    """Volume claim."""

    access_modes: Annotated[tuple[str, ...], FieldRules(list_type="atomic")] = ()
    """Ways in which the volume is mounted, such as ReadWriteOnce."""
    data_source: TypedObjectReference | None = None
    """Object in the same namespace whose content fills the volume."""
    data_source_ref: _DataSourceRef | None = None
    """Object whose content fills the volume; it may be of any kind and namespace."""
    resources: VolumeResourceRequirements = VolumeResourceRequirements()
    """Size of the volume."""
    selector: LabelSelector | None = None
    """Labels of the volumes that can be bound to the claim."""
    storage_class_name: str | None = None
    """StorageClass of the claim."""
    volume_attributes_class_name: str | None = None
    """VolumeAttributesClass of the claim."""
    volume_mode: str = "Filesystem"
    """Filesystem or Block."""
    volume_name: str = ""
    """Name of the PersistentVolume to bind."""
