"""Amounts: the request of a pod spread over NUMA nodes.

Each resource is spread evenly: the NUMA node with the least goes first and gives its part, or what it has, and the
others share the rest. Only resources that NUMA nodes report are spread.  Source: Koordinator's NodeNUMAResource
(`tryBestToDistributeEvenly`).
"""

from collections.abc import Mapping, Sequence

from pyroclast.model.resources import CPU, MILLI, Amounts

__all__ = ["Spread", "spread"]

Spread = dict[int, dict[str, int]]
"""Thousandths by resource, by NUMA node; without zeros."""


def spread(
    request: Amounts, free: Mapping[int, Amounts], nodes: Sequence[int], cpu_step: int = 1
) -> tuple[Spread, tuple[str, ...]]:
    """Spread a request over NUMA nodes.

    Args:
        request: Thousandths by resource.
        free: Free amounts of all NUMA nodes, thousandths by resource.
        nodes: NUMA nodes that the pod may use, ascending.
        cpu_step: The part of each NUMA node is a multiple of it, thousandths of a CPU: 1000 for whole CPUs.

    Returns:
        The parts, and the resources of which there is too little, ascending.
    """
    parts: Spread = {}
    lacking = []
    for name in sorted(name for name in request if any(name in amounts for amounts in free.values())):
        step = cpu_step if name == CPU else MILLI
        rest = request[name]
        ranked = sorted((free[node].get(name, 0), node) for node in nodes)
        for position, (amount, node) in enumerate(ranked):
            left = len(ranked) - position
            part = rest if left == 1 else rest // (step * left) * step
            given = min(part, amount - amount % step if name == CPU else amount)
            if given:
                parts.setdefault(node, {})[name] = given
                rest -= given
        if rest:
            lacking.append(name)
    return parts, tuple(lacking)
