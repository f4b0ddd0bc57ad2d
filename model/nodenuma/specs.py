"""Specs: CPU and NUMA policies of a pod, from its annotations."""

from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from pyroclast.model.devices.koordinator.annotations import read_annotation
from pyroclast.model.nodenuma.names import NUMA_SPEC, RESOURCE_SPEC

__all__ = ["NO_NUMA_SPEC", "NO_SPEC", "NumaSpec", "ResourceSpec", "numa_spec", "resource_spec", "write_resource_spec"]

_BindPolicy = Literal["", "Default", "FullPCPUs", "SpreadByPCPUs", "ConstrainedBurst"]


class ResourceSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    """CPU policies of a pod."""

    required: _BindPolicy = msgspec.field(name="requiredCPUBindPolicy", default="")
    preferred: _BindPolicy = msgspec.field(name="preferredCPUBindPolicy", default="")
    exclusive: Literal["", "None", "PCPULevel", "NUMANodeLevel"] = msgspec.field(
        name="preferredCPUExclusivePolicy", default=""
    )


class NumaSpec(msgspec.Struct, frozen=True):
    """NUMA policy of a pod."""

    policy: Literal["", "BestEffort", "Restricted", "SingleNUMANode"] = msgspec.field(
        name="numaTopologyPolicy", default=""
    )
    exclusive: Literal["", "Preferred", "Required"] = msgspec.field(name="singleNUMANodeExclusive", default="")


NO_SPEC: Final = ResourceSpec()
NO_NUMA_SPEC: Final = NumaSpec()
_ENCODER: Final = msgspec.json.Encoder()


def resource_spec(annotations: Mapping[str, str]) -> ResourceSpec:
    """Return the CPU policies of a pod.

    Raises:
        ValueError: The annotation cannot be parsed. The message names it and the path.
    """
    return read_annotation(annotations, RESOURCE_SPEC, ResourceSpec) or NO_SPEC


def numa_spec(annotations: Mapping[str, str]) -> NumaSpec:
    """Return the NUMA policy of a pod.

    Raises:
        ValueError: As for `resource_spec`.
    """
    return read_annotation(annotations, NUMA_SPEC, NumaSpec) or NO_NUMA_SPEC


def write_resource_spec(spec: ResourceSpec) -> str:
    """Return CPU policies as the annotation has them."""
    return _ENCODER.encode(spec).decode()
