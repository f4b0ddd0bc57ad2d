"""At most one leads, and who loses the lease knows it by the clock alone."""

import asyncio
import random
from dataclasses import dataclass, field
from typing import Any

import pytest

from pyroclast.kube.api.client import Client
from pyroclast.kube.lease import Elector, LeaseOptions
from pyroclast.model.errors import ConfigError
from tests.unit.kube.world import FakeClock, World

PATH = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/volcano"


def elector(world: World, identity: str, clock: FakeClock | None = None, client: Client | None = None) -> Elector:
    """A candidate with a clock that stands still unless it sleeps."""
    return Elector(
        client or world.client,
        LeaseOptions(namespace="kube-system", name="volcano", identity=identity),
        clock=clock or world.clock,
        chance=random.Random(1),
    )


class Work:
    """A leader's work: goes on until cancelled."""

    def __init__(self) -> None:
        """Not begun."""
        self.started = asyncio.Event()
        self.stopped = asyncio.Event()
        self.reported = asyncio.Event()

    async def __call__(self) -> None:
        """Work for ever."""
        self.started.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.stopped.set()

    async def on_stopped(self) -> None:
        """The work has ended by now."""
        assert self.stopped.is_set()
        self.reported.set()


@dataclass
class StoppedClock(FakeClock):
    """A clock that the test alone moves; sleepers wake when their time has come."""

    sleepers: list[float] = field(default_factory=list)
    """When who sleeps will wake."""

    async def sleep(self, seconds: float) -> None:
        """Wait for the test to move the time."""
        until = self.now + seconds
        self.sleepers.append(until)
        try:
            while self.now < until:  # noqa: ASYNC110  the fake clock has no event
                await asyncio.sleep(0.001)
        finally:
            self.sleepers.remove(until)

    async def step(self, world: World, seconds: float, work: Work) -> None:
        """Let time pass, and an elector do what is due: then it sleeps again, or its work has ended."""
        self.now += seconds
        await world.soon(lambda: work.stopped.is_set() or any(until > self.now for until in self.sleepers))


async def lease(world: World) -> Any:
    """What the server holds."""
    return (await world.client.request_json("GET", PATH))["spec"]


async def test_the_first_candidate_creates_the_lease(world: World) -> None:
    """It is written as client-go writes it."""
    work, leading = Work(), elector(world, "one", StoppedClock())
    world.start(leading.run(work))
    await asyncio.wait_for(work.started.wait(), 30)

    spec = await lease(world)

    assert leading.is_leader
    assert (spec["holderIdentity"], spec["leaseDurationSeconds"], spec["leaseTransitions"]) == ("one", 15, 0)
    assert spec["renewTime"].endswith("Z")
    assert len(spec["renewTime"]) == len("2026-01-01T00:00:00.000000Z")


async def test_the_second_waits_and_takes_over_when_the_lease_expires(world: World) -> None:
    """Measured by its own clock, since it saw the last renewal; the transition is counted."""
    first_clock, second_clock = StoppedClock(), StoppedClock()
    first, second = Work(), Work()
    leading = elector(world, "one", first_clock)
    task = world.start(leading.run(first))
    await asyncio.wait_for(first.started.wait(), 30)
    candidate = elector(world, "two", second_clock)
    world.start(candidate.run(second))
    await world.soon(lambda: candidate.leader == "one")

    second_clock.now += 14
    await asyncio.sleep(0.05)
    assert not second.started.is_set()
    world.faults.add(effect="error", resource="leases", verb="update", code=503)
    task.cancel()
    await asyncio.wait_for(first.stopped.wait(), 30)
    await asyncio.wait((task,))
    world.faults.clear()
    second_clock.now += 10
    await asyncio.wait_for(second.started.wait(), 30)

    assert candidate.is_leader
    assert (await lease(world))["leaseTransitions"] == 1


async def test_an_unrenewed_lease_is_taken_when_it_expires(world: World) -> None:
    """And not at the next try of a row, when there would be no leader."""
    held = elector(world, "one", StoppedClock())
    first = Work()
    task = world.start(held.run(first))
    await asyncio.wait_for(first.started.wait(), 30)
    clock, work = StoppedClock(), Work()
    candidate = elector(world, "two", clock)
    world.start(candidate.run(work))
    await world.soon(lambda: candidate.leader == "one")
    world.faults.add(effect="error", resource="leases", verb="update", code=503)
    task.cancel()  # nor can it be released
    await asyncio.wait((task,))
    world.faults.clear()

    clock.now += 14.9
    await asyncio.sleep(0.05)
    assert not work.started.is_set()
    clock.now += 0.1
    await asyncio.wait_for(work.started.wait(), 30)

    assert candidate.is_leader


async def test_leadership_ends_by_the_clock_alone(world: World) -> None:
    """Even when nothing runs on the loop, `is_leader` turns false at the deadline."""
    clock, work = StoppedClock(), Work()
    leading = elector(world, "one", clock)
    world.start(leading.run(work))
    await asyncio.wait_for(work.started.wait(), 30)

    clock.now += 9.9
    assert leading.is_leader
    clock.now += 0.2
    assert not leading.is_leader


async def test_a_server_that_does_not_answer_ends_leadership(world: World) -> None:
    """The work is cancelled and awaited before another process may lead."""
    clock, work = StoppedClock(), Work()
    leading = elector(world, "one", clock)
    world.start(leading.run(work, work.on_stopped))
    await asyncio.wait_for(work.started.wait(), 30)
    world.faults.add(effect="error", resource="leases", code=503)

    for _ in range(6):
        await clock.step(world, 2.1, work)
    await asyncio.wait_for(work.reported.wait(), 30)

    assert not leading.is_leader
    assert (await lease_of_store(world))["holderIdentity"] == "one"


async def test_the_work_ends_at_the_deadline_and_no_retry_period_later(world: World) -> None:
    """A failed try just before the deadline does not put off the end: the margin is for requests under way."""
    clock, work = StoppedClock(), Work()
    leading = elector(world, "one", clock)
    world.start(leading.run(work, work.on_stopped))
    await asyncio.wait_for(work.started.wait(), 30)
    world.faults.add(effect="error", resource="leases", code=503)
    began = clock.now

    for _ in range(10):
        await clock.step(world, 0.9, work)  # tries at 2.7, 5.4 and 8.1 s; the next would be due at 10.1 s
    clock.now = began + 10.01

    await asyncio.wait_for(work.stopped.wait(), 30)


async def lease_of_store(world: World) -> Any:
    """Read the lease past the faults."""
    world.faults.clear()
    return await lease(world)


async def test_one_failed_renewal_is_no_loss(world: World) -> None:
    """The next one within the deadline counts."""
    clock, work = StoppedClock(), Work()
    leading = elector(world, "one", clock)
    world.start(leading.run(work))
    await asyncio.wait_for(work.started.wait(), 30)
    world.faults.add(effect="error", resource="leases", code=500, count=1)

    for _ in range(8):
        await clock.step(world, 2.1, work)

    assert leading.is_leader
    assert not work.stopped.is_set()


async def test_a_renewal_whose_answer_was_lost_is_found_again(world: World) -> None:
    """The lease changed by our own hand: it is still ours."""
    clock, work = StoppedClock(), Work()
    leading = elector(world, "one", clock)
    world.start(leading.run(work))
    await asyncio.wait_for(work.started.wait(), 30)
    world.faults.add(effect="lost", resource="leases", verb="update", count=1)

    for _ in range(8):
        await clock.step(world, 2.1, work)

    assert leading.is_leader
    assert (await lease(world))["leaseTransitions"] == 0


async def test_a_lease_taken_by_another_ends_leadership_at_once(world: World) -> None:
    """Compare-and-swap: our next renewal is refused, and we see who holds it."""
    clock, work = StoppedClock(), Work()
    leading = elector(world, "one", clock)
    world.start(leading.run(work, work.on_stopped))
    await asyncio.wait_for(work.started.wait(), 30)
    await world.patch(PATH, {"spec": {"holderIdentity": "usurper"}})

    clock.now += 2.1
    await asyncio.wait_for(work.reported.wait(), 30)

    assert not leading.is_leader
    assert leading.leader == "usurper"


async def test_stopping_releases_the_lease(world: World) -> None:
    """The work ends first; then the lease has no holder, and the next candidate need not wait."""
    work, leading = Work(), elector(world, "one", StoppedClock())
    task = world.start(leading.run(work, work.on_stopped))
    await asyncio.wait_for(work.started.wait(), 30)

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert work.reported.is_set()
    assert (await lease(world))["holderIdentity"] == ""
    successor, after = Work(), elector(world, "two", StoppedClock())
    world.start(after.run(successor))
    await asyncio.wait_for(successor.started.wait(), 30)


async def test_a_crash_of_the_work_is_passed_on(world: World) -> None:
    """A leader that does nothing must not keep the lease."""

    async def crash() -> None:
        raise RuntimeError("a bug")

    with pytest.raises(RuntimeError, match="a bug"):
        await asyncio.wait_for(elector(world, "one", StoppedClock()).run(crash), 30)

    assert (await lease(world))["holderIdentity"] == ""


async def test_a_jump_of_the_wall_clock_changes_nothing(world: World) -> None:
    """Neither the leader nor the candidate looks at times of day."""
    first_clock, second_clock = StoppedClock(), StoppedClock()
    first, second = Work(), Work()
    leading, candidate = elector(world, "one", first_clock), elector(world, "two", second_clock)
    world.start(leading.run(first))
    await asyncio.wait_for(first.started.wait(), 30)
    first_clock.wall_offset -= 86_400
    second_clock.wall_offset += 86_400
    world.start(candidate.run(second))
    await world.soon(lambda: candidate.leader == "one")
    for _ in range(8):
        await first_clock.step(world, 2.1, first)
        await second_clock.step(world, 2.1, second)

    assert leading.is_leader
    assert not second.started.is_set()


async def test_a_lease_that_client_go_released_is_free(world: World) -> None:
    """Empty holder, one second: no waiting."""
    await world.post(
        "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases",
        {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": "volcano", "labels": {"kept": "yes"}},
            "spec": {
                "holderIdentity": "",
                "leaseDurationSeconds": 1,
                "acquireTime": "2026-01-01T00:00:00.000000Z",
                "renewTime": "2026-01-01T00:00:00.000000Z",
                "leaseTransitions": 4,
            },
        },
    )
    work, leading = Work(), elector(world, "one", StoppedClock())
    world.start(leading.run(work))
    await asyncio.wait_for(work.started.wait(), 30)

    whole = await world.client.request_json("GET", PATH)

    assert whole["spec"]["leaseTransitions"] == 5
    assert whole["metadata"]["labels"] == {"kept": "yes"}


@pytest.mark.parametrize("times", [(10, 10.0, 2.0), (15, 2.0, 2.0)])
def test_times_that_would_let_two_lead_are_refused(times: tuple[int, float, float]) -> None:
    """The lease outlives the deadline, and the deadline several tries."""
    with pytest.raises(ConfigError, match="leader election"):
        LeaseOptions(
            namespace="n",
            name="l",
            identity="i",
            lease_seconds=times[0],
            renew_deadline_seconds=times[1],
            retry_seconds=times[2],
        )
