"""Rounds: cycles one after the other on a simulated cluster, a period apart."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from msgspec.structs import replace

from pyroclast.framework.configuration import Configuration
from pyroclast.framework.cycle import run_cycle
from pyroclast.framework.extension.outside import Outside
from pyroclast.framework.extension.registry import Registry
from pyroclast.framework.session.memory import Memory
from pyroclast.model.ids import TaskId
from pyroclast.model.plan import Plan
from pyroclast.model.report import CycleReport
from pyroclast.model.snapshot import Snapshot
from pyroclast.plugins.coscheduling import gang_rules
from pyroclast.scheduler.monitoring.stopwatch import Stopwatch
from pyroclast.scheduler.simulation.cluster import SimulatedCluster

__all__ = ["PERIOD_SECONDS", "SimulatedRound", "run_rounds", "seconds_by_phase"]

PERIOD_SECONDS: Final = 1.0
"""Time between two cycles, the daemon's default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedRound:
    """One cycle and what came of it."""

    snapshot: Snapshot
    """What it saw."""
    report: CycleReport
    """What it decided."""
    plans: tuple[Plan, ...]
    """Those of its plans that the books took over."""
    pod_names: Mapping[TaskId, str]
    """`namespace/name` of every pod."""


@dataclass(slots=True, kw_only=True)
class _Watch:
    """The observer of one cycle: hands plans to the books at once, as the daemon does, and takes the time."""

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
        """Take the time."""
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
) -> list[SimulatedRound]:
    """Run cycles; between two of them all that was decided happens, and the clock moves by a period.

    Args:
        cluster: Changed by it.
        configuration: Of every cycle.
        registry: Where plugins and actions come from.
        rounds: Number of cycles.
        now: The moment of the first, seconds since 1970.
        seed: Of every cycle.
        recreate_evicted: Whether evicted pods are made anew, pending.
        stopwatch: Takes the time of all cycles together.
        warn: Is told of plans that the books refused, and of plugins that failed.
        arrivals: Objects that come between cycles, by number of the cycle that sees them first, from 1.
        outside: Who answers what plugins ask beyond the cluster, by plugin instance.
    """
    memory: Memory | None = None
    cluster.follow_gangs(gang_rules(configuration.profiles[0]))
    done: list[SimulatedRound] = []
    for number in range(rounds):
        moment = now + number * PERIOD_SECONDS
        cluster.add((arrivals or {}).get(number + 1, ()))
        snapshot, pod_names = cluster.snapshot(), cluster.pod_names()
        watch = _Watch(cluster=cluster, now=moment, stopwatch=stopwatch, warn=warn)
        report, memory = run_cycle(
            snapshot,
            configuration,
            registry=registry,
            seed=seed,
            now=moment,
            memory=memory,
            outside=outside,
            observer=watch,
        )
        for failure in report.failures.values():
            warn(failure.message)
        # A cycle over what was quiet before may say nothing at all; here each one is to tell how everything stands.
        memory = replace(memory, quiet_snapshot=-1, quiet_configuration=-1)
        done.append(SimulatedRound(snapshot=snapshot, report=report, plans=tuple(watch.taken), pod_names=pod_names))
        if number + 1 < rounds:
            cluster.settle(watch.taken, report, now=moment + PERIOD_SECONDS, recreate_evicted=recreate_evicted)
    return done


def seconds_by_phase(stopwatch: Stopwatch) -> dict[str, float]:
    """Return the seconds of opening, of each action and of closing, all cycles together."""
    return {
        name.removeprefix("action/"): seconds
        for name, seconds in stopwatch.seconds.items()
        if not name.startswith("plugin/")
    }
