"""Dynamic resource allocation, resource.k8s.io v1: claims, slices, classes."""

from collections.abc import Mapping

import msgspec

from pyroclast.model.api.meta import EMPTY, Condition, ObjectMeta, Quantity, ResourceList, Wire
from pyroclast.model.sealed import SealedDict
from pyroclast.model.wire.selectors import NodeSelector

__all__ = [
    "AllocatedDeviceStatus",
    "AllocationResult",
    "CapacityRequirements",
    "CelSelector",
    "ConsumedCounters",
    "Counter",
    "CounterSet",
    "Device",
    "DeviceAllocation",
    "DeviceAllocationResult",
    "DeviceAttribute",
    "DeviceCapacity",
    "DeviceClaim",
    "DeviceClass",
    "DeviceClassSpec",
    "DeviceConstraint",
    "DeviceRequest",
    "DeviceSelector",
    "DeviceTaint",
    "DeviceToleration",
    "ExactDeviceRequest",
    "RequestPolicy",
    "RequestPolicyRange",
    "ResourceClaim",
    "ResourceClaimConsumer",
    "ResourceClaimSpec",
    "ResourceClaimStatus",
    "ResourcePool",
    "ResourceSlice",
    "ResourceSliceSpec",
]


class CelSelector(Wire, frozen=True, kw_only=True):
    """An expression over a device, in CEL."""

    expression: str = ""


class DeviceSelector(Wire, frozen=True, kw_only=True):
    """Devices to choose from."""

    cel: CelSelector | None = None


class DeviceToleration(Wire, frozen=True, kw_only=True):
    """A device taint that a request bears."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class CapacityRequirements(Wire, frozen=True, kw_only=True):
    """Requested capacity of a shared device."""

    requests: ResourceList = EMPTY


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


class DeviceConstraint(Wire, frozen=True, kw_only=True):
    """Attribute that the devices of several requests must share, or must not share."""

    requests: tuple[str, ...] = ()
    match_attribute: str = ""
    distinct_attribute: str = ""


class DeviceClaim(Wire, frozen=True, kw_only=True):
    """Device requests of a claim."""

    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[DeviceConstraint, ...] = ()


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
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    share_id: str = ""
    consumed_capacity: ResourceList = EMPTY


class DeviceAllocation(Wire, frozen=True, kw_only=True):
    """All devices allocated to a claim."""

    results: tuple[DeviceAllocationResult, ...] = ()


class AllocationResult(Wire, frozen=True, kw_only=True):
    """Devices allocated to a claim, and the nodes where they can be used."""

    devices: DeviceAllocation = DeviceAllocation()
    node_selector: NodeSelector | None = None
    allocation_timestamp: str = ""


class ResourceClaimConsumer(Wire, frozen=True, kw_only=True):
    """Consumer of a claim."""

    api_group: str = ""
    resource: str = ""
    name: str = ""
    uid: str = ""


class AllocatedDeviceStatus(Wire, frozen=True, kw_only=True):
    """Status of an allocated device, written by its driver."""

    driver: str = ""
    pool: str = ""
    device: str = ""
    share_id: str = ""
    conditions: tuple[Condition, ...] = ()


class ResourceClaimStatus(Wire, frozen=True, kw_only=True):
    """Whether a claim is allocated, and to whom."""

    allocation: AllocationResult | None = None
    reserved_for: tuple[ResourceClaimConsumer, ...] = ()
    devices: tuple[AllocatedDeviceStatus, ...] = ()


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


class RequestPolicyRange(Wire, frozen=True, kw_only=True):
    """Amounts that a shared device can be cut into."""

    min: Quantity | None = None
    max: Quantity | None = None
    step: Quantity | None = None


class RequestPolicy(Wire, frozen=True, kw_only=True):
    """Rounding of a request for a part of a capacity."""

    default: Quantity | None = None
    valid_values: tuple[Quantity, ...] = ()
    valid_range: RequestPolicyRange | None = None


class DeviceCapacity(Wire, frozen=True, kw_only=True):
    """An amount that a device has."""

    value: Quantity = ""
    request_policy: RequestPolicy | None = None


class Counter(Wire, frozen=True, kw_only=True):
    """An amount that devices draw from together."""

    value: Quantity = ""


class CounterSet(Wire, frozen=True, kw_only=True):
    """Named amounts that devices of a pool draw from together."""

    name: str = ""
    counters: Mapping[str, Counter] = msgspec.field(default_factory=SealedDict)


class ConsumedCounters(Wire, frozen=True, kw_only=True):
    """Counters that a device consumes from a counter set."""

    counter_set: str = ""
    counters: Mapping[str, Counter] = msgspec.field(default_factory=SealedDict)


class DeviceTaint(Wire, frozen=True, kw_only=True):
    """Taint that repels claims from a device."""

    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: str = ""


class Device(Wire, frozen=True, kw_only=True):
    """One device."""

    name: str = ""
    attributes: Mapping[str, DeviceAttribute] = msgspec.field(default_factory=SealedDict)
    capacity: Mapping[str, DeviceCapacity] = msgspec.field(default_factory=SealedDict)
    consumes_counters: tuple[ConsumedCounters, ...] = ()
    node_name: str = ""
    node_selector: NodeSelector | None = None
    all_nodes: bool = False
    taints: tuple[DeviceTaint, ...] = ()
    binds_to_node: bool = False
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
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
    shared_counters: tuple[CounterSet, ...] = ()


class ResourceSlice(Wire, frozen=True, kw_only=True):
    """A slice of a pool of devices."""

    metadata: ObjectMeta
    spec: ResourceSliceSpec = ResourceSliceSpec()


class DeviceClassSpec(Wire, frozen=True, kw_only=True):
    """Selectors and settings that the devices of a class share."""

    selectors: tuple[DeviceSelector, ...] = ()
    extended_resource_name: str = ""


class DeviceClass(Wire, frozen=True, kw_only=True):
    """A class of devices."""

    metadata: ObjectMeta
    spec: DeviceClassSpec = DeviceClassSpec()
