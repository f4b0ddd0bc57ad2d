"""Ascend demand: the chips that a pod requests, and the part of each that it gets.

A part is a template: the smallest one with enough memory, or the whole chip. Pods with the annotation
`huawei.com/vnpu-mode: hami-core` get exactly what they request, of chips that are sliced softly.
"""

from typing import Final, NamedTuple

from pyroclast.model import wire
from pyroclast.model.devices.ascend_register import AscendCard
from pyroclast.model.devices.names import ASCEND_MODE
from pyroclast.model.devices.settings import AscendChip, AscendSettings, VgpuSettings
from pyroclast.model.devices.vgpu_demand import ContainerDemand, vgpu_demand

__all__ = ["SOFT", "ChipDemand", "ascend_demand"]

SOFT: Final = "hami-core"


class ChipDemand(NamedTuple):
    """Request of one container for each of its chips of one kind."""

    chip: AscendChip
    cards: int
    memory: int
    """Megabytes; 0 for all of the chip."""
    cores: int
    """AI cores, or percent of them if chips are sliced softly."""
    is_soft: bool

    def memory_of(self, card: AscendCard) -> int:
        """Return the memory of a chip that the container gets; the memory of the whole chip if none fits."""
        asked = self.memory or card.memory
        if self.is_soft:
            return asked
        part = self.chip.part_of(asked)
        return card.memory if part is None else part[0]

    def suits(self, card: AscendCard) -> bool:
        """Return whether an idle chip of the kind would do."""
        part = self.chip.part_of(self.memory or card.memory)
        if self.is_soft:
            return card.is_soft
        return part is not None and (self.cards == 1 or part[0] == self.chip.memory_allocatable)


def ascend_demand(pod: wire.Pod, spec: wire.PodSpec, settings: AscendSettings) -> tuple[ChipDemand, ...]:
    """Return the requests of sidecars and containers by kind of chips, in the order of the settings.

    Raises:
        ValueError: An amount is no quantity, is more than a chip has, or is a part of each of several chips.
    """
    is_soft = pod.metadata.annotations.get(ASCEND_MODE) == SOFT
    return tuple(
        _demand(chip, each, is_soft=is_soft)
        for chip in settings.configs
        for each in vgpu_demand(spec, _names(chip))
        if each.cards
    )


def _names(chip: AscendChip) -> VgpuSettings:
    return VgpuSettings(
        resource_count_name=chip.resource_name,
        resource_memory_name=chip.resource_memory_name,
        resource_core_name=chip.resource_core_name,
    )


def _demand(chip: AscendChip, asked: ContainerDemand, *, is_soft: bool) -> ChipDemand:
    if asked.memory and not is_soft:
        part = chip.part_of(asked.memory)
        if part is None:
            raise ValueError(f"{chip.resource_memory_name}: {asked.memory}, expected at most {chip.memory_capacity}")
        if asked.cards > 1 and part[0] != chip.memory_allocatable:
            raise ValueError(
                f"{chip.resource_memory_name}: {asked.memory} of each of {asked.cards} chips: "
                "several chips are allocated whole only"
            )
    return ChipDemand(chip, asked.cards, asked.memory, asked.cores, is_soft)
