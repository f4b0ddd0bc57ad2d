"""Resource claims are allocated and reserved before their pods are bound, and given up by a plan that fails."""

import asyncio
from typing import Any

import msgspec
import pytest

from pyroclast.kube.api.resources import RESOURCE_CLAIMS
from pyroclast.kube.writes.binder import ApiBinder
from pyroclast.model import wire
from pyroclast.model.device_claims import ALLOCATE_CLAIM
from pyroclast.model.ids import NodeName, TaskId
from pyroclast.model.plan import Bind, Plan, Preparation
from tests.device_claims import DRIVER, allocated, claim
from tests.unit.kube.world import World

PATH = RESOURCE_CLAIMS.path("default", "c")


@pytest.fixture
async def uid(world: World) -> str:
    """Create a claim, and return its UID."""
    body = claim("c")
    body.pop("status")
    body["metadata"] = {"name": "c"}
    made = await world.client.request_json("POST", RESOURCE_CLAIMS.collection("default"), body=body)
    return str(made["metadata"]["uid"])


def step(uid: str, device: str = "n1/g0", **details: str) -> Preparation:
    """The preparation of a claim with a device; with none if it is allocated already."""
    if device:
        details["allocation"] = allocation(device)
    return Preparation(kind=ALLOCATE_CLAIM, namespace="default", name="c", details={"claim-uid": uid, **details})


def allocation(device: str) -> str:
    """An allocation as JSON."""
    made = msgspec.convert(allocated(device, node="n1")["allocation"], wire.AllocationResult)
    return msgspec.json.encode(made).decode()


async def bind(world: World, *pods: tuple[str, str, Preparation], fails: bool = False) -> Any:
    """Bind pods by name, UID and preparation; return the outcomes."""
    gone = (
        (Preparation(kind="bind-volume", namespace="default", name="none", details={"volume": "v"}),) if fails else ()
    )
    binds = tuple(
        Bind(
            task=TaskId(pod),
            job=None,
            namespace="default",
            name=name,
            node=NodeName("n1"),
            preparations=(one, *gone),
        )
        for name, pod, one in pods
    )
    plan = Plan(number=0, cycle=1, configuration=1, action="allocate", job=None, queue=None, binds=binds)
    return (await asyncio.wait_for(ApiBinder(world.client, clock=world.clock).bind(plan), 30)).binds


async def read(world: World) -> Any:
    """The claim."""
    return await world.client.request_json("GET", PATH)


async def set_status(world: World, status: Any) -> None:
    """Write a status as another writer does."""
    found = await read(world)
    await world.client.request_json("PUT", f"{PATH}/status", body={**found, "status": status})


def pods_of(found: Any) -> list[str]:
    """The pods that a claim is reserved for."""
    return [each["name"] for each in found["status"].get("reservedFor", [])]


def devices(found: Any) -> list[str]:
    """The devices of a claim."""
    results = found["status"].get("allocation", {}).get("devices", {}).get("results", [])
    return [f"{each['pool']}/{each['device']}" for each in results]


async def test_a_claim_is_allocated_and_reserved_before_the_bind(world: World, uid: str) -> None:
    """It gets the finalizer, the allocation and the pod."""
    (outcome,) = await bind(world, ("p", await world.pod("p"), step(uid)))
    found = await read(world)

    assert outcome.is_bound
    assert found["metadata"]["finalizers"] == ["resource.kubernetes.io/delete-protection"]
    assert (devices(found), pods_of(found)) == (["n1/g0"], ["p"])
    assert found["status"]["allocation"]["devices"]["results"][0]["driver"] == DRIVER
    assert found["status"]["reservedFor"][0]["resource"] == "pods"


async def test_pods_of_a_plan_share_a_claim(world: World, uid: str) -> None:
    """All are reserved, whichever comes first."""
    names = [f"p{number}" for number in range(8)]
    outcomes = await bind(world, *[(name, await world.pod(name), step(uid)) for name in names])
    found = await read(world)

    assert all(each.is_bound for each in outcomes)
    assert sorted(pods_of(found)) == names


async def test_an_allocated_claim_is_only_reserved(world: World, uid: str) -> None:
    """The other pod stays in the list."""
    await set_status(world, allocated("n1/g0", node="n1", uids=["other"]))
    (outcome,) = await bind(world, ("p", await world.pod("p"), step(uid, "")))

    assert outcome.is_bound
    assert pods_of(await read(world)) == ["other", "p"]


async def test_a_plan_that_fails_gives_up_its_allocation(world: World, uid: str) -> None:
    """A later preparation fails: the claim is as before, but for the finalizer."""
    (outcome,) = await bind(world, ("p", await world.pod("p"), step(uid)), fails=True)
    found = await read(world)

    assert not outcome.is_bound
    assert (devices(found), pods_of(found)) == ([], [])


async def test_a_bind_that_fails_keeps_the_allocation_of_others(world: World, uid: str) -> None:
    """The pod is gone, and another pod uses the claim."""
    await set_status(world, allocated("n1/g0", node="n1", uids=["other"]))
    (outcome,) = await bind(world, ("p", "gone", step(uid, "")))
    found = await read(world)

    assert (outcome.is_bound, outcome.reason) == (False, "Gone")
    assert (devices(found), pods_of(found)) == (["n1/g0"], ["other"])


@pytest.mark.parametrize(
    ("status", "device", "message"),
    [
        (allocated("n2/g1", node="n2", uids=["other"]), "n1/g0", "was allocated by another scheduler"),
        ({}, "", "is not allocated any more"),
    ],
)
async def test_a_claim_that_changed_meanwhile_refuses_the_plan(
    world: World, uid: str, status: Any, device: str, message: str
) -> None:
    """What others wrote stays."""
    await set_status(world, status)
    (outcome,) = await bind(world, ("p", await world.pod("p"), step(uid, device)))
    found = await read(world)

    assert not outcome.is_bound
    assert message in outcome.message
    assert pods_of(found) == (["other"] if status else [])


async def test_another_claim_of_the_same_name_is_not_written(world: World, uid: str) -> None:
    """It was deleted and made anew since the decision."""
    assert uid
    (outcome,) = await bind(world, ("p", await world.pod("p"), step("earlier")))

    assert "was deleted and made anew" in outcome.message
    assert "finalizers" not in (await read(world))["metadata"]


async def test_a_left_over_allocation_is_replaced(world: World, uid: str) -> None:
    """It is removed first, because the server changes no allocation."""
    pod = await world.pod("p")
    await set_status(world, allocated("n2/g1", node="n2", uids=[pod]))
    (outcome,) = await bind(world, ("p", pod, step(uid, "n1/g0", replaces=allocation("n2/g1"))))
    found = await read(world)

    assert outcome.is_bound
    assert (devices(found), pods_of(found)) == (["n1/g0"], ["p"])


@pytest.mark.parametrize(
    "fault", [{"effect": "error", "code": 409}, {"effect": "error", "code": 503}, {"effect": "lost"}, {"effect": "cut"}]
)
async def test_a_write_is_tried_again_with_what_the_server_has(world: World, uid: str, fault: dict[str, Any]) -> None:
    """After a conflict, after an error, and if the answer was lost."""
    pod = await world.pod("p")
    world.faults.add(subresource="status", resource="resourceclaims", count=2, **fault)
    (outcome,) = await bind(world, ("p", pod, step(uid)))

    assert outcome.is_bound
    assert pods_of(await read(world)) == ["p"]
