"""The work queue calls for each key as often as needed, one call at a time, and drops none."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest
from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from pyroclast.controllers.runtime.store import Key
from pyroclast.controllers.runtime.work_queue import WorkQueue
from pyroclast.controllers.runtime.writer import NamespaceEndingError, NameTakenError
from pyroclast.kube.api.errors import ApiError
from tests.unit.controllers.moving import MovedClock, settled

A: Key = ("default", "a")
B: Key = ("default", "b")


@pytest.fixture
def clock() -> MovedClock:
    """The time of the test."""
    return MovedClock()


@asynccontextmanager
async def running(
    handle: Callable[[Key], Awaitable[float | None]], clock: MovedClock, *, workers: int = 1, name: str = "test"
) -> AsyncIterator[WorkQueue]:
    """A queue at work."""
    queue = WorkQueue(name, handle, workers=workers, clock=clock, chance=random.Random(1))
    task = asyncio.create_task(queue.run())
    yield queue
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


class Calls:
    """Records calls; answers or fails as configured."""

    def __init__(self, clock: MovedClock, *answers: float | Exception | None) -> None:
        self.clock, self.answers = clock, list(answers)
        self.made: list[tuple[str, float]] = []

    async def __call__(self, key: Key) -> float | None:
        """Note the call."""
        self.made.append((key[1], round(self.clock.now - 1000.0, 6)))
        answer = self.answers.pop(0) if self.answers else None
        if isinstance(answer, Exception):
            raise answer
        return answer

    @property
    def names(self) -> list[str]:
        """Keys in the order of their calls."""
        return [name for name, _ in self.made]

    @property
    def waits(self) -> list[float]:
        """Seconds between calls."""
        times = [time for _, time in self.made]
        return [later - earlier for earlier, later in pairwise(times)]


async def test_keys_of_a_namespace_come_in_the_order_in_which_they_were_added(clock: MovedClock) -> None:
    """First come, first served."""
    calls = Calls(clock)
    async with running(calls, clock) as queue:
        for key in (B, A, ("default", "c")):
            queue.add(key)
        await queue.idle()

    assert calls.names == ["b", "a", "c"]


async def test_a_key_that_waits_is_not_added_twice(clock: MovedClock) -> None:
    """Ten changes of one object are one look at it."""
    calls = Calls(clock)
    async with running(calls, clock) as queue:
        for _ in range(10):
            queue.add(A)
        assert queue.depth == 1
        await queue.idle()

    assert calls.names == ["a"]


async def test_a_key_added_while_at_work_comes_again_afterwards(clock: MovedClock) -> None:
    """What changed during a look is looked at, by the same worker or another, never beside the first."""
    at_work, most = 0, 0
    release = asyncio.Event()
    seen = []

    async def handle(key: Key) -> None:
        nonlocal at_work, most
        at_work += 1
        most = max(most, at_work)
        seen.append(key[1])
        await release.wait()
        at_work -= 1

    async with running(handle, clock, workers=4) as queue:
        queue.add(A)
        await settled()
        queue.add(A)
        queue.add(A)
        await settled()
        assert seen == ["a"]
        release.set()
        await queue.idle()

    assert (seen, most) == (["a", "a"], 1)


async def test_different_keys_are_worked_on_side_by_side(clock: MovedClock) -> None:
    """As many as there are workers."""
    release = asyncio.Event()
    seen = []

    async def handle(key: Key) -> None:
        seen.append(key[1])
        await release.wait()

    async with running(handle, clock, workers=2) as queue:
        for name in "abc":
            queue.add(("", name))
        await settled()
        assert seen == ["a", "b"]
        release.set()
        await queue.idle()
    assert seen == ["a", "b", "c"]


async def test_a_failing_key_is_tried_again_with_growing_waits(clock: MovedClock) -> None:
    """5 ms, doubled each time, a part of it left to chance."""
    calls = Calls(clock, *[ApiError(500, "Broken", "broken")] * 6)
    async with running(calls, clock) as queue:
        queue.add(A)
        await clock.move(10)

    assert len(calls.made) == 7
    for number, wait in enumerate(calls.waits):
        assert 0.8 * 0.005 * 2**number <= wait + 1e-6 <= 0.005 * 2**number + 2e-6


async def test_waits_stop_growing_at_five_minutes(clock: MovedClock) -> None:
    """A key that fails for a day is tried some three hundred times in it, not twice."""
    calls = Calls(clock, *[ApiError(500, "Broken", "broken")] * 1000)
    async with running(calls, clock) as queue:
        queue.add(A)
        await clock.move(86_400)

    assert all(wait <= 300.001 for wait in calls.waits)
    assert all(wait >= 239.999 for wait in calls.waits[20:])
    assert len(calls.made) > 280


async def test_a_success_ends_the_row_of_failures(clock: MovedClock) -> None:
    """The next failure waits as little as the first."""
    calls = Calls(clock, *[ApiError(500, "Broken", "broken")] * 8, None, ValueError("broken again"))
    async with running(calls, clock) as queue:
        queue.add(A)
        await clock.move(10)
        assert queue.failures(A) == 0
        queue.add(A)
        await clock.move(0.006)

    assert len(calls.made) == 11


async def test_the_server_may_ask_for_a_longer_wait(clock: MovedClock) -> None:
    """Retry-After counts when it is longer."""
    calls = Calls(clock, ApiError(429, "TooManyRequests", "slow down", retry_after=7))
    async with running(calls, clock) as queue:
        queue.add(A)
        await clock.move(10)

    assert calls.waits == [7]


async def test_an_event_does_not_wait_for_the_back_off(clock: MovedClock) -> None:
    """What changed may be what was missing."""
    calls = Calls(clock, *[ApiError(500, "Broken", "broken")] * 20)
    async with running(calls, clock) as queue:
        queue.add(A)
        await clock.move(40)
        tries = len(calls.made)
        queue.add(A)
        await settled()

    assert len(calls.made) == tries + 1


async def test_changes_of_a_failing_key_do_not_make_the_waits_longer(clock: MovedClock) -> None:
    """Its retry stays due when it was, however many changes were looked at in vain before."""
    calls = Calls(clock, *[ApiError(500, "Broken", "broken")] * 10, None)
    async with running(calls, clock) as queue:
        for _ in range(10):
            queue.add(A)
            await settled()
        assert (len(calls.made), queue.failures(A)) == (10, 1)
        await clock.move(0.006)

    assert len(calls.made) == 11


async def test_a_key_comes_again_when_it_asked_to(clock: MovedClock) -> None:
    """The answer of a reconciler is the time until the next call."""
    calls = Calls(clock, 30.0, 60.0)
    async with running(calls, clock) as queue:
        queue.add(A)
        await clock.move(200)

    assert calls.waits == [30, 60]


async def test_of_several_times_the_earliest_counts(clock: MovedClock) -> None:
    """A later time does not put off an earlier one; each comes once."""
    calls = Calls(clock)
    async with running(calls, clock) as queue:
        queue.add_after(A, 30)
        queue.add_after(A, 10)
        queue.add_after(A, 20)
        await clock.move(100)

    assert calls.made == [("a", 10)]


async def test_an_earlier_time_ends_the_wait_for_a_later_one(clock: MovedClock) -> None:
    """The clock is watched anew whenever an earlier time becomes known."""
    calls = Calls(clock)
    async with running(calls, clock) as queue:
        queue.add_after(A, 100)
        await clock.move(5)
        queue.add_after(B, 10)
        await clock.move(200)

    assert calls.made == [("b", 15), ("a", 100)]


async def test_no_time_at_all_means_now(clock: MovedClock) -> None:
    """A deadline that has passed is no reason to wait."""
    calls = Calls(clock)
    async with running(calls, clock) as queue:
        queue.add_after(A, -3)
        await queue.idle()

    assert calls.names == ["a"]


async def test_outdated_times_do_not_pile_up(clock: MovedClock) -> None:
    """A key whose time comes nearer a thousand times is one entry and a few spare ones."""
    queue = WorkQueue("test", Calls(clock), clock=clock)
    for number in range(1000):
        queue.add_after(A, 5000 - number)

    assert len(queue._heap) < 100


async def test_a_cancelled_queue_keeps_what_waits(clock: MovedClock) -> None:
    """Work that is stopped and begun again goes on where it was."""
    calls = Calls(clock)
    queue = WorkQueue("test", calls, clock=clock)
    queue.add(A)
    task = asyncio.create_task(queue.run())
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    async with asyncio.TaskGroup() as group:
        again = group.create_task(queue.run())
        await queue.idle()
        again.cancel()

    assert calls.names == ["a"]


async def test_a_stopped_queue_ends_when_its_calls_have_ended(clock: MovedClock) -> None:
    """What runs comes to its end, what waits is not begun, and all workers leave."""
    release = asyncio.Event()
    ended = []

    async def handle(key: Key) -> None:
        await release.wait()
        ended.append(key[1])

    queue = WorkQueue("test", handle, workers=2, clock=clock)
    for name in "abc":
        queue.add(("", name))
    task = asyncio.create_task(queue.run())
    await settled()
    queue.stop()
    await settled()
    assert not task.done()
    release.set()
    await asyncio.wait_for(task, 30)

    assert (ended, queue.depth) == (["a", "b"], 1)


async def test_what_is_done_is_counted(clock: MovedClock) -> None:
    """Depth, adds, retries, durations and outcomes, by the controller's name."""

    def value(name: str, **labels: str) -> float:
        return REGISTRY.get_sample_value(name, {"name": "counted", **labels}) or 0.0

    calls = Calls(clock, ApiError(500, "Broken", "broken"))
    async with running(calls, clock, name="counted") as queue:
        queue.add(A)
        queue.add(B)
        assert value("workqueue_depth") == 2
        queue.add_after(("", "later"), 60)
        assert value("workqueue_delayed") == 1
        await clock.move(1)

        assert value("workqueue_depth") == 0
        assert value("workqueue_adds_total") == 3
        assert value("workqueue_retries_total") == 1
        assert value("pyroclast_reconciles_total", result="done") == 2
        assert value("pyroclast_reconciles_total", result="failed") == 1
        assert value("workqueue_work_duration_seconds_count") == 3
        assert value("workqueue_queue_duration_seconds_count") == 3


async def test_long_runs_are_reported(clock: MovedClock) -> None:
    """The age of the oldest call is a gauge."""
    never = asyncio.Event()

    async def handle(key: Key) -> None:
        await never.wait()

    async with running(handle, clock, name="slow") as queue:
        queue.add(A)
        await clock.move(90)

        assert queue.longest_running_seconds == 90
        assert REGISTRY.get_sample_value("workqueue_longest_running_processor_seconds", {"name": "slow"}) == 90


@pytest.mark.parametrize(
    "error",
    [
        ApiError(403, "Forbidden", "exceeded quota"),
        ApiError(403, "Forbidden", "no PriorityClass with name urgent was found"),
        NameTakenError("Pod p is there already"),
    ],
)
async def test_what_others_can_clear_is_tried_every_ten_seconds(clock: MovedClock, error: Exception) -> None:
    """A raised quota has no event; other failures wait for longer and longer."""
    calls = Calls(clock, *[error] * 40)
    async with running(calls, clock) as queue:
        queue.add(A)
        await clock.move(200)
        assert max(calls.waits[1:]) <= 10.0
        assert min(calls.waits[-5:]) >= 8.0


async def test_the_end_of_a_namespace_is_no_failure(clock: MovedClock) -> None:
    """It is looked at again, quietly, until its objects are gone."""

    def failed() -> float:
        return REGISTRY.get_sample_value("pyroclast_reconciles_total", {"name": "ending", "result": "failed"}) or 0.0

    calls = Calls(clock, *[NamespaceEndingError("namespace team is being terminated")] * 3)
    with capture_logs() as logs:
        async with running(calls, clock, name="ending") as queue:
            queue.add(A)
            await clock.move(60)

    assert calls.made == [("a", 0.0), ("a", 10.0), ("a", 20.0), ("a", 30.0)]
    assert failed() == 0
    assert {each["log_level"] for each in logs} <= {"debug"}


async def test_the_time_of_an_object_that_is_gone_is_dropped(clock: MovedClock) -> None:
    """A call that returns no time drops an earlier one, which may be a year away."""
    calls = Calls(clock, 31_536_000.0, None)
    async with running(calls, clock) as queue:
        queue.add(A)
        await settled()
        assert list(queue._due) == [A]
        queue.add(A)
        await settled()

        assert not queue._due
        await clock.move(40_000_000.0)
        assert calls.names == ["a", "a"]


async def test_namespaces_take_turns(clock: MovedClock) -> None:
    """A key of another namespace comes second, though a hundred came before it."""
    calls = Calls(clock)
    async with running(calls, clock) as queue:
        for number in range(100):
            queue.add(("noisy", f"n{number}"))
        queue.add(A)
        queue.add(B)
        await settled()

    assert calls.names[:4] == ["n0", "a", "n1", "b"]
    assert calls.names[4:] == [f"n{number}" for number in range(2, 100)]
