"""Replay: decide the recorded cycles again from the record alone, and compare byte for byte."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import msgspec

from pyroclast.cache.files.objects import decoder_of
from pyroclast.cache.state import ClusterState
from pyroclast.framework.configuration import Configuration
from pyroclast.framework.cycle import run_cycle
from pyroclast.framework.extension.budgets import RecordedBudgets
from pyroclast.framework.extension.loading import PluginFile
from pyroclast.framework.extension.outside import CycleCut
from pyroclast.framework.extension.registry import Registry
from pyroclast.framework.session.memory import Settled
from pyroclast.framework.session.ownership import tasks_of_profile
from pyroclast.framework.session.shadows.tracing import Tracing
from pyroclast.model.errors import ConfigError, PyroclastError
from pyroclast.model.examination import Examination
from pyroclast.model.snapshot import Snapshot
from pyroclast.scheduler.cli.environment import Environment
from pyroclast.scheduler.cli.features import read_gates
from pyroclast.scheduler.cli.options import Options
from pyroclast.scheduler.daemon.cluster import state_options
from pyroclast.scheduler.daemon.settings import read_configuration, with_profiles_for
from pyroclast.scheduler.extenders.recorded_replies import Recorded
from pyroclast.scheduler.monitoring.examinations import Explain, chooser, names_in
from pyroclast.scheduler.recording.recorder import (
    FORMAT,
    Applied,
    Assumed,
    Concluded,
    Configured,
    Cycle,
    Entry,
    Extended,
    Forgotten,
    GangsFollowed,
    HalfBoundMarked,
    Header,
    Removed,
    Resumed,
    SnapshotTaken,
    UsageMeasured,
    encode,
)
from pyroclast.scheduler.registry import load_registry

__all__ = ["RecordError", "Replay", "Replayed", "replay"]

_DECODER: Final = msgspec.json.Decoder(Entry)


class RecordError(PyroclastError):
    """A record cannot be read. Remedy: use another record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """One cycle that was decided again."""

    cycle: int
    recorded: bytes
    """The recorded report, as JSON; `null` if the cycle failed."""
    decided: bytes
    """The new report."""
    is_same: bool
    """Whether report and memory are equal byte for byte."""
    was_quiet: bool
    """Whether nothing had changed, so there was nothing to decide."""
    examinations: tuple[Examination, ...] = ()
    """Scores and refusals of nodes for the pods that are to be explained."""


def replay(lines: Iterable[bytes], *, plugins_dir: str = "", explain: Explain | None = None) -> Iterator[Replayed]:
    """Decide the cycles of a record again, in order.

    Args:
        lines: The record.
        plugins_dir: Folder of plugins that replace those in the record. The folder that the record names is never read,
            because the record may come from another machine.
        explain: Pods to explain in each cycle that was not quiet.

    Raises:
        RecordError: It is not a record, is damaged, or is truncated before its last line.
    """
    entries = _entries(lines)
    _, first = next(entries, (0, None))
    if not isinstance(first, Header) or first.format != FORMAT:
        raise RecordError(f"not a record of format {FORMAT}: use a file written by `pyroclast scheduler --record`")
    with _damage_named(1):
        running = Replay(first, plugins_dir=plugins_dir, explain=explain)
    for number, entry in entries:
        with _damage_named(number):
            replayed = running.step(entry)
        if replayed is not None:
            yield replayed


def _entries(lines: Iterable[bytes]) -> Iterator[tuple[int, Entry]]:
    cut = ""
    for number, line in enumerate(lines, start=1):
        if cut:
            raise RecordError(cut)
        try:
            yield number, _DECODER.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            cut = f"line {number}: {error}"  # ignored in the last line, which a killed daemon leaves unfinished
        except RecursionError:
            cut = f"line {number}: nested too deeply"


@contextmanager
def _damage_named(number: int) -> Iterator[None]:
    """Add the line number to an error, whatever its type: a damaged record can cause any error."""
    try:
        yield
    except RecordError as error:
        raise RecordError(f"line {number}: {error}") from error
    except Exception as error:
        message = " ".join(str(error).split())
        raise RecordError(f"line {number}: the record is damaged: {type(error).__name__}: {message}") from error


class Replay:
    """Cluster state and settings of a daemon, rebuilt from its record."""

    def __init__(self, header: Header, *, plugins_dir: str = "", explain: Explain | None = None) -> None:
        """Start in the state of the daemon's start; arguments as of `replay`."""
        self._plugins_dir, self._explain = plugins_dir, explain
        features, _, _ = read_gates(header.flags["feature_gates"])
        flags: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in header.flags.items()
        }
        self._options = Options(**flags, features=features, environment=Environment(**header.environment))
        self._registry: Registry | None = None
        """Created with the first configuration."""
        self._state = ClusterState(state_options(self._options))
        self._snapshots: dict[int, Snapshot] = {}
        self._configuration: Configuration | None = None
        self._settled: dict[str, Settled] = {}
        """Settled jobs of each profile, by its name."""

    def step(self, entry: Entry) -> Replayed | None:
        """Apply the next entry. Return the outcome if it is a cycle.

        Raises:
            RecordError: The entry does not follow from the earlier ones.
        """
        if isinstance(entry, Cycle):
            return self.cycle(entry)
        self.follow(entry)
        return None

    def follow(self, entry: Entry) -> None:
        """Apply a change that was recorded between cycles."""
        cluster_state = self._state
        match entry:
            case Applied(kind=kind, object=raw):
                cluster_state.apply(kind, decoder_of(kind).decode(bytes(raw)))
            case Removed(kind=kind, object=raw):
                cluster_state.remove(kind, decoder_of(kind).decode(bytes(raw)))
            case Assumed(plan=plan, now=now):
                cluster_state.assume(plan, now)
            case Forgotten(task=task, node=node, failed=failed):
                cluster_state.forget(task, node, failed=failed)
            case Extended(task=task, now=now):
                cluster_state.extend(task, now)
            case HalfBoundMarked():
                cluster_state.mark_half_bound()
            case UsageMeasured(usage=usage):
                cluster_state.measure(usage)
            case GangsFollowed(rules=rules):
                cluster_state.follow_gangs(rules)
            case Resumed(state=state):
                cluster_state.resume(state)
            case Concluded(state=state):
                cluster_state.conclude(state)
            case SnapshotTaken():
                # Taken here, not at the cycle: taking a snapshot changes state that later entries build on.
                self._snapshots[cluster_state.generation] = cluster_state.snapshot()
            case Configured():
                self._configure(entry)
            case Header() | Cycle():
                raise RecordError("two records in one file")

    def _configure(self, entry: Configured) -> None:
        options = self._options
        try:
            self._registry = self._load(entry.plugins)
            parsed = read_configuration(entry.text, self._registry, strict=options.strict, generation=entry.generation)
            self._configuration = with_profiles_for(parsed.configuration, options.scheduler_name)
        except ConfigError as error:
            raise RecordError(f"configuration {entry.generation} of the record cannot be used: {error}") from error

    def _load(self, sources: Mapping[str, str] | None) -> Registry:
        """Load the plugins of the given folder, or those in the record."""
        if self._plugins_dir:
            return load_registry(self._plugins_dir)
        folder = self._options.plugins_dir
        if sources is None and folder:
            raise ConfigError(
                f"the record does not contain its plugins: name the folder with --plugins-dir (was {folder})"
            )
        files = (sources or {}).items()
        return load_registry(files=[PluginFile(Path(folder, name), source) for name, source in files])

    def cycle(self, entry: Cycle) -> Replayed:
        """Decide a cycle again.

        Raises:
            RecordError: Its snapshot or its configuration is not in the record.
        """
        snapshot = self._snapshots.get(entry.snapshot)
        if snapshot is None or self._configuration is None or self._registry is None:
            raise RecordError(f"cycle {entry.memory.cycle + 1}: no snapshot of generation {entry.snapshot}")
        self._snapshots = {known: each for known, each in self._snapshots.items() if known >= entry.snapshot}
        was_quiet = entry.memory.is_quiet(entry.snapshot, entry.configuration, entry.now)
        examinations = () if was_quiet else self._examined(entry, snapshot)
        report, left = None, None
        configuration = self._deciding(entry)
        instances = (option.instance for option in configuration.deciding.plugins)
        outside = {instance: Recorded(entry.outside.get(instance, ())) for instance in instances}
        try:
            report, left = run_cycle(
                snapshot,
                configuration,
                registry=self._registry,
                seed=self._options.seed,
                now=entry.now,
                memory=entry.memory,
                outside=outside,
                settled=self._settled.setdefault(configuration.deciding.name, Settled()),
                budgets=RecordedBudgets(entry.left_out),
            )
        except (Exception, CycleCut):  # noqa: BLE001 - a cycle that failed when it was recorded fails again, in the same way
            self._settled.pop(configuration.deciding.name, None)
        decided = encode(report)
        return Replayed(
            cycle=entry.memory.cycle + 1,
            recorded=bytes(entry.report),
            decided=decided,
            is_same=decided == bytes(entry.report)
            and left == entry.left
            and all(each.is_spent for each in outside.values()),
            was_quiet=was_quiet,
            examinations=examinations,
        )

    def _deciding(self, entry: Cycle) -> Configuration:
        """Return the configuration with the profile that decided."""
        if self._configuration is None or not 0 <= entry.turn < len(self._configuration.profiles):
            raise RecordError(f"cycle {entry.memory.cycle + 1}: no profile {entry.turn} in its configuration")
        return replace(self._configuration, turn=entry.turn)

    def _examined(self, entry: Cycle, snapshot: Snapshot) -> tuple[Examination, ...]:
        """Decide a cycle for the examinations, before it is decided for the comparison."""
        if self._explain is None or self._configuration is None or self._registry is None:
            return ()
        configuration = self._deciding(entry)
        tasks = tasks_of_profile(snapshot, configuration, names_in(snapshot, self._explain.names))
        if not tasks:
            return ()
        tracing = Tracing(chooser(tasks), node_limit=self._explain.node_limit)
        try:
            run_cycle(
                snapshot,
                configuration,
                registry=self._registry,
                seed=self._options.seed,
                now=entry.now,
                memory=entry.memory,
                outside={instance: Recorded(exchanges) for instance, exchanges in entry.outside.items()},
                # Replies of extenders are in the order of the requests, which depends on the jobs that are settled.
                settled=deepcopy(self._settled.get(configuration.deciding.name)) if entry.outside else None,
                tracing=tracing,
            )
        except (Exception, CycleCut):  # noqa: BLE001 - a cycle that failed when it was recorded explains nothing
            return ()
        return tracing.examinations()
