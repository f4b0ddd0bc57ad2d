"""Allocated devices: the annotation of a pod with its devices, by type and in the order of allocation.

Example: `{"gpu":[{"minor":0,"id":"GPU-8b","resources":{"koordinator.sh/gpu-core":"50",…}}]}`.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from pyroclast.model.devices.cards import Instance
from pyroclast.model.devices.koordinator.annotations import read_annotation
from pyroclast.model.devices.koordinator.layout import DeviceAmounts
from pyroclast.model.devices.koordinator.names import ALLOCATED, GPU, MEMORY, OFFERED, RATIO, TYPES
from pyroclast.model.quantity import QuantityError, format_bytes, units

__all__ = ["Allocated", "read_allocated", "write_allocated"]

_ALWAYS: Final = frozenset({MEMORY, RATIO})
"""Amounts of GPUs that are written even if they are 0. Other amounts are written only above 0."""


class Allocated(NamedTuple):
    """One device of a pod."""

    type: str
    minor: int
    amounts: DeviceAmounts
    functions: tuple[Instance, ...] = ()
    """Address and number of each virtual function."""
    id: str = ""
    template: str = ""
    """Name of the template that a share of the device follows; empty if it follows none."""


class _Function(msgspec.Struct, frozen=True):
    bus_id: str = msgspec.field(name="busID", default="")
    minor: int = 0


class _Extension(msgspec.Struct, frozen=True, rename="camel"):
    vfs: tuple[_Function, ...] = ()
    gpu_shared_resource_template: str = ""


class _Device(msgspec.Struct, frozen=True):
    minor: int = 0
    resources: Mapping[str, str | int | float] = {}
    id: str = ""
    extension: _Extension = _Extension()


def read_allocated(annotations: Mapping[str, str]) -> tuple[Allocated, ...]:
    """Read the devices of a pod, by type in the order of `TYPES`; those of unknown types come last.

    Raises:
        ValueError: The annotation cannot be read.
    """
    by_type = read_annotation(annotations, ALLOCATED, dict[str, tuple[_Device, ...]]) or {}
    kinds = (*TYPES, *sorted(by_type.keys() - set(TYPES)))
    return tuple(_allocated(kind, device) for kind in kinds for device in by_type.get(kind, ()))


def _allocated(kind: str, device: _Device) -> Allocated:
    try:
        amounts = tuple(
            max(units(device.resources[name]), 0) if name in device.resources else None
            for name in OFFERED.get(kind, ())
        )
    except QuantityError as error:
        raise ValueError(f"{ALLOCATED}: {kind} {device.minor}: {error}") from None
    functions = tuple((each.bus_id, each.minor) for each in device.extension.vfs)
    template = device.extension.gpu_shared_resource_template
    return Allocated(kind, device.minor, amounts, functions, device.id, template)


def write_allocated(devices: Iterable[Allocated]) -> str:
    """Write the devices of a pod."""
    by_type: dict[str, list[dict[str, Any]]] = {}
    for each in devices:
        by_type.setdefault(each.type, []).append(_as_json(each))
    return msgspec.json.encode(by_type).decode()


def _as_json(device: Allocated) -> dict[str, Any]:
    functions = [{**({"minor": minor} if minor else {}), "busID": address} for address, minor in device.functions]
    template = device.template
    extension = {
        **({"vfs": functions} if functions else {}),
        **({"gpuSharedResourceTemplate": template} if template else {}),
    }
    return {
        "minor": device.minor,
        "resources": _resources(device),
        **({"id": device.id} if device.id else {}),
        **({"extension": extension} if extension else {}),
    }


def _resources(device: Allocated) -> dict[str, str]:
    amounts = zip(OFFERED[device.type], device.amounts, strict=True)
    return {
        name: format_bytes(amount) if name == MEMORY else str(amount)
        for name, amount in amounts
        if amount is not None and (amount or (device.type == GPU and name in _ALWAYS))
    }
