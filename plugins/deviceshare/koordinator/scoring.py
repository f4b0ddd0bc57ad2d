"""Scores of devices and nodes from the free or used fraction of each resource with a weight.

    least allocated   (total - requested) * 100 // total, 0 when requested > total
    most allocated    min(requested, total) * 100 // total

where requested is the used amount plus the pod's request. The scores of resources are averaged by their weights and
rounded down. All resources of a device count, also those that the pod does not request.
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
    """Scoring of devices and nodes."""

    strategy: str = LEAST
    weights: tuple[tuple[str, int], ...] = tuple(WEIGHTS.items())
    """Weights by resource name."""

    def score(self, kind: str, asked: DeviceAmounts, total: DeviceAmounts, free: DeviceAmounts) -> int:
        """Score a device, or all devices of a type together.

        Args:
            kind: Type of the devices.
            asked: Request of the pod.
            total: Total amounts.
            free: Free amounts.
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
