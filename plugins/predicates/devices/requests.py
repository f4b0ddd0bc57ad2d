"""Requests: what the claims of a pod ask for, and which devices match each request."""

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np

from pyroclast.model import wire
from pyroclast.model.arrays import BoolArray
from pyroclast.model.cel.parser import CelError
from pyroclast.model.quantity import QuantityError, millis
from pyroclast.model.texts import shortened
from pyroclast.plugins.predicates.devices.pools import Offer, Pools
from pyroclast.plugins.predicates.devices.selectors import DeviceExpression

__all__ = ["MOST_DEVICES_OF_CLAIM", "TOO_MANY_STEPS", "ClaimNeed", "Constraint", "Requests", "Subrequest"]

MOST_DEVICES_OF_CLAIM: Final = 32
"""Devices that a claim can have; the limit of the API server."""
MOST_STEPS: Final = 250_000
"""Steps of selectors and searches for the claims of one namespace in a session: about a second."""
_MOST_SELECTORS: Final = 256
"""Distinct expressions whose results are kept."""
_MOST_REQUESTS: Final = 1024
"""Distinct requests of which the matching devices are kept."""
_DEVICES_PER_STEP: Final = 64
"""Devices of which copying what matches costs as much as a step."""
_AMOUNTS_PER_STEP: Final = 4
"""Amounts of a capacity of which comparing them with those of a device costs as much as a step."""
TOO_MANY_STEPS: Final = f"the claims of the namespace take more than {MOST_STEPS} steps in a cycle"
_OF_CLASSES: Final = ""
"""Stands for a namespace in the steps of selectors of classes, which administrators write."""
_TAINTS: Final = frozenset({"NoSchedule", "NoExecute"})
_ALL: Final = "All"


class Constraint(NamedTuple):
    """An attribute that the devices of some requests have in common, or in which they differ."""

    attribute: str
    is_distinct: bool
    requests: frozenset[str]
    """Names of requests, or of requests with an alternative; empty for all."""

    def covers(self, subrequest: "Subrequest") -> bool:
        """Return whether the devices of a request count."""
        return not self.requests or subrequest.name in self.requests or subrequest.request in self.requests


class Subrequest(NamedTuple):
    """A request, or one alternative of it."""

    request: str
    name: str
    """Name of the request, for an alternative with `/` and the name of the alternative."""
    spec: wire.ExactDeviceRequest
    number: int
    """Number of devices; 0 for all that match."""
    matching: BoolArray
    """Devices that match, shape (D,)."""
    usable: BoolArray
    """Matching devices whose taints are tolerated, shape (D,)."""


class ClaimNeed(NamedTuple):
    """What one claim asks for."""

    claim: wire.ResourceClaim
    requests: tuple[tuple[Subrequest, ...], ...]
    """The alternatives of each request, best first."""
    constraints: tuple[Constraint, ...]


class Requests:
    """Reads claims; results for equal requests are computed once."""

    def __init__(self, pools: Pools, classes: Mapping[str, wire.DeviceClass]) -> None:
        self._pools = pools
        self._classes = classes
        self._selectors: dict[str, DeviceExpression | CelError] = {}
        self._matching: dict[Hashable, tuple[BoolArray, str]] = {}
        self._of_class: dict[str, tuple[BoolArray, str]] = {}
        """Devices that match a class, shape (D,), and the first error of a selector."""
        self._usable: dict[Hashable, BoolArray] = {}
        self.steps: Counter[str] = Counter()
        """Steps so far, by namespace."""

    def is_exhausted(self, namespace: str) -> bool:
        """Return whether the claims of a namespace have used up the steps of the session; never for classes."""
        return namespace != _OF_CLASSES and self.steps[namespace] >= MOST_STEPS

    def fault(self, claim: wire.ResourceClaim) -> str:
        """Return why no node can serve a claim; empty if some may."""
        return next(self._faults(claim), "")

    def _faults(self, claim: wire.ResourceClaim) -> Iterator[str]:
        least = 0
        for request in claim.spec.devices.requests:
            subrequests = _alternatives(request)
            if not subrequests:
                yield f"request {request.name} is of an unknown kind"
                return
            faults = [self._fault_of(claim, name, spec) for name, spec in subrequests]
            if all(faults):
                yield faults[0]
                return
            least += min(_count(spec) for _, spec in subrequests)
        if least > MOST_DEVICES_OF_CLAIM:
            yield f"the claim requests {least} devices, more than {MOST_DEVICES_OF_CLAIM}"
        for constraint in claim.spec.devices.constraints:
            if not (constraint.match_attribute or constraint.distinct_attribute):
                yield "a constraint is of an unknown kind"

    def _fault_of(self, claim: wire.ResourceClaim, name: str, spec: wire.ExactDeviceRequest) -> str:
        device_class = self._classes.get(spec.device_class_name)
        if device_class is None:
            return f"request {name}: device class {spec.device_class_name} does not exist"
        if spec.allocation_mode not in {"", "ExactCount", _ALL}:
            return f"request {name}: unknown allocation mode {spec.allocation_mode}"
        matching, error = self._match(claim.metadata.namespace, spec)
        if not matching.any():
            return f"request {name}: {error or f'no device of class {spec.device_class_name} matches'}"
        return ""

    def need(self, claim: wire.ResourceClaim) -> ClaimNeed:
        """Return what a claim without fault asks for. Alternatives whose class does not exist are left out."""
        devices = claim.spec.devices
        requests = tuple(
            tuple(
                self._subrequest(claim, request.name, name, spec)
                for name, spec in _alternatives(request)
                if not self._fault_of(claim, name, spec)
            )
            for request in devices.requests
        )
        constraints = tuple(
            Constraint(
                each.match_attribute or each.distinct_attribute, not each.match_attribute, frozenset(each.requests)
            )
            for each in devices.constraints
        )
        return ClaimNeed(claim, requests, constraints)

    def _subrequest(
        self, claim: wire.ResourceClaim, request: str, name: str, spec: wire.ExactDeviceRequest
    ) -> Subrequest:
        namespace = claim.metadata.namespace
        matching, _ = self._match(namespace, spec)
        key = (*_key(spec), msgspec.json.encode(spec.tolerations))
        usable = self._usable.get(key)
        if usable is None:
            usable = matching.copy()
            for number in np.flatnonzero(matching).tolist():
                taints = self._pools.offers[number].device.taints
                if taints and self.is_exhausted(namespace):
                    usable[number:] = False
                    break
                self.steps[namespace] += len(taints)
                usable[number] = _tolerates(spec.tolerations, taints)
            if _key(spec) in self._matching and not self.is_exhausted(namespace):
                if len(self._usable) >= _MOST_REQUESTS:
                    self._usable.clear()
                self._usable[key] = usable
        return Subrequest(
            request, name, spec, 0 if spec.allocation_mode == _ALL else max(spec.count, 1), matching, usable
        )

    def _match(self, namespace: str, spec: wire.ExactDeviceRequest) -> tuple[BoolArray, str]:
        """Return the devices that match a request, shape (D,), and the first error of a selector."""
        key = _key(spec)
        known = self._matching.get(key)
        if known is None:
            known = self._compute(namespace, spec)
            if self.is_exhausted(namespace):
                return known  # not for others: it may be cut off
            if len(self._matching) >= _MOST_REQUESTS:
                self._matching.clear()
                self._usable.clear()
            self._matching[key] = known
        return known

    def _compute(self, namespace: str, spec: wire.ExactDeviceRequest) -> tuple[BoolArray, str]:
        name = spec.device_class_name
        known = self._of_class.get(name)
        if known is None:
            every = np.ones(len(self._pools.offers), dtype=np.bool_)
            selectors = self._classes[name].spec.selectors
            known = self._of_class[name] = self._selected(_OF_CLASSES, every, selectors, f"device class {name}")
        of_class, error_of_class = known
        matching, error = self._selected(namespace, of_class, spec.selectors, "it")
        if spec.capacity is not None:
            error = self._narrow_by_capacity(namespace, spec.capacity, matching) or error
        return matching, error_of_class or error

    def _narrow_by_capacity(self, namespace: str, capacity: wire.CapacityRequirements, matching: BoolArray) -> str:
        """Leave only devices that have all of a capacity, and return an error if there are too many to compare."""
        steps = 1 + len(capacity.requests) // _AMOUNTS_PER_STEP
        for number in np.flatnonzero(matching).tolist():
            if self.is_exhausted(namespace):
                matching[number:] = False
                return TOO_MANY_STEPS
            self.steps[namespace] += steps
            matching[number] = _is_large_enough(capacity, self._pools.offers[number])
        return ""

    def _selected(
        self, namespace: str, devices: BoolArray, selectors: Sequence[wire.DeviceSelector], source: str
    ) -> tuple[BoolArray, str]:
        """Return which of some devices match all selectors, shape (D,), and the first error."""
        self.steps[namespace] += 1 + len(devices) // _DEVICES_PER_STEP
        matching, first_error = devices.copy(), ""
        for number, each in enumerate(selectors):
            error = self._narrow(namespace, each.cel.expression if each.cel is not None else "", matching)
            if error and not first_error:
                first_error = shortened(f"selector {number} of {source}: {error}")
        return matching, first_error

    def _narrow(self, namespace: str, expression: str, matching: BoolArray) -> str:
        """Leave only devices for which an expression is true, and return the first error."""
        selector = self._selector(expression)
        if isinstance(selector, CelError):
            matching[:] = False
            return str(selector)
        error = ""
        for number in np.flatnonzero(matching).tolist():
            if self.is_exhausted(namespace):
                matching[number:] = False
                return TOO_MANY_STEPS
            found, steps = selector.result(self._pools.offers[number])
            self.steps[namespace] += steps
            matching[number] = found is True
            if isinstance(found, CelError) and not error:
                error = f"{found} (device {'/'.join(self._pools.offers[number].id)})"
        return error

    def _selector(self, expression: str) -> DeviceExpression | CelError:
        known = self._selectors.get(expression)
        if known is None:
            try:
                known = DeviceExpression(expression)
            except CelError as error:
                known = error
            if len(self._selectors) >= _MOST_SELECTORS:
                self._selectors.clear()
            self._selectors[expression] = known
        return known


def _alternatives(request: wire.DeviceRequest) -> Sequence[tuple[str, wire.ExactDeviceRequest]]:
    if request.exactly is not None:
        return ((request.name, request.exactly),)
    return [(f"{request.name}/{each.name}", each) for each in request.first_available]


def _key(spec: wire.ExactDeviceRequest) -> tuple[str, bytes]:
    """Return what decides which devices match a request."""
    return spec.device_class_name, msgspec.json.encode((spec.selectors, spec.capacity))


def _count(spec: wire.ExactDeviceRequest) -> int:
    return 1 if spec.allocation_mode == _ALL else max(spec.count, 1)


def _tolerates(tolerations: Sequence[wire.DeviceToleration], taints: Sequence[wire.DeviceTaint]) -> bool:
    return all(taint.effect not in _TAINTS or any(_is_for(each, taint) for each in tolerations) for taint in taints)


def _is_for(toleration: wire.DeviceToleration, taint: wire.DeviceTaint) -> bool:
    return (
        toleration.effect in {"", taint.effect}
        and toleration.key in {"", taint.key}
        and (toleration.operator == "Exists" or toleration.value == taint.value)
    )


def _is_large_enough(capacity: wire.CapacityRequirements, offer: Offer) -> bool:
    """Return whether a device that serves one claim at a time has all the capacity that a request names."""
    for name, sought in capacity.requests.items():
        own = offer.device.capacity.get(name)
        if own is None:
            domain, _, plain = name.rpartition("/")
            own = offer.device.capacity.get(plain) if domain == offer.id.driver else None
        try:
            if own is None or millis(own.value) < millis(sought):
                return False
        except QuantityError:
            return False
    return True
