"""The plain scheduler evicts: preempt, reclaim, gangpreempt and gangreclaim as their pages say, pod by pod.

No arrays, nothing remembered from one attempt to the next, no bound that spares a look: every node is tried, every
victim evicted for a try, and everything is put back by copies of the whole cluster.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import groupby
from typing import Any

from tests.differential.cluster import Group, Node, Pod
from tests.differential.parts import Part
from tests.differential.policy import Policy
from tests.differential.vetoes import ACTIVE, Vetoes

Unit = list[Pod]
PATIENCE = 4


@dataclass
class Who:
    """What tells the actions apart."""

    action: str
    point: str
    statuses: tuple[str, ...]
    same_queue: bool
    may_go: Callable[[Group, Group], bool]
    by_harm: bool = False
    by_score: bool = False
    inside: bool = False
    within: bool = False
    """Whether room is taken from other owners in one queue, whatever the priorities."""


@dataclass
class Draft:
    """A plan in the making."""

    group: Group
    who: Who
    whole: bool
    domain: str = ""
    """Where the job may lie; the root where it does not mind."""
    units: list[Unit] = field(default_factory=list)
    places: list[tuple[Pod, Node]] = field(default_factory=list)


class Evicting(Vetoes):
    """One cycle with actions that evict."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.least_harm = self.arguments.get("preempt", {}).get("enableTopologyAwarePreemption", False)
        self.evicting: list[dict[str, Any]] = []
        """Plans that evict: victims, and the places of the pods that wait for the capacity."""
        self.began_waiting = {group.key for group in self.cluster.groups.values() if group.count("Pending")}
        """Groups with pods that waited when the cycle began."""
        self.following: Sequence[str] = ()
        """The action at work and those after it."""

    def run(self, actions: Sequence[str]) -> None:
        """Run actions in order."""
        for number, action in enumerate(actions):
            self.following = actions[number:]
            getattr(self, action)(actions)
        self.lend(actions)

    # Putting back

    def picture(self) -> Any:
        """Copy all that an attempt can change."""
        pods = [(pod, pod.status, pod.node) for pod in self.cluster.pods]
        return pods, list(self.cluster.placed), list(self.cluster.evicted)

    def put_back(self, picture: Any) -> None:
        """Make everything as it was."""
        pods, placed, evicted = picture
        for pod, status, node in pods:
            pod.status, pod.node = status, node
        self.cluster.placed[:], self.cluster.evicted[:] = placed, evicted

    # Preempt

    def preempt(self, _: Sequence[str]) -> None:
        """Queue by queue, job by job; then inside each job."""

        def who(*, inside: bool) -> Who:
            return Who(
                action="preempt",
                point="preemptable",
                statuses=("Running", "Bound"),
                same_queue=True,
                may_go=lambda mine, other: (mine is other) is inside,
                by_harm=self.least_harm,
                by_score=not self.least_harm,
                inside=inside,
            )

        starving = [group for group in self.waiting_groups() if self.starving(group)]
        work = self.by_queue(starving)
        while work:
            name = min(work, key=self.queue_key)
            for _key, group in work.pop(name):
                self.plan(group, who(inside=False))
            for group in starving:
                if group.queue == name:
                    self.rearrange(group, who(inside=True))

    def rearrange(self, group: Group, who: Who) -> None:
        """Let pods take the places of less important ones of their own job."""
        for pod in self.eligible(group):
            if not self.exchange(group, pod, who):
                return

    # Reclaim

    def reclaim(self, _: Sequence[str]) -> None:
        """Queues take turns, one job a turn."""
        who = Who(
            action="reclaim",
            point="reclaimable",
            statuses=("Running",),
            same_queue=False,
            may_go=lambda _, other: self.cluster.queues[other.queue].reclaimable,
        )
        work = self.by_queue(group for group in self.waiting_groups() if self.starving(group))
        while work:
            name = min(work, key=self.queue_key)
            if not work[name]:
                del work[name]
                continue
            _key, group = work[name].pop(0)
            if self.reclaims_within(self.eligible(group)) and self.plan(group, self.within_queue("reclaim")):
                continue
            if self.overused(group):
                continue
            self.plan(group, who, permits=lambda pod, group=group: self.preemptive(group, [pod]))  # type: ignore[misc]

    def within_queue(self, action: str) -> Who:
        """Reclaim from other owners in one queue."""
        for_gangs = action == "gangreclaim"
        return Who(
            action=action,
            point="gang reclaimable" if for_gangs else "reclaimable",
            statuses=("Running",),
            same_queue=True,
            may_go=lambda mine, other: mine is not other and (other.preemptable or not for_gangs),
            within=True,
        )

    def reclaims_within(self, pods: Sequence[Pod]) -> bool:
        """Whether some of the pods may take room from other owners in its queue."""
        return any(policy.reclaims_within(pod) for policy in self.policies.values() for pod in pods)

    # Whole gangs

    def gangpreempt(self, _: Sequence[str]) -> None:
        """Queue by queue, gang by gang."""
        who = Who(
            action="gangpreempt",
            point="gang preemptable",
            statuses=("Running", "Bound"),
            same_queue=True,
            may_go=lambda mine, other: mine is not other and other.preemptable and other.priority < mine.priority,
        )
        for group in self.in_turn():
            self.plan_for_gang(group, who)

    def gangreclaim(self, _: Sequence[str]) -> None:
        """Queue by queue, gang by gang, where the queue may take room."""
        who = Who(
            action="gangreclaim",
            point="gang reclaimable",
            statuses=("Running",),
            same_queue=False,
            may_go=lambda _, other: other.preemptable and self.cluster.queues[other.queue].reclaimable,
        )
        for group in self.in_turn():
            if self.reclaims_within(self.worth_placing(group)) and self.plan_for_gang(
                group, self.within_queue("gangreclaim")
            ):
                continue
            if not self.overused(group) and self.may_take_room(group):
                self.plan_for_gang(group, who)

    def may_take_room(self, group: Group) -> bool:
        """Whether the queue may take room for all of a gang, or for some that make it ready."""
        pods = self.worth_placing(group)
        able = [pod for pod in pods if self.could_run(pod)]
        return self.preemptive(group, pods) or any(self.preemptive(group, each) for each in self.choices(group, able))

    def choices(self, group: Group, pods: Sequence[Pod]) -> Iterator[list[Pod]]:
        """Pods that make a gang ready: in order, then the smallest by share of the cluster, then by each resource."""
        total = self.cluster.total

        def share(pod: Pod) -> Fraction:
            return max(Fraction(number, max(total.get(name, 0), 1)) for name, number in pod.request.items())

        names = sorted({name for pod in pods for name in pod.request})
        by_name: list[Callable[[Pod], Any]] = [lambda pod, name=name: pod.request.get(name, 0) for name in names]  # type: ignore[misc]
        for order in [pods, sorted(pods, key=share), *(sorted(pods, key=key) for key in by_name)]:
            needed = [pod for _, step in self.steps(group, order) for pod in step]
            if len(needed) >= group.minimum - group.ready - group.light - group.count("Pipelined"):
                yield needed

    def in_turn(self) -> Iterator[Group]:
        """Starving groups: each queue has one turn."""
        work = self.by_queue(group for group in self.waiting_groups() if self.starving(group))
        while work:
            name = min(work, key=self.queue_key)
            yield from (group for _key, group in work.pop(name))

    def worth_placing(self, group: Group) -> list[Pod]:
        """The pods of a gang that need room, those first that make it ready."""
        pods = [pod for pod in self.eligible(group) if not pod.best_effort]
        able = [pod for pod in pods if self.could_run(pod)]
        needed = [pod for _, step in self.steps(group, able) for pod in step]
        return needed + [pod for pod in pods if pod not in needed]

    def could_run(self, pod: Pod) -> bool:
        """Whether some node could hold a pod when it is empty."""
        asked = {"pods": 1, **pod.request}
        return any(
            self.always_permits(pod, node) and all(node.offers.get(name, 0) >= each for name, each in asked.items())
            for node in self.cluster.nodes
        )

    def modes(self, who: Who) -> tuple[bool, ...]:
        """Whether gangs may go whole, in the order in which plans are sought."""
        return (False, True) if self.arguments.get(who.action, {}).get("allowWholeBundle", True) else (False,)

    def plan_for_gang(self, group: Group, who: Who) -> bool:
        """Evict over all nodes until the minimum has its places, or change nothing; whether it has."""
        pods = self.worth_placing(group)
        modest = [pod for pod in self.modest(group) if not pod.best_effort]
        for others in ([], modest) if modest else ([],):
            for whole in self.modes(who) if pods else ():
                before = self.picture()
                draft = Draft(group, who, whole)
                made = self.make_room_beside(draft, others, pods) if others else self.make_room(draft, pods)
                if made and self.finish(draft, before):
                    return True
                self.put_back(before)
        return False

    def make_room_beside(self, draft: Draft, modest: Sequence[Pod], pods: Sequence[Pod]) -> bool:
        """Place pods that use idle room alone, and evict for one of the others after the other."""

        def place(pod: Pod) -> bool:
            return self.place_free(draft, pod) if pod in modest else self.find_place(draft, pod)

        group = draft.group
        self.fill(draft, [*modest, *pods], lambda: not self.pipelined(group) or group.only_succeeded, place)
        return bool(draft.places) and self.pipelined(group) and self.completes(draft)

    def make_room(self, draft: Draft, pods: Sequence[Pod]) -> bool:
        """Evict over all nodes; where that is in vain, for one pod after the other where its place is to be."""
        before = self.picture()
        if self.place_all(draft, pods) or self.evict_over_all(draft, pods):
            return True
        self.put_back(before)
        draft.units, draft.places = [], []
        group = draft.group
        self.fill(
            draft,
            pods,
            lambda: not self.pipelined(group) or group.only_succeeded,
            lambda pod: self.find_place(draft, pod),
        )
        return bool(draft.places) and self.pipelined(group) and self.completes(draft)

    def evict_over_all(self, draft: Draft, pods: Sequence[Pod]) -> bool:
        """Evict one after the other; try whenever amounts could suffice, after a failure a quarter more."""
        untried = 0
        freed: list[Pod] = []
        everybody = [pod for node in self.usable() for pod in self.filters.on(node)]
        lacking = self.lacking(draft.group, pods)
        in_turn = self.in_turn_for(draft, pods[0], everybody)
        for unit in self.evict_in_turn(draft, pods[0], self.permitted_of(draft, pods[0], in_turn)):
            draft.units.append(unit)
            freed += unit
            untried += 1
            suffices = all(sum(pod.request.get(name, 0) for pod in freed) >= lack for name, lack in lacking.items())
            if suffices and untried * PATIENCE >= len(draft.units):
                if self.place_all(draft, pods):
                    return True
                untried = 0
        return untried > 0 and self.place_all(draft, pods)

    def usable(self) -> list[Node]:
        """The nodes on which room may be made."""
        return self.cluster.nodes

    def lacking(self, group: Group, pods: Sequence[Pod]) -> Mapping[str, int]:
        """What the smallest choice of pods lacks on all nodes together."""
        needed = min(len(pods), max(group.minimum - group.ready - group.light, 1))
        lacking = {}
        for name in {name for node in self.cluster.nodes for name in node.offers} | {
            n for pod in pods for n in pod.request
        }:
            asked = sorted(pod.request.get(name, 0) for pod in pods)[:needed]
            lacking[name] = sum(asked) - sum(max(0, self.room(node, name, later=True)) for node in self.usable())
        return lacking

    def place_all(self, draft: Draft, pods: Sequence[Pod]) -> bool:
        """Place pods until the minimum is reached."""
        before, places = self.picture(), len(draft.places)
        group = draft.group
        self.fill(
            draft,
            pods,
            lambda: not self.pipelined(group) or group.only_succeeded,
            lambda pod: self.place_free(draft, pod),
        )
        if draft.places and self.pipelined(group) and self.completes(draft):
            return True
        self.put_back(before)
        del draft.places[places:]
        return False

    # What makes a job ready

    def made_up(self, part: Part) -> bool:
        """Whether single pods of a part are worth placing."""
        return not part.group.policies or self.part_pipelined(part)

    def fill(
        self, draft: Draft, pods: Sequence[Pod], goes_on: Callable[[], bool], place: Callable[[Pod], bool]
    ) -> None:
        """Place the pods that make a job ready; who finds no place is left out, and the choice is made again."""
        left, failed = list(pods), True
        while failed:
            failed = False
            for part, step in self.steps(draft.group, left):
                if not goes_on():
                    break
                if step[0] not in left:
                    continue
                if self.made_up(part):
                    tried, placed = step, [pod for pod in step if self.place_somewhere(draft, part, pod, place)]
                else:
                    others = [pod for pod in left if pod in part.members and pod not in step]
                    tried, placed = self.make_up(draft, part, [*step, *others], place)
                left = [pod for pod in left if pod not in tried]
                failed = failed or len(placed) < len(tried)
                if 0 < len(placed) < len(tried):
                    break
        for pod in left:
            part = next(each for each in self.parts(draft.group) if pod in each.members)
            if self.made_up(part) and goes_on():
                self.place_somewhere(draft, part, pod, place)

    def place_somewhere(self, draft: Draft, part: Part, pod: Pod, place: Callable[[Pod], bool]) -> bool:
        """Place a pod where its part may lie."""
        return any(self.within(site, lambda: place(pod)) for site in self.sites(draft, part))

    def make_up(
        self, draft: Draft, part: Part, pods: Sequence[Pod], place: Callable[[Pod], bool]
    ) -> tuple[list[Pod], list[Pod]]:
        """Place pods of a part until it has its minimum, or none of them; who was tried, and who has a place."""
        for site in self.sites(draft, part):
            before, units, places = self.picture(), len(draft.units), len(draft.places)
            tried: list[Pod] = []
            placed: list[Pod] = []
            for pod in pods:
                if not self.made_up(part):
                    tried.append(pod)
                    if self.within(site, lambda pod=pod: place(pod)):  # type: ignore[misc]
                        placed.append(pod)
            if self.made_up(part):
                return tried, placed
            self.put_back(before)
            del draft.units[units:]
            del draft.places[places:]
        return list(pods), []

    def sites(self, draft: Draft, part: Part) -> Sequence[Any]:  # noqa: ARG002  # where domains count, they differ
        """Where a part may lie, best first."""
        return [None]

    def within(self, site: Any, act: Callable[[], bool]) -> bool:  # noqa: ARG002
        """Do something in a place where a part may lie."""
        return act()

    # For nobody's sake

    def shuffle(self, _: Sequence[str]) -> None:
        """Evict the pods that the plugins of the first tier with an answer name."""
        running = [pod for group in self.cluster.groups.values() for pod in group.pods if pod.status == "Running"]
        first_to_go = [pod for key in reversed(self.cluster.groups) for pod in self.last_first(key, running)]
        left = self.arguments.get("shuffle", {}).get("maxEvictions") or math.inf
        for policy, named in self.named(first_to_go):
            for _, together in groupby(named, key=policy.bound_of):
                evicted: list[str] = []
                for pod in together:
                    unit = self.unit_to_move(policy, pod)
                    if not unit or len(unit) > left or not self.may_move(unit):
                        continue
                    self.evict(unit)
                    left -= len(unit)
                    if len(unit) > 1:
                        self.evicting.append({"evicted": [each.key for each in unit], "for": []})
                    else:
                        evicted += [each.key for each in unit]
                if evicted:
                    self.evicting.append({"evicted": evicted, "for": []})

    def unit_to_move(self, policy: Policy, pod: Pod) -> Unit:
        """A pod that its gang can spare, or the pod and the rest of its gang; none if these may not go together."""
        group = self.group_of(pod)
        if pod.status != "Running":
            return []
        if self.can_spare(group, pod):
            return [pod]
        if policy.takes_gang(pod):
            gang = [each for each in group.pods if each.status in ACTIVE]
            rest = [each for each in self.last_first(group.key, gang) if each is not pod]
            nodes = {node.name for node in self.cluster.nodes}
            may_go = all(
                each.preemptable and each.status in ("Running", "Bound") and each.node in nodes for each in rest
            )
            return [pod, *rest] if may_go else []
        return [pod] if policy.breaks_gang(pod) else []

    def may_move(self, unit: Unit) -> bool:
        """Whether all policies permit to evict a unit."""
        return all(len(policy.may_move(unit)) == len(unit) for policy in self.policies.values())

    def last_first(self, key: str, pods: Sequence[Pod]) -> list[Pod]:
        """The pods of a group, last ones first."""
        return sorted((pod for pod in pods if pod.group == key), key=self.pod_key, reverse=True)

    def named(self, pods: Sequence[Pod]) -> list[tuple[Policy, list[Pod]]]:
        """Names by object."""
        for tier in self.tiers:
            found = [(self.policies[name], self.policies[name].names(pods)) for name in tier if name in self.policies]
            if any(named for _, named in found):
                return found
        return []

    # Plans

    def waiting_groups(self) -> list[Group]:
        """Groups past the gate with pods that wait, and waited when the cycle began, that can have their minimum."""
        return [
            group
            for group in self.cluster.groups.values()
            if group.phase not in ("", "Pending") and group.key in self.began_waiting and self.valid(group)
        ]

    def starving(self, group: Group) -> bool:
        """Whether evictions may be made for a job: all plugins of the first tier that has a say agree."""
        placed = group.ready + group.count("Pipelined")
        says: dict[str, bool | None] = {plugin: policy.starves(group) for plugin, policy in self.policies.items()}
        short = placed < group.minimum or self.lacks_part(group) or group.only_succeeded
        says |= {"priority": placed < len(group.pods), "gang": short}
        for tier in self.tiers:
            answers = [says[plugin] for plugin in tier if says.get(plugin) is not None]
            if answers:
                return all(answers)
        return False

    def eligible(self, group: Group) -> list[Pod]:
        """Pods for which others may be evicted, first to be placed first."""
        return [pod for pod in self.placeable(group) if pod.spec.get("preemptionPolicy") != "Never"]

    def modest(self, group: Group) -> list[Pod]:
        """Pods that use idle room alone."""
        return [pod for pod in self.placeable(group) if pod.spec.get("preemptionPolicy") == "Never"]

    def placeable(self, group: Group) -> list[Pod]:
        """Waiting pods, first to be placed first."""
        pods = [pod for pod in group.pods if pod.status == "Pending" and not pod.gated]
        return sorted(pods, key=self.own_key)

    def plan(self, group: Group, who: Who, *, permits: Callable[[Pod], bool] = lambda _: True) -> bool:
        """Place what makes a job ready, and more as long as it starves; first without taking gangs whole."""
        for whole in (False, True):
            before = self.picture()
            draft, eligible = Draft(group, who, whole), self.eligible(group)
            modest = self.modest(group)

            def place(pod: Pod, draft: Draft = draft, modest: Sequence[Pod] = modest) -> bool:
                return self.place_free(draft, pod) if pod in modest else permits(pod) and self.find_place(draft, pod)

            self.fill(
                draft,
                [*modest, *eligible] if eligible else [],
                lambda: self.starving(group) or not self.pipelined(group),
                place,
            )
            made = bool(draft.places) and self.pipelined(group) and self.completes(draft)
            if made and self.finish(draft, before):
                return True
            self.put_back(before)
        return False

    def exchange(self, group: Group, pod: Pod, who: Who) -> bool:
        """Place a pod in the places of less important ones of its job."""
        before = self.picture()
        draft = Draft(group, who, whole=False)
        if self.find_place(draft, pod) and self.finish(draft, before):
            return True
        self.put_back(before)
        return False

    def find_place(self, draft: Draft, pod: Pod) -> bool:
        """Place a pod where there is room, else where evictions make some."""
        if not draft.who.inside and self.place_free(draft, pod):
            return True
        modes = (False, True) if draft.whole else (False,)
        return any(self.find_place_by_evicting(draft, pod, whole=whole) for whole in modes)

    def find_place_by_evicting(self, draft: Draft, pod: Pod, *, whole: bool) -> bool:
        """Place a pod on the first node where evictions make room, of whole gangs or not."""
        before, draft.whole = draft.whole, whole
        found = any(self.evict_on(draft, pod, node) for node in self.in_order(draft, pod))
        draft.whole = before
        return found

    def place_free(self, draft: Draft, pod: Pod) -> bool:
        """Place a pod where room is free or being released."""
        if not self.allocatable(draft.group, pod):
            return False
        choice = self.choose(pod)
        if choice is None:
            return False
        self.settle(draft, pod, choice[0])
        return True

    def settle(self, draft: Draft, pod: Pod, node: Node) -> None:
        """Let a pod wait on a node."""
        self.put(pod, node, "Pipelined")
        draft.places.append((pod, node))

    def in_order(self, draft: Draft, pod: Pod) -> Iterable[Node]:
        """Nodes in the order in which they are tried."""
        if draft.who.by_harm:
            return self.least_harm_first(draft, pod)
        if not draft.who.by_score:
            return [node for node in self.cluster.nodes if self.helps(pod, node)]
        nodes = [node for node in self.cluster.nodes if self.always_permits(pod, node)]
        total = self.scores(pod, nodes)
        return sorted(nodes, key=lambda node: -total[node.name])

    def always_permits(self, pod: Pod, node: Node) -> bool:
        """Whether nothing about a node but pods on it keeps a pod away."""
        return self.helps(pod, node) and (not self.has("predicates") or self.filters.permit_by_facts(pod, node))

    def helps(self, pod: Pod, node: Node) -> bool:
        """Whether evicting from a node can help."""
        return all(policy.could_permit(pod, node) for policy in self.policies.values())

    def least_harm_first(self, draft: Draft, pod: Pod) -> list[Node]:
        """Try all nodes, and rank them by their victims."""
        tried = []
        for number, node in enumerate(each for each in self.cluster.nodes if self.helps(pod, each)):
            before = self.picture()
            trial = Draft(draft.group, draft.who, draft.whole)
            if self.evict_on(trial, pod, node):
                self.thin_out(trial, before)
                tried.append((self.harm([pod for unit in trial.units for pod in unit]), number, node))
            self.put_back(before)
        return [node for *_, node in sorted(tried, key=lambda each: each[:2])]

    @staticmethod
    def harm(victims: Sequence[Pod]) -> tuple[Any, ...]:
        """The highest priority; the sum, each from the lowest possible; the number; when the most important started."""
        highest = max((pod.priority for pod in victims), default=-(2**31))
        started = min((pod.started for pod in victims if pod.priority == highest), default=math.inf)
        return highest, sum(pod.priority + 2**31 for pod in victims), len(victims), -started

    def evict_on(self, draft: Draft, pod: Pod, node: Node) -> bool:
        """Evict from a node until it takes the pod: first victim first, then, if gangs spare few, by what they free."""
        in_turn = self.in_turn_for(draft, pod, self.filters.on(node))
        permitted = self.permitted_of(draft, pod, in_turn)
        if self.evict_until_it_fits(draft, pod, node, permitted):
            return True
        if not permitted or len(permitted) == len(in_turn):
            return False
        by_help = sorted(in_turn, key=lambda victim: self.help_of(victim, pod, node), reverse=True)
        return by_help != in_turn and self.evict_until_it_fits(draft, pod, node, self.permitted_of(draft, pod, by_help))

    def help_of(self, victim: Pod, pod: Pod, node: Node) -> Fraction:
        """How much of what a pod lacks on a node another one would free there."""
        lacking = {name: asked - self.room(node, name, later=True) for name, asked in pod.request.items()}
        return sum(
            (Fraction(min(victim.request.get(name, 0), lack), lack) for name, lack in lacking.items() if lack > 0),
            start=Fraction(0),
        )

    def evict_until_it_fits(self, draft: Draft, pod: Pod, node: Node, permitted: list[Pod]) -> bool:
        """Evict one after the other until a node takes the pod."""
        before = self.picture()
        units = []
        for unit in self.evict_in_turn(draft, pod, permitted):
            units.append(unit)
            if self.takes(draft.group, pod, node):
                self.settle(draft, pod, node)
                draft.units += units
                return True
        self.put_back(before)
        return False

    def takes(self, group: Group, pod: Pod, node: Node) -> bool:
        """Whether node and queue take a pod, on room that will be free."""
        return self.fits(pod, node, later=True) and self.permits(pod, node) and self.allocatable(group, pod)

    def evict_in_turn(self, draft: Draft, pod: Pod, permitted: list[Pod]) -> Iterator[Unit]:
        """Let go what may, one unit after the other; after a gang, of those who might have gone, who may still."""
        left = list(permitted)
        while left:
            unit = self.unit(draft, pod, left.pop(0))
            if unit is None:
                continue
            self.evict(unit)
            yield unit
            if len(unit) > 1:
                left = [each for each in left if each not in unit]
                left = self.permitted(draft.who.point, pod, left, within=draft.who.within) if left else []

    def in_turn_for(self, draft: Draft, pod: Pod, pods: Iterable[Pod]) -> list[Pod]:
        """Which of some pods may be proposed as victims, first to go first."""
        return self.leave_first([each for each in pods if self.considers(draft, pod, each)])

    def permitted_of(self, draft: Draft, pod: Pod, in_turn: Sequence[Pod]) -> list[Pod]:
        """Which of them may go, by their gangs and the plugins."""
        sparable = self.sparable(draft, in_turn)
        return self.permitted(draft.who.point, pod, sparable, within=draft.who.within) if sparable else []

    def sparable(self, draft: Draft, pods: Sequence[Pod]) -> list[Pod]:
        """Those whose gangs can spare them one after the other, and the last of a gang; all where gangs go whole."""
        gone: dict[str, list[Pod]] = {}
        for pod in pods:
            group, before = self.group_of(pod), gone.setdefault(pod.group, [])
            is_last = group.count(*ACTIVE) - len(before) == 1
            if draft.whole or group is draft.group or is_last or self.spares(group, before, pod):
                before.append(pod)
        return [pod for pod in pods if pod in gone[pod.group]]

    def considers(self, draft: Draft, pod: Pod, victim: Pod) -> bool:
        """Whether a pod may be proposed as a victim."""
        who, other = draft.who, self.cluster.groups.get(victim.group)
        if other is None or victim.status not in who.statuses or not victim.preemptable:
            return False
        if (other.queue == draft.group.queue) is not who.same_queue:
            return False
        if pod.best_effort and not victim.best_effort and who.same_queue:
            return False
        if who.same_queue and not who.within and self.outranks(victim, pod):
            return False
        return who.may_go(draft.group, other)

    def unit(self, draft: Draft, pod: Pod, victim: Pod) -> Unit | None:
        """What goes with a victim: itself where its gang can spare it, else the whole gang where that may be."""
        if victim.status not in draft.who.statuses:
            return None
        group = self.group_of(victim)
        if group is draft.group or self.can_spare(group, victim):
            return [victim]
        if not draft.whole:
            return None
        gang = self.leave_first([each for each in group.pods if each.status in ACTIVE])
        if not all(self.considers(draft, pod, each) for each in gang):
            return None
        point, within = draft.who.point, draft.who.within
        if draft.who.same_queue and not within and group.priority >= draft.group.priority:
            return gang if len(self.permitted(point, pod, gang)) == len(gang) else None
        return gang if all(self.permitted(point, pod, [each], gang, within=within) for each in gang) else None

    def evict(self, unit: Unit) -> None:
        """Let pods leave."""
        for pod in unit:
            pod.status = "Releasing"
            self.cluster.placed.remove(pod)
            self.cluster.evicted.append(pod)

    def completes(self, draft: Draft) -> bool:
        """Place pods that ask for nothing where the minimum needs them; whether it has all of them."""
        group = draft.group
        for pod in sorted((each for each in group.pods if each.status == "Pending"), key=self.own_key):
            if not self.waits_for_light(group):
                break
            if group.counts(pod) and not pod.gated:
                self.place_free(draft, pod)
        return not self.waits_for_light(group)

    def waits_for_light(self, group: Group) -> bool:
        """Whether a minimum counts on pods that ask for nothing and have no place yet."""
        if not group.light:
            return False
        placed = [pod for pod in group.pods if pod.status in (*ACTIVE, "Succeeded", "Pipelined")]
        checks = group.minimum >= sum(group.by_role.values())
        lacks = checks and any(
            sum(pod.role == role for pod in placed) < least for role, least in group.by_role.items() if least > 0
        )
        return len(placed) < group.minimum or lacks

    def finish(self, draft: Draft, before: Any) -> bool:
        """Give back victims that are not needed, and carry the plan out; what needs no victims others bind."""
        self.thin_out(draft, before)
        if not self.had_in_turn(draft, before):
            return False
        if draft.units:
            evicted = [pod.key for unit in draft.units for pod in unit]
            self.evicting.append({"evicted": evicted, "for": [(pod.key, node.name) for pod, node in draft.places]})
        elif "allocate" in self.following or all(pod.best_effort for pod, _ in draft.places):
            self.put_back(before)
        return True

    def had_in_turn(self, draft: Draft, before: Any) -> bool:
        """Whether pods that are given something on their nodes get it one by one when all victims are gone."""
        if not draft.units or not any(each.gives(pod) for each in self.policies.values() for pod, _ in draft.places):
            return True
        self.put_back(before)
        return self.holds_with(draft, draft.units)

    def thin_out(self, draft: Draft, before: Any) -> None:
        """Try for each unit, last one first, whether everything keeps its place without it."""
        for unit in reversed(list(draft.units)):
            now = self.picture()
            kept = [each for each in draft.units if each is not unit]
            self.put_back(before)
            if self.holds_with(draft, kept):
                draft.units = kept
            else:
                self.put_back(now)

    def holds_with(self, draft: Draft, units: Sequence[Unit]) -> bool:
        """Evict units, and place all pods where they were."""
        for unit in units:
            self.evict(unit)
        lost = [pod for unit in units for pod in unit]
        for group in {self.group_of(pod).key: self.group_of(pod) for pod in lost}.values():
            if group is not draft.group and not self.is_intact(group, [pod for pod in lost if pod.group == group.key]):
                return False
        for pod, node in draft.places:
            if not self.takes(draft.group, pod, node):
                return False
            self.put(pod, node, "Pipelined")
        return True
