"""The tree of hierarchical DRF: queues along their paths, jobs as leaves, and their shares.

The allocation of an inner node is the sum of its children's allocations. Each child is scaled down to the smallest
share among the unsaturated children, so that one child with a large share does not increase the share of its parent. A
leaf is saturated if it has all that it requests of a resource, or requests a resource that is exhausted. An inner node
is saturated if all its children are.

Numbers are exact fractions. Each node keeps the sums over its children, so a change costs one walk to the root.
"""

import heapq
from collections.abc import Sequence
from fractions import Fraction

__all__ = ["Leaf", "Tree", "TreeNode"]

ONE = Fraction(1)


class TreeNode:
    """An inner node: a queue, or a part of the path to it."""

    __slots__ = (
        "_rank",
        "_resources",
        "_saturated_sum",
        "_unsaturated_sum",
        "children",
        "is_saturated",
        "parent",
        "share",
        "unsaturated",
        "vector",
        "weight",
    )

    def __init__(self, parent: "TreeNode | None", weight: Fraction, resources: int) -> None:
        self.parent = parent
        self.weight = weight
        """Weight among its siblings, at least 1."""
        self.children: dict[str, TreeNode] = {}
        """Inner nodes below it, by part of the path."""
        self._resources = resources
        self.clear()

    def clear(self) -> None:
        """Reset the sums, without any child."""
        self.vector: list[Fraction] = [Fraction(0)] * self._resources
        """The scaled allocation, base units by resource row."""
        self.share = Fraction(0)
        self.is_saturated = True
        self.unsaturated = 0
        self._saturated_sum = [Fraction(0)] * self._resources
        self._unsaturated_sum = [Fraction(0)] * self._resources
        self._rank: list[tuple[Fraction, int, Leaf | TreeNode]] = []

    def put(self, child: "Leaf | TreeNode", sign: int) -> None:
        """Add a child to the sums (+1) or remove it (-1)."""
        if not child.is_saturated:
            self.unsaturated += sign
        if not child.share:
            return
        if child.is_saturated:
            self._saturated_sum = [
                have + sign * amount for have, amount in zip(self._saturated_sum, child.vector, strict=True)
            ]
            return
        self._unsaturated_sum = [
            have + sign * amount / child.share for have, amount in zip(self._unsaturated_sum, child.vector, strict=True)
        ]
        if sign > 0:
            heapq.heappush(self._rank, (child.share, id(child), child))

    def refresh(self, total: Sequence[int]) -> None:
        """Calculate allocation, share and saturation from the sums."""
        smallest = min(self._smallest_share(), ONE)
        self.vector = [
            saturated_amount + smallest * unsaturated_amount
            for saturated_amount, unsaturated_amount in zip(self._saturated_sum, self._unsaturated_sum, strict=True)
        ]
        self.share = _share(self.vector, total)
        self.is_saturated = not self.unsaturated

    def _smallest_share(self) -> Fraction:
        rank = self._rank
        # Entries of children that have changed are outdated and are skipped.
        while rank and (rank[0][2].is_saturated or rank[0][2].share != rank[0][0]):
            heapq.heappop(rank)
        return rank[0][0] if rank else ONE


class Leaf:
    """A job below its queue."""

    __slots__ = ("is_saturated", "parent", "request", "share", "vector")

    def __init__(self, parent: TreeNode, request: Sequence[int], allocated: Sequence[int]) -> None:
        self.parent = parent
        self.request = request
        """Requests of all its tasks, base units by resource row."""
        self.vector: list[Fraction] = [Fraction(amount) for amount in allocated]
        self.share = Fraction(0)
        self.is_saturated = False

    def refresh(self, total: Sequence[int], demanded: Sequence[bool]) -> None:
        """Calculate share and saturation."""
        self.share = _share(self.vector, total)
        self.is_saturated = any(
            have > 0 and asked and (have >= asked or not in_demand)
            for have, asked, in_demand in zip(self.vector, self.request, demanded, strict=True)
        )


class Tree:
    """All queues of a session that have jobs, and their jobs."""

    def __init__(self, total: Sequence[int]) -> None:
        self._total = total
        self._used = [0] * len(total)
        self._demanded = self._demand()
        self.root = TreeNode(None, ONE, len(total))
        self._nodes = [self.root]
        """All inner nodes, each after the one above it. Paths may have thousands of parts."""
        self._leaves: dict[str, Leaf] = {}

    def node(self, path: str, weights: str) -> TreeNode:
        """Return the node of a queue. Missing nodes of the path are created.

        Args:
            path: `root/eng/prod`; the first part always means the root, and so does an empty path.
            weights: `1/2/8`, along the path; a missing or invalid weight is 1, and so are all below it.
        """
        node = self.root
        pieces = weights.split("/")
        for position, name in enumerate(path.split("/")[1:], start=1):
            child = node.children.get(name)
            if child is None:
                weight = _weight(pieces[position]) if position < len(pieces) else ONE
                child = node.children[name] = TreeNode(node, weight, len(self._total))
                self._nodes.append(child)
            node = child
        return node

    def add_job(self, job: str, queue: TreeNode, *, request: Sequence[int], allocated: Sequence[int]) -> None:
        """Add a job below its queue; `settle` must follow."""
        self._leaves[job] = Leaf(queue, request, allocated)
        self._used = [have + amount for have, amount in zip(self._used, allocated, strict=True)]

    def settle(self) -> None:
        """Calculate the whole tree from its leaves."""
        self._demanded = self._demand()
        for node in self._nodes:
            node.clear()
        for leaf in self._leaves.values():
            leaf.refresh(self._total, self._demanded)
            leaf.parent.put(leaf, 1)
        for node in reversed(self._nodes):
            for child in node.children.values():
                node.put(child, 1)
            node.refresh(self._total)

    def change(self, job: str, amounts: Sequence[int]) -> None:
        """Add amounts to a job, or subtract negative ones, and update the tree."""
        leaf = self._leaves.get(job)
        if leaf is None:
            return
        self._used = [have + amount for have, amount in zip(self._used, amounts, strict=True)]
        vector = [have + amount for have, amount in zip(leaf.vector, amounts, strict=True)]
        if self._demand() != self._demanded:
            leaf.vector = vector
            self.settle()
            return
        leaf.parent.put(leaf, -1)
        leaf.vector = vector
        leaf.refresh(self._total, self._demanded)
        leaf.parent.put(leaf, 1)
        node: TreeNode | None = leaf.parent
        while node is not None:
            if node.parent is not None:
                node.parent.put(node, -1)
            node.refresh(self._total)
            if node.parent is not None:
                node.parent.put(node, 1)
            node = node.parent

    def compare(self, left: str, right: str) -> Fraction:
        """Compare two queues by path: negative if the left one comes first, 0 if they are equal."""
        one: TreeNode | None = self.root
        other: TreeNode | None = self.root
        for left_piece, right_piece in zip(left.split("/")[1:], right.split("/")[1:], strict=False):
            one = None if one is None else one.children.get(left_piece)
            other = None if other is None else other.children.get(right_piece)
            one_saturated = one is not None and one.is_saturated
            if one_saturated != (other is not None and other.is_saturated):
                return ONE if one_saturated else -ONE
            difference = _weighted(one) - _weighted(other)
            if difference:
                return difference
        return Fraction(0)

    def _demand(self) -> list[bool]:
        return [used < amount for used, amount in zip(self._used, self._total, strict=True)]


def _share(vector: Sequence[Fraction], total: Sequence[int]) -> Fraction:
    return max((have / amount for have, amount in zip(vector, total, strict=True) if amount > 0), default=Fraction(0))


def _weight(text: str) -> Fraction:
    try:
        weight = Fraction(float(text))
    except (ValueError, OverflowError):
        return ONE
    return max(weight, ONE)


def _weighted(node: TreeNode | None) -> Fraction:
    return Fraction(0) if node is None else node.share / node.weight
