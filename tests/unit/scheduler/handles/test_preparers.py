"""Preparers of plugins run in threads of their own."""

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from pyroclast.model.ids import NodeName, TaskId
from pyroclast.model.plan import Bind, Preparation
from pyroclast.scheduler.handles.preparers import PreparerEndedError, in_threads

BIND = Bind(task=TaskId("u"), job=None, namespace="ns", name="p", node=NodeName("n"))
STEP = Preparation(kind="copy", namespace="ns", name="data")


@dataclass
class Copier:
    """Notes its calls, and does something in each."""

    work: Callable[[], object] = lambda: None
    calls: list[tuple[str, str, str]] = field(default_factory=list)

    async def prepare(self, bind: Bind, preparation: Preparation) -> None:
        """Note the call."""
        self.calls.append(("prepare", f"{bind.name} {preparation.name}", threading.current_thread().name))
        self.work()

    async def revert(self, bind: Bind, preparation: Preparation) -> None:
        """Note the call."""
        self.calls.append(("revert", f"{bind.name} {preparation.name}", threading.current_thread().name))


def raising(error: BaseException) -> Callable[[], None]:
    """Return a function that raises an exception."""

    def work() -> None:
        raise error

    return work


async def test_calls_run_in_a_thread_of_the_kind() -> None:
    """The scheduler waits for their ends."""
    copier = Copier()
    preparer = in_threads({"copy": copier})["copy"]
    await preparer.prepare(BIND, STEP)
    await preparer.revert(BIND, STEP)

    assert copier.calls == [("prepare", "p data", "plugin-copy"), ("revert", "p data", "plugin-copy")]


async def test_a_preparer_that_blocks_delays_its_own_pods_alone() -> None:
    """The event loop of the scheduler and other preparers continue."""
    released, other = threading.Event(), Copier()
    preparers = in_threads({"copy": Copier(released.wait), "other": other})
    blocked = asyncio.create_task(preparers["copy"].prepare(BIND, STEP))
    await preparers["other"].prepare(BIND, STEP)

    assert other.calls
    assert not blocked.done()
    released.set()
    await asyncio.wait_for(blocked, 30)


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError()])
async def test_an_exception_that_ends_processes_fails_the_preparation(error: BaseException) -> None:
    """The binder reports it as any other failure."""
    preparer = in_threads({"copy": Copier(raising(error))})["copy"]

    with pytest.raises(PreparerEndedError, match=type(error).__name__):
        await preparer.prepare(BIND, STEP)


async def test_other_exceptions_stay_as_they_are() -> None:
    """Their text is that of the plugin."""
    preparer = in_threads({"copy": Copier(raising(LookupError("no data set")))})["copy"]

    with pytest.raises(LookupError, match="no data set"):
        await preparer.prepare(BIND, STEP)
