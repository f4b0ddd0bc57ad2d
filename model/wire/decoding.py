"""Decode objects, lists and watch events, fencing each broken object from the rest.

A list is decoded in one go; only when that fails are its items taken one by one, and those that do not fit their
struct come back as `Broken`. A JSON null means an absent field, as in Kubernetes: nulls are dropped before an object
is called broken.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

import msgspec

from pyroclast.model.api.meta import ListMeta, ObjectMeta, Wire
from pyroclast.model.errors import CacheError, ObjectError
from pyroclast.model.nulls import MOST_LEVELS, without_nulls

__all__ = ["Broken", "Decoder", "Page", "Status", "StatusCause", "StatusDetails", "StatusEvent", "WatchEvent"]

T = TypeVar("T")

_TOKENS: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]')


class StatusCause(Wire, frozen=True, kw_only=True):
    """One field that the server found at fault."""

    reason: str = ""
    message: str = ""
    field: str = ""


class StatusDetails(Wire, frozen=True, kw_only=True):
    """Details of a refusal."""

    name: str = ""
    kind: str = ""
    group: str = ""
    uid: str = ""
    causes: tuple[StatusCause, ...] = ()
    retry_after_seconds: int = 0


class Status(Wire, frozen=True, kw_only=True):
    """The API server's answer when it is not an object."""

    status: str = ""
    message: str = ""
    reason: str = ""
    code: int = 0
    details: StatusDetails | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """An object that does not fit its struct; with the readable part of its metadata."""

    type: str = ""
    """The watch event it came with, empty in a list."""
    metadata: ObjectMeta
    error: ObjectError


class WatchEvent(msgspec.Struct, Generic[T], frozen=True, gc=False):
    """A watch event: `ADDED`, `MODIFIED`, `DELETED` or `BOOKMARK` (whose object has a resource version alone)."""

    type: str
    object: T


class StatusEvent(msgspec.Struct, frozen=True, gc=False):
    """A watch event of type `ERROR`."""

    type: str
    object: Status


class _Page(msgspec.Struct, Generic[T], gc=False):
    metadata: ListMeta = ListMeta()
    items: list[T] | None = None


class _Identity(msgspec.Struct, gc=False):
    metadata: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[T]):
    """A page of a list."""

    resource_version: str
    continue_token: str
    """Empty on the last page."""
    items: list[T]
    broken: list[Broken]


_STATUS_EVENT = msgspec.json.Decoder(StatusEvent)
_RAW_PAGE = msgspec.json.Decoder(_Page[msgspec.Raw])
_RAW_EVENT = msgspec.json.Decoder(WatchEvent[msgspec.Raw])
_IDENTITY = msgspec.json.Decoder(_Identity)


class Decoder(Generic[T]):
    """Decodes one kind."""

    def __init__(self, kind: str, struct: type[T]) -> None:
        """Prepare to decode objects of `kind` into `struct`, a `Wire` with `metadata`."""
        self.kind = kind
        self.struct = struct
        self._decoder = msgspec.json.Decoder(struct)
        # Subscripted at run time: a type variable stands for the struct that is only known here.
        self._page: msgspec.json.Decoder[_Page[T]] = msgspec.json.Decoder(_Page[struct])  # type: ignore[valid-type]  # see above
        self._event: msgspec.json.Decoder[WatchEvent[T]] = msgspec.json.Decoder(WatchEvent[struct])  # type: ignore[valid-type]  # see above

    def decode(self, data: bytes | memoryview) -> T:
        """Decode one object.

        Raises:
            ObjectError: A field has the wrong type.
            CacheError: It is not JSON.
        """
        try:
            return self._decoder.decode(data)
        except RecursionError:
            return self.decode(pruned(data))
        except msgspec.ValidationError:
            return self.convert(_decode_json(pruned(data)))
        except msgspec.DecodeError as error:
            raise CacheError(f"{self.kind}: not JSON: {error}") from error

    def convert(self, value: object) -> T:
        """Convert a parsed object (for example from YAML) into its struct.

        Raises:
            ObjectError: A field has the wrong type, or it is nested too deeply.
        """
        try:
            return msgspec.convert(without_nulls(value), self.struct)
        except (msgspec.ValidationError, ValueError) as error:
            message, _, path = str(error).partition(" - at `$")
            identity = value.get("metadata") if isinstance(value, Mapping) else None
            where = path.rstrip("`").lstrip(".") or "(whole object)"
            raise ObjectError(self.kind, _metadata(identity).key or "(unnamed)", where, message) from error

    def page(self, data: bytes) -> Page[T]:
        """Decode a list.

        Raises:
            CacheError: It is not a list at all.
        """
        try:
            page = self._page.decode(data)
        except RecursionError:
            return self.page(pruned(data))
        except msgspec.ValidationError:
            return self._page_by_item(data)  # one item at fault must not cost the others
        except msgspec.DecodeError as error:
            raise CacheError(f"list of {self.kind}: not JSON: {error}") from error
        return Page(
            resource_version=page.metadata.resource_version,
            continue_token=page.metadata.continue_,
            items=page.items or [],
            broken=[],
        )

    def event(self, line: bytes) -> WatchEvent[T] | StatusEvent | Broken:
        """Decode one line of a watch.

        Raises:
            CacheError: The line is not JSON or not an event, as when the stream was cut in its middle.
        """
        try:
            event = self._event.decode(line)
        except RecursionError:
            return self.event(pruned(line))
        except msgspec.ValidationError:
            return self._event_in_parts(line)
        except msgspec.DecodeError as error:
            raise CacheError(f"watch of {self.kind}: not JSON: {error}") from error
        return self._event_in_parts(line) if event.type == "ERROR" else event

    def _page_by_item(self, data: bytes) -> Page[T]:
        try:
            page = _RAW_PAGE.decode(data)
        except RecursionError:
            return self._page_by_item(pruned(data))
        except msgspec.DecodeError as error:
            raise CacheError(f"list of {self.kind}: {error}") from error
        items: list[T] = []
        broken: list[Broken] = []
        for raw in page.items or ():
            try:
                items.append(self.decode(memoryview(raw)))
            except ObjectError as error:
                broken.append(Broken(metadata=_identity(raw), error=error))
        return Page(
            resource_version=page.metadata.resource_version,
            continue_token=page.metadata.continue_,
            items=items,
            broken=broken,
        )

    def _event_in_parts(self, line: bytes) -> WatchEvent[T] | StatusEvent | Broken:
        try:
            event = _RAW_EVENT.decode(line)
            if event.type == "ERROR":
                return _STATUS_EVENT.decode(line)
        except RecursionError:
            return self._event_in_parts(pruned(line))
        except msgspec.DecodeError as error:
            raise CacheError(f"watch of {self.kind}: {error}") from error
        try:
            return WatchEvent(event.type, self.decode(memoryview(event.object)))
        except ObjectError as error:
            return Broken(type=event.type, metadata=_identity(event.object), error=error)


def _decode_json(data: bytes | memoryview) -> object:
    try:
        return msgspec.json.decode(data)
    except msgspec.DecodeError as error:
        raise CacheError(f"not JSON: {error}") from error


def _identity(raw: msgspec.Raw) -> ObjectMeta:
    """Read as much of a broken object's metadata as is sound."""
    try:
        return _metadata(_IDENTITY.decode(raw).metadata)
    except msgspec.DecodeError:
        return ObjectMeta()


def _metadata(value: object) -> ObjectMeta:
    """Take name, namespace, uid and resource version if they are texts."""
    if not isinstance(value, Mapping):
        return ObjectMeta()

    def text(key: str) -> str:
        found = value.get(key)
        return found if isinstance(found, str) else ""

    return ObjectMeta(
        name=text("name"), namespace=text("namespace"), uid=text("uid"), resource_version=text("resourceVersion")
    )


def pruned(data: bytes | memoryview) -> bytes:
    """Return JSON with `null` in place of every object and array below `MOST_LEVELS` levels."""
    text = bytes(data)
    pieces, kept_from, level = [], 0, 0
    for token in _TOKENS.finditer(text):
        match token.group():
            case b"[" | b"{":
                level += 1
                if level == MOST_LEVELS + 1:
                    pieces.append(text[kept_from : token.start()])
            case b"]" | b"}":
                if level == MOST_LEVELS + 1:
                    pieces.append(b"null")
                    kept_from = token.end()
                level -= 1
    if level > MOST_LEVELS:
        return b"".join(pieces)  # it was cut in its middle, and is no JSON
    return b"".join((*pieces, text[kept_from:]))
