"""The daemon's loop: plans stream out, failures end with their cycle, nothing is done without leadership."""

import asyncio
import itertools
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
from structlog.testing import capture_logs

from pyroclast.cache.options import StateOptions
from pyroclast.framework.configuration import Configuration, Profile
from pyroclast.framework.cycle import Observer
from pyroclast.framework.extension.outside import CycleCut
from pyroclast.framework.session.memory import Memory
from pyroclast.model.ids import NodeName, TaskId
from pyroclast.model.plan import Bind, Eviction, Plan
from pyroclast.model.refusals import Refusal
from pyroclast.model.report import CycleReport, Sample
from pyroclast.model.snapshot import Snapshot
from pyroclast.scheduler.daemon.cycle_pause import CyclePause
from pyroclast.scheduler.daemon.daemon import Daemon, Seen
from pyroclast.scheduler.monitoring.metrics import Metrics
from pyroclast.scheduler.monitoring.stopwatch import Stopwatch
from pyroclast.scheduler.simulation.cluster import SimulatedCluster
from pyroclast.testing import Scenario
from pyroclast.testing.cluster import cluster_of

CONFIGURATION = Configuration(generation=7, profiles=(Profile(actions=("allocate",)),), source="")


def plan(name: str, *, action: str = "allocate", evicts: bool = False) -> Plan:
    """Make a plan that binds one pod, or evicts it."""
    where: dict[str, Any] = {
        "task": TaskId(name),
        "job": None,
        "namespace": "ns",
        "name": name,
        "node": NodeName("n1"),
    }
    return Plan(
        number=1,
        cycle=1,
        configuration=7,
        action=action,
        job=None,
        queue=None,
        binds=() if evicts else (Bind(**where),),
        evictions=(Eviction(**where, reason=action),) if evicts else (),
    )


def report(cycle: int, plans: tuple[Plan, ...], samples: tuple[Sample, ...] = ()) -> CycleReport:
    """Make a report that says nothing but its plans and samples."""
    empty: dict[Any, Any] = {}
    return CycleReport(
        cycle=cycle,
        configuration=7,
        plans=plans,
        pipelined=empty,
        phases=empty,
        group_statuses=(),
        pod_conditions=(),
        queue_statuses=(),
        events=(),
        refusals=empty,
        task_refusals=empty,
        vetoes=empty,
        shares=empty,
        status_counts=empty,
        samples=samples,
    )


@dataclass
class FakeCluster:
    """A cache that notes what it is asked."""

    assumed: list[Plan] = field(default_factory=list)
    carried: list[Plan] = field(default_factory=list)
    written: list[CycleReport] = field(default_factory=list)
    refuses: bool = False
    breaks: bool = False
    noticed: Callable[[], None] = lambda: None
    third: asyncio.Event = field(default_factory=asyncio.Event)
    """The third snapshot was taken."""
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    threads: set[int] = field(default_factory=set)
    snapshots: int = 0

    def snapshot(self) -> Snapshot:
        """Count; the fake cycle looks at nothing but the generation."""
        self.snapshots += 1
        if self.snapshots == 3:
            self.third.set()
        return cast("Snapshot", SimpleNamespace(generation=self.snapshots))

    def assume(self, plan: Plan) -> bool:
        """Take the plan, unless configured to refuse."""
        self.threads.add(threading.get_ident())
        self.noticed()
        if not self.refuses:
            self.assumed.append(plan)
        return not self.refuses

    async def execute_plan(self, plan: Plan) -> None:
        """Wait until the test opens the gate."""
        if self.breaks:
            raise RuntimeError("binder is broken")
        await self.gate.wait()
        self.carried.append(plan)

    def write(self, report: CycleReport) -> None:
        """Note the report."""
        self.written.append(report)


@dataclass
class Leader:
    """Leadership that a test takes away."""

    is_leader: bool = True


@dataclass
class Decisions:
    """A cycle that commits given plans; `during` runs in the cycle's thread before each."""

    plans: tuple[Plan, ...] = ()
    during: Callable[[], None] = lambda: None
    samples: tuple[Sample, ...] = ()
    failures: tuple[Refusal, ...] = ()
    memories: list[Memory] = field(default_factory=list)

    def __call__(
        self,
        snapshot: Snapshot,  # noqa: ARG002 - the daemon's seam
        configuration: Configuration,  # noqa: ARG002 - as above
        *,
        now: float,  # noqa: ARG002 - as above
        memory: Memory,
        observer: Observer,
    ) -> tuple[CycleReport, Memory]:
        """Decide once."""
        self.memories.append(memory)
        observer.phase("action/allocate", begin=True)
        for each in self.plans:
            self.during()
            observer.committed(each)
        observer.phase("action/allocate", begin=False)
        said = report(memory.cycle + 1, self.plans, self.samples)
        failures = {each.plugin: each for each in self.failures}
        return msgspec.structs.replace(said, failures=failures), Memory(cycle=memory.cycle + 1)


async def adopted(configuration: Configuration) -> None:
    """Prepare for nothing."""


@pytest.fixture
def cluster() -> FakeCluster:
    """A cluster that takes every plan."""
    return FakeCluster()


@pytest.fixture
def decisions() -> Decisions:
    """A cycle that commits two plans."""
    return Decisions(plans=(plan("a"), plan("b")))


@pytest.fixture
def daemon(cluster: FakeCluster, decisions: Decisions) -> Daemon:
    """A daemon between them."""
    return Daemon(
        cluster=cluster,
        leadership=Leader(),
        configuration=lambda: CONFIGURATION,
        decide=decisions,
        adopt=adopted,
        metrics=Metrics(),
        pause=CyclePause(0.001),
    )


async def test_plans_are_assumed_on_the_loop_before_the_cycle_returns(daemon: Daemon, cluster: FakeCluster) -> None:
    """When a cycle ends, all its plans are assumed, in order, by the thread of the watches."""
    await daemon.run_once()

    assert [each.binds[0].name for each in cluster.assumed] == ["a", "b"]
    assert cluster.threads == {threading.get_ident()}
    assert len(cluster.written) == 1


async def test_a_late_preparation_for_a_configuration_delays_the_snapshot(daemon: Daemon, cluster: FakeCluster) -> None:
    """A new configuration may want further kinds to be followed; the cycle waits for them, and does not fail."""
    prepared = asyncio.Event()

    async def adopt(configuration: Configuration) -> None:
        assert configuration is CONFIGURATION
        await prepared.wait()

    daemon.adopt = adopt
    cycle = asyncio.create_task(daemon.run_once())
    await asyncio.sleep(0.05)
    assert cluster.snapshots == 0
    prepared.set()

    assert await cycle is not None
    assert cluster.snapshots == 1


async def test_plans_are_assumed_while_the_cycle_runs(
    daemon: Daemon, cluster: FakeCluster, decisions: Decisions
) -> None:
    """The first plan is on its way before the second is decided."""
    seen: list[bool] = []
    first_is_taken = threading.Event()
    cluster.noticed = first_is_taken.set

    def wait_for_the_first() -> None:
        seen.append(first_is_taken.wait(timeout=0.0 if not seen else 30.0))

    decisions.during = wait_for_the_first

    await daemon.run_once()

    assert seen == [False, True]


async def test_refused_plan_is_counted_and_not_carried_out(daemon: Daemon, cluster: FakeCluster) -> None:
    """A plan that the cluster has outrun is dropped whole."""
    cluster.refuses = True
    cluster.gate.set()
    await daemon.run_once()
    await daemon.drain(30.0)

    assert cluster.carried == []
    assert daemon.metrics.value("pyroclast_plans_total", "refused") == 2


async def test_nothing_is_decided_without_leadership(daemon: Daemon, cluster: FakeCluster) -> None:
    """A standby takes no snapshot."""
    daemon.leadership = Leader(is_leader=False)

    assert await daemon.run_once() is None
    assert cluster.snapshots == 0


async def test_plans_of_a_leader_that_lost_its_lease_are_refused(
    daemon: Daemon, cluster: FakeCluster, decisions: Decisions
) -> None:
    """Leadership is checked again at each plan; nothing is written either."""
    leader = Leader()
    daemon.leadership = leader
    decisions.during = lambda: setattr(leader, "is_leader", False)
    await daemon.run_once()

    assert cluster.assumed == []
    assert cluster.written == []


async def test_a_hanging_cycle_is_logged(daemon: Daemon, decisions: Decisions) -> None:
    """With the phase that it hangs in; it is over with its cycle, also with one that failed inside a phase."""
    now = 0.0
    told: list[str | None] = []
    daemon.stopwatch = lambda: Stopwatch(now=lambda: now)

    def hang() -> None:
        nonlocal now
        told.append(daemon.stuck())
        now += 400.0
        if now > 1000.0:
            raise RuntimeError("plugin gave up")

    decisions.plans = (plan("a"), plan("b"), plan("c"))
    decisions.during = hang
    await daemon.run_once()

    assert told == [None, None, "a cycle does not end: 800 s, by now in action/allocate"]
    assert daemon.stuck() is None


async def test_failed_cycle_is_counted_and_the_next_starts_clean(
    daemon: Daemon, cluster: FakeCluster, decisions: Decisions
) -> None:
    """An exception ends its cycle alone: the next has its own number and no memory of the broken one."""

    def fail() -> None:
        raise RuntimeError("plugin is broken")

    daemon.memories = {"": Memory(cycle=4, quiet_snapshot=3)}
    decisions.during = fail
    assert await daemon.run_once() is None
    decisions.during = lambda: None
    after = await daemon.run_once()

    assert decisions.memories[-1] == Memory(cycle=5)
    assert after is not None
    assert after.cycle == 6
    assert daemon.metrics.value("pyroclast_cycles_total", "failed") == 1
    assert daemon.metrics.value("pyroclast_cycles_total", "finished") == 1


TWO_PROFILES = replace(
    CONFIGURATION,
    profiles=tuple(Profile(actions=("allocate",), scheduler_names=(name,), name=name) for name in ("a", "b")),
)


def failing_for(decisions: Decisions, *names: str) -> Any:
    """Return a cycle that fails for some profiles."""

    def decide(snapshot: Snapshot, configuration: Configuration, **more: Any) -> tuple[CycleReport, Memory]:
        if configuration.deciding.name in names:
            raise RuntimeError(f"plugin of {configuration.deciding.name} is broken")
        return decisions(snapshot, configuration, **more)

    return decide


@pytest.mark.parametrize("failing", ["a", "b"])
async def test_a_profile_that_fails_does_not_stop_the_others(
    daemon: Daemon, cluster: FakeCluster, decisions: Decisions, failing: str
) -> None:
    """Its jobs get the error as condition and its memory begins anew; the probe reports nothing."""
    cluster.gate.set()
    scenario = Scenario().job("a", pod={"schedulerName": "a"}).job("b", pod={"schedulerName": "b"})
    options = StateOptions(scheduler_names=frozenset({"a", "b"}))
    queue = {"kind": "Queue", "metadata": {"name": "default"}, "spec": {"weight": 1}}
    snapshot = SimulatedCluster([*scenario.objects, queue], options, report=print, note=print).snapshot()
    cluster.snapshot = lambda: snapshot  # type: ignore[method-assign]  # a cluster with jobs
    daemon.configuration = lambda: TWO_PROFILES
    daemon.decide = failing_for(decisions, failing)
    with capture_logs() as lines:
        done = await daemon.run_once()

    assert done is not None
    assert [each.binds[0].name for each in cluster.assumed] == ["a", "b"]
    assert [condition.name for each in cluster.written for condition in each.pod_conditions] == [f"{failing}-0"]
    assert [line["profile"] for line in lines if line["event"] == "profile_failed"] == [failing]
    assert daemon.memories == {"a": Memory(cycle=1), "b": Memory(cycle=1)}
    assert daemon.metrics.value("pyroclast_profile_failures_total", failing) == 1
    assert daemon.metrics.value("pyroclast_cycles_total", "finished") == 1
    assert daemon._failing is None
    assert daemon.seen is not None
    assert len(daemon.seen.turns) == 2


async def test_the_cycle_fails_if_all_profiles_fail(daemon: Daemon, decisions: Decisions) -> None:
    """The probe names each profile with its error."""
    now = 0.0
    daemon.monotonic = lambda: now
    daemon.configuration = lambda: TWO_PROFILES
    daemon.decide = failing_for(decisions, "a", "b")
    assert await daemon.run_once() is None
    now = 200.0

    assert daemon.metrics.value("pyroclast_cycles_total", "failed") == 1
    assert daemon.failing() == (
        "cycles fail for 200 s: AllProfilesFailedError: profile a: RuntimeError: plugin of a is broken; "
        "profile b: RuntimeError: plugin of b is broken"
    )


async def test_plan_that_fails_on_the_way_does_not_stop_the_loop(daemon: Daemon, cluster: FakeCluster) -> None:
    """An exception of a plan in flight is logged; later cycles run."""
    cluster.breaks = True
    await daemon.run_once()

    assert await daemon.run_once() is not None
    assert await daemon.drain(30.0)


async def test_stop_lets_plans_in_flight_finish(daemon: Daemon, cluster: FakeCluster) -> None:
    """What is assumed is carried out before the process ends."""
    await daemon.run_once()
    daemon.stop()
    draining = asyncio.create_task(daemon.drain(30.0))
    await asyncio.sleep(0)
    cluster.gate.set()

    assert await draining
    assert len(cluster.carried) == 2


async def test_stop_has_a_deadline(daemon: Daemon, cluster: FakeCluster) -> None:
    """A server that never answers does not keep the process for ever."""
    await daemon.run_once()

    assert not await daemon.drain(0.01)
    assert cluster.carried == []


async def test_plans_in_flight_are_cut_when_leadership_is_lost(daemon: Daemon, cluster: FakeCluster) -> None:
    """Nothing of them goes on while another process may lead."""
    await daemon.run_once()

    await asyncio.wait_for(daemon.abandon(), 30)

    assert cluster.carried == []
    cluster.gate.set()
    assert await daemon.drain(0.01)
    assert cluster.carried == []


async def test_plans_committed_after_stop_are_refused(
    daemon: Daemon, cluster: FakeCluster, decisions: Decisions
) -> None:
    """The cycle under way ends, but starts nothing new."""
    loop = asyncio.get_running_loop()
    decisions.during = lambda: loop.call_soon_threadsafe(daemon.stop)  # type: ignore[assignment] # its handle is of no use
    await daemon.run_once()

    assert cluster.assumed == []


async def test_run_ends_when_stop_is_asked_for(daemon: Daemon, cluster: FakeCluster) -> None:
    """The loop runs cycle after cycle until then."""
    running = asyncio.create_task(daemon.run())
    await cluster.third.wait()
    daemon.stop()
    await running

    assert [each.cycle for each in cluster.written][:2] == [1, 2]


async def test_a_plugin_that_fails_is_logged_when_it_is_news(daemon: Daemon, decisions: Decisions) -> None:
    """Once, however many cycles it fails in, and again when it raises something else; so is the event."""
    events: list[tuple[str, str]] = []
    daemon.plugin_failed = lambda plugin, message: events.append((plugin, message))
    with capture_logs() as lines:
        for message in ("no licence", "no licence", "no room"):
            decisions.failures = (Refusal(plugin="dear", reason="PluginError", message=message),)
            await daemon.run_once()

    told = [(each["plugin"], each["error"]) for each in lines if each["event"] == "plugin_failed"]
    assert told == events == [("dear", "no licence"), ("dear", "no room")]


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit()])
async def test_what_would_end_the_process_ends_the_cycle_alone(
    daemon: Daemon, decisions: Decisions, error: BaseException
) -> None:
    """The next cycle runs, whatever code from outside raised."""

    def exits() -> None:
        raise error

    sound, decisions.during = decisions.during, exits
    assert await daemon.run_once() is None
    decisions.during = sound

    assert await daemon.run_once() is not None


async def test_samples_and_phases_reach_the_metrics(daemon: Daemon, decisions: Decisions) -> None:
    """Samples are applied, and each phase is timed under Volcano's name."""
    decisions.samples = (Sample(metric="unschedule_job_count", labels=(), value=5),)
    await daemon.run_once()

    text = daemon.metrics.text().decode()
    assert "volcano_unschedule_job_count 5.0" in text
    assert 'volcano_action_scheduling_latency_milliseconds_count{action="allocate"} 1.0' in text
    assert "volcano_e2e_scheduling_latency_milliseconds_count 1.0" in text
    assert "volcano_open_session_duration_milliseconds_count 1.0" in text


async def test_assumed_plans_with_evictions_are_counted_by_action(daemon: Daemon, decisions: Decisions) -> None:
    """One transaction for each plan of the four evicting actions; others are not counted."""
    decisions.plans = (plan("a", action="reclaim", evicts=True), plan("b", action="shuffle", evicts=True))
    await daemon.run_once()

    assert daemon.metrics.value("volcano_eviction_transactions_total", "reclaim") == 1
    assert daemon.metrics.value("volcano_eviction_transactions_total", "shuffle") is None


async def test_the_daemon_reports_each_cycle(daemon: Daemon) -> None:
    """Explain and the gauges of the backlog read the last cycle from there."""
    told: list[Seen] = []
    daemon.after_cycle = told.append
    await daemon.run_once()

    assert [each.report.cycle for each in told] == [1]
    assert daemon.seen is told[0]


async def test_gauges_are_set_later_while_new_work_waits(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    """They delay the next cycle. A limited number of cycles follow each other without them."""
    monkeypatch.setattr("pyroclast.scheduler.daemon.daemon._MOST_POSTPONED", 2)
    told: list[int] = []
    daemon.set_gauges = lambda seen: told.append(seen.report.cycle)
    monkeypatch.setattr(type(daemon.pause), "has_new_work", True)
    for _ in range(4):
        await daemon.run_once()
    assert told == [3]

    monkeypatch.setattr(type(daemon.pause), "has_new_work", False)
    await daemon.run_once()
    assert told == [3, 5]


async def test_what_observes_cycles_does_not_end_them(daemon: Daemon, cluster: FakeCluster) -> None:
    """Metrics and debug logs that fail are logged; the memory and the conditions of jobs stay."""

    def fail(_: Seen) -> None:
        raise RuntimeError("no table")

    daemon.after_cycle = daemon.set_gauges = fail
    with capture_logs() as lines:
        assert await daemon.run_once() is not None

    assert [line["event"] for line in lines if line["log_level"] == "error"] == ["cycle_not_observed"] * 2
    assert len(cluster.written) == 1
    assert daemon.metrics.value("pyroclast_cycles_total", "finished") == 1


async def test_a_cycle_that_is_cut_is_no_failure(daemon: Daemon, cluster: FakeCluster, decisions: Decisions) -> None:
    """The process ends: nothing is written, nothing is counted as failed, and nothing is logged as a fault."""

    def cut() -> None:
        raise CycleCut

    decisions.during = cut
    with capture_logs() as logs:
        assert await daemon.run_once() is None

    assert cluster.written == []
    assert daemon.metrics.value("pyroclast_cycles_total", "failed") is None
    assert [(each["event"], each["log_level"]) for each in logs] == [("cycle_cut", "info")]
    assert daemon.stuck() is None


async def test_a_stop_does_not_wait_for_a_plugin_that_never_returns(
    daemon: Daemon, cluster: FakeCluster, decisions: Decisions
) -> None:
    """The cycle is left, and what it commits later is refused; its thread keeps no process alive."""
    loop, hold, left = asyncio.get_running_loop(), threading.Event(), asyncio.Event()

    def hang() -> None:
        loop.call_soon_threadsafe(daemon.stop)
        hold.wait()

    decisions.during, decisions.plans = hang, (plan("a"),)
    daemon.last_cycle_seconds = 0.0
    with capture_logs() as lines:
        await daemon.run()
    hold.set()
    await daemon.drain(30.0)
    loop.call_later(0.05, left.set)
    await left.wait()

    assert "cycle_left" in [each["event"] for each in lines]
    assert cluster.assumed == []
    assert daemon.thread.is_daemon


async def test_cycles_that_fail_show_in_the_probe_after_two_minutes(
    daemon: Daemon, cluster: FakeCluster, decisions: Decisions
) -> None:
    """With their errors; a cycle that succeeds ends it. Waiting jobs are in a report without plans."""
    now = 1000.0

    def fail() -> None:
        raise KeyError("x")

    daemon.monotonic = lambda: now
    objects = Scenario().node("n1").job("waits").objects
    snapshot = cluster_of(objects, shard_mode="none", shard="", warnings=[]).snapshot()
    cluster.snapshot = lambda: snapshot  # type: ignore[method-assign]  # one with a pod that waits
    sound, decisions.during = decisions.during, fail
    await daemon.run_once()
    told = cluster.written[-1]
    now = 1119.0
    await daemon.run_once()
    assert daemon.failing() is None
    now = 1120.0
    assert daemon.failing() == "cycles fail for 120 s: KeyError: 'x'"
    assert told.plans == ()
    assert [each.name for each in told.pod_conditions] == ["waits-0"]

    decisions.during = sound
    await daemon.run_once()
    assert daemon.failing() is None


@pytest.mark.parametrize(("limit", "count"), [(0.0, None), (1000.0, None), (5.0, 1.0)])
async def test_a_session_that_lasts_too_long_is_counted(daemon: Daemon, limit: float, count: float | None) -> None:
    """It is counted for its profile and logged; 0 sets no limit."""
    moments = itertools.count(step=10.0)
    daemon.monotonic = lambda: float(next(moments))
    daemon.scheduling_timeout = limit
    with capture_logs() as lines:
        await daemon.run_once()

    assert daemon.metrics.value("scheduler_scheduling_timeout", "") == count
    assert [line["seconds"] for line in lines if line["event"] == "scheduling_timeout"] == ([10.0] if count else [])
    assert "scheduler_scheduling_timeout_total{" not in daemon.metrics.text().decode()


async def test_each_profile_decides_on_what_those_before_it_left(
    daemon: Daemon, cluster: FakeCluster, decisions: Decisions
) -> None:
    """Two profiles have two sessions, two reports and memories of their own; all that was decided is seen together."""
    profiles = tuple(Profile(actions=("allocate",), scheduler_names=(name,), name=name) for name in ("a", "b"))
    daemon.configuration = lambda: replace(CONFIGURATION, profiles=profiles)
    await daemon.run_once()
    await daemon.run_once()

    assert len(cluster.written) == 4
    assert [memory.cycle for memory in decisions.memories] == [0, 0, 1, 1]
    assert daemon.seen is not None
    assert len(daemon.seen.turns) == 2
    assert len(daemon.seen.report.plans) == sum(len(each.report.plans) for each in daemon.seen.turns)
    assert daemon.metrics.value("pyroclast_profile_binds_total", "a") == 4.0
