"""What resource claims ask for, as queues count it."""

from collections.abc import Mapping

import pytest

from pyroclast.model import wire
from pyroclast.model.device_claims import ClaimCount, claim_demand, device_claim_keys, is_made_for, pod_demand


def request(
    *, device_class: str = "gpu", count: int = 0, mode: str = "", capacity: Mapping[str, str] | None = None
) -> wire.DeviceRequest:
    """A request for exactly one kind of device."""
    exactly = wire.ExactDeviceRequest(
        device_class_name=device_class,
        count=count,
        allocation_mode=mode,
        capacity=None if capacity is None else wire.CapacityRequirements(requests=dict(capacity)),
    )
    return wire.DeviceRequest(name="r", exactly=exactly)


def claim(*requests: wire.DeviceRequest, name: str = "c") -> wire.ResourceClaim:
    """A claim in namespace ns."""
    return wire.ResourceClaim(
        metadata=wire.ObjectMeta(name=name, namespace="ns"),
        spec=wire.ResourceClaimSpec(devices=wire.DeviceClaim(requests=requests)),
    )


@pytest.mark.parametrize(
    ("requests", "demand"),
    [
        ((request(),), {"deviceclass/gpu": 1000}),
        ((request(count=2), request(count=3)), {"deviceclass/gpu": 5000}),
        (
            (request(count=2, capacity={"memory": "8Gi"}),),
            {"deviceclass/gpu": 2000, "memory.deviceclass/gpu": 16 * 2**30 * 1000},
        ),
        ((request(mode="All"),), {}),
        ((request(device_class=""),), {}),
        ((wire.DeviceRequest(first_available=(wire.ExactDeviceRequest(device_class_name="gpu"),)),), {}),
    ],
)
def test_what_a_claim_asks_for(requests: tuple[wire.DeviceRequest, ...], demand: Mapping[str, int]) -> None:
    """Devices of a class, one where no count is given, and capacity times count; not what cannot be counted."""
    assert claim_demand(claim(*requests)) == demand


def pod() -> wire.Pod:
    """A pod with a claim of its own, one it shares, one named twice and one still to be made."""
    return wire.Pod(
        metadata=wire.ObjectMeta(name="p", namespace="ns"),
        spec=wire.PodSpec(
            resource_claims=(
                wire.PodResourceClaim(name="own", resource_claim_template_name="t"),
                wire.PodResourceClaim(name="shared", resource_claim_name="shared"),
                wire.PodResourceClaim(name="again", resource_claim_name="shared"),
                wire.PodResourceClaim(name="unmade", resource_claim_template_name="t"),
            )
        ),
        status=wire.PodStatus(
            resource_claim_statuses=(wire.PodResourceClaimStatus(name="own", resource_claim_name="p-own-x"),)
        ),
    )


def test_claims_are_found_by_name_or_by_status() -> None:
    """One made from a template is named by the status; each counts once."""
    assert device_claim_keys(pod()) == ["ns/p-own-x", "ns/shared"]
    assert [is_made_for(pod(), key) for key in device_claim_keys(pod())] == [True, False]


def test_an_unknown_claim_asks_for_nothing() -> None:
    """It is counted when it is known."""
    assert pod_demand(pod(), {"ns/shared": claim(request())}) == {"ns/shared": {"deviceclass/gpu": 1000}}


def test_a_shared_claim_counts_once() -> None:
    """Two users, one claim; it goes with the last of them."""
    count, demand = ClaimCount(), {"ns/c": {"deviceclass/gpu": 1000}}
    count.add(demand)
    count.add(demand)
    assert (count.totals, count.new_in(demand)) == ({"deviceclass/gpu": 1000}, {})
    count.remove(demand)
    assert count.totals == {"deviceclass/gpu": 1000}
    count.remove(demand)
    assert (count.totals, count.new_in(demand)) == ({}, demand)
