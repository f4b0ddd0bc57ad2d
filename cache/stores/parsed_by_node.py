"""Parsed by node: the parsed content of the objects of one kind, parsed once per version."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Generic, TypeVar

from pyroclast.model.errors import ObjectError
from pyroclast.model.ids import NodeName

__all__ = ["ParsedByNode"]

Object = TypeVar("Object")
Reading = TypeVar("Reading")


class ParsedByNode(Generic[Object, Reading]):
    """The readings as of the last snapshot, of objects that have the names of their nodes."""

    def __init__(self, read: Callable[[Object], Reading], report: Callable[[ObjectError], None]) -> None:
        """Tell `report` of each object that `read` raises an ObjectError for, once for each of its versions."""
        self._read = read
        self._report = report
        self._objects: Mapping[str, Object] = {}
        self._readings: Mapping[NodeName, Reading | None] = MappingProxyType({})

    def of(self, objects: Mapping[str, Object]) -> Mapping[NodeName, Reading | None]:
        """Return the readings by node, None for what cannot be read; the same mapping while nothing changed."""
        if objects is not self._objects:
            before, known = self._objects, self._readings
            readings = {
                NodeName(name): known[NodeName(name)] if before.get(name) is each else self._reading(each)
                for name, each in objects.items()
            }
            self._readings = MappingProxyType(readings)
            self._objects = objects
        return self._readings

    def _reading(self, each: Object) -> Reading | None:
        try:
            return self._read(each)
        except ObjectError as fault:
            self._report(fault)
            return None
