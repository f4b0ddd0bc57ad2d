"""Decode objects of watched kinds, which have no struct."""

from collections.abc import Mapping
from typing import Any

import msgspec

from pyroclast.model.errors import CacheError, ObjectError
from pyroclast.model.watched import Unstructured
from pyroclast.model.wire.decoding import Broken, Decoder, Page, StatusEvent, WatchEvent, pruned

__all__ = ["UnstructuredDecoder"]


class UnstructuredDecoder(Decoder[Unstructured]):
    """Decodes objects of one kind as plain JSON."""

    def __init__(self, kind: str = "", api_version: str = "") -> None:
        """Prepare to decode. Lists of built-in kinds leave out `kind` and `apiVersion`, which are added then."""
        super().__init__(kind, Unstructured)
        self._head = {"apiVersion": api_version, "kind": kind} if kind else {}

    def decode(self, data: bytes | memoryview) -> Unstructured:
        """Decode one object.

        Raises:
            ObjectError: It is no object, or its metadata do not fit.
            CacheError: It is not JSON.
        """
        try:
            return self._made(msgspec.json.decode(data), len(data))
        except RecursionError:
            return self._made(msgspec.json.decode(pruned(data)), len(data))
        except msgspec.DecodeError as error:
            raise CacheError(f"{self.kind}: not JSON: {error}") from error

    def convert(self, value: object) -> Unstructured:
        """Take over a parsed object; raises as `decode`."""
        return self._made(value, None)

    def page(self, data: bytes) -> Page[Unstructured]:
        """Decode a list; raises CacheError if it is no list at all."""
        return self._page_by_item(data)

    def event(self, line: bytes) -> WatchEvent[Unstructured] | StatusEvent | Broken:
        """Decode one line of a watch; raises CacheError if it is no event."""
        return self._event_in_parts(line)

    def _made(self, value: Any, size: int | None) -> Unstructured:
        if not isinstance(value, Mapping) or not isinstance(value.get("metadata", {}), Mapping):
            raise ObjectError(self.kind, "(unnamed)", "(whole object)", "expected an object with metadata")
        try:
            return Unstructured({**self._head, **value}, size)
        except msgspec.ValidationError as error:
            name = value.get("metadata", {}).get("name")
            raise ObjectError(self.kind, str(name or "(unnamed)"), "metadata", str(error)) from error
        except (TypeError, OverflowError) as error:  # of a file: YAML has values that JSON has not
            raise ObjectError(self.kind, "(unnamed)", "(whole object)", str(error)) from error
