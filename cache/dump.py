"""Dump: the cluster as a List that `pyroclast simulate` reads, decisions not echoed yet included."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from cache.assumptions import Assumption
from cache.books import Books
from cache.objects import KINDS
from kube import resources
from model import wire
from model.ids import TaskId

__all__ = ["Dump", "take_dump"]

_ENCODER: Final = msgspec.json.Encoder(enc_hook=dict)
_HEADS: Final = {
    each.kind: _ENCODER.encode({"apiVersion": each.api_version, "kind": each.kind})[:-1]
    for each in resources.ALL
    if each.kind in KINDS
}
_BEGUN_DELETION: Final = "1970-01-01T00:00:00Z"
"""Stands for a deletion that the server has not dated yet."""


class Dump:
    """Objects of one moment; encoding them may happen in another thread."""

    def __init__(self, objects: list[tuple[str, Any]]) -> None:
        """Hold objects with their kinds."""
        self._objects = objects

    def encode(self) -> bytes:
        """Return the List as JSON, an object a line."""
        return b'{"apiVersion":"v1","kind":"List","items":[\n' + b",\n".join(self._lines()) + b"\n]}\n"

    def _lines(self) -> Iterator[bytes]:
        for kind, each in self._objects:
            yield _HEADS[kind] + b"," + _ENCODER.encode(each)[1:]


def take_dump(books: Books) -> Dump:
    """Note all objects as they are now."""
    assumed = books.assumed()
    objects = [(kind, each) for kind in KINDS if kind != "Pod" for each in books.stored(kind).values()]
    objects += [("Pod", _with_assumption(pod, assumed.get(TaskId(uid)))) for uid, pod in books.stored("Pod").items()]
    return Dump(objects)


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
