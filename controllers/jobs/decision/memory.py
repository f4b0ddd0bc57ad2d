"""Memory: history in a Job's status, from which a new process continues the work of the previous one.

It is stored in `status.controlledResources`, the only generic mapping of the status. It must be written together with
phase, version and retry count, so that an action is either counted and recorded, or neither.

| key | value | meaning |
|---|---|---|
| `pods-<task>` | `0-2,5` | pods of this version that have not ended; if one is deleted without a restart, it was
evicted |
| `done-<task>` | `0,3` | places whose pods have succeeded: they are not run again, even if the pods are deleted |
| `evicted-<task>` | `3@1767225600` | evictions whose policy has a timeout, and their times |
| `restarting` | `all`, `unfinished`, `task/worker`, `pod/worker/3`, `partition/worker/1` | pods that the phase
Restarting kills |
| `command` | a UID | the Command that was executed last; it is deleted after this is written |

All other keys (`plugin-<name>`, `volume-pvc-<name>`) are Volcano's, and stay.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from pyroclast.controllers.jobs.decision.observed import PodPlace
from pyroclast.controllers.jobs.decision.targets import Target, targets_in

__all__ = ["JobMemory"]

_PODS: Final = "pods-"
_DONE: Final = "done-"
_EVICTED: Final = "evicted-"
_RESTARTING: Final = "restarting"
_COMMAND: Final = "command"

_MOST_INDEXES: Final = 1_000_000
"""This controller writes no range beyond this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobMemory:
    """History of a Job, parsed from its status."""

    known: frozenset[PodPlace] = frozenset()
    """Known pods of the current version that have not ended and were not restarted."""
    done: frozenset[PodPlace] = frozenset()
    """Places whose pods have succeeded, even if the pods are deleted."""
    evicted: Mapping[PodPlace, float] = field(default_factory=dict)
    """Time of each eviction whose policy has a timeout."""
    restarting: tuple[Target, ...] = ()
    command: str = ""
    others: Mapping[str, str] = field(default_factory=dict)
    """Entries of other controllers."""

    @classmethod
    def read(cls, resources: Mapping[str, str]) -> "JobMemory":
        """Parse `status.controlledResources`. Invalid entries are dropped."""
        known: set[PodPlace] = set()
        done: set[PodPlace] = set()
        evicted: dict[PodPlace, float] = {}
        others: dict[str, str] = {}
        for key, value in resources.items():
            if key.startswith(_PODS):
                known.update(PodPlace(key.removeprefix(_PODS), index) for index in _indexes(value))
            elif key.startswith(_DONE):
                done.update(PodPlace(key.removeprefix(_DONE), index) for index in _indexes(value))
            elif key.startswith(_EVICTED):
                evicted.update((PodPlace(key.removeprefix(_EVICTED), index), at) for index, at in _moments(value))
            elif key not in {_RESTARTING, _COMMAND}:
                others[key] = value
        return cls(
            known=frozenset(known),
            done=frozenset(done),
            evicted=evicted,
            restarting=tuple(targets_in(resources.get(_RESTARTING, ""))),
            command=resources.get(_COMMAND, ""),
            others=others,
        )

    def write(self) -> dict[str, str]:
        """Return the history as `status.controlledResources`."""
        written = dict(self.others)
        for prefix, places in ((_PODS, self.known), (_DONE, self.done)):
            written.update((prefix + task, _ranges(indexes)) for task, indexes in _by_task(places).items())
        moments: dict[str, list[str]] = {}
        for place, at in sorted(self.evicted.items()):
            moments.setdefault(place.task, []).append(f"{place.index}@{int(at)}")
        written.update((_EVICTED + task, ",".join(texts)) for task, texts in moments.items())
        if self.restarting:
            written[_RESTARTING] = ",".join(str(target) for target in sorted(self.restarting))
        if self.command:
            written[_COMMAND] = self.command
        return dict(sorted(written.items()))


def _by_task(places: Iterable[PodPlace]) -> dict[str, list[int]]:
    """Return ascending indexes of places by task."""
    by_task: dict[str, list[int]] = {}
    for place in sorted(places):
        by_task.setdefault(place.task, []).append(place.index)
    return by_task


def _ranges(indexes: Iterable[int]) -> str:
    """Return ascending indexes as text: 0, 1, 2, 5 is `0-2,5`."""
    ranges: list[list[int]] = []
    for index in indexes:
        if ranges and ranges[-1][1] == index - 1:
            ranges[-1][1] = index
        else:
            ranges.append([index, index])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def _indexes(text: str) -> Iterator[int]:
    for part in text.split(","):
        first, _, last = part.partition("-")
        if first.isdecimal() and (last or first).isdecimal() and int(last or first) < _MOST_INDEXES:
            yield from range(int(first), int(last or first) + 1)


def _moments(text: str) -> Iterator[tuple[int, float]]:
    for part in text.split(","):
        index, _, at = part.partition("@")
        if index.isdecimal() and at.isdecimal():
            yield int(index), float(at)
