"""Rounds: consecutive cycles on a simulated cluster, one period apart."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from msgspec.structs import replace

from pyroclast.framework.configuration import Configuration
from pyroclast.framework.cycle import run_cycle
from pyroclast.framework.extension.outside import Outside
from pyroclast.framework.extension.registry import Registry
from pyroclast.framework.profiles import merged_reports, with_held
from pyroclast.framework.session.memory import Memory
from pyroclast.framework.session.ownership import tasks_of_profile
from pyroclast.framework.session.shadows.tracing import Tracing
from pyroclast.model.examination import Examination
from pyroclast.model.ids import TaskId
from pyroclast.model.plan import Plan
from pyroclast.model.report import CycleReport
from pyroclast.model.snapshot import Snapshot
from pyroclast.scheduler.daemon.settings import rules_of_gangs
from pyroclast.scheduler.extenders.recorded_replies import MOST_BYTES, Recorded, RecordingBudget, recording
from pyroclast.scheduler.monitoring.examinations import Explain, chooser, names_in
from pyroclast.scheduler.monitoring.stopwatch import Stopwatch
from pyroclast.scheduler.simulation.cluster import SimulatedCluster

__all__ = ["PERIOD_SECONDS", "SimulatedRound", "run_rounds", "seconds_by_phase"]

PERIOD_SECONDS: Final = 1.0
"""Time between two cycles; the daemon's default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedRound:
    """One cycle and its outcome."""

    snapshot: Snapshot
    """The snapshot of the cycle."""
    report: CycleReport
    """The report of the cycle."""
    plans: tuple[Plan, ...]
    """The plans that the cluster state accepted."""
    pod_names: Mapping[TaskId, str]
    """`namespace/name` of every pod."""
    examinations: tuple[Examination, ...] = ()
    """Scores and refusals of nodes for the pods that are to be explained."""


@dataclass(slots=True, kw_only=True)
class _Watch:
    """The observer of one cycle. It assumes plans immediately, as the daemon does, and measures phases."""

    cluster: SimulatedCluster
    now: float
    stopwatch: Stopwatch
    warn: Callable[[str], None]
    taken: list[Plan] = field(default_factory=list)

    def committed(self, plan: Plan) -> None:
        """Assume a plan."""
        faults = self.cluster.assume(plan, self.now)
        if faults:
            self.warn(f"plan {plan.number} of cycle {plan.cycle} was refused: {'; '.join(faults)}")
        else:
            self.taken.append(plan)

    def phase(self, name: str, begin: bool) -> None:
        """Record the time of a phase."""
        self.stopwatch.mark(name, begin=begin)


def run_rounds(
    cluster: SimulatedCluster,
    configuration: Configuration,
    registry: Registry,
    *,
    rounds: int,
    now: float,
    seed: int,
    recreate_evicted: bool,
    stopwatch: Stopwatch,
    warn: Callable[[str], None],
    arrivals: Mapping[int, Sequence[Mapping[str, Any]]] | None = None,
    outside: Mapping[str, Outside] | None = None,
    explain: Explain | None = None,
) -> list[SimulatedRound]:
    """Run cycles. Between two cycles all decisions are executed, and the clock advances by a period.

    Args:
        cluster: The cluster; it is changed.
        configuration: The configuration of all cycles.
        registry: The plugins and actions.
        rounds: Number of cycles.
        now: The time of the first cycle, in seconds since 1970.
        seed: The seed of all cycles.
        recreate_evicted: Whether evicted pods are created again, pending.
        stopwatch: Measures all cycles together.
        warn: Called for refused plans and failed plugins.
        arrivals: Objects that arrive between cycles, by the number of the first cycle that sees them, from 1.
        outside: The extenders, by plugin instance.
        explain: Pods to explain.
    """
    cluster.follow_gangs(rules_of_gangs(configuration))
    memories = {profile.name: Memory() for profile in configuration.profiles}
    done: list[SimulatedRound] = []
    for number in range(rounds):
        moment = now + number * PERIOD_SECONDS
        cluster.add((arrivals or {}).get(number + 1, ()))
        sessions = []
        for deciding in configuration.turns():
            name = deciding.deciding.name
            session = _session(
                cluster,
                deciding,
                registry,
                memory=memories[name],
                moment=moment,
                seed=seed,
                stopwatch=stopwatch,
                warn=warn,
                outside=outside,
                explain=explain,
            )
            sessions.append(session.done)
            # A quiet cycle would return an empty report. Here each report must be complete.
            left = replace(session.left, quiet_snapshot=-1, quiet_configuration=-1)
            memories = {**with_held(memories, left.held), name: left}
        whole = _together(sessions)
        done.append(whole)
        if number + 1 < rounds:
            cluster.settle(whole.plans, whole.report, now=moment + PERIOD_SECONDS, recreate_evicted=recreate_evicted)
    return done


@dataclass(frozen=True, slots=True, kw_only=True)
class _Session:
    """The session of one profile."""

    done: SimulatedRound
    left: Memory


def _session(
    cluster: SimulatedCluster,
    configuration: Configuration,
    registry: Registry,
    *,
    memory: Memory,
    moment: float,
    seed: int,
    stopwatch: Stopwatch,
    warn: Callable[[str], None],
    outside: Mapping[str, Outside] | None,
    explain: Explain | None,
) -> _Session:
    """Let one profile decide on a snapshot of its own."""
    snapshot, pod_names = cluster.snapshot(), cluster.pod_names()
    noted = recording(outside or {}, RecordingBudget(MOST_BYTES)) if explain is not None else {}
    watch = _Watch(cluster=cluster, now=moment, stopwatch=stopwatch, warn=warn)
    report, left = run_cycle(
        snapshot,
        configuration,
        registry=registry,
        seed=seed,
        now=moment,
        memory=memory,
        outside=noted or outside,
        observer=watch,
    )
    for failure in report.failures.values():
        warn(failure.message)
    examinations: tuple[Examination, ...] = ()
    if explain is not None:
        tasks = names_in(snapshot, explain.names)
        tracing = Tracing(chooser(tasks_of_profile(snapshot, configuration, tasks)), node_limit=explain.node_limit)
        run_cycle(
            snapshot,
            configuration,
            registry=registry,
            seed=seed,
            now=moment,
            memory=memory,
            outside={name: Recorded(each.exchanges) for name, each in noted.items()},
            tracing=tracing,
        )
        examinations = tracing.examinations()
    done = SimulatedRound(
        snapshot=snapshot, report=report, plans=tuple(watch.taken), pod_names=pod_names, examinations=examinations
    )
    return _Session(done=done, left=left)


def _together(sessions: Sequence[SimulatedRound]) -> SimulatedRound:
    """Return the outcome of all profiles, with the snapshot of the first one."""
    if len(sessions) == 1:
        return sessions[0]
    return SimulatedRound(
        snapshot=sessions[0].snapshot,
        report=merged_reports([each.report for each in sessions]),
        plans=tuple(plan for each in sessions for plan in each.plans),
        pod_names=sessions[0].pod_names,
        examinations=tuple(each for session in sessions for each in session.examinations),
    )


def seconds_by_phase(stopwatch: Stopwatch) -> dict[str, float]:
    """Return the seconds of opening, of each action and of closing, over all cycles."""
    return {
        name.removeprefix("action/"): seconds
        for name, seconds in stopwatch.seconds.items()
        if not name.startswith("plugin/")
    }
