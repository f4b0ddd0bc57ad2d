"""Names: Koordinator's device types, resources, labels and annotations."""

from collections.abc import Mapping
from typing import Final

from pyroclast.model.nodenuma.names import NUMA_SPEC

# --- types of devices, in the order in which they are allocated ------------------------------------------------------

GPU: Final = "gpu"
RDMA: Final = "rdma"
FPGA: Final = "fpga"
TYPES: Final = (GPU, RDMA, FPGA)

# --- resources -------------------------------------------------------------------------------------------------------

NVIDIA_GPU: Final = "nvidia.com/gpu"
AMD_GPU: Final = "amd.com/gpu"
HYGON_DCU: Final = "dcu.com/gpu"
"""Whole GPUs."""
WHOLE_GPU: Final = "koordinator.sh/gpu"
"""Percent of GPUs, of their cores and of their memory alike."""
SHARED: Final = "koordinator.sh/gpu.shared"
"""Number of GPUs that share the other amounts."""
CORE: Final = "koordinator.sh/gpu-core"
"""Percent of cores."""
MEMORY: Final = "koordinator.sh/gpu-memory"
"""Bytes."""
RATIO: Final = "koordinator.sh/gpu-memory-ratio"
"""Percent of memory."""
NPU_CORE: Final = "huawei.com/npu-core"
NPU_CPU: Final = "huawei.com/npu-cpu"
NPU_DVPP: Final = "huawei.com/npu-dvpp"
RDMA_SHARE: Final = "koordinator.sh/rdma"
FPGA_SHARE: Final = "koordinator.sh/fpga"
"""Percent of a card."""

OFFERED: Final[Mapping[str, tuple[str, ...]]] = {
    GPU: (CORE, MEMORY, RATIO, NPU_CORE, NPU_CPU, NPU_DVPP),
    RDMA: (RDMA_SHARE,),
    FPGA: (FPGA_SHARE,),
}
"""Resources of devices, by type. Amounts of one device have this order."""

# --- annotations of pods ---------------------------------------------------------------------------------------------

ALLOCATED: Final = "scheduling.koordinator.sh/device-allocated"
"""Devices allocated to a pod; see `model.devices.koordinator.allocated`."""
HINT: Final = "scheduling.koordinator.sh/device-allocate-hint"
JOINT: Final = "scheduling.koordinator.sh/device-joint-allocate"
PARTITION_SPEC: Final = "scheduling.koordinator.sh/gpu-partition-spec"
"""Device hints of a pod; see `model.devices.koordinator.device_hints`."""

DEVICE_ANNOTATIONS: Final = (HINT, JOINT, PARTITION_SPEC, NUMA_SPEC)
"""Annotations of pods with device hints. Pods that differ in them share no template."""

# --- annotations and labels for device plugins of vendors ------------------------------------------------------------

BIND_TIMESTAMP: Final = "scheduling.koordinator.sh/bind-timestamp"
"""Annotation of a pod: when its devices were chosen, nanoseconds since 1970."""
GPU_MINORS: Final = "scheduling.koordinator.sh/gpu-minors"
"""Annotation of a pod: minors of its GPUs, `0,1`."""
HAMI_CORE: Final = "HAMi-core"
"""Isolation provider whose device plugin finds pods by the label `HAMI_NODE`."""
HAMI_NODE: Final = "hami.io/vgpu-node"
"""Label of a pod: its node."""
PREDICATE_TIME: Final = "predicate-time"
ASCEND_310P: Final = "huawei.com/Ascend310P"
CAMBRICON_ASSIGNED: Final = "CAMBRICON_DSMLU_ASSIGHED"
"""Annotation of a pod, in the vendor's spelling."""
CAMBRICON_PROFILE: Final = "CAMBRICON_DSMLU_PROFILE"
CAMBRICON_LOCK: Final = "cambricon.com/dsmlu.lock"
METAX_ALLOCATED: Final = "metax-tech.com/gpu-devices-allocated"

# --- labels and annotations of nodes and Devices ---------------------------------------------------------------------

PARTITIONS: Final = "scheduling.koordinator.sh/gpu-partitions"
"""Annotation of a Device: its partition table; see `model.devices.koordinator.partitions`."""
PARTITION_POLICY: Final = "node.koordinator.sh/gpu-partition-policy"
"""Label of a Device, or of a node: whether pods with several GPUs must have a partition."""
VENDOR: Final = "node.koordinator.sh/gpu-vendor"
VENDORS_OF_WHOLE: Final = ("", "nvidia")
"""Vendors of GPUs of which percentages are offered as `koordinator.sh/gpu`; empty if unknown."""
MODEL: Final = "node.koordinator.sh/gpu-model"
ISOLATION_PROVIDER: Final = "koordinator.sh/gpu-isolation-provider"
"""Label of a node, and of a pod: isolation of pods that share a GPU."""
NUMA_POLICIES: Final = ("", "None", "BestEffort", "Restricted", "SingleNUMANode")
"""Values of the label `numa-topology-policy` of a node, which also aligns devices; empty if absent."""
