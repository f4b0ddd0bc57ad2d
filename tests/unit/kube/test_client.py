"""Requests have a timeout, a user agent and a metric; refusals are exceptions with the server's words."""

import asyncio
from pathlib import Path

import pytest
from prometheus_client import REGISTRY

from pyroclast.emulator.run import Emulator
from pyroclast.kube.api.client import Client, Lane
from pyroclast.kube.api.configuration import ClusterOptions, connect
from pyroclast.kube.api.errors import ApiConflictError, ApiError, NoAnswerError, refusal
from pyroclast.model.errors import ConflictError
from tests.unit.kube.world import World

PODS = "/api/v1/namespaces/default/pods"


def counted(code: str, method: str) -> float:
    """How many answers were counted."""
    labels = {"code": code, "method": method, "host": "127.0.0.1"}
    return REGISTRY.get_sample_value("rest_client_requests_total", labels) or 0.0


async def test_answers_are_counted_by_code_and_method(world: World) -> None:
    """Also those that refuse."""
    before, refused = counted("200", "GET"), counted("404", "GET")

    await world.client.request("GET", PODS)
    with pytest.raises(ApiError):
        await world.client.request("GET", f"{PODS}/absent")

    assert (counted("200", "GET") - before, counted("404", "GET") - refused) == (1, 1)


async def test_the_user_agent_names_version_and_component(world: World) -> None:
    """The server's audit log can tell who asked."""
    world.faults.add(effect="error", user_agent="pyroclast/* (tests)", code=403, count=1)

    with pytest.raises(ApiError, match="403"):
        await world.client.request("GET", PODS)


async def test_a_refusal_has_the_servers_words(world: World) -> None:
    """Status, reason, message and wait."""
    world.faults.add(effect="error", code=429, message="slow down", retry_after=4, count=1)

    with pytest.raises(ApiError) as caught:
        await world.client.request("GET", PODS)

    error = caught.value
    assert (error.status, error.reason, error.message, error.retry_after) == (429, "TooManyRequests", "slow down", 4)
    assert error.is_temporary


async def test_a_conflict_is_to_be_read_again(world: World) -> None:
    """It is the tree's `ConflictError` as well."""
    await world.pod("a")

    with pytest.raises(ConflictError) as caught:
        await world.pod("a")

    assert isinstance(caught.value, ApiConflictError)
    assert caught.value.reason == "AlreadyExists"


async def test_what_short_requests_have_in_common_is_made_once(world: World) -> None:
    """Thousands of binds go to one address, below one path, with the same headers."""
    await world.pod("a")
    (known,) = [head for _, head in world.client._heads.values()]
    await world.pod("b")

    assert known is not None
    assert str(known.server) == world.client.cluster.server
    assert all(head is known for _, head in world.client._heads.values())


async def test_a_slow_answer_is_no_answer(world: World) -> None:
    """Each request has its time; what became of it is not known."""
    before = counted("<error>", "GET")
    world.faults.add(effect="hold", delay_seconds=5, resource="pods", count=1)

    with pytest.raises(NoAnswerError) as caught:
        await world.client.request("GET", PODS, timeout=0.05)

    assert caught.value.is_temporary
    assert counted("<error>", "GET") - before == 1


async def test_a_server_that_is_not_there_is_no_answer(tmp_path: Path) -> None:
    """Refused connections are like lost answers."""
    async with Emulator() as gone:
        kubeconfig = str(gone.kubeconfig(tmp_path / "config"))
    async with Client(await connect(ClusterOptions(kubeconfig=kubeconfig)), component="tests") as client:
        with pytest.raises(NoAnswerError):
            await client.request("GET", PODS)


async def test_the_urgent_lane_passes_a_full_one(world: World) -> None:
    """With all normal connections taken, the lease still gets through."""
    world.faults.add(effect="hold", delay_seconds=20, resource="pods")
    held = [world.start(world.client.request("GET", PODS)) for _ in range(40)]
    await asyncio.sleep(0.05)

    async with asyncio.timeout(15):
        await world.client.request("GET", "/api/v1/nodes", lane=Lane.URGENT)

    assert not any(task.done() for task in held)


async def test_a_token_is_shown(tmp_path: Path) -> None:
    """The header comes from the kubeconfig."""
    async with Emulator(token="secret") as emulator:
        kubeconfig = str(emulator.kubeconfig(tmp_path / "config"))
        async with Client(await connect(ClusterOptions(kubeconfig=kubeconfig)), component="tests") as client:
            await client.request("GET", PODS)


async def test_a_rotated_token_is_read_again(tmp_path: Path) -> None:
    """One refusal with 401 makes the client ask the token's source once more."""
    token = tmp_path / "token"
    token.write_text("old", encoding="utf-8")
    async with Emulator(token="new") as emulator:
        kubeconfig = tmp_path / "config"
        text = emulator.kubeconfig(kubeconfig).read_text(encoding="utf-8")
        kubeconfig.write_text(text.replace('"token": "new"', f'"tokenFile": "{token}"'), encoding="utf-8")
        async with Client(await connect(ClusterOptions(kubeconfig=str(kubeconfig))), component="tests") as client:
            with pytest.raises(ApiError, match="401"):
                await client.request("GET", PODS)
            token.write_text("new", encoding="utf-8")

            await client.request("GET", PODS)


async def test_a_watch_reads_a_rotated_token_again(tmp_path: Path) -> None:
    """One refusal of a watch with 401 makes the client read the token again, as for other requests."""
    token = tmp_path / "token"
    token.write_text("old", encoding="utf-8")
    async with Emulator(token="new") as emulator:
        kubeconfig = tmp_path / "config"
        text = emulator.kubeconfig(kubeconfig).read_text(encoding="utf-8")
        kubeconfig.write_text(text.replace('"token": "new"', f'"tokenFile": "{token}"'), encoding="utf-8")
        async with Client(await connect(ClusterOptions(kubeconfig=str(kubeconfig))), component="tests") as client:
            await client.cluster.authorization()
            token.write_text("new\n", encoding="utf-8")
            params = {"watch": "1", "resourceVersion": "0", "timeoutSeconds": "1"}
            async with client.stream(PODS, params=params, silence_seconds=5) as reader:
                await reader.read()


def test_a_wait_that_a_server_asks_for_has_a_ceiling() -> None:
    """Ten minutes, or infinity, would leave the process blind; the message is cut as well."""
    body = b'{"kind":"Status","reason":"TooManyRequests","message":"%s","details":{"retryAfterSeconds":600}}'

    assert refusal(429, b"", "600").retry_after == 30
    assert refusal(429, body % b"later", None).retry_after == 30
    assert refusal(429, b"", "inf").retry_after == 0
    assert refusal(429, b"", "nan").retry_after == 0
    assert len(refusal(429, body % (b"x" * 10_000), None).message) == 4096


def test_a_page_of_a_proxy_is_a_refusal_too() -> None:
    """What is no Status still has its code."""
    error = refusal(502, b"<html>bad gateway</html>", "soon")

    assert (error.status, error.message, error.retry_after) == (502, "<html>bad gateway</html>", 0)
