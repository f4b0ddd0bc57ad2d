"""One exchange with an extender: what is sent, and every way of getting no answer."""

import asyncio
import socket
import ssl

import msgspec
import pytest
import trustme

from pyroclast.scheduler.extenders.client import ExtenderClient, NoReplyError
from tests.unit.scheduler.extenders.serving import question, reply, serving

MOST = 10 << 20


async def posted(url: str, *, seconds: float = 30.0, wants_answer: bool = True) -> bytes:
    """Ask once."""
    client = ExtenderClient()
    try:
        return await client.post(question(url, seconds=seconds, wants_answer=wants_answer))
    finally:
        await client.close()


async def failure(url: str, *, seconds: float = 30.0) -> str:
    """Ask once, in vain."""
    with pytest.raises(NoReplyError) as caught:
        await posted(url, seconds=seconds)
    return str(caught.value)


async def test_a_question_is_a_post_of_json() -> None:
    """With its length, uncompressed and without a user agent."""
    heard: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        heard.extend([head, await reader.readexactly(2)])
        writer.write(reply(b'{"status": ""}'))
        await writer.drain()

    async with serving(answer) as url:
        assert await posted(url) == b'{"status": ""}'

    head, body = heard
    lines = head.decode().lower().split("\r\n")
    assert lines[0] == "post /v1/verb http/1.1"
    assert {"content-type: application/json", "accept-encoding: identity", "content-length: 2"} <= set(lines)
    assert not any(line.startswith(("authorization", "cookie")) for line in lines)
    assert body == b"{}"


@pytest.mark.parametrize("status", ["201 Created", "204 No Content", "404 Not Found", "500 Broken", "503 Busy"])
async def test_only_200_is_an_answer(status: str) -> None:
    """The code is reported."""
    async with serving(reply(b"", status)) as url:
        assert await failure(url) == f", code {status[:3]}"


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "307 Temporary", "308 Permanent"])
async def test_redirects_are_not_followed(status: str) -> None:
    """Only the configured extender receives the cluster."""
    heard: list[bytes] = []

    async def other(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.read(1))
        writer.write(reply(b"{}"))

    async with serving(other) as there, serving(reply(b"", status, f"Location: {there}")) as url:
        assert await failure(url) == f", code {status[:3]}"
    assert heard == []


async def test_an_answer_may_be_of_ten_mebibytes_and_no_more() -> None:
    """With and without a length header."""
    async with serving(reply(b"1" * MOST)) as url:
        assert len(await posted(url)) == MOST
    async with serving(reply(b"1" * (MOST + 1))) as url:
        assert await failure(url) == f": an answer of more than {MOST} bytes"
    async with serving(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + b"1" * (MOST + 1)) as url:
        assert await failure(url) == f": an answer of more than {MOST} bytes"


async def test_an_unneeded_answer_is_not_read() -> None:
    """However long it is."""
    async with serving(reply(b"1" * (MOST + 1))) as url:
        assert await posted(url, wants_answer=False) == b""


async def test_what_is_packed_is_not_unpacked() -> None:
    """A few bytes could be of any size."""
    async with serving(reply(b"\x1f\x8bxyz", "200 OK", "Content-Encoding: gzip")) as url:
        assert await posted(url) == b"\x1f\x8bxyz"


async def test_the_time_counts_for_the_whole_exchange() -> None:
    """An answer that drips for ever is none, however often something comes."""

    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        while True:
            writer.write(b" ")
            await writer.drain()
            await asyncio.sleep(0.01)

    async with serving(drip) as url:
        assert await failure(url, seconds=0.2) == ": no answer within 0.2 s"


async def test_pods_without_annotations() -> None:
    """The time is reported."""

    async def silence(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read()

    async with serving(silence) as url:
        assert await failure(url, seconds=0.1) == ": no answer within 0.1 s"


async def test_no_server_listens() -> None:
    """As when an extender is started anew."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    told = await failure(f"http://127.0.0.1:{port}/verb")
    assert told.startswith(": no answer: Cannot connect to host 127.0.0.1")


async def test_a_name_that_there_is_not() -> None:
    """The name is reported."""
    assert "nobody.invalid" in await failure("http://nobody.invalid/verb")


@pytest.mark.parametrize(
    "answer", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{}", b"what?\r\n\r\n", b"HTTP/1.1 200 OK\r\nX"]
)
async def test_an_answer_that_breaks_off_or_is_no_http(answer: bytes) -> None:
    """Whatever came until then."""
    async with serving(answer) as url:
        assert (await failure(url)).startswith(": no answer: ")


async def test_plain_http_where_https_is_asked_for() -> None:
    """A peer without certificates is not trusted."""

    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(reply(b"{}"))
        await writer.drain()

    async with serving(plain) as url:
        assert (await failure(url.replace("http:", "https:"))).startswith(": no answer: ")


async def test_connections_are_used_again() -> None:
    """One for two questions one after the other."""
    connections = 0

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        while True:
            await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(2)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
            await writer.drain()

    client = ExtenderClient()
    async with serving(answer) as url:
        for _ in range(2):
            assert msgspec.json.decode(await client.post(question(url))) == {}
        await client.close()
    assert connections == 1


async def test_a_certificate_of_an_authority_that_the_system_does_not_know_is_refused() -> None:
    """No question is sent to such a peer."""
    heard: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.read(1))
        writer.close()

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
    try:
        told = await failure(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/verb")
    finally:
        server.close()
    assert "certificate verify failed" in told
    assert heard == []


async def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extender itself is asked, though a proxy is named."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    async with serving(reply(b"{}")) as url:
        assert await posted(url) == b"{}"
