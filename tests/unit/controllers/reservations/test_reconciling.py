"""The controller of Reservations on a server: owners, expiry, deletion, and a kill at each write."""

import json
from typing import Any

import pytest

from pyroclast.controllers.reservations.reconciler import ReservationStatuses
from pyroclast.controllers.runtime.operator import Operator
from pyroclast.controllers.runtime.options import ControllerOptions
from pyroclast.kube.api.resources import RESERVATIONS
from pyroclast.model.wire import unix_seconds
from tests.reservations import ALLOCATED, reservation
from tests.unit.controllers.ground import Ground
from tests.unit.controllers.killing import KilledError, MortalClient, life, rest

KEY = ("", "r")
PATH = RESERVATIONS.path("", "r")
PODS = "/api/v1/namespaces/default/pods"
DAY = 86400


def built(operator: Operator) -> ReservationStatuses:
    """Plug the controller in alone."""
    return ReservationStatuses(operator, ControllerOptions())


async def make(ground: Ground, *, node: bool = True, **fields: Any) -> float:
    """Create a Reservation that is Available on n1, and return its creation."""
    if node:
        amounts = {"cpu": "8", "pods": "9"}
        status = {"capacity": amounts, "allocatable": amounts}
        await ground.post("/api/v1/nodes", {"metadata": {"name": "n1"}, "status": status})
    wanted = reservation("r", node="n1", **fields)
    status = wanted.pop("status")
    wanted["metadata"] = {"name": "r"}
    made = await ground.post(RESERVATIONS.collection(), wanted)
    await ground.patch(f"{PATH}/status", {"status": status})
    return unix_seconds(made["metadata"]["creationTimestamp"])


async def make_owner(ground: Ground, name: str = "a", cpu: str = "1", app: str = "a") -> None:
    """Create a pod on n1 that uses the Reservation."""
    uid = (await ground.get(PATH))["metadata"]["uid"]
    note = json.dumps({"name": "r", "uid": uid})
    metadata = {"name": name, "labels": {"app": app}, "annotations": {ALLOCATED: note}}
    requests = {"requests": {"cpu": cpu, "memory": "1Gi"}}
    spec = {"nodeName": "n1", "containers": [{"name": "c", "image": "none", "resources": requests}]}
    await ground.post(PODS, {"metadata": metadata, "spec": spec})


async def settle(ground: Ground, now: float) -> dict[str, Any]:
    """Reconcile until nothing is written, and return the status; empty if the Reservation is deleted."""
    async with (
        MortalClient(ground.client.cluster, component="t") as client,
        life(client, built, now=now) as reconcile,
    ):
        await rest(client, reconcile, KEY)
    return (await ground.get(PATH))["status"] if await ground.names(RESERVATIONS.collection()) else {}


def ready(status: dict[str, Any]) -> tuple[str, str]:
    """Return status and reason of the condition Ready."""
    (found,) = [each for each in status.get("conditions", []) if each["type"] == "Ready"]
    return found["status"], found["reason"]


async def test_owners_and_their_amounts_are_written(ground: Ground) -> None:
    """Names that are not reserved do not count (R39); the Reservation stays for others (R40)."""
    now = await make(ground, allocateOnce=False)
    await make_owner(ground, "b")
    await make_owner(ground, "a")
    status = await settle(ground, now + 1)

    assert status["phase"] == "Available"
    assert status["allocated"] == {"cpu": "2"}
    assert sorted(each["name"] for each in status["currentOwners"]) == ["a", "b"]
    assert [each["uid"] for each in status["currentOwners"]] == sorted(each["uid"] for each in status["currentOwners"])

    await ground.delete(f"{PODS}/a")
    await ground.delete(f"{PODS}/b")
    status = await settle(ground, now + 2)
    assert (status["phase"], status.get("allocated", {}), status.get("currentOwners", [])) == ("Available", {}, [])


async def test_the_first_owner_ends_a_reservation_for_one(ground: Ground) -> None:
    """The phase is Succeeded with the first change, and final."""
    now = await make(ground)
    await make_owner(ground)
    status = await settle(ground, now + 1)

    assert (status["phase"], ready(status)) == ("Succeeded", ("False", "Succeeded"))
    await ground.delete(f"{PODS}/a")
    assert (await settle(ground, now + 2))["phase"] == "Succeeded"


@pytest.mark.parametrize(
    ("ttl", "expires", "after", "phase"),
    [
        ("1h", "", 3500, "Available"),
        ("1h", "", 3601, "Failed"),
        ("24h", "2026-01-01T00:00:00Z", 1, "Failed"),
        ("0", "2026-01-01T00:00:00Z", DAY * 900, "Available"),
    ],
)
async def test_expiry(ground: Ground, ttl: str, expires: str, after: float, phase: str) -> None:
    """An end before the ttl counts; a ttl of 0 disables both (R38)."""
    end: dict[str, Any] = {"expires": expires} if expires else {}
    now = await make(ground, ttl=ttl, **end)
    status = await settle(ground, now + after)

    assert status["phase"] == phase
    if phase == "Failed":
        assert ready(status) == ("False", "Expired")


async def test_a_reservation_whose_node_is_gone_ends_and_is_deleted(ground: Ground) -> None:
    """Both without a wait (R38, R41)."""
    now = await make(ground, node=False)

    assert await settle(ground, now + 1) == {}


async def test_what_has_ended_is_deleted_a_day_later(ground: Ground) -> None:
    """Age since the transition of its condition (R41)."""
    now = await make(ground)
    await make_owner(ground)
    assert (await settle(ground, now + 1))["phase"] == "Succeeded"
    assert (await settle(ground, now + DAY - 9))["phase"] == "Succeeded"
    assert await settle(ground, now + DAY + 9) == {}


async def test_deletion_can_be_switched_off(ground: Ground) -> None:
    """What has ended stays."""
    now = await make(ground)
    await make_owner(ground)
    await settle(ground, now + 1)
    options = ControllerOptions(reservation_ttl=None)
    async with (
        MortalClient(ground.client.cluster, component="t") as client,
        life(client, lambda operator: ReservationStatuses(operator, options), now=now + 9 * DAY) as reconcile,
    ):
        assert await reconcile(KEY) is None
    assert (await ground.get(PATH))["status"]["phase"] == "Succeeded"


@pytest.mark.parametrize("is_carried_out", [False, True])
@pytest.mark.parametrize("dies_at", [0, 1])
async def test_killed_at_any_write_it_ends_the_same(ground: Ground, dies_at: int, is_carried_out: bool) -> None:
    """The owner ends it, and a day later it is deleted, wherever a process ends."""
    now = await make(ground)
    await make_owner(ground)
    died = False
    async with MortalClient(ground.client.cluster, component="t") as mortal:
        mortal.dies_at, mortal.is_carried_out = dies_at, is_carried_out
        for moment in (now + 1, now + DAY + 9):
            try:
                async with life(mortal, built, now=moment) as reconcile:
                    await rest(mortal, reconcile, KEY)
            except KilledError:
                died = True
                await settle(ground, moment)

    assert died
    assert await ground.names(RESERVATIONS.collection()) == []


async def test_a_pod_that_is_not_of_the_owners_takes_nothing(ground: Ground) -> None:
    """Every author of a pod can write the annotation: it would end the Reservation of another tenant."""
    now = await make(ground)
    await make_owner(ground, app="b")
    status = await settle(ground, now + 1)

    assert (status["phase"], status.get("currentOwners", [])) == ("Available", [])


async def test_an_end_that_cannot_be_parsed_stops_nothing_else(ground: Ground) -> None:
    """Owners are written with the fault, and the Reservation fails with its node."""
    now = await make(ground, allocateOnce=False, ttl="1d")
    await make_owner(ground)
    status = await settle(ground, now + 1)
    assert status["allocated"] == {"cpu": "1"}
    assert [each["type"] for each in status["conditions"]] == ["Valid"]

    await ground.delete("/api/v1/nodes/n1")
    assert await settle(ground, now + 2) == {}


@pytest.mark.parametrize("has_node", [True, False])
async def test_a_ttl_that_cannot_be_parsed_is_a_day(ground: Ground, has_node: bool) -> None:
    """The condition has the fault, and a day later the Reservation has expired."""
    now = await make(ground, node=has_node, ttl="1d")
    if not has_node:
        await ground.patch(f"{PATH}/status", {"status": {"phase": "Pending", "nodeName": None, "allocatable": None}})
    (fault,) = (await settle(ground, now + 1))["conditions"]

    assert (fault["type"], fault["status"], fault["reason"]) == ("Valid", "False", "InvalidLifetime")
    assert fault["message"].startswith("spec.ttl: ")
    assert (await settle(ground, now + DAY + 1))["phase"] == "Failed"


async def test_the_fault_goes_with_its_cause(ground: Ground) -> None:
    """The ttl is corrected."""
    now = await make(ground, ttl="1d")
    await settle(ground, now + 1)
    await ground.patch(PATH, {"spec": {"ttl": "2h"}})

    assert (await settle(ground, now + 2)).get("conditions", []) == []
