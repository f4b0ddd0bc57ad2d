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
"""Labels by rule; who carries all of them matches."""


def rules_of(value: object) -> Rules:
    """Read rules of exclusiveness; labels that are no texts, or have none, are dropped, and rules without any."""
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
    """Whether pods may ask for memory of a card (`volcano.sh/gpu-memory`)."""
    gpu_number: bool = argument("deviceshare.GPUNumberEnable", False)
    """Whether pods may ask for whole cards (`volcano.sh/gpu-number`)."""
    vgpu: bool = argument("deviceshare.VGPUEnable", False)
    """Whether pods may ask for virtual cards (`volcano.sh/vgpu-number` and what goes with it)."""
    mind_cluster: bool = argument("deviceshare.AscendMindClusterVNPUEnable", False)
    """Ascend chips by MindCluster; not there yet, so true is refused."""
    ascend_hami: bool = argument("deviceshare.AscendHAMiVNPUEnable", False)
    """Ascend chips by HAMi; not there yet, so true is refused."""
    node_lock: bool = argument("deviceshare.NodeLockEnable", False)
    """Whether a node is locked from the binding of a pod with cards until the device plugin has served it."""
    policy: str = argument("deviceshare.SchedulePolicy", "")
    """Which cards and nodes go first: `binpack` the fullest, `spread` the emptiest; anything else is no policy."""
    weight: int = argument("deviceshare.ScheduleWeight", 0)
    """Say of this plugin in the order of nodes; 0 mutes it there."""
    map_name: str = argument("deviceshare.KnownGeometriesCMName", "volcano-vgpu-device-config")
    """Name of the device ConfigMap."""
    map_namespace: str = argument("deviceshare.KnownGeometriesCMNamespace", "kube-system")
    """Its namespace."""
    exclusive: Rules = argument("deviceshare.GPUExclusiveRules", (), parse=rules_of)
    """Each a mapping of labels: pods that match the same one share no card."""
    skip_unhealthy: bool = argument("deviceshare.SkipUnhealthyCards", False)
    """Whether virtual cards that their register calls unhealthy are left out; Volcano takes them."""
    strict_spread: bool = argument("deviceshare.StrictSpreadScore", False)
    """Whether `spread` draws to no node, as in Volcano, which looks at a card after it has taken it."""
    koordinator: bool = argument("deviceshare.KoordinatorEnable", False)
    """Whether pods may ask for devices as Koordinator's users do, of nodes that a Device tells of."""
    scoring: ScoringStrategy = argument("scoringStrategy", DEFAULT_STRATEGY, nested=True)
    """Which of Koordinator's devices and nodes go first: `LeastAllocated` or `MostAllocated`, and `resources`."""
    unaligned: bool = argument("disableDeviceNUMATopologyAlignment", False)
    """Whether Koordinator's devices are chosen without regard to NUMA nodes, whatever pods and nodes want."""
    unsupported: tuple[UnsupportedModel, ...] = argument("gpuShareUnsupportedModels", (), refuse=True)
    """GPUs that cannot be shared: `vendor` and `model`, as labels of their nodes say."""
    templates: TemplatesConfig | None = argument("gpuSharedResourceTemplatesConfig", None, refuse=True)
    """Where the shares stand that NPUs can be given in: `configMapNamespace`, `configMapName`, `matchedResources`."""
    score_order: Literal["descending", "ascending"] = argument("partitionScoreOrder", "descending", refuse=True)
    """Which partitions of GPUs go first, by their scores; `ascending` is Koordinator's."""
    searches_on: bool = argument("jointSearchRetry", True)
    """Whether GPUs are chosen anew where other devices are not to be had near them; Koordinator gives up."""

    def rules(self, templates: Templates = NO_TEMPLATES) -> KoordinatorRules:
        """Return what holds for Koordinator's devices."""
        return KoordinatorRules(
            templates=templates,
            scoring=Scoring(self.scoring.type, tuple((each.name, each.weight) for each in self.scoring.resources)),
            unsupported=frozenset((each.vendor, each.model) for each in self.unsupported),
            small_scores_first=self.score_order == "ascending",
            searches_on=self.searches_on,
            aligns=not self.unaligned,
        )

    def __post_init__(self) -> None:
        """Refuse what excludes each other, and what is not there."""
        faults = [*self._missing(), *self._clashes()]
        if faults:
            faults[0].faults = tuple(fault for each in faults for fault in each.faults)
            raise faults[0]

    def _missing(self) -> Iterable[ArgumentError]:
        for key, is_on in (
            ("deviceshare.AscendMindClusterVNPUEnable", self.mind_cluster),
            ("deviceshare.AscendHAMiVNPUEnable", self.ascend_hami),
        ):
            if is_on:
                yield ArgumentError(key, True, "false: this release has no Ascend devices yet")

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
        if self.koordinator and (self.gpu_sharing or self.gpu_number or self.vgpu):
            yield ArgumentError(
                "deviceshare.KoordinatorEnable",
                True,
                "false beside GPUSharingEnable, GPUNumberEnable and VGPUEnable: cards are managed once",
            )

    def doubts(self) -> Iterable[str]:
        """Name values that say less than somebody may think."""
        if self.policy not in {"", BINPACK, SPREAD}:
            yield f"deviceshare.SchedulePolicy: {self.policy!r} is no policy (binpack, spread): cards go by their index"
        if self.exclusive and not self.vgpu:
            yield "deviceshare.GPUExclusiveRules: has no effect without deviceshare.VGPUEnable"
        if self.koordinator and self.node_lock:
            yield "deviceshare.NodeLockEnable: has no effect with deviceshare.KoordinatorEnable"
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
        }
        for key, is_given in given.items():
            if is_given:
                yield f"{key}: has no effect without deviceshare.KoordinatorEnable"
