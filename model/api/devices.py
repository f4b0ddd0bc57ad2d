"""Devices of nodes: GPUs, RDMA cards and FPGAs, as Koordinator defines them."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

import msgspec

from pyroclast.model.api import names
from pyroclast.model.api.definitions import Definition, KubernetesObject
from pyroclast.model.api.meta import Amounts, Condition
from pyroclast.model.api.rules import DEFAULTED, Int32
from pyroclast.model.wire.base import EMPTY, Wire

__all__ = [
    "Device",
    "DeviceAllocation",
    "DeviceAllocationItem",
    "DeviceInfo",
    "DeviceSpec",
    "DeviceStatus",
    "DeviceTopology",
    "VirtualFunction",
    "VirtualFunctionGroup",
]


class DeviceTopology(Wire, frozen=True, kw_only=True):
    """Place of a device in its node."""

    socket_id: Int32
    """CPU socket of the device."""
    node_id: Int32
    """NUMA node of the device; -1 where it is not known."""
    pcie_id: str
    """PCIe switch of the device, by a name that is unique in the node."""
    bus_id: str = ""
    """Address of the device, as domain:bus:device.function."""


class VirtualFunction(Wire, frozen=True, kw_only=True):
    """Part of a device that a pod may have for itself."""

    minor: Int32
    """Number of the virtual function, from 0."""
    bus_id: str = ""
    """Address of the virtual function, as domain:bus:device.function."""


class VirtualFunctionGroup(Wire, frozen=True, kw_only=True):
    """Virtual functions of one kind."""

    labels: Mapping[str, str] = EMPTY
    """Labels that pods select virtual functions by."""
    vfs: tuple[VirtualFunction, ...] = ()
    """Virtual functions of the group."""


class DeviceInfo(Wire, frozen=True, kw_only=True):
    """One device."""

    type: str = ""
    """Type of the device: gpu, rdma or fpga."""
    labels: Mapping[str, str] = EMPTY
    """Labels that pods select devices by."""
    id: str = ""
    """UUID of the device."""
    minor: Int32 | None = None
    """Number of the device among those of its type, from 0."""
    module_id: Int32 | None = None
    """Physical number of the device."""
    health: Annotated[bool, DEFAULTED] = False
    """Whether the device may be used."""
    resources: Amounts = msgspec.field(default_factory=dict)
    """What the device offers, by resource name."""
    topology: DeviceTopology | None = None
    """Place of the device in its node."""
    vf_groups: tuple[VirtualFunctionGroup, ...] = ()
    """Virtual functions of the device."""
    conditions: tuple[Condition, ...] = ()
    """Findings about the device."""


class DeviceSpec(Wire, frozen=True, kw_only=True):
    """What the node has."""

    devices: tuple[DeviceInfo, ...] = ()
    """Devices of the node."""


class DeviceAllocationItem(Wire, frozen=True, kw_only=True):
    """Devices of one pod."""

    name: str = ""
    """Name of the pod."""
    namespace: str = ""
    """Namespace of the pod."""
    uuid: str = ""
    """UID of the pod."""
    minors: tuple[Int32, ...] = ()
    """Numbers of the pod's devices."""


class DeviceAllocation(Wire, frozen=True, kw_only=True):
    """Who has devices of one type."""

    type: str = ""
    """Type of the devices."""
    entries: tuple[DeviceAllocationItem, ...] = ()
    """Pods with such devices."""


class DeviceStatus(Wire, frozen=True, kw_only=True):
    """Who has what; the scheduler neither reads nor writes it."""

    allocations: tuple[DeviceAllocation, ...] = ()
    """Devices in use, by type."""


class Device(KubernetesObject, frozen=True, kw_only=True):
    """Device tells which devices one node has; it bears the name of the node, and an agent there writes it."""

    definition: ClassVar[Definition] = Definition(
        api_version=names.DEVICES,
        kind="Device",
        plural="devices",
        is_namespaced=False,
        has_status_subresource=False,
    )
    spec: DeviceSpec = DeviceSpec()
    """What the node has."""
    status: DeviceStatus = DeviceStatus()
    """Who has what; the scheduler neither reads nor writes it."""
