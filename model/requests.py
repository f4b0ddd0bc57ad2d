"""Requests: requests of pods and amounts of resource lists, exactly.

The effective request of a pod is that of Kubernetes (`PodRequests` of its component helpers): the sum of its
containers and sidecars, or the maximum of its init containers, one of `pods`, pod-level resources if they are set, and
the overhead of its runtime. Sums are exact; rounding happens once, at the end.

Example: containers request 500m and 250m, a sidecar 100m, and an init container that starts after the sidecar 1 CPU.
Running takes 850m, initialising 1100m, so the effective request is 1100m.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final

from pyroclast.model import wire
from pyroclast.model.devices.koordinator.names import MEMORY as GPU_MEMORY
from pyroclast.model.errors import ObjectError
from pyroclast.model.quantity import QuantityError, format_bytes, format_millis, millis, parse, units
from pyroclast.model.resources import CPU, MEMORY, MILLI, PODS, Amounts

__all__ = [
    "ATTACHABLE_VOLUMES",
    "CSI_VOLUMES",
    "LARGEST_REQUEST",
    "SCORED_CPU_MILLIS",
    "SCORED_MEMORY_BYTES",
    "ContainerAmounts",
    "Exact",
    "PodRequest",
    "amounts",
    "combined",
    "is_best_effort",
    "is_counted",
    "is_resize_infeasible",
    "is_whole",
    "pod_request",
    "quantity_text",
    "resource_list",
    "saturated",
]

SCORED_CPU_MILLIS: Final = 100
"""Assumed CPU usage of a container without a CPU request, for node scores."""
SCORED_MEMORY_BYTES: Final = 200 * 2**20
"""Assumed memory usage of a container without a memory request, for node scores."""
LARGEST_REQUEST: Final = 2**50
"""Amounts of pods and nodes saturate here, in base units, so that sums over a cluster stay inside 63 bits."""

_EPHEMERAL_STORAGE: Final = "ephemeral-storage"
_WHOLE: Final = frozenset({MEMORY, PODS, _EPHEMERAL_STORAGE, GPU_MEMORY})
_HUGE_PAGES: Final = "hugepages-"
ATTACHABLE_VOLUMES: Final = "attachable-volumes-"
"""Prefix of the resources that count volumes by driver."""
CSI_VOLUMES: Final = f"{ATTACHABLE_VOLUMES}csi-"
"""Prefix of those of CSI drivers; the name of the driver follows."""
_SCALAR_PREFIXES: Final = (_HUGE_PAGES, ATTACHABLE_VOLUMES)
_QUALIFIED = re.compile(
    r"(?=.{1,253}/)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/"
    r"(?=.{1,63}\Z)[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?"
)
_SCORED_DEFAULTS: Final = {CPU: Fraction(SCORED_CPU_MILLIS, MILLI), MEMORY: Fraction(SCORED_MEMORY_BYTES)}
_NO_STATUS: Final = wire.ContainerStatus()

Exact = dict[str, Fraction]
"""Base units by resource name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodRequest:
    """Requests of one pod."""

    amounts: Amounts
    """Effective request, thousandths; `pods` is always in it."""
    scored_cpu_millis: int
    """CPU as node scores see it."""
    scored_memory_bytes: int
    """Memory as node scores see it."""


@lru_cache(4096)
def is_counted(name: str) -> bool:
    """Return whether the scheduler counts a resource. It does not count `storage` and `count/pods`."""
    if name == CPU or name in _WHOLE or name.startswith(_SCALAR_PREFIXES):
        return True
    if name.startswith("count/"):
        return False
    if "kubernetes.io/" in name:
        return True
    return not name.startswith("requests.") and _QUALIFIED.fullmatch(name) is not None


def amounts(resources: wire.ResourceList) -> dict[str, int]:
    """Read a resource list: thousandths by name, names that do not count left out.

    CPU and devices are rounded up to thousandths; memory, of GPUs too, huge pages, ephemeral storage and pods to whole
    units.

    Raises:
        QuantityError: An amount is no quantity.
    """
    return {name: _rounded(name, value) for name, value in resources.items() if is_counted(name)}


def resource_list(thousandths: Amounts) -> dict[str, str]:
    """Write amounts as a resource list, by name: the way back from `amounts`."""
    return {name: quantity_text(name, thousandths[name]) for name in sorted(thousandths)}


def quantity_text(name: str, thousandths: int) -> str:
    """Write an amount of a resource as a quantity: bytes with binary suffixes, all else with decimal ones."""
    if name == PODS or not is_whole(name) or thousandths % MILLI:
        return format_millis(thousandths)
    return format_bytes(thousandths // MILLI)


def saturated(name: str, amount: int, largest: int = LARGEST_REQUEST) -> int:
    """Return an amount in thousandths, cut to `largest` base units."""
    return min(amount, largest * MILLI if is_whole(name) else largest)


def is_best_effort(request: Amounts) -> bool:
    """Return whether a request has no resource other than `pods`."""
    return not any(amount for name, amount in request.items() if name != PODS)


def pod_request(pod: wire.Pod, volumes: Amounts | None = None) -> PodRequest:
    """Return the effective request of a pod.

    Args:
        pod: The pod; while a container of it is resized in place, the larger of wish and reality counts.
        volumes: Attachable volumes it needs, thousandths by resource name, added to the request.

    Raises:
        ObjectError: An amount is no quantity, or is negative.
    """
    reader = _Reader(pod)
    regular, initial = reader.containers(), reader.init_containers()
    total = combined(regular, initial)
    total[PODS] = total.get(PODS, Fraction()) + 1
    pod_level = reader.pod_level()
    defaults = {name: value for name, value in _SCORED_DEFAULTS.items() if pod_level is None or name not in total}
    scored = combined(_filled(regular, defaults), _filled(initial, defaults))
    overhead = reader.read(pod.spec.overhead, "spec.overhead")
    for sums in (total, scored):
        sums.update(pod_level or {})
        _add(sums, overhead)
    rounded = {name: saturated(name, _rounded(name, value)) for name, value in total.items()}
    for name, amount in (volumes or {}).items():
        rounded[name] = rounded.get(name, 0) + amount
    return PodRequest(
        amounts=rounded,
        scored_cpu_millis=min(millis(scored.get(CPU, Fraction())), LARGEST_REQUEST),
        scored_memory_bytes=min(units(scored.get(MEMORY, Fraction())), LARGEST_REQUEST),
    )


@dataclass(frozen=True, slots=True)
class ContainerAmounts:
    """Request, or limit, of one container."""

    request: Exact
    is_sidecar: bool = False


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads the requests of one pod, naming the field that cannot be read."""

    pod: wire.Pod

    def read(self, resources: wire.ResourceList, path: str) -> Exact:
        """Read a resource list exactly."""
        exact: Exact = {}
        for name, text in resources.items():
            if not is_counted(name):
                continue
            try:
                value = parse(text)
            except QuantityError as error:
                raise ObjectError("Pod", self.pod.metadata.key, f"{path}.{name}", str(error)) from error
            if value < 0:
                raise ObjectError("Pod", self.pod.metadata.key, f"{path}.{name}", f"{text} is negative")
            exact[name] = value
        return exact

    def containers(self) -> list[ContainerAmounts]:
        """Read the requests of regular containers."""
        statuses = self.pod.status.container_statuses
        return [
            ContainerAmounts(self._container(container, statuses, f"spec.containers[{position}]"))
            for position, container in enumerate(self.pod.spec.containers)
        ]

    def init_containers(self) -> list[ContainerAmounts]:
        """Read the requests of init containers; only sidecars can be resized."""
        asked = []
        for position, container in enumerate(self.pod.spec.init_containers):
            is_sidecar = container.restart_policy == "Always"
            statuses = self.pod.status.init_container_statuses if is_sidecar else ()
            path = f"spec.initContainers[{position}]"
            asked.append(ContainerAmounts(self._container(container, statuses, path), is_sidecar))
        return asked

    def pod_level(self) -> Exact | None:
        """Read pod-level requests, None if there are none; during a resize the largest amount counts."""
        resources = self.pod.spec.resources
        if resources is None or not resources.requests:
            return None
        exact = self.read(resources.requests, "spec.resources.requests")
        asked = {n: v for n, v in exact.items() if n in (CPU, MEMORY) or n.startswith("hugepages-")}
        status = self.pod.status
        if not asked or status.resources is None:
            return asked or None
        given = self.read(status.resources.requests, "status.resources.requests")
        _take_larger(given, self.read(status.allocated_resources, "status.allocatedResources"))
        if not is_resize_infeasible(self.pod):
            _take_larger(given, asked)
        return {name: given.get(name, value) for name, value in asked.items()}

    def _container(self, container: wire.Container, statuses: Iterable[wire.ContainerStatus], path: str) -> Exact:
        request = self.read(container.resources.requests, f"{path}.resources.requests")
        status = next((each for each in statuses if each.name == container.name), _NO_STATUS)
        if status.resources is None:
            return request
        given = self.read(status.resources.requests, f"status of {container.name}: resources.requests")
        _take_larger(given, self.read(status.allocated_resources, f"status of {container.name}: allocatedResources"))
        if not is_resize_infeasible(self.pod):
            _take_larger(given, request)
        return given


def is_resize_infeasible(pod: wire.Pod) -> bool:
    """Return whether the kubelet reports the resize of the pod as infeasible. Then only allocated resources count."""
    return pod.status.resize == "Infeasible" or any(
        condition.type == "PodResizePending" and condition.status == "True" and condition.reason == "Infeasible"
        for condition in pod.status.conditions
    )


def combined(regular: list[ContainerAmounts], initial: list[ContainerAmounts]) -> Exact:
    """Return the larger of the sum of concurrent containers and the maximum during initialisation."""
    total: Exact = {}
    for container in regular:
        _add(total, container.request)
    sidecars: Exact = {}
    most: Exact = {}
    for container in initial:
        if container.is_sidecar:
            _add(total, container.request)
            _add(sidecars, container.request)
            _take_larger(most, sidecars)
        else:
            needed = dict(container.request)
            _add(needed, sidecars)
            _take_larger(most, needed)
    _take_larger(total, most)
    return total


def _filled(containers: list[ContainerAmounts], defaults: Exact) -> list[ContainerAmounts]:
    return [ContainerAmounts(defaults | container.request, container.is_sidecar) for container in containers]


def _add(sums: Exact, more: Exact) -> None:
    for name, value in more.items():
        sums[name] = sums[name] + value if name in sums else value


def _take_larger(sums: Exact, other: Exact) -> None:
    for name, value in other.items():
        if name not in sums or value > sums[name]:
            sums[name] = value


def _rounded(name: str, value: wire.Quantity | Fraction) -> int:
    return units(value) * MILLI if is_whole(name) else millis(value)


def is_whole(name: str) -> bool:
    """Return whether amounts of a resource are whole units, such as bytes. Other amounts are in thousandths."""
    return name in _WHOLE or name.startswith(_HUGE_PAGES)
