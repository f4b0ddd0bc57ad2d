"""Tree: the hierarchy of quotas, with the request and the runtime amount of each.

Requests are summed upwards: a quota requests the sum of its pods and of its child quotas, at least its guarantee if it
does not lend, and at most its maximum. Amounts are divided downwards: the root has the cluster, and each quota divides
its amount among its children (`fair`). Guarantees whose sum exceeds the amount are cut to it. With guarantees by use, a
quota is guaranteed what it uses, also beyond its minimum: no pod that runs exceeds the amount of its quota.

Beside the default tree there may be others (label `tree-id`), each for a part of the nodes: one of its quotas, the root
of the tree, gives the amounts of that part. The default tree has that much less.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from pyroclast.model.elastic.fair import Sharer, divided, scaled
from pyroclast.model.elastic.names import DEFAULT_QUOTA, ROOT_QUOTA, SYSTEM_QUOTA
from pyroclast.model.elastic.quota import LARGEST_AMOUNT, ParsedQuota
from pyroclast.model.resources import Amounts, ResourceSpace

__all__ = ["APART", "BUILT_IN", "QuotaAccount", "QuotaTree", "faults_of"]

APART = frozenset({SYSTEM_QUOTA, DEFAULT_QUOTA})
"""Quotas that are not divided: their usage is deducted from the total."""

BUILT_IN = APART | {ROOT_QUOTA}
"""Quotas that are always there; none is the root of a tree beside the default one."""


def faults_of(quotas: Mapping[str, ParsedQuota]) -> dict[str, str]:
    """Return why quotas cannot be served: an error of the quota, of an ancestor, or of its tree."""
    quotas = with_trees(quotas)
    roots = tree_roots(quotas.values())
    faults: dict[str, str] = {}
    known: dict[str, str | None] = {}
    for name in sorted(quotas):
        quota = quotas[name]
        fault = quota.fault or (
            None if name in APART else _fault_of_tree(quota, roots) or _fault_above(quota, quotas, roots, known)
        )
        if fault is not None:
            faults[name] = fault
    return faults


def with_trees(quotas: Mapping[str, ParsedQuota]) -> Mapping[str, ParsedQuota]:
    """Set the tree of quotas without one to that of their parent, as Koordinator's webhook does on creation."""
    if not any(quota.tree for quota in quotas.values()):
        return quotas
    trees: dict[str, str] = {}
    for name in quotas:
        line: dict[str, None] = {}
        quota = quotas.get(name)
        while quota is not None and not quota.tree and quota.name not in trees and quota.name not in line:
            line[quota.name] = None
            quota = None if quota.parent == ROOT_QUOTA else quotas.get(quota.parent)
        tree = "" if quota is None else trees.get(quota.name, quota.tree)
        trees.update(dict.fromkeys(line, tree))
    return {name: replace(quota, tree=trees.get(name, quota.tree)) for name, quota in quotas.items()}


def tree_roots(quotas: Iterable[ParsedQuota]) -> dict[str, ParsedQuota]:
    """Return the root quota of each tree, by tree; of several the first by name.

    A root has no parent that could be faulty: a tree with a root is served.
    """
    roots: dict[str, ParsedQuota] = {}
    for quota in sorted(quotas, key=lambda each: each.name):
        may_be_one = quota.parent == ROOT_QUOTA and quota.name not in BUILT_IN and not quota.fault
        if quota.tree_total is not None and may_be_one:
            roots.setdefault(quota.tree, quota)
    return roots


def _fault_of_tree(quota: ParsedQuota, roots: Mapping[str, ParsedQuota]) -> str | None:
    if not quota.tree:
        return None
    if quota.tree_total is not None and quota.parent != ROOT_QUOTA:
        return f"the root of tree {quota.tree} is below {quota.parent}, not at the top"
    root = roots.get(quota.tree)
    if root is None:
        return f"no valid quota marked as root lists the resources of tree {quota.tree} has"
    if quota.tree_total is not None and root is not quota:
        return f"tree {quota.tree} has a root, {root.name}"
    return None


def _fault_above(
    quota: ParsedQuota,
    quotas: Mapping[str, ParsedQuota],
    roots: Mapping[str, ParsedQuota],
    known: dict[str, str | None],
) -> str | None:
    """Return the error above a quota. `known` memoises the results, also of all ancestors on the way."""
    seen: dict[str, None] = {}
    fault = None
    while quota.parent != ROOT_QUOTA and fault is None:
        if quota.name in known:
            fault = known[quota.name]
            break
        if quota.name in seen:
            circle = list(seen)[list(seen).index(quota.name) :]
            fault = f"quotas {', '.join(sorted(circle))} are ancestors of each other"
            break
        seen[quota.name] = None
        above = quotas.get(quota.parent)
        if above is None:
            fault = f"there is no quota {quota.parent} above {quota.name}"
        else:
            fault = _fault_between(above, quota, roots)
            quota = above
    known.update(dict.fromkeys(seen, fault))
    return fault


def _fault_between(above: ParsedQuota, below: ParsedQuota, roots: Mapping[str, ParsedQuota]) -> str | None:
    if above.name in APART or not above.is_parent:
        return f"quota {above.name} above {below.name} is not marked as a parent"
    fault = above.fault or _fault_of_tree(above, roots)
    if fault:
        return f"quota {above.name} above {below.name} is broken: {fault}"
    if above.tree != below.tree:
        return f"quota {above.name} above {below.name} is of {_spoken(above.tree)}, not of {_spoken(below.tree)}"
    return None


def _spoken(tree: str) -> str:
    return f"tree {tree}" if tree else "the default tree"


class QuotaAccount:
    """Amounts of one quota, base units by resource row; those below it count as well."""

    __slots__ = (
        "_own_request",
        "allocated",
        "child_request",
        "children",
        "guaranteed",
        "lends",
        "maximum",
        "minimum",
        "minimum_rows",
        "name",
        "parent",
        "request",
        "rows",
        "runtime",
        "unpreemptible_request",
        "unpreemptible_used",
        "used",
        "weight",
    )

    def __init__(self, space: ResourceSpace, name: str, *, maximum: Amounts, quota: ParsedQuota | None = None) -> None:
        """Count nothing yet.

        Args:
            space: Rows of amounts.
            name: Name of the quota.
            maximum: Maximum amounts. The quota does not count other resources, except for the quotas that always exist,
                which count all resources.
            quota: The parsed object; None if the quota exists without one.
        """
        self.name = name
        self.parent: QuotaAccount | None = None
        self.children: list[QuotaAccount] = []
        """Child quotas in the order of their names."""
        self.lends = quota is None or quota.lends
        """Whether other quotas may use the part of its guarantee that it does not request."""
        counts_all = name == ROOT_QUOTA or name in APART
        spoken = space.names if counts_all else maximum
        self.rows = tuple(sorted(space.rows[each] for each in spoken if each in space.rows))
        """Rows of the resources that it counts: those of its maximum."""
        self.maximum: list[int] = space.vector(maximum, absent=LARGEST_AMOUNT if counts_all else 0).tolist()
        minimum = {} if quota is None else quota.minimum
        self.minimum_rows = tuple(sorted(space.rows[each] for each in minimum if each in space.rows))
        self.minimum: list[int] = space.vector(minimum).tolist()
        self.guaranteed = list(self.minimum)
        """The minimum, cut to the available amount; with guarantees by use at least what is allocated."""
        self.weight: list[int] = space.vector(maximum if quota is None else quota.weight).tolist()
        nothing = [0] * len(space)
        self.allocated = list(nothing)
        """Use of its pods and guarantees of its child quotas. Zero without guarantees by use."""
        self._own_request = list(nothing)
        self.child_request = list(nothing)
        """Requests of its pods and of its child quotas, each child up to its maximum."""
        self.request = list(nothing)
        """The same, at least the minimum if it does not lend."""
        self.used = list(nothing)
        self.unpreemptible_request = list(nothing)
        self.unpreemptible_used = list(nothing)
        self.runtime = list(nothing)
        """Runtime amount: the most that it may use now."""

    def line(self) -> "Iterator[QuotaAccount]":
        """Iterate over the quota and its ancestors."""
        account: QuotaAccount | None = self
        while account is not None:
            yield account
            account = account.parent

    def ask(self, amounts: Sequence[int], *, is_preemptible: bool) -> None:
        """Count requests of pods of the quota; `QuotaTree.settle` adds them to its ancestors."""
        for row in self.rows:
            self._own_request[row] += amounts[row]
        if not is_preemptible:
            for account in self.line():
                for row in self.rows:
                    account.unpreemptible_request[row] += amounts[row]

    def use(self, amounts: Sequence[int], *, is_preemptible: bool, sign: int = 1) -> None:
        """Count usage of pods of the quota, up to the root, or subtract it again (-1)."""
        for account in self.line():
            used, kept = account.used, account.unpreemptible_used
            for row in self.rows:
                amount = amounts[row]
                if amount:
                    used[row] += sign * amount
                    if not is_preemptible:
                        kept[row] += sign * amount

    def gather(self) -> None:
        """Make the request of those of the quotas below it, which are made."""
        self.child_request = list(self._own_request)
        for child in self.children:
            for row, amount in enumerate(child.limited()):
                self.child_request[row] += amount
        self.request = list(self.child_request)
        if not self.lends:
            for row in self.minimum_rows:
                self.request[row] = max(self.request[row], self.minimum[row])

    def guarantee_use(self) -> None:
        """Guarantee what is allocated, at least the minimum. The guarantees of its child quotas must be computed."""
        self.allocated = list(self.used)
        for child in self.children:
            for row in child.rows:
                self.allocated[row] += child.guaranteed[row] - child.used[row]
        self.guaranteed = list(map(max, self.allocated, self.minimum))

    def limited(self) -> list[int]:
        """Return its request to its parent: at most its maximum."""
        amounts = list(self.request)
        for row in self.rows:
            amounts[row] = min(amounts[row], self.maximum[row])
        return amounts


class QuotaTree:
    """All served quotas, tree by tree. The root of the default tree represents the cluster."""

    def __init__(
        self,
        space: ResourceSpace,
        quotas: Iterable[ParsedQuota],
        apart: Mapping[str, Amounts],
        *,
        guarantees_use: bool = False,
    ) -> None:
        """Build the trees of quotas.

        Args:
            space: Rows of amounts.
            quotas: Quotas without faults, including those of `APART` that have objects.
            apart: Maximums of the quotas of `APART`; those of their objects override them.
            guarantees_use: Whether the amounts in use are guaranteed beyond the minimum. Quotas then lend nothing.
        """
        self._space = space
        self._guarantees_use = guarantees_use
        self.root = QuotaAccount(space, ROOT_QUOTA, maximum={})
        self.accounts: dict[str, QuotaAccount] = {}
        """All quotas except the roots, by name."""
        known = {quota.name: quota for quota in quotas if quota.name != ROOT_QUOTA}
        for name in sorted(known.keys() | APART):
            quota = known.get(name)
            maximum = {**apart.get(name, {}), **({} if quota is None else quota.maximum)}
            self.accounts[name] = QuotaAccount(space, name, maximum=maximum, quota=quota)
        self._roots = tree_roots(known.values())
        tops = {"": self.root} | {tree: QuotaAccount(space, ROOT_QUOTA, maximum={}) for tree in self._roots}
        self._tops = tops
        """Root of each tree, by tree."""
        for name, account in self.accounts.items():
            if name not in APART:
                quota = known[name]
                account.parent = tops[quota.tree] if quota.parent == ROOT_QUOTA else self.accounts[quota.parent]
                account.parent.children.append(account)
                account.lends = account.lends and not guarantees_use
        self._down = [account for top in tops.values() for account in self._downwards(top)]

    def settle(self, total: Sequence[int], *, cuts_guarantees: bool = True) -> None:
        """Sum requests upwards and divide amounts downwards.

        Args:
            total: Amounts of the cluster, base units by row.
            cuts_guarantees: Whether guarantees that exceed the available amount are cut to it.
        """
        for account in reversed(self._down):
            account.gather()
            if self._guarantees_use:
                account.guarantee_use()
        apart = [self.accounts[name] for name in sorted(APART)]
        left = [there - sum(each.used[row] for each in apart) for row, there in enumerate(total)]
        for account in apart:
            account.gather()
            account.runtime = list(account.maximum)
        for tree, quota in self._roots.items():
            has = self._tops[tree].runtime = self._space.vector(quota.tree_total or {}).tolist()
            if not quota.adds_to_cluster:
                left = [there - taken for there, taken in zip(left, has, strict=True)]
        self.root.runtime = left
        for tree, top in self._tops.items():
            there = top.runtime if tree else total
            for account in self._downwards(top):
                self._divide(account, there, cuts_guarantees=cuts_guarantees)

    def _divide(self, account: QuotaAccount, total: Sequence[int], *, cuts_guarantees: bool) -> None:
        """Divide the amount of a quota among its children; `total` is the amount of its tree."""
        children = account.children
        limited = [child.limited() for child in children]
        spoken = {row for child in children for row in child.rows}
        for row in spoken:
            there = account.runtime[row] if row in account.rows else 0
            guarantees = [child.guaranteed[row] if self._guarantees_use else child.minimum[row] for child in children]
            # what is in use is guaranteed whole; a resource that the tree does not have is not managed there
            if (
                cuts_guarantees
                and not self._guarantees_use
                and (account.parent is not None or total[row])
                and row in account.rows
            ):
                guarantees = scaled(there, guarantees)
            sharers = [
                Sharer(child.name, guaranteed, asked[row], child.weight[row], child.lends)
                for child, guaranteed, asked in zip(children, guarantees, limited, strict=True)
            ]
            for child, guaranteed, part in zip(children, guarantees, divided(there, sharers), strict=True):
                child.guaranteed[row] = guaranteed
                child.runtime[row] = part if row in child.rows else 0

    @staticmethod
    def _downwards(top: QuotaAccount) -> Iterator[QuotaAccount]:
        waiting = [top]  # no calls within calls: chains of quotas are as long as their owners like
        while waiting:
            account = waiting.pop()
            yield account
            waiting += reversed(account.children)
