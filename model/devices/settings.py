"""Settings of virtual cards: the names of their resources, and how cards can be cut, as the device ConfigMap has them.

An existing document replaces the defaults: absent fields are empty and do not fall back to the defaults.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final

import msgspec

from pyroclast.model.devices.names import VGPU_CORES, VGPU_MEMORY, VGPU_NUMBER

__all__ = ["DEFAULT", "DeviceSettings", "Geometries", "Group", "Kind", "VgpuSettings", "read_settings"]

Count = Annotated[int, msgspec.Meta(ge=0)]


class Kind(msgspec.Struct, frozen=True, rename="camel"):
    """One kind of instance that a card is cut into."""

    name: str = ""
    memory: Count = 0
    """Megabytes of one."""
    count: Count = 0
    """Number of these instances in the cut."""


class Group(msgspec.Struct, frozen=True, rename="camel"):
    """One way to cut a card; cards are cut in one way at a time."""

    name: str = msgspec.field(name="group", default="")
    kinds: tuple[Kind, ...] = msgspec.field(name="geometries", default=())


class Geometries(msgspec.Struct, frozen=True, rename="camel"):
    """The ways to cut cards of some models."""

    models: tuple[str, ...] = ()
    """Parts of the names of models."""
    groups: tuple[Group, ...] = msgspec.field(name="allowedGeometries", default=())
    """In the order in which they are tried."""


class VgpuSettings(msgspec.Struct, frozen=True, rename="camel"):
    """Settings of virtual cards. Empty names match no resource."""

    resource_count_name: str = ""
    resource_memory_name: str = ""
    resource_core_name: str = ""
    resource_memory_percentage_name: str = ""
    gpu_memory_factor: Count = 0
    """Megabytes of one unit of memory where cards are cut; 0 and 1 are one megabyte."""
    known_mig_geometries: tuple[Geometries, ...] = ()

    @property
    def megabytes(self) -> int:
        """Megabytes of one unit of memory."""
        return max(self.gpu_memory_factor, 1)

    def groups_of(self, model: str) -> tuple[Group, ...]:
        """Return the possible cuts of a card of a model; empty if unknown."""
        known = (each.groups for each in self.known_mig_geometries if any(part in model for part in each.models))
        return next(known, ())


class DeviceSettings(msgspec.Struct, frozen=True, rename="camel"):
    """The whole document, as far as it concerns the scheduler."""

    nvidia: VgpuSettings = VgpuSettings()


DEFAULT: Final = DeviceSettings(
    nvidia=VgpuSettings(
        resource_count_name=VGPU_NUMBER, resource_memory_name=VGPU_MEMORY, resource_core_name=VGPU_CORES
    )
)
"""Settings without a document."""


def read_settings(raw: object) -> DeviceSettings:
    """Read a document that was YAML.

    Raises:
        ValueError: It is not a mapping, or a value in it is invalid. The message names the path.
    """
    if not isinstance(raw, Mapping):
        raise ValueError(  # noqa: TRY004 - reported like other errors of the document
            f"got {type(raw).__name__}, expected a mapping"
        )
    settings = msgspec.convert(_said(raw), DeviceSettings, strict=False)
    for geometries in settings.nvidia.known_mig_geometries:
        for group in geometries.groups:
            if not group.name or set(group.name) & set("-[]"):
                raise ValueError(f"nvidia.knownMigGeometries: group {group.name!r}: a name without '-', '[' and ']'")
    return settings


def _said(raw: object) -> Any:
    """Remove keys without a value at every level: they count as absent."""
    if isinstance(raw, Mapping):
        return {key: _said(value) for key, value in raw.items() if value is not None}
    return [_said(each) for each in raw] if isinstance(raw, list) else raw
