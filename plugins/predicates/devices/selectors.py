"""Selectors: which devices an expression is true for.

The result for a device is that of an earlier device if all that the expression read of that one is equal here. So a
cluster with thousands of devices of a few kinds costs a few evaluations.
"""

from collections.abc import Hashable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from pyroclast.model import wire
from pyroclast.model.cel.evaluation import compiled
from pyroclast.model.cel.parser import CelError
from pyroclast.model.cel.values import Quantity, Semver, TotalMap
from pyroclast.model.quantity import QuantityError
from pyroclast.plugins.predicates.devices.pools import Offer

__all__ = ["DeviceExpression"]

_VARIABLES: Final = ("device",)
_MOST_RESULTS: Final = 1024
"""Results of one expression that are kept; more of them read what differs in each device, such as a UUID."""
_WHOLE: Final = ""
"""Stands for all keys of a map, and for all domains."""

Read = tuple[str, str, str]
"""Part of a device that an expression reads: field, domain and name."""


class DeviceExpression:
    """One expression, with its results so far."""

    __slots__ = ("_known", "_program", "_reads")

    def __init__(self, expression: str) -> None:
        """Compile the expression. Raise CelError if it is none."""
        self._program = compiled(expression, _VARIABLES)
        self._reads: dict[frozenset[Read], tuple[Read, ...]] = {}
        """Sets of reads so far: which parts are read depends on the values of others."""
        self._known: dict[Hashable, bool | CelError] = {}

    def result(self, offer: Offer) -> tuple[bool | CelError, int]:
        """Return whether a device matches, or why there is no answer, and the number of steps that this took."""
        facts = _Facts(offer)
        for steps, reads in enumerate(self._reads.values(), start=1):
            known = self._known.get((reads, tuple(map(facts.part, reads))))
            if known is not None:
                return known, steps
        if len(self._known) >= _MOST_RESULTS:
            self._known.clear()
            self._reads.clear()
        record: set[Read] = set()
        found, steps = self._evaluate(facts, record)
        reads = self._reads.setdefault(frozenset(record), tuple(sorted(record)))
        self._known[reads, tuple(map(facts.part, reads))] = found
        return found, steps + len(self._reads)

    def _evaluate(self, facts: "_Facts", record: set[Read]) -> tuple[bool | CelError, int]:
        try:
            value, steps = self._program.evaluate({"device": _DeviceMap(facts, record)})
        except CelError as error:
            return error, 1
        if not isinstance(value, bool):
            return CelError("the result is no bool"), steps
        return value, steps


class _Facts:
    """What expressions can read of a device."""

    __slots__ = ("_offer",)

    def __init__(self, offer: Offer) -> None:
        self._offer = offer

    def domains(self, field: str) -> dict[str, dict[str, Any]]:
        """Return attributes or capacity by domain and name."""
        known = self._offer.parsed.get(field)
        if known is None:
            known = self._offer.parsed[field] = {}
            entries = getattr(self._offer.device, field)
            for key, each in entries.items():
                domain, _, name = key.rpartition("/")
                value = _attribute(each) if field == "attributes" else _amount(each.value)
                known.setdefault(domain or self._offer.id.driver, {})[name] = value
        return known

    def plain(self, field: str) -> Any:
        """Return a field that is no map."""
        return self._offer.id.driver if field == "driver" else self._offer.device.allow_multiple_allocations

    def part(self, read: Read) -> Hashable:
        """Return the value of a part; equal parts give equal results."""
        field, domain, name = read
        if field not in {"attributes", "capacity"}:
            return self.plain(field)  # type: ignore[no-any-return]  # a text or a boolean
        domains = self.domains(field)
        if domain == _WHOLE:
            return tuple(sorted(domains))
        entries = domains.get(domain)
        if entries is None:
            return None
        if name == _WHOLE:
            return tuple(sorted(entries))
        value = entries.get(name)
        return type(value).__name__, value


class _DeviceMap(Mapping[str, Any]):
    """The variable `device`."""

    _FIELDS: Final = ("driver", "attributes", "capacity", "allowMultipleAllocations")

    def __init__(self, facts: _Facts, record: set[Read]) -> None:
        self._facts, self._record = facts, record

    def __getitem__(self, key: str) -> Any:
        if key in {"attributes", "capacity"}:
            return _Domains(self._facts, self._record, key)
        if key not in self._FIELDS:
            raise KeyError(key)
        self._record.add((key, _WHOLE, _WHOLE))
        return self._facts.plain(key)

    def __contains__(self, key: object) -> bool:
        return key in self._FIELDS

    def __iter__(self) -> Iterator[str]:
        return iter(self._FIELDS)

    def __len__(self) -> int:
        return len(self._FIELDS)


class _Domains(TotalMap):
    """Attributes or capacity by domain. A domain without entries is an empty map, and not contained."""

    def __init__(self, facts: _Facts, record: set[Read], field: str) -> None:
        self._facts, self._record, self._field = facts, record, field

    def __getitem__(self, key: str) -> Any:
        return _Entries(self._facts, self._record, self._field, key)

    def __contains__(self, key: object) -> bool:
        self._note()
        return key in self._facts.domains(self._field)

    def __iter__(self) -> Iterator[str]:
        self._note()
        return iter(sorted(self._facts.domains(self._field)))

    def __len__(self) -> int:
        self._note()
        return len(self._facts.domains(self._field))

    def _note(self) -> None:
        self._record.add((self._field, _WHOLE, _WHOLE))


class _Entries(Mapping[str, Any]):
    """Attributes or capacity of one domain."""

    def __init__(self, facts: _Facts, record: set[Read], field: str, domain: str) -> None:
        self._entries = facts.domains(field).get(domain, {})
        self._record, self._field, self._domain = record, field, domain

    def __getitem__(self, key: str) -> Any:
        self._record.add((self._field, self._domain, key))
        return self._entries[key]

    def __contains__(self, key: object) -> bool:
        if isinstance(key, str):
            self._record.add((self._field, self._domain, key))
        return key in self._entries

    def __iter__(self) -> Iterator[str]:
        self._record.add((self._field, self._domain, _WHOLE))
        return iter(sorted(self._entries))

    def __len__(self) -> int:
        self._record.add((self._field, self._domain, _WHOLE))
        return len(self._entries)


def _attribute(attribute: wire.DeviceAttribute) -> Any:
    if attribute.version is not None:
        return _version(attribute.version)
    values = (attribute.int_, attribute.bool_, attribute.string)
    return next((value for value in values if value is not None), None)


@lru_cache(4096)
def _version(text: str) -> Semver | str:
    try:
        return Semver.of(text)
    except CelError:
        return text


def _amount(text: wire.Quantity) -> Quantity | None:
    try:
        return Quantity.of(str(text))
    except (CelError, QuantityError):
        return None
