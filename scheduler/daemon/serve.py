"""Serving: everything of a daemon wired together, from its first log line to its exit status.

    options → plugins, settings → API server → endpoints → cache synced → lease → cycles → drained → released

A standby does all but the cycles. Exit status 0: told to end; 1: the lease was lost, which is fatal on purpose, since a
fresh process has no doubts about what it knows.
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
from pyroclast.kube.client import Client
from pyroclast.kube.collector import settle
from pyroclast.kube.configuration import ClusterOptions, connect
from pyroclast.kube.events import regarding
from pyroclast.kube.lease import Elector
from pyroclast.kube.resources import QUEUES
from pyroclast.kube.reviews import Reviews
from pyroclast.kube.version import own_version
from pyroclast.model.report import CycleReport
from pyroclast.model.snapshot import Snapshot
from pyroclast.plugins.coscheduling import gang_rules
from pyroclast.plugins.deviceshare import DeviceShareArgs, args_of
from pyroclast.scheduler.cli.options import Options
from pyroclast.scheduler.daemon.cluster import ESSENTIAL, make_cache
from pyroclast.scheduler.daemon.cycle_pause import CyclePause
from pyroclast.scheduler.daemon.daemon import Daemon, Seen
from pyroclast.scheduler.daemon.instrumented_writers import Rate
from pyroclast.scheduler.daemon.leadership import Alone, lead_to_the_end, lease_options
from pyroclast.scheduler.daemon.on_demand_kinds import WantedKinds, Wants, wants_of
from pyroclast.scheduler.daemon.plugin_files import PluginFiles
from pyroclast.scheduler.daemon.scheduling_gates import GateRemover, gated_tasks, remove_gate
from pyroclast.scheduler.daemon.settings import Settings
from pyroclast.scheduler.daemon.sync_diagnostics import Trouble, failing_watches, tell_why_unsynced, trouble_of
from pyroclast.scheduler.extenders.binding import ExtenderBinding
from pyroclast.scheduler.extenders.client import ExtenderClient
from pyroclast.scheduler.extenders.waiting import Waiting
from pyroclast.scheduler.monitoring.cycle_metrics import tell_figures, tell_placements
from pyroclast.scheduler.monitoring.debug_endpoints import looks
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
"""Time that plans in flight have to finish at the end; a kubelet kills after thirty seconds."""
_WRITES_SECONDS: Final = 5.0
"""Time that statuses and events have to be written at the end."""
_LOOKS: Final = 4
"""Looks at the cycle's thread in the time that a call of a plugin may last."""
_FIGURES_SECONDS: Final = 1.0
"""Between two looks at what changes without a cycle."""

_SHORT_PATIENCE: Final = 0.001
"""Patience with lists where the flag says to have none; zero would wait for ever."""
_QUEUES_SECONDS: Final = 5.0
"""Between two looks whether the first queues are still there."""
_SYNC_LOOK_SECONDS: Final = 1.0
"""Between two looks for the lists without which nothing begins."""

_log = structlog.get_logger(__name__)


async def serve(options: Options, level: Level, *, warnings: Sequence[str] = ()) -> int:
    """Run the daemon until a signal ends it; return the exit status.

    Raises:
        ConfigError: Something that an operator must mend keeps the daemon from starting.
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
        self._settled = Settled()
        self._recorder = Recorder(Path(options.record), options) if options.record else None
        self._part = 0
        """Part of the record that the last cycle belongs to."""
        self._extenders = ExtenderClient()
        self._waiting = Waiting(self._extenders, self._loop, self._asked)
        self._delegate = ExtenderBinding(self._extenders, self._asked)
        self._pause = CyclePause(options.schedule_period, wakes_on_change=options.wake_on_change)
        self._cache, self._hands = make_cache(
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
            refused=lambda faults: self._loop.call_soon_threadsafe(self._tell_refusal, faults),
        )
        self._usage = UsageWatch(
            self._cache.state,
            client,
            on_failure=lambda source: self._metrics.add("pyroclast_usage_failures_total", 1, source),
        )
        self._wanted = WantedKinds(self._cache)
        self._device_figures = DeviceFigures(self._metrics)
        self._slow_call: SlowCall | None = None
        """The call of a plugin that lasts for too long at this moment."""
        self._in_force: Configuration | None = None
        """The configuration of this cycle."""
        self._cards: DeviceShareArgs | None = None
        """How it wants cards to be shared."""
        self._wants = Wants()
        """What it wants followed that is not always followed."""
        self._gates: GateRemover | None = None
        if options.features.enabled("SchedulingGatesQueueAdmission"):
            self._gates = GateRemover(partial(remove_gate, client), workers=options.gate_workers)
        watched = None if self._recorder is None else self._recorder.watching(self._decide, self._settings)
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
            plugin_failed=self._tell_plugin_failure,
        )

    async def run(self, stack: AsyncExitStack, level: Level) -> int:
        """Serve until told to end, or until the lease is lost."""
        self._follow_signals(stack)
        endpoints = Endpoints(self._options, self._inside(), Reviews(self._client))
        stack.push_async_callback(endpoints.stop)
        await endpoints.start()
        socket = LevelSocket(self._options.environment.debug_socket_folder, level, verbosity=self._options.v)
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
        self._wants = wants_of(configuration.profiles[0], args_of(configuration.profiles[0]))
        self._follow(configuration, self._wants)  # standbys follow too
        self._cache.background.keep("measure-usage", self._usage.run)
        self._wanted.start(self._cache.background)
        await self._wanted.wait()
        settle()  # what the lists brought stays for long: later collections need not look at it
        return await lead_to_the_end(self._elector, self._work, stopping=self._stopping)

    async def _sync(self) -> bool:
        """Wait for the first lists; tell whether there is work to begin, rather than an end to come to."""
        patience = self._options.resource_sync_timeout
        server = self._client.cluster.described
        telling = asyncio.create_task(tell_why_unsynced(server, lagging=self._cache.lagging, trouble=self._trouble))
        starting = asyncio.create_task(self._cache.start(patience_seconds=patience or _SHORT_PATIENCE))
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait((starting, stopping), return_when=asyncio.FIRST_COMPLETED)
            while not stopping.done() and ESSENTIAL & set(self._cache.lagging()):
                await asyncio.wait((stopping,), timeout=_SYNC_LOOK_SECONDS)
        finally:
            for task in (telling, starting, stopping):
                task.cancel()
            await asyncio.gather(telling, starting, stopping, return_exceptions=True)
        self._has_begun = True
        if self._stopping.is_set():
            return False
        _log.info("synced", lagging=self._cache.lagging())
        return True

    def _trouble(self) -> Trouble | None:
        return trouble_of(reflector.trouble for reflector in self._cache.reflectors.values())

    async def _work(self) -> None:
        """Do a leader's work until told to end, and leave nothing half-done."""
        self._metrics.put("pyroclast_leader", 1)
        if self._gates is not None:
            self._gates.start()
        try:
            async with asyncio.TaskGroup() as beside:
                beginning = beside.create_task(self._take_over())
                await self._daemon.run()
                beginning.cancel()
            await self._daemon.drain(_PLANS_SECONDS)
            await self._flush()
        except asyncio.CancelledError:
            # First of all, since the time until others may lead runs: no request of ours may outlive it.
            await self._daemon.abandon()
            raise
        finally:
            self._metrics.put("pyroclast_leader", 0)
            self._daemon.stop()
            self._waiting.stop()
            if self._gates is not None:
                await self._gates.stop()

    async def _take_over(self) -> None:
        """Begin to lead; the first queues are made however long the server lacks their definition, beside cycles."""
        make = self._cache.take_over
        while True:
            try:
                await self._make_queues(make)
            except Exception:  # noqa: BLE001  cycles go on, and the queues are looked for again
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
        """Write what is left to write, within a limit."""
        self._hands.statuses.begin_cycle()
        try:
            async with asyncio.timeout(_WRITES_SECONDS):
                await asyncio.gather(self._hands.statuses.drain(), self._hands.events.drain())
        except TimeoutError:
            _log.warning("writes_cut_short", statuses=self._hands.statuses.backlog, events=self._hands.events.backlog)

    async def _adopt(self, configuration: Configuration) -> None:
        """Follow and ask what the configuration of the next cycle wants; wait for what it newly wants."""
        if configuration is self._in_force:
            return
        self._in_force = configuration
        self._delegate.follow(configuration)
        self._cards = args_of(configuration.profiles[0])
        wants, before = wants_of(configuration.profiles[0], self._cards), self._wants
        self._wants = wants
        self._follow(configuration, wants)
        if wants != before:
            # a cycle before it has come would give out cut cards as if they were whole, and fill nodes that are loaded
            await self._wanted.wait()

    def _follow(self, configuration: Configuration, wants: Wants) -> None:
        """Ask the source of usage that a configuration names, read gangs as it says, and follow what it wants."""
        self._usage.set_source(read_source(configuration.profiles[0].metrics))
        self._cache.state.follow_gangs(gang_rules(configuration.profiles[0]))
        self._wanted.follow(wants)

    def _tell_refusal(self, faults: Sequence[str]) -> None:
        """Record an event about a configuration that was refused."""
        self._warn("ConfigurationRefused", "; ".join(faults))

    def _tell_plugin_failure(self, _plugin: str, message: str) -> None:
        """Record an event about a plugin that failed, which its text names."""
        self._warn("PluginFailed", message)

    async def _watch_plugins(self, limit_seconds: float) -> None:
        """Report calls of plugins that last for too long."""
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
        """Return where a cycle hangs, with the plugin that it is in; None where none does."""
        stuck, slow = self._daemon.stuck(), self._slow_call
        if slow is None:
            return stuck
        if stuck is None:
            return f"a call of plugin {slow.plugin} lasts {slow.seconds:.0f} s, at {slow.where}" if slow.hangs else None
        return f"{stuck}, in a call of plugin {slow.plugin} at {slow.where}"

    def _warn(self, reason: str, message: str) -> None:
        """Record an event about the scheduler itself, on the default queue: it is everybody's."""
        queue = self._cache.state.stored("Queue").get(self._options.default_queue)
        if queue is not None:
            self._hands.events.record(regarding(QUEUES, queue.metadata), "Warning", reason, message)

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
        """Count an exchange with an extender."""
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
        if self._recorder is not None and self._recorder.part != self._part:
            # a record that begins here holds nothing of what was settled before
            self._part, self._settled = self._recorder.part, Settled()
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
                settled=self._settled,
            )
        except BaseException:
            self._settled = Settled()
            raise

    def _after_cycle(self, seen: Seen) -> None:
        tell_figures(seen, self._metrics)
        tell_placements(seen, self._metrics, time.time())
        self._device_figures.tell(seen.snapshot, self._cards)
        if self._gates is not None and (gated := gated_tasks(seen.snapshot, seen.report)):
            self._loop.call_soon_threadsafe(self._gates.offer, gated)

    def _inside(self) -> HealthSource:
        async def snapshot() -> bytes:
            return await asyncio.to_thread(self._cache.dump().encode)

        def explain(job: str) -> Any:
            seen = self._daemon.seen
            return None if seen is None else explain_job(job, seen.snapshot, seen.report)

        return HealthSource(
            checks={"configured": lambda: None, "synced": self._why_unsynced, "watches": self._why_stale},
            vital={"background": self._why_failing, "cycle": self._stuck, "cycles": self._daemon.failing},
            metrics_text=self._metrics.text,
            looks=looks(snapshot=snapshot, explain=explain, audit=self._cache.audit)
            if self._options.enable_pprof
            else {},
        )

    def _why_unsynced(self) -> str | None:
        lagging = self._cache.lagging()
        if not lagging or self._has_begun:
            return None
        trouble = self._trouble()
        why = f" ({trouble.event} at {self._client.cluster.described}: {trouble.error})" if trouble else ""
        return f"no list yet of {', '.join(lagging)}{why}"

    def _why_stale(self) -> str | None:
        """Return which of the essential kinds cannot be followed any more, or None."""
        return failing_watches(each for kind, each in self._cache.reflectors.items() if kind in ESSENTIAL)

    def _why_failing(self) -> str | None:
        failing = self._cache.background.failing()
        return "; ".join(f"{work} dies again and again: {last}" for work, last in failing.items()) or None

    async def _watch_figures(self) -> None:
        """Keep the gauges that change without a cycle."""
        lag = WatchLag()
        while True:
            now = time.monotonic()
            for reflector in self._cache.reflectors.values():
                kind, is_synced = reflector.resource.label, reflector.synced.is_set()
                seconds = lag.seconds(kind, reflector.resource_version, now, is_synced=is_synced)
                self._metrics.put("pyroclast_watch_lag_seconds", seconds, kind)
            self._metrics.put("pyroclast_assumed_tasks", len(self._cache.state.assumed()))
            self._metrics.put("pyroclast_binds_per_second", self._rate.per_second())
            await asyncio.sleep(_FIGURES_SECONDS)

    def _follow_signals(self, stack: AsyncExitStack) -> None:
        loop = asyncio.get_running_loop()
        actions: dict[signal.Signals, Any] = {
            signal.SIGTERM: self._stop,
            signal.SIGINT: self._stop,
            signal.SIGUSR2: self._tell_size,
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
            # In a thread: many pods and a slow disk take seconds, and the lease must not wait for them.
            await asyncio.to_thread(dump.write, file)
        except OSError as error:
            _log.error("snapshot_not_written", file=str(file), error=str(error))
        else:
            _log.info("snapshot_written", file=str(file))

    def _tell_size(self) -> None:
        snapshot = self._cache.snapshot()
        _log.info(
            "size",
            nodes=len(snapshot.nodes),
            jobs=len(snapshot.jobs),
            queues=len(snapshot.queues),
            orphan_pods=len(snapshot.orphan_pods),
            peak_memory_mib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        )
