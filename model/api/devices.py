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
    """Place of a device in its node."""

    socket_id: Annotated[Int32, REQUIRED] = msgspec.field(default_factory=int)
    """CPU socket of the device."""
    node_id: Annotated[Int32, REQUIRED] = msgspec.field(default_factory=int)
    """NUMA node of the device; -1 where it is not known."""
    pcie_id: Annotated[str, REQUIRED] = ""
    """PCIe switch of the device, by a name that is unique in the node."""
    bus_id: str = ""
    """Address of the device, as domain:bus:device.function."""


class KoordinatorVirtualFunction(Wire, frozen=True, kw_only=True):
    """Part of a device that a pod may have for itself."""

    minor: Annotated[Int32, REQUIRED] = msgspec.field(default_factory=int)
    """Number of the virtual function, from 0."""
    bus_id: str = ""
    """Address of the virtual function, as domain:bus:device.function."""


class KoordinatorVirtualFunctionGroup(Wire, frozen=True, kw_only=True):
    """Virtual functions of one kind."""

    labels: Mapping[str, str] = EMPTY
    """Labels that pods select virtual functions by."""
    vfs: tuple[KoordinatorVirtualFunction, ...] = ()
    """Virtual functions of the group."""


class KoordinatorDeviceInfo(Wire, frozen=True, kw_only=True):
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
    resources: ResourceList = EMPTY
    """What the device offers, by resource name."""
    topology: KoordinatorDeviceTopology | None = None
    """Place of the device in its node."""
    vf_groups: tuple[KoordinatorVirtualFunctionGroup, ...] = ()
    """Virtual functions of the device."""
    conditions: tuple[Condition, ...] = ()
    """Findings about the device."""


class KoordinatorDeviceSpec(Wire, frozen=True, kw_only=True):
    """What the node has."""

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
    """Who has devices of one type."""

    type: str = ""
    """Type of the devices."""
    entries: tuple[KoordinatorDeviceAllocationItem, ...] = ()
    """Pods with such devices."""


class KoordinatorDeviceStatus(Wire, frozen=True, kw_only=True):
    """Who has what; the scheduler neither reads nor writes it."""

    allocations: tuple[KoordinatorDeviceAllocation, ...] = ()
    """Devices in use, by type."""


class KoordinatorDevice(KubernetesObject, frozen=True, kw_only=True, eq=False):
    """Device tells which devices one node has; it bears the name of the node, and an agent there writes it."""

    definition: ClassVar[Definition] = Definition(
        api_version=names.DEVICES,
        kind="Device",
        plural="devices",
        is_namespaced=False,
        has_status_subresource=False,
    )
    spec: KoordinatorDeviceSpec = KoordinatorDeviceSpec()
    """What the node has."""
    status: KoordinatorDeviceStatus = KoordinatorDeviceStatus()
    """Who has what; the scheduler neither reads nor writes it."""
