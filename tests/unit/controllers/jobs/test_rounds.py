"""A round over the pods of a Job ends when going on makes no sense, and keeps little of what failed."""

import asyncio
import gc
from collections.abc import Awaitable, Callable

import pytest

from pyroclast.controllers.jobs.rounds import SyncRound
from pyroclast.controllers.runtime.writer import NamespaceEndingError
from pyroclast.kube.api.errors import ApiError, NoAnswerError
from pyroclast.model.errors import PyroclastError


def run(
    work: Callable[[int], Awaitable[None]], count: int, *, should_continue: Callable[[], bool] = lambda: True
) -> SyncRound[int]:
    """Run a round over so many items."""
    made = SyncRound[int](at_a_time=16, should_continue=should_continue)
    asyncio.run(made.run(work, range(count)))
    return made


@pytest.mark.parametrize(
    ("error", "most"),
    [
        (ApiError(403, "Forbidden", "exceeded quota"), 1),
        (NamespaceEndingError("it ends"), 1),
        (ApiError(422, "Invalid", "hostAliases: not an IP"), 5 + 16),
        (ApiError(413, "RequestEntityTooLarge", "too large"), 5 + 16),
        (ApiError(500, "InternalError", "webhook"), 20 + 16),
        (NoAnswerError("no answer"), 20 + 16),
    ],
    ids=["forbidden", "namespace ends", "invalid", "too large", "webhook", "no answer"],
)
def test_a_round_that_only_fails_ends_early(error: PyroclastError, most: int) -> None:
    """Three thousand pods of one template are not sent three thousand times for the same refusal."""
    calls = 0

    async def work(_: int) -> None:
        nonlocal calls
        calls += 1
        await asyncio.sleep(0)
        raise error

    made = run(work, 3000)

    assert 1 <= calls <= most
    assert made.failed == calls
    assert made.first is error


def test_failures_among_successes_end_nothing() -> None:
    """A server that fails for every third request gets them all."""
    done: list[int] = []

    async def work(item: int) -> None:
        await asyncio.sleep(0)
        if item % 3 == 2:
            raise NoAnswerError("lost")
        done.append(item)

    made = run(work, 300)

    assert len(done) == 200
    assert made.failed == 100


def test_a_round_ends_when_the_job_is_gone() -> None:
    """Pods are not made for a Job that was deleted meanwhile."""
    calls: list[int] = []

    async def work(item: int) -> None:
        await asyncio.sleep(0)
        calls.append(item)

    run(work, 3000, should_continue=lambda: len(calls) < 50)

    assert len(calls) <= 50 + 16


def test_a_round_keeps_nothing_of_what_it_sent() -> None:
    """The exceptions of failed calls hold their frames, and those the bodies."""

    class Body(list[int]):
        pass

    async def work(item: int) -> None:
        body = Body(range(1000))
        await asyncio.sleep(0)
        if item % 2:
            raise ApiError(500, "InternalError", f"{len(body)} items")

    made = run(work, 100)
    gc.collect()

    assert made.failed == 50
    assert not [each for each in gc.get_objects() if isinstance(each, Body)]


@pytest.mark.parametrize("count", [0, 1, 2, 100])
def test_every_item_is_worked_on_once(count: int) -> None:
    """In order, sixteen at a time, the first one alone."""
    seen: list[int] = []

    async def work(item: int) -> None:
        seen.append(item)
        await asyncio.sleep(0)

    run(work, count)

    assert seen == list(range(count))
