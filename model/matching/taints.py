"""Taints and tolerations; N nodes, arrays write-protected and memoised on the facts.

Nodes share few distinct sets of taints, so each set is judged once and nodes look their verdict up.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from pyroclast.model import wire
from pyroclast.model.arrays import BoolArray, IntArray
from pyroclast.model.nodes import NodeFacts

__all__ = [
    "BLOCKING_EFFECTS",
    "NO_EXECUTE",
    "NO_SCHEDULE",
    "PREFER_NO_SCHEDULE",
    "tolerated",
    "tolerates",
    "untolerated",
]

NO_SCHEDULE: Final = "NoSchedule"
NO_EXECUTE: Final = "NoExecute"
PREFER_NO_SCHEDULE: Final = "PreferNoSchedule"

BLOCKING_EFFECTS: Final = frozenset({NO_SCHEDULE, NO_EXECUTE})
"""Effects that repel a pod from a node. The third effect only lowers the score."""

_Taint = tuple[str, str, str]


def tolerates(tolerations: Sequence[wire.Toleration], key: str, value: str, effect: str) -> bool:
    """Return whether any toleration tolerates a taint."""
    return any(_bears(toleration, key, value, effect) for toleration in tolerations)


def _bears(toleration: wire.Toleration, key: str, value: str, effect: str) -> bool:
    if toleration.effect and toleration.effect != effect:
        return False
    if toleration.key and toleration.key != key:
        return False
    if toleration.operator == "Exists":
        return True
    # an empty key bears everything only with Exists; with Equal it is a key like any other, which no taint has
    return toleration.operator in {"", "Equal"} and toleration.key == key and toleration.value == value


def untolerated(
    facts: NodeFacts, tolerations: tuple[wire.Toleration, ...], effects: frozenset[str] = BLOCKING_EFFECTS
) -> IntArray:
    """Count the taints with one of `effects` that no toleration tolerates, by node, shape (N,)."""
    key = ("untolerated taints", tolerations, effects)
    return facts.derive(key, lambda: _count_untolerated(facts, tolerations, effects))


def tolerated(facts: NodeFacts, tolerations: tuple[wire.Toleration, ...]) -> BoolArray:
    """Return the nodes without a taint that repels a pod with these tolerations, shape (N,)."""

    def compute() -> BoolArray:
        mask: BoolArray = np.equal(untolerated(facts, tolerations), 0)
        mask.flags.writeable = False
        return mask

    return facts.derive(("tolerated", tolerations), compute)


def _count_untolerated(facts: NodeFacts, tolerations: tuple[wire.Toleration, ...], effects: frozenset[str]) -> IntArray:
    codes, distinct = facts.derive("taint sets", lambda: _taint_sets(facts))
    counts = np.array(
        [sum(taint[2] in effects and not tolerates(tolerations, *taint) for taint in taints) for taints in distinct],
        dtype=np.int64,
    )
    by_node: IntArray = counts[codes] if counts.size else np.zeros(0, dtype=np.int64)
    by_node.flags.writeable = False
    return by_node


def _taint_sets(facts: NodeFacts) -> tuple[IntArray, tuple[tuple[_Taint, ...], ...]]:
    """Number the distinct sets of taints: code of each node's set, shape (N,), and the sets."""
    known: dict[tuple[_Taint, ...], int] = {}
    codes = [
        known.setdefault(tuple((taint.key, taint.value, taint.effect) for taint in node.taints), len(known))
        for node in facts.nodes
    ]
    return np.array(codes, dtype=np.int64), tuple(known)
