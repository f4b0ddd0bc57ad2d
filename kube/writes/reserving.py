"""Reserving: the bind of a Reservation, which is one write of its status (R15).

The object is read first, and the write applies to the version that was read. After a conflict the bind is tried again,
and reads again: a lost answer shows as a Reservation that is Available on the node already.
"""

from typing import Final

import msgspec

from pyroclast.kube.api.client import Client, MediaType
from pyroclast.kube.api.clock import Clock
from pyroclast.kube.api.errors import ApiConflictError, NoAnswerError
from pyroclast.kube.api.resources import RESERVATIONS
from pyroclast.kube.writes.binding import BindOutcome, refused
from pyroclast.model import wire
from pyroclast.model.plan import Bind
from pyroclast.model.reservations.status import available

__all__ = ["make_available"]

_TIMEOUT: Final = 10.0


async def make_available(client: Client, bind: Bind, name: str, clock: Clock) -> BindOutcome:
    """Make a Reservation Available on the node of a bind.

    Raises:
        ApiError: The server did not accept the write; a temporary error may be retried.
        ObjectError: The template cannot be parsed.
    """
    path = RESERVATIONS.path("", name)
    reservation = RESERVATIONS.decoder.decode(await client.request("GET", path, timeout=_TIMEOUT))
    if (outcome := _what_shows(bind, reservation)) is not None:
        return outcome
    metadata = {"uid": reservation.metadata.uid, "resourceVersion": reservation.metadata.resource_version}
    try:
        if bind.annotations:
            body = {"metadata": {**metadata, "annotations": dict(bind.annotations)}}
            written = await _patch(client, path, body)
            metadata["resourceVersion"] = written.metadata.resource_version
        status = available(reservation, bind.node, clock.wall())
        await _patch(client, f"{path}/status", {"metadata": metadata, "status": msgspec.to_builtins(status)})
    except ApiConflictError as error:
        raise NoAnswerError(error.message) from error  # read again: another writer was faster
    return BindOutcome(bind=bind, is_bound=True)


def _what_shows(bind: Bind, reservation: wire.Reservation) -> BindOutcome | None:
    """Return the outcome that a Reservation shows; None if it waits for a node."""
    status = reservation.status
    if reservation.metadata.uid != bind.task:
        return refused(bind, "Gone", "another reservation of the same name took its place")
    if status.phase == wire.ReservationPhase.AVAILABLE:
        if status.node_name == bind.node:
            return BindOutcome(bind=bind, is_bound=True)
        return refused(bind, "BoundElsewhere", f"it is on node {status.node_name}")
    if status.phase in {wire.ReservationPhase.FAILED, wire.ReservationPhase.SUCCEEDED}:
        return refused(bind, "NotActive", "reservation is not active")
    return None


async def _patch(client: Client, path: str, body: object) -> wire.Reservation:
    return RESERVATIONS.decoder.decode(
        await client.request(
            "PATCH", path, body=msgspec.json.encode(body), media_type=MediaType.MERGE_PATCH, timeout=_TIMEOUT
        )
    )
