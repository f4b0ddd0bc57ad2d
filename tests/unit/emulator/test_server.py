"""The server on the wire: requests in pieces, in a row, too large, under TLS, with a token."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
import trustme

from pyroclast.emulator.run import Emulator
from tests.unit.emulator.wire import PODS, Client, pod


@asynccontextmanager
async def connection(emulator: Emulator) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A bare connection."""
    reader, writer = await asyncio.open_connection(emulator.host, emulator.port)
    try:
        yield reader, writer
    finally:
        writer.close()


def request(method: str, path: str, body: bytes = b"", *headers: str) -> bytes:
    """A request as bytes."""
    lines = [f"{method} {path} HTTP/1.1", "Host: emulator", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


async def answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """The next answer: code and body."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    length = int(head.partition("content-length: ")[2].split("\r\n")[0])
    return int(head.split(" ")[1]), await reader.readexactly(length)


POD = request("POST", PODS, json.dumps(pod("a")).encode(), "Content-Type: application/json")


@pytest.mark.parametrize("size", [1, 40, 160])
async def test_a_request_in_pieces_is_put_together(emulator: Emulator, size: int) -> None:
    """Wherever the pieces end, in the head or in the body."""
    async with connection(emulator) as (reader, writer):
        for start in range(0, len(POD), size):
            writer.write(POD[start : start + size])
            await asyncio.sleep(0)
        code, body = await answer(reader)

    assert code == 201
    assert json.loads(body)["metadata"]["name"] == "a"


async def test_requests_in_a_row_are_answered_in_order(emulator: Emulator) -> None:
    """Pipelined requests, then single ones on the same connection."""
    async with connection(emulator) as (reader, writer):
        writer.write(POD + request("GET", f"{PODS}/a") + request("GET", f"{PODS}/b"))
        assert [(await answer(reader))[0] for _ in range(3)] == [201, 200, 404]
        for path, code in ((f"{PODS}/a", 200), ("/version", 200), (f"{PODS}/b", 404)):
            writer.write(request("GET", path))
            assert (await answer(reader))[0] == code


async def test_a_streamed_body_is_read(emulator: Emulator, client: Client) -> None:
    """Chunked bodies are aiohttp's business, and work."""

    async def chunks() -> AsyncIterator[bytes]:
        text = json.dumps(pod("a")).encode()
        yield text[:20]
        yield text[20:]

    headers = {"Content-Type": "application/json"}
    async with client.session.post(emulator.url + PODS, data=chunks(), headers=headers) as response:
        assert response.status == 201


async def test_a_body_of_megabytes_is_taken_and_a_larger_one_refused(client: Client) -> None:
    """The limit is the real server's: 3 MiB."""
    path = "/api/v1/namespaces/default/configmaps"
    fits = {"metadata": {"name": "a"}, "data": {"k": "x" * 2 * 2**20}}

    assert (await client.post(path, fits)).code == 201
    fits["data"] = {"k": "x" * 4 * 2**20}
    assert (await client.post(path, fits)).code == 413


async def test_nonsense_does_not_stop_the_server(emulator: Emulator, client: Client) -> None:
    """A broken request ends its own connection alone."""
    async with connection(emulator) as (reader, writer):
        writer.write(b"HELLO\r\n\r\n")
        assert b"400" in await reader.readline()

    assert (await client.get("/version")).code == 200


async def test_a_token_is_asked_for() -> None:
    """Without it all but health and version is 401, with it the way is free."""
    async with Emulator(token="secret") as emulator, aiohttp.ClientSession() as session:
        for headers, code in (({}, 401), ({"Authorization": "Bearer secret"}, 200)):
            for path in (PODS, "/apis"):
                async with session.get(emulator.url + path, headers=headers) as response:
                    assert response.status == code
        for path in ("/readyz", "/livez", "/version"):
            async with session.get(emulator.url + path) as response:
                assert response.status == 200


async def test_it_serves_tls(tmp_path: Path) -> None:
    """The kubeconfig names the authority that signed the certificate."""
    authority = trustme.CA()
    certificate, trusted = tmp_path / "server.pem", tmp_path / "ca.pem"
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(str(certificate))
    authority.cert_pem.write_to_path(str(trusted))
    async with Emulator(certificate=certificate, certificate_authority=trusted) as emulator:
        content = json.loads(emulator.kubeconfig(tmp_path / "kubeconfig").read_text())
        (cluster,) = (entry["cluster"] for entry in content["clusters"])
        context = ssl.create_default_context(cafile=cluster["certificate-authority"])
        async with aiohttp.ClientSession() as session, session.get(cluster["server"] + PODS, ssl=context) as response:
            assert response.status == 200


async def test_every_document_of_the_index_is_served(client: Client) -> None:
    """So that `kubectl explain` finds the fields of every kind, of those that are only created too."""
    index = (await client.get("/openapi/v3")).body["paths"]

    codes = {path: (await client.get(f"/openapi/v3/{path}")).code for path in index}

    assert {path for path, code in codes.items() if code != 200} == set()
    assert "apis/authorization.k8s.io/v1" in codes
