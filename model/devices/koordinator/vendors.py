"""Vendors: annotations and locks for the device plugins of vendors, as Koordinator's gate `DevicePluginAdaption`.

A device plugin learns from the kubelet how many devices a container gets, but not which pod it is. It therefore
searches the pods of its node for annotations, and reads the devices from them. Some can serve one pod at a time only:
their nodes are locked.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from pyroclast.model.devices.koordinator.allocated import Allocated
from pyroclast.model.devices.koordinator.layout import GpuPlugin
from pyroclast.model.devices.koordinator.names import (
    ASCEND_310P,
    BIND_TIMESTAMP,
    CAMBRICON_ASSIGNED,
    CAMBRICON_LOCK,
    CAMBRICON_PROFILE,
    CORE,
    GPU,
    GPU_MINORS,
    MEMORY,
    METAX_ALLOCATED,
    NPU_CORE,
    OFFERED,
    PREDICATE_TIME,
)
from pyroclast.model.devices.locks import NodeLock
from pyroclast.model.devices.names import HAMI_LOCK

__all__ = ["PluginLimits", "limits_of", "lock_of", "vendor_annotations"]

_CORE: Final = OFFERED[GPU].index(CORE)
_MEMORY: Final = OFFERED[GPU].index(MEMORY)
_MIB: Final = 2**20
_DUO: Final = "Ascend-310P3-300I-DUO"
_CAMBRICON_UNIT: Final = 256 * _MIB
"""Smallest share of memory, as the argument `min-dsmlu-unit` of the device plugin has it."""


class PluginLimits(NamedTuple):
    """GPUs of one pod that a device plugin can serve."""

    one_device: bool = False
    """Whether a pod has one GPU at most."""
    memory: int = 0
    """Bytes of each at least."""
    needs_core: bool = False
    """Whether a share of the cores must be requested."""


class _Vendor(NamedTuple):
    write: Callable[[str, Sequence[Allocated], str], Mapping[str, str]]
    """Returns the annotations of a pod by the model, its GPUs and the moment."""
    limits: PluginLimits = PluginLimits()
    lock: NodeLock | None = None


def limits_of(plugin: GpuPlugin) -> PluginLimits:
    """Return what the device plugin of a node can serve."""
    return _VENDORS[plugin.vendor].limits if plugin.vendor in _VENDORS else PluginLimits()


def lock_of(plugin: GpuPlugin) -> NodeLock | None:
    """Return the lock of nodes for a device plugin; None if it needs none."""
    return _VENDORS[plugin.vendor].lock if plugin.vendor in _VENDORS else None


def vendor_annotations(plugin: GpuPlugin, devices: Sequence[Allocated], nanoseconds: int) -> dict[str, str]:
    """Return the annotations of a pod for the device plugins of its node.

    Args:
        plugin: Device plugin of the GPUs of the node.
        devices: Devices of the pod. The plugin can serve them (`PluginLimits`).
        nanoseconds: The moment, since 1970.
    """
    moment = str(nanoseconds)
    found = {BIND_TIMESTAMP: moment}
    gpus = [device for device in devices if device.type == GPU]
    if gpus:
        found[GPU_MINORS] = _minors(gpus)
        if plugin.vendor in _VENDORS:
            found.update(_VENDORS[plugin.vendor].write(plugin.model, gpus, moment))
    return found


def _huawei(model: str, gpus: Sequence[Allocated], moment: str) -> Mapping[str, str]:
    if model == _DUO:
        return {PREDICATE_TIME: moment, ASCEND_310P: _minors(gpus, "Ascend310P-")}
    template = gpus[0].template
    return {PREDICATE_TIME: moment, NPU_CORE: f"{gpus[0].minor}-{template}" if template else _minors(gpus)}


def _cambricon(model: str, gpus: Sequence[Allocated], moment: str) -> Mapping[str, str]:  # noqa: ARG001 - see `_Vendor`
    (gpu,) = gpus
    profile = f"{gpu.minor}_{gpu.amounts[_CORE] or 0}_{(gpu.amounts[_MEMORY] or 0) // _CAMBRICON_UNIT}"
    return {CAMBRICON_ASSIGNED: "false", CAMBRICON_PROFILE: profile}


def _metax(model: str, gpus: Sequence[Allocated], moment: str) -> Mapping[str, str]:  # noqa: ARG001 - see `_Vendor`
    parts = [
        {"uuid": gpu.id, "compute": gpu.amounts[_CORE] or 0, "vRam": (gpu.amounts[_MEMORY] or 0) // _MIB}
        for gpu in gpus
    ]
    return {METAX_ALLOCATED: msgspec.json.encode([parts]).decode()}  # all devices belong to the first container


def _minors(gpus: Sequence[Allocated], prefix: str = "") -> str:
    return ",".join(f"{prefix}{gpu.minor}" for gpu in gpus)


_VENDORS: Final[Mapping[str, _Vendor]] = {
    "huawei": _Vendor(_huawei),
    "cambricon": _Vendor(
        _cambricon,
        PluginLimits(one_device=True, memory=_CAMBRICON_UNIT, needs_core=True),
        NodeLock(CAMBRICON_LOCK, names_pod=True),
    ),
    "metax": _Vendor(_metax, PluginLimits(memory=_MIB, needs_core=True), NodeLock(HAMI_LOCK, names_pod=True)),
}
"""Vendors by the label of a Device."""
