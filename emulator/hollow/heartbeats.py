"""Heartbeats: a Lease per node, renewed evenly over the interval, and now and then the Ready condition."""

import asyncio
from collections.abc import Mapping
from typing import Final

import msgspec
import structlog

from pyroclast.emulator.clock import Clock
from pyroclast.emulator.hollow.admission import Room
from pyroclast.emulator.hollow.template import ready_condition
from pyroclast.kube.api.client import Client, Lane, MediaType
from pyroclast.kube.api.errors import ApiError
from pyroclast.kube.api.resources import LEASES, NODES
from pyroclast.model import wire

__all__ = ["Heartbeats"]

_NAMESPACE: Final = "kube-node-lease"
_LEASE_SECONDS: Final = 40
_BEATS_PER_STATUS: Final = 15
"""Leases say that a node lives; its status is written more rarely, as kubelets do."""
_log = structlog.get_logger(__name__)


class Heartbeats:
    """Keeps nodes alive."""

    def __init__(
        self, client: Client, rooms: Mapping[str, Room], *, interval_seconds: float = 20.0, clock: Clock | None = None
    ) -> None:
        """Prepare to beat for whatever nodes `rooms` has, once an interval."""
        self._client = client
        self._rooms = rooms
        self._interval_seconds = interval_seconds
        self._clock = clock or Clock()

    async def run(self) -> None:
        """Beat until cancelled."""
        beat = 0
        while True:
            names = list(self._rooms)
            for name in names:
                await self._beat(name, with_status=beat % _BEATS_PER_STATUS == _BEATS_PER_STATUS - 1)
                # Spread over the interval, so that thousands of nodes are a trickle and not a flood.
                await asyncio.sleep(self._interval_seconds / len(names))
            if not names:
                await asyncio.sleep(min(1.0, self._interval_seconds))
            beat += 1

    async def _beat(self, name: str, *, with_status: bool) -> None:
        room = self._rooms.get(name)
        if room is None:
            return
        try:
            await self._renew(name, room.node)
            if with_status:
                await self._patch(
                    NODES.path("", name, "status"),
                    {"status": {"conditions": [ready_condition(self._clock.now())]}},
                    MediaType.STRATEGIC_PATCH,
                )
        except ApiError as error:
            _log.debug("heartbeat_missed", node=name, error=str(error))  # the next one is due soon

    async def _renew(self, name: str, node: wire.Node) -> None:
        now = self._clock.now().replace("Z", ".000000Z")
        spec = {"holderIdentity": name, "leaseDurationSeconds": _LEASE_SECONDS, "renewTime": now}
        try:
            await self._patch(LEASES.path(_NAMESPACE, name), {"spec": spec}, MediaType.MERGE_PATCH)
        except ApiError as error:
            if not error.is_not_found:
                raise
            owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": node.metadata.uid}
            body = {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {"name": name, "namespace": _NAMESPACE, "ownerReferences": [owner]},
                "spec": spec,
            }
            await self._client.request(
                "POST", LEASES.collection(_NAMESPACE), body=msgspec.json.encode(body), lane=Lane.BACKGROUND
            )

    async def _patch(self, path: str, body: object, media_type: MediaType) -> None:
        await self._client.request(
            "PATCH", path, body=msgspec.json.encode(body), media_type=media_type, lane=Lane.BACKGROUND
        )
