"""Scheduling gates: remove the queue's gate from a pod when its queue has capacity for the pod.

A pod with the annotation and the gate `scheduling.volcano.sh/queue-allocation-gate` waits outside the scheduler, so
that cluster autoscalers do not count it, until allocate finds that its queue has capacity. The removal is a patch of
this one gate. It is idempotent and keeps other gates. A failed removal is repeated by the next cycle that finds a
change.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

import structlog

from pyroclast.kube.api.backoff import Backoff
from pyroclast.kube.api.client import Client, MediaType
from pyroclast.kube.api.clock import SystemClock
from pyroclast.kube.api.errors import ApiError
from pyroclast.kube.api.resources import PODS
from pyroclast.kube.api.retrying import retry
from pyroclast.model.api.names import QUEUE_ALLOCATION_GATE
from pyroclast.model.report import CycleReport
from pyroclast.model.snapshot import Snapshot
from pyroclast.model.tasks import Task

__all__ = ["GateRemover", "gated_tasks", "remove_gate"]

_PATIENCE_SECONDS: Final = 30.0
_PENDING_PER_WORKER: Final = 200
"""Maximum number of waiting removals for each worker. Further removals are left to the next cycle."""

_log = structlog.get_logger(__name__)


def gated_tasks(snapshot: Snapshot, report: CycleReport) -> list[Task]:
    """Return the tasks whose gate should be removed."""
    lifted = set(report.gates_lifted)
    if not lifted:
        return []
    return [task for job in snapshot.jobs.values() for task in job.tasks.values() if task.id in lifted]


async def remove_gate(client: Client, task: Task) -> None:
    """Remove the gate of one pod. Server errors are retried for a while.

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
    """Removes gates in the background with a fixed number of workers."""

    def __init__(self, remove: Callable[[Task], Awaitable[None]], *, workers: int) -> None:
        """Use `remove` for each task, with at most `workers` calls at a time."""
        self._remove, self._workers = remove, workers
        self._waiting: asyncio.Queue[Task] = asyncio.Queue(workers * _PENDING_PER_WORKER)
        self._known: set[str] = set()
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Start the workers."""
        self._tasks = [asyncio.create_task(self._work(), name="gate-remover") for _ in range(self._workers)]

    async def stop(self) -> None:
        """Stop the workers. Waiting tasks are left to the next start."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def offer(self, tasks: Iterable[Task]) -> None:
        """Request the removal of gates without waiting. Tasks that already wait are skipped."""
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
            except Exception:  # noqa: BLE001 - an unexpected error with one pod must not end the worker
                _log.exception("gate_not_removed", pod=task.key)
            finally:
                self._known.discard(task.id)
                self._waiting.task_done()
