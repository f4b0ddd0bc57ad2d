"""Names: Koordinator's labels, annotations and policies for CPUs and NUMA nodes."""

from typing import Final

# --- annotations of pods ---------------------------------------------------------------------------------------------

RESOURCE_SPEC: Final = "scheduling.koordinator.sh/resource-spec"
"""CPU policies of a pod."""
NUMA_SPEC: Final = "scheduling.koordinator.sh/numa-topology-spec"
"""NUMA policy of a pod."""
RESOURCE_STATUS: Final = "scheduling.koordinator.sh/resource-status"
"""The decision: CPUs, and amounts on NUMA nodes. The agent of the node reads it."""

# --- labels and annotations of nodes ---------------------------------------------------------------------------------

CPU_BIND_POLICY: Final = "node.koordinator.sh/cpu-bind-policy"
"""Label: policy for all pods of the node, `FullPCPUsOnly` or `SpreadByPCPUs`."""
NUMA_POLICY: Final = "node.koordinator.sh/numa-topology-policy"
"""Label: NUMA policy of the node."""
ALLOCATE_STRATEGY: Final = "node.koordinator.sh/numa-allocate-strategy"
"""Label: which NUMA nodes are filled first."""
AMPLIFICATION: Final = "node.koordinator.sh/resource-amplification-ratio"
"""Annotation of a Node or its topology, JSON: ratio by resource."""

# --- annotations of a NodeResourceTopology ---------------------------------------------------------------------------

CPU_TOPOLOGY: Final = "node.koordinator.sh/cpu-topology"
POD_CPU_ALLOCS: Final = "node.koordinator.sh/pod-cpu-allocs"
CPU_MANAGER_POLICY: Final = "kubelet.koordinator.sh/cpu-manager-policy"
NODE_RESERVATION: Final = "node.koordinator.sh/reservation"
SYSTEM_QOS: Final = "node.koordinator.sh/system-qos-resource"
DECISIVE: Final = (CPU_TOPOLOGY, POD_CPU_ALLOCS, CPU_MANAGER_POLICY, NODE_RESERVATION, SYSTEM_QOS, AMPLIFICATION)
"""Annotations that matter for decisions. The agent also writes its shared pools, which change with every pod."""

# --- policies --------------------------------------------------------------------------------------------------------

FULL_PCPUS: Final = "FullPCPUs"
SPREAD_BY_PCPUS: Final = "SpreadByPCPUs"
DEFAULT_POLICY: Final = "Default"
FULL_PCPUS_ONLY: Final = "FullPCPUsOnly"
"""Policy of a node."""
PCPU_LEVEL: Final = "PCPULevel"
NUMA_NODE_LEVEL: Final = "NUMANodeLevel"
BEST_EFFORT: Final = "BestEffort"
RESTRICTED: Final = "Restricted"
SINGLE_NUMA_NODE: Final = "SingleNUMANode"
NUMA_POLICIES: Final = (BEST_EFFORT, RESTRICTED, SINGLE_NUMA_NODE)
REQUIRED: Final = "Required"
MOST_ALLOCATED: Final = "MostAllocated"
