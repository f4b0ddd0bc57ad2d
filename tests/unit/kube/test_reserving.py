"""The bind of a Reservation: one write of its status, whatever becomes of its answer."""

import asyncio
from typing import Any

import pytest

from pyroclast.kube.api.resources import RESERVATIONS
from pyroclast.kube.writes.binder import ApiBinder
from pyroclast.model.ids import NodeName, TaskId
from pyroclast.model.plan import Bind, Plan, Preparation
from pyroclast.scheduler.data import custom_resource_definitions
from tests.reservations import reservation
from tests.unit.kube.world import World

PATH = RESERVATIONS.path("", "r")
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@pytest.fixture
async def uid(world: World) -> str:
    """Create a Reservation on a server that has the definition, and return its UID."""
    for each in custom_resource_definitions():
        if each["spec"]["names"]["kind"] == "Reservation":
            await world.client.request_json("POST", DEFINITIONS, body=each)
    wanted = reservation("r", cpu=2, resources={"memory": "1Gi"})
    wanted.pop("status")
    wanted["metadata"] = {"name": "r"}
    made = await world.client.request_json("POST", RESERVATIONS.collection(), body=wanted)
    return str(made["metadata"]["uid"])


async def bind(world: World, uid: str, node: str = "n1", *steps: Preparation, **annotations: str) -> Any:
    """Carry out the bind, and return its outcome."""
    one = Bind(
        task=TaskId(uid),
        job=None,
        namespace="default",
        name=uid,
        node=NodeName(node),
        annotations=annotations,
        reservation="r",
        preparations=steps,
    )
    plan = Plan(number=0, cycle=1, configuration=1, action="allocate", job=None, queue=None, binds=(one,))
    outcome = await asyncio.wait_for(ApiBinder(world.client, clock=world.clock).bind(plan), 30)
    return outcome.binds[0]


async def status(world: World) -> Any:
    """Return the status."""
    return (await world.client.request_json("GET", PATH))["status"]


async def set_status(world: World, **fields: Any) -> None:
    """Write a status as another writer does."""
    found = await world.client.request_json("GET", PATH)
    found["status"] = fields
    await world.client.request_json("PUT", f"{PATH}/status", body=found)


async def test_it_becomes_available_with_what_its_template_requests(world: World, uid: str) -> None:
    """Phase, node, amounts and both conditions in one write; annotations before it (R15)."""
    outcome = await bind(world, uid, **{"example.com/device": "7"})
    written = await status(world)

    assert outcome.is_bound
    assert (written["phase"], written["nodeName"]) == ("Available", "n1")
    assert written["allocatable"] == {"cpu": "2", "memory": "1Gi"}
    assert [(each["type"], each["status"]) for each in written["conditions"]] == [
        ("Scheduled", "True"),
        ("Ready", "True"),
    ]
    found = await world.client.request_json("GET", PATH)
    assert found["metadata"]["annotations"]["example.com/device"] == "7"


async def test_an_answer_that_was_lost_is_recognised(world: World, uid: str) -> None:
    """The write happened; the next attempt reads it."""
    world.faults.add(effect="lost", subresource="status", count=1)

    assert (await bind(world, uid)).is_bound
    assert (await status(world))["nodeName"] == "n1"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"phase": "Failed"}, "NotActive"),
        ({"phase": "Available", "nodeName": "n2"}, "BoundElsewhere"),
    ],
)
async def test_one_that_is_not_waiting_is_refused(world: World, uid: str, fields: Any, reason: str) -> None:
    """It has ended, or has another node."""
    await set_status(world, **fields)

    outcome = await bind(world, uid)

    assert (outcome.is_bound, outcome.reason) == (False, reason)


async def test_another_one_of_its_name_is_not_touched(world: World, uid: str) -> None:
    """The UID differs."""
    assert uid
    outcome = await bind(world, "other")

    assert (outcome.is_bound, outcome.reason) == (False, "Gone")
    assert (await world.client.request_json("GET", PATH)).get("status", {}).get("phase", "") in {"", "Pending"}


NOTE = "scheduling.koordinator.sh/reservation-allocated"


def taking_over(name: str, uid: str, **more: str) -> Preparation:
    """Return the step that annotates a pod."""
    details = {"uid": uid, "key": NOTE, "text": "r", **more}
    return Preparation(kind="annotate-pod", namespace="default", name=name, details=details)


async def note_of(world: World, name: str) -> str | None:
    """Return the annotation of a pod."""
    note: str | None = (await world.get_pod(name))["metadata"].get("annotations", {}).get(NOTE)
    return note


async def test_pods_that_it_takes_over_are_annotated_first(world: World, uid: str) -> None:
    """Both pods have its name, and it is Available (R35)."""
    pods = [await world.pod(name) for name in ("a", "b")]
    steps = [taking_over(name, pod) for name, pod in zip(("a", "b"), pods, strict=True)]

    assert (await bind(world, uid, "n1", *steps)).is_bound
    assert [await note_of(world, name) for name in ("a", "b")] == ["r", "r"]


async def test_annotations_are_taken_back_if_a_pod_is_gone(world: World, uid: str) -> None:
    """Another pod of the same name took the place of the second one: it and the Reservation stay as they are."""
    first, _ = await world.pod("a"), await world.pod("b")
    outcome = await bind(world, uid, "n1", taking_over("a", first), taking_over("b", "uid-of-another"))

    assert not outcome.is_bound
    assert "another pod of the same name" in outcome.message
    assert [await note_of(world, name) for name in ("a", "b")] == [None, None]


async def test_annotations_are_taken_back_if_it_is_not_active(world: World, uid: str) -> None:
    """It failed in the meantime, and the pod has the text that it had."""
    pod = await world.pod("a")
    await set_status(world, phase="Failed")
    outcome = await bind(world, uid, "n1", taking_over("a", pod, before="old"))

    assert outcome.reason == "NotActive"
    assert await note_of(world, "a") == "old"
