"""Quotas of devices: what claims in a queue may ask for."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from pyroclast.framework.extension.contract import Vote
from pyroclast.framework.queues.device_claims import claimed_by_queue
from pyroclast.model import wire
from pyroclast.model.refusals import Refusal
from pyroclast.model.required_rules import RESOURCE_CLAIMS
from pyroclast.plugins.capacity.devices import quota_of
from tests.unit.plugins.capacity import holding
from tests.unit.plugins.policies import World, acted, bound, group, node, opened, pod, queue


def claim(name: str, count: int = 1, *, device_class: str = "gpu.com", memory: str = "") -> wire.ResourceClaim:
    """A claim for devices of one class."""
    exactly = wire.ExactDeviceRequest(
        device_class_name=device_class,
        count=count,
        capacity=wire.CapacityRequirements(requests={"memory": memory}) if memory else None,
    )
    devices = wire.DeviceClaim(requests=(wire.DeviceRequest(name="r", exactly=exactly),))
    return wire.ResourceClaim(
        metadata=wire.ObjectMeta(name=name, namespace="ns", uid=name), spec=wire.ResourceClaimSpec(devices=devices)
    )


def using(name: str, *claims: str, job: str = "", on: str = "", role: str = "", made: bool = False) -> wire.Pod:
    """A pod that uses claims, shared ones or such as were made for it."""
    return wire_pod(name, claims, job or name, on, role, made=made)


def wire_pod(name: str, claims: Sequence[str], job: str, on: str, role: str, *, made: bool) -> wire.Pod:
    """The same, at length."""
    each = tuple(
        wire.PodResourceClaim(name=claim, resource_claim_template_name="t")
        if made
        else wire.PodResourceClaim(name=claim, resource_claim_name=claim)
        for claim in claims
    )
    plain = pod(
        name, job=job, on=on, spec={"resource_claims": each}, annotations={"volcano.sh/task-spec": role} if role else {}
    )
    statuses = tuple(wire.PodResourceClaimStatus(name=claim, resource_claim_name=claim) for claim in claims)
    return wire.Pod(
        metadata=plain.metadata,
        spec=plain.spec,
        status=wire.PodStatus(phase=plain.status.phase, resource_claim_statuses=statuses if made else ()),
    )


def world(*objects: Any, tree: bool = False, **arguments: bool) -> World:
    """A session with capacity alone."""
    spelled = {f"capacity.{name}": value for name, value in arguments.items()}
    option = {"name": "capacity", "enableHierarchy": tree, "arguments": spelled}
    root = [queue("root")] if tree else []
    return opened(node("n", cpu="100", memory="100Gi"), *root, *objects, plugins=[option])


def limited(**capability: str) -> wire.Queue:
    """A queue with a quota; `gpu` and `gpu_memory` are of class gpu.com."""
    names = {"gpu": "deviceclass/gpu.com", "gpu_memory": "memory.deviceclass/gpu.com"}
    return queue("q", capability={names[name]: amount for name, amount in capability.items()})


def refused(there: World, name: str) -> str:
    """Why a task may not be placed, or nothing."""
    answer = holding(there).allocatable(there.queue("q"), there.task(name))
    return "" if answer is None else answer.message


@pytest.mark.parametrize(
    ("count", "device_class", "why"),
    [
        (1, "gpu.com", ""),
        (2, "gpu.com", "queue q would exceed its capability of deviceclass/gpu.com"),
        (9, "nic.com", ""),
    ],
)
def test_a_queue_may_have_so_many_devices_of_a_class(count: int, device_class: str, why: str) -> None:
    """1 of 2 devices is taken: 1 more fits, 2 do not; a class that is not named is not limited."""
    there = world(
        limited(gpu="2"),
        claim("held"),
        claim("new", count, device_class=device_class),
        group("a", queue="q"),
        using("a", "held", on="n"),
        group("b", queue="q"),
        using("b", "new"),
    )

    assert refused(there, "b") == why


def test_a_shared_claim_counts_once() -> None:
    """The only device is taken by a claim that the second pod shares."""
    there = world(
        limited(gpu="1"),
        claim("c"),
        group("a", queue="q", minimum=2),
        using("a", "c", on="n"),
        using("b", "c", job="a"),
    )

    assert refused(there, "b") == ""
    assert claimed_by_queue(there.session) == {"q": {"deviceclass/gpu.com": 1000}}


def test_a_claim_shared_by_sibling_queues_counts_once_above() -> None:
    """The parent may have one device, which both leaves use; each of them has its own count of it."""
    there = world(
        queue("q", capability={"deviceclass/gpu.com": "1"}),
        *(queue(name, parent="q", capability={"deviceclass/gpu.com": "1"}) for name in ("left", "right")),
        claim("c"),
        group("a", queue="left"),
        using("a", "c", on="n"),
        group("b", queue="right"),
        using("b", "c"),
        tree=True,
    )
    held = holding(there)

    assert held.allocatable(there.queue("right"), there.task("b")) is None
    there.place(there.session.statement(), "b", "n")
    assert held.devices is not None
    counted = [held.devices.claims_of(there.queue(name).name) for name in ("q", "left", "right")]
    assert counted == [{"deviceclass/gpu.com": 1000}] * 3


@pytest.mark.parametrize(("consumable", "why"), [(True, "memory.deviceclass/gpu.com"), (False, "")])
def test_capacity_of_devices(consumable: bool, why: str) -> None:
    """2 devices of 8Gi each are more than 10Gi; not looked at where the gate is off."""
    there = world(
        limited(gpu="4", gpu_memory="10Gi"),
        claim("c", 2, memory="8Gi"),
        group("a", queue="q"),
        using("a", "c"),
        DRAConsumableCapacityEnable=consumable,
    )

    assert refused(there, "a") == (f"queue q would exceed its capability of {why}" if why else "")


def test_switched_off() -> None:
    """Nothing is held to quotas."""
    there = world(
        limited(gpu="1"),
        claim("c", 2),
        group("a", queue="q"),
        using("a", "c"),
        DynamicResourceAllocationEnable=False,
    )

    assert refused(there, "a") == ""


def test_placements_count_and_leave_no_trace_when_undone() -> None:
    """In a tree at every level that limits the class."""
    there = world(
        queue("q", capability={"deviceclass/gpu.com": "2"}),
        queue("leaf", parent="q", capability={"deviceclass/gpu.com": "1"}),
        claim("c"),
        group("a", queue="leaf"),
        using("a", "c"),
        tree=True,
    )
    devices = holding(there).devices
    assert devices is not None
    statement = there.session.statement()
    there.place(statement, "a", "n")

    assert [devices.claims_of(there.queue(name).name) for name in ("q", "leaf")] == [{"deviceclass/gpu.com": 1000}] * 2
    statement.undo()
    assert [devices.claims_of(there.queue(name).name) for name in ("q", "leaf")] == [{}, {}]


def test_equal_tasks_with_different_claims_are_placed_one_by_one() -> None:
    """3 pods of one job and a device each, 2 may be had: the third waits."""
    there = world(
        limited(gpu="2"),
        *(claim(f"c{number}") for number in range(3)),
        group("a", queue="q", minimum=1),
        *(using(f"p{number}", f"c{number}", job="a") for number in range(3)),
    )
    there.session.extensions._serving.append(("allocator", RESOURCE_CLAIMS))  # as a plugin that allocates claims would

    assert sorted(bound(acted(there))) == ["p0", "p1"]


def at_the_gate(*pods: Any, minimum: int = 2, roles: Mapping[str, int] | None = None) -> Vote | Refusal:
    """Ask for a pending job in a queue of 2 devices."""
    there = world(
        limited(gpu="2"),
        *(claim(name) for name in ("c0", "c1", "c2")),
        group("a", queue="q", minimum=minimum, phase="Pending", min_resources={}, min_task_member=dict(roles or {})),
        *pods,
    )
    answer = holding(there).enqueueable(there.job("a"))
    assert isinstance(answer, Vote | Refusal)
    return answer


def test_the_gate_counts_the_minimum() -> None:
    """The first 2 of 3 pods, or what the minimum of a role times its first pod asks for; shared claims once."""
    apart = [using(f"p{number}", f"c{number}", job="a", role="w", made=True) for number in range(3)]
    together = [using(f"p{number}", "c0", job="a", role="w") for number in range(3)]

    assert at_the_gate(*apart) is Vote.PERMIT
    assert at_the_gate(*apart, minimum=3) is not Vote.PERMIT
    assert at_the_gate(*apart, roles={"w": 2}) is Vote.PERMIT
    assert at_the_gate(*apart, minimum=3, roles={"w": 3}) is not Vote.PERMIT
    assert at_the_gate(*together, minimum=3, roles={"w": 3}) is Vote.PERMIT


def test_what_was_admitted_is_reserved() -> None:
    """Two jobs for one device: the second waits for admission, with the reason."""
    there = world(
        limited(gpu="1"),
        claim("c"),
        claim("d"),
        group("a", queue="q", phase="Pending", min_resources={}),
        using("a", "c"),
        group("b", queue="q", phase="Pending", min_resources={}),
        using("b", "d"),
    )
    held = holding(there)
    assert held.enqueueable(there.job("a")) is Vote.PERMIT
    held.enqueued(there.job("a"))

    answer = held.enqueueable(there.job("b"))
    assert isinstance(answer, Refusal)
    assert answer.message == "queue resource quota insufficient: insufficient dra-resource-exceeded"


def test_a_quota_of_no_devices_limits_nothing() -> None:
    """As in Volcano, where other resources of which there may be 0 are forbidden."""
    there = world(limited(gpu="0"), claim("c"), group("a", queue="q"), using("a", "c"))

    assert refused(there, "a") == ""


def test_what_earlier_cycles_admitted_reserves_no_devices() -> None:
    """Only what this one has: a job that waits for its pods since before leaves the device to others."""
    there = world(
        limited(gpu="1"),
        claim("c"),
        claim("d"),
        group("early", queue="q", phase="Inqueue", min_resources={}),
        using("early", "c"),
        group("late", queue="q", phase="Pending", min_resources={}),
        using("late", "d"),
    )

    assert holding(there).enqueueable(there.job("late")) is Vote.PERMIT


def test_what_a_quota_is() -> None:
    """Counts are whole; a dimension may have a prefix of its own; other names are no quota."""
    capability = {
        "cpu": "4",
        "deviceclass/gpu.com": "1500m",
        "driver.com/memory.deviceclass/gpu.com": "1Gi",
        "deviceclass/": "1",
    }
    there = world(queue("q", capability=capability))

    assert quota_of(there.queue("q")) == {
        "deviceclass/gpu.com": 2000,
        "driver.com/memory.deviceclass/gpu.com": 2**30 * 1000,
    }


def greedy(name: str, **request: Any) -> wire.ResourceClaim:
    """A claim whose second request cannot be counted."""
    plain = claim(name)
    devices = wire.DeviceClaim(requests=(*plain.spec.devices.requests, wire.DeviceRequest(name="s", **request)))
    return wire.ResourceClaim(metadata=plain.metadata, spec=wire.ResourceClaimSpec(devices=devices))


ALL = {"exactly": wire.ExactDeviceRequest(device_class_name="gpu.com", allocation_mode="All")}
EITHER = {"first_available": (wire.ExactDeviceRequest(name="a", device_class_name="gpu.com"),)}


def told(there: World) -> list[str]:
    """Conditions of queues."""
    return [event.message for event in there.session.report.events if event.reason == "ClaimsNotCounted"]


def counted(there: World) -> float:
    """Return by how much the metric rises."""
    return sum(sample.value for sample in there.session.report.samples if sample.metric == "uncounted_claims_total")


@pytest.mark.parametrize(
    ("request_", "why"), [(ALL, "exactly.allocationMode: All"), (EITHER, "firstAvailable: alternatives")]
)
def test_claims_outside_quotas_are_reported(request_: dict[str, Any], why: str) -> None:
    """Counted by name, with the path; other requests of the claim count."""
    there = world(limited(gpu="1"), greedy("c", **request_), group("a", queue="q"), using("a", "c"))

    assert told(there) == [f"not counted against quotas of devices: claims ns/c (spec.devices.requests[1].{why})"]
    assert counted(there) == 1
    assert refused(there, "a") == ""


def test_each_claim_that_is_not_counted_is_reported_once() -> None:
    """Also when two jobs share it, and not again in the next cycle; without a limit there is no event."""
    jobs = [each for name in ("a", "b") for each in (group(name, queue="q"), using(name, "c"))]
    there = world(limited(gpu="1"), greedy("c", **ALL), *jobs)

    assert counted(there) == 1
    holding(there).record_faults()
    assert (counted(there), len(told(there))) == (1, 1)
    assert told(world(queue("q"), greedy("c", **ALL), *jobs)) == []


def test_of_many_claims_that_are_not_counted_some_are_named() -> None:
    """An event has its length; the metric counts all."""
    names = [f"c{number}" for number in range(7)]
    there = world(limited(gpu="1"), *(greedy(name, **ALL) for name in names), group("a", queue="q"), using("a", *names))

    (message,) = told(there)
    assert message.count("allocationMode") == 5
    assert message.endswith(" and 2 more")
    assert counted(there) == 7
