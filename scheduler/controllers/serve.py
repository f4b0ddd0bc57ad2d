"""Serving: the controllers wired together, from the first log line to the exit status.

    options → API server → probes → stores filled → lease → reconciling → at rest → released

Admission is answered on every replica from the start; reconciling is the leader's. Exit status 0: told to end; 1: the
lease was lost, which is fatal on purpose, since a fresh process has no doubts about what it knows.
"""

import asyncio
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from typing import Final

import structlog
from prometheus_client import REGISTRY, Metric, disable_created_metrics, generate_latest
from prometheus_client.registry import Collector

from pyroclast.controllers.admission.serving import Admission
from pyroclast.controllers.runtime.metrics import LEADER, WATCH_LAG
from pyroclast.controllers.runtime.operator import Operator
from pyroclast.kube.client import Client
from pyroclast.kube.collector import settle
from pyroclast.kube.configuration import ClusterOptions, connect
from pyroclast.kube.lease import Elector
from pyroclast.kube.reviews import Reviews
from pyroclast.kube.version import own_version
from pyroclast.model.errors import ConfigError
from pyroclast.scheduler.controllers.options import Options
from pyroclast.scheduler.controllers.table import CONTROLLERS
from pyroclast.scheduler.daemon.leadership import lead_to_the_end, lease_options
from pyroclast.scheduler.daemon.sync_diagnostics import Trouble, failing_watches, tell_why_unsynced, trouble_of
from pyroclast.scheduler.monitoring.health import Endpoints, HealthSource
from pyroclast.scheduler.monitoring.level_socket import LevelSocket
from pyroclast.scheduler.monitoring.logs import Level
from pyroclast.scheduler.monitoring.watch_lag import WatchLag

__all__ = ["COMPONENT", "serve"]

COMPONENT: Final = "vc-controller-manager"
"""Who reports events: the name that Volcano's users know."""

_FIGURES_SECONDS: Final = 5.0
"""Between two looks at how far watches have come."""
_LAST_SECONDS: Final = 15.0
"""Time that reconciliations have to come to their end; a kubelet kills after thirty seconds."""

_log = structlog.get_logger(__name__)


async def serve(options: Options, level: Level, *, warnings: Sequence[str] = ()) -> int:
    """Run the controllers until a signal ends them; return the exit status.

    Raises:
        ConfigError: Something that an operator must mend keeps them from starting.
    """
    _log.info("starting", version=own_version(), controllers=options.chosen, admission=options.enable_admission)
    for warning in warnings:
        _log.warning("option_warning", warning=warning)
    disable_created_metrics()  # type: ignore[no-untyped-call] # the library left it without types
    async with AsyncExitStack() as stack:
        cluster = await connect(ClusterOptions(kubeconfig=options.kubeconfig, master=options.master))
        client = await stack.enter_async_context(Client(cluster, component="controllers"))
        socket = LevelSocket(options.debug_socket_folder, level, verbosity=options.v)
        stack.push_async_callback(socket.stop)
        await socket.start()
        return await _Process(options, client).run(stack)


def _told(group: BaseExceptionGroup[ConfigError]) -> list[str]:
    """Return the faults of all errors in a group."""
    faults: list[str] = []
    for error in group.exceptions:
        faults += error.faults if isinstance(error, ConfigError) else _told(error)
    return faults


class WithoutLeader(Collector):
    """Metrics of a process without controllers: one that only answers admission must not seem to reconcile."""

    def collect(self) -> Iterator[Metric]:
        """Iterate over all metrics but who leads."""
        return (metric for metric in REGISTRY.collect() if metric.name not in {each.name for each in LEADER.describe()})


class _Process:
    """The parts of one process."""

    def __init__(self, options: Options, client: Client) -> None:
        self._options, self._client = options, client
        self._stopping = asyncio.Event()
        self._is_synced = False
        elector = self._elector = Elector(client, lease_options(options)) if options.leader_elect else None
        self._operator = Operator(client, component=COMPONENT, may_write=lambda: elector is None or elector.is_leader)
        for name in options.chosen:
            CONTROLLERS[name](self._operator, options.of_controllers)
        self._admission = Admission(client, options.of_admission) if options.enable_admission else None

    async def run(self, stack: AsyncExitStack) -> int:
        """Serve until told to end, or until the lease is lost."""
        self._follow_signals(stack)
        reviews = Reviews(self._client) if self._options.metrics_authorization else None
        endpoints = Endpoints(self._options, self._inside(), reviews)
        stack.push_async_callback(endpoints.stop)
        await endpoints.start()
        try:
            return await self._serve()
        except BaseExceptionGroup as group:
            faults, _ = group.split(ConfigError)
            if faults is None:
                raise
            raise ConfigError(*_told(faults)) from group

    async def _serve(self) -> int:
        """Follow, and answer admission, as long as we lead or stand by."""
        async with asyncio.TaskGroup() as beside:
            tasks = [beside.create_task(self._operator.follow()), beside.create_task(self._watch_figures())]
            if self._admission is not None:
                tasks.append(beside.create_task(self._admission.run()))
            try:
                return await self._lead()
            finally:
                for task in tasks:
                    task.cancel()

    async def _lead(self) -> int:
        """Work while leading, once all stores are filled."""
        if not await self._sync():
            return 0
        settle()  # what the lists brought stays for long: later collections need not look at it
        return await lead_to_the_end(self._elector, self._work, stopping=self._stopping)

    async def _sync(self) -> bool:
        """Wait for the first lists; tell whether there is work to begin, rather than an end to come to."""
        server = self._client.cluster.described
        telling = asyncio.create_task(tell_why_unsynced(server, lagging=self._operator.lagging, trouble=self._trouble))
        ends = [asyncio.create_task(self._operator.synced()), asyncio.create_task(self._stopping.wait())]
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (telling, *ends):
                task.cancel()
            await asyncio.gather(telling, *ends, return_exceptions=True)
        self._is_synced = True
        _log.info("synced", lagging=self._operator.lagging())
        return not self._stopping.is_set()

    def _trouble(self) -> Trouble | None:
        return trouble_of(self._operator.troubles())

    async def _work(self) -> None:
        """Do a leader's work until told to end, and let what has begun come to its end."""
        _log.info("reconciling")
        working = asyncio.create_task(self._operator.work())
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait((working, stopping), return_when=asyncio.FIRST_COMPLETED)
            self._operator.stop()
            async with asyncio.timeout(_LAST_SECONDS):
                await asyncio.shield(working)
        except TimeoutError:
            _log.warning("reconciliations_cut_short")
        finally:
            for task in (working, stopping):
                task.cancel()
            await asyncio.gather(working, stopping, return_exceptions=True)

    async def _watch_figures(self) -> None:
        """Keep the gauges of watches, on standbys too."""
        lag = WatchLag()
        while True:
            now = time.monotonic()
            for reflector in self._operator.reflectors:
                kind, is_synced = reflector.resource.label, reflector.synced.is_set()
                WATCH_LAG.labels(kind).set(lag.seconds(kind, reflector.resource_version, now, is_synced=is_synced))
            await asyncio.sleep(_FIGURES_SECONDS)

    def _inside(self) -> HealthSource:
        checks = {"synced": self._why_unsynced, "watches": self._why_stale}
        if self._admission is not None:
            checks["admission"] = self._admission.trouble
        return HealthSource(
            checks=checks,
            vital={"reconciling": self._operator.stuck},
            metrics_text=lambda: generate_latest(REGISTRY if self._options.chosen else WithoutLeader()),
        )

    def _why_unsynced(self) -> str | None:
        lagging = self._operator.lagging()
        if self._is_synced or not lagging:
            return None
        trouble = self._trouble()
        why = f" ({trouble.event} at {self._client.cluster.described}: {trouble.error})" if trouble else ""
        return f"no list yet of {', '.join(lagging)}{why}"

    def _why_stale(self) -> str | None:
        """Return which kinds cannot be followed any more, or None."""
        return failing_watches(each for each in self._operator.reflectors if each.is_present)

    def _follow_signals(self, stack: AsyncExitStack) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop)
            stack.callback(loop.remove_signal_handler, number)

    def _stop(self) -> None:
        if self._stopping.is_set():
            _log.warning("stopping_at_once")
            sys.exit(1)
        _log.info("stopping")
        self._stopping.set()
