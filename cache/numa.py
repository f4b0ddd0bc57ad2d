"""Numa: the inside of nodes, read from Numatopologies, each once for each of its versions."""

from collections.abc import Callable, Mapping

from model import wire
from model.errors import ObjectError
from model.ids import NodeName
from model.numa import NumaNode, read_numa

__all__ = ["NumaKeeper"]

_Reading = NumaNode | None


class NumaKeeper:
    """The readings as of the last snapshot."""

    def __init__(self, report: Callable[[ObjectError], None]) -> None:
        """Tell `report` of each object that cannot be read, once for each of its versions."""
        self._report = report
        self._objects: Mapping[str, wire.Numatopology] = {}
        self._readings: dict[NodeName, _Reading] = {}

    def of(self, objects: Mapping[str, wire.Numatopology]) -> Mapping[NodeName, _Reading]:
        """Return the readings by node, None for what cannot be read; the same mapping while nothing changed."""
        if objects is not self._objects:
            before, known = self._objects, self._readings
            self._readings = {
                NodeName(name): known[NodeName(name)] if before.get(name) is each else self._read(each)
                for name, each in objects.items()
            }
            self._objects = objects
        return self._readings

    def _read(self, topology: wire.Numatopology) -> _Reading:
        try:
            return read_numa(topology)
        except ObjectError as fault:
            self._report(fault)
            return None
