"""The daemon: runs cycles one after the other, and executes their plans concurrently.

    ┌────────────── loop's thread ──────────────┐      ┌──── cycle's thread ────┐
    watches → cache ── snapshot ────────────────┼────→ run_cycle
              cache.assume(plan) ←──────────────┼───── each plan as it is committed
              cache.execute_plan(plan), in tasks │
              cache.write(report) ←─────────────┼───── report
    └───────────────────────────────────────────┘      └────────────────────────┘

States: created, running (`run`), stopping (`stop`: the current cycle ends, its further plans are refused, plans in
flight finish), stopped. Invariants: one cycle at a time; a snapshot is taken only when every plan of the previous
cycle is assumed or refused; nothing is assumed without leadership.
"""

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import structlog

from pyroclast.framework.configuration import Configuration
from pyroclast.framework.cycle import Observer, empty_report, run_cycle
from pyroclast.framework.extension.budgets import Budgets
from pyroclast.framework.extension.outside import CycleCut
from pyroclast.framework.extension.registry import Registry
from pyroclast.framework.failed_cycle import failed_report
from pyroclast.framework.profiles import merged_reports, with_held
from pyroclast.framework.session.memory import Memory
from pyroclast.framework.session.ownership import owner_of
from pyroclast.framework.session.shadows.shadows import Shadows
from pyroclast.framework.session.shadows.tracing import Tracing
from pyroclast.kube.collector import collector_off
from pyroclast.model.plan import Plan
from pyroclast.model.report import CycleReport
from pyroclast.model.snapshot import Snapshot
from pyroclast.model.texts import said_by
from pyroclast.scheduler.daemon.cycle_pause import CyclePause
from pyroclast.scheduler.daemon.cycle_thread import CycleThread
from pyroclast.scheduler.monitoring.metrics import Metrics
from pyroclast.scheduler.monitoring.stopwatch import CYCLE, SNAPSHOT, WRITE, Stopwatch

__all__ = ["Cluster", "CycleInputs", "Daemon", "Decide", "Leadership", "Seen"]

_FULL_COLLECTION_SECONDS: Final = 300.0
"""Least interval between full garbage collections, after a cycle without plans. There are no others: the scheduler
turns them off."""
_MOST_FULL_COLLECTION_SECONDS: Final = 1200.0
"""Interval after which a full collection also follows a cycle with plans."""
_MOST_POSTPONED: Final = 16
"""Consecutive cycles, while new work waits, after which garbage is not collected and no gauges are set."""
_FAILING_SECONDS: Final = 120.0
"""The liveness probe reports cycles that have failed for this long without a success."""
_STUCK_SECONDS: Final = 600.0
"""A cycle that runs for longer does not end any more; cycles of the largest clusters take seconds."""

_log = structlog.get_logger(__name__)


class AllProfilesFailedError(Exception):
    """The sessions of all profiles failed. Each failure is already reported on the jobs of its profile."""


class Cluster(Protocol):
    """The daemon's interface to the cache."""

    def snapshot(self) -> Snapshot:
        """Return the cluster as it is now."""
        ...

    def assume(self, plan: Plan) -> bool:
        """Assume the whole plan or nothing of it. Return whether the plan was assumed."""
        ...

    async def execute_plan(self, plan: Plan) -> None:
        """Execute an assumed plan. Failures are corrected in the cluster state."""
        ...

    def write(self, report: CycleReport) -> None:
        """Pass statuses, conditions and events to their writers."""
        ...


class Leadership(Protocol):
    """Whether this process may change the cluster."""

    @property
    def is_leader(self) -> bool:
        """Becomes false before another process can become the leader."""
        ...


class Decide(Protocol):
    """A cycle, with the registry and the seed bound."""

    def __call__(
        self, snapshot: Snapshot, configuration: Configuration, *, now: float, memory: Memory, observer: Observer
    ) -> tuple[CycleReport, Memory]:
        """Decide once."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleInputs:
    """What a cycle received beside its snapshot, so that it can be decided once more."""

    configuration: Configuration
    registry: Registry
    memory: Memory
    now: float
    """Seconds since 1970."""

    def decide_again(
        self,
        snapshot: Snapshot,
        *,
        seed: int,
        tracing: Tracing | None = None,
        shadows: Shadows | None = None,
        budgets: Budgets | None = None,
    ) -> None:
        """Decide the session once more without extenders, for what it shows to tracing or shadows."""
        with collector_off():
            run_cycle(
                snapshot,
                self.configuration,
                registry=self.registry,
                seed=seed,
                now=self.now,
                memory=self.memory,
                tracing=tracing,
                shadows=shadows,
                budgets=budgets,
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The snapshot and the report of the last cycle that was not quiet."""

    snapshot: Snapshot
    report: CycleReport
    inputs: CycleInputs | None = None
    """None where the daemon does not know its registry."""
    seconds: float = 0.0
    """Time of the session."""
    turns: tuple["Seen", ...] = ()
    """The sessions of the single profiles, if there are several; then the report has all their results."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileSession:
    """The session of one profile in a cycle."""

    seen: Seen
    was_quiet: bool
    """Whether nothing had changed, so that its earlier report remains valid."""

    @property
    def report(self) -> CycleReport:
        """The report of the session."""
        return self.seen.report


@dataclass(slots=True, kw_only=True)
class _Watch:
    """The observer of one cycle, called in the cycle's thread."""

    stopwatch: Stopwatch
    deliver: Callable[[Plan], Any]

    def committed(self, plan: Plan) -> None:
        """Send a plan to the loop's thread."""
        self.deliver(plan)

    def phase(self, name: str, begin: bool) -> None:
        """Record the time of a phase."""
        self.stopwatch.mark(name, begin=begin)


@dataclass(kw_only=True)
class Daemon:
    """Runs cycles."""

    cluster: Cluster
    leadership: Leadership
    configuration: Callable[[], Configuration]
    """Returns the configuration of the next cycle. Called in the cycle's thread, because it reads files."""
    adopt: Callable[[Configuration], Awaitable[None]]
    """Called with the next configuration and awaited on the loop's thread before the snapshot is taken."""
    decide: Decide
    metrics: Metrics
    pause: CyclePause
    """The pause between two cycles."""
    scheduling_timeout: float = 0.0
    """Sessions that last longer are logged and counted, seconds; 0 for none."""
    last_cycle_seconds: float = 3.0
    """Time that the current cycle has to end after a stop. A kubelet kills the process after thirty seconds."""
    after_cycle: Callable[[Seen], None] = lambda _: None
    """Called in the cycle's thread after each cycle that was not quiet."""
    set_gauges: Callable[[Seen], None] = lambda _: None
    """Called in the cycle's thread with the last cycle that was not quiet. Calls are postponed while new work waits."""
    plugin_failed: Callable[[str, str], None] = lambda _plugin, _message: None
    """Called on the loop's thread with the name and message of each new plugin failure."""
    registry: Callable[[], Registry] | None = None
    """Returns the plugins and actions in force."""
    wall: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic
    stopwatch: Callable[[], Stopwatch] = Stopwatch
    """Creates the stopwatch of a cycle."""
    seen: Seen | None = None
    memories: dict[str, Memory] = field(default_factory=dict)
    """The memory of each profile, by its name."""
    _in_flight: dict[asyncio.Task[None], int] = field(default_factory=dict)
    """Plans that are being executed, with the number of their tasks."""
    _stopping: asyncio.Event = field(default_factory=asyncio.Event)
    thread: CycleThread = field(default_factory=CycleThread)
    _collected: float = field(default_factory=time.monotonic)
    _postponed: int = 0
    """Consecutive cycles after which garbage was not collected and no gauges were set."""
    _owed: tuple[Seen | None, bool] = None, False
    """The last cycle that needs gauges, and whether there were plans since the last collection."""
    _failing: tuple[float, str] | None = None
    """When cycles began to fail, and the last error; None after a success."""
    _saw: tuple[Snapshot, int] | None = None
    """The snapshot of the current cycle, and the generation of its configuration."""
    _running: Stopwatch | None = None
    """The stopwatch of the current cycle."""

    async def run(self) -> None:
        """Run cycles until `stop` is called. The first one begins immediately."""
        try:
            while not self._stopping.is_set():
                begun = time.process_time()  # processor time: load of other processes must not prolong the pause
                if not await self._once_unless_stopped():
                    return
                await self._wait(time.process_time() - begun)
        finally:
            self._stopping.set()

    async def _once_unless_stopped(self) -> bool:
        """Run one cycle. Return False if it takes too long after a stop; it is then abandoned."""
        cycle, stopping = asyncio.create_task(self.run_once()), asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait((cycle, stopping), return_when=asyncio.FIRST_COMPLETED)
            if not cycle.done():
                await asyncio.wait((cycle,), timeout=self.last_cycle_seconds)
            if not cycle.done():
                _log.warning("cycle_left", where=None if self._running is None else self._running.under_way())
                return False
            cycle.result()
        finally:
            for task in (cycle, stopping):
                task.cancel()
        return True

    def stop(self) -> None:
        """Start no more cycles, and refuse further plans of the current one."""
        self._stopping.set()

    async def drain(self, seconds: float) -> bool:
        """Wait for plans in flight. Return whether all finished in time. Call it after `run` has returned."""
        self.thread.close()
        if not self._in_flight:
            return True
        _, late = await asyncio.wait(self._in_flight, timeout=seconds)
        for task in late:
            task.cancel()
        if late:
            _log.warning("plans_cut_short", plans=len(late))
        return not late

    async def abandon(self) -> None:
        """Cancel plans in flight after leadership is lost. A request must end before another process leads.

        The outcome of cancelled requests is unknown; the next leader sees it in the cluster.
        """
        self._stopping.set()
        cut = tuple(self._in_flight)
        for task in cut:
            task.cancel()
        await asyncio.gather(*cut, return_exceptions=True)
        if cut:
            _log.warning("plans_abandoned", plans=len(cut))

    async def run_once(self) -> CycleReport | None:
        """Run one cycle. Return None if it failed: the failure is logged, and the next cycle starts clean."""
        if not self.leadership.is_leader:
            return None
        cycle = max((memory.cycle for memory in self.memories.values()), default=0) + 1
        with structlog.contextvars.bound_contextvars(cycle=cycle):
            try:
                report = await self._cycle()
            except CycleCut:
                _log.info("cycle_cut")
                return None
            except Exception as error:  # noqa: BLE001 - see below
                # The only place where exceptions of a cycle end. The next cycle starts with a new snapshot.
                _log.exception("cycle_failed")
                self.metrics.add("pyroclast_cycles_total", 1, "failed")
                self.memories = {name: Memory(cycle=cycle) for name in self.memories or ("",)}
                self._fail(cycle, f"{type(error).__name__}: {said_by(error)}")
                return None
            finally:
                self._running = None
        self.metrics.add("pyroclast_cycles_total", 1, "finished")
        self._failing = None
        return report

    def _fail(self, cycle: int, error: str) -> None:
        """Record that a cycle failed, and report the reason on waiting jobs and pods, where users look."""
        since = self.monotonic() if self._failing is None else self._failing[0]
        self._failing = since, error
        if self._saw is None or not self.leadership.is_leader:
            return
        snapshot, generation = self._saw
        try:
            self.cluster.write(failed_report(snapshot, cycle=cycle, generation=generation, error=error))
        except Exception:  # noqa: BLE001 - the object that broke the cycle may break this, too
            _log.exception("failed_cycle_not_reported")

    def failing(self) -> str | None:
        """Return for how long cycles have failed and the last error; None while cycles succeed."""
        if self._failing is None:
            return None
        since, error = self._failing
        seconds = self.monotonic() - since
        return f"cycles fail for {seconds:.0f} s: {error}" if seconds >= _FAILING_SECONDS else None

    def stuck(self) -> str | None:
        """Return where a cycle hangs, for example in an external plugin; None if no cycle hangs."""
        under_way = None if self._running is None else self._running.under_way()
        if under_way is None or under_way[1] < _STUCK_SECONDS:
            return None
        return f"a cycle does not end: {under_way[1]:.0f} s, by now in {under_way[0]}"

    async def _cycle(self) -> CycleReport:
        self._saw = None
        stopwatch = self._running = self.stopwatch()
        stopwatch.mark(CYCLE, begin=True)
        configuration = await self.thread.run(self.configuration)
        await self.adopt(configuration)
        self.pause.begin_cycle()
        self._forget_profiles(configuration)
        turns = await self._turns(configuration, stopwatch)
        self.pause.take_turns(self._namespaces_in_turns())
        stopwatch.mark(CYCLE, begin=False)
        seen = seen_together(turns, self.seen)
        if seen is not None:
            before, self.seen = self.seen, seen
            _log_outcome(seen, before, self.plugin_failed)
        may_wait = self.pause.has_new_work and self._postponed < _MOST_POSTPONED
        self._postponed = self._postponed + 1 if may_wait else 0
        await self.thread.run(self._settle, stopwatch, [turn.report for turn in turns], seen)
        return merged_reports([turn.report for turn in turns])

    def _namespaces_in_turns(self) -> frozenset[str]:
        """Return the namespaces whose waiting jobs take turns; none where all jobs are of one namespace."""
        found = (name for each in self.memories.values() for name in (*each.rounds, *each.admission_rounds))
        in_turns = frozenset(found)
        has_others = bool(in_turns) and self._saw is not None and self._saw[0].job_table.has_several_namespaces
        return in_turns if has_others else frozenset()

    def _forget_profiles(self, configuration: Configuration) -> None:
        """Drop the memories of profiles that are not served any more; a new profile begins at the same cycle."""
        cycle = max((memory.cycle for memory in self.memories.values()), default=0)
        self.memories = {
            profile.name: self.memories.get(profile.name, Memory(cycle=cycle)) for profile in configuration.profiles
        }

    async def _turns(self, configuration: Configuration, stopwatch: Stopwatch) -> list["ProfileSession"]:
        """Let all profiles decide. A session that fails does not stop the others.

        Raises:
            AllProfilesFailedError: No session succeeded.
        """
        if len(configuration.profiles) == 1:
            return [await self._turn(configuration, stopwatch)]
        turns: list[ProfileSession] = []
        errors: dict[str, str] = {}
        for each in configuration.turns():
            try:
                turns.append(await self._turn(each, stopwatch))
            except Exception as error:  # a failure of the snapshot is none of the profile
                if self._saw is None:
                    raise
                errors[each.deciding.name] = text = f"{type(error).__name__}: {said_by(error)}"
                _log.exception("profile_failed", profile=each.deciding.name)
                turns.append(self._failed_turn(each, self._saw[0], text))
        if len(errors) == len(turns):
            self._saw = None  # each profile has reported its own failure
            raise AllProfilesFailedError("; ".join(f"profile {name}: {error}" for name, error in errors.items()))
        return turns

    def _failed_turn(self, configuration: Configuration, snapshot: Snapshot, error: str) -> "ProfileSession":
        """Report a failed session on the jobs of its profile, whose next session begins without memory."""
        profile = configuration.deciding.name
        before = self.memories[profile]
        cycle, generation = before.cycle + 1, configuration.generation
        self.memories[profile] = Memory(cycle=cycle)
        self.metrics.add("pyroclast_profile_failures_total", 1, profile)
        report = empty_report(cycle, generation)
        try:
            owner = owner_of(configuration)
            report = failed_report(
                snapshot,
                cycle=cycle,
                generation=generation,
                error=error,
                owns=lambda job: owner(job) == configuration.turn,
            )
            if self.leadership.is_leader:
                self.cluster.write(report)
        except Exception:  # noqa: BLE001 - the object that broke the session may break this, too
            _log.exception("failed_cycle_not_reported")
        inputs = self._inputs(configuration, self.wall(), before)
        return ProfileSession(seen=Seen(snapshot=snapshot, report=report, inputs=inputs), was_quiet=False)

    async def _turn(self, configuration: Configuration, stopwatch: Stopwatch) -> "ProfileSession":
        """Let one profile decide on a snapshot of its own, which has the plans of those before it."""
        loop = asyncio.get_running_loop()
        profile = configuration.deciding.name
        self._saw = None
        stopwatch.mark(SNAPSHOT, begin=True)
        snapshot = self.cluster.snapshot()
        self._saw = snapshot, configuration.generation
        stopwatch.mark(SNAPSHOT, begin=False)
        watch = _Watch(stopwatch=stopwatch, deliver=lambda plan: loop.call_soon_threadsafe(self._take, plan))
        # A cycle on an unchanged snapshot returns an empty report; the previous report remains valid.
        now, memory = self.wall(), self.memories[profile]
        was_quiet = memory.is_quiet(snapshot.generation, configuration.generation, now)
        inputs = self._inputs(configuration, now, memory)
        begun = self.monotonic()
        # Plans use the same queue as the result of the cycle, so all of them have been taken when it returns.
        report, left = await self.thread.run(self._decide, snapshot, configuration, now, memory, watch)
        if len(configuration.profiles) > 1:
            self.memories = with_held(self.memories, left.held)
        self.memories[profile] = left
        seconds = self.monotonic() - begun
        self._count_profile(profile, report, seconds, stopwatch, was_quiet=was_quiet)
        stopwatch.mark(WRITE, begin=True)
        try:
            if self.leadership.is_leader:
                self.cluster.write(report)
        finally:
            stopwatch.mark(WRITE, begin=False)
        seen = Seen(snapshot=snapshot, report=report, inputs=inputs, seconds=seconds)
        return ProfileSession(seen=seen, was_quiet=was_quiet)

    def _count_profile(
        self, profile: str, report: CycleReport, seconds: float, stopwatch: Stopwatch, *, was_quiet: bool
    ) -> None:
        metrics = self.metrics
        metrics.observe("pyroclast_profile_session_seconds", seconds, profile)
        metrics.add("pyroclast_profile_binds_total", sum(len(plan.binds) for plan in report.plans), profile)
        metrics.add("pyroclast_profile_evictions_total", sum(len(plan.evictions) for plan in report.plans), profile)
        if not was_quiet:
            metrics.put("pyroclast_profile_waiting_jobs", len(report.refusals), profile)
        if self.scheduling_timeout and seconds > self.scheduling_timeout:
            metrics.add("scheduler_scheduling_timeout", 1, profile)
            slowest = max(stopwatch.seconds.items(), key=lambda item: item[1], default=("", 0.0))
            _log.warning(
                "scheduling_timeout",
                profile=profile,
                seconds=round(seconds, 3),
                slowest_phase=slowest[0],
                phase_seconds=round(slowest[1], 3),
            )

    def _inputs(self, configuration: Configuration, now: float, memory: Memory) -> CycleInputs | None:
        if self.registry is None:
            return None
        return CycleInputs(configuration=configuration, registry=self.registry(), memory=memory, now=now)

    def _decide(
        self, snapshot: Snapshot, configuration: Configuration, now: float, memory: Memory, observer: Observer
    ) -> tuple[CycleReport, Memory]:
        with collector_off():
            return self.decide(snapshot, configuration, now=now, memory=memory, observer=observer)

    def _take(self, plan: Plan) -> None:
        """Assume a plan and start its execution, on the loop's thread."""
        if self._stopping.is_set() or not self.leadership.is_leader:
            self._count(plan, "refused")
            return
        if not self.cluster.assume(plan):
            self._count(plan, "refused")
            return
        self._count(plan, "assumed")
        task = asyncio.create_task(self.cluster.execute_plan(plan))
        self._in_flight[task] = len(plan.binds) + len(plan.evictions)
        task.add_done_callback(self._landed)

    def _count(self, plan: Plan, result: str) -> None:
        self.metrics.add("pyroclast_plans_total", 1, result)
        if plan.evictions and result == "assumed" and plan.action in _EVICTING:
            self.metrics.add("volcano_eviction_transactions_total", 1, plan.action)

    def _landed(self, task: asyncio.Task[None]) -> None:
        self._in_flight.pop(task, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("plan_failed", exc_info=error)

    def _settle(self, stopwatch: Stopwatch, reports: Sequence[CycleReport], seen: Seen | None) -> None:
        """Apply metrics and collect garbage between cycles, in the cycle's thread."""
        stopwatch.report(self.metrics)
        for report in reports:
            self.metrics.apply(report.samples)
        if seen is not None:
            self._observe(self.after_cycle, seen)
        self._owed = seen or self._owed[0], self._owed[1] or any(report.plans for report in reports)
        if self._postponed:
            return
        (shown, has_plans), self._owed = self._owed, (None, False)
        if shown is not None:
            self._observe(self.set_gauges, shown)
        since = time.monotonic() - self._collected
        if since > (_MOST_FULL_COLLECTION_SECONDS if has_plans else _FULL_COLLECTION_SECONDS):
            gc.collect()
            self._collected = time.monotonic()
        elif has_plans:
            # Objects of the cycle are young. The old generation, frozen after the first lists, is not scanned.
            gc.collect(1)

    def _observe(self, call: Callable[[Seen], None], seen: Seen) -> None:
        try:
            call(seen)
        except Exception:  # noqa: BLE001 - metrics and debug logs change no decision, and must not end the cycle
            _log.exception("cycle_not_observed")

    async def _wait(self, cycle_seconds: float) -> None:
        """Pause until the next cycle or until `stop` is called."""
        pausing = asyncio.create_task(
            self.pause.wait(
                cycle_seconds=cycle_seconds,
                work_waits=self._leaves_work(),
                tasks_in_flight=lambda: sum(self._in_flight.values()),
            )
        )
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait((pausing, stopping), return_when=asyncio.FIRST_COMPLETED)
            if pausing.done():
                pausing.result()
        finally:
            pausing.cancel()
            stopping.cancel()

    def _leaves_work(self) -> bool:
        """Return whether the last cycle left work that free resources could serve."""
        if self.seen is None:
            return True
        report = self.seen.report
        return bool(report.refusals or report.task_refusals or report.pipelined)


def seen_together(turns: Sequence[ProfileSession], before: Seen | None = None) -> Seen | None:
    """Return what the sessions of a cycle saw: of a quiet profile its earlier session; None if all were quiet."""
    if all(turn.was_quiet for turn in turns):
        return None
    if len(turns) == 1:
        return turns[0].seen
    earlier = {} if before is None else {_profile_of(each): each for each in before.turns}
    sessions = tuple(earlier.get(_profile_of(turn.seen), turn.seen) if turn.was_quiet else turn.seen for turn in turns)
    return Seen(
        snapshot=sessions[0].snapshot,
        report=merged_reports([each.report for each in sessions]),
        inputs=sessions[0].inputs,
        turns=sessions,
    )


def _profile_of(seen: Seen) -> str:
    return "" if seen.inputs is None else seen.inputs.configuration.deciding.name


_EVICTING: Final = frozenset({"preempt", "reclaim", "gangpreempt", "gangreclaim"})
"""Actions whose committed evictions Volcano counts as transactions."""


def _log_outcome(seen: Seen, before: Seen | None, plugin_failed: Callable[[str, str], None]) -> None:
    """Log one line for a cycle with plans, and report new plugin failures."""
    report, known = seen.report, {} if before is None else before.report.failures
    for plugin, failure in report.failures.items():
        if failure != known.get(plugin):
            _log.error("plugin_failed", plugin=plugin, error=failure.message)
            plugin_failed(plugin, failure.message)
    if report.plans:
        _log.info(
            "cycle_decided",
            configuration=report.configuration,
            generation=seen.snapshot.generation,
            plans=len(report.plans),
            binds=sum(len(plan.binds) for plan in report.plans),
            evictions=sum(len(plan.evictions) for plan in report.plans),
            waiting_jobs=len(report.refusals),
        )
