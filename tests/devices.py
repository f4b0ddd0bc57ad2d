"""Koordinator's Devices, for tests: one-line GPUs, RDMA cards and FPGAs."""

from collections.abc import Mapping, Sequence
from typing import Any

GIB = 2**30
CORE, MEMORY, RATIO, SHARED = (
    f"koordinator.sh/{name}" for name in ("gpu-core", "gpu-memory", "gpu-memory-ratio", "gpu.shared")
)
RDMA, FPGA, NVIDIA = "koordinator.sh/rdma", "koordinator.sh/fpga", "nvidia.com/gpu"


def place(numa: int, pcie: str) -> dict[str, Any]:
    """Where a device sits."""
    return {"socketID": 0, "nodeID": numa, "pcieID": pcie}


def gpu(minor: int, *, memory: str = "80Gi", at: tuple[int, str] | None = None, **more: Any) -> dict[str, Any]:
    """A healthy GPU; `at` is NUMA node and PCIe switch."""
    offered = {CORE: "100", MEMORY: memory, RATIO: "100"}
    return _device("gpu", minor, offered, at, {"id": f"GPU-{minor}", **more})


def rdma(
    minor: int, *, at: tuple[int, str] | None = None, functions: Sequence[str] = (), **more: Any
) -> dict[str, Any]:
    """A healthy RDMA card; `functions` are addresses of its virtual functions, which are of type `general`."""
    groups = [{"labels": {"type": "general"}, "vfs": [{"minor": n, "busID": each} for n, each in enumerate(functions)]}]
    return _device("rdma", minor, {RDMA: "100"}, at, {**({"vfGroups": groups} if functions else {}), **more})


def fpga(minor: int, **more: Any) -> dict[str, Any]:
    """A healthy FPGA."""
    return _device("fpga", minor, {FPGA: "100"}, None, more)


def _device(
    kind: str, minor: int, offered: Mapping[str, str], at: tuple[int, str] | None, more: Mapping[str, Any]
) -> dict[str, Any]:
    where = {} if at is None else {"topology": place(*at)}
    return {"type": kind, "minor": minor, "health": True, "resources": dict(offered), **where, **more}


def device(node: str, *devices: Mapping[str, Any], **metadata: Any) -> dict[str, Any]:
    """The Device of a node."""
    return {
        "apiVersion": "scheduling.koordinator.sh/v1alpha1",
        "kind": "Device",
        "metadata": {"name": node, **metadata},
        "spec": {"devices": list(devices)},
    }
