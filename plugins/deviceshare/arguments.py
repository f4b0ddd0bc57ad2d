"""Arguments of deviceshare."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from pyroclast.framework.configuration.arguments import argument
from pyroclast.framework.configuration.conversions import Mismatch
from pyroclast.model.devices.koordinator.templates import NO_TEMPLATES, Templates
from pyroclast.model.errors import ArgumentError
from pyroclast.plugins.deviceshare.koordinator.arguments import (
    DEFAULT_STRATEGY,
    ScoringStrategy,
    TemplatesConfig,
    UnsupportedModel,
)
from pyroclast.plugins.deviceshare.koordinator.rules import Rules as KoordinatorRules
from pyroclast.plugins.deviceshare.koordinator.scoring import Scoring

__all__ = ["BINPACK", "SPREAD", "DeviceShareArgs", "Rules", "rules_of"]

BINPACK: Final = "binpack"
SPREAD: Final = "spread"

Rules = tuple[Mapping[str, str], ...]
"""Labels by rule. A pod with all labels of a rule matches it."""


def rules_of(value: object) -> Rules:
    """Parse rules of exclusiveness. Labels that are not text are dropped, and so are rules without labels."""
    if not isinstance(value, list):
        raise Mismatch(value, "a list of mappings of labels")
    labels = (
        {key: text for key, text in each.items() if isinstance(key, str) and isinstance(text, str)}
        for each in value
        if isinstance(each, Mapping)
    )
    return tuple(each for each in labels if each)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceShareArgs:
    """Arguments of deviceshare, spelled as in the configuration file."""

    gpu_sharing: bool = argument("deviceshare.GPUSharingEnable", False)
    """Whether pods may request memory of a card (`volcano.sh/gpu-memory`)."""
    gpu_number: bool = argument("deviceshare.GPUNumberEnable", False)
    """Whether pods may request whole cards (`volcano.sh/gpu-number`)."""
    vgpu: bool = argument("deviceshare.VGPUEnable", False)
    """Whether pods may request virtual cards (`volcano.sh/vgpu-number` and related resources)."""
    mind_cluster: bool = argument("deviceshare.AscendMindClusterVNPUEnable", False)
    """Ascend chips by MindCluster. Not supported yet: true is refused."""
    ascend_hami: bool = argument("deviceshare.AscendHAMiVNPUEnable", False)
    """Whether pods may request Ascend chips of HAMi (`huawei.com/Ascend310P` and related resources)."""
    node_lock: bool = argument("deviceshare.NodeLockEnable", False)
    """Whether a node is locked from the binding of a pod with cards until the device plugin has served the pod."""
    policy: str = argument("deviceshare.SchedulePolicy", "")
    """Preferred cards and nodes: `binpack` the fullest, `spread` the emptiest; other values have no effect."""
    weight: int = argument("deviceshare.ScheduleWeight", 0)
    """Weight of this plugin's score; 0 disables it."""
    map_name: str = argument("deviceshare.KnownGeometriesCMName", "volcano-vgpu-device-config")
    """Name of the device ConfigMap."""
    map_namespace: str = argument("deviceshare.KnownGeometriesCMNamespace", "kube-system")
    """Namespace of the device ConfigMap."""
    exclusive: Rules = argument("deviceshare.GPUExclusiveRules", (), parse=rules_of)
    """Mappings of labels. Pods that match the same mapping do not share a card."""
    skip_unhealthy: bool = argument("deviceshare.SkipUnhealthyCards", False)
    """Whether virtual cards and Ascend chips that are registered as unhealthy are skipped; Volcano uses them."""
    strict_spread: bool = argument("deviceshare.StrictSpreadScore", False)
    """Whether `spread` has no effect on scores, as in Volcano, which scores a card after allocating it."""
    koordinator: bool = argument("deviceshare.KoordinatorEnable", False)
    """Whether pods may request devices in Koordinator's format, from nodes with a Device object."""
    scoring: ScoringStrategy = argument("scoringStrategy", DEFAULT_STRATEGY, nested=True)
    """Scoring of Koordinator's devices and nodes: `LeastAllocated` or `MostAllocated`, and `resources`."""
    unaligned: bool = argument("disableDeviceNUMATopologyAlignment", False)
    """Whether NUMA nodes are ignored when Koordinator's devices are chosen, even if pods or nodes require alignment."""
    unsupported: tuple[UnsupportedModel, ...] = argument("gpuShareUnsupportedModels", (), refuse=True)
    """GPUs that cannot be shared: `vendor` and `model`, as in the labels of their nodes."""
    templates: TemplatesConfig | None = argument("gpuSharedResourceTemplatesConfig", None, refuse=True)
    """ConfigMap with the permitted shares of NPUs: `configMapNamespace`, `configMapName`, `matchedResources`."""
    score_order: Literal["descending", "ascending"] = argument("partitionScoreOrder", "descending", refuse=True)
    """Order of GPU partitions by score; `ascending` is Koordinator's order."""
    searches_on: bool = argument("jointSearchRetry", True)
    """Whether other GPUs are tried if no other devices are free near the chosen ones; Koordinator gives up."""
    adapts: bool = argument("deviceshare.DevicePluginAdaption", False)
    """Whether pods with Koordinator's devices get annotations for device plugins of vendors. Some lock the node."""

    def rules(self, templates: Templates = NO_TEMPLATES) -> KoordinatorRules:
        """Return the rules for Koordinator's devices."""
        return KoordinatorRules(
            templates=templates,
            scoring=Scoring(self.scoring.type, tuple((each.name, each.weight) for each in self.scoring.resources)),
            unsupported=frozenset((each.vendor, each.model) for each in self.unsupported),
            small_scores_first=self.score_order == "ascending",
            searches_on=self.searches_on,
            aligns=not self.unaligned,
            adapts=self.adapts,
        )

    def __post_init__(self) -> None:
        """Refuse unsupported arguments and arguments that exclude each other."""
        faults = [*self._missing(), *self._clashes()]
        if faults:
            faults[0].faults = tuple(fault for each in faults for fault in each.faults)
            raise faults[0]

    def _missing(self) -> Iterable[ArgumentError]:
        if self.mind_cluster:
            key = "deviceshare.AscendMindClusterVNPUEnable"
            yield ArgumentError(key, True, "false: only deviceshare.AscendHAMiVNPUEnable is supported")

    def _clashes(self) -> Iterable[ArgumentError]:
        if self.gpu_sharing and self.gpu_number:
            yield ArgumentError(
                "deviceshare.GPUNumberEnable",
                True,
                "false beside deviceshare.GPUSharingEnable: a card is one or the other",
            )
        if (self.gpu_sharing or self.gpu_number) and self.vgpu:
            yield ArgumentError(
                "deviceshare.VGPUEnable",
                True,
                "false beside GPUSharingEnable and GPUNumberEnable: cards are managed once",
            )
        if self.koordinator and (self.gpu_sharing or self.gpu_number or self.vgpu or self.ascend_hami):
            yield ArgumentError(
                "deviceshare.KoordinatorEnable",
                True,
                "false beside GPUSharingEnable, GPUNumberEnable, VGPUEnable and AscendHAMiVNPUEnable: "
                "cards are managed once",
            )

    def doubts(self) -> Iterable[str]:
        """Yield warnings about arguments without effect."""
        if self.policy not in {"", BINPACK, SPREAD}:
            yield (
                f"deviceshare.SchedulePolicy: {self.policy!r} is not a policy (binpack, spread): "
                "cards are ordered by index"
            )
        if self.exclusive and not self.vgpu:
            yield "deviceshare.GPUExclusiveRules: has no effect without deviceshare.VGPUEnable"
        if self.koordinator and self.node_lock:
            yield (
                "deviceshare.NodeLockEnable: has no effect with deviceshare.KoordinatorEnable, "
                "deviceshare.DevicePluginAdaption has"
            )
        if self.koordinator and self.policy:
            yield "deviceshare.SchedulePolicy: has no effect with deviceshare.KoordinatorEnable, scoringStrategy has"
        if not self.koordinator:
            yield from self._idle()

    def _idle(self) -> Iterable[str]:
        given = {
            "scoringStrategy": self.scoring != DEFAULT_STRATEGY,
            "disableDeviceNUMATopologyAlignment": self.unaligned,
            "gpuShareUnsupportedModels": bool(self.unsupported),
            "gpuSharedResourceTemplatesConfig": self.templates is not None,
            "partitionScoreOrder": self.score_order != "descending",
            "jointSearchRetry": not self.searches_on,
            "deviceshare.DevicePluginAdaption": self.adapts,
        }
        for key, is_given in given.items():
            if is_given:
                yield f"{key}: has no effect without deviceshare.KoordinatorEnable"
