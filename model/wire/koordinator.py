"""Koordinator's devices on the wire (`scheduling.koordinator.sh/v1alpha1`): what an agent found on a node.

The kind is `Device`; here it bears a longer name, for resource slices have devices, too.
"""

from collections.abc import Mapping

from pyroclast.model.wire.base import EMPTY, ObjectMeta, ResourceList, Wire

__all__ = [
    "KoordinatorDevice",
    "KoordinatorDeviceInfo",
    "KoordinatorDeviceSpec",
    "KoordinatorDeviceTopology",
    "KoordinatorVirtualFunction",
    "KoordinatorVirtualFunctionGroup",
]


class KoordinatorDeviceTopology(Wire, frozen=True, kw_only=True):
    """Where a device sits."""

    socket_id: int = 0
    node_id: int = 0
    pcie_id: str = ""


class KoordinatorVirtualFunction(Wire, frozen=True, kw_only=True):
    """A part of a device that a pod may have for itself."""

    minor: int = 0
    bus_id: str = ""


class KoordinatorVirtualFunctionGroup(Wire, frozen=True, kw_only=True):
    """Virtual functions of one kind."""

    labels: Mapping[str, str] = EMPTY
    vfs: tuple[KoordinatorVirtualFunction, ...] = ()


class KoordinatorDeviceInfo(Wire, frozen=True, kw_only=True):
    """One device."""

    type: str = ""
    id: str = ""
    minor: int | None = None
    health: bool = False
    labels: Mapping[str, str] = EMPTY
    resources: ResourceList = EMPTY
    topology: KoordinatorDeviceTopology | None = None
    vf_groups: tuple[KoordinatorVirtualFunctionGroup, ...] = ()


class KoordinatorDeviceSpec(Wire, frozen=True, kw_only=True):
    """All devices of the node."""

    devices: tuple[KoordinatorDeviceInfo, ...] = ()


class KoordinatorDevice(Wire, frozen=True, kw_only=True, eq=False):
    """The devices of one node, whose name it bears; a key, by identity, of what is read from it."""

    metadata: ObjectMeta
    spec: KoordinatorDeviceSpec = KoordinatorDeviceSpec()
