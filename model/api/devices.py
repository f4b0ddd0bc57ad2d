"""Devices of nodes: GPUs, RDMA cards and FPGAs, as Koordinator defines them."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

import msgspec

from pyroclast.model.api import names
from pyroclast.model.api.definitions import Definition, KubernetesObject
from pyroclast.model.api.meta import EMPTY, Condition, ResourceList, Wire
from pyroclast.model.api.rules import DEFAULTED, REQUIRED, Int32

__all__ = [
    "KoordinatorDevice",
    "KoordinatorDeviceAllocation",
    "KoordinatorDeviceAllocationItem",
    "KoordinatorDeviceInfo",
    "KoordinatorDeviceSpec",
    "KoordinatorDeviceStatus",
    "KoordinatorDeviceTopology",
    "KoordinatorVirtualFunction",
    "KoordinatorVirtualFunctionGroup",
]


class KoordinatorDeviceTopology(Wire, frozen=True, kw_only=True):
    """Position of a device in its node."""

    socket_id: Annotated[Int32, REQUIRED] = msgspec.field(default_factory=int)
    """CPU socket of the device."""
    node_id: Annotated[Int32, REQUIRED] = msgspec.field(default_factory=int)
    """NUMA node of the device; -1 if it is unknown."""
    pcie_id: Annotated[str, REQUIRED] = ""
    """PCIe switch of the device, by a name that is unique in the node."""
    bus_id: str = ""
    """Address of the device, as domain:bus:device.function."""


class KoordinatorVirtualFunction(Wire, frozen=True, kw_only=True):
    """Part of a device for the exclusive use of a pod."""

    minor: Annotated[Int32, REQUIRED] = msgspec.field(default_factory=int)
    """Number of the virtual function, from 0."""
    bus_id: str = ""
    """Address of the virtual function, as domain:bus:device.function."""


class KoordinatorVirtualFunctionGroup(Wire, frozen=True, kw_only=True):
    """Virtual functions of one kind."""

    labels: Mapping[str, str] = EMPTY
    """Labels for the selection of virtual functions by pods."""
    vfs: tuple[KoordinatorVirtualFunction, ...] = ()
    """Virtual functions of the group."""


class KoordinatorDeviceInfo(Wire, frozen=True, kw_only=True):
    """One device."""

    type: str = ""
    """Type of the device: gpu, rdma or fpga."""
    labels: Mapping[str, str] = EMPTY
    """Labels for the selection of devices by pods."""
    id: str = ""
    """UUID of the device."""
    minor: Int32 | None = None
    """Number of the device among those of its type, from 0."""
    module_id: Int32 | None = None
    """Physical number of the device."""
    health: Annotated[bool, DEFAULTED] = False
    """Whether the device is healthy."""
    resources: ResourceList = EMPTY
    """Capacity of the device, by resource name."""
    topology: KoordinatorDeviceTopology | None = None
    """Position of the device in its node."""
    vf_groups: tuple[KoordinatorVirtualFunctionGroup, ...] = ()
    """Virtual functions of the device."""
    conditions: tuple[Condition, ...] = ()
    """Conditions of the device."""


class KoordinatorDeviceSpec(Wire, frozen=True, kw_only=True):
    """Devices of the node."""

    devices: tuple[KoordinatorDeviceInfo, ...] = ()
    """Devices of the node."""


class KoordinatorDeviceAllocationItem(Wire, frozen=True, kw_only=True):
    """Devices of one pod."""

    name: str = ""
    """Name of the pod."""
    namespace: str = ""
    """Namespace of the pod."""
    uuid: str = ""
    """UID of the pod."""
    minors: tuple[Int32, ...] = ()
    """Numbers of the pod's devices."""


class KoordinatorDeviceAllocation(Wire, frozen=True, kw_only=True):
    """Allocations of one type of device."""

    type: str = ""
    """Type of the devices."""
    entries: tuple[KoordinatorDeviceAllocationItem, ...] = ()
    """Pods with such devices."""


class KoordinatorDeviceStatus(Wire, frozen=True, kw_only=True):
    """Allocations by pod. The scheduler neither reads nor writes them."""

    allocations: tuple[KoordinatorDeviceAllocation, ...] = ()
    """Devices in use, by type."""


class KoordinatorDevice(KubernetesObject, frozen=True, kw_only=True, eq=False):
    """Device lists the devices of one node. It has the name of the node, and an agent there writes it."""

    definition: ClassVar[Definition] = Definition(
        api_version=names.DEVICES,
        kind="Device",
        plural="devices",
        is_namespaced=False,
        has_status_subresource=False,
    )
    spec: KoordinatorDeviceSpec = KoordinatorDeviceSpec()
    """Devices of the node."""
    status: KoordinatorDeviceStatus = KoordinatorDeviceStatus()
    """Allocations by pod. The scheduler neither reads nor writes them."""
