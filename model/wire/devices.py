"""Dynamic resource allocation, resource.k8s.io v1: claims, slices, classes."""

from collections.abc import Mapping
from typing import Any

import msgspec

from pyroclast.model.api.meta import EMPTY, ObjectMeta, Quantity, ResourceList, Wire
from pyroclast.model.sealed import SealedDict
from pyroclast.model.wire.selectors import NodeSelector

__all__ = [
    "AllocationResult",
    "CELDeviceSelector",
    "CapacityRequirements",
    "Counter",
    "CounterSet",
    "Device",
    "DeviceAllocation",
    "DeviceAllocationConfiguration",
    "DeviceAllocationResult",
    "DeviceAttribute",
    "DeviceCapacity",
    "DeviceClaim",
    "DeviceClaimConfiguration",
    "DeviceClass",
    "DeviceClassSpec",
    "DeviceConstraint",
    "DeviceCounterConsumption",
    "DeviceRequest",
    "DeviceSelector",
    "DeviceTaint",
    "DeviceToleration",
    "ExactDeviceRequest",
    "OpaqueDeviceConfiguration",
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


class CELDeviceSelector(Wire, frozen=True, kw_only=True):
    """An expression that is true for devices that match."""

    expression: str = ""


class DeviceSelector(Wire, frozen=True, kw_only=True):
    """One condition that devices must meet."""

    cel: CELDeviceSelector | None = None


class DeviceToleration(Wire, frozen=True, kw_only=True):
    """Taints of devices that do not matter to a request."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class OpaqueDeviceConfiguration(Wire, frozen=True, kw_only=True):
    """Parameters for a driver, which alone reads them."""

    driver: str = ""
    parameters: Any = None


class DeviceClaimConfiguration(Wire, frozen=True, kw_only=True):
    """Configuration of the devices of some requests; of all without any."""

    requests: tuple[str, ...] = ()
    opaque: OpaqueDeviceConfiguration | None = None


class DeviceConstraint(Wire, frozen=True, kw_only=True):
    """An attribute that the devices of some requests have in common, or in which they differ."""

    requests: tuple[str, ...] = ()
    match_attribute: str = ""
    distinct_attribute: str = ""


class ExactDeviceRequest(Wire, frozen=True, kw_only=True):
    """Devices of one class; with a name, one of several alternatives in order of preference."""

    name: str = ""
    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = ""
    count: int = 0
    admin_access: bool = False
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequirements | None = None


class DeviceRequest(Wire, frozen=True, kw_only=True):
    """One request of a claim: exactly this, or the first that can be had."""

    name: str = ""
    exactly: ExactDeviceRequest | None = None
    first_available: tuple[ExactDeviceRequest, ...] = ()


class DeviceClaim(Wire, frozen=True, kw_only=True):
    """Device requests of a claim."""

    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[DeviceConstraint, ...] = ()
    config: tuple[DeviceClaimConfiguration, ...] = ()


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
    tolerations: tuple[DeviceToleration, ...] = ()
    share_id: str = ""
    consumed_capacity: ResourceList = EMPTY


class DeviceAllocationConfiguration(Wire, frozen=True, kw_only=True):
    """Configuration of allocated devices, from their class or from the claim."""

    source: str = ""
    requests: tuple[str, ...] = ()
    opaque: OpaqueDeviceConfiguration | None = None


class DeviceAllocation(Wire, frozen=True, kw_only=True):
    """All devices allocated to a claim."""

    results: tuple[DeviceAllocationResult, ...] = ()
    config: tuple[DeviceAllocationConfiguration, ...] = ()


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


class Counter(Wire, frozen=True, kw_only=True):
    """An amount that devices share."""

    value: Quantity = ""


class DeviceCounterConsumption(Wire, frozen=True, kw_only=True):
    """What a device takes of counters that devices share."""

    counter_set: str = ""
    counters: Mapping[str, Counter] = msgspec.field(default_factory=SealedDict)


class CounterSet(Wire, frozen=True, kw_only=True):
    """Counters that devices share."""

    name: str = ""
    counters: Mapping[str, Counter] = msgspec.field(default_factory=SealedDict)


class DeviceTaint(Wire, frozen=True, kw_only=True):
    """A taint that keeps requests without a toleration from a device."""

    key: str = ""
    value: str = ""
    effect: str = ""


class Device(Wire, frozen=True, kw_only=True):
    """One device."""

    name: str = ""
    attributes: Mapping[str, DeviceAttribute] = msgspec.field(default_factory=SealedDict)
    capacity: Mapping[str, DeviceCapacity] = msgspec.field(default_factory=SealedDict)
    node_name: str = ""
    node_selector: NodeSelector | None = None
    all_nodes: bool = False
    allow_multiple_allocations: bool = False
    consumes_counters: tuple[DeviceCounterConsumption, ...] = ()
    binds_to_node: bool = False
    binding_conditions: tuple[str, ...] = ()
    taints: tuple[DeviceTaint, ...] = ()


class ResourceSliceSpec(Wire, frozen=True, kw_only=True):
    """Devices of one driver, on one node or more."""

    driver: str = ""
    pool: ResourcePool = ResourcePool()
    node_name: str = ""
    node_selector: NodeSelector | None = None
    all_nodes: bool = False
    per_device_node_selection: bool = False
    shared_counters: tuple[CounterSet, ...] = ()
    devices: tuple[Device, ...] = ()


class ResourceSlice(Wire, frozen=True, kw_only=True):
    """A slice of a pool of devices."""

    metadata: ObjectMeta
    spec: ResourceSliceSpec = ResourceSliceSpec()


class DeviceClassSpec(Wire, frozen=True, kw_only=True):
    """Selectors and settings that the devices of a class share."""

    selectors: tuple[DeviceSelector, ...] = ()
    config: tuple[DeviceClaimConfiguration, ...] = ()
    extended_resource_name: str = ""


class DeviceClass(Wire, frozen=True, kw_only=True):
    """A class of devices."""

    metadata: ObjectMeta
    spec: DeviceClassSpec = DeviceClassSpec()
