"""`pyroclast reservation` on the emulator."""

import json

import msgspec

from pyroclast.kube.api.client import MediaType
from pyroclast.kube.api.resources import RESERVATIONS
from pyroclast.model.api.reservation import Reservation
from tests.reservations import reservation
from tests.unit.scheduler.vcctl.conftest import Person


async def make(person: Person, name: str, **fields: object) -> None:
    """Create a Reservation with its status."""
    wanted = reservation(name, **fields)  # type: ignore[arg-type]  # fields of the object
    status = wanted.pop("status")
    wanted["metadata"] = {"name": name}
    await person.client.request_json("POST", RESERVATIONS.collection(), body=wanted)
    if status:
        body = msgspec.json.encode({"status": status})
        await person.client.request(
            "PATCH", RESERVATIONS.path("", name, "status"), body=body, media_type=MediaType.MERGE_PATCH
        )


async def test_reservations_are_listed(person: Person) -> None:
    """Phase, node, amounts and end; one without a status waits."""
    await make(person, "nightly", node="n1", expires="2026-12-02T06:00:00Z", ttl="90000h")
    await make(person, "waiting")

    said = await person.types("reservation", "list", "--no-headers")

    nightly, waiting = (line.split() for line in said.out.splitlines())
    assert nightly[:7] == ["nightly", "Available", "n1", "cpu", "0/2", "0", "2026-12-02T06:00:00Z"]
    assert waiting[:2] == ["waiting", "Pending"]
    assert "never" in waiting
    assert said.status == 0


async def test_one_is_shown_by_name(person: Person) -> None:
    """As JSON, and as a table; an unknown name is an error."""
    await make(person, "waiting")

    shown = await person.types("reservation", "get", "waiting", "-o", "json")
    missing = await person.types("reservation", "get", "none")

    assert msgspec.convert(json.loads(shown.out), Reservation).metadata.name == "waiting"
    assert missing.status == 1
    assert "not found" in missing.err
