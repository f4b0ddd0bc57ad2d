"""Scores of devices and of nodes: by how much would be left, or taken, of each resource that has a weight.

    least allocated   (total - requested) * 100 // total, 0 when requested > total
    most allocated    min(requested, total) * 100 // total

where requested is what is taken and what a pod would take. The scores of resources are averaged by their weights,
rounded down; all that a device offers counts, whether the pod asks for it or not.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pyroclast.model.devices.koordinator.layout import DeviceAmounts
from pyroclast.model.devices.koordinator.names import FPGA_SHARE, MEMORY, OFFERED, RATIO, RDMA_SHARE

__all__ = ["BY_DEFAULT", "LEAST", "MOST", "WEIGHTS", "Scoring"]

LEAST: Final = "LeastAllocated"
MOST: Final = "MostAllocated"
WEIGHTS: Final[Mapping[str, int]] = {RATIO: 1, MEMORY: 1, RDMA_SHARE: 1, FPGA_SHARE: 1}
_FULL: Final = 100


@dataclass(frozen=True, slots=True)
class Scoring:
    """How devices and nodes are scored."""

    strategy: str = LEAST
    weights: tuple[tuple[str, int], ...] = tuple(WEIGHTS.items())
    """By resource name."""

    def score(self, kind: str, asked: DeviceAmounts, total: DeviceAmounts, free: DeviceAmounts) -> int:
        """Score a device, or all devices of a type together.

        Args:
            kind: Type of the devices.
            asked: What a pod would take.
            total: What there is.
            free: What is left.
        """
        weights = dict(self.weights)
        score = weight = 0
        for name, want, there, left in zip(OFFERED[kind], asked, total, free, strict=True):
            each = weights.get(name, 0)
            if there and each > 0:
                score += each * self._of_one(there - (left or 0) + (want or 0), there)
                weight += each
        return score // weight if weight else 0

    def _of_one(self, requested: int, total: int) -> int:
        if self.strategy == MOST:
            return min(requested, total) * _FULL // total
        return max(total - requested, 0) * _FULL // total


BY_DEFAULT: Final = Scoring()
