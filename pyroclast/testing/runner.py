"""Running a scenario: whole cycles, by the code of `pyroclast simulate`."""

from collections.abc import Mapping, Sequence
from typing import Any

from pyroclast.framework.extension.declarations import declared
from pyroclast.framework.extension.outside import Outside
from pyroclast.scheduler.monitoring.stopwatch import Stopwatch
from pyroclast.scheduler.simulation.case import moment_after
from pyroclast.scheduler.simulation.rounds import run_rounds
from pyroclast.testing.cluster import cluster_of
from pyroclast.testing.configuration import PluginChoice, configured
from pyroclast.testing.outcome import Outcome

__all__ = ["run"]


def run(
    objects: Sequence[Mapping[str, Any]],
    *,
    actions: Sequence[str],
    plugins: Sequence[PluginChoice],
    arguments: Mapping[str, Mapping[str, Any]],
    cycles: int,
    seed: int,
    now: float | None,
    recreate_evicted: bool,
    shard_mode: str,
    shard: str,
    arrivals: Mapping[int, Sequence[Mapping[str, Any]]],
    outside: Mapping[str, Outside],
) -> Outcome:
    """Run cycles; the arguments are those of `Scenario.run`."""
    parsed, registry = configured(actions, plugins, arguments)
    warnings = list(parsed.warnings)
    rounds = run_rounds(
        cluster_of(
            objects,
            watched=declared(parsed.configuration, registry).kinds.values(),
            shard_mode=shard_mode,
            shard=shard,
            warnings=warnings,
        ),
        parsed.configuration,
        registry,
        rounds=cycles,
        now=moment_after(objects) if now is None else now,
        seed=seed,
        recreate_evicted=recreate_evicted,
        stopwatch=Stopwatch(),
        warn=warnings.append,
        arrivals=arrivals,
        outside=outside,
    )
    return Outcome(rounds=tuple(rounds), warnings=tuple(warnings))
