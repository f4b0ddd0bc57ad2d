"""Requests for devices: valid combinations of resources, and the amounts for one GPU.

Example: `gpu.shared` 2, `gpu-core` 100 and `gpu-memory-ratio` 100 are half of each of two GPUs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pyroclast.model.devices.koordinator.layout import DeviceAmounts
from pyroclast.model.devices.koordinator.names import (
    AMD_GPU,
    CORE,
    FPGA,
    FPGA_SHARE,
    GPU,
    HYGON_DCU,
    MEMORY,
    NPU_CORE,
    NPU_CPU,
    NPU_DVPP,
    NVIDIA_GPU,
    OFFERED,
    RATIO,
    RDMA,
    RDMA_SHARE,
    SHARED,
    WHOLE_GPU,
)
from pyroclast.model.resources import MILLI, Amounts

__all__ = ["WHOLE", "GpuRequest", "PodDeviceRequest", "device_request", "filled"]

WHOLE: Final = 100
"""Percent of a device."""
_GPUS: Final = (NVIDIA_GPU, AMD_GPU, HYGON_DCU)
_NPU_SHARE: Final = frozenset({SHARED, NPU_CORE, NPU_CPU, MEMORY})
_SETS: Final[Mapping[frozenset[str], tuple[str, ...]]] = {
    **{frozenset({name}): () for name in _GPUS},
    frozenset({WHOLE_GPU}): (WHOLE_GPU,),
    frozenset({MEMORY}): (),
    frozenset({RATIO}): (RATIO,),
    frozenset({CORE, MEMORY}): (CORE,),
    frozenset({CORE, RATIO}): (CORE, RATIO),
    frozenset({NPU_CORE, RATIO}): (RATIO,),
    frozenset({SHARED, MEMORY}): (),
    frozenset({SHARED, RATIO}): (RATIO,),
    frozenset({SHARED, CORE, MEMORY}): (CORE,),
    frozenset({SHARED, CORE, RATIO}): (CORE, RATIO),
    _NPU_SHARE: (),
    _NPU_SHARE | {NPU_DVPP}: (),
}
"""Valid combinations of GPU resources, each with its percentages: of one device, or of each of several."""
_OF_GPUS: Final = (*_GPUS, WHOLE_GPU, SHARED, *OFFERED[GPU])
_OTHERS: Final = {RDMA: RDMA_SHARE, FPGA: FPGA_SHARE}


@dataclass(frozen=True, slots=True)
class GpuRequest:
    """Request of a pod for GPUs."""

    count: int
    each: DeviceAmounts
    """Amounts of each GPU."""
    is_shared: bool
    """Whether other pods may use the rest of the GPUs."""


@dataclass(frozen=True, slots=True)
class PodDeviceRequest:
    """Request of a pod for devices."""

    gpu: GpuRequest | None = None
    quantities: tuple[tuple[str, int], ...] = ()
    """Percent of devices of other types, by type, in the order of `TYPES`."""


def device_request(request: Amounts) -> PodDeviceRequest | None:
    """Return the device request of a pod; None if it requests no devices.

    Args:
        request: Effective request of the pod, thousandths by resource name.

    Raises:
        ValueError: The amounts are not a valid combination, or are parts of several devices.
    """
    quantities = []
    for kind, name in _OTHERS.items():
        amount = _units(request, name)
        if amount:
            _check_percentage(name, amount)
            quantities.append((kind, amount))
    gpus = {name: amount for name in _OF_GPUS if (amount := _units(request, name))}
    if not gpus and not quantities:
        return None
    return PodDeviceRequest(_gpu_request(gpus) if gpus else None, tuple(quantities))


def filled(each: DeviceAmounts, memory: int) -> DeviceAmounts:
    """Return the amounts of one GPU, with its memory in bytes and in percent.

    Args:
        each: If one of the two is absent, it is computed from the other.
        memory: Bytes of a GPU of the node, more than 0.
    """
    amounts = list(each)
    size, ratio = each[_MEMORY], each[_RATIO]
    if size is None and ratio is not None:
        amounts[_MEMORY] = ratio * memory // WHOLE
    elif ratio is None and size is not None:
        amounts[_RATIO] = size * WHOLE // memory
    return tuple(amounts)


_MEMORY: Final = OFFERED[GPU].index(MEMORY)
_RATIO: Final = OFFERED[GPU].index(RATIO)


def _units(request: Amounts, name: str) -> int:
    return -(-request.get(name, 0) // MILLI)


def _gpu_request(asked: Mapping[str, int]) -> GpuRequest:
    percentages = _SETS.get(frozenset(asked))
    if percentages is None:
        raise ValueError(f"{' + '.join(asked)}: these are not asked for together, or not without another")
    for name in percentages:
        _check_share(name, asked[name], asked[SHARED]) if SHARED in asked else _check_percentage(name, asked[name])
    if NPU_CPU in asked:
        _check_npu(asked)
    return _for_each(_converted(asked))


def _check_percentage(name: str, amount: int) -> None:
    if amount > WHOLE and amount % WHOLE:
        raise ValueError(f"{name}: {amount}, expected at most {WHOLE}, or a multiple of it")


def _check_share(name: str, amount: int, shared: int) -> None:
    if amount % shared or amount // shared > WHOLE:
        raise ValueError(f"{name}: {amount}, expected a multiple of {SHARED} ({shared}), at most {WHOLE} times of it")


def _check_npu(asked: Mapping[str, int]) -> None:
    if asked[SHARED] > 1:
        raise ValueError(f"{SHARED}: {asked[SHARED]}, expected 1: a share of an NPU is one of one device")
    if asked.get(NPU_DVPP, 0) > WHOLE:
        raise ValueError(f"{NPU_DVPP}: {asked[NPU_DVPP]}, expected at most {WHOLE}")


def _converted(asked: Mapping[str, int]) -> Mapping[str, int]:
    """Write whole GPUs, and percentages of them, as cores and memory."""
    for name in _GPUS:
        if name in asked:
            return {CORE: asked[name] * WHOLE, RATIO: asked[name] * WHOLE}
    return {CORE: asked[WHOLE_GPU], RATIO: asked[WHOLE_GPU]} if WHOLE_GPU in asked else asked


def _for_each(asked: Mapping[str, int]) -> GpuRequest:
    """Divide a request for several GPUs by their number."""
    ratio = asked.get(RATIO, 0)
    count = asked.get(SHARED) or (ratio // WHOLE if ratio > WHOLE else 1)
    each = tuple(asked[name] // count if name in asked else None for name in OFFERED[GPU])
    return GpuRequest(count, each, is_shared=ratio // count < WHOLE)
