"""Parsed by node: the parsed content of the objects of one kind, parsed once per version."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Generic, TypeVar

from pyroclast.model.errors import ObjectError
from pyroclast.model.ids import NodeName

__all__ = ["ParsedByNode"]

Object = TypeVar("Object")
Parsed = TypeVar("Parsed")


class ParsedByNode(Generic[Object, Parsed]):
    """Parsed objects as of the last snapshot. Each object has the name of its node."""

    def __init__(self, read: Callable[[Object], Parsed], report: Callable[[ObjectError], None]) -> None:
        """Start without objects; `report` receives the ObjectError of each version that `read` refuses."""
        self._read = read
        self._report = report
        self._objects: Mapping[str, Object] = {}
        self._parsed: Mapping[NodeName, Parsed | None] = MappingProxyType({})

    def of(self, objects: Mapping[str, Object]) -> Mapping[NodeName, Parsed | None]:
        """Return the parsed objects by node, None for broken ones; the same mapping until the next change."""
        if objects is not self._objects:
            before, known = self._objects, self._parsed
            parsed = {
                NodeName(name): known[NodeName(name)] if before.get(name) is each else self._parse(each)
                for name, each in objects.items()
            }
            self._parsed = MappingProxyType(parsed)
            self._objects = objects
        return self._parsed

    def _parse(self, each: Object) -> Parsed | None:
        try:
            return self._read(each)
        except ObjectError as fault:
            self._report(fault)
            return None
