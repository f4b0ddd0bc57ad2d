"""Recording: everything that decisions depend on, a line of JSON each, so that they can be made again.

    header      flags and surroundings of the daemon
    apply, remove, assume, forget, extend, half-bound, measure, gangs   what the books were told, in order
    snapshot    a snapshot was taken of them
    configuration   the text in force from here on, and those of plugins from files
    resume, conclude   what the books knew beside their objects, where a record was begun anew
    cycle       moment, memory, answers from outside, and the report: inputs and outcome of one cycle

Objects are recorded as they came, at the start and whenever they change, never the snapshot itself: what a snapshot
holds follows from them. A record ends where its daemon did, or where its file could not be written any more, perhaps
in the middle of a line. One whose file is deleted, replaced or cut short meanwhile is begun anew, with all that the
books hold.
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
from pyroclast.kube.version import own_version
from pyroclast.model.errors import ConfigError, ObjectError
from pyroclast.model.gangs import GangRules
from pyroclast.model.ids import NodeName, TaskId
from pyroclast.model.plan import Plan
from pyroclast.model.report import CycleReport
from pyroclast.model.snapshot import Snapshot
from pyroclast.model.usage import NodeUsage
from pyroclast.scheduler.cli.flags import flags_of
from pyroclast.scheduler.cli.options import Options
from pyroclast.scheduler.extenders.recorded import MOST_BYTES, Exchange, RecordingBudget, recording

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
    "RecordedBooks",
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
    """Who recorded."""

    format: int = FORMAT
    version: str
    flags: Mapping[str, Any]
    """Values of all flags, by the names of their fields."""
    environment: Mapping[str, Any]


class Applied(msgspec.Struct, frozen=True, kw_only=True, tag="apply", tag_field="do"):
    """An object is there, new or changed."""

    kind: str
    object: msgspec.Raw


class Removed(msgspec.Struct, frozen=True, kw_only=True, tag="remove", tag_field="do"):
    """An object is gone."""

    kind: str
    object: msgspec.Raw


class Assumed(msgspec.Struct, frozen=True, kw_only=True, tag="assume", tag_field="do"):
    """A plan was offered to the books; they alone say whether they took it."""

    plan: Plan
    now: float


class Forgotten(msgspec.Struct, frozen=True, kw_only=True, tag="forget", tag_field="do"):
    """What was assumed of a task was dropped."""

    task: TaskId
    node: NodeName | None
    """Where it was to be bound; None where it was to leave."""
    failed: bool


class Extended(msgspec.Struct, frozen=True, kw_only=True, tag="extend", tag_field="do"):
    """The echo of a task was given more time."""

    task: TaskId
    now: float


class HalfBoundMarked(msgspec.Struct, frozen=True, kw_only=True, tag="half-bound", tag_field="do"):
    """Half-bound gangs were marked."""


class UsageMeasured(msgspec.Struct, frozen=True, kw_only=True, tag="measure", tag_field="do"):
    """What nodes really use was measured."""

    usage: Mapping[NodeName, NodeUsage]


class GangsFollowed(msgspec.Struct, frozen=True, kw_only=True, tag="gangs", tag_field="do"):
    """Jobs are made of gangs by these rules, or of none."""

    rules: GangRules | None


class SnapshotTaken(msgspec.Struct, frozen=True, kw_only=True, tag="snapshot", tag_field="do"):
    """The first snapshot of a generation was taken."""


class Configured(msgspec.Struct, frozen=True, kw_only=True, tag="configuration", tag_field="do"):
    """A configuration came into force."""

    generation: int
    text: str
    plugins: Mapping[str, str] | None = None
    """Texts of the plugins from files, by the files' names; None in records that do not hold them."""


class Resumed(msgspec.Struct, frozen=True, kw_only=True, tag="resume", tag_field="do"):
    """What the books knew beside their objects, when those that others refer to had been written."""

    state: CarriedState


class Concluded(msgspec.Struct, frozen=True, kw_only=True, tag="conclude", tag_field="do"):
    """All objects of the books have been written."""

    state: CarriedState


class Cycle(msgspec.Struct, frozen=True, kw_only=True, tag="cycle", tag_field="do"):
    """One cycle."""

    snapshot: int
    """Generation of its snapshot."""
    configuration: int
    """Generation of its configuration."""
    now: float
    memory: Memory
    """What it was given."""
    outside: Mapping[str, Sequence[Exchange]] = {}
    """What plugins that asked beyond the snapshot were answered, by instance, in the order of their questions."""
    report: msgspec.Raw
    """What it said; null when it failed."""
    left: Memory | None
    """What it left for the next; None when it failed."""


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
    """Encode what a record holds; equal values give equal bytes, mappings in their own order."""
    return _ENCODER.encode(value)


def _plain(value: Any) -> Any:
    """Turn what JSON does not know into what it knows."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, np.generic):
        return value.item()
    raise NotImplementedError(f"{type(value).__name__} cannot be recorded")


_ENCODER: Final = msgspec.json.Encoder(enc_hook=_plain)


class Decide(Protocol):
    """A cycle, with registry and seed bound."""

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
    """The texts of the configuration and of the plugins in force."""

    @property
    def text(self) -> str:
        """The text of the configuration."""
        ...

    @property
    def plugin_sources(self) -> Mapping[str, str]:
        """The texts of the plugins from files, by the files' names."""
        ...


class Recorder:
    """Writes a record; may be called from several threads.

        recording ──closed, or the file takes no more──▶ ended
            │ ▲
            └─┘ begun anew: the file is gone, or shorter than what was written

    Whoever is recorded goes on: a full disk costs the record, not the cluster its scheduler.
    """

    def __init__(self, path: Path, options: Options) -> None:
        """Begin a record; one that is there is replaced.

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
        """Bytes, those in the file's buffer included, and without them."""
        self._configuration = -1
        self.part = 0
        """How often the record was begun anew."""
        flags = {name.replace("-", "_") for name in flags_of(Options)}
        self._header = Header(
            version=own_version(),
            flags={name: getattr(options, name) for name in sorted(flags)},
            environment=asdict(options.environment),
        )
        self.write(self._header)

    def is_lost(self) -> bool:
        """Return whether the file is not what was written any more: deleted, replaced by another, or cut short."""
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
        """Write a record from its beginning in place of one that is lost; what the books hold is to follow."""
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
        """Add a line; with `flush`, what was written is in the file when this returns."""
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
        with suppress(OSError):  # what was not written for want of room is tried once more, and told already
            self._file.close()

    def watching(self, decide: Decide, settings: Sources) -> Decide:
        """Return the same cycle, recorded."""

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
                        now=now,
                        memory=memory,
                        outside={name: each.exchanges for name, each in noted.items() if each.exchanges},
                        # without all answers a replay ends amid the cycle, as with one that failed
                        report=msgspec.Raw(encode(None if budget.is_spent else report)),
                        left=None if budget.is_spent else left,
                    ),
                )
            return report, left

        return decide_and_record

    def _write_cycle(self, part: int, cycle: Cycle) -> None:
        if part == self.part:  # else its snapshot is not in the record that was begun meanwhile
            self.write(cycle, flush=True)


class RecordedBooks(ClusterState):
    """Books that write down what they are told before they do it."""

    def __init__(
        self,
        recorder: Recorder,
        options: StateOptions | None = None,
        report: Callable[[ObjectError], None] | None = None,
    ) -> None:
        """Start with an empty cluster; `report` is told of each broken field."""
        super().__init__(options, report)
        self._recorder = recorder
        self._recorded = -1
        """Generation of the last snapshot recorded."""

    def apply(self, kind: str, new: Any) -> None:
        """Take over an object of the cluster."""
        self._recorder.write(Applied(kind=kind, object=msgspec.Raw(encode(new))))
        super().apply(kind, new)

    def remove(self, kind: str, old: Any) -> None:
        """Forget an object that left the cluster."""
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
        """Write down all that is known, for a record that begins here."""
        state = self.carried_state()
        for kind, each in self.surrounding_objects():
            self._recorder.write(Applied(kind=kind, object=msgspec.Raw(encode(each))))
        self._recorder.write(Resumed(state=state))
        for kind, each in self.translated_objects():
            self._recorder.write(Applied(kind=kind, object=msgspec.Raw(encode(each))))
        self._recorder.write(Concluded(state=state), flush=True)
        self._recorded = -1

    def assume(self, plan: Plan, now: float) -> list[str]:
        """Take all of a plan as done, or none of it."""
        self._recorder.write(Assumed(plan=plan, now=now))
        return super().assume(plan, now)

    def forget(self, task: TaskId, node: NodeName | None, *, failed: bool = False) -> bool:
        """Drop what was assumed of a task."""
        self._recorder.write(Forgotten(task=task, node=node, failed=failed))
        return super().forget(task, node, failed=failed)

    def extend(self, task: TaskId, now: float) -> None:
        """Give the echo of a task more time."""
        self._recorder.write(Extended(task=task, now=now))
        super().extend(task, now)

    def mark_half_bound(self) -> None:
        """Rank what half-bound gangs lack first."""
        self._recorder.write(HalfBoundMarked())
        super().mark_half_bound()

    def measure(self, usage: Mapping[NodeName, NodeUsage]) -> None:
        """Take what nodes were measured to use."""
        self._recorder.write(UsageMeasured(usage=usage))
        super().measure(usage)

    def follow_gangs(self, rules: GangRules | None) -> None:
        """Make jobs of gangs by these rules, or none."""
        self._recorder.write(GangsFollowed(rules=rules))
        super().follow_gangs(rules)
