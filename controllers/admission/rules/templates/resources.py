"""Resources: rules for the amounts that containers request."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Final

from pyroclast.controllers.admission.faults import Fault
from pyroclast.controllers.admission.rules.names import QUALIFIED_NAME, is_qualified_name
from pyroclast.model import quantity
from pyroclast.model.api.meta import Quantity, ResourceList
from pyroclast.model.wire import ResourceRequirements

__all__ = ["amount_faults", "amounts_of", "is_extended", "resource_faults"]

_OF_CONTAINERS: Final = frozenset({"cpu", "memory", "ephemeral-storage"})
_HUGE_PAGES: Final = "hugepages-"


def is_extended(name: str) -> bool:
    """Return whether a resource is an extended resource, which is counted in whole units."""
    return "/" in name and "kubernetes.io/" not in name


def amounts_of(resources: ResourceList) -> dict[str, Fraction]:
    """Return the valid amounts."""
    found = {}
    for name, text in resources.items():
        try:
            found[name] = quantity.parse(text)
        except quantity.QuantityError:
            continue  # reported by `amount_faults`
    return found


def amount_faults(resources: Mapping[str, Quantity], field: str) -> Iterator[Fault]:
    """Find invalid, negative, and fractional amounts where only whole amounts exist."""
    for name, text in resources.items():
        place = f"{field}.{name}"
        try:
            amount = quantity.parse(text)
        except quantity.QuantityError:
            yield Fault(field=place, value=text, expected="a quantity, such as 500m, 2 or 4Gi", rule="no quantity")
            continue
        if amount < 0:
            yield Fault(field=place, value=text, expected="at least 0", rule="must be greater than or equal to 0")
        elif is_extended(name) and amount.denominator != 1:
            yield Fault(field=place, value=text, expected="a whole number", rule="must be an integer")


def resource_faults(resources: ResourceRequirements, field: str) -> Iterator[Fault]:
    """Find the faults of requests and limits."""
    for name, amounts in (("limits", resources.limits), ("requests", resources.requests)):
        yield from amount_faults(amounts, f"{field}.{name}")
        yield from _resource_name_faults(amounts, f"{field}.{name}")
    named = {*resources.limits, *resources.requests}
    if any(name.startswith(_HUGE_PAGES) for name in named) and named.isdisjoint({"cpu", "memory"}):
        yield Fault(field=field, value=sorted(named), rule="huge pages require cpu or memory beside")
    limits = amounts_of(resources.limits)
    for name, request in amounts_of(resources.requests).items():
        place, asked = f"{field}.requests.{name}", resources.requests[name]
        may_exceed = not is_extended(name) and not name.startswith(_HUGE_PAGES)
        if name not in limits:
            if not may_exceed and name not in resources.limits:
                yield Fault(field=f"{field}.limits.{name}", rule="a limit must be set for this resource")
        elif not may_exceed and request != limits[name]:
            yield Fault(
                field=place, value=asked, expected=str(resources.limits[name]), rule=f"must be equal to {name} limit"
            )
        elif request > limits[name]:
            yield Fault(
                field=place,
                value=asked,
                expected=f"at most {resources.limits[name]}",
                rule=f"must be less than or equal to {name} limit",
            )


def _resource_name_faults(amounts: ResourceList, field: str) -> Iterator[Fault]:
    for name in amounts:
        if not is_qualified_name(name):
            yield Fault(field=field, value=name, expected=QUALIFIED_NAME, rule="this is no name of a resource")
        elif "/" not in name and name not in _OF_CONTAINERS and not name.startswith(_HUGE_PAGES):
            yield Fault(
                field=field,
                value=name,
                expected="cpu, memory, ephemeral-storage, hugepages-<size> or <domain>/<name>",
                rule="must be a standard resource for containers",
            )
