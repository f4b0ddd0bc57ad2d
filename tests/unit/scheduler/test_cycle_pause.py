"""The pause between cycles: short at rest when something new can be decided, the period otherwise."""

import asyncio
from functools import partial

import pytest

from pyroclast.cache.sync.wake_triggers import Trigger
from pyroclast.scheduler.daemon.cycle_pause import CyclePause

LONG = 60.0
PATIENCE = 20.0
"""Far less than the period, and far more than a machine stands still for."""
LOOK = 0.2


async def is_over(
    pause: CyclePause,
    *,
    within: float,
    cycle_seconds: float = 0.0,
    work_waits: bool = False,
    tasks_in_flight: int = 0,
) -> bool:
    """Return whether the pause ends within a time."""
    waiting = pause.wait(cycle_seconds=cycle_seconds, work_waits=work_waits, tasks_in_flight=lambda: tasks_in_flight)
    try:
        await asyncio.wait_for(waiting, timeout=within)
    except TimeoutError:
        return False
    return True


ends_early = partial(is_over, within=PATIENCE)
ends_at_once = partial(is_over, within=LOOK)


async def test_the_period_passes_where_nothing_changes() -> None:
    """The pause ends by itself."""
    await asyncio.wait_for(
        CyclePause(0.01).wait(cycle_seconds=0.0, work_waits=True, tasks_in_flight=lambda: 0), timeout=PATIENCE
    )


async def test_new_work_ends_the_pause() -> None:
    """Whether other work waits or not."""
    pause = CyclePause(LONG)
    pause.trigger(Trigger.NEW_WORK)

    assert await ends_early(pause)


async def test_new_work_is_known_until_the_next_snapshot() -> None:
    """Capacity alone is no new work."""
    pause, known = CyclePause(LONG), []
    for trigger in (Trigger.NEW_CAPACITY, Trigger.NEW_WORK):
        pause.trigger(trigger)
        known.append(pause.has_new_work)
    pause.begin_cycle()

    assert [*known, pause.has_new_work] == [False, True, False]


async def test_work_that_comes_during_the_pause_ends_it() -> None:
    """The wait ends with a later change."""
    pause = CyclePause(LONG)
    asyncio.get_running_loop().call_later(0.02, pause.trigger, Trigger.NEW_WORK)

    assert await ends_early(pause)


@pytest.mark.parametrize("work_waits", [True, False])
async def test_new_room_ends_the_pause_only_while_work_waits(work_waits: bool) -> None:
    """Nodes and queues of a cluster without pending pods may change as often as they like."""
    pause = CyclePause(LONG)
    pause.trigger(Trigger.NEW_CAPACITY)

    ends = ends_early if work_waits else ends_at_once
    assert await ends(pause, work_waits=work_waits) is work_waits


async def test_a_change_that_the_snapshot_holds_does_not_count() -> None:
    """What came before the snapshot is decided."""
    pause = CyclePause(LONG)
    pause.trigger(Trigger.NEW_WORK)
    pause.begin_cycle()

    assert not await ends_at_once(pause)


async def test_cycles_that_take_long_pause_in_proportion() -> None:
    """A cycle of a second is not followed at once by another."""
    pause = CyclePause(LONG)
    pause.trigger(Trigger.NEW_WORK)

    assert not await ends_at_once(pause, cycle_seconds=1.0)


async def test_a_longer_pause_before_counts() -> None:
    """A long cycle after a rest is followed at once by the next; the one after that pauses in proportion."""
    now = 0.0
    pause = CyclePause(LONG, monotonic=lambda: now)

    async def rest() -> None:
        nonlocal now
        now += 10.0
        pause.trigger(Trigger.NEW_WORK)

    resting = asyncio.create_task(rest())
    assert await ends_early(pause)
    await resting
    pause.begin_cycle()
    pause.trigger(Trigger.NEW_WORK)
    assert await ends_early(pause, cycle_seconds=0.4)
    pause.begin_cycle()
    pause.trigger(Trigger.NEW_WORK)
    assert not await ends_at_once(pause, cycle_seconds=0.4)


async def test_the_period_holds_while_many_plans_are_carried_out() -> None:
    """Under load cycles collect work, as Volcano's do."""
    pause = CyclePause(LONG)
    pause.trigger(Trigger.NEW_WORK)

    assert not await ends_at_once(pause, tasks_in_flight=5_000)
    assert await ends_early(pause, tasks_in_flight=3)


async def test_a_cycle_never_waits_longer_than_the_period() -> None:
    """However long the last cycle took, and however much is being carried out."""
    pause = CyclePause(0.01)
    pause.trigger(Trigger.NEW_WORK)

    assert await ends_early(pause, cycle_seconds=1000.0, tasks_in_flight=5_000)


async def test_the_flag_keeps_volcanos_rule() -> None:
    """Where changes do not count, the period always passes."""
    pause = CyclePause(LONG, wakes_on_change=False)
    pause.trigger(Trigger.NEW_WORK)

    assert not await ends_at_once(pause)


async def test_work_of_a_namespace_in_turns_does_not_end_the_pause() -> None:
    """Its jobs have a share of the periodic cycles; work of other namespaces ends the pause as before."""
    pause = CyclePause(LONG)
    pause.take_turns(frozenset({"noisy"}))
    pause.trigger(Trigger.NEW_WORK, "noisy")
    assert not await ends_at_once(pause)

    pause.trigger(Trigger.NEW_WORK, "other")
    assert await ends_early(pause)
