"""The scheduler's process, from its first log line to its exit status.

    options → plugins, settings → API server → endpoints → cache synced → lease → cycles → drained → released

A standby does everything except cycles. The exit status is 0 after a signal, and 1 if the lease is lost. Losing the
lease is fatal on purpose: a new process has no stale state.
"""

import asyncio
import resource
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any, Final

import structlog

from pyroclast.cache.usage.watch import UsageWatch
from pyroclast.framework.configuration import Configuration, read_source
from pyroclast.framework.cycle import Observer, run_cycle
from pyroclast.framework.extension.outside import Outside
from pyroclast.framework.session.memory import Memory, Settled
from pyroclast.kube.api.client import Client
from pyroclast.kube.api.configuration import ClusterOptions, connect
from pyroclast.kube.api.resources import QUEUES
from pyroclast.kube.api.reviews import Reviews
from pyroclast.kube.api.version import own_version
from pyroclast.kube.collector import settle
from pyroclast.kube.lease import Elector
from pyroclast.kube.writes.events import regarding
from pyroclast.model.report import CycleReport
from pyroclast.model.snapshot import Snapshot
from pyroclast.plugins.deviceshare import DeviceShareArgs, args_of
from pyroclast.scheduler.cli.options import Options
from pyroclast.scheduler.daemon.cluster import ESSENTIAL, make_cache
from pyroclast.scheduler.daemon.cycle_pause import CyclePause
from pyroclast.scheduler.daemon.daemon import Daemon, Seen
from pyroclast.scheduler.daemon.examining import PodExaminer
from pyroclast.scheduler.daemon.instrumented_writers import Rate
from pyroclast.scheduler.daemon.leadership import Alone, lead_to_the_end, lease_options
from pyroclast.scheduler.daemon.on_demand_kinds import OnDemandKinds, OnDemandWatches, required_kinds
from pyroclast.scheduler.daemon.plugin_budgets import ClockBudgets, budget_of
from pyroclast.scheduler.daemon.plugin_files import PluginFiles
from pyroclast.scheduler.daemon.scheduling_gates import GateRemover, gated_tasks, remove_gate
from pyroclast.scheduler.daemon.services import Services
from pyroclast.scheduler.daemon.settings import Settings, rules_of_gangs
from pyroclast.scheduler.daemon.shadow_answers import ShadowAnswers
from pyroclast.scheduler.daemon.sync_diagnostics import Trouble, failing_watches, log_why_unsynced, trouble_of
from pyroclast.scheduler.extenders.binding import ExtenderBinding
from pyroclast.scheduler.extenders.client import ExtenderClient
from pyroclast.scheduler.extenders.thread_client import Waiting
from pyroclast.scheduler.handles.handles import PluginHandles
from pyroclast.scheduler.monitoring.cycle_metrics import observe_gangs, observe_placements, set_cycle_metrics
from pyroclast.scheduler.monitoring.debug_endpoints import looks
from pyroclast.scheduler.monitoring.debug_flags import DebugFlags, flag_handlers
from pyroclast.scheduler.monitoring.device_metrics import DeviceFigures
from pyroclast.scheduler.monitoring.explain import explain_job
from pyroclast.scheduler.monitoring.health import Endpoints, HealthSource
from pyroclast.scheduler.monitoring.level_socket import LevelSocket
from pyroclast.scheduler.monitoring.logs import Level
from pyroclast.scheduler.monitoring.metrics import Metrics
from pyroclast.scheduler.monitoring.slow_calls import SlowCall, SlowCalls
from pyroclast.scheduler.monitoring.watch_lag import WatchLag
from pyroclast.scheduler.recording.recorder import Recorder

__all__ = ["serve"]

_PLANS_SECONDS: Final = 15.0
"""Time that plans in flight have to finish at the end. A kubelet kills the process after thirty seconds."""
_WRITES_SECONDS: Final = 5.0
"""Time for writing the remaining statuses and events at the end."""
_LOOKS: Final = 4
"""Number of checks of the cycle's thread during the time limit of a plugin call."""
_FIGURES_SECONDS: Final = 1.0
"""Interval between updates of metrics that change without a cycle."""

_SHORT_PATIENCE: Final = 0.001
"""Timeout for lists if the flag is 0; a timeout of zero would wait forever."""
_QUEUES_SECONDS: Final = 5.0
"""Interval between checks whether the first queues still exist."""
_SYNC_LOOK_SECONDS: Final = 1.0
"""Interval between checks for the lists that a cycle requires."""

_log = structlog.get_logger(__name__)


async def serve(options: Options, level: Level, *, warnings: Sequence[str] = ()) -> int:
    """Run the daemon until a signal ends it; return the exit status.

    Raises:
        ConfigError: The daemon cannot start until an operator fixes something.
    """
    _log.info("starting", version=own_version(), scheduler_names=options.scheduler_name)
    for warning in warnings:
        _log.warning("option_warning", warning=warning)
    plugins = PluginFiles(options.plugins_dir)
    async with AsyncExitStack() as stack:
        cluster = await connect(ClusterOptions(kubeconfig=options.kubeconfig, master=options.master))
        client = await stack.enter_async_context(Client(cluster, component=options.component))
        process = _Process(options, client, plugins)
        return await process.run(stack, level)


class _Process:
    """The parts of one daemon."""

    def __init__(self, options: Options, client: Client, plugins: PluginFiles) -> None:
        self._options, self._client = options, client
        self._metrics, self._rate = Metrics(), Rate()
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        self._has_begun = False
        self._elector = Elector(client, lease_options(options)) if options.leader_elect else None
        self._leadership = leadership = self._elector or Alone()
        self._settled: dict[str, Settled] = {}
        """Settled jobs of each profile, by its name."""
        self._recorder = Recorder(Path(options.record), options) if options.record else None
        self._part = 0
        """Part of the record that the last cycle belongs to."""
        self._extenders = ExtenderClient()
        self._waiting = Waiting(self._extenders, self._loop, self._asked, budget_seconds=options.plugin_time_budget)
        self._delegate = ExtenderBinding(self._extenders, self._asked)
        self._pause = CyclePause(options.schedule_period, wakes_on_change=options.wake_on_change)
        self._cache, self._writers = make_cache(
            client,
            options,
            self._metrics,
            self._rate,
            is_leader=lambda: leadership.is_leader,
            on_trigger=self._pause.trigger,
            recorder=self._recorder,
            delegate=self._delegate,
        )
        self._settings = Settings(
            options.scheduler_conf,
            plugins,
            self._metrics,
            scheduler_names=options.scheduler_name,
            strict=options.strict,
            refused=lambda faults: self._loop.call_soon_threadsafe(self._record_refusal, faults),
        )
        self._usage = UsageWatch(
            self._cache.state,
            client,
            on_failure=lambda source: self._metrics.add("pyroclast_usage_failures_total", 1, source),
        )
        self._on_demand = OnDemandWatches(self._cache)
        self._handles = PluginHandles(
            self._cache, client, self._metrics, is_leader=lambda: leadership.is_leader, warn=self._warn
        )
        self._device_figures = DeviceFigures(self._metrics)
        self._slow_call: SlowCall | None = None
        """The plugin call that currently exceeds the time limit."""
        self._in_force: Configuration | None = None
        """The configuration of the current cycle."""
        self._cards: DeviceShareArgs | None = None
        """Its device-sharing arguments."""
        self._required: OnDemandKinds = {}
        """The objects that it requires on demand."""
        self._gates: GateRemover | None = None
        if options.features.enabled("SchedulingGatesQueueAdmission"):
            self._gates = GateRemover(partial(remove_gate, client), workers=options.gate_workers)
        self._budgets = ClockBudgets(lambda _: 0.0)
        """Those of the current session."""
        watched = None
        if self._recorder is not None:
            watched = self._recorder.watching(self._decide, self._settings, lambda: self._budgets.left_out)
        self._decide_recorded = watched or self._decide
        self._daemon = Daemon(
            cluster=self._cache,
            leadership=self._leadership,
            configuration=self._settings.current,
            adopt=self._adopt,
            decide=self._ask_and_decide,
            metrics=self._metrics,
            pause=self._pause,
            after_cycle=self._after_cycle,
            set_gauges=self._set_gauges,
            plugin_failed=self._record_plugin_failure,
            registry=lambda: self._settings.registry,
            scheduling_timeout=options.scheduling_timeout,
        )
        self._debug_flags = DebugFlags(
            scores=options.debug_scores, filters=options.debug_filters, diagnosis=options.debug_diagnosis
        )
        self._shadow_answers = ShadowAnswers(
            self._metrics, seed=options.seed, budget_seconds=options.plugin_time_budget
        )
        self._services = Services(
            lambda: self._daemon.seen,
            options,
            configuration=lambda: self._settings.in_force,
            faults=lambda: self._settings.faults,
        )
        self._examiner = PodExaminer(lambda: self._daemon.seen, self._daemon.thread, seed=options.seed)

    async def run(self, stack: AsyncExitStack, level: Level) -> int:
        """Serve until the process is stopped or the lease is lost."""
        self._follow_signals(stack)
        socket = LevelSocket(self._options.environment.debug_socket_folder, level, verbosity=self._options.v)
        endpoints = Endpoints(self._options, self._inside(socket), Reviews(self._client))
        stack.push_async_callback(endpoints.stop)
        stack.callback(self._services.close)
        await endpoints.start()
        stack.push_async_callback(socket.stop)
        await socket.start()
        if self._recorder is not None:
            stack.callback(self._recorder.close)
        stack.push_async_callback(self._cache.stop)
        stack.push_async_callback(self._extenders.close)
        self._cache.background.keep("watch-figures", self._watch_figures)
        if self._options.plugin_call_limit:
            self._cache.background.keep("watch-plugins", partial(self._watch_plugins, self._options.plugin_call_limit))
        if not await self._sync():
            return 0
        configuration = self._settings.current()
        self._required = required_kinds(configuration, _cards_of(configuration))
        self._follow(configuration, self._required)  # standbys watch too
        self._cache.background.keep("measure-usage", self._usage.run)
        self._on_demand.start(self._cache.background)
        await self._handles.follow(self._settings.declared)
        await self._on_demand.wait()
        # Objects of the first lists live long: later garbage collections skip them.
        settle(has_own_full_collections=True)
        return await lead_to_the_end(self._elector, self._work, stopping=self._stopping)

    async def _sync(self) -> bool:
        """Wait for the first lists. Return False if the process is stopping."""
        patience = self._options.resource_sync_timeout
        server = self._client.cluster.described
        diagnosing = asyncio.create_task(log_why_unsynced(server, lagging=self._cache.lagging, trouble=self._trouble))
        starting = asyncio.create_task(self._cache.start(patience_seconds=patience or _SHORT_PATIENCE))
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait((starting, stopping), return_when=asyncio.FIRST_COMPLETED)
            while not stopping.done() and ESSENTIAL & set(self._cache.lagging()):
                await asyncio.wait((stopping,), timeout=_SYNC_LOOK_SECONDS)
        finally:
            for task in (diagnosing, starting, stopping):
                task.cancel()
            await asyncio.gather(diagnosing, starting, stopping, return_exceptions=True)
        self._has_begun = True
        if self._stopping.is_set():
            return False
        _log.info("synced", lagging=self._cache.lagging())
        return True

    def _trouble(self) -> Trouble | None:
        return trouble_of(reflector.trouble for reflector in self._cache.reflectors.values())

    async def _work(self) -> None:
        """Run cycles until the process is stopped, and finish what has begun."""
        self._metrics.put("pyroclast_leader", 1)
        if self._gates is not None:
            self._gates.start()
        self._handles.controllers.lead()
        try:
            async with asyncio.TaskGroup() as group:
                beginning = group.create_task(self._take_over())
                await self._daemon.run()
                beginning.cancel()
            await self._daemon.drain(_PLANS_SECONDS)
            await self._flush()
        except asyncio.CancelledError:
            # First of all, because another process may lead soon: none of our requests may still run then.
            await self._daemon.abandon()
            raise
        finally:
            await self._handles.controllers.retire()
            self._metrics.put("pyroclast_leader", 0)
            self._daemon.stop()
            self._waiting.stop()
            if self._gates is not None:
                await self._gates.stop()

    async def _take_over(self) -> None:
        """Take over as leader. The first queues are created while cycles run, however long their CRD is missing."""
        make = self._cache.take_over
        while True:
            try:
                await self._make_queues(make)
            except Exception:  # noqa: BLE001  cycles continue, and the creation is retried
                _log.exception("first_queues_broke")
            make = self._cache.make_first_queues
            await self._first_queues_lack()

    async def _first_queues_lack(self) -> None:
        while True:
            await asyncio.sleep(_QUEUES_SECONDS)
            if self._cache.lacks_first_queues():
                return

    async def _make_queues(self, make: Callable[[], Awaitable[bool]]) -> None:
        while not await make():
            _log.error("first_queues_missing", default_queue=self._options.default_queue)

    async def _flush(self) -> None:
        """Write the remaining statuses and events within a time limit."""
        self._writers.statuses.begin_cycle()
        try:
            async with asyncio.timeout(_WRITES_SECONDS):
                await asyncio.gather(self._writers.statuses.drain(), self._writers.events.drain())
        except TimeoutError:
            _log.warning(
                "writes_cut_short", statuses=self._writers.statuses.backlog, events=self._writers.events.backlog
            )

    async def _adopt(self, configuration: Configuration) -> None:
        """Apply the configuration of the next cycle, and wait for objects that it newly requires."""
        if configuration is self._in_force:
            return
        self._in_force = configuration
        self._delegate.follow(configuration)
        self._cards = _cards_of(configuration)
        required, before = required_kinds(configuration, self._cards), self._required
        self._required = required
        self._follow(configuration, required)
        await self._handles.follow(self._settings.declared)
        if required != before:
            # A cycle without these objects would allocate shared devices as whole ones, and would ignore node load.
            await self._on_demand.wait()

    def _follow(self, configuration: Configuration, required: OnDemandKinds) -> None:
        """Set the usage source, the gang rules and the on-demand watches of a configuration."""
        profiles = configuration.profiles
        self._usage.set_source(read_source(next((each.metrics for each in profiles if each.metrics), {})))
        self._cache.state.follow_gangs(rules_of_gangs(configuration))
        self._on_demand.follow(required)

    def _record_refusal(self, faults: Sequence[str]) -> None:
        """Record an event about a refused configuration."""
        self._warn("ConfigurationRefused", "; ".join(faults))

    def _record_plugin_failure(self, _plugin: str, message: str) -> None:
        """Record an event about a failed plugin. The message names the plugin."""
        self._warn("PluginFailed", message)

    async def _watch_plugins(self, limit_seconds: float) -> None:
        """Report plugin calls that exceed the time limit."""
        calls = SlowCalls(limit_seconds, self._options.plugin_call_deadline)
        while True:
            await asyncio.sleep(limit_seconds / _LOOKS)
            slow = calls.look(self._daemon.thread.frame, self._settings.registry, time.monotonic())
            self._slow_call = slow
            if slow is not None and slow.is_news and slow.hangs:
                _log.error("plugin_call_hangs", plugin=slow.plugin, seconds=round(slow.seconds, 3), where=slow.where)
                self._warn("PluginHangs", f"a call of plugin {slow.plugin} does not return, at {slow.where}")
            elif slow is not None and slow.is_news:
                _log.warning("plugin_call_slow", plugin=slow.plugin, seconds=round(slow.seconds, 3), where=slow.where)
                self._metrics.add("pyroclast_plugin_slow_calls_total", 1, slow.plugin)
                message = f"a call of plugin {slow.plugin} lasts for more than {limit_seconds:g} s, at {slow.where}"
                self._warn("PluginSlow", message)

    def _stuck(self) -> str | None:
        """Return where a cycle hangs, and in which plugin; None if no cycle hangs."""
        stuck, slow = self._daemon.stuck(), self._slow_call
        if slow is None:
            return stuck
        if stuck is None:
            return f"a call of plugin {slow.plugin} lasts {slow.seconds:.0f} s, at {slow.where}" if slow.hangs else None
        return f"{stuck}, in a call of plugin {slow.plugin} at {slow.where}"

    def _warn(self, reason: str, message: str) -> None:
        """Record an event about the scheduler itself. It belongs to the default queue, which all users share."""
        queue = self._cache.state.stored("Queue").get(self._options.default_queue)
        if queue is not None:
            self._writers.events.record(regarding(QUEUES, queue.metadata), "Warning", reason, message)

    def _ask_and_decide(
        self, snapshot: Snapshot, configuration: Configuration, *, now: float, memory: Memory, observer: Observer
    ) -> tuple[CycleReport, Memory]:
        return self._decide_recorded(
            snapshot,
            configuration,
            now=now,
            memory=memory,
            observer=observer,
            outside=self._waiting.outside(configuration),
        )

    def _asked(self, instance: str, verb: str, is_answered: bool, seconds: float) -> None:
        """Count a request to an extender."""
        self._metrics.add(
            "pyroclast_extender_requests_total", 1, instance, verb, "answered" if is_answered else "failed"
        )
        self._metrics.observe("pyroclast_extender_request_seconds", seconds, instance, verb)

    def _decide(
        self,
        snapshot: Snapshot,
        configuration: Configuration,
        *,
        now: float,
        memory: Memory,
        observer: Observer,
        outside: Mapping[str, Outside] | None = None,
    ) -> tuple[CycleReport, Memory]:
        self._budgets = ClockBudgets(partial(budget_of, configuration, self._options.plugin_time_budget))
        if self._recorder is not None and self._recorder.part != self._part:
            # A new record must not depend on state from before its beginning.
            self._part, self._settled = self._recorder.part, {}
        try:
            return run_cycle(
                snapshot,
                configuration,
                registry=self._settings.registry,
                seed=self._options.seed,
                now=now,
                memory=memory,
                outside=outside,
                observer=observer,
                settled=self._settled.setdefault(configuration.deciding.name, Settled()),
                budgets=self._budgets,
            )
        except BaseException:
            self._settled.pop(configuration.deciding.name, None)
            raise

    def _after_cycle(self, seen: Seen) -> None:
        observe_placements(seen, self._metrics, time.time())
        observe_gangs(seen, self._metrics)
        if self._debug_flags.is_any_on:
            self._examiner.log(seen, self._debug_flags)
        self._shadow_answers.count(seen)
        if self._gates is not None and (gated := gated_tasks(seen.snapshot, seen.report)):
            self._loop.call_soon_threadsafe(self._gates.offer, gated)

    def _set_gauges(self, seen: Seen) -> None:
        set_cycle_metrics(seen, self._metrics)
        self._device_figures.update(seen.snapshot, self._cards)

    def _inside(self, socket: LevelSocket) -> HealthSource:
        async def snapshot() -> bytes:
            return await asyncio.to_thread(self._cache.dump().encode)

        def explain(job: str) -> Any:
            seen = self._daemon.seen
            return None if seen is None else explain_job(job, seen.snapshot, seen.report)

        shown = looks(snapshot=snapshot, explain=explain, examine=self._examiner.explain, audit=self._cache.audit)
        read, changed = flag_handlers(
            self._debug_flags, verbosity=lambda: socket.verbosity, set_verbosity=socket.set_verbosity
        )
        return HealthSource(
            checks={"configured": lambda: None, "synced": self._why_unsynced, "watches": self._why_stale},
            vital={"background": self._why_failing, "cycle": self._stuck, "cycles": self._daemon.failing},
            metrics_text=self._metrics.text,
            looks=shown | read | self._services.looks() if self._options.enable_pprof else {},
            changes=changed if self._options.enable_pprof else {},
        )

    def _why_unsynced(self) -> str | None:
        lagging = self._cache.lagging()
        if not lagging or self._has_begun:
            return None
        trouble = self._trouble()
        why = f" ({trouble.event} at {self._client.cluster.described}: {trouble.error})" if trouble else ""
        return f"no list yet of {', '.join(lagging)}{why}"

    def _why_stale(self) -> str | None:
        """Return the essential kinds whose watches fail, or None."""
        return failing_watches(each for kind, each in self._cache.reflectors.items() if kind in ESSENTIAL)

    def _why_failing(self) -> str | None:
        failing = self._cache.background.failing()
        return "; ".join(f"{work} fails repeatedly: {last}" for work, last in failing.items()) or None

    async def _watch_figures(self) -> None:
        """Update the metrics that change without a cycle."""
        lag = WatchLag()
        while True:
            now = time.monotonic()
            for reflector in self._cache.reflectors.values():
                kind, is_synced = reflector.resource.label, reflector.synced.is_set()
                seconds = lag.seconds(kind, reflector.resource_version, now, is_synced=is_synced)
                self._metrics.put("pyroclast_watch_lag_seconds", seconds, kind)
            self._metrics.put("pyroclast_assumed_tasks", len(self._cache.state.assumed()))
            self._metrics.put("pyroclast_binds_per_second", self._rate.per_second())
            self._handles.report()
            await asyncio.sleep(_FIGURES_SECONDS)

    def _follow_signals(self, stack: AsyncExitStack) -> None:
        loop = asyncio.get_running_loop()
        actions: dict[signal.Signals, Any] = {
            signal.SIGTERM: self._stop,
            signal.SIGINT: self._stop,
            signal.SIGUSR2: self._log_size,
        }
        if self._options.cache_dumper:
            actions[signal.SIGUSR1] = lambda: self._cache.background.once("write-snapshot", self._dump)
        for number, action in actions.items():
            loop.add_signal_handler(number, action)
            stack.callback(loop.remove_signal_handler, number)

    def _stop(self) -> None:
        if self._stopping.is_set():
            _log.warning("stopping_at_once")
            sys.exit(1)
        _log.info("stopping")
        self._stopping.set()
        self._daemon.stop()
        self._waiting.stop()

    async def _dump(self) -> None:
        file = Path(self._options.cache_dump_dir) / f"snapshot-{int(time.time())}.json"
        dump = self._cache.dump()
        try:
            # In a thread: a large snapshot takes seconds to write, and the lease must be renewed meanwhile.
            await asyncio.to_thread(dump.write, file)
        except OSError as error:
            _log.error("snapshot_not_written", file=str(file), error=str(error))
        else:
            _log.info("snapshot_written", file=str(file))

    def _log_size(self) -> None:
        snapshot = self._cache.snapshot()
        _log.info(
            "size",
            nodes=len(snapshot.nodes),
            jobs=len(snapshot.jobs),
            queues=len(snapshot.queues),
            orphan_pods=len(snapshot.orphan_pods),
            peak_memory_mib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        )


def _cards_of(configuration: Configuration) -> DeviceShareArgs | None:
    """Return the device-sharing arguments of the first profile that has the plugin."""
    return next((args for profile in configuration.profiles if (args := args_of(profile)) is not None), None)
