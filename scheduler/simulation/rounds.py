"""Rounds: consecutive cycles on a simulated cluster, one period apart."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from msgspec.structs import replace

from pyroclast.framework.configuration import Configuration
from pyroclast.framework.cycle import examine_pods, run_cycle
from pyroclast.framework.extension.outside import Outside
from pyroclast.framework.extension.registry import Registry
from pyroclast.framework.session.memory import Memory
from pyroclast.model.examination import Examination
from pyroclast.model.ids import TaskId
from pyroclast.model.plan import Plan
from pyroclast.model.report import CycleReport
from pyroclast.model.snapshot import Snapshot
from pyroclast.plugins.coscheduling import gang_rules
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
    memory: Memory | None = None
    cluster.follow_gangs(gang_rules(configuration.profiles[0]))
    done: list[SimulatedRound] = []
    for number in range(rounds):
        moment = now + number * PERIOD_SECONDS
        cluster.add((arrivals or {}).get(number + 1, ()))
        snapshot, pod_names = cluster.snapshot(), cluster.pod_names()
        noted = recording(outside or {}, RecordingBudget(MOST_BYTES))
        received = memory
        watch = _Watch(cluster=cluster, now=moment, stopwatch=stopwatch, warn=warn)
        report, memory = run_cycle(
            snapshot,
            configuration,
            registry=registry,
            seed=seed,
            now=moment,
            memory=memory,
            outside=noted if explain is not None else outside,
            observer=watch,
        )
        examinations: tuple[Examination, ...] = ()
        if explain is not None:
            examinations = examine_pods(
                snapshot,
                configuration,
                registry=registry,
                seed=seed,
                now=moment,
                memory=received,
                outside={name: Recorded(each.exchanges) for name, each in noted.items()},
                chooses=chooser(names_in(snapshot, explain.names)),
                node_limit=explain.node_limit,
            )
        for failure in report.failures.values():
            warn(failure.message)
        # A quiet cycle would return an empty report. Here each report must be complete.
        memory = replace(memory, quiet_snapshot=-1, quiet_configuration=-1)
        done.append(
            SimulatedRound(
                snapshot=snapshot,
                report=report,
                plans=tuple(watch.taken),
                pod_names=pod_names,
                examinations=examinations,
            )
        )
        if number + 1 < rounds:
            cluster.settle(watch.taken, report, now=moment + PERIOD_SECONDS, recreate_evicted=recreate_evicted)
    return done


def seconds_by_phase(stopwatch: Stopwatch) -> dict[str, float]:
    """Return the seconds of opening, of each action and of closing, over all cycles."""
    return {
        name.removeprefix("action/"): seconds
        for name, seconds in stopwatch.seconds.items()
        if not name.startswith("plugin/")
    }
