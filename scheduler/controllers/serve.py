"""The controllers' process, from the first log line to the exit status.

    options → API server → probes → stores filled → lease → reconciling → at rest → released

Every replica answers admission requests from the start. Only the leader reconciles. The exit status is 0 after a
signal,
and 1 if the lease is lost. Losing the lease is fatal on purpose: a new process has no stale state.
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

from pyroclast.controllers.admission.process import Admission
from pyroclast.controllers.runtime.operator import Operator
from pyroclast.controllers.runtime.operator_metrics import LEADER, WATCH_LAG
from pyroclast.kube.api.client import Client
from pyroclast.kube.api.configuration import ClusterOptions, connect
from pyroclast.kube.api.reviews import Reviews
from pyroclast.kube.api.version import own_version
from pyroclast.kube.collector import settle
from pyroclast.kube.lease import Elector
from pyroclast.model.errors import ConfigError
from pyroclast.scheduler.controllers.options import Options
from pyroclast.scheduler.controllers.table import CONTROLLERS
from pyroclast.scheduler.daemon.leadership import lead_to_the_end, lease_options
from pyroclast.scheduler.daemon.sync_diagnostics import Trouble, failing_watches, log_why_unsynced, trouble_of
from pyroclast.scheduler.monitoring.health import Endpoints, HealthSource
from pyroclast.scheduler.monitoring.level_socket import LevelSocket
from pyroclast.scheduler.monitoring.logs import Level
from pyroclast.scheduler.monitoring.watch_lag import WatchLag

__all__ = ["COMPONENT", "serve"]

COMPONENT: Final = "vc-controller-manager"
"""Component name in events, as Volcano's users know it."""

_FIGURES_SECONDS: Final = 5.0
"""Interval between updates of the watch metrics."""
_LAST_SECONDS: Final = 15.0
"""Time that running reconciliations have to finish. A kubelet kills the process after thirty seconds."""

_log = structlog.get_logger(__name__)


async def serve(options: Options, level: Level, *, warnings: Sequence[str] = ()) -> int:
    """Run the controllers until a signal ends them; return the exit status.

    Raises:
        ConfigError: The controllers cannot start until an operator fixes something.
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


def _faults_in(group: BaseExceptionGroup[ConfigError]) -> list[str]:
    """Return the faults of all errors in a group."""
    faults: list[str] = []
    for error in group.exceptions:
        faults += error.faults if isinstance(error, ConfigError) else _faults_in(error)
    return faults


class WithoutLeader(Collector):
    """Metrics of a process without controllers.

    Without the leader metric, a replica that only serves admission does not look like a leader.
    """

    def collect(self) -> Iterator[Metric]:
        """Iterate over all metrics except the leader metric."""
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
        """Serve until the process is stopped or the lease is lost."""
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
            raise ConfigError(*_faults_in(faults)) from group

    async def _serve(self) -> int:
        """Watch objects and answer admission requests, as leader and as standby."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._operator.follow()), group.create_task(self._watch_figures())]
            if self._admission is not None:
                tasks.append(group.create_task(self._admission.run()))
            try:
                return await self._lead()
            finally:
                for task in tasks:
                    task.cancel()

    async def _lead(self) -> int:
        """Reconcile while leading, once all stores are filled."""
        if not await self._sync():
            return 0
        settle()  # objects of the first lists live long: later garbage collections skip them
        return await lead_to_the_end(self._elector, self._work, stopping=self._stopping)

    async def _sync(self) -> bool:
        """Wait for the first lists. Return False if the process is stopping."""
        server = self._client.cluster.described
        diagnosing = asyncio.create_task(
            log_why_unsynced(server, lagging=self._operator.lagging, trouble=self._trouble)
        )
        ends = [asyncio.create_task(self._operator.synced()), asyncio.create_task(self._stopping.wait())]
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (diagnosing, *ends):
                task.cancel()
            await asyncio.gather(diagnosing, *ends, return_exceptions=True)
        self._is_synced = True
        _log.info("synced", lagging=self._operator.lagging())
        return not self._stopping.is_set()

    def _trouble(self) -> Trouble | None:
        return trouble_of(self._operator.troubles())

    async def _work(self) -> None:
        """Reconcile until the process is stopped, then let running reconciliations finish."""
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
        """Update the metrics of watches, on standbys too."""
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
        """Return the kinds whose watches fail, or None."""
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
