"""Names: resources and annotations that device plugins and schedulers use for shared cards."""

from typing import Final

# --- whole cards and shares of their memory --------------------------------------------------------------------------

GPU_MEMORY: Final = "volcano.sh/gpu-memory"
"""Resource: megabytes; a node offers the sum of all its cards."""
GPU_NUMBER: Final = "volcano.sh/gpu-number"
"""Resource: cards."""
GPU_UNHEALTHY: Final = "volcano.sh/gpu-unhealthy-ids"
"""Annotation of a node: indices of unhealthy cards, `0,3`."""
GPU_INDEX: Final = "volcano.sh/gpu-index"
"""Annotation of a pod: indices of its cards, `0,2`."""
PREDICATE_TIME: Final = "volcano.sh/predicate-time"
"""Annotation of a pod: when its cards were chosen, nanoseconds since 1970."""

# --- virtual cards ---------------------------------------------------------------------------------------------------

VGPU_NUMBER: Final = "volcano.sh/vgpu-number"
VGPU_MEMORY: Final = "volcano.sh/vgpu-memory"
VGPU_CORES: Final = "volcano.sh/vgpu-cores"
VGPU_REGISTER: Final = "volcano.sh/node-vgpu-register"
"""Annotation of a node: its cards, see `model.devices.vgpu_register`."""

VGPU_MODE: Final = "volcano.sh/vgpu-mode"
"""Annotation of a pod: how its node must share cards, `hami-core` or `mig`."""
USE_TYPES: Final = "nvidia.com/use-gputype"
AVOID_TYPES: Final = "nvidia.com/nouse-gputype"
"""Annotations of a pod: parts of the names of card models, by commas."""
USE_UUIDS: Final = "volcano.sh/vgpu-use-gpuuuid"
AVOID_UUIDS: Final = "volcano.sh/vgpu-nouse-gpuuuid"
"""Annotations of a pod: UUIDs of cards, by commas."""
VGPU_GROUP_POLICY: Final = "volcano.sh/vgpu-podgroup-policy"
"""Annotation of a pod, `spread`: never two pods of its group on one card."""
VOLCANO_GROUP_NAME: Final = "scheduling.volcano.sh/group-name"
"""Annotation of a pod: its group, where `scheduling.k8s.io/group-name` names none."""

VGPU_NODE: Final = "volcano.sh/vgpu-node"
VGPU_TIME: Final = "volcano.sh/vgpu-time"
VGPU_IDS: Final = "volcano.sh/vgpu-ids-new"
"""Annotation of a pod: its cards, see `model.devices.vgpu_ids`."""
VGPU_TO_ALLOCATE: Final = "volcano.sh/devices-to-allocate"
"""Annotation of a pod: the same, for the device plugin to consume."""
BIND_TIME: Final = "volcano.sh/bind-time"
BIND_PHASE: Final = "volcano.sh/bind-phase"
"""Annotation of a pod: `allocating` from the scheduler, later `success` or a failure from the device plugin."""

# --- Ascend chips of HAMi --------------------------------------------------------------------------------------------

ASCEND_REGISTER: Final = "hami.io/node-register-"
"""Annotation of a node, followed by the word of the chips: these, see `model.devices.ascend_register`."""
ASCEND_SOFT: Final = "hami-vnpu-core"
"""Annotation of a node, `true`: chips are sliced softly. Other values: they are not."""
ASCEND_MODE: Final = "huawei.com/vnpu-mode"
"""Annotation of a pod, `hami-core`: its chips must be sliced softly."""
ASCEND_NODE: Final = "hami.io/vgpu-node"
ASCEND_TIME: Final = "hami.io/vgpu-time"
ASCEND_BIND_TIME: Final = "hami.io/bind-time"
ASCEND_BIND_PHASE: Final = "hami.io/bind-phase"
ASCEND_PREDICATE_TIME: Final = "predicate-time"


def ascend_allocated(word: str) -> str:
    """Return the annotation of a pod with its chips."""
    return f"hami.io/{word}-devices-allocated"


def ascend_to_allocate(word: str) -> str:
    """Return the annotation of a pod with its chips, for the device plugin to consume."""
    return f"hami.io/{word}-devices-to-allocate"


def ascend_runtime(word: str) -> str:
    """Return the annotation of a pod with the templates of its chips, for the container runtime."""
    return f"huawei.com/{word}"


# --- locks of nodes --------------------------------------------------------------------------------------------------

GPU_LOCK: Final = "gpu"
VGPU_LOCK: Final = "hamivgpu"
HAMI_LOCK: Final = "hami.io/mutex.lock"
"""Annotations of a node, a time: a pod with cards is on its way there, and the device plugin has not served it yet."""

CARD_ANNOTATIONS: Final = (
    VGPU_MODE,
    USE_TYPES,
    AVOID_TYPES,
    USE_UUIDS,
    AVOID_UUIDS,
    VGPU_GROUP_POLICY,
    ASCEND_MODE,
)
"""Annotations of pods with rules about cards. Pods that differ in them share no template."""
