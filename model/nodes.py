"""Nodes: a table with one column per node, sorted by name.

Amounts that change with pods are in one block, `state`, so that placing a task is one addition to one
column and undoing it is one subtraction. Facts that change only with the Node object (labels, taints, images) are in
`NodeFacts`. Snapshots share it until a Node object changes. It memoises masks derived from the facts.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar, cast

import numpy as np

from pyroclast.model import wire
from pyroclast.model.arrays import BoolArray, IntArray
from pyroclast.model.ids import NodeName, TaskId
from pyroclast.model.resources import Amounts
from pyroclast.model.sealed import SealedDict
from pyroclast.model.tasks import Task

__all__ = ["ABSENT", "SCORED_ROWS", "Node", "NodeFacts", "NodeTable", "StateRows"]

ABSENT: Final = -1
"""Code of a label that a node does not have."""

SCORED_ROWS: Final = 2
"""Rows of scored (non-zero) requests: cpu in thousandths, memory in bytes."""

_MOST_DERIVED: Final = 1 << 14
"""Maximum number of memoised values for one set of nodes. Pods with new selectors must not exhaust the memory."""
_MOST_DERIVED_BYTES: Final = 128 * 2**20
"""Maximum size of their arrays: selectors of new labels cost eight bytes a node."""
_UNKNOWN: Final = object()

Derived = TypeVar("Derived")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Node:
    """A Node object with parsed amounts."""

    name: NodeName
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    taints: tuple[wire.Taint, ...]
    unschedulable: bool
    allocatable: Amounts
    """`status.allocatable` with attach limits of CSI drivers, without oversubscription."""
    oversubscribed: Amounts
    """Amounts that the oversubscription annotations add to it."""
    images: Mapping[str, int]
    """Size in bytes by image name."""
    revocable_zone: str
    """Label `volcano.sh/revocable-zone`, or empty."""
    object: wire.Node | None = None
    """The object as the API server gave it; None for nodes made in tests."""
    device: wire.KoordinatorDevice | None = None
    """Koordinator's Device of the node; None if there is none."""


@dataclass(frozen=True, slots=True)
class StateRows:
    """First rows of the blocks of `NodeTable.state`, for R resources."""

    resources: int

    @property
    def used(self) -> slice:
        """Requests of tasks that run or are about to run, releasing tasks included."""
        return slice(0, self.resources)

    @property
    def releasing(self) -> slice:
        """Requests of tasks whose deletion has begun."""
        return slice(self.resources, 2 * self.resources)

    @property
    def pipelined(self) -> slice:
        """Requests of tasks that wait for resources to be released."""
        return slice(2 * self.resources, 3 * self.resources)

    @property
    def viewed(self) -> slice:
        """Requests of pods as Kubernetes' filters and scores see them: pipelined present, evicted gone."""
        return slice(3 * self.resources, 4 * self.resources)

    @property
    def scored(self) -> slice:
        """Non-zero requests of those pods: cpu in thousandths, memory in bytes."""
        return slice(4 * self.resources, 4 * self.resources + SCORED_ROWS)

    @property
    def height(self) -> int:
        """Number of rows."""
        return 4 * self.resources + SCORED_ROWS


@dataclass(slots=True, kw_only=True, eq=False)
class NodeFacts:
    """Facts of Node objects in column order; immutable except for the memo of derived values."""

    nodes: tuple[Node, ...]
    _memo: dict[Hashable, object] = field(default_factory=dict, init=False)
    _memo_bytes: int = field(default=0, init=False)
    """Bytes of the arrays in it."""

    def derive(self, key: Hashable, compute: Callable[[], Derived]) -> Derived:
        """Return the result of `compute`, computed once for these facts. `key` must identify the computation fully."""
        known = self._memo.get(key, _UNKNOWN)
        if known is not _UNKNOWN:
            return cast("Derived", known)
        derived = compute()
        # Not read back: snapshots share facts, and a cycle and an audit, in two threads, may both be at it.
        size = _array_bytes(derived)
        if len(self._memo) >= _MOST_DERIVED or self._memo_bytes + size > _MOST_DERIVED_BYTES:
            self._memo.clear()
            self._memo_bytes = 0
        self._memo[key] = derived
        self._memo_bytes += size
        return derived

    @property
    def column_by_name(self) -> Mapping[str, int]:
        """Column of each node, by its name."""
        return self.derive(
            "column by name", lambda: SealedDict((str(node.name), at) for at, node in enumerate(self.nodes))
        )

    def label_codes(self, label: str) -> tuple[IntArray, Mapping[str, int]]:
        """Number the values of a label.

        Returns:
            Code of each node's value, shape (N,), `ABSENT` where it has none; and the code of each value.
        """
        return self.derive(("label", label), lambda: self._number(label))

    def _number(self, label: str) -> tuple[IntArray, Mapping[str, int]]:
        codes: dict[str, int] = {}
        numbers = np.full(len(self.nodes), ABSENT, dtype=np.int64)
        for column, node in enumerate(self.nodes):
            value = node.labels.get(label)
            if value is not None:
                numbers[column] = codes.setdefault(value, len(codes))
        numbers.flags.writeable = False
        return numbers, SealedDict(codes)


def _array_bytes(derived: object) -> int:
    """Return the bytes of an array, or of the arrays of a tuple."""
    parts = derived if isinstance(derived, tuple) else (derived,)
    return sum(part.nbytes for part in parts if isinstance(part, np.ndarray))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NodeTable:
    """All nodes of a snapshot; R resources, N nodes, arrays write-protected."""

    names: tuple[NodeName, ...]
    """Ascending: among equals the lowest column, so the lowest name, wins."""
    column: Mapping[NodeName, int]
    facts: NodeFacts
    rows: StateRows
    state: IntArray
    """Changing amounts in base units, shape (rows.height, N)."""
    allocatable: IntArray
    """Allocatable amounts of each node, oversubscription included, base units, shape (R, N)."""
    reported: IntArray
    """Reported allocatable amounts of each node, without oversubscription, base units, shape (R, N)."""
    tasks: tuple[Mapping[TaskId, Task], ...]
    """Tasks on each node, finished ones left out."""
    in_shard: BoolArray
    """Whether the node belongs to this scheduler's shard, shape (N,); all true without sharding."""

    def __len__(self) -> int:
        """Return the number of nodes."""
        return len(self.names)
