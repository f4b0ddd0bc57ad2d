"""Quota usage: amounts that a pod uses in a ResourceQuota. The minimum of a pod group is the sum of such amounts.

The rules are those of Kubernetes' pod evaluator: effective requests under their own name and with `requests.` before
it, limits with `limits.`, the pod itself as `pods` and `count/pods`, and extended resources only with `requests.`. As
in Volcano, extended resources are added under their own name too, so that queues can count them.

Example: three pods of 1 CPU make cpu 3, requests.cpu 3, pods 3, count/pods 3.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, Final

from pyroclast.model import wire
from pyroclast.model.api.meta import ResourceList
from pyroclast.model.errors import ObjectError
from pyroclast.model.quantity import QuantityError, format_bytes, format_count, format_millis, millis, parse, units
from pyroclast.model.requests import ContainerAmounts, Exact, combined

__all__ = ["add_usages", "quota_usage", "read_pod_spec", "usage_text"]

_CPU: Final = "cpu"
_BY_OWN_NAME: Final = frozenset({_CPU, "memory", "ephemeral-storage"})
_POD_LEVEL: Final = frozenset({_CPU, "memory"})
_HUGE_PAGES: Final = "hugepages-"
_REQUESTS: Final = "requests."
_LIMITS: Final = "limits."


_POD_SPEC: Final = wire.Decoder("Pod", wire.PodSpec)


def read_pod_spec(spec: Mapping[str, Any]) -> wire.PodSpec:
    """Read the spec of a pod or of a template from plain JSON.

    Raises:
        ObjectError: A field has the wrong type.
    """
    return _POD_SPEC.convert(spec)


def quota_usage(spec: wire.PodSpec) -> Exact:
    """Return the exact usage of one pod.

    Raises:
        ObjectError: An amount is no quantity.
    """
    requests = _effective(spec, lambda resources: resources.requests)
    limits = _effective(spec, lambda resources: resources.limits)
    for name, amount in _read(spec.overhead, "overhead").items():
        requests[name] = requests.get(name, Fraction()) + amount
        if limits.get(name):  # overhead does not limit an unlimited resource
            limits[name] += amount
    usage = {"pods": Fraction(1), "count/pods": Fraction(1)}
    for name, amount in requests.items():
        if name in _BY_OWN_NAME or name.startswith(_HUGE_PAGES) or _is_extended(name):
            usage[name] = usage[_REQUESTS + name] = amount
    usage.update((_LIMITS + name, amount) for name, amount in limits.items() if name in _BY_OWN_NAME)
    return usage


def add_usages(*usages: tuple[Exact, int]) -> Exact:
    """Add up usages, each so many times; those that count no times leave nothing, not even a zero."""
    total: Exact = {}
    for usage, times in usages:
        if times > 0:
            for name, amount in usage.items():
                total[name] = total.get(name, Fraction()) + amount * times
    return total


def usage_text(usage: Exact) -> dict[str, str]:
    """Write amounts as quantities, by name."""
    return {name: _text(name, usage[name]) for name in sorted(usage)}


def _effective(spec: wire.PodSpec, amounts_of: Callable[[wire.ResourceRequirements], ResourceList]) -> Exact:
    """Return the effective requests or limits of a pod without its overhead."""
    regular = [_asked(container, amounts_of, "containers", at) for at, container in enumerate(spec.containers)]
    initial = [_asked(container, amounts_of, "initContainers", at) for at, container in enumerate(spec.init_containers)]
    effective = combined(regular, initial)
    if spec.resources is not None:
        for name, amount in _read(amounts_of(spec.resources), "resources").items():
            if name in _POD_LEVEL or name.startswith(_HUGE_PAGES):
                effective[name] = amount
    return effective


def _asked(
    container: wire.Container,
    amounts_of: Callable[[wire.ResourceRequirements], ResourceList],
    where: str,
    at: int,
) -> ContainerAmounts:
    amounts = _read(amounts_of(container.resources), f"{where}[{at}].resources")
    return ContainerAmounts(amounts, is_sidecar=container.restart_policy == "Always")


def _read(resources: ResourceList, path: str) -> Exact:
    exact: Exact = {}
    for name, text in resources.items():
        try:
            exact[name] = parse(text)
        except QuantityError as error:
            raise ObjectError("Pod", "(spec)", f"{path}.{name}", str(error)) from error
    return exact


def _is_extended(name: str) -> bool:
    """Return whether a resource is an extended resource."""
    return "/" in name and "kubernetes.io/" not in name and not name.startswith(_REQUESTS)


def _text(name: str, amount: Fraction) -> str:
    resource = name.removeprefix(_REQUESTS).removeprefix(_LIMITS)
    if resource == _CPU or amount.denominator != 1:
        return format_millis(millis(amount))
    if resource in _BY_OWN_NAME or resource.startswith(_HUGE_PAGES):
        return format_bytes(units(amount))
    return format_count(units(amount))
