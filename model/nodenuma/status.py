"""Status: the CPUs and the amounts on NUMA nodes that a pod was given, as the bind writes them.

{"cpuset": "0-3,8", "numaNodeResources": [{"node": 0, "resources": {"cpu": "5", "memory": "8Gi"}}]}
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple

import msgspec

from pyroclast.model.cpusets import CpuSet, as_text, read_cpu_set
from pyroclast.model.devices.koordinator.annotations import read_annotation
from pyroclast.model.nodenuma.names import RESOURCE_STATUS
from pyroclast.model.quantity import QuantityError, format_bytes, format_millis, millis
from pyroclast.model.resources import CPU, MEMORY, MILLI, Amounts

__all__ = ["NOTHING", "NumaAmounts", "ResourceStatus", "read_status", "write_status", "written"]

NumaAmounts = tuple[tuple[int, tuple[tuple[str, int], ...]], ...]
"""Thousandths by resource, by NUMA node; both ascending."""

_TEXTS_KEPT: Final = 1 << 14
_LARGEST_NUMA_NODE: Final = 63
"""As in a NodeResourceTopology. NUMA nodes are the bits of masks, so a larger number would cost its size in bits."""
_MOST_NUMA_NODES: Final = _LARGEST_NUMA_NODE + 1
_MOST_RESOURCES: Final = 64
"""Maximum numbers of NUMA nodes, and of resources of each, in an annotation."""


class ResourceStatus(NamedTuple):
    """What a pod was given."""

    cpus: CpuSet = 0
    """CPUs that the pod has for itself."""
    amounts: NumaAmounts = ()


NOTHING: Final = ResourceStatus()


class _NumaResources(msgspec.Struct, frozen=True, omit_defaults=True):
    node: int
    resources: dict[str, str | int | float] = {}  # a field of a struct, copied for each


class _Status(msgspec.Struct, frozen=True, omit_defaults=True):
    cpuset: str = ""
    resources: tuple[_NumaResources, ...] = msgspec.field(name="numaNodeResources", default=())


_ENCODER: Final = msgspec.json.Encoder()


def write_status(status: ResourceStatus) -> str:
    """Return the text of the annotation."""
    resources = tuple(_NumaResources(node, written(dict(amounts))) for node, amounts in status.amounts)
    return _ENCODER.encode(_Status(as_text(status.cpus), resources)).decode()


def written(amounts: Amounts) -> dict[str, str | int | float]:
    """Return amounts as quantities, by resource."""
    return {name: _quantity(name, amount) for name, amount in amounts.items()}


def read_status(annotations: Mapping[str, str]) -> ResourceStatus:
    """Return what the annotation of a pod says; nothing without it.

    Raises:
        ValueError: It cannot be parsed. The message names the annotation and the path.
    """
    text = annotations.get(RESOURCE_STATUS)
    if text is None:
        return NOTHING
    found = _read(text)
    if isinstance(found, str):
        raise ValueError(found)  # noqa: TRY004  # a text of the cluster, no type error
    return found


@lru_cache(_TEXTS_KEPT)
def _read(text: str) -> ResourceStatus | str:
    """Return what an annotation says, or its fault."""
    try:
        status = read_annotation({RESOURCE_STATUS: text}, RESOURCE_STATUS, _Status) or _Status()
    except ValueError as error:
        return str(error)
    try:
        return ResourceStatus(read_cpu_set(status.cpuset), _amounts(status.resources))
    except ValueError as error:
        return f"{RESOURCE_STATUS}: {error}"


def _amounts(resources: tuple[_NumaResources, ...]) -> NumaAmounts:
    if len(resources) > _MOST_NUMA_NODES:
        raise ValueError(f"numaNodeResources: {len(resources)} are more than {_MOST_NUMA_NODES}")
    found: dict[int, dict[str, int]] = {}
    for at, each in enumerate(resources):
        path = f"numaNodeResources[{at}]"
        if each.node in found:
            raise ValueError(f"{path}.node: NUMA node {each.node} is there twice")
        if not 0 <= each.node <= _LARGEST_NUMA_NODE:
            raise ValueError(f"{path}.node: expected a number from 0 to {_LARGEST_NUMA_NODE}")
        if len(each.resources) > _MOST_RESOURCES:
            raise ValueError(f"{path}.resources: {len(each.resources)} are more than {_MOST_RESOURCES}")
        found[each.node] = {
            name: _millis(f"{path}.resources.{name[:40]}", text) for name, text in each.resources.items()
        }
    return tuple((node, tuple(sorted(amounts.items()))) for node, amounts in sorted(found.items()))


def _millis(path: str, text: str | float) -> int:
    try:
        return max(millis(text), 0)
    except QuantityError as error:
        raise ValueError(f"{path}: {error}") from None


def _quantity(name: str, amount: int) -> str:
    if name == CPU or amount % MILLI:
        return format_millis(amount)
    return format_bytes(amount // MILLI) if name == MEMORY else str(amount // MILLI)
