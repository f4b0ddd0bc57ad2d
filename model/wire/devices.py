"""Dynamic resource allocation, resource.k8s.io v1: claims, slices, classes."""

from collections.abc import Mapping

import msgspec

from pyroclast.model.api.meta import EMPTY, ObjectMeta, Quantity, ResourceList, Wire
from pyroclast.model.sealed import SealedDict
from pyroclast.model.wire.selectors import NodeSelector

__all__ = [
    "AllocationResult",
    "CapacityRequirements",
    "Device",
    "DeviceAllocation",
    "DeviceAllocationResult",
    "DeviceAttribute",
    "DeviceCapacity",
    "DeviceClaim",
    "DeviceClass",
    "DeviceClassSpec",
    "DeviceRequest",
    "ExactDeviceRequest",
    "ResourceClaim",
    "ResourceClaimConsumer",
    "ResourceClaimSpec",
    "ResourceClaimStatus",
    "ResourcePool",
    "ResourceSlice",
    "ResourceSliceSpec",
]


class CapacityRequirements(Wire, frozen=True, kw_only=True):
    """Requested capacity of a shared device."""

    requests: ResourceList = EMPTY


class ExactDeviceRequest(Wire, frozen=True, kw_only=True):
    """Devices of one class; with a name, one of several alternatives in order of preference."""

    name: str = ""
    device_class_name: str = ""
    allocation_mode: str = ""
    count: int = 0
    admin_access: bool = False
    capacity: CapacityRequirements | None = None


class DeviceRequest(Wire, frozen=True, kw_only=True):
    """One request of a claim: exactly this, or the first that can be had."""

    name: str = ""
    exactly: ExactDeviceRequest | None = None
    first_available: tuple[ExactDeviceRequest, ...] = ()


class DeviceClaim(Wire, frozen=True, kw_only=True):
    """Device requests of a claim."""

    requests: tuple[DeviceRequest, ...] = ()


class ResourceClaimSpec(Wire, frozen=True, kw_only=True):
    """Specification of a claim."""

    devices: DeviceClaim = DeviceClaim()


class DeviceAllocationResult(Wire, frozen=True, kw_only=True):
    """One device given to one request."""

    request: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool = False
    share_id: str = ""
    consumed_capacity: ResourceList = EMPTY


class DeviceAllocation(Wire, frozen=True, kw_only=True):
    """All devices allocated to a claim."""

    results: tuple[DeviceAllocationResult, ...] = ()


class AllocationResult(Wire, frozen=True, kw_only=True):
    """Devices allocated to a claim, and the nodes where they can be used."""

    devices: DeviceAllocation = DeviceAllocation()
    node_selector: NodeSelector | None = None


class ResourceClaimConsumer(Wire, frozen=True, kw_only=True):
    """Consumer of a claim."""

    api_group: str = ""
    resource: str = ""
    name: str = ""
    uid: str = ""


class ResourceClaimStatus(Wire, frozen=True, kw_only=True):
    """Whether a claim is allocated, and to whom."""

    allocation: AllocationResult | None = None
    reserved_for: tuple[ResourceClaimConsumer, ...] = ()


class ResourceClaim(Wire, frozen=True, kw_only=True):
    """A claim for devices."""

    metadata: ObjectMeta
    spec: ResourceClaimSpec = ResourceClaimSpec()
    status: ResourceClaimStatus = ResourceClaimStatus()


class ResourcePool(Wire, frozen=True, kw_only=True):
    """The pool that a slice is part of."""

    name: str = ""
    generation: int = 0
    resource_slice_count: int = 0


class DeviceAttribute(Wire, frozen=True, kw_only=True):
    """One attribute: exactly one of the four is there."""

    int_: int | None = None
    bool_: bool | None = None
    string: str | None = None
    version: str | None = None


class DeviceCapacity(Wire, frozen=True, kw_only=True):
    """An amount that a device has."""

    value: Quantity = ""


class Device(Wire, frozen=True, kw_only=True):
    """One device."""

    name: str = ""
    attributes: Mapping[str, DeviceAttribute] = msgspec.field(default_factory=SealedDict)
    capacity: Mapping[str, DeviceCapacity] = msgspec.field(default_factory=SealedDict)
    node_name: str = ""
    node_selector: NodeSelector | None = None
    all_nodes: bool = False
    allow_multiple_allocations: bool = False


class ResourceSliceSpec(Wire, frozen=True, kw_only=True):
    """Devices of one driver, on one node or more."""

    driver: str = ""
    pool: ResourcePool = ResourcePool()
    node_name: str = ""
    node_selector: NodeSelector | None = None
    all_nodes: bool = False
    per_device_node_selection: bool = False
    devices: tuple[Device, ...] = ()


class ResourceSlice(Wire, frozen=True, kw_only=True):
    """A slice of a pool of devices."""

    metadata: ObjectMeta
    spec: ResourceSliceSpec = ResourceSliceSpec()


class DeviceClassSpec(Wire, frozen=True, kw_only=True):
    """Selectors and settings that the devices of a class share."""

    extended_resource_name: str = ""


class DeviceClass(Wire, frozen=True, kw_only=True):
    """A class of devices."""

    metadata: ObjectMeta
    spec: DeviceClassSpec = DeviceClassSpec()
