"""Batches: one case and one answer per line, in order. A faulty case gets an answer with its fault."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from pyroclast.framework.configuration import Configuration, Parsed, parse
from pyroclast.framework.extension.declarations import declared
from pyroclast.framework.extension.outside import Outside
from pyroclast.framework.extension.registry import Registry
from pyroclast.model.errors import ConfigError, PyroclastError
from pyroclast.scheduler.daemon.settings import with_profiles_for
from pyroclast.scheduler.monitoring.stopwatch import Stopwatch
from pyroclast.scheduler.simulation.answer import answers_of
from pyroclast.scheduler.simulation.case import Case, read_case
from pyroclast.scheduler.simulation.cluster import SimulatedCluster
from pyroclast.scheduler.simulation.fields import CaseError
from pyroclast.scheduler.simulation.rounds import SimulatedRound, run_rounds, seconds_by_phase

__all__ = ["Answering", "Simulation", "answer_lines", "simulate"]


class Simulation(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a case."""

    rounds: list[SimulatedRound]
    seconds: dict[str, float]
    warnings: tuple[str, ...]
    """Faults of the configuration and of objects that were left out."""


Answering = Callable[[Configuration], Mapping[str, Outside]]
"""Returns the extenders of a configuration."""


def simulate(case: Case, registry: Registry, default_config: str, answering: Answering = lambda _: {}) -> Simulation:
    """Run a case.

    Args:
        case: The case.
        registry: Plugins and actions that its configuration may name.
        default_config: Text of the configuration for cases without one.
        answering: Returns the extenders of a configuration; by default there are none.

    Raises:
        ConfigError: The configuration cannot be used.
    """
    parsed = _parsed(default_config if case.config is None else case.config, registry)
    configuration = with_profiles_for(parsed.configuration, case.scheduler_names)
    warnings = [*case.warnings, *parsed.warnings]
    cluster = SimulatedCluster(
        case.objects,
        case.state,
        watched=declared(configuration, registry).kinds.values(),
        report=lambda error: warnings.append(str(error)),
        note=warnings.append,
    )
    stopwatch = Stopwatch()
    rounds = run_rounds(
        cluster,
        configuration,
        registry,
        rounds=case.rounds,
        now=case.now,
        seed=case.seed,
        recreate_evicted=case.recreate_evicted,
        stopwatch=stopwatch,
        warn=warnings.append,
        outside=answering(configuration),
        explain=case.explain,
    )
    return Simulation(rounds=rounds, seconds=seconds_by_phase(stopwatch), warnings=tuple(dict.fromkeys(warnings)))


def answer_lines(
    lines: Iterable[str | bytes], registry: Registry, *, default_config: str, seed: int = 0
) -> Iterator[bytes]:
    """Answer cases, one JSON object per line. Empty lines are skipped.

    Args:
        lines: The cases.
        registry: Plugins and actions.
        default_config: Text of the configuration for cases without one.
        seed: Seed for cases without one.
    """
    for line in lines:
        if line.strip():
            yield msgspec.json.encode(_answer(line, registry, default_config, seed)) + b"\n"


def _answer(line: str | bytes, registry: Registry, default_config: str, seed: int) -> dict[str, Any]:
    name: Any = None
    try:
        raw = _decoded(line)
        name = raw.get("id") if isinstance(raw, dict) else None
        done = simulate(read_case(raw, seed=seed), registry, default_config)
        answer = {"id": name, "rounds": answers_of(done.rounds), "seconds": done.seconds}
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return _error(name, "json", error)
    except CaseError as error:
        return _error(name, "case", error)
    except ConfigError as error:
        return _error(name, "config", error)
    except PyroclastError as error:
        return _error(name, "objects", error)
    except Exception as error:  # noqa: BLE001  # an unexpected error must not stop the batch
        return _error(name, "internal", f"{type(error).__name__}: {error}")
    return {**answer, "warnings": list(done.warnings)} if done.warnings else answer


def _decoded(line: str | bytes) -> Any:
    try:
        return msgspec.json.decode(line)
    except RecursionError:
        raise msgspec.DecodeError("nested too deeply") from None


def _error(name: Any, kind: str, message: object) -> dict[str, Any]:
    return {"id": name, "error": {"kind": kind, "message": str(message)}}


def _parsed(config: Any, registry: Registry) -> Parsed:
    return parse(
        config,
        known_plugins=registry.names(),
        known_actions=registry.action_names(),
        argument_types=registry.argument_types(),
        action_argument_types=registry.action_argument_types(),
    )
