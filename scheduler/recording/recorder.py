"""Recording: all inputs of decisions, one line of JSON each, so that the decisions can be repeated.

    header      flags and environment of the daemon
    apply, remove, assume, forget, extend, half-bound, measure, gangs   changes of the cluster state, in order
    snapshot    a snapshot was taken of the cluster state
    configuration   text of the new configuration, and of plugins from files
    resume, conclude   state that does not follow from objects, where a record was restarted
    cycle       time, memory, extender replies, and the report: inputs and outcome of one cycle

Objects are recorded as they arrive, at the start and at each change. The snapshot itself is not recorded, because it
follows from the objects. A record ends when its daemon ends or when its file cannot be written any more, perhaps
in the middle of a line. If its file is deleted, replaced or truncated, the record is restarted with the whole
cluster state.
"""

import os
import stat
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec
import numpy as np
import structlog

from pyroclast.cache.carried_state import CarriedState
from pyroclast.cache.options import StateOptions
from pyroclast.cache.state import ClusterState
from pyroclast.framework.configuration import Configuration
from pyroclast.framework.cycle import Observer
from pyroclast.framework.extension.outside import Outside
from pyroclast.framework.session.memory import Memory
from pyroclast.kube.api.version import own_version
from pyroclast.model.errors import ConfigError, ObjectError
from pyroclast.model.gangs import GangRules
from pyroclast.model.ids import NodeName, TaskId
from pyroclast.model.plan import Plan
from pyroclast.model.report import CycleReport
from pyroclast.model.snapshot import Snapshot
from pyroclast.model.usage import NodeUsage
from pyroclast.scheduler.cli.flags import flags_of
from pyroclast.scheduler.cli.options import Options
from pyroclast.scheduler.extenders.recorded_replies import MOST_BYTES, Exchange, RecordingBudget, recording

__all__ = [
    "Applied",
    "Assumed",
    "Concluded",
    "Configured",
    "Cycle",
    "Entry",
    "Extended",
    "Forgotten",
    "GangsFollowed",
    "HalfBoundMarked",
    "Header",
    "RecordedState",
    "Recorder",
    "Removed",
    "Resumed",
    "SnapshotTaken",
    "UsageMeasured",
    "encode",
]

FORMAT: Final = 1

_log = structlog.get_logger(__name__)


class Header(msgspec.Struct, frozen=True, kw_only=True, tag="header", tag_field="do"):
    """The process that recorded."""

    format: int = FORMAT
    version: str
    flags: Mapping[str, Any]
    """Values of all flags, by field name."""
    environment: Mapping[str, Any]


class Applied(msgspec.Struct, frozen=True, kw_only=True, tag="apply", tag_field="do"):
    """An object was added or changed."""

    kind: str
    object: msgspec.Raw


class Removed(msgspec.Struct, frozen=True, kw_only=True, tag="remove", tag_field="do"):
    """An object was deleted."""

    kind: str
    object: msgspec.Raw


class Assumed(msgspec.Struct, frozen=True, kw_only=True, tag="assume", tag_field="do"):
    """A plan was offered to the cluster state. Whether it was accepted follows from the state."""

    plan: Plan
    now: float


class Forgotten(msgspec.Struct, frozen=True, kw_only=True, tag="forget", tag_field="do"):
    """The assumption about a task was dropped."""

    task: TaskId
    node: NodeName | None
    """The node of the assumed bind; None for an assumed eviction."""
    failed: bool


class Extended(msgspec.Struct, frozen=True, kw_only=True, tag="extend", tag_field="do"):
    """The confirmation of a task was given more time."""

    task: TaskId
    now: float


class HalfBoundMarked(msgspec.Struct, frozen=True, kw_only=True, tag="half-bound", tag_field="do"):
    """Half-bound gangs were marked."""


class UsageMeasured(msgspec.Struct, frozen=True, kw_only=True, tag="measure", tag_field="do"):
    """The usage of nodes was measured."""

    usage: Mapping[NodeName, NodeUsage]


class GangsFollowed(msgspec.Struct, frozen=True, kw_only=True, tag="gangs", tag_field="do"):
    """The rules by which jobs are made of gangs were set; None for no gangs."""

    rules: GangRules | None


class SnapshotTaken(msgspec.Struct, frozen=True, kw_only=True, tag="snapshot", tag_field="do"):
    """The first snapshot of a generation was taken."""


class Configured(msgspec.Struct, frozen=True, kw_only=True, tag="configuration", tag_field="do"):
    """A configuration came into force."""

    generation: int
    text: str
    plugins: Mapping[str, str] | None = None
    """Texts of the plugins from files, by file name; None in records without them."""


class Resumed(msgspec.Struct, frozen=True, kw_only=True, tag="resume", tag_field="do"):
    """State that does not follow from objects, recorded after the objects that others refer to."""

    state: CarriedState


class Concluded(msgspec.Struct, frozen=True, kw_only=True, tag="conclude", tag_field="do"):
    """All objects of the cluster state have been written."""

    state: CarriedState


class Cycle(msgspec.Struct, frozen=True, kw_only=True, tag="cycle", tag_field="do"):
    """One cycle."""

    snapshot: int
    """Generation of its snapshot."""
    configuration: int
    """Generation of its configuration."""
    turn: int = 0
    """Position of the profile that decided, among those that the process serves."""
    now: float
    memory: Memory
    """The memory that the cycle received."""
    outside: Mapping[str, Sequence[Exchange]] = {}
    """The extender replies of each plugin instance, in the order of its requests."""
    left_out: Mapping[str, int] = {}
    """Plugins that used up their time budgets, with the number of their calls until then."""
    report: msgspec.Raw
    """The report; null if the cycle failed."""
    left: Memory | None
    """The memory for the next cycle; None if the cycle failed."""


Entry = (
    Header
    | Applied
    | Removed
    | Assumed
    | Forgotten
    | Extended
    | HalfBoundMarked
    | UsageMeasured
    | GangsFollowed
    | SnapshotTaken
    | Configured
    | Resumed
    | Concluded
    | Cycle
)


def encode(value: Any) -> bytes:
    """Encode a value for a record. Equal values give equal bytes; mappings keep their order."""
    return _ENCODER.encode(value)


def _plain(value: Any) -> Any:
    """Convert a value that JSON does not support."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, np.generic):
        return value.item()
    raise NotImplementedError(f"{type(value).__name__} cannot be recorded")


_ENCODER: Final = msgspec.json.Encoder(enc_hook=_plain)


class Decide(Protocol):
    """A cycle, with the registry and the seed bound."""

    def __call__(
        self,
        snapshot: Snapshot,
        configuration: Configuration,
        *,
        now: float,
        memory: Memory,
        observer: Observer,
        outside: Mapping[str, Outside] | None = None,
    ) -> tuple[CycleReport, Memory]:
        """Decide once."""
        ...


class Sources(Protocol):
    """The texts of the configuration and the plugins in force."""

    @property
    def text(self) -> str:
        """The text of the configuration."""
        ...

    @property
    def plugin_sources(self) -> Mapping[str, str]:
        """The texts of the plugins from files, by file name."""
        ...


class Recorder:
    """Writes a record. It is thread-safe.

        recording ──closed, or a write fails──▶ ended
            │ ▲
            └─┘ restarted: the file is deleted or truncated

    A failed write ends only the record. The scheduler continues.
    """

    def __init__(self, path: Path, options: Options) -> None:
        """Start a record. An existing file is replaced.

        Raises:
            ConfigError: The file cannot be written.
        """
        try:
            self._file = path.open("wb")
        except OSError as error:
            raise ConfigError(f"--record: {path}: {error.strerror or error}") from error
        self._path = path
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._written = self._flushed = 0
        """Number of bytes, with and without those in the file's buffer."""
        self._configuration = -1
        self.part = 0
        """Number of restarts of the record."""
        flags = {name.replace("-", "_") for name in flags_of(Options)}
        self._header = Header(
            version=own_version(),
            flags={name: getattr(options, name) for name in sorted(flags)},
            environment=asdict(options.environment),
        )
        self.write(self._header)

    def is_lost(self) -> bool:
        """Return whether the file was deleted, replaced or truncated."""
        with self._lock:
            if self._ended.is_set():
                return False
            own = os.fstat(self._file.fileno())
            if not stat.S_ISREG(own.st_mode):
                return False
            try:
                there = self._path.stat()
            except OSError:
                return True
            return (there.st_dev, there.st_ino) != (own.st_dev, own.st_ino) or there.st_size < self._flushed

    def begin_anew(self) -> None:
        """Restart a lost record from its beginning. The caller then writes the whole cluster state."""
        with self._lock:
            if self._ended.is_set():
                return
            _log.warning("record_begun_anew", file=str(self._path), why="the file was deleted, replaced or cut short")
            with suppress(OSError):
                self._file.close()
            try:
                self._file = self._path.open("wb")
            except OSError as error:
                self._ended.set()
                _log.error("record_ended", file=str(self._path), error=error.strerror or str(error))
                return
            self._written = self._flushed = 0
            self._configuration = -1
            self.part += 1
        self.write(self._header)

    def write(self, entry: Entry, *, flush: bool = False) -> None:
        """Add a line. With `flush`, it is in the file when the call returns."""
        if self._ended.is_set():
            return
        line = encode(entry) + b"\n"
        with self._lock:
            if self._ended.is_set():
                return
            try:
                self._file.write(line)
                self._written += len(line)
                if flush:
                    self._file.flush()
                    self._flushed = self._written
            except OSError as error:
                self._end()
                _log.error("record_ended", file=self._file.name, error=error.strerror or str(error))

    def close(self) -> None:
        """End the record."""
        with self._lock:
            self._end()

    def _end(self) -> None:
        self._ended.set()
        with suppress(OSError):  # closing flushes again; the error has been logged already
            self._file.close()

    def watching(self, decide: Decide, settings: Sources, left_out: Callable[[], Mapping[str, int]] = dict) -> Decide:
        """Return a function that runs the cycle and records it.

        Args:
            decide: The cycle.
            settings: The texts in force.
            left_out: Returns the plugins that the last cycle left out for their time, with the number of their calls.
        """

        def decide_and_record(
            snapshot: Snapshot,
            configuration: Configuration,
            *,
            now: float,
            memory: Memory,
            observer: Observer,
            outside: Mapping[str, Outside] | None = None,
        ) -> tuple[CycleReport, Memory]:
            budget = RecordingBudget(MOST_BYTES)
            noted = recording(outside or {}, budget)
            part = self.part
            if configuration.generation != self._configuration:
                self._configuration = configuration.generation
                self.write(
                    Configured(generation=configuration.generation, text=settings.text, plugins=settings.plugin_sources)
                )
            report, left = None, None
            try:
                report, left = decide(snapshot, configuration, now=now, memory=memory, observer=observer, outside=noted)
            finally:
                self._write_cycle(
                    part,
                    Cycle(
                        snapshot=snapshot.generation,
                        configuration=configuration.generation,
                        turn=configuration.turn,
                        now=now,
                        memory=memory,
                        left_out=dict(left_out()),
                        outside={name: each.exchanges for name, each in noted.items() if each.exchanges},
                        # Without all replies, a replay stops during the cycle, as after a failure.
                        report=msgspec.Raw(encode(None if budget.is_spent else report)),
                        left=None if budget.is_spent else left,
                    ),
                )
            return report, left

        return decide_and_record

    def _write_cycle(self, part: int, cycle: Cycle) -> None:
        if part == self.part:  # otherwise a restarted record lacks its snapshot
            self.write(cycle, flush=True)


class RecordedState(ClusterState):
    """Cluster state that records each change before it applies it."""

    def __init__(
        self,
        recorder: Recorder,
        options: StateOptions | None = None,
        report: Callable[[ObjectError], None] | None = None,
    ) -> None:
        """Start with an empty cluster. `report` is called for each faulty field."""
        super().__init__(options, report)
        self._recorder = recorder
        self._recorded = -1
        """Generation of the last snapshot recorded."""

    def apply(self, kind: str, new: Any) -> None:
        """Add or change an object of the cluster."""
        self._recorder.write(Applied(kind=kind, object=msgspec.Raw(encode(new))))
        super().apply(kind, new)

    def remove(self, kind: str, old: Any) -> None:
        """Remove a deleted object."""
        self._recorder.write(Removed(kind=kind, object=msgspec.Raw(encode(old))))
        super().remove(kind, old)

    def snapshot(self) -> Snapshot:
        """Return the cluster as it is now."""
        if self._recorder.is_lost():
            self._recorder.begin_anew()
            self._write_all()
        if self.generation != self._recorded:
            self._recorded = self.generation
            self._recorder.write(SnapshotTaken())
        return super().snapshot()

    def _write_all(self) -> None:
        """Record the whole state, for a record that begins here."""
        state = self.carried_state()
        for kind, each in self.surrounding_objects():
            self._recorder.write(Applied(kind=kind, object=msgspec.Raw(encode(each))))
        self._recorder.write(Resumed(state=state))
        for kind, each in self.translated_objects():
            self._recorder.write(Applied(kind=kind, object=msgspec.Raw(encode(each))))
        self._recorder.write(Concluded(state=state), flush=True)
        self._recorded = -1

    def assume(self, plan: Plan, now: float) -> list[str]:
        """Assume the whole plan or nothing of it."""
        self._recorder.write(Assumed(plan=plan, now=now))
        return super().assume(plan, now)

    def forget(self, task: TaskId, node: NodeName | None, *, failed: bool = False) -> bool:
        """Drop the assumption about a task."""
        self._recorder.write(Forgotten(task=task, node=node, failed=failed))
        return super().forget(task, node, failed=failed)

    def extend(self, task: TaskId, now: float) -> None:
        """Give the confirmation of a task more time."""
        self._recorder.write(Extended(task=task, now=now))
        super().extend(task, now)

    def mark_half_bound(self) -> None:
        """Rank the missing members of half-bound gangs first."""
        self._recorder.write(HalfBoundMarked())
        super().mark_half_bound()

    def measure(self, usage: Mapping[NodeName, NodeUsage]) -> None:
        """Set the measured usage of nodes."""
        self._recorder.write(UsageMeasured(usage=usage))
        super().measure(usage)

    def follow_gangs(self, rules: GangRules | None) -> None:
        """Set the rules by which jobs are made of gangs; None for no gangs."""
        self._recorder.write(GangsFollowed(rules=rules))
        super().follow_gangs(rules)
