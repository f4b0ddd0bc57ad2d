"""Reading: the rules of a Reservation object as values."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from pyroclast.model import wire
from pyroclast.model.annotations import read_json
from pyroclast.model.durations import parse_duration
from pyroclast.model.errors import ObjectError
from pyroclast.model.ids import NodeName
from pyroclast.model.requests import amounts
from pyroclast.model.reservations.names import KEPT_BACK, ORDER, RESTRICTED_OPTIONS
from pyroclast.model.reservations.owners import OwnerRules, read_owners
from pyroclast.model.resources import NO_AMOUNTS, Amounts
from pyroclast.model.sealed import SealedDict
from pyroclast.model.texts import shortened

__all__ = ["KIND", "Life", "PodTemplate", "ReservationRules", "is_active", "life_of", "read_reservation", "template_of"]

T = TypeVar("T")

KIND: Final = "Reservation"
_DEFAULT_TTL: Final = "24h"
_FINAL: Final = frozenset({wire.ReservationPhase.SUCCEEDED, wire.ReservationPhase.FAILED})
_LONGEST_TEXT: Final = 65536
"""Characters of an annotation that is parsed."""
_LEAST: Final = -(2**63)
_MOST: Final = 2**63 - 1
_SHOWN_DIGITS: Final = 20


class PodTemplate(wire.Wire, frozen=True, kw_only=True):
    """Pod template of a Reservation."""

    metadata: wire.ObjectMeta = wire.ObjectMeta()
    spec: wire.PodSpec = wire.PodSpec()


class _Amounts(wire.Wire, frozen=True, kw_only=True):
    resources: wire.ResourceList = wire.EMPTY


class _Names(wire.Wire, frozen=True, kw_only=True):
    resources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReservationRules:
    """Rules of one Reservation that is Available."""

    object: wire.Reservation
    """The object as the API server gave it."""
    owners: OwnerRules
    """Pods that may use it; no entries if they cannot be parsed."""
    allocatable: Amounts
    """Reserved amounts, thousandths by resource name."""
    kept_back: Amounts
    """Amounts of these that no pod may use, thousandths by resource name."""
    restricted: frozenset[str]
    """Names of reserved resources that pods may take from the Reservation alone. Empty unless the policy is
    Restricted."""
    order: int
    """Order of use; 0 if none is given."""
    begins: float
    """Creation of the object, seconds since 1970."""
    ends: float | None
    """Time at which it expires, seconds since 1970; None if it does not."""

    @property
    def name(self) -> str:
        """Name of the object."""
        return self.object.metadata.name

    @property
    def node(self) -> NodeName:
        """Node of the reserved capacity."""
        return NodeName(self.object.status.node_name)

    def has_ended(self, now: float) -> bool:
        """Return whether its end has passed at a time, seconds since 1970 (R38)."""
        return self.ends is not None and now >= self.ends

    @property
    def is_aligned(self) -> bool:
        """Whether its policy is given, so that it may not share a node with one without a policy (R12)."""
        return bool(self.object.spec.allocate_policy)


def is_active(reservation: wire.Reservation) -> bool:
    """Return whether a Reservation waits for a node or keeps capacity: it is valid, and its phase is not final (V1)."""
    return bool(reservation.spec.template) and bool(reservation.spec.owners) and reservation.status.phase not in _FINAL


def template_of(reservation: wire.Reservation) -> PodTemplate:
    """Parse the pod template.

    Raises:
        ObjectError: A field has another type, a number has more than 64 bits, or the template is nested too deeply.
    """
    try:
        return msgspec.convert(_plain(reservation.spec.template), type=PodTemplate, strict=False)
    except (msgspec.ValidationError, ValueError) as error:
        raise ObjectError(KIND, reservation.metadata.name, "spec.template", str(error)) from error
    except RecursionError:
        raise ObjectError(KIND, reservation.metadata.name, "spec.template", "it is nested too deeply") from None


def _plain(value: Any) -> Any:
    """Return sealed mappings as dictionaries, which the decoder reads.

    The API server accepts any number in a template, but amounts and priorities are 64-bit integers.
    """
    if isinstance(value, int) and not _LEAST <= value <= _MOST:
        raise ValueError(f"{str(value)[:_SHOWN_DIGITS]}... is not a 64-bit integer")
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


class Life(NamedTuple):
    """How long a Reservation lasts."""

    ends: float | None
    """Time at which it expires, seconds since 1970; None if it does not."""
    fault: str = ""
    """Why its ttl or its end cannot be parsed; empty if both can be."""


def life_of(reservation: wire.Reservation) -> Life:
    """Return how long a Reservation lasts (R38).

    An end that cannot be parsed is ignored, and the default replaces such a ttl, so that it does not last for ever.
    """
    spec, faults = reservation.spec, list[str]()

    def read(path: str, parse: Callable[[], float], fallback: float) -> float:
        try:
            return parse()
        except ValueError as error:
            faults.append(f"{path}: {shortened(str(error))}")
            return fallback

    ttl = read("spec.ttl", lambda: float(parse_duration(spec.ttl or _DEFAULT_TTL)), float(parse_duration(_DEFAULT_TTL)))
    begins = read("metadata.creationTimestamp", lambda: wire.unix_seconds(reservation.metadata.creation_timestamp), 0.0)
    expires = read("spec.expires", lambda: wire.unix_seconds(spec.expires) if spec.expires else inf, inf)
    return Life(None if ttl == 0 else min(begins + ttl, expires), "; ".join(faults))


def read_reservation(reservation: wire.Reservation, report: Callable[[ObjectError], None]) -> ReservationRules:
    """Parse a Reservation that is Available.

    Each field that cannot be parsed is reported. It reserves nothing then, no pod matches it, or it ends by default.
    """
    metadata, status = reservation.metadata, reservation.status

    def read(path: str, fallback: T, parse: Callable[[], T]) -> T:
        try:
            return parse()
        except ValueError as error:
            report(ObjectError(KIND, metadata.name, path, str(error)))
            return fallback

    def annotation(key: str, kind: type[T], absent: T) -> T:
        text = metadata.annotations.get(key)
        if not text:
            return absent
        return read(f"metadata.annotations[{key}]", absent, lambda: read_json(text, kind, longest=_LONGEST_TEXT))

    life = life_of(reservation)
    if life.fault:
        report(ObjectError(KIND, metadata.name, "spec", life.fault))
    allocatable = read("status.allocatable", NO_AMOUNTS, lambda: amounts(status.allocatable))
    kept_back = annotation(KEPT_BACK, _Amounts, _Amounts()).resources
    named = frozenset(annotation(RESTRICTED_OPTIONS, _Names, _Names()).resources) & allocatable.keys()
    is_restricted = reservation.spec.allocate_policy == wire.AllocatePolicy.RESTRICTED
    return ReservationRules(
        object=reservation,
        owners=read("spec.owners", OwnerRules(), lambda: read_owners(reservation.spec.owners, metadata.namespace)),
        allocatable=SealedDict(allocatable),
        kept_back=SealedDict(read(f"metadata.annotations[{KEPT_BACK}]", NO_AMOUNTS, lambda: amounts(kept_back))),
        restricted=(named or frozenset(allocatable)) if is_restricted else frozenset(),
        order=read(f"metadata.labels[{ORDER}]", 0, lambda: _integer(metadata.labels.get(ORDER, "0"))),
        begins=read("metadata.creationTimestamp", 0.0, lambda: wire.unix_seconds(metadata.creation_timestamp)),
        ends=life.ends,
    )


def _integer(text: str) -> int:
    number = int(text) if len(text) <= len(str(-(2**63))) else 2**64
    if not _LEAST <= number <= _MOST:
        raise ValueError(f"{text!r} is not a 64-bit integer")
    return number
