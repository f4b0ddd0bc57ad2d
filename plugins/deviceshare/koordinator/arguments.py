"""Structured arguments of Koordinator's DeviceShare, with Koordinator's names."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from pyroclast.model.devices.koordinator.names import NPU_CORE
from pyroclast.plugins.deviceshare.koordinator.scoring import LEAST, WEIGHTS

__all__ = ["DEFAULT_STRATEGY", "ResourceWeight", "ScoringStrategy", "TemplatesConfig", "UnsupportedModel"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceWeight:
    """Weight of one resource in scores."""

    name: str
    weight: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringStrategy:
    """Scoring of devices and nodes."""

    type: Literal["LeastAllocated", "MostAllocated"] = LEAST
    resources: tuple[ResourceWeight, ...] = tuple(
        ResourceWeight(name=name, weight=each) for name, each in WEIGHTS.items()
    )

    def doubts(self) -> Iterable[str]:
        """Yield warnings about weights without effect."""
        for number, each in enumerate(self.resources):
            if each.weight < 1:
                yield (
                    f"resources[{number}].weight: got {each.weight}, so {each.name!r} has no effect; "
                    "expected at least 1"
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsupportedModel:
    """GPUs that cannot be shared, by labels of their nodes."""

    vendor: str
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplatesConfig:
    """ConfigMap with the templates of shares, and the resources that they apply to."""

    config_map_namespace: str = "koordinator-system"
    config_map_name: str = "gpu-shared-resource-templates"
    matched_resources: tuple[str, ...] = (NPU_CORE,)
    """Shared GPU requests for one of these resources must match a template."""


DEFAULT_STRATEGY: Final = ScoringStrategy()
