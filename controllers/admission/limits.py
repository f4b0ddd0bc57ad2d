"""Limits: maximum number of connections, and maximum size of requests read at a time, for all clients.

Every client on the network can open connections, unless a NetworkPolicy or a client certificate forbids it.

Nearly all requests are small and need no permit. Only a few large requests are read and answered at a time. The others
wait unread.

When the maximum number of connections is reached, an idle connection is closed for the next one: a connection without
any request so far, or else the one whose last request is the oldest. The API server keeps its connections open and uses
them, so they survive many others.
"""

import asyncio
import ssl
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Final

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

__all__ = ["LARGEST_BODY_BYTES", "SMALL_BODY_BYTES", "ClientConnections", "RequestBodies", "listen"]

LARGEST_BODY_BYTES: Final = 8 * 2**20
"""The API server accepts requests of 3 MiB, and a review of an update contains both versions of the object."""
SMALL_BODY_BYTES: Final = 128 * 2**10
"""Requests up to this size need no permit."""
_LARGE_AT_A_TIME: Final = 4
"""Large requests in memory at a time: 32 MiB and their decoded objects."""
_CONNECTIONS: Final = 256
"""Connections at a time; with one small request each they use 32 MiB."""


class ClientConnections:
    """Connections that sent a request, in the order of their last requests."""

    def __init__(self) -> None:
        """Start without connections."""
        self._rank: dict[RequestHandler, int] = {}
        self._count = 0

    def note(self, connection: RequestHandler) -> None:
        """Record a request of a connection, and drop closed connections."""
        self._count += 1
        self._rank[connection] = self._count
        if len(self._rank) > 2 * _CONNECTIONS:
            self._rank = {each: rank for each, rank in self._rank.items() if each.transport is not None}

    def least_recently_used(self, connections: Sequence[RequestHandler]) -> RequestHandler:
        """Return the connection to close for a new one."""
        idle = [each for each in connections if getattr(each, "_current_request", None) is None]  # not public
        return min(idle or connections, key=lambda each: self._rank.get(each, 0))


class RequestBodies:
    """Reads request bodies within the limits."""

    def __init__(self) -> None:
        """Start with all permits."""
        self._large = asyncio.Semaphore(_LARGE_AT_A_TIME)

    async def read(self, request: web.Request, held: AsyncExitStack) -> bytes:
        """Return the body of a request. The permit of a large request is released when `held` ends.

        Raises:
            HTTPRequestEntityTooLarge: The body is larger than `LARGEST_BODY_BYTES`.
        """
        body = bytearray()
        is_large = False
        async for piece in request.content.iter_any():
            body += piece
            if len(body) > LARGEST_BODY_BYTES:
                raise web.HTTPRequestEntityTooLarge(max_size=LARGEST_BODY_BYTES, actual_size=len(body))
            if len(body) > SMALL_BODY_BYTES and not is_large:
                is_large = True
                await held.enter_async_context(self._large)
        return bytes(body)


async def listen(
    server: web.Server,
    host: str | None,
    port: int,
    tls: ssl.SSLContext | None,
    *,
    client_connections: ClientConnections,
    most: int = _CONNECTIONS,
) -> asyncio.Server:
    """Accept connections, at most `most` at a time. `client_connections` chooses the one to close for the next.

    Raises:
        OSError: The address cannot be used.
    """

    def accept() -> asyncio.Protocol:
        connections = server.connections
        if len(connections) >= most:
            client_connections.least_recently_used(connections).force_close()
        return server()

    return await asyncio.get_running_loop().create_server(accept, host, port, ssl=tls)
