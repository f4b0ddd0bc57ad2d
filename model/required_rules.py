"""Required rules: requirements of a pod beyond the filters of Kubernetes.

A required rule is never ignored: a pod waits if no configured plugin serves one of its rules.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pyroclast.model import wire
from pyroclast.model.annotations import read_json
from pyroclast.model.colocation import QOS_CLASS
from pyroclast.model.device_claims import named_claims
from pyroclast.model.gangs.gathering import GATHER_SPEC, demands_gathering
from pyroclast.model.nodenuma.names import NUMA_SPEC, RESOURCE_SPEC

__all__ = [
    "CPU_BINDING",
    "DEVICE_SCOPE",
    "GATHERING",
    "NUMA_ALIGNMENT",
    "POD_AFFINITY",
    "RESERVATION",
    "RESERVATION_PREEMPTION",
    "RESOURCE_CLAIMS",
    "TOPOLOGY_SPREAD",
    "required_rules",
]

RESERVATION: Final = "a reservation"
RESERVATION_PREEMPTION: Final = "preemption for reservations"
"""No pod demands it: the evicting actions serve Reservations only if a plugin serves it."""
GATHERING: Final = "gathering by network topology"
CPU_BINDING: Final = "CPU binding"
NUMA_ALIGNMENT: Final = "NUMA alignment"
DEVICE_SCOPE: Final = "a common scope of devices"
RESOURCE_CLAIMS: Final = "resource claims"
POD_AFFINITY: Final = "pod affinity"
TOPOLOGY_SPREAD: Final = "topology spread"
"""These two are filters of Kubernetes that the configuration may switch off: no pod waits for want of them."""

RESERVATION_AFFINITY: Final = "scheduling.koordinator.sh/reservation-affinity"
"""Annotation: its presence makes a reservation mandatory."""
JOINT_SPEC: Final = "scheduling.koordinator.sh/device-joint-allocate"
"""Annotation, JSON: `requiredScope`."""

_BINDING_CLASSES: Final = frozenset({"LSE", "LSR"})
_STRICT_POLICIES: Final = frozenset({"Restricted", "SingleNUMANode"})


@dataclass(frozen=True, slots=True)
class _Annotation:
    """An annotation that may demand a rule."""

    rule: str
    demands: Callable[[wire.ObjectMeta, str], bool]


def required_rules(pod: wire.Pod) -> list[str]:
    """Return the rules that a pod demands, in a fixed order."""
    metadata = pod.metadata
    rules: list[str] = []
    if not _KEYS.isdisjoint(metadata.annotations):
        rules = [
            each.rule
            for key, each in _BY_ANNOTATION.items()
            if (text := metadata.annotations.get(key)) and each.demands(metadata, text)
        ]
    if pod.spec.resource_claims and any(name != "" for _, name in named_claims(pod)):
        rules.append(RESOURCE_CLAIMS)
    return rules


def _demands_binding(metadata: wire.ObjectMeta, text: str) -> bool:
    return metadata.labels.get(QOS_CLASS) in _BINDING_CLASSES and bool(_fields(text).get("requiredCPUBindPolicy"))


def _demands_alignment(_metadata: wire.ObjectMeta, text: str) -> bool:
    fields = _fields(text)
    return fields.get("numaTopologyPolicy") in _STRICT_POLICIES or fields.get("singleNUMANodeExclusive") == "Required"


def _fields(text: str) -> Mapping[str, Any]:
    """Return the fields of a JSON object; none if it is malformed, which Koordinator's webhooks reject."""
    try:
        decoded = read_json(text, Any)
    except ValueError:
        return {}
    return decoded if isinstance(decoded, Mapping) else {}


_BY_ANNOTATION: Final = {
    RESERVATION_AFFINITY: _Annotation(RESERVATION, lambda _metadata, _text: True),
    GATHER_SPEC: _Annotation(GATHERING, lambda _metadata, text: demands_gathering(text)),
    RESOURCE_SPEC: _Annotation(CPU_BINDING, _demands_binding),
    NUMA_SPEC: _Annotation(NUMA_ALIGNMENT, _demands_alignment),
    JOINT_SPEC: _Annotation(DEVICE_SCOPE, lambda _metadata, text: bool(_fields(text).get("requiredScope"))),
}
_KEYS: Final = frozenset(_BY_ANNOTATION)
