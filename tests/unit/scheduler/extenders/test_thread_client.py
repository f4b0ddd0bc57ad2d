"""The cycle's thread waits for an extender: never for ever, and not when the process ends."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from pyroclast.framework.configuration import parse
from pyroclast.framework.extension.outside import CycleCut, Question
from pyroclast.scheduler.extenders.client import NoReplyError
from pyroclast.scheduler.extenders.thread_client import Waiting
from tests.unit.scheduler.extenders.serving import looping, question


class Answering:
    """A client that gives an answer, or raises it."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    async def post(self, _: Question) -> bytes:
        """Answer."""
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer  # type: ignore[no-any-return]  # bytes, as each test says


class Silent:
    """A client that is asked, and says nothing until it is let go."""

    def __init__(self) -> None:
        self.is_asked, self.is_let_go = threading.Event(), threading.Event()

    async def post(self, _: Question) -> bytes:
        """Say nothing."""
        self.is_asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.is_let_go.set()
        raise AssertionError("nobody sets it")


def asking(client: Any, loop: Any, **named: Any) -> Waiting:
    """Wait for a client of a test."""
    return Waiting(client, loop, **named)


@pytest.mark.parametrize(
    ("content", "value"), [(b'{"a": [1, 2.5, null]}', {"a": [1, 2.5, None]}), (b"null", None), (b"7", 7)]
)
def test_an_answer_is_read(content: bytes, value: Any) -> None:
    """Any JSON; what shape it should have is for who asked."""
    with looping() as loop:
        answer = asking(Answering(content), loop).ask("extender", question("http://there/verb"))
    assert (answer.value, answer.error) == (value, "")


@pytest.mark.parametrize(
    "content", [b"", b"{", b"{}{}", b"\xff\xfe", b'{"score": NaN}', b'{"score": 1e999}', b"[" * 100_000, b"<html>"]
)
def test_what_is_no_json(content: bytes) -> None:
    """A number that is none included: what is not finite cannot be compared."""
    with looping() as loop:
        answer = asking(Answering(content), loop).ask("extender", question("http://there/verb"))
    assert answer.value is None
    assert answer.error.startswith(": an answer that is no JSON: ")


def test_an_unneeded_answer_is_not_read() -> None:
    """Whatever it is."""
    with looping() as loop:
        answer = asking(Answering(b"{"), loop).ask("extender", question("http://there/verb", wants_answer=False))
    assert (answer.value, answer.error) == (None, "")


def test_a_failure_is_an_answer() -> None:
    """The caller that counts is notified."""
    told: list[tuple[Any, ...]] = []
    with looping() as loop:
        waiting = asking(Answering(NoReplyError(", code 500")), loop, on_exchange=lambda *each: told.append(each))
        assert waiting.ask("quota", question("http://there/verb")).error == ", code 500"
    ((instance, verb, is_answered, seconds),) = told
    assert (instance, verb, is_answered) == ("quota", "verb", False)
    assert seconds >= 0


def test_waiting_calls_end_with_the_process() -> None:
    """And the exchange with him."""
    client = Silent()
    with looping() as loop, ThreadPoolExecutor(1) as thread:
        waiting = asking(client, loop)
        waits = thread.submit(waiting.ask, "extender", question("http://there/verb", seconds=300))
        assert client.is_asked.wait(30)
        waiting.stop()
        assert isinstance(waits.exception(30), CycleCut)
        assert client.is_let_go.wait(30)


def test_no_request_is_sent_after_that() -> None:
    """The next question ends the cycle."""
    with looping() as loop:
        waiting = asking(Answering(b"{}"), loop)
        waiting.stop()
        with pytest.raises(CycleCut):
            waiting.ask("extender", question("http://there/verb"))


def test_a_cycle_that_is_cut_is_no_failure_of_a_plugin() -> None:
    """Fences around plugins catch what plugins raise; this they must not."""
    assert not issubclass(CycleCut, Exception)


def test_each_plugin_of_a_configuration_has_a_client() -> None:
    """Under its own name."""
    parsed = parse(
        {
            "actions": "allocate",
            "tiers": [
                {"plugins": [{"name": "gang"}]},
                {"plugins": [{"name": "extender"}, {"name": "extender", "instance": "quota"}]},
            ],
        },
        known_plugins=("gang", "extender"),
        known_actions=("allocate",),
    )
    told: list[str] = []
    with looping() as loop:
        waiting = asking(Answering(b"{}"), loop, on_exchange=lambda instance, *_: told.append(instance))
        outside = waiting.outside(parsed.configuration)
        assert set(outside) == {"gang", "extender", "quota"}
        outside["quota"].ask(question("http://there/verb"))
    assert told == ["quota"]


@pytest.mark.parametrize(("budget", "entry", "asked"), [(0.0, "", 3), (0.0, "timeBudget: 1ms", 1), (0.001, "", 1)])
def test_requests_of_a_cycle_have_a_time_budget(budget: float, entry: str, asked: int) -> None:
    """Once it is used up no request is sent, and the answer says so; the next cycle begins anew."""

    class Slow(Answering):
        count = 0

        async def post(self, question: Question) -> bytes:
            self.count += 1
            await asyncio.sleep(0.01)
            return await super().post(question)

    text = f"actions: allocate\ntiers: [{{plugins: [{{name: extender, {entry or 'arguments: {}'}}}]}}]"
    configuration = parse(text, known_plugins=("extender",), known_actions=("allocate",)).configuration
    client = Slow(b"7")
    with looping() as loop:
        waiting = asking(client, loop, budget_seconds=budget)
        outside = waiting.outside(configuration)["extender"]
        answers = [outside.ask(question("http://there/verb")) for _ in range(3)]
        again = waiting.outside(configuration)["extender"].ask(question("http://there/verb"))

    assert client.count == asked + 1
    assert ["time budget" in answer.error for answer in answers] == [number >= asked for number in range(3)]
    assert again.value == 7
