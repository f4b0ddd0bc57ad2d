"""Reading: parse a gang from its pod group or from the annotations of its pods.

A field that cannot be parsed is noted and counts as absent. Without a minimum, the gang cannot be used.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final, TypeVar

from pyroclast.model import wire
from pyroclast.model.annotations import read_json
from pyroclast.model.durations import parse_duration
from pyroclast.model.errors import ObjectError
from pyroclast.model.gangs.gang import Gang, GangRules
from pyroclast.model.gangs.gathering import GATHER_SPEC, Gathering, read_gathering
from pyroclast.model.gangs.names import (
    ALIAS_MATCH_POLICY,
    GROUPS,
    LABEL_MIN_AVAILABLE,
    LABEL_POD_GROUP,
    MATCH_POLICIES,
    MATCH_POLICY,
    MIN_AVAILABLE,
    MODE,
    MODES,
    STRICT,
    TOPOLOGY_INDEX,
    TOTAL_NUMBER,
    WAITING_TIME,
)
from pyroclast.model.texts import quoted

__all__ = ["read_gang", "read_index"]

T = TypeVar("T")

_LARGEST: Final = 2**31 - 1
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,10}", re.ASCII)


def read_gang(
    gang_id: str, group: wire.GangPodGroup | None, members: Sequence[wire.ObjectMeta], rules: GangRules
) -> Gang:
    """Read a gang.

    Args:
        gang_id: `namespace/name`.
        group: Its pod group, which alone counts where there is one.
        members: Its pods, first to be asked first: the first that gives a minimum describes the gang, unless its
            members name a pod group.
        rules: Defaults of the gang.
    """
    if group is not None:
        return _of_pod_group(gang_id, group, rules)
    created = min((pod.creation_timestamp for pod in members), default="")
    describing = [pod for pod in members if not pod.labels.get(LABEL_POD_GROUP)]
    unread: list[ObjectError] = []
    for pod in describing:
        said = _Said("Pod", pod)
        minimum = said.minimum()
        if minimum is not None:
            return said.gang(gang_id, minimum, said.read(WAITING_TIME, _positive_seconds), created, rules)
        unread += said.notes
    if unread:
        fault = f"{unread[0].kind} {unread[0].name}: {unread[0].path}: {unread[0].message}"
    elif describing:
        fault = f"none of its pods has the annotation {MIN_AVAILABLE}"
    else:
        fault = f"there is no PodGroup {gang_id} of scheduling.sigs.k8s.io"
    return Gang(
        id=gang_id,
        group=(gang_id,),
        minimum=0,
        total=0,
        mode=STRICT,
        match_policy=rules.match_policy,
        waiting_seconds=rules.waiting_seconds,
        created=created,
        fault=fault,
        notes=tuple(unread),
    )


def read_index(metadata: wire.ObjectMeta) -> int | None:
    """Return a pod's rank inside its gang; None if it is absent or malformed."""
    text = metadata.annotations.get(TOPOLOGY_INDEX)
    try:
        return None if text is None else _whole(text)
    except ValueError:
        return None


def _of_pod_group(gang_id: str, group: wire.GangPodGroup, rules: GangRules) -> Gang:
    said, spec = _Said("PodGroup", group.metadata), group.spec
    if not 0 <= spec.min_member <= _LARGEST:
        said.note("spec.minMember", f"{spec.min_member} is not a whole number from 0 to {_LARGEST}")
    fault = str(said.notes[0]) if said.notes else ""
    seconds = spec.schedule_timeout_seconds or 0
    if seconds < 0:
        said.note("spec.scheduleTimeoutSeconds", f"{seconds} is negative; it counts as absent")
    waiting = float(seconds) if seconds > 0 else None
    minimum = 0 if fault else spec.min_member
    return said.gang(gang_id, minimum, waiting, group.metadata.creation_timestamp, rules, fault=fault)


class _Said:
    """Fields of one object, with notes about those that cannot be parsed."""

    def __init__(self, kind: str, metadata: wire.ObjectMeta) -> None:
        self._kind, self._metadata = kind, metadata
        self.notes: list[ObjectError] = []

    def note(self, path: str, message: str) -> None:
        """Note a field that cannot be used as it is."""
        self.notes.append(ObjectError(self._kind, self._metadata.key, path, message))

    def read(self, key: str, parse: Callable[[str], T]) -> T | None:
        """Return the value of an annotation; None if it is absent or empty, or cannot be read, which is noted."""
        return self._read(f"metadata.annotations[{key}]", self._metadata.annotations.get(key), parse)

    def _read(self, path: str, text: str | None, parse: Callable[[str], T]) -> T | None:
        if not text:
            return None
        try:
            return parse(text)
        except ValueError as error:
            self.note(path, f"{error}; it counts as absent")
            return None

    def minimum(self) -> int | None:
        """Return the minimum that a pod gives by label or annotation."""
        label = self._metadata.labels.get(LABEL_MIN_AVAILABLE)
        if label:
            return self._read(f"metadata.labels[{LABEL_MIN_AVAILABLE}]", label, _whole)
        return self.read(MIN_AVAILABLE, _whole)

    def gang(
        self, gang_id: str, minimum: int, seconds: float | None, created: str, rules: GangRules, *, fault: str = ""
    ) -> Gang:
        """Return the gang that an object describes."""
        annotations = self._metadata.annotations
        policy_key = MATCH_POLICY if annotations.get(MATCH_POLICY) else ALIAS_MATCH_POLICY
        total = self.read(TOTAL_NUMBER, _whole) or minimum
        gathering: Gathering | None = self.read(GATHER_SPEC, read_gathering)
        if gathering is not None and not rules.gathers:
            if gathering.musts:
                fault = fault or "it requires gathering by network topology, but awareNetworkTopology is not enabled"
            gathering = None
        waiting_seconds = rules.waiting_seconds if seconds is None else seconds
        if waiting_seconds > rules.longest_wait_seconds:
            path = (
                "spec.scheduleTimeoutSeconds" if self._kind == "PodGroup" else f"metadata.annotations[{WAITING_TIME}]"
            )
            self.note(
                path, f"{waiting_seconds:g} seconds are above the longest waiting time, {rules.longest_wait_seconds:g}"
            )
        return Gang(
            id=gang_id,
            group=self._group(gang_id),
            minimum=minimum,
            total=max(total, minimum),
            mode=self.read(MODE, lambda text: _one_of(text, MODES)) or STRICT,
            match_policy=self.read(policy_key, lambda text: _one_of(text, MATCH_POLICIES)) or rules.match_policy,
            waiting_seconds=min(waiting_seconds, rules.longest_wait_seconds),
            created=created,
            fault=fault,
            gathering=gathering,
            notes=tuple(self.notes),
        )

    def _group(self, gang_id: str) -> tuple[str, ...]:
        named = self.read(GROUPS, _gang_ids) or (gang_id,)
        if gang_id in named:
            return named
        self.note(f"metadata.annotations[{GROUPS}]", f"the list lacks {gang_id} itself, which is added")
        return tuple(sorted({*named, gang_id}))


def _whole(text: str) -> int:
    if not _WHOLE.fullmatch(text) or not 0 <= int(text) <= _LARGEST:
        raise ValueError(f"{quoted(text)} is not a whole number from 0 to {_LARGEST}")
    return int(text)


def _positive_seconds(text: str) -> float:
    try:
        seconds = float(parse_duration(text))
    except ValueError as error:
        raise ValueError(f"{quoted(text)} is not {error}") from None
    if seconds <= 0:
        raise ValueError(f"{quoted(text)} is not above 0")
    return seconds


def _one_of(text: str, known: Sequence[str]) -> str:
    if text not in known:
        raise ValueError(f"{quoted(text)} is none of {', '.join(known)}")
    return text


@lru_cache(maxsize=64)
def _gang_ids(text: str) -> tuple[str, ...]:
    """Read a list of gangs, sorted, each once; all gangs of a group give the same, which may be long."""
    try:
        return tuple(sorted(set(read_json(text, list[str]))))
    except ValueError as error:
        raise ValueError(f"{quoted(text)} is not a JSON list of namespace/name: {error}") from None
