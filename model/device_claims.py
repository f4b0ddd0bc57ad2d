"""Device claims: requests of a pod's resource claims, as quotas of queues count them.

Amounts go by the names that queues use: `deviceclass/<class>` counts devices, `<dimension>.deviceclass/<class>` adds up
capacity. A request for all devices, or with alternatives, asks for nothing that could be counted before it is served:
`uncounted` names such requests.

Example: a request for 2 devices of class `gpu` with 8Gi of memory each makes `deviceclass/gpu: 2` and
`memory.deviceclass/gpu: 16Gi`.
"""

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from pyroclast.model import wire
from pyroclast.model.ids import TaskId
from pyroclast.model.quantity import QuantityError, millis
from pyroclast.model.resources import MILLI, Amounts

__all__ = [
    "ALLOCATE_CLAIM",
    "CLASS_PREFIX",
    "ClaimCount",
    "Demand",
    "claim_demand",
    "device_claim_keys",
    "has_devices_of",
    "is_made_for",
    "named_claims",
    "pod_demand",
    "released",
    "reserved",
    "uncounted",
]

ALLOCATE_CLAIM: Final = "allocate-claim"
"""Kind of preparation that allocates a claim and reserves it for a pod (`plugins.predicates.devices.allocator`)."""
CLASS_PREFIX: Final = "deviceclass/"
_ALL_DEVICES: Final = "All"

Demand = Mapping[str, Amounts]
"""Requests of claims, by `namespace/name` of the claim."""


def named_claims(pod: wire.Pod) -> Iterator[tuple[wire.PodResourceClaim, str | None]]:
    """Yield each claim of a pod's spec with the claim's name: None until it exists, empty if none is needed."""
    made = {each.name: each.resource_claim_name or "" for each in pod.status.resource_claim_statuses}
    return ((each, each.resource_claim_name or made.get(each.name)) for each in pod.spec.resource_claims)


def device_claim_keys(pod: wire.Pod) -> list[str]:
    """Return the keys of a pod's claims, each once. A claim that is not created from its template yet has none."""
    if not pod.spec.resource_claims:
        return []
    return list(dict.fromkeys(f"{pod.metadata.namespace}/{name}" for _, name in named_claims(pod) if name))


def is_made_for(pod: wire.Pod, claim: str) -> bool:
    """Return whether a claim was created for this pod from a template, so that no other pod shares it."""
    return all(f"{pod.metadata.namespace}/{each.resource_claim_name}" != claim for each in pod.spec.resource_claims)


def reserved(
    claim: wire.ResourceClaim, pods: Mapping[TaskId, str], allocation: wire.AllocationResult | None
) -> wire.ResourceClaim:
    """Return a claim with further pods that it is reserved for.

    Args:
        claim: The claim.
        pods: Name of each pod by its UID.
        allocation: The allocation of a claim that has none; None leaves it as it is.
    """
    status = claim.status
    known = {each.uid for each in status.reserved_for}
    more = (
        wire.ResourceClaimConsumer(resource="pods", name=name, uid=uid)
        for uid, name in pods.items()
        if uid not in known
    )
    status = msgspec.structs.replace(
        status,
        allocation=status.allocation if allocation is None else allocation,
        reserved_for=(*status.reserved_for, *more),
    )
    return msgspec.structs.replace(claim, status=status)


def has_devices_of(allocation: wire.AllocationResult, other: wire.AllocationResult | None) -> bool:
    """Return whether an allocation has the devices of another, also if the server has added defaults; of none, yes."""
    return other is None or _devices(allocation) == _devices(other)


def _devices(allocation: wire.AllocationResult) -> list[tuple[str, str, str, str]]:
    return [(each.request, each.driver, each.pool, each.device) for each in allocation.devices.results]


def released(claim: wire.ResourceClaim, uid: str) -> wire.ResourceClaim:
    """Return a claim that is not reserved for a pod any more; without further pods it is not allocated."""
    left = tuple(each for each in claim.status.reserved_for if each.uid != uid)
    status = msgspec.structs.replace(
        claim.status, allocation=claim.status.allocation if left else None, reserved_for=left
    )
    return msgspec.structs.replace(claim, status=status)


def pod_demand(pod: wire.Pod, claims: Mapping[str, wire.ResourceClaim]) -> Demand:
    """Return the requests of a pod's claims. A claim that is not known (yet) requests nothing."""
    known = ((key, claims[key]) for key in device_claim_keys(pod) if key in claims)
    demand = {key: claim_demand(claim) for key, claim in known}
    return {key: amounts for key, amounts in demand.items() if amounts}


def claim_demand(claim: wire.ResourceClaim) -> Amounts:
    """Return the requests of one claim, thousandths."""
    amounts: dict[str, int] = {}
    for request in claim.spec.devices.requests:
        for name, amount in _asked(request):
            amounts[name] = amounts.get(name, 0) + amount
    return amounts


def uncounted(claim: wire.ResourceClaim) -> list[str]:
    """Return the requests of a claim that are not counted, each with its path and the reason."""
    found = []
    for number, request in enumerate(claim.spec.devices.requests):
        path, exactly = f"spec.devices.requests[{number}]", request.exactly
        if request.first_available:
            found.append(f"{path}.firstAvailable: alternatives")
        elif exactly is not None and exactly.allocation_mode == _ALL_DEVICES:
            found.append(f"{path}.exactly.allocationMode: {_ALL_DEVICES}")
    return found


def _asked(request: wire.DeviceRequest) -> Iterator[tuple[str, int]]:
    exactly = request.exactly
    if request.first_available or exactly is None or exactly.allocation_mode == _ALL_DEVICES:
        return
    if not exactly.device_class_name:
        return
    name = CLASS_PREFIX + exactly.device_class_name
    count = max(exactly.count, 0) or 1
    yield name, count * MILLI
    for dimension, quantity in (exactly.capacity.requests if exactly.capacity is not None else {}).items():
        try:
            yield f"{dimension}.{name}", count * max(millis(quantity), 0)
        except QuantityError:
            continue  # an API server does not take it


class ClaimCount:
    """Total of claims. Each claim counts once, however many tasks use it."""

    __slots__ = ("_users", "totals")

    def __init__(self) -> None:
        """Start with nothing."""
        self._users: dict[str, int] = {}
        self.totals: dict[str, int] = {}
        """Thousandths by name; without zeros."""

    def add(self, demand: Demand) -> None:
        """Count the claims of one more user."""
        for claim, amounts in demand.items():
            users = self._users.get(claim, 0)
            self._users[claim] = users + 1
            if not users:
                self._change(amounts, 1)

    def remove(self, demand: Demand) -> None:
        """Undo `add` of the same demand."""
        for claim, amounts in demand.items():
            users = self._users.get(claim, 0)
            if users > 1:
                self._users[claim] = users - 1
            elif users:
                del self._users[claim]
                self._change(amounts, -1)

    def new_in(self, demand: Demand) -> Demand:
        """Return the claims that are not counted yet."""
        return {claim: amounts for claim, amounts in demand.items() if claim not in self._users}

    def _change(self, amounts: Amounts, sign: int) -> None:
        for name, amount in amounts.items():
            total = self.totals.get(name, 0) + sign * amount
            if total:
                self.totals[name] = total
            else:
                self.totals.pop(name, None)
