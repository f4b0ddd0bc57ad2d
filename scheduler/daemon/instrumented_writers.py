"""Instrumented writers: writers that count binds and evictions in metrics."""

import time
from collections import deque
from collections.abc import Callable
from typing import Any, Final

from pyroclast.kube.writes.binding import Binder, PlanOutcome
from pyroclast.kube.writes.evictor import EvictionOutcome, Evictor
from pyroclast.model.ids import TaskId
from pyroclast.model.plan import Eviction, Plan
from pyroclast.scheduler.monitoring.metrics import Metrics

__all__ = ["CountingBinder", "CountingEvictor", "Rate"]

_MILLISECONDS: Final = 1000.0
_UNSENT: Final = frozenset({"NotLeader", "PreparationFailed"})
"""Reasons of binds and evictions that were not sent to the server."""


class Rate:
    """Events per second over the last seconds."""

    def __init__(self, seconds: float = 10.0, now: Callable[[], float] = time.monotonic) -> None:
        """Average over the last `seconds`."""
        self._seconds, self._now = seconds, now
        self._counted: deque[tuple[float, int]] = deque()
        self._sum = 0

    def add(self, count: int) -> None:
        """Add events."""
        self._counted.append((self._now(), count))
        self._sum += count

    def per_second(self) -> float:
        """Return the average rate."""
        while self._counted and self._counted[0][0] < self._now() - self._seconds:
            self._sum -= self._counted.popleft()[1]
        return self._sum / self._seconds


class CountingBinder:
    """Binds through another binder and counts the outcomes."""

    def __init__(
        self,
        binder: Binder,
        metrics: Metrics,
        rate: Rate,
        *,
        created: Callable[[TaskId], float | None],
        wall: Callable[[], float] = time.time,
    ) -> None:
        """Wrap `binder`. `created` returns when a task was created, in seconds since 1970."""
        self._binder, self._metrics, self._rate = binder, metrics, rate
        self._created, self._wall = created, wall

    async def bind(self, plan: Plan) -> PlanOutcome:
        """Bind, and count each outcome."""
        begun = time.perf_counter()
        outcome = await self._binder.bind(plan)
        taken = (time.perf_counter() - begun) * _MILLISECONDS
        self._observe_stages(outcome, taken)
        for each in outcome.binds:
            if not each.is_bound:
                result = "refused" if each.reason in _UNSENT else "failed"
                self._metrics.add("pyroclast_binds_total", 1, result)
                self._metrics.add("volcano_schedule_attempts_total", 1, "error")
                continue
            self._metrics.add("pyroclast_binds_total", 1, "succeeded")
            self._metrics.add("volcano_schedule_attempts_total", 1, "scheduled")
            if (created := self._created(each.bind.task)) is not None:
                waited = (self._wall() - created) * _MILLISECONDS
                self._metrics.observe("volcano_task_scheduling_latency_milliseconds", waited, "Bound")
        self._rate.add(len(outcome.binds) - len(outcome.failed))
        return outcome

    def _observe_stages(self, outcome: PlanOutcome, taken: float) -> None:
        """Observe preparation and binding separately, in milliseconds.

        A plan without preparations counts as prepared from the start.
        """
        preparing = (outcome.prepared_seconds or 0.0) * _MILLISECONDS
        stage = "volcano_scheduling_stage_duration_milliseconds"
        self._metrics.observe(stage, max(taken - preparing, 0.0), "Bind")
        if outcome.prepared_seconds is not None:
            self._metrics.observe(stage, preparing, "PreBind")
        prepared_at = self._wall() - max(taken - preparing, 0.0) / _MILLISECONDS
        for each in outcome.binds:
            created = self._created(each.bind.task)
            if created is not None and each.reason != "PreparationFailed":
                waited = max(prepared_at - created, 0.0) * _MILLISECONDS
                self._metrics.observe("volcano_task_scheduling_latency_milliseconds", waited, "PreBound")


class CountingEvictor(Evictor):
    """An evictor that counts outcomes."""

    def __init__(self, metrics: Metrics, *arguments: Any, **options: Any) -> None:
        """Count in `metrics`; the other arguments are those of an evictor."""
        super().__init__(*arguments, **options)
        self._metrics = metrics

    async def evict(self, eviction: Eviction) -> EvictionOutcome:
        """Evict, and count the outcome."""
        outcome = await super().evict(eviction)
        result = "succeeded" if outcome.is_leaving else "refused" if outcome.reason in _UNSENT else "failed"
        self._metrics.add("pyroclast_evictions_total", 1, result)
        return outcome
