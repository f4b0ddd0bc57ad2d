"""Room: what pods ask for and nodes offer, reckoned anew from the objects, without the scheduler's books."""

from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from pyroclast.model.quantity import QuantityError, parse

UNCOUNTED = frozenset({"storage"})


def request_of(pod: Mapping[str, Any]) -> Counter[str]:
    """Return what a pod asks of its node: containers and sidecars together, or the largest init step; overhead."""
    spec = pod.get("spec", {})
    running: Counter[str] = Counter()
    peak: Counter[str] = Counter()
    for container in spec.get("initContainers") or ():
        own = _requests(container)
        if container.get("restartPolicy") == "Always":
            running += own
            peak |= running
        else:
            peak |= running + own
    for container in spec.get("containers") or ():
        running += _requests(container)
    total = (running | peak) + _amounts(spec.get("overhead"))
    total["pods"] = 1
    return total


def offered_by(node: Mapping[str, Any]) -> Counter[str]:
    """Return what a node offers."""
    return _amounts(node.get("status", {}).get("allocatable"))


def _requests(container: Mapping[str, Any]) -> Counter[str]:
    resources = container.get("resources") or {}
    return _amounts({**(resources.get("limits") or {}), **(resources.get("requests") or {})})


def _amounts(listed: Mapping[str, Any] | None) -> Counter[str]:
    amounts: Counter[str] = Counter()
    for name, quantity in (listed or {}).items():
        if name not in UNCOUNTED:
            amounts[name] = _parsed(quantity)  # type: ignore[assignment]  # exact fractions count as well as integers
    return amounts


def _parsed(quantity: Any) -> Fraction:
    try:
        return parse(quantity)
    except QuantityError:
        return Fraction(0)  # an object at fault: another test says what becomes of it
