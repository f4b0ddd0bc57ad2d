"""Scheduling gates: the queue's own gate goes off a pod when its queue has room for it.

A pod with the annotation and the gate `scheduling.volcano.sh/queue-allocation-gate` waits outside the scheduler, so
that cluster autoscalers do not count it, until allocate finds that its queue has room for it. Removal is a patch of
that one gate: doing it twice does nothing, other gates stay, and what fails is tried again by the next cycle that finds
something changed.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

import structlog

from pyroclast.kube.backoff import Backoff
from pyroclast.kube.client import Client, MediaType
from pyroclast.kube.clock import SystemClock
from pyroclast.kube.errors import ApiError
from pyroclast.kube.resources import PODS
from pyroclast.kube.retrying import retry
from pyroclast.model.api.names import QUEUE_ALLOCATION_GATE
from pyroclast.model.report import CycleReport
from pyroclast.model.snapshot import Snapshot
from pyroclast.model.tasks import Task

__all__ = ["GateRemover", "gated_tasks", "remove_gate"]

_PATIENCE_SECONDS: Final = 30.0
_PENDING_PER_WORKER: Final = 200
"""Removals that may wait for each worker; more are left to the next cycle."""

_log = structlog.get_logger(__name__)


def gated_tasks(snapshot: Snapshot, report: CycleReport) -> list[Task]:
    """Return the tasks whose gate should go."""
    lifted = set(report.gates_lifted)
    if not lifted:
        return []
    return [task for job in snapshot.jobs.values() for task in job.tasks.values() if task.id in lifted]


async def remove_gate(client: Client, task: Task) -> None:
    """Take the gate off one pod; troubles of the server are sat out for a while.

    Raises:
        ApiError: The server refused.
    """
    gate = {"$patch": "delete", "name": QUEUE_ALLOCATION_GATE}
    await retry(
        lambda: client.request_json(
            "PATCH",
            PODS.path(task.namespace, task.name),
            body={"metadata": {"uid": task.id}, "spec": {"schedulingGates": [gate]}},
            media_type=MediaType.STRATEGIC_PATCH,
        ),
        clock=SystemClock(),
        backoff=Backoff(),
        patience_seconds=_PATIENCE_SECONDS,
    )


class GateRemover:
    """Takes gates off pods in the background, a few at a time."""

    def __init__(self, remove: Callable[[Task], Awaitable[None]], *, workers: int) -> None:
        """Take the function that removes one gate, and how many may be under way at once."""
        self._remove, self._workers = remove, workers
        self._waiting: asyncio.Queue[Task] = asyncio.Queue(workers * _PENDING_PER_WORKER)
        self._known: set[str] = set()
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Start the workers."""
        self._tasks = [asyncio.create_task(self._work(), name="gate-remover") for _ in range(self._workers)]

    async def stop(self) -> None:
        """End the workers; what waits is left to the next start."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def offer(self, tasks: Iterable[Task]) -> None:
        """Ask for the removal of gates; tasks already waiting are skipped, and never does this wait."""
        for task in tasks:
            if task.id in self._known:
                continue
            if self._waiting.full():
                _log.warning("gate_removals_full", waiting=self._waiting.qsize())
                return
            self._known.add(task.id)
            self._waiting.put_nowait(task)

    async def _work(self) -> None:
        while True:
            task = await self._waiting.get()
            try:
                await self._remove(task)
            except ApiError as error:
                _log.warning("gate_not_removed", pod=task.key, error=str(error))
            except Exception:  # noqa: BLE001 - a surprise with one pod must not end the worker for the others
                _log.exception("gate_not_removed", pod=task.key)
            finally:
                self._known.discard(task.id)
                self._waiting.task_done()
