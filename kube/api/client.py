"""The HTTP client of the API server: each request has a timeout, a user agent and a metric.

Requests use lanes so that none starves another: watches and the lease never wait for a connection, binds share
thirty-two, status writes and events have a few of their own. Writes of the shared lanes, which are small and many, use
plain `Connections`; all others, and all requests if a proxy is configured, use aiohttp.
"""

import enum
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import lru_cache
from time import perf_counter
from typing import Any, Final, Self

import aiohttp
import msgspec
from multidict import CIMultiDict
from yarl import URL

from pyroclast.kube.api.configuration import ClusterAccess
from pyroclast.kube.api.connections import Connections, HttpResponse
from pyroclast.kube.api.errors import NoAnswerError, refusal
from pyroclast.kube.api.metrics import REQUEST_SECONDS, REQUESTS
from pyroclast.kube.api.version import own_version

__all__ = ["Client", "Lane", "MediaType"]

_UNAUTHORIZED: Final = 401
_NOT_PLAIN: Final = frozenset(" ?#")
_LINE_BYTES: Final = 2**22
"""Half the longest line of a watch: the largest object that the API server stores fits easily."""


class Lane(enum.Enum):
    """HttpResponse that a request may use."""

    URGENT = "urgent"
    """Unlimited: lease and watches."""
    NORMAL = "normal"
    """Shared by lists and binds."""
    BACKGROUND = "background"
    """Few: status writes and events."""


class MediaType(enum.StrEnum):
    """Content type of a request's body."""

    JSON = "application/json"
    JSON_PATCH = "application/json-patch+json"
    MERGE_PATCH = "application/merge-patch+json"
    STRATEGIC_PATCH = "application/strategic-merge-patch+json"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Head:
    """Head that short requests to one server share."""

    server: URL
    base_path: bytes
    """Prefix of the path of each request."""
    lines: bytes
    """Header lines without the length."""


class Client:
    """Client of one API server; use as an async context manager, or call `close`."""

    def __init__(
        self,
        cluster: ClusterAccess,
        *,
        component: str,
        connections: int = 32,
        background_connections: int = 12,
        timeout: float = 30.0,
    ) -> None:
        """Create a client of `cluster`; connections open when they are needed.

        Args:
            cluster: Address and credentials.
            component: Component for the user agent: `scheduler`, `hollow-nodes`, ...
            connections: Maximum number of connections of the normal lane.
            background_connections: Maximum number of connections of the background lane.
            timeout: Seconds for a request without a timeout of its own.
        """
        self.cluster = cluster
        self.user_agent = f"pyroclast/{own_version()} ({component})"
        self.timeout = timeout
        self._host = URL(cluster.server).host or ""
        self._limits = {Lane.URGENT: 0, Lane.NORMAL: connections, Lane.BACKGROUND: background_connections}
        self._sessions: dict[Lane, aiohttp.ClientSession] = {}
        self._connections: dict[Lane, Connections] = {}
        self._heads: dict[MediaType, tuple[object, _Head | None]] = {}
        self._headers: dict[MediaType, CIMultiDict[str]] = {}
        self._counters: dict[tuple[str, str], Any] = {}
        self._stopwatches: dict[str, Any] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        for session in self._sessions.values():
            await session.close()
        self._sessions.clear()
        for connections in self._connections.values():
            await connections.close()
        self._connections.clear()

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: bytes | None = None,
        media_type: MediaType = MediaType.JSON,
        timeout: float | None = None,
        lane: Lane = Lane.NORMAL,
    ) -> bytes:
        """Send a request and return the body of its answer.

        Raises:
            ApiError: The server refused (`NoAnswerError` when it did not answer in time).
        """
        seconds = timeout or self.timeout
        # Small and frequent requests use the short way; unusual ones use the general client.
        is_short = body is not None and not params and lane is not Lane.URGENT
        for is_last in (False, True):
            authorization = await self.cluster.authorization(renew=is_last)
            head = self._head(media_type, authorization) if is_short else None
            if head is not None and body is not None and _is_plain(path):
                answer = await self._ask(method, path, head=head, body=body, lane=lane, timeout=seconds)
                status, content, retry_after = answer.status, answer.body, answer.retry_after
            else:
                async with self._measured(
                    method,
                    path,
                    params=params,
                    body=body,
                    headers=self._headers_for(authorization, media_type),
                    limit=_total(seconds),
                    lane=lane,
                ) as reply:
                    status, content = reply.status, await reply.read()
                    retry_after = reply.headers.get("Retry-After")
            if status < 300:
                return content
            # A token may have been rotated since it was read: reload it once and retry.
            if status != _UNAUTHORIZED or is_last:
                raise refusal(status, content, retry_after)
        raise AssertionError("the loop above ends by returning or raising")  # pragma: no cover

    async def request_json(self, method: str, path: str, *, body: object = None, **options: Any) -> Any:
        """Send a request whose body and answer are JSON; options as for `request`.

        Raises:
            ApiError: The server refused.
        """
        answer = await self.request(method, path, body=None if body is None else msgspec.json.encode(body), **options)
        try:
            return msgspec.json.decode(answer) if answer else None
        except (msgspec.DecodeError, RecursionError) as error:
            raise NoAnswerError(f"{method} {path}: the answer is not JSON: {error}") from error

    @asynccontextmanager
    async def stream(
        self, path: str, *, params: Mapping[str, str], silence_seconds: float
    ) -> AsyncIterator[aiohttp.StreamReader]:
        """Open a watch; the reader returns one event a line.

        Args:
            path: Path to watch.
            params: Query.
            silence_seconds: Longest wait for the next byte; a half-open connection is dropped after it.

        Raises:
            ApiError: The server refused, or the stream broke.
        """
        limit = aiohttp.ClientTimeout(total=None, sock_connect=self.timeout, sock_read=silence_seconds)
        for is_last in (False, True):
            headers = self._headers_for(await self.cluster.authorization(renew=is_last), MediaType.JSON)
            async with self._measured(
                "GET", path, params=params, headers=headers, limit=limit, lane=Lane.URGENT
            ) as answer:
                if answer.status == _UNAUTHORIZED and not is_last:
                    continue  # a token may have been rotated since it was read
                if answer.status >= 300:
                    raise refusal(answer.status, await answer.read(), answer.headers.get("Retry-After"))
                yield answer.content
                return

    @asynccontextmanager
    async def _measured(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None,
        headers: CIMultiDict[str],
        limit: aiohttp.ClientTimeout,
        lane: Lane,
        body: bytes | None = None,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send, count, and convert the transport's errors."""
        url = URL(self.cluster.server + path, encoded=True)
        begun = perf_counter()
        is_answered = False
        try:
            async with self._session(lane).request(
                method,
                url.with_query(params) if params else url,
                data=body,
                headers=headers,
                timeout=limit,
                ssl=self.cluster.tls,
                server_hostname=self.cluster.tls_server_name,
                proxy=self.cluster.proxy,
                allow_redirects=False,
            ) as answer:
                is_answered = True
                self._count(method, str(answer.status), perf_counter() - begun)
                yield answer
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            if not is_answered:
                self._count(method, "<error>", perf_counter() - begun)
            raise NoAnswerError(f"{method} {path}: {type(error).__name__}: {error}") from error

    async def _ask(
        self, method: str, path: str, *, head: _Head, body: bytes, lane: Lane, timeout: float
    ) -> HttpResponse:
        """Send a small request the short way, count it, and convert the transport's errors."""
        connections = self._connections.get(lane)
        if connections is None:
            connections = self._connections[lane] = Connections(self._limits[lane])
        tls = self.cluster.tls
        request = b"%b %b%b HTTP/1.1\r\n%bContent-Length: %d\r\n\r\n%b" % (
            method.encode(),
            head.base_path,
            path.encode(),
            head.lines,
            len(body),
            body,
        )
        begun = perf_counter()
        try:
            answer = await connections.ask(
                request,
                server=head.server,
                tls=tls if isinstance(tls, ssl.SSLContext) else None,
                server_name=self.cluster.tls_server_name,
                timeout=timeout,
            )
        except OSError as error:
            self._count(method, "<error>", perf_counter() - begun)
            raise NoAnswerError(f"{method} {path}: {type(error).__name__}: {error}") from error
        self._count(method, str(answer.status), perf_counter() - begun)
        return answer

    def _head(self, media_type: MediaType, authorization: str | None) -> _Head | None:
        """Return the head of short requests, cached until it changes; None if they must not use the short way."""
        cluster = self.cluster
        known_for, head = self._heads.get(media_type, (None, None))
        if known_for == (cluster.server, cluster.proxy, authorization):
            return head
        server = URL(cluster.server)
        headers = self._headers_for(authorization, media_type)
        is_unusual = cluster.proxy or server.user or (server.scheme == "https" and cluster.tls is True)
        if is_unusual or not all(value.isascii() and value.isprintable() for value in headers.values()):
            head = None
        else:
            lines = [("Host", server.host_port_subcomponent), *headers.items()]
            text = "".join(f"{name}: {value}\r\n" for name, value in lines)
            head = _Head(server=server, base_path=server.raw_path.rstrip("/").encode(), lines=text.encode())
        self._heads[media_type] = (cluster.server, cluster.proxy, authorization), head
        return head

    def _headers_for(self, authorization: str | None, media_type: MediaType) -> CIMultiDict[str]:
        """Return the headers of a request; cached, because they are the same for thousands of requests."""
        headers = self._headers.get(media_type)
        if headers is None or headers.get("Authorization") != authorization:
            headers = CIMultiDict(
                {
                    "User-Agent": self.user_agent,
                    "Accept": MediaType.JSON.value,
                    "Content-Type": media_type.value,
                    # Compressed lists cost both sides more than the bytes do inside a cluster, as kube-scheduler found.
                    "Accept-Encoding": "identity",
                }
            )
            if authorization:
                headers["Authorization"] = authorization
            self._headers[media_type] = headers
        return headers

    def _session(self, lane: Lane) -> aiohttp.ClientSession:
        session = self._sessions.get(lane)
        if session is None:
            session = self._sessions[lane] = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=self._limits[lane], keepalive_timeout=60.0),
                read_bufsize=_LINE_BYTES,
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=True,
            )
        return session

    def _count(self, method: str, code: str, seconds: float) -> None:
        """Count one answer. The metrics' children are cached, because finding them costs more than counting."""
        counter = self._counters.get((code, method))
        if counter is None:
            counter = self._counters[code, method] = REQUESTS.labels(code, method, self._host)
        stopwatch = self._stopwatches.get(method)
        if stopwatch is None:
            stopwatch = self._stopwatches[method] = REQUEST_SECONDS.labels(method, self._host)
        counter.inc()
        stopwatch.observe(seconds)


@lru_cache(64)
def _total(seconds: float) -> aiohttp.ClientTimeout:
    """Return a limit for a whole request; few different ones are in use."""
    return aiohttp.ClientTimeout(total=seconds)


def _is_plain(path: str) -> bool:
    """Return whether a path can be used in a request line unchanged."""
    return path.isascii() and path.isprintable() and not _NOT_PLAIN.intersection(path)
