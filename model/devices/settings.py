"""Settings of virtual cards and of Ascend chips, as the device ConfigMap has them.

They name the resources, and the parts that cards can be cut into.

An existing document replaces the defaults: absent fields are empty and do not fall back to the defaults.
"""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any, Final

import msgspec

from pyroclast.model.devices.names import VGPU_CORES, VGPU_MEMORY, VGPU_NUMBER

__all__ = [
    "DEFAULT",
    "AscendChip",
    "AscendSettings",
    "AscendTemplate",
    "DeviceSettings",
    "Geometries",
    "Group",
    "Kind",
    "VgpuSettings",
    "read_settings",
]

Count = Annotated[int, msgspec.Meta(ge=0)]
_Megabytes = Annotated[int, msgspec.Meta(ge=0, lt=2**31)]
_MOST_CHIPS: Final = 64
"""Maximum number of kinds of chips, and of templates of each."""
_WORD: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9]{0,30}[A-Za-z0-9])?", re.ASCII)
"""Word of a kind of chips. It is part of the names of annotations."""


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


class AscendTemplate(msgspec.Struct, frozen=True, rename="camel"):
    """A part that a chip can be cut into."""

    name: str
    memory: _Megabytes
    """Megabytes."""


class AscendChip(msgspec.Struct, frozen=True, rename="camel"):
    """One kind of Ascend chips, with HAMi's templates."""

    common_word: str
    """Part of the names of annotations of nodes and pods, `Ascend310P`."""
    resource_name: str
    """Resource: number of chips."""
    resource_memory_name: str = ""
    """Resource: megabytes of each."""
    memory_allocatable: _Megabytes = 0
    """Megabytes of a whole chip."""
    memory_capacity: _Megabytes = 0
    """Megabytes that a pod may request of a whole chip."""
    templates: tuple[AscendTemplate, ...] = ()
    """Templates in the order of their memory."""

    @property
    def resource_core_name(self) -> str:
        """Resource: cores of each chip."""
        return f"{self.resource_name}-core"

    def part_of(self, memory: int) -> tuple[int, str] | None:
        """Return the memory of the smallest part with enough, and its template, which is empty for a whole chip.

        None if no chip has so much.
        """
        for template in self.templates:
            if memory <= template.memory:
                return template.memory, template.name
        return (self.memory_allocatable, "") if memory <= self.memory_capacity else None


class AscendSettings(msgspec.Struct, frozen=True, rename="camel"):
    """Settings of Ascend chips."""

    hami_vnpu_core: bool = False
    """Whether nodes slice chips softly (`hami-core`), unless their annotation says otherwise."""
    configs: tuple[AscendChip, ...] = ()


class DeviceSettings(msgspec.Struct, frozen=True, rename="camel"):
    """The whole document, as far as it concerns the scheduler."""

    nvidia: VgpuSettings = VgpuSettings()
    vnpus: AscendSettings = AscendSettings()


DEFAULT: Final = DeviceSettings(
    nvidia=VgpuSettings(
        resource_count_name=VGPU_NUMBER, resource_memory_name=VGPU_MEMORY, resource_core_name=VGPU_CORES
    ),
    vnpus=AscendSettings(
        configs=(
            AscendChip(
                common_word="Ascend310P",
                resource_name="huawei.com/Ascend310P",
                resource_memory_name="huawei.com/Ascend310P-memory",
                memory_allocatable=21527,
                memory_capacity=24576,
                templates=(
                    AscendTemplate("vir01", 3072),
                    AscendTemplate("vir02", 6144),
                    AscendTemplate("vir04", 12288),
                ),
            ),
        )
    ),
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
    said = _said(raw)
    if isinstance(said.get("vnpus"), list):  # the form before HAMi had soft slicing
        said["vnpus"] = {"configs": said["vnpus"]}
    settings = msgspec.convert(said, DeviceSettings, strict=False)
    for geometries in settings.nvidia.known_mig_geometries:
        for group in geometries.groups:
            if not group.name or set(group.name) & set("-[]"):
                raise ValueError(f"nvidia.knownMigGeometries: group {group.name!r}: a name without '-', '[' and ']'")
    return msgspec.structs.replace(settings, vnpus=_checked(settings.vnpus))


def _checked(settings: AscendSettings) -> AscendSettings:
    """Return the settings of chips with templates by memory; names and numbers are limited."""
    if len(settings.configs) > _MOST_CHIPS:
        raise ValueError(f"vnpus.configs: {len(settings.configs)} are more than {_MOST_CHIPS}")
    chips = []
    for number, chip in enumerate(settings.configs):
        path = f"vnpus.configs[{number}]"
        if not _WORD.fullmatch(chip.common_word):
            raise ValueError(f"{path}.commonWord: {chip.common_word!r}, expected at most 32 letters, digits and '-'")
        if not chip.resource_name:
            raise ValueError(f"{path}.resourceName: expected the name of a resource")
        if len(chip.templates) > _MOST_CHIPS:
            raise ValueError(f"{path}.templates: {len(chip.templates)} are more than {_MOST_CHIPS}")
        chips.append(msgspec.structs.replace(chip, templates=tuple(sorted(chip.templates, key=_memory))))
    for name in ("common_word", "resource_name"):
        again = [word for word, count in Counter(getattr(chip, name) for chip in chips).items() if count > 1]
        if again:
            raise ValueError(f"vnpus.configs: {again[0]!r} is there twice")
    return msgspec.structs.replace(settings, configs=tuple(chips))


def _memory(template: AscendTemplate) -> int:
    return template.memory


def _said(raw: object) -> Any:
    """Remove keys without a value at every level: they count as absent."""
    if isinstance(raw, Mapping):
        return {key: _said(value) for key, value in raw.items() if value is not None}
    return [_said(each) for each in raw] if isinstance(raw, list) else raw
