"""Reasons of refusals, with Koordinator's texts."""

from collections.abc import Iterable, Sequence
from typing import Final

from pyroclast.model.nodenuma.names import FULL_PCPUS, SPREAD_BY_PCPUS
from pyroclast.model.refusals import Reason
from pyroclast.plugins.nodenuma.demand import NOT_INTEGER

__all__ = [
    "AMPLIFIED",
    "CONFLICT",
    "DEVICES",
    "INVALID_RATIO",
    "INVALID_TOPOLOGY",
    "MISSING_NUMA",
    "NEVER",
    "NOT_ENOUGH_CPUS",
    "NOT_HINTED",
    "NOT_MULTIPLE",
    "OTHER_NUMA_NODES",
    "OTHER_POLICY",
    "UNALIGNED",
    "insufficient",
    "never",
    "now",
    "reasons_now",
    "unsatisfied",
    "unsatisfied_policy",
]

OTHER_POLICY: Final = "node(s) NUMA Topology policy not match"
INVALID_RATIO: Final = "node(s) invalid CPU amplification ratio"
INVALID_TOPOLOGY: Final = "node(s) invalid CPU Topology"
CONFLICT: Final = "node(s) cpu bind policy conflicts with pod's required cpu bind policy"
NOT_MULTIPLE: Final = "node(s) requested cpus not multiple cpus per core"
MISSING_NUMA: Final = "node(s) missing NUMA resources"
NOT_HINTED: Final = "node(s) didn't match the scheduling hint"

AMPLIFIED: Final = "Insufficient amplified cpu"
NOT_ENOUGH_CPUS: Final = "not enough cpus available to satisfy request"
UNALIGNED: Final = "Unaligned NUMA Hint"
DEVICES: Final = "Insufficient NUMA Scoped Devices"
OTHER_NUMA_NODES: Final = "reserves other NUMA nodes than those of the pod"

_NEVER: Final = (
    NOT_INTEGER,
    OTHER_POLICY,
    INVALID_RATIO,
    INVALID_TOPOLOGY,
    CONFLICT,
    NOT_MULTIPLE,
    MISSING_NUMA,
    NOT_HINTED,
)
NEVER: Final = tuple(Reason(text, resolvable=False) for text in _NEVER)
"""Reasons that no eviction can resolve."""
_MOST_NAMED: Final = 100
"""Maximum number of resources with reasons of their own. Others share the last one."""


def unsatisfied_policy(policy: str) -> str:
    """Return the reason that the free CPUs do not follow a required policy."""
    return f"insufficient CPUs to satisfy required cpu bind policy {policy}"


def insufficient(name: str) -> str:
    """Return the reason that too little of a resource is free on the NUMA nodes."""
    return f"Insufficient NUMA {name}"


def unsatisfied(name: str) -> str:
    """Return the reason that no set of NUMA nodes serves a resource."""
    return f"Unsatisfied NUMA {name}"


_NOW: Final = (AMPLIFIED, NOT_ENOUGH_CPUS, UNALIGNED, DEVICES, *map(unsatisfied_policy, (FULL_PCPUS, SPREAD_BY_PCPUS)))


def never(text: str) -> int:
    """Return the verdict of a reason that no eviction can resolve."""
    return _NEVER.index(text) + 1


def reasons_now(names: Iterable[str]) -> tuple[str, ...]:
    """Return the reasons that evictions may resolve, for a request of these resources."""
    named = sorted(names)[:_MOST_NAMED]
    return (*_NOW, *map(unsatisfied, named), *map(insufficient, named))


def now(texts: Sequence[str], text: str) -> int:
    """Return the verdict of a reason; the last one for a resource that is not named."""
    return texts.index(text) + 1 if text in texts else len(texts)
