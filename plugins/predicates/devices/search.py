"""Search: devices of one node for the claims of a pod, all or nothing.

Depth first over claims, requests, alternatives and devices, in the order of the objects; the first solution counts.
Devices are taken once, except by requests with admin access, which take none and consume no counters.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from pyroclast.model import wire
from pyroclast.model.arrays import IntArray
from pyroclast.plugins.predicates.devices.pools import Pools
from pyroclast.plugins.predicates.devices.requests import MOST_DEVICES_OF_CLAIM, ClaimNeed, Constraint, Subrequest
from pyroclast.plugins.predicates.devices.usage import DeviceUsage

__all__ = ["MOST_DEVICES_OF_POD", "MOST_STEPS", "Chosen", "Search"]

MOST_STEPS: Final = 10_000
"""Devices that are tried on one node."""
MOST_DEVICES_OF_POD: Final = 128
"""Devices that the claims of a pod can have together. Each costs two levels of Python's stack."""


class Chosen(NamedTuple):
    """The devices of one request."""

    subrequest: Subrequest
    devices: tuple[int, ...]


class _Turn(NamedTuple):
    """A request that is being served."""

    claim: int
    subrequest: Subrequest
    devices: Sequence[int]
    picked: list[int]


class _ExhaustedError(Exception):
    """The search ends without an answer."""


class Search:
    """One search, with what it has taken so far."""

    def __init__(
        self,
        pools: Pools,
        needs: Sequence[ClaimNeed],
        devices: IntArray,
        *,
        usage: DeviceUsage,
        knows_all: bool,
    ) -> None:
        """Prepare a search.

        Args:
            pools: All devices.
            needs: What the claims ask for, in the order of the pod.
            devices: Devices that the node reaches, ascending.
            usage: Devices that claims have already; the search takes devices there, and gives all of them back.
            knows_all: Whether all devices of the node are known, so that a request for all of them can be served.
        """
        self._pools, self._needs, self._devices = pools, needs, devices
        self._usage, self._knows_all = usage, knows_all
        self._taken: list[set[int]] = [set() for _ in needs]
        self._exclusive: set[int] = set()
        """Devices taken without admin access."""
        self._chosen: list[list[Chosen]] = [[] for _ in needs]
        self._constraints = [[_Seen(each) for each in need.constraints] for need in needs]
        self._eligible: dict[int, list[int]] = {}
        self.steps = 0

    def run(self) -> list[list[Chosen]] | None:
        """Return the devices of each claim's requests; None if the node cannot serve them, or too many are tried."""
        try:
            return self._chosen if self._request(0, 0) else None
        except _ExhaustedError:
            return None
        finally:
            for number in self._exclusive:
                self._usage.give_back(number)

    @property
    def is_exhausted(self) -> bool:
        """Whether the search ended because too many devices were tried."""
        return self.steps > MOST_STEPS

    def _step(self) -> None:
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise _ExhaustedError

    def _request(self, claim: int, position: int) -> bool:
        """Serve the requests from one on."""
        if claim == len(self._needs):
            return True
        need = self._needs[claim]
        if position == len(need.requests):
            return self._request(claim + 1, 0)
        for subrequest in need.requests[position]:
            self._step()
            devices = self._devices_for(subrequest)
            count = subrequest.number or len(devices)
            if self._is_possible(claim, subrequest, devices, count) and self._pick(
                _Turn(claim, subrequest, devices, []), 0, count
            ):
                return True
        return False

    def _is_possible(self, claim: int, subrequest: Subrequest, devices: Sequence[int], count: int) -> bool:
        if not count or len(devices) < count:
            return False
        if not subrequest.number and not (
            self._knows_all and len(devices) == int(subrequest.matching[self._devices].sum())
        ):
            return False  # one of the devices is not known, in use, or has a taint
        total = sum(map(len, self._taken))
        return len(self._taken[claim]) + count <= MOST_DEVICES_OF_CLAIM and total + count <= MOST_DEVICES_OF_POD

    def _devices_for(self, subrequest: Subrequest) -> list[int]:
        """Return the devices of the node that a request could have, as far as other claims go."""
        known = self._eligible.get(id(subrequest))
        if known is None:
            usable = self._devices[subrequest.usable[self._devices]].tolist()
            if not subrequest.spec.admin_access:
                own, in_use = self._exclusive, self._usage.devices
                usable = [each for each in usable if each in own or each not in in_use]
            known = self._eligible[id(subrequest)] = usable
        return known

    def _pick(self, turn: "_Turn", begin: int, left: int) -> bool:
        """Pick further devices of a request, in increasing order, then serve the rest."""
        claim, subrequest = turn.claim, turn.subrequest
        if not left:
            self._chosen[claim].append(Chosen(subrequest, tuple(turn.picked)))
            if self._request(claim, len(self._chosen[claim])):
                return True
            self._chosen[claim].pop()
            return False
        for position in range(begin, len(turn.devices) - left + 1):
            self._step()
            number = turn.devices[position]
            if self._take(claim, subrequest, number):
                turn.picked.append(number)
                if self._pick(turn, position + 1, left - 1):
                    return True
                turn.picked.pop()
                self._give_back(claim, subrequest, number)
        return False

    def _take(self, claim: int, subrequest: Subrequest, number: int) -> bool:
        is_exclusive = not subrequest.spec.admin_access
        if number in self._taken[claim]:
            return False
        if is_exclusive and (number in self._exclusive or not self._usage.has_counters_for(number)):
            return False
        passed: list[_Seen] = []
        for seen in self._constraints[claim]:
            if seen.constraint.covers(subrequest):
                if not seen.add(self._pools, number):
                    for each in passed:
                        each.remove()
                    return False
                passed.append(seen)
        self._taken[claim].add(number)
        if is_exclusive:
            self._exclusive.add(number)
            self._usage.take(number)
        return True

    def _give_back(self, claim: int, subrequest: Subrequest, number: int) -> None:
        self._taken[claim].remove(number)
        if not subrequest.spec.admin_access:
            self._exclusive.remove(number)
            self._usage.give_back(number)
        for seen in self._constraints[claim]:
            if seen.constraint.covers(subrequest):
                seen.remove()


class _Seen:
    """Values of a constraint's attribute among the devices taken so far."""

    def __init__(self, constraint: Constraint) -> None:
        self.constraint = constraint
        self._values: list[tuple[str, Any]] = []

    def add(self, pools: Pools, number: int) -> bool:
        """Count a device, unless it breaks the constraint."""
        value = _value(pools.offers[number].attribute(self.constraint.attribute))
        if value is None:
            return False
        is_broken = value in self._values if self.constraint.is_distinct else self._values and self._values[0] != value
        if is_broken:
            return False
        self._values.append(value)
        return True

    def remove(self) -> None:
        """Undo the last `add`."""
        self._values.pop()


def _value(attribute: wire.DeviceAttribute | None) -> tuple[str, Any] | None:
    if attribute is None:
        return None
    values: Mapping[str, Any] = {
        "int": attribute.int_,
        "bool": attribute.bool_,
        "string": attribute.string,
        "version": attribute.version,
    }
    return next(((kind, value) for kind, value in values.items() if value is not None), None)
