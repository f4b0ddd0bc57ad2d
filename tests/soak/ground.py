"""A whole cluster in one process: API server, hollow nodes, cache and daemon, with a clock that the test moves."""

import asyncio
import random
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from pyroclast.cache.cache import SchedulerCache
from pyroclast.emulator.clock import Clock
from pyroclast.emulator.hollow.kubelets import KubeletOptions, Kubelets
from pyroclast.emulator.run import Emulator
from pyroclast.framework.configuration import Configuration
from pyroclast.framework.cycle import Observer, run_cycle
from pyroclast.framework.extension.registry import Registry
from pyroclast.framework.session.memory import Memory, Settled
from pyroclast.kube.api.client import Client
from pyroclast.kube.api.configuration import ClusterOptions, connect
from pyroclast.model.plan import Plan
from pyroclast.model.report import CycleReport
from pyroclast.model.snapshot import Snapshot
from pyroclast.model.tasks import TaskStatus
from pyroclast.scheduler.cli.options import parse_options
from pyroclast.scheduler.daemon.cluster import make_cache
from pyroclast.scheduler.daemon.cycle_pause import CyclePause
from pyroclast.scheduler.daemon.daemon import Daemon
from pyroclast.scheduler.daemon.instrumented_writers import Rate
from pyroclast.scheduler.daemon.leadership import Alone
from pyroclast.scheduler.monitoring.metrics import Metrics
from pyroclast.scheduler.registry import load_registry
from tests.differential.extended import MARKED
from tests.laws.living.placing import misplaced
from tests.laws.living.repeating import Beginning, Repeated, decided_in_every_way, in_other_order, miscounted, told

__all__ = ["Ground", "standing"]

CRDS = Path(__file__).parents[2] / "config" / "crd"
START = 1_800_000_000.0
"""When it all begins, seconds since 1970: 8:00 in Greenwich."""
OFTEN = 0.5
"""Part of the cycles for which books are made in another order; not each of them decides by these."""

Object = dict[str, Any]


@dataclass
class Time:
    """One clock for the server, the kubelets and the daemon."""

    now: float = START

    def __call__(self) -> float:
        """Tell it."""
        return self.now


@dataclass
class Noting:
    """The cache, with a note of each plan that it took."""

    cache: SchedulerCache
    chance: random.Random
    taken: list[Plan] = field(default_factory=list)
    """Number of the running cycle."""
    seen: Snapshot = field(init=False)
    """The cluster at the beginning of the cycle."""
    turned: Snapshot | None = None
    """At random, the cluster at the beginning of the cycle from a state that received its objects in another order."""

    def snapshot(self) -> Snapshot:
        """Look."""
        self.taken = []
        self.turned = in_other_order(self.cache.state, self.chance) if self.chance.random() < OFTEN else None
        self.seen = self.cache.snapshot()
        return self.seen

    def assume(self, plan: Plan) -> bool:
        """Take a plan or not."""
        is_taken = self.cache.assume(plan)
        if is_taken:
            self.taken.append(plan)
        return is_taken

    async def execute_plan(self, plan: Plan) -> None:
        """Do it."""
        await self.cache.execute_plan(plan)

    def write(self, report: CycleReport) -> None:
        """Write it."""
        self.cache.write(report)


@dataclass(kw_only=True)
class Ground:
    """What a test has in its hands."""

    emulator: Emulator
    client: Client
    cache: SchedulerCache
    noting: Noting
    deciding: "Deciding"
    daemon: Daemon
    time: Time

    def objects(self, plural: str, group: str = "") -> list[Object]:
        """Return what the server has of a kind, now."""
        collection = self.emulator.store.collection(group, plural)
        return [record.object() for record in collection.records()]

    async def post(self, path: str, body: Object) -> Object:
        """Create an object."""
        made: Object = await self.client.request_json("POST", path, body=body)
        return made

    async def cycle(self) -> CycleReport:
        """Run one cycle, to the end of the last request that its plans make."""
        self.time.now += 1.0
        report = await self.daemon.run_once()
        assert report is not None, "the cycle failed: see the log"
        while self.daemon._in_flight:
            await asyncio.wait(tuple(self.daemon._in_flight))
        return report

    def broken_by_deciding(self) -> list[str]:
        """Return what was wrong with the decisions of the last cycle, looked at once it was carried out."""
        return [*self.deciding.broken, *self.deciding.miscounted(self.cache.snapshot())]

    def bound_by_job(self) -> dict[str, list[Object]]:
        """Return the pods that have a node and are not on their way out, by the name of their job."""
        found = defaultdict(list)
        for pod in self.objects("pods"):
            if pod["spec"].get("nodeName") and not pod["metadata"].get("deletionTimestamp"):
                found[pod["metadata"]["labels"]["job"]].append(pod)
        return found


@asynccontextmanager
async def standing(folder: Path, configuration: Configuration) -> AsyncIterator[Ground]:
    """Let a cluster stand for the length of a block, without nodes or queues."""
    time = Time()
    async with AsyncExitStack() as stack:
        emulator = await stack.enter_async_context(Emulator(clock=Clock(time)))
        cluster = await connect(ClusterOptions(kubeconfig=str(emulator.kubeconfig(folder / "kubeconfig"))))
        client = await stack.enter_async_context(Client(cluster, component="soak"))
        for file in sorted(CRDS.glob("*.yaml")):
            for definition in yaml.safe_load_all(file.read_text(encoding="utf-8")):
                await client.request_json(
                    "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body=definition
                )
        kubelets = Kubelets(client, KubeletOptions(start_seconds=0.0, termination_seconds=0.05), clock=Clock(time))
        alive = asyncio.get_running_loop().create_task(kubelets.run())
        stack.callback(alive.cancel)
        await kubelets.ready.wait()
        noting, deciding, daemon = await _start_daemon(stack, client, time, configuration)
        yield Ground(
            emulator=emulator,
            client=client,
            cache=noting.cache,
            noting=noting,
            deciding=deciding,
            daemon=daemon,
            time=time,
        )


async def _adopt_nothing(_: Configuration) -> None:
    """Prepare for no other configuration: it stays the same."""


async def _start_daemon(
    stack: AsyncExitStack, client: Client, time: Time, configuration: Configuration
) -> tuple[Noting, "Deciding", Daemon]:
    options = parse_options(["--leader-elect=false"], {}).options
    metrics, chance = Metrics(), random.Random(0)
    cache, _hands = make_cache(client, options, metrics, Rate(), is_leader=lambda: True)
    stack.push_async_callback(cache.stop)
    assert await cache.start(patience_seconds=30.0)
    assert await cache.take_over()
    noting = Noting(cache, chance)
    deciding = Deciding(load_registry(), noting, chance)
    daemon = Daemon(
        cluster=noting,
        leadership=Alone(),
        configuration=lambda: configuration,
        adopt=_adopt_nothing,
        decide=deciding,
        metrics=metrics,
        pause=CyclePause(0.0),
        wall=time,
    )
    stack.push_async_callback(daemon.drain, 5.0)
    return noting, deciding, daemon


@dataclass
class Deciding:
    """A cycle, as the daemon's process binds it, and the same cycle in every way that must come to the same."""

    registry: Registry
    noting: Noting
    chance: random.Random
    settled: Settled = field(default_factory=Settled)
    broken: list[str] = field(default_factory=list)
    """The decisions of the last cycle."""
    _repeated: Repeated | None = None
    _report: CycleReport | None = None
    _next: Beginning | None = None
    """A cycle on the same snapshot with the memory of the last one."""

    def __call__(
        self, snapshot: Snapshot, configuration: Configuration, *, now: float, memory: Memory, observer: Observer
    ) -> tuple[CycleReport, Memory]:
        """Decide once for the daemon, then again for the laws."""
        report, remembered = run_cycle(
            snapshot,
            configuration,
            registry=self.registry,
            now=now,
            memory=memory,
            outside=MARKED,
            observer=observer,
            settled=self.settled,
        )
        beginning = Beginning(
            snapshot=snapshot, configuration=configuration, registry=self.registry, now=now, memory=memory
        )
        self._report, self._next = report, replace(beginning, memory=remembered)
        self._repeated = repeated = decided_in_every_way(beginning, lambda: self.noting.turned, self.chance)
        self.broken = [*repeated.broken, *misplaced(snapshot, report, configuration.profiles[0], now)]
        if report.plans != repeated.report.plans:
            self.broken.append(f"what is remembered changes decisions: {told(report)}, {told(repeated.report)}")
        return report, remembered

    def miscounted(self, after: Snapshot) -> Iterator[str]:
        """Count anew what queues have left, where all that was decided has happened."""
        report, repeated, following = self._report, self._repeated, self._next
        if report is None or repeated is None or following is None or repeated.headroom is None:
            return
        if self._has_happened(report, after) and not self._quotas_ask_for_less(following, after):
            yield from miscounted(repeated.headroom, report, replace(following, snapshot=after))

    def _quotas_ask_for_less(self, following: Beginning, after: Snapshot) -> bool:
        """Return whether pods are gone that were asked for: what others lend to a quota changes by that."""
        if not any(each.plugin == "elastic-quota" for each in following.configuration.profiles[0].plugins):
            return False
        before, left = (
            {task for job in snapshot.jobs.values() for task in job.tasks} for snapshot in (self.noting.seen, after)
        )
        return not before <= left

    def _has_happened(self, report: CycleReport, after: Snapshot) -> bool:
        """Return whether all victims left; a victim that is gone holds as little as one that is terminating."""
        gone = {each.task for plan in report.plans for each in plan.evictions}
        stayed = (task for job in after.jobs.values() for task in job.tasks.values() if task.id in gone)
        return all(task.status is TaskStatus.RELEASING for task in stayed)
