"""Connections: HTTP/1.1 for small requests that are sent by the thousand, at a third of the cost of a full client.

    idle ──taken──▶ asking ──whole answer, may stay──▶ idle
                       └── cut, late, cancelled, malformed, or to be closed ──▶ aborted

A connection carries one request at a time; nothing is sent twice, and nothing is sent before the previous answer is
complete. The caller gets either a whole answer or an `OSError`. The parser is llhttp's, by `httptools`.
(docs/decisions/0021)
"""

import asyncio
import ssl
from dataclasses import dataclass
from typing import Final, cast

import httptools
from yarl import URL

__all__ = ["BrokenAnswerError", "Connections", "HttpResponse"]

_IDLE_SECONDS: Final = 60.0
"""Older connections are not used again: API servers and proxies close idle ones without notice."""
_HEADER_BYTES: Final = 2**16
"""Maximum size of an answer's headers."""
_BODY_BYTES: Final = 2**24
"""Maximum size of an answer's body: several times the largest object that the API server stores."""
_CLOSE_SECONDS: Final = 1.0
"""Longest wait for connections to end."""


class BrokenAnswerError(ConnectionError):
    """The received data is not an answer: cut, malformed, too large, or of an encoding that was not requested."""


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A whole answer."""

    status: int
    body: bytes
    retry_after: str | None


class _Connection(asyncio.Protocol):
    """One connection; also the parser's listener."""

    def __init__(self, tls: ssl.SSLContext | None) -> None:
        self.tls = tls
        self.idle_since = 0.0
        self.is_reusable = True
        loop = asyncio.get_running_loop()
        self.lost: asyncio.Future[None] = loop.create_future()
        self._loop = loop
        self._parser = httptools.HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[HttpResponse] | None = None
        self._forget()

    def _forget(self) -> None:
        """Reset the state for the next answer."""
        self._body: list[bytes] = []
        self._body_bytes = self._header_bytes = 0
        self._retry_after: str | None = None
        self._has_headers = self._has_length = False

    async def ask(self, request: bytes) -> HttpResponse:
        """Send a request and wait for its answer. If the wait is interrupted, the connection is aborted."""
        assert self._transport is not None
        self._answer = self._loop.create_future()
        # No wait for a full buffer: a request is small, and the next one waits for this one's answer.
        self._transport.write(request)
        try:
            return await self._answer
        except BaseException:
            self.abort()
            raise
        finally:
            self._answer = None

    def abort(self) -> None:
        """Close the connection now."""
        self.is_reusable = False
        if self._transport is not None:
            self._transport.abort()

    # Callbacks of the transport.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(
            "asyncio.Transport", transport
        )  # uvloop's transport behind TLS does not declare its type

    def data_received(self, data: bytes) -> None:
        if self._answer is None or self._answer.done():
            self.abort()  # no request is open: later data would be taken for the answer to another request
            return
        if not self._has_headers:
            self._header_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._fail("it changed the protocol")
        except httptools.HttpParserError as error:
            self._fail(f"malformed: {error.__context__ or error}")
        else:
            if not self._has_headers and self._header_bytes > _HEADER_BYTES:
                self._fail("its headers have no end")

    def eof_received(self) -> None:
        """End of data. An answer without a length ends with the connection; any other one was cut."""
        self.is_reusable = False
        if self._has_headers and not self._has_length:
            self._complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_reusable = False
        self._fail(f"the connection was cut: {exc}" if exc else "the connection was closed", abort=False)
        if not self.lost.done():
            self.lost.set_result(None)

    # Callbacks of the parser.

    def on_message_begin(self) -> None:
        if self._answer is None or self._answer.done():
            self.is_reusable = False  # a second answer to one request

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        if name == b"retry-after":
            self._retry_after = value.decode("latin-1")
        elif name in {b"content-length", b"transfer-encoding"}:
            self._has_length = True
        elif name == b"content-encoding" and value.lower() != b"identity":
            self._fail(f"it is encoded: {value.decode('latin-1')}")

    def on_headers_complete(self) -> None:
        self._has_headers = True

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        if self._body_bytes > _BODY_BYTES:
            self._fail("it is too large")
        else:
            self._body.append(body)

    def on_message_complete(self) -> None:
        if self._parser.get_status_code() < 200:
            self._forget()  # an interim response, such as 100 Continue; the answer follows
            return
        if not self._parser.should_keep_alive():
            self.is_reusable = False
        self._complete()

    def _complete(self) -> None:
        if self._answer is not None and not self._answer.done():
            status = self._parser.get_status_code()
            self._answer.set_result(HttpResponse(status, b"".join(self._body), self._retry_after))
        self._forget()

    def _fail(self, why: str, *, abort: bool = True) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(BrokenAnswerError(why))
        if abort:
            self.abort()


class Connections:
    """A bounded number of connections to one server, opened when needed and kept."""

    def __init__(self, limit: int) -> None:
        """Open at most `limit` at a time."""
        self._slots = asyncio.Semaphore(limit)
        self._idle: list[_Connection] = []
        self._all: set[_Connection] = set()

    async def ask(
        self, request: bytes, *, server: URL, tls: ssl.SSLContext | None, server_name: str | None, timeout: float
    ) -> HttpResponse:
        """Send a request once, over a free connection, and wait for its whole answer.

        Args:
            request: Head and body, as bytes on the wire.
            server: Server to connect to.
            tls: TLS context; connections of another context, for example an older one, are not used.
            server_name: Name that the server's certificate must have; the host's name if None.
            timeout: Seconds for everything, including the wait for a connection.

        Raises:
            OSError: No whole answer came (`TimeoutError` in time); the request may have been carried out.
        """
        async with asyncio.timeout(timeout), self._slots:
            connection = self._take(tls) or await self._open(server, tls, server_name)
            answer = await connection.ask(request)
            if connection.is_reusable:
                connection.idle_since = asyncio.get_running_loop().time()
                self._idle.append(connection)
            else:
                connection.abort()
            return answer

    async def close(self) -> None:
        """Close all connections; requests under way fail."""
        self._idle.clear()
        ending = [connection.lost for connection in self._all]
        for connection in tuple(self._all):
            connection.abort()
        if ending:
            await asyncio.wait(ending, timeout=_CLOSE_SECONDS)

    def _take(self, tls: ssl.SSLContext | None) -> _Connection | None:
        """Return the connection used last, so that connections that are not needed expire."""
        oldest = asyncio.get_running_loop().time() - _IDLE_SECONDS
        while self._idle:
            connection = self._idle.pop()
            if connection.is_reusable and connection.tls is tls and connection.idle_since >= oldest:
                return connection
            connection.abort()
        return None

    async def _open(self, server: URL, tls: ssl.SSLContext | None, server_name: str | None) -> _Connection:
        _, connection = await asyncio.get_running_loop().create_connection(
            lambda: _Connection(tls),
            server.host or "",
            server.port or 0,
            ssl=tls,
            server_hostname=(server_name or server.host) if tls else None,
        )
        self._all.add(connection)
        connection.lost.add_done_callback(lambda _: self._all.discard(connection))
        return connection
