"""Calls side by side: a failure waits for the others."""

import asyncio

import pytest

from pyroclast.kube.api.concurrent_calls import gathered


async def test_results_come_in_order() -> None:
    """Whichever ends first."""

    async def after(seconds: float, result: int) -> int:
        await asyncio.sleep(seconds)
        return result

    assert await gathered((after(0.01, 1), after(0.0, 2))) == [1, 2]


async def test_the_others_have_ended_when_a_failure_is_raised() -> None:
    """Nothing goes on beside whatever the caller does next."""
    ended: list[str] = []

    async def fail() -> None:
        raise RuntimeError("first")

    async def work() -> None:
        await asyncio.sleep(0.01)
        ended.append("work")

    with pytest.raises(RuntimeError, match="first"):
        await gathered((fail(), work()))

    assert ended == ["work"]
