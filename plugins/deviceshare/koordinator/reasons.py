"""Reasons of refusals, with Koordinator's texts where it has them."""

from typing import Final

from pyroclast.model.devices.koordinator.names import CORE, SHARED, TYPES
from pyroclast.model.refusals import Reason

__all__ = [
    "CORES_OF_SEVERAL",
    "CORE_MISSING",
    "JOINT",
    "LITTLE_MEMORY",
    "MISSING_TABLE",
    "MISSING_TREE",
    "NEVER",
    "NOT_HINTED",
    "NOT_SHARED",
    "NOW",
    "NO_TEMPLATE",
    "NUMA",
    "ONE_GPU",
    "OTHER_ISOLATION",
    "PARTITIONED",
    "SCOPED",
    "SEVERAL_SHARED",
    "UNKNOWN_COUNT",
    "ever_insufficient",
    "insufficient",
    "never",
    "now",
    "without_functions",
]


def insufficient(kind: str) -> str:
    """Return the reason that too few devices of a type are free."""
    return f"Insufficient {kind} devices"


def ever_insufficient(kind: str) -> str:
    """Return the reason that a node has too few devices of a type."""
    return f"Insufficient {kind} devices, were they all free"


def without_functions(kind: str) -> str:
    """Return the reason that no device of a type has virtual functions."""
    return f"node(s) without virtual functions of {kind} devices"


OTHER_ISOLATION: Final = "node(s) GPU isolation provider differs from the pod's"
NOT_SHARED: Final = "node(s) GPU model cannot be shared"
MISSING_TABLE: Final = "node(s) missing GPU Partition Table"
UNKNOWN_COUNT: Final = "node(s) Unsupported number of GPU requests"
MISSING_TREE: Final = "node(s) missing GPU Device Topology Tree"
SEVERAL_SHARED: Final = "node(s) Unsupported Multi-Shared GPU"
CORES_OF_SEVERAL: Final = f"{CORE} of several GPUs requested of one; {SHARED} sets their number"
NO_TEMPLATE: Final = "no matched GPU shared resource template"
ONE_GPU: Final = "node(s) GPU device plugin serves pods with one GPU only"
CORE_MISSING: Final = f"node(s) GPU device plugin serves only pods that request {CORE}"
LITTLE_MEMORY: Final = "node(s) GPU device plugin gives larger shares of memory only"
PARTITIONED: Final = "Insufficient Partitioned GPU Devices"
SCOPED: Final = "Insufficient Topology Scoped GPU Devices"
JOINT: Final = "node(s) Device Joint-Allocate rules violation"
NOT_HINTED: Final = "node(s) didn't match the scheduling hint"
NUMA: Final = "Insufficient NUMA Scoped Devices"

_NEVER: Final = (
    *map(ever_insufficient, TYPES),
    *map(without_functions, TYPES),
    OTHER_ISOLATION,
    NOT_SHARED,
    MISSING_TABLE,
    UNKNOWN_COUNT,
    MISSING_TREE,
    SEVERAL_SHARED,
    CORES_OF_SEVERAL,
    NO_TEMPLATE,
    ONE_GPU,
    CORE_MISSING,
    LITTLE_MEMORY,
    NOT_HINTED,
)
_NOW: Final = (*map(insufficient, TYPES), PARTITIONED, SCOPED, JOINT, NUMA)

NEVER: Final = tuple(Reason(text, resolvable=False) for text in _NEVER)
"""Reasons that no eviction can resolve."""
NOW: Final = tuple(map(Reason, _NOW))


def never(text: str) -> int:
    """Return the verdict of a reason that no eviction can resolve."""
    return _NEVER.index(text) + 1


def now(text: str) -> int:
    """Return the verdict of a reason that evictions may resolve."""
    return _NOW.index(text) + 1
