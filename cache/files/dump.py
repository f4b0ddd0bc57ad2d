"""Dump: the cluster as a List that `pyroclast simulate` reads.

Decisions depend on its content and on the configuration alone: objects, assumptions that the API server does not show
yet, measurements of node usage, and the time.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from pyroclast.cache.assumptions import Assumption
from pyroclast.cache.files.measurements import MEASURED, measured_objects
from pyroclast.cache.files.objects import KINDS
from pyroclast.cache.state import ClusterState
from pyroclast.kube.api import resources
from pyroclast.model import wire
from pyroclast.model.ids import TaskId
from pyroclast.model.watched import is_watched

__all__ = ["Dump", "take_dump"]

_ENCODER: Final = msgspec.json.Encoder(enc_hook=dict)
_RESOURCES: Final = {each.name: each for each in (*resources.ALL, *resources.WHILE_WANTED) if each.name in KINDS}
_HEADS: Final = {
    name: _ENCODER.encode({"apiVersion": each.api_version, "kind": each.kind})[:-1] for name, each in _RESOURCES.items()
}
_HEADS[MEASURED] = _ENCODER.encode({"kind": MEASURED})[:-1]
_BEGUN_DELETION: Final = "1970-01-01T00:00:00Z"
"""Deletion timestamp of a pod whose eviction is assumed."""


class Dump:
    """The objects of one moment. Another thread may encode them."""

    def __init__(self, objects: list[tuple[str, Any]], now: float) -> None:
        """Start with objects, their kinds, and the time in seconds since 1970."""
        self._objects, self._now = objects, now

    def encode(self) -> bytes:
        """Return the List as JSON, one object per line."""
        now = _ENCODER.encode(self._now)
        return b'{"apiVersion":"v1","kind":"List","now":%b,"items":[\n%b\n]}\n' % (now, b",\n".join(self._lines()))

    def write(self, file: Path) -> None:
        """Write the List into a file atomically.

        Raises:
            OSError: The file cannot be written. No partial file stays.
        """
        partial = file.with_name(f".{file.name}.partial")
        try:
            partial.write_bytes(self.encode())
            partial.replace(file)
        except OSError:
            partial.unlink(missing_ok=True)
            raise

    def _lines(self) -> Iterator[bytes]:
        for kind, each in self._objects:
            if is_watched(kind):
                yield _ENCODER.encode(each)
                continue
            head = _HEADS[kind]
            if getattr(each, "api_version", ""):  # a kind of several versions, whose object has its own
                head = _ENCODER.encode({"kind": _RESOURCES[kind].kind})[:-1]
            yield head + b"," + _ENCODER.encode(each)[1:]


def take_dump(state: ClusterState, now: float) -> Dump:
    """Return a dump of the current state; `now` is in seconds since 1970."""
    assumed = state.assumed()
    objects = [(kind, each) for kind in KINDS if kind != "Pod" for each in state.stored(kind).values()]
    objects += state.watched_objects()
    objects += [("Pod", _with_assumption(pod, assumed.get(TaskId(uid)))) for uid, pod in state.stored("Pod").items()]
    return Dump([*objects, *measured_objects(state.usage)], now)


def _with_assumption(pod: wire.Pod, assumption: Assumption | None) -> wire.Pod:
    if assumption is None:
        return pod
    replace = msgspec.structs.replace
    if assumption.node is None:
        return replace(pod, metadata=replace(pod.metadata, deletion_timestamp=_BEGUN_DELETION))
    spec = replace(pod.spec, node_name=assumption.node)
    return replace(pod, metadata=assumption.added_to(pod.metadata), spec=spec)
