"""The problem of an assignment: tasks of several kinds, nodes with capacity, and which kinds each node permits.

Plain arrays, without a session. Tasks of one kind are equal in everything that counts here. K kinds, N nodes, R
resources.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pyroclast.model.arrays import BoolArray, FloatArray, IntArray

__all__ = ["AssignmentProblem", "Companions", "Shunning", "Spread", "Trial"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Kinds whose tasks must be spread evenly over D domains: no domain may exceed the least full one by much.

    The final counts alone decide whether a permitted order exists: the order that always uses the least full domain
    that still gets a task.
    """

    kinds: BoolArray
    """The kinds that are counted, all of which must be spread evenly, shape (K,)."""
    domains: IntArray
    """Number of the domain of each node, shape (N,); -1 if the node is in none."""
    before: IntArray
    """Tasks in each domain that were placed already, shape (D,)."""
    max_skew: int
    """Maximum number of tasks that a domain may have above the least full one."""
    is_from_zero: bool
    """Whether the least counts as 0, since the domains are too few."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Companions:
    """Kinds whose tasks must each share a domain of nodes with one of other kinds, or with a pod that is there."""

    sources: BoolArray
    """Shape (K,)."""
    targets: BoolArray
    """The other kinds, shape (K,)."""
    domains: IntArray
    """Number of the domain of each node, shape (N,); -1 if the node is in none."""
    before: IntArray
    """Such pods in each domain that were placed already, shape (D,)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shunning:
    """Kinds that share no domain of nodes with some others; or with their own, where they are on both sides."""

    shunning: BoolArray
    """Shape (K,)."""
    shunned: BoolArray
    """Shape (K,)."""
    domains: IntArray
    """Number of the domain of each node, shape (N,); -1 if the node is in none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentProblem:
    """Tasks that need a node: all of them, but for those that may be spared."""

    requests: IntArray
    """Request of a task of each kind, base units, shape (K, R)."""
    thresholds: IntArray
    """The least capacity that a node must have for it, base units, shape (K, R): the request, or far below 0 if the
    resource does not count for this kind."""
    counts: Sequence[int]
    """Number of tasks of each kind, shape (K,)."""
    room: IntArray
    """Capacity on each node, base units, shape (R, N)."""
    allowed: BoolArray
    """Whether each node permits each kind, apart from resources, shape (K, N)."""
    scores: FloatArray
    """Score of each node for each kind, shape (K, N); higher is better."""
    alike: IntArray
    """Number of the group of each node, shape (N,): nodes of one group differ in nothing but their capacity."""
    roles: Sequence[int] = ()
    """Number of the role of each kind, shape (K,); 0 for all where empty."""
    spare: Sequence[int] = (0,)
    """Number of tasks of each role that may stay without a node."""
    spare_in_all: int = 0
    """Total number of tasks that may stay without a node."""
    opens: Sequence[bool] = ()
    """Whether nodes that do not permit a kind now may permit it once others are placed, shape (K,); no where empty."""
    spreads: Sequence[Spread] = ()
    companions: Sequence[Companions] = ()
    shunnings: Sequence[Shunning] = ()

    @property
    def is_by_room(self) -> bool:
        """Whether tasks affect the nodes of other tasks only by free resources."""
        return not (self.spreads or self.companions or self.shunnings)

    def key(self) -> bytes:
        """Return a key of all of it: equal problems have equal keys."""
        digest = hashlib.blake2b(digest_size=16)
        arrays = [self.requests, self.thresholds, self.room, self.allowed, self.scores, self.alike]
        for spread in self.spreads:
            arrays += [spread.kinds, spread.domains, spread.before]
        for each in self.companions:
            arrays += [each.sources, each.targets, each.domains, each.before]
        for pair in self.shunnings:
            arrays += [pair.shunning, pair.shunned, pair.domains]
        for array in arrays:
            digest.update(repr(array.shape).encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        rest = (list(self.counts), list(self.roles), list(self.spare), self.spare_in_all, list(self.opens))
        bearing = (
            [(each.max_skew, each.is_from_zero) for each in self.spreads],
            len(self.companions),
            len(self.shunnings),
        )
        digest.update(repr((rest, bearing)).encode())
        return digest.digest()


class Trial(Protocol):
    """Checks that depend on tasks that are already placed, called during the search."""

    def permitted(self, kind: int) -> BoolArray | None:
        """Return which nodes permit the next task of a kind currently, shape (N,); all if None."""
        ...

    def place(self, kind: int, column: int) -> bool:
        """Place the next task of a kind; False if that is refused, and nothing has changed."""
        ...

    def undo(self) -> None:
        """Take back the last placement."""
        ...
