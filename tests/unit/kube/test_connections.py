"""Connections: a whole answer or none, one request at a time, whatever the server does."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import pytest
import trustme
import uvloop
from yarl import URL

from pyroclast.kube.api.client import Client
from pyroclast.kube.api.configuration import ClusterAccess, ClusterOptions
from pyroclast.kube.api.connections import BrokenAnswerError, Connections, HttpResponse
from pyroclast.kube.api.errors import ApiConflictError, ApiError, NoAnswerError

REQUEST = b"POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}"
OK = b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}"

Serve = Callable[[bytes, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Server:
    """A server that answers with bytes, and counts."""

    url: URL = field(default_factory=URL)
    connections: int = 0
    requests: list[bytes] = field(default_factory=list)


@asynccontextmanager
async def serving(serve: Serve, tls: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
    """Answer each request by `serve`."""
    server = Server()
    writers: list[asyncio.StreamWriter] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server.connections += 1
        writers.append(writer)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
                server.requests.append(head + await reader.readexactly(length))
                await serve(server.requests[-1], writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    listening = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=tls)
    scheme = "https" if tls else "http"
    server.url = URL(f"{scheme}://127.0.0.1:{listening.sockets[0].getsockname()[1]}")
    try:
        yield server
    finally:
        listening.close()
        for writer in writers:
            writer.transport.abort()
        await asyncio.sleep(0)


def saying(*parts: bytes, then_close: bool = False) -> Serve:
    """Answer with these bytes, in as many pieces."""

    async def serve(_: bytes, writer: asyncio.StreamWriter) -> None:
        for part in parts:
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(0)
        if then_close:
            writer.close()

    return serve


@asynccontextmanager
async def connections_of(limit: int = 2) -> AsyncIterator[Connections]:
    """Connections that are closed in the end."""
    connections = Connections(limit)
    try:
        yield connections
    finally:
        await connections.close()


async def ask(
    connections: Connections, server: Server, *, timeout: float = 5.0, **options: ssl.SSLContext
) -> HttpResponse:
    """Ask once."""
    return await connections.ask(REQUEST, server=server.url, tls=options.get("tls"), server_name=None, timeout=timeout)


async def test_a_connection_is_kept_for_the_next_request() -> None:
    """Two requests, one after the other, go over one connection."""
    async with serving(saying(OK)) as server, connections_of() as connections:
        answers = [await ask(connections, server) for _ in range(2)]

        assert answers == [HttpResponse(201, b"{}", None)] * 2
        assert (server.connections, server.requests) == (1, [REQUEST, REQUEST])


async def test_no_more_connections_than_allowed() -> None:
    """Twenty at once share two connections, and none is pipelined."""
    under_way = most = 0

    async def serve(_: bytes, writer: asyncio.StreamWriter) -> None:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.001)
        under_way -= 1
        writer.write(OK)

    async with serving(serve) as server, connections_of(2) as connections:
        await asyncio.gather(*(ask(connections, server) for _ in range(20)))

        assert (server.connections, most, len(server.requests)) == (2, 2, 20)


@pytest.mark.parametrize(
    "parts",
    [
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", b"2\r\nde\r\n0\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\nConte", b"nt-Length: 5\r\n\r", b"\nab", b"cde"),
        (b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde"),
    ],
    ids=["chunked", "in pieces", "after a word in between"],
)
async def test_an_answer_may_come_in_pieces(parts: tuple[bytes, ...]) -> None:
    """However it is cut, it is put together, and the connection stays of use."""
    async with serving(saying(*parts)) as server, connections_of() as connections:
        assert [(await ask(connections, server)).body for _ in range(2)] == [b"abcde", b"abcde"]
        assert server.connections == 1


async def test_an_answer_without_length_ends_with_the_connection() -> None:
    """As HTTP has it; the next request opens another connection."""
    answer = b"HTTP/1.1 200 OK\r\n\r\nabc"
    async with serving(saying(answer, then_close=True)) as server, connections_of() as connections:
        assert [(await ask(connections, server)).body for _ in range(2)] == [b"abc", b"abc"]
        assert server.connections == 2


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 201 Cre",
        b"HTTP/1.1 201 Created\r\nContent-Length: 9\r\n\r\n{}",
        b"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{}",
    ],
    ids=["nothing", "half a line", "half a body", "half a chunk"],
)
async def test_a_cut_answer_is_none(answer: bytes) -> None:
    """What was cut is never taken for the whole."""
    async with serving(saying(answer, then_close=True)) as server, connections_of() as connections:
        with pytest.raises(BrokenAnswerError):
            await ask(connections, server)


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nbad header\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000,
    ],
    ids=[
        "no http",
        "two framings",
        "bad length",
        "two lengths",
        "bad chunk",
        "bad header",
        "encoded",
        "upgrade",
        "huge",
    ],
)
async def test_a_malformed_answer_is_none(answer: bytes) -> None:
    """It ends the request at once, and its connection is not used again."""
    async with serving(saying(answer)) as server, connections_of() as connections:
        for _ in range(2):
            with pytest.raises(BrokenAnswerError):
                await ask(connections, server)

        assert server.connections == 2


async def test_a_body_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is bounded."""
    monkeypatch.setattr("pyroclast.kube.api.connections._BODY_BYTES", 10)
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n" + b"x" * 11
    async with serving(saying(answer)) as server, connections_of() as connections:
        with pytest.raises(BrokenAnswerError, match="too large"):
            await ask(connections, server)


async def test_a_second_answer_spoils_the_connection() -> None:
    """An unsolicited answer is never taken for the answer to the next request."""
    forged = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged"
    async with serving(saying(OK + forged)) as server, connections_of() as connections:
        assert [(await ask(connections, server)).body for _ in range(2)] == [b"{}", b"{}"]
        assert server.connections == 2


async def test_a_late_answer_is_none_and_spoils_the_connection() -> None:
    """Time counts for all of it; the answer that comes later is not the next request's."""
    answers = iter((b"", OK))

    async def serve(_: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(next(answers))

    async with serving(serve) as server, connections_of() as connections:
        with pytest.raises(TimeoutError):
            await ask(connections, server, timeout=0.05)

        assert (await ask(connections, server)).status == 201
        assert server.connections == 2


async def test_a_cancelled_request_gives_its_place_back() -> None:
    """Its connection ends; the place is free for another."""
    answers = iter((b"", OK))
    arrived = asyncio.Event()

    async def serve(_: bytes, writer: asyncio.StreamWriter) -> None:
        arrived.set()
        writer.write(next(answers))

    async with serving(serve) as server, connections_of(1) as connections:
        task = asyncio.create_task(ask(connections, server))
        await arrived.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

        assert (await ask(connections, server)).status == 201


@pytest.mark.parametrize("answer", [OK, OK.replace(b"\r\n", b"\r\nConnection: close\r\n", 1)], ids=["silent", "told"])
async def test_a_connection_closed_between_requests_is_replaced(answer: bytes) -> None:
    """Whether the server said so or not: the next request opens another and does not fail."""
    async with serving(saying(answer, then_close=True)) as server, connections_of() as connections:
        await ask(connections, server)
        await asyncio.sleep(0.02)

        assert (await ask(connections, server)).status == 201
        assert server.connections == 2


async def test_an_old_idle_connection_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Something in between may have forgotten it."""
    monkeypatch.setattr("pyroclast.kube.api.connections._IDLE_SECONDS", -1.0)
    async with serving(saying(OK)) as server, connections_of() as connections:
        await ask(connections, server)
        await ask(connections, server)

        assert server.connections == 2


async def test_close_fails_the_requests_under_way() -> None:
    """No request waits for a closed connection."""
    arrived = asyncio.Event()

    async def serve(_: bytes, __: asyncio.StreamWriter) -> None:
        arrived.set()

    async with serving(serve) as server, connections_of() as connections:
        task = asyncio.create_task(ask(connections, server))
        await arrived.wait()
        await connections.close()

        with pytest.raises(BrokenAnswerError):
            await task


@dataclass
class Trust:
    """Contexts of a server that requires client certificates, and of clients."""

    authority: trustme.CA = field(default_factory=trustme.CA)

    def server(self) -> ssl.SSLContext:
        """The server's context."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self.authority.issue_cert("127.0.0.1").configure_cert(context)
        self.authority.configure_trust(context)
        context.verify_mode = ssl.CERT_REQUIRED
        return context

    def client(self) -> ssl.SSLContext:
        """A client's context, with a certificate of its own."""
        context = ssl.create_default_context()
        self.authority.configure_trust(context)
        self.authority.issue_cert("client@example.com").configure_cert(context)
        return context


def test_tls_over_uvloop() -> None:
    """The daemon's loop brings transports of its own."""
    uvloop.run(test_tls_with_client_certificates())


async def test_tls_with_client_certificates() -> None:
    """The server asks for one and gets it; another context, a renewed certificate, opens another connection."""
    trust = Trust()
    async with serving(saying(OK), trust.server()) as server, connections_of() as connections:
        first, renewed = trust.client(), trust.client()
        for tls in (first, first, renewed):
            assert (await ask(connections, server, tls=tls)).status == 201

        assert server.connections == 2


async def test_an_untrusted_server_gets_no_request() -> None:
    """The request is not sent."""
    async with serving(saying(OK), Trust().server()) as server, connections_of() as connections:
        with pytest.raises(ssl.SSLError):
            await ask(connections, server, tls=Trust().client())

        assert server.requests == []


def cluster_at(url: URL, **attributes: object) -> ClusterAccess:
    """A cluster without a kubeconfig."""
    cluster = ClusterAccess(ClusterOptions())
    cluster.server = str(url).rstrip("/")
    for name, value in attributes.items():
        setattr(cluster, name, value)
    return cluster


def refusing(status: str, headers: bytes = b"") -> Serve:
    """Refuse with a Status."""
    body = b'{"kind":"Status","reason":"Word","message":"no"}'
    head = b"HTTP/1.1 %b\r\nContent-Length: %d\r\n%b\r\n" % (status.encode(), len(body), headers)
    return saying(head + body)


@pytest.mark.parametrize("status", ["429 Too Many Requests", "409 Conflict", "500 Internal Server Error"])
async def test_refusals_have_the_servers_words(status: str) -> None:
    """Code, reason, message, and how long to wait."""
    async with (
        serving(refusing(status, b"Retry-After: 7\r\n")) as server,
        Client(cluster_at(server.url), component="tests") as client,
    ):
        with pytest.raises(ApiError) as caught:
            await client.request("POST", "/x", body=b"{}")

    error = caught.value
    assert (error.status, error.reason, error.message, error.retry_after) == (int(status[:3]), "Word", "no", 7)
    assert isinstance(error, ApiConflictError) == (error.status == 409)


async def test_a_short_request_says_who_asks_and_what_is_sent() -> None:
    """User agent, media type, credentials, host and the server's path are there."""
    async with serving(saying(OK)) as server:
        cluster = cluster_at(server.url / "k8s/one", _authorization="Bearer secret")
        async with Client(cluster, component="tests") as client:
            assert await client.request("POST", "/x", body=b"{}") == b"{}"

    (request,) = server.requests
    assert request.startswith(b"POST /k8s/one/x HTTP/1.1\r\n")
    for line in ("Authorization: Bearer secret", "Content-Type: application/json", f"Host: {server.url.authority}"):
        assert f"\r\n{line}\r\n".encode() in request
    assert b"\r\nUser-Agent: pyroclast/" in request


async def test_a_path_cannot_smuggle_a_second_request() -> None:
    """What may not stand in a request line goes the long way, which escapes or refuses it."""
    async with serving(saying(OK)) as server, Client(cluster_at(server.url), component="tests") as client:
        with suppress(ApiError, ValueError):
            await client.request("POST", "/x HTTP/1.1\r\nHost: h\r\n\r\nGET /y", body=b"{}")
        assert not any(b"\r\n\r\nGET /y" in request for request in server.requests)


async def test_a_proxy_takes_the_long_way() -> None:
    """A configured proxy is asked for the server, by its whole address."""
    async with serving(saying(OK)) as proxy:
        cluster = cluster_at(URL("http://nowhere.invalid"), proxy=str(proxy.url))
        async with Client(cluster, component="tests") as client:
            await client.request("POST", "/x", body=b"{}")

    assert proxy.requests[0].startswith(b"POST http://nowhere.invalid/x HTTP/1.1\r\n")


async def test_a_cut_answer_says_what_was_asked() -> None:
    """It is a `NoAnswerError`: the request may have been carried out."""
    async with (
        serving(saying(b"HTTP/1.1 201", then_close=True)) as server,
        Client(cluster_at(server.url), component="tests") as client,
    ):
        with pytest.raises(NoAnswerError, match="POST /x: BrokenAnswerError"):
            await client.request("POST", "/x", body=b"{}")
