"""Logs: lines with fields, a level that moves, and the socket that moves it."""

import asyncio
import io
import json
import logging
from collections.abc import AsyncIterator
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import aiohttp
import pytest
import structlog

from pyroclast.model.secrets import SecretText
from pyroclast.model.usage import UsageSource
from pyroclast.scheduler.monitoring.level_socket import LevelSocket
from pyroclast.scheduler.monitoring.logs import Level, start_logging


@pytest.fixture(autouse=True)
def restored() -> AsyncIterator[None]:  # type: ignore[misc] # a generator, as pytest wants it
    """Leave no logging set up for the tests that follow."""
    handlers, level = list(logging.getLogger().handlers), logging.getLogger().level
    yield
    structlog.reset_defaults()
    logging.getLogger().handlers[:] = handlers
    logging.getLogger().setLevel(level)


def lines(stream: io.StringIO) -> list[dict[str, object]]:
    """Return what was logged."""
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_event_is_one_line_of_json_with_its_fields() -> None:
    """A machine reads event, level, time and fields."""
    stream = io.StringIO()
    start_logging("json", stream=stream)
    structlog.get_logger().info("job_bound", job="a/b", tasks=8)

    (line,) = lines(stream)
    assert (line["event"], line["level"], line["job"], line["tasks"]) == ("job_bound", "info", "a/b", 8)
    assert str(line["timestamp"]).endswith("Z")


def test_lines_of_libraries_look_the_same() -> None:
    """The standard library's logging goes through the same form."""
    stream = io.StringIO()
    start_logging("json", stream=stream)
    logging.getLogger("library").warning("odd %s", "thing")

    (line,) = lines(stream)
    assert (line["event"], line["level"]) == ("odd thing", "warning")


def test_level_moves_while_the_process_runs() -> None:
    """Debug lines appear when the level is lowered, also from loggers already in use."""
    stream = io.StringIO()
    level = start_logging("json", stream=stream)
    log = structlog.get_logger()
    log.debug("unseen")
    level.move(logging.DEBUG)
    log.debug("seen")

    assert [line["event"] for line in lines(stream)] == ["seen"]


def fail_with(password: str, cluster: list[str]) -> None:
    """Raise from a frame that holds a password and a whole cluster."""
    raise RuntimeError(f"no answer for {len(cluster)} nodes and {len(password)} characters")


def fail(message: str) -> None:
    """Raise an exception with a message."""
    raise RuntimeError(message)


@pytest.mark.parametrize("form", ["json", "console"])
def test_a_traceback_shows_no_local_variables(form: Literal["json", "console"]) -> None:
    """Frames hold passwords, pods and whole clusters."""
    stream = io.StringIO()
    start_logging(form, stream=stream)
    try:
        fail_with("HUNTER2".lower(), [f"node-{number}" for number in range(100_000)])
    except RuntimeError:
        structlog.get_logger().exception("cycle_failed")
        logging.getLogger("library").exception("failed")

    text = stream.getvalue()
    assert "no answer for 100000 nodes" in text
    assert "fail_with" in text
    assert "hunter2" not in text
    assert "node-99" not in text
    assert len(text) < 20_000


@pytest.mark.parametrize("form", ["json", "console"])
def test_a_line_is_bounded(form: Literal["json", "console"]) -> None:
    """Whatever its fields and its exception say."""
    stream = io.StringIO()
    start_logging(form, stream=stream)
    nested: list[Any] = []
    for _ in range(5000):
        nested = [nested]
    try:
        fail("x" * 10_000_000)
    except RuntimeError:
        structlog.get_logger().exception(
            "failed",
            text="y" * 10_000_000,
            many=list(range(1_000_000)),
            nested=nested,
            odd=object(),
            one=Fraction(1, 3),
        )

    assert len(stream.getvalue()) < 60_000


def test_a_secret_prints_as_stars() -> None:
    """In a field, in a message, in the representation of what holds it."""
    stream = io.StringIO()
    start_logging("json", stream=stream)
    source = UsageSource(type="prometheus", username="u", password=SecretText("hunter2"))
    structlog.get_logger().info("source", password=source.password, text=f"{source} {source.password}")

    (line,) = lines(stream)
    assert line["password"] == "***"
    assert "hunter2" not in stream.getvalue()


def test_an_exception_whose_text_raises_is_logged() -> None:
    """A plugin may raise anything."""

    class OddError(Exception):
        def __str__(self) -> str:
            raise ValueError("no text")

    for form in ("json", "console"):
        stream = io.StringIO()
        start_logging(form, stream=stream)
        structlog.get_logger().error("cycle_failed", exc_info=OddError())
        assert "OddError" in stream.getvalue()


@pytest.fixture
async def socket(tmp_path: Path) -> AsyncIterator[LevelSocket]:
    """A socket that is served."""
    served = LevelSocket(str(tmp_path / "socks"), Level(logging.INFO), verbosity=2)
    await served.start()
    yield served
    await served.stop()


async def ask(socket: LevelSocket, path: str) -> tuple[int, str]:
    """Ask over the socket."""
    async with (
        aiohttp.ClientSession(connector=aiohttp.UnixConnector(str(socket.path))) as session,
        session.get(f"http://localhost{path}") as answer,
    ):
        return answer.status, (await answer.text()).strip()


async def test_socket_sets_the_verbosity_for_a_while(socket: LevelSocket) -> None:
    """Verbosity 4 holds for the time asked, then the first one is back."""
    assert await ask(socket, "/getlevel") == (200, "2")
    await ask(socket, "/setlevel?level=4&duration=1h")
    assert await ask(socket, "/getlevel") == (200, "4")
    await ask(socket, "/setlevel?level=4&duration=50ms")
    async with asyncio.timeout(30):
        while await ask(socket, "/getlevel") != (200, "2"):  # noqa: ASYNC110 - what is waited for has no event
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("query", ["level=0&duration=1s", "level=x&duration=1s", "level=3&duration=soon"])
async def test_socket_refuses_what_it_cannot_read(socket: LevelSocket, query: str) -> None:
    """A wrong level or duration changes nothing."""
    status, _ = await ask(socket, f"/setlevel?{query}")

    assert status == 400
    assert await ask(socket, "/getlevel") == (200, "2")
