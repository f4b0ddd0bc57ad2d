"""Hints: which set of NUMA nodes serves all resources and devices of a pod.

Each resource, and each type of device, has a hint for each set of NUMA nodes that could serve it. The best set has a
hint of every one of them; it is preferred if all these hints are; and it is narrow. Sets are bit masks: bit n is NUMA
node n.  Source: Koordinator's topology manager (`Merge`).
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from pyroclast.framework.extension.contract import NumaHint
from pyroclast.model.nodenuma.names import BEST_EFFORT, SINGLE_NUMA_NODE

__all__ = ["NumaUse", "best_nodes", "mask_of", "masks", "nodes_in", "respects"]


class NumaUse(NamedTuple):
    """How the CPUs of a node's pods lie: for `singleNUMANodeExclusive`."""

    single: int = 0
    """NUMA nodes with CPUs of a pod that has CPUs of no other."""
    shared: int = 0
    """NUMA nodes with CPUs of a pod that has CPUs of others, too."""


def mask_of(nodes: Iterable[int]) -> int:
    """Return the mask of some NUMA nodes."""
    mask = 0
    for node in nodes:
        mask |= 1 << node
    return mask


def nodes_in(mask: int) -> tuple[int, ...]:
    """Return the NUMA nodes of a mask, ascending."""
    return tuple(node for node in range(mask.bit_length()) if mask >> node & 1)


def masks(nodes: Sequence[int], size: int) -> list[tuple[int, ...]]:
    """Return all sets of some NUMA nodes, in the order of their masks."""
    return sorted(combinations(nodes, size), key=mask_of)


def respects(mask: int, use: NumaUse) -> bool:
    """Return whether a pod on these NUMA nodes keeps `singleNUMANodeExclusive: Required` (R16).

    A pod on one NUMA node must not meet a pod that spans several, and the other way around.
    """
    if mask.bit_count() > 1:
        return not mask & use.single & ~use.shared
    return not mask & use.shared


def best_nodes(
    hints: Mapping[str, Sequence[NumaHint]], nodes: Sequence[int], policy: str, *, exclusive: NumaUse | None = None
) -> int:
    """Return the best set of NUMA nodes as a mask; 0 if the policy admits none (R14, R15).

    Args:
        hints: Hints by resource or type of device; at least one of each, or the policy admits nothing.
        nodes: NUMA nodes of the node; at least one.
        policy: `SingleNUMANode` and `Restricted` admit preferred sets alone. `BestEffort` admits any: without a
            common set it is that of all NUMA nodes.
        exclusive: What other pods use, if the pod requires exclusive NUMA nodes; None if it does not.
    """
    found: list[tuple[bool, int, int, int]] = []
    by_mask = [{hint.nodes: hint for hint in each} for each in hints.values()]
    for mask in set.intersection(*map(set, by_mask)) if by_mask else ():
        chosen = [each[mask] for each in by_mask]
        preferred = all(hint.preferred for hint in chosen) and (exclusive is None or respects(mask, exclusive))
        if policy == BEST_EFFORT or (preferred and (policy != SINGLE_NUMA_NODE or mask.bit_count() == 1)):
            found.append((not preferred, mask.bit_count(), -sum(hint.score for hint in chosen), mask))
    if found:
        return min(found)[-1]
    return mask_of(nodes) if policy == BEST_EFFORT or not by_mask else 0
