"""Dump: the cluster as a List that `pyroclast simulate` reads.

It has what decisions depend on beside the configuration: objects, decisions that are not echoed yet, measurements of
usage, and the moment.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from pyroclast.cache.assumptions import Assumption
from pyroclast.cache.files.measurements import MEASURED, measured_objects
from pyroclast.cache.files.objects import KINDS
from pyroclast.cache.state import ClusterState
from pyroclast.kube import resources
from pyroclast.model import wire
from pyroclast.model.ids import TaskId

__all__ = ["Dump", "take_dump"]

_ENCODER: Final = msgspec.json.Encoder(enc_hook=dict)
_HEADS: Final = {
    each.name: _ENCODER.encode({"apiVersion": each.api_version, "kind": each.kind})[:-1]
    for each in (*resources.ALL, *resources.WHILE_WANTED)
    if each.name in KINDS
}
_HEADS[MEASURED] = _ENCODER.encode({"kind": MEASURED})[:-1]
_BEGUN_DELETION: Final = "1970-01-01T00:00:00Z"
"""Stands for a deletion that the server has not dated yet."""


class Dump:
    """Objects of one moment; encoding them may happen in another thread."""

    def __init__(self, objects: list[tuple[str, Any]], now: float) -> None:
        """Hold objects with their kinds, and the moment, seconds since 1970."""
        self._objects, self._now = objects, now

    def encode(self) -> bytes:
        """Return the List as JSON, an object a line."""
        moment = _ENCODER.encode(self._now)
        return b'{"apiVersion":"v1","kind":"List","now":%b,"items":[\n%b\n]}\n' % (moment, b",\n".join(self._lines()))

    def write(self, file: Path) -> None:
        """Write the List into a file, whole or not at all.

        Raises:
            OSError: It cannot be written; no part of it is left.
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
            yield _HEADS[kind] + b"," + _ENCODER.encode(each)[1:]


def take_dump(state: ClusterState, now: float) -> Dump:
    """Note everything as it is now, seconds since 1970."""
    assumed = state.assumed()
    objects = [(kind, each) for kind in KINDS if kind != "Pod" for each in state.stored(kind).values()]
    objects += [("Pod", _with_assumption(pod, assumed.get(TaskId(uid)))) for uid, pod in state.stored("Pod").items()]
    return Dump([*objects, *measured_objects(state.usage)], now)


def _with_assumption(pod: wire.Pod, assumption: Assumption | None) -> wire.Pod:
    if assumption is None:
        return pod
    replace = msgspec.structs.replace
    if assumption.node is None:
        return replace(pod, metadata=replace(pod.metadata, deletion_timestamp=_BEGUN_DELETION))
    annotations = {**pod.metadata.annotations, **assumption.annotations}
    return replace(
        pod, metadata=replace(pod.metadata, annotations=annotations), spec=replace(pod.spec, node_name=assumption.node)
    )
