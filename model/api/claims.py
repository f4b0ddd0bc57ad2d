"""A claim of storage as Job volumes have it: what the schema says of it. Objects keep it as plain JSON."""

from typing import Annotated, ClassVar

from pyroclast.model.api.meta import Amounts, LabelSelector
from pyroclast.model.api.rules import Rules
from pyroclast.model.wire.base import EMPTY, Wire

__all__ = ["PersistentVolumeClaimSpec"]


class _DataSource(Wire, frozen=True, kw_only=True):
    """Object whose content fills the volume."""

    is_atomic: ClassVar[bool] = True
    api_group: str = ""
    """API group of the source; empty for the core group."""
    kind: str
    """Kind of the source."""
    name: str
    """Name of the source."""


class _DataSourceRef(_DataSource, frozen=True, kw_only=True):
    """Object of any kind and namespace whose content fills the volume."""

    is_atomic: ClassVar[bool] = False
    namespace: str = ""
    """Namespace of the source, when it is another one."""


class _Resources(Wire, frozen=True, kw_only=True):
    """Size of the volume."""

    limits: Amounts = EMPTY
    """Most that the volume may have, by resource name."""
    requests: Amounts = EMPTY
    """Least that the volume must have, by resource name."""


class PersistentVolumeClaimSpec(Wire, frozen=True, kw_only=True):
    """Claim of storage."""

    access_modes: Annotated[tuple[str, ...], Rules(list_type="atomic")] = ()
    """Ways in which the volume is mounted, such as ReadWriteOnce."""
    data_source: _DataSource | None = None
    """Object in the same namespace whose content fills the volume."""
    data_source_ref: _DataSourceRef | None = None
    """Object whose content fills the volume; it may be of any kind and namespace."""
    resources: _Resources = _Resources()
    """Size of the volume."""
    selector: LabelSelector | None = None
    """Labels of the volumes that may be bound to the claim."""
    storage_class_name: str | None = None
    """StorageClass of the claim."""
    volume_attributes_class_name: str | None = None
    """VolumeAttributesClass of the claim."""
    volume_mode: str | None = None
    """Filesystem or Block."""
    volume_name: str = ""
    """Name of the PersistentVolume to bind."""
