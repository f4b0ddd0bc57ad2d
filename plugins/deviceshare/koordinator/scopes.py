"""Scopes: GPUs within one PCIe switch, one NUMA node, or the node; the narrowest sufficient scope.

Among equally narrow scopes, the one comes first that is within more partly used scopes, so that unused ones stay whole.
For a shared GPU the better score comes next, then the smaller number.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from pyroclast.model.devices.koordinator.device_hints import SCOPES
from pyroclast.model.devices.koordinator.layout import DeviceLayout
from pyroclast.model.devices.koordinator.names import GPU
from pyroclast.plugins.deviceshare.koordinator.free import Free
from pyroclast.plugins.deviceshare.koordinator.generic import score_of
from pyroclast.plugins.deviceshare.koordinator.needs import Need
from pyroclast.plugins.deviceshare.koordinator.scoring import Scoring

__all__ = ["by_scope", "is_within"]

_NODE, _NUMA, _PCIE = range(1, 4)
_NARROWEST: Final = _PCIE
"""A single device is always within one PCIe switch."""
_LAYOUTS: Final = 1024
"""Maximum number of cached layouts."""


class _Scope(NamedTuple):
    depth: int
    path: tuple[frozenset[int], ...]
    """Positions of the scope's GPUs, preceded by those of the enclosing scopes, widest first."""


def by_scope(free: Free, need: Need, scoring: Scoring) -> Iterator[tuple[int, ...]]:
    """Yield GPUs for a need, the best choice first."""
    able = [at for at in need.candidates if free.fits(at, need.each)]
    scores = {at: score_of(free, at, need, scoring) for at in able} if need.is_shared else {}
    found: list[tuple[tuple[int, int, int], tuple[int, ...]]] = []
    for scope in _scopes(free.layout):
        inside = [at for at in able if at in scope.path[-1]]
        if len(inside) < need.devices or scope.depth < _required(need):
            continue
        if need.is_shared:
            inside.sort(key=lambda at: (-scores[at], at))
        chosen = tuple(inside[: need.devices])
        touched = sum(not free.used.isdisjoint(around) for around in scope.path)
        score = scores[chosen[0]] if need.is_shared else 0
        found.append(((-scope.depth, -touched, -score), chosen))
    found.sort(key=lambda pair: pair[0])  # stable: ties keep the order of scope numbers
    yield from dict.fromkeys(chosen for _, chosen in found)


def is_within(layout: DeviceLayout, chosen: tuple[int, ...], need: Need) -> bool:
    """Return whether GPUs are within a scope as narrow as the pod requires."""
    required = _required(need)
    return not required or any(
        scope.depth >= required and scope.path[-1].issuperset(chosen) for scope in _scopes(layout)
    )


def _required(need: Need) -> int:
    return min(SCOPES.index(need.hint.scope), _NARROWEST)


@lru_cache(_LAYOUTS)
def _scopes(layout: DeviceLayout) -> tuple[_Scope, ...]:
    """Return the node, then each NUMA node followed by its switches, sorted by number and name."""
    return tuple(_all_scopes(layout))


def _all_scopes(layout: DeviceLayout) -> Iterator[_Scope]:
    whole = frozenset(layout.by_type[GPU])
    yield _Scope(_NODE, (whole,))
    places = {at: place for at in layout.by_type[GPU] if (place := layout.devices[at].place) is not None}
    for numa in sorted({place.numa for place in places.values()}):
        inside = frozenset(at for at, place in places.items() if place.numa == numa)
        yield _Scope(_NUMA, (whole, inside))
        for pcie in sorted({places[at].pcie for at in inside}):
            yield _Scope(_PCIE, (whole, inside, frozenset(at for at in inside if places[at].pcie == pcie)))
