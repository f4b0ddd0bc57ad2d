"""Elastic quotas, pod by pod: what docs/plugins/elastic-quota.md says."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from itertools import count
from typing import Any, ClassVar

from tests.differential.cluster import Amounts, Cluster, Group, Pod, amounts
from tests.differential.policy import Policy, Rule

PREFIX = "quota.scheduling.koordinator.sh/"
ROOT, DEFAULT, SYSTEM = (f"koordinator-{each}-quota" for each in ("root", "default", "system"))
APART = (DEFAULT, SYSTEM)
ACTIVE = ("Running", "Bound", "Binding", "Allocated")


@dataclass
class Quota:
    """One quota; amounts that nothing is said of are absent."""

    name: str
    above: str
    lends: bool
    is_parent: bool
    least: Amounts
    most: Amounts
    weight: Amounts
    namespaces: list[str]
    tree: str
    tree_has: Amounts | None
    """Amounts of the root of a tree, which are divided."""
    is_beside: bool
    """Whether the default tree has no less for that."""
    may_have: Amounts = field(default_factory=dict)
    promised: Amounts = field(default_factory=dict)
    """What it is guaranteed, cut to what there is."""


def read(each: Mapping[str, Any]) -> Quota:
    """Read an object."""
    metadata, spec = each["metadata"], each["spec"]
    labels, annotations = metadata["labels"], metadata["annotations"]
    most = amounts(spec["max"])
    weight = amounts(json.loads(annotations.get(PREFIX + "shared-weight", "{}")))
    return Quota(
        name=metadata["name"],
        above=labels.get(PREFIX + "parent", ROOT),
        lends=labels.get(PREFIX + "allow-lent-resource") != "false",
        is_parent=labels.get(PREFIX + "is-parent") == "true",
        least=amounts(spec["min"]),
        most=most,
        weight={**most, **weight} if any(weight.values()) else most,
        namespaces=json.loads(annotations.get(PREFIX + "namespaces", "[]")),
        tree=labels.get(PREFIX + "tree-id", ""),
        tree_has=amounts(json.loads(annotations[PREFIX + "total-resource"])) if PREFIX + "is-root" in labels else None,
        is_beside=labels.get(PREFIX + "ignore-default-tree") == "true",
    )


class ElasticQuota(Policy):
    """Quotas that lend."""

    name = "elastic-quota"
    divides_queues: ClassVar[bool] = True

    def __init__(self, cluster: Cluster, now: float, arguments: Mapping[str, Any], last: float | None = None) -> None:
        super().__init__(cluster, now, arguments, last)
        quotas = sorted(map(read, cluster.of_kind("ElasticQuota")), key=lambda quota: quota.name)
        self.quotas = {quota.name: quota for quota in quotas}
        self.served = {name: quota for name, quota in self.quotas.items() if self.stands(quota)}
        self.trees = {quota.tree: quota for quota in self.served.values() if quota.tree_has is not None}
        self.divide(self.below(ROOT), {what: self.is_there(what) for what in cluster.total}, cluster.total)
        for tree, root in self.trees.items():
            self.divide(self.below(ROOT, tree), root.tree_has or {}, root.tree_has)
        self.giving_back: dict[str, str] = {}
        """Which quota a pod goes for that was named."""
        self.too_much_at_first = {name for name in self.served if self.has_too_much(name, self.used(name))}

    @property
    def guarantees_use(self) -> bool:
        """Whether what is in use is guaranteed."""
        return self.says("enableGuaranteeUsage", default=False)

    def guarantee(self, quota: Quota, what: str) -> int:
        """The minimum; with guarantees by use at least what is in use, and what quotas below are guaranteed."""
        least = quota.least.get(what, 0)
        if not self.guarantees_use:
            return least
        below = self.below(quota.name)
        own = self.used(quota.name).get(what, 0) - sum(self.used(each.name).get(what, 0) for each in below)
        return max(least, own + sum(self.guarantee(each, what) for each in below))

    def says(self, argument: str, *, default: bool = True) -> bool:
        """A switch of the configuration."""
        return bool(self.arguments.get(argument, default))

    # Who belongs where

    def stands(self, quota: Quota) -> bool:
        """Whether all above a quota are there, of its tree, and may stand above others; circles are not drawn here."""
        trees = [each.tree for each in self.quotas.values() if each.tree_has is not None]
        if quota.tree and quota.tree not in trees:
            return False
        while quota.above != ROOT:
            above = self.quotas.get(quota.above)
            if above is None or not above.is_parent or above.tree != quota.tree:
                return False
            quota = above
        return True

    def quota_of(self, pod: Pod) -> str:
        """The quota that a pod names, else one that lists its namespace, else the default one."""
        label = pod.labels.get(PREFIX + "name", "")
        if label:
            return label if label in self.quotas or label == SYSTEM else DEFAULT
        return next((quota.name for quota in self.quotas.values() if pod.namespace in quota.namespaces), DEFAULT)

    def line(self, name: str) -> Iterator[Quota]:
        """A quota and all above it but the root."""
        while name in self.served:
            yield self.served[name]
            name = self.served[name].above

    def below(self, name: str, tree: str = "") -> list[Quota]:
        """The quotas right below one, or at the top of a tree."""
        return [quota for quota in self.served.values() if quota.above == name and (name != ROOT or quota.tree == tree)]

    # Amounts

    def living(self, name: str) -> list[Pod]:
        """The pods of a quota that have not ended."""
        return [
            pod for pod in self.cluster.pods if self.quota_of(pod) == name and pod.status not in ("Succeeded", "Failed")
        ]

    def asked(self, name: str) -> Amounts:
        """What pods of a quota and the quotas below it ask for, each of these up to its ceiling."""
        own, total = self.served[name], Amounts()
        for pod in self.living(name):
            add(total, {each: number for each, number in pod.counted.items() if each in own.most})
        for quota in self.below(name):
            add(total, self.limited(quota))
        for each, number in own.least.items():
            if not own.lends or self.guarantees_use:
                total[each] = max(total.get(each, 0), number)
        return total

    def limited(self, quota: Quota) -> Amounts:
        """What a quota asks of the one above it: no more than its ceiling."""
        asked = self.asked(quota.name)
        return {each: min(number, quota.most.get(each, number)) for each, number in asked.items()}

    def used(self, name: str, *, kept_only: bool = False) -> Amounts:
        """What pods on nodes have of a quota and those below it, in what their own quotas speak of."""
        total: Amounts = {}
        for pod in self.cluster.placed:
            own = self.quota_of(pod)
            if own not in self.served or name not in {each.name for each in self.line(own)}:
                continue
            if pod.status != "Releasing" and not (kept_only and may_be_evicted(pod)):
                add(total, {each: n for each, n in pod.counted.items() if each in self.served[own].most})
        return total

    def is_there(self, what: str) -> int:
        """What the cluster has beside the pods that no quota holds, and beside other trees."""
        apart = [pod for pod in self.cluster.placed if self.quota_of(pod) in APART and pod.status != "Releasing"]
        others = [(root.tree_has or {}).get(what, 0) for root in self.trees.values() if not root.is_beside]
        return self.cluster.total[what] - sum(pod.counted.get(what, 0) for pod in apart) - sum(others)

    def divide(self, quotas: list[Quota], there: Mapping[str, int], at_all: Mapping[str, int] | None = None) -> None:
        """Hand down what there is; `at_all` is what the tree has, for those at its top."""
        for what in {each for quota in quotas for each in quota.most}:
            have = max(there.get(what, 0), 0)
            least = {quota.name: self.guarantee(quota, what) for quota in quotas}
            cuts = (
                not self.guarantees_use
                and self.says("enableMinQuotaScale")
                and what in there
                and (at_all is None or at_all.get(what, 0) > 0)
            )
            together = sum(least.values())
            if cuts and together > have:
                least = {each: have * number // together for each, number in least.items()}
            for quota in quotas:
                if what in quota.most:
                    quota.promised[what] = least[quota.name]
            for each, part in self.parts(what, have, quotas, least).items():
                if what in self.served[each].most:
                    self.served[each].may_have[what] = part
        for quota in quotas:
            self.divide(self.below(quota.name), quota.may_have)

    def parts(self, what: str, have: int, quotas: Sequence[Quota], least: Mapping[str, int]) -> dict[str, int]:
        """Guarantees first, or what is asked for of them; then what is left by weight, in rounds."""
        asked = {quota.name: self.limited(quota).get(what, 0) for quota in quotas}
        parts = {
            quota.name: min(asked[quota.name], least[quota.name])
            if quota.lends and not self.guarantees_use
            else least[quota.name]
            for quota in quotas
        }
        left = have - sum(parts.values())
        weights = {quota.name: quota.weight.get(what, 0) for quota in quotas}
        open_ones = [name for name in sorted(parts) if asked[name] > least[name] and weights[name]]
        while left > 0 and open_ones:
            together = sum(weights[name] for name in open_ones)
            shares = {name: Fraction(left * weights[name], together) for name in open_ones}
            whole = {name: int(share) for name, share in shares.items()}
            by_remainder = sorted(open_ones, key=lambda name: (whole[name] - shares[name], name))
            for name in by_remainder[: left - sum(whole.values())]:
                whole[name] += 1
            given = {name: min(whole[name], asked[name] - parts[name]) for name in open_ones}
            add(parts, given)
            left -= sum(given.values())
            open_ones = [name for name in open_ones if parts[name] < asked[name]]
        return parts

    def limit(self, quota: Quota) -> Amounts:
        """The most that a quota may have now."""
        return quota.may_have if self.says("enableRuntimeQuota") else quota.most

    def has_too_much(self, name: str, used: Amounts) -> bool:
        """Whether a quota has more than it may of anything."""
        limit = self.limit(self.served[name])
        return any(used.get(what, 0) > limit[what] for what in limit)

    # Room

    def takes(self, pod: Pod) -> bool:
        """Whether the quota of a pod, and those above it, have room for it."""
        name = self.quota_of(pod)
        if name in APART:
            return self.takes_apart(pod, name)
        if name not in self.served:
            return False
        own = self.served[name]
        used, limit = self.used(name), self.limit(own)
        if any(used.get(what, 0) + pod.counted.get(what, 0) > limit[what] for what in limit):
            return False
        if not may_be_evicted(pod):
            kept = self.used(name, kept_only=True)
            if any(kept.get(what, 0) + pod.counted.get(what, 0) > number for what, number in own.least.items()):
                return False
        for above in self.line(name) if self.says("enableCheckParentQuota") else ():
            used, limit = self.used(above.name), self.limit(above)
            for what, number in pod.counted.items():
                if what in own.most and what in limit and number and used.get(what, 0) + number > limit[what]:
                    return False
        return True

    def takes_apart(self, pod: Pod, name: str) -> bool:
        """Whether the default or the system quota has room below its maximum."""
        most = amounts(self.arguments.get(f"{name.split('-')[1]}QuotaGroupMax", {}))
        used: Amounts = {}
        for each in self.cluster.placed:
            if self.quota_of(each) == name and each.status != "Releasing":
                add(used, each.counted)
        return all(used.get(what, 0) + pod.counted.get(what, 0) <= number for what, number in most.items())

    def opens_gate(self, group: Group) -> int:
        """Not for a job that its quota, or one above it, could never hold."""
        names = {self.quota_of(pod) for pod in group.pods if pod.status == "Pending"}
        if len(names) != 1 or names & set(APART):
            return 0
        [name] = names
        if name not in self.served:
            return -1
        needs = group.reserves or {}
        fits = all(needs.get(what, 0) <= most for quota in self.line(name) for what, most in quota.most.items())
        return 0 if fits else -1

    # Victims

    def rules(self, point: str) -> Rule | None:
        """Inside a queue less important pods of the same quota; between queues pods of quotas with too much."""
        return self.between if "reclaimable" in point else self.inside

    def is_free(self, name: str) -> bool:
        """Whether pods of a quota evict as if there were none."""
        return name == SYSTEM or (name == DEFAULT and self.says("disableDefaultQuotaPreemption"))

    def inside(self, pod: Pod, candidates: list[Pod]) -> list[Pod]:
        """For preemption: less important pods of the quota, and those that it may reclaim."""
        name = self.quota_of(pod)
        may_go = [each for each in candidates if may_be_evicted(each)]
        if self.is_free(name):
            return may_go
        taken = self.between(pod, candidates)
        return [
            each for each in may_go if each in taken or (self.quota_of(each) == name and each.priority < pod.priority)
        ]

    def between(self, pod: Pod, candidates: list[Pod]) -> list[Pod]:
        """For reclaim: who with the pod has no more than its guarantee takes from those with too much."""
        name = self.quota_of(pod)
        may_go = [each for each in candidates if may_be_evicted(each)]
        if self.is_free(name):
            return may_go
        if not self.is_guaranteed(pod, name):
            return []
        return self.with_too_much(each for each in may_go if self.quota_of(each) not in {name, *APART})

    def is_guaranteed(self, pod: Pod, name: str) -> bool:
        """Whether a quota has no more than its guarantee with a pod; the default quota is guaranteed nothing."""
        if name == DEFAULT:
            return not any(pod.request.values())
        if name not in self.served:
            return False
        used, promised = self.used(name), self.served[name].promised
        return all(used.get(what, 0) + pod.counted.get(what, 0) <= promised[what] for what in asked_of(pod, promised))

    def reclaims_within(self, pod: Pod) -> bool:
        """Whether the guarantee of its quota has room, and some quota has too much."""
        name = self.quota_of(pod)
        if self.is_free(name) or not self.is_guaranteed(pod, name):
            return False
        return any(self.has_too_much(each, self.used(each)) for each in self.served)

    def with_too_much(self, pods: Iterable[Pod]) -> list[Pod]:
        """Pods whose quotas have too much of what they ask for, without those before them."""
        left: dict[str, Amounts] = {}
        chosen = []
        for each in pods:
            own = self.quota_of(each)
            if own not in self.served:
                continue
            has, limit = left.setdefault(own, self.used(own)), self.limit(self.served[own])
            if any(has.get(what, 0) > limit[what] for what in asked_of(each, limit)):
                chosen.append(each)
                add(has, {what: -number for what, number in each.counted.items()})
        return chosen

    def surplus(self, pod: Pod, victims: list[Pod]) -> list[Pod]:
        """In every tier pods of quotas with too much, and of none; all, where the pod has no quota."""
        if self.is_free(self.quota_of(pod)):
            return victims
        with_too_much = self.with_too_much(each for each in victims if self.quota_of(each) in self.served)
        return [each for each in victims if self.quota_of(each) not in self.served or each in with_too_much]

    # Giving back

    def names(self, pods: Sequence[Pod]) -> list[Pod]:
        """The least important pods of quotas that exceeded their limit for long."""
        delay = int(str(self.arguments.get("delayEvictTime", "120")).removesuffix("s"))
        if self.last is None or self.now <= self.last + delay or not self.says("enableRuntimeQuota"):
            return []
        named: list[Pod] = []
        for quota in self.served.values():
            if self.says("monitorAllQuotas") and quota.name in self.too_much_at_first:
                going = [pod for pod in self.to_go(quota, pods) if pod not in named]
                self.giving_back |= {pod.key: quota.name for pod in going}
                named += going
        return named

    def to_go(self, quota: Quota, pods: Sequence[Pod]) -> list[Pod]:
        """Take pods away until a quota has no more than it may, and give back those that fit."""
        used = self.used(quota.name)

        def without(gone: Sequence[Pod]) -> Amounts:
            left = dict(used)
            for pod in gone:
                add(left, {what: -number for what, number in pod.counted.items()})
            return left

        mine = [pod for pod in pods if self.quota_of(pod) == quota.name and may_go(pod)]
        mine.sort(key=least_important_first)
        enough: Callable[[int], bool] = lambda number: not self.has_too_much(quota.name, without(mine[:number]))  # noqa: E731
        number = next(number for number in count() if number >= len(mine) or enough(number))
        gone = mine[:number]
        if not self.has_too_much(quota.name, without(gone)):
            for pod in reversed(mine[:number]):
                rest = [each for each in gone if each is not pod]
                gone = gone if self.has_too_much(quota.name, without(rest)) else rest
            gone.reverse()
        return gone

    def takes_gang(self, pod: Pod) -> bool:
        """A gang without protected members."""
        return all(may_go(each) for each in self.cluster.groups[pod.group].pods if each.status in ACTIVE)

    def bound_of(self, pod: Pod) -> str:
        """Each quota has a plan of its own."""
        return self.giving_back[pod.key]


def add(total: Amounts, more: Mapping[str, int]) -> None:
    """Add amounts."""
    for what, number in more.items():
        total[what] = total.get(what, 0) + number


def asked_of(pod: Pod, amounts: Mapping[str, int]) -> list[str]:
    """What a pod asks for of some resources."""
    return [what for what in amounts if pod.counted.get(what, 0)]


def may_be_evicted(pod: Pod) -> bool:
    """Whether quotas may have a pod evicted."""
    return pod.labels.get(PREFIX + "preemptible") != "false"


def may_go(pod: Pod) -> bool:
    """Whether neither of its marks spares a pod."""
    return may_be_evicted(pod) and pod.preemptable


def least_important_first(pod: Pod) -> tuple[Any, ...]:
    """The lowest priority first, then the youngest."""
    return pod.priority, -datetime.fromisoformat(pod.created).timestamp(), pod.key
