"""Faults: what a test can make the server do wrong."""

import asyncio

import aiohttp
import pytest

from pyroclast.emulator.faults import Faults
from pyroclast.emulator.run import Emulator
from tests.unit.emulator.wire import PODS, Client, pod


async def test_an_error_is_answered_so_often_and_no_more(emulator: Emulator, client: Client) -> None:
    """A counted 429 carries Retry-After, then the way is free."""
    emulator.faults.add(verb="create", resource="pods", subresource="", code=429, retry_after=3, count=1)

    refused = await client.post(PODS, pod("a"))
    accepted = await client.post(PODS, pod("a"))

    assert (refused.code, refused.headers["Retry-After"], refused.body["reason"]) == (429, "3", "TooManyRequests")
    assert accepted.code == 201


async def test_a_lost_bind_has_happened(emulator: Emulator, client: Client) -> None:
    """The connection is cut after the bind: the pod has its node."""
    await client.post(PODS, pod("a"))
    emulator.faults.add(effect="lost", subresource="binding", name="a", count=1)

    with pytest.raises(aiohttp.ClientError):
        await client.bind("a")

    assert (await client.get(f"{PODS}/a")).body["spec"]["nodeName"] == "n1"


async def test_a_cut_bind_has_not_happened(emulator: Emulator, client: Client) -> None:
    """The connection is cut before the bind: the pod is free."""
    await client.post(PODS, pod("a"))
    emulator.faults.add(effect="cut", subresource="binding", count=1)

    with pytest.raises(aiohttp.ClientError):
        await client.bind("a")

    assert "nodeName" not in (await client.get(f"{PODS}/a")).body["spec"]


async def test_half_a_watch_line_is_sent_and_the_stream_cut(emulator: Emulator, client: Client) -> None:
    """The client sees a broken line and a broken stream."""
    emulator.faults.add(effect="half", resource="pods", verb="watch", count=1)
    async with client.watch(f"{PODS}?resourceVersion=1") as events:
        await client.post(PODS, pod("a"))
        with pytest.raises(aiohttp.ClientError):
            await events.response.content.read()


async def test_a_dropped_event_is_never_seen(emulator: Emulator, client: Client) -> None:
    """The watch goes on with the next one."""
    emulator.faults.add(effect="drop", resource="pods", name="a")
    async with client.watch(f"{PODS}?resourceVersion=1") as events:
        await client.post(PODS, pod("a"))
        await client.post(PODS, pod("b"))
        assert await events.names(1) == [("ADDED", "b")]


async def test_a_paused_server_answers_after_it_resumes(emulator: Emulator, client: Client) -> None:
    """Requests wait while it is away."""
    emulator.faults.pause()
    waiting = asyncio.create_task(client.get(PODS))
    await asyncio.sleep(0.05)
    assert not waiting.done()

    emulator.faults.resume()

    assert (await waiting).code == 200


async def test_faults_are_armed_over_http(client: Client) -> None:
    """A daemon's test arms, looks and disarms from outside; nonsense is refused."""
    await client.post("/emulator/faults", {"verb": "list", "code": 503, "count": 1})
    assert (await client.get(PODS)).code == 503
    assert (await client.get("/emulator/faults")).body["used"] == 1
    assert (await client.post("/emulator/faults", {"effect": "explode"})).code == 400
    assert (await client.send("DELETE", "/emulator/faults")).body["armed"] == []


def test_chance_is_seeded() -> None:
    """Two servers with one seed fail alike."""

    def rolls(seed: int) -> list[bool]:
        faults = Faults(seed)
        faults.add(chance=0.5)
        return [faults.take(("error",), {"verb": "get"}) is not None for _ in range(50)]

    assert rolls(3) == rolls(3)
    assert rolls(3) != rolls(4)
