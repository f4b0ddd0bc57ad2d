"""The least harmful plan by trying every set of victims: on any node, also where only a queue's limit is in the way.

The search of the product is compared with this for `leastHarm` and for victims on other nodes (D82 and D132 in
docs/compatibility/evictions.md). No order of nodes or victims exists here. A set of victims serves a gang if each of
them may be evicted after the others, no gang is broken in part, and all pods of the waiting gang have nodes afterwards.

A queue that has no more than it deserves loses nothing, so a set may be permitted in one order of evictions and not in
another. The plan of the product is at least as harmful as the least harmful set that is permitted in some order, and at
most as harmful as the least harmful one that is permitted in every order. Nearly always the two are equal.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from random import Random
from typing import Any

from pyroclast.testing import Scenario
from tests.differential.cluster import Group, Pod
from tests.differential.evicting import Draft, Evicting, Who
from tests.differential.generated import AS_VOLCANO
from tests.differential.policy import Rule
from tests.differential.treed import LEVELS, Treed
from tests.differential.vetoes import ACTIVE

__all__ = ["NO_PLAN", "Anywhere", "AnywhereInTree", "Harm", "Limited", "limited"]

Harm = tuple[float, int, int]
"""The highest priority of a victim, the gangs that are evicted whole, and the number of victims."""
Places = list[tuple[str, str]]
"""Pods and their nodes."""

NO_PLAN: Harm = (float("inf"), 0, 0)
PRIORITIES = {"low": 1, "mid": 5, "high": 9}
BY_CAPACITY = (("priority", "gang", "conformance"), ("predicates", "capacity", "nodeorder"))
BY_PROPORTION = (("priority", "gang", "conformance"), ("predicates", "proportion", "nodeorder"))
WAITING = "wait"
NO_LIMIT = 1000
MOST_VICTIMS = 8


class Anywhere(Evicting):
    """One cycle whose evicting action serves one waiting gang."""

    def __init__(self, *arguments: Any, action: str, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.allocate(("allocate", action))
        self.waiting_group = next(group for key, group in self.cluster.groups.items() if key.endswith(f"/{WAITING}"))
        self.draft = Draft(self.waiting_group, self.who(action), whole=True)
        self.pod = self.waiting_group.pods[0]
        self.known: dict[tuple[frozenset[str], str], frozenset[str] | None] = {}
        """Pods that are gone after an eviction, by those gone before and the victim; None if it is not permitted."""

    def rules(self, point: str) -> dict[str, Rule]:
        """Return the rules of all plugins but gang, which is configured without a vote about victims."""
        return {name: rule for name, rule in super().rules(point).items() if name != "gang"}

    def who(self, action: str) -> Who:
        """Return the rule of an action."""
        if action == "preempt":
            return Who(action, "preemptable", ("Running", "Bound"), same_queue=True, may_go=lambda a, b: a is not b)
        return Who(
            action,
            "reclaimable",
            ("Running",),
            same_queue=False,
            may_go=lambda _, other: self.cluster.queues[other.queue].reclaimable,
        )

    # Sets of victims

    def least_harm_of_plans(self) -> tuple[Harm, Harm]:
        """Return the least harm of victims permitted in some order, and in every order."""
        candidates = [pod for pod in self.cluster.placed if self.considers(self.draft, self.pod, pod)]
        if not self.waiting_group.count("Pending") or not self.places(candidates):
            return NO_PLAN, NO_PLAN
        sizes = range(1, len(candidates) + 1)
        sets = sorted(
            ((self.harm_of(chosen), chosen) for size in sizes for chosen in combinations(candidates, size)),
            key=lambda each: each[0],
        )
        some = NO_PLAN
        for harm, chosen in sets:
            if self.places(chosen) and self.may_go_in_some_order(chosen):
                some = min(some, harm)
                if self.may_go_in_every_order(chosen):
                    return some, harm
        return some, NO_PLAN

    def harm_of(self, victims: Sequence[Pod]) -> Harm:
        """Return the harm of evicting some pods."""
        lost = Counter(pod.group for pod in victims)
        whole = [key for key, count in lost.items() if self.is_gone_as_a_gang(self.cluster.groups[key], count)]
        return max(map(self.weight_of, victims)), len(whole), len(victims)

    def is_gone_as_a_gang(self, group: Group, lost: int) -> bool:
        """Whether a job loses all pods, the last of them together: those of its minimum, if that is more than one."""
        return lost == group.count(*ACTIVE) and min(lost, group.minimum) > 1

    def may_go_in_some_order(self, victims: Sequence[Pod]) -> bool:
        """Whether some victims may be evicted one after the other, in some order."""
        return frozenset(pod.key for pod in victims) in dict(self.ways(victims))

    def may_go_in_every_order(self, victims: Sequence[Pod]) -> bool:
        """Whether some victims may be evicted one after the other, whatever the order."""
        return not any(is_blocked for _, is_blocked in self.ways(victims))

    def ways(self, victims: Sequence[Pod]) -> Iterator[tuple[frozenset[str], bool]]:
        """Yield what can be gone on the way to some victims, and whether another of them may not be evicted then."""
        aim = frozenset(pod.key for pod in victims)
        seen, left = {frozenset[str]()}, [frozenset[str]()]
        while left:
            gone = left.pop()
            after = [self.gone_after(gone, pod) for pod in victims if pod.key not in gone]
            onward = {each for each in after if each is not None and each <= aim}
            yield gone, any(each is None or not each <= aim for each in after)
            left += onward - seen
            seen |= onward

    def gone_after(self, gone: frozenset[str], victim: Pod) -> frozenset[str] | None:
        """Return what is gone after a victim, which takes its gang with it where this cannot spare it."""
        if (gone, victim.key) not in self.known:
            before = self.picture()
            self.evict([pod for pod in self.cluster.placed if pod.key in gone])
            unit = self.unit(self.draft, self.pod, victim)
            if unit is not None and len(unit) == 1 and not self.permitted(self.draft.who.point, self.pod, unit):
                unit = None
            self.put_back(before)
            self.known[gone, victim.key] = None if unit is None else gone | {pod.key for pod in unit}
        return self.known[gone, victim.key]

    # Places

    def places(self, victims: Sequence[Pod]) -> Places:
        """Return a node for each pod of the gang when some victims are gone; nothing if there is none for one."""
        return self.after(victims, lambda pods: next(self.assignments(pods, None), []))

    def hold(self, victims: Sequence[Pod], places: Mapping[str, str]) -> bool:
        """Whether all pods of the gang have their nodes when some victims are gone."""
        return bool(self.after(victims, lambda pods: next(self.assignments(pods, places), [])))

    def after(self, victims: Sequence[Pod], ask: Any) -> Places:
        """Ask for places of the waiting pods with some victims gone, which are back afterwards."""
        before = self.picture()
        self.evict(list(victims))
        pods = [pod for pod in self.waiting_group.pods if pod.status == "Pending"]
        found: Places = ask(sorted(pods, key=self.own_key))
        self.put_back(before)
        return found

    def assignments(self, pods: Sequence[Pod], places: Mapping[str, str] | None) -> Iterator[Places]:
        """Yield the ways to place pods one after the other, on given nodes or on any."""
        if not pods:
            yield []
            return
        first, *others = pods
        for node in self.cluster.nodes:
            if places is not None and places.get(first.key) != node.name:
                continue
            if self.takes(self.waiting_group, first, node) and self.may_evict_for(first):
                self.put(first, node, "Pipelined")
                yield from ([(first.key, node.name), *rest] for rest in self.assignments(others, places))
                self.cluster.placed.remove(first)
                first.status, first.node = "Pending", ""

    def may_evict_for(self, pod: Pod) -> bool:
        """Whether the queue may take room for a pod."""
        return self.draft.who.same_queue or self.preemptive(self.waiting_group, [pod])


class AnywhereInTree(Anywhere, Treed):
    """The same over a tree of queues."""

    def __init__(self, *arguments: Any, action: str, **more: Any) -> None:
        super().__init__(*arguments, action=action, **more)
        self.asker = self.waiting_group.queue


@dataclass(frozen=True)
class Limited:
    """A cluster in which the limit of a queue is nearly used up, and one gang waits."""

    scenario: Scenario
    tiers: tuple[tuple[str, ...], ...]
    action: str

    @property
    def in_tree(self) -> bool:
        """Whether queues stand in a tree, with a common limit above."""
        return self.action == "reclaim"

    @property
    def configured(self) -> tuple[tuple[Any, ...], ...]:
        """The tiers as the configuration has them."""
        entries: dict[str, Any] = {"gang": {"name": "gang", "enablePreemptable": False, "enableReclaimable": False}}
        if self.in_tree:
            entries["capacity"] = {"name": "capacity", "enableHierarchy": True}
        return tuple(tuple(entries.get(each, each) for each in tier) for tier in self.tiers)

    @property
    def arguments(self) -> dict[str, Mapping[str, Any]]:
        """Arguments by plugin and action. `leastHarm` is left at its default."""
        return {**AS_VOLCANO, "proportion": {"lendIdle": False, **AS_VOLCANO["proportion"]}, "capacity": {LEVELS: 0}}


def limited(chance: Random) -> Limited:
    """Make a case: pods use the limit of a queue on several nodes, and a gang of that queue waits.

    Its victims are of its own queue, or of a sibling below the same parent. In a tree where several pods wait, pods of
    other queues are alike, since the search places one pod after the other: victims that it chooses for the first may
    leave a queue what it deserves, where others would also have served the second.
    """
    in_tree = chance.random() < 0.5
    tasks = chance.choice([1, 1, 2, 3])
    scenario = Scenario()
    for name, value in PRIORITIES.items():
        scenario = scenario.priority_class(name, value)
    cap: dict[str, Any] = {"cpu": chance.randint(3, 8)}
    if chance.random() < 0.3:
        cap["memory"] = f"{chance.randint(3, 12)}Gi"
    scenario = _with_tree(scenario, cap, chance) if in_tree else scenario.queue("ours", capability=cap).queue("theirs")
    free: dict[str, list[int]] = {}
    for number in range(chance.randint(2, 4)):
        cpu, gib = chance.randint(2, 8), chance.choice([8, 16])
        free[f"n{number}"] = [cpu, gib]
        labels = {"disk": chance.choice(["ssd", "hdd"])}
        scenario = scenario.node(f"n{number}", cpu=cpu, memory=f"{gib}Gi", labels=labels)
    left = cap["cpu"] if chance.random() < 0.85 else NO_LIMIT
    scenario = _with_work(scenario, free, left, chance, in_tree=in_tree, alike=in_tree and tasks > 1)
    kind, cpu, gib = chance.choice(["mid", "high", "high"]), chance.randint(1, 4), chance.choice([0, 0, 1, 3])
    scenario = scenario.job(
        WAITING,
        tasks=0,
        phase="Inqueue",
        queue="ours",
        min_available=tasks,
        priority_class=kind,
        priority=PRIORITIES[kind],
    )
    spec = {"nodeSelector": {"disk": "ssd"}} if chance.random() < 0.5 else {}
    for number in range(tasks):
        scenario = scenario.pod(
            f"{WAITING}-{number}",
            job=WAITING,
            cpu=cpu,
            memory=f"{gib}Gi" if gib else None,
            priority=PRIORITIES[kind],
            spec=spec,
        )
    tiers = BY_CAPACITY if in_tree else chance.choice([BY_CAPACITY, BY_PROPORTION])
    return Limited(scenario, tiers, "reclaim" if in_tree else "preempt")


def _with_tree(scenario: Scenario, cap: Mapping[str, Any], chance: Random) -> Scenario:
    scenario = scenario.queue("root", capability=chance.choice([None, None, {"cpu": 10}]))
    scenario = scenario.queue("above", parent="root", deserved={"cpu": cap["cpu"]}, capability=cap)
    scenario = scenario.queue("ours", parent="above", deserved={"cpu": chance.randint(1, 5)})
    scenario = scenario.queue("sibling", parent="above", deserved={"cpu": chance.randint(0, 3)})
    return scenario.queue("theirs", parent="root", deserved={"cpu": chance.randint(1, 4)})


def _with_work(
    scenario: Scenario, free: dict[str, list[int]], left: int, chance: Random, *, in_tree: bool, alike: bool
) -> Scenario:
    """Add jobs that run, within the limit that the first queues share; those that are `alike` are no gangs."""
    shape = (chance.choice([1, 1, 2]), chance.choice([0, 1, 2]))
    pods = 0
    for number in range(chance.randint(2, 6)):
        cpu, gib = shape if alike else (chance.choice([1, 1, 2, 3]), chance.choice([0, 1, 2]))
        queue = chance.choice(["sibling", "sibling", "theirs", "ours"] if in_tree else ["ours", "ours", "theirs"])
        on: list[str] = []
        for _ in range(min(chance.choice([1, 1, 2, 3]), MOST_VICTIMS - pods)):
            nodes = [name for name, (cpus, gibs) in free.items() if cpus >= cpu and gibs >= gib]
            if nodes and (queue == "theirs" or left >= cpu):
                left -= cpu * (queue != "theirs")
                on.append(chance.choice(nodes))
                free[on[-1]] = [free[on[-1]][0] - cpu, free[on[-1]][1] - gib]
        pods += len(on)
        kind = chance.choice(["low", "low", "mid"])
        if on:
            scenario = scenario.job(
                f"v{number}",
                tasks=len(on),
                min_available=1 if alike else chance.choice([1, len(on), chance.randint(1, len(on))]),
                queue=queue,
                cpu=cpu,
                memory=f"{gib}Gi" if gib else None,
                running_on=on,
                priority_class=kind,
                priority=PRIORITIES[kind],
            )
    return scenario
