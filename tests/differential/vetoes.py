"""Victims and preemptors: each plugin's rule, victim by victim, and how the tiers' answers combine."""

from collections.abc import Iterator, Sequence
from typing import Any

from tests.differential.capacity import NAMES, Declared, PlainPod, PlainQueue
from tests.differential.cluster import READY, Amounts, Group, Pod
from tests.differential.parts import Part, parts_of
from tests.differential.plain import Plain
from tests.differential.policy import Key, Rule

ACTIVE = ("Running", "Bound", "Binding", "Allocated")
SYSTEM = ("system-cluster-critical", "system-node-critical")
CLOSE = 0.000001
"""Dominant shares that differ by less are equal."""
SPELLED = {"cpu": "cpu", "memory": "memory", "gpu": "nvidia.com/gpu", "pods": "pods"}


class Vetoes(Plain):
    """A cycle with possible evictions."""

    # Queues

    def queue_key(self, name: str) -> Key:
        """Queues: capacity has an order of its own."""
        if not self.has("capacity"):
            return super().queue_key(name)
        queue, declared = self.cluster.queues[name], self.declared()
        promised = any(declared.deserved(name, what) for what in NAMES)
        return (-queue.priority, declared.share(name), not promised, queue.created, name)

    def allocatable(self, group: Group, pod: Pod) -> bool:
        """Whether a queue may have one pod more."""
        if self.has("capacity") and not (self.is_open(group) and self.declared().allocatable(plain_pod(pod, group))):
            return False
        return super().allocatable(group, pod)

    def preemptive(self, group: Group, pods: Sequence[Pod]) -> bool:
        """Whether a queue may take room from others for some pods together."""
        request: Amounts = {}
        for pod in pods:
            for name, number in pod.request.items():
                request[name] = request.get(name, 0) + number
        if self.has("capacity"):
            together = PlainPod("", group.queue, renamed(request), is_placed=False)
            if not (self.is_open(group) and self.declared().preemptive(together)):
                return False
        return not self.has("proportion") or self.shares.takes(group.queue, request)

    def overused(self, group: Group) -> bool:
        """Whether a queue has had enough."""
        return self.has("proportion") and self.shares.overused(group.queue)

    def is_open(self, group: Group) -> bool:
        """Whether a queue takes new work."""
        return self.cluster.queues[group.queue].state == "Open"

    # Gangs

    def spares(self, group: Group, gone: Sequence[Pod], pod: Pod, *, instead: Pod | None = None) -> bool:
        """Whether a group has its minimums without a pod when others have gone already, and one of its own comes."""
        if group.ready - len(gone) <= group.minimum:
            return False
        least = group.by_role.get(pod.role, 0)
        if group.minimum >= sum(group.by_role.values()) and least > 0:
            gone_of_role = sum(each.role == pod.role for each in gone)
            come_of_role = instead is not None and instead.role == pod.role and not group.counts(instead)
            if self.role_count(group, pod.role) + come_of_role - gone_of_role <= least:
                return False
        if not any(policy.get("minSubGroups", 0) > 0 for policy in group.policies):
            return True
        parts = parts_of(group)
        policy = next(part.policy for part in parts if pod in part.members)
        with_it = sum(part.policy == policy and self.stands(part, gone, instead) for part in parts)
        without = sum(part.policy == policy and self.stands(part, [*gone, pod], instead) for part in parts)
        needed = {each["name"]: each.get("minSubGroups", 0) for each in group.policies}.get(policy, 0)
        return without == with_it or without >= needed

    @staticmethod
    def stands(part: Part, gone: Sequence[Pod], come: Pod | None = None) -> bool:
        """Whether a part has its minimum without some pods and with another one."""
        counts = [pod for pod in part.members if pod is come or pod.status in READY or part.group.counts(pod)]
        return sum(pod not in gone for pod in counts) >= part.minimum

    def can_spare(self, group: Group, pod: Pod) -> bool:
        """Whether a group can lose a pod: it keeps its minimums, or this is its last one."""
        return group.count(*ACTIVE) == 1 or self.spares(group, (), pod)

    def is_intact(self, group: Group, lost: Sequence[Pod]) -> bool:
        """Whether a group has lost everything, or no minimum by what it lost; others it may have missed before."""
        if not group.count(*ACTIVE):
            return True
        if group.ready < group.minimum:
            return False
        checks = group.minimum >= sum(group.by_role.values())
        for role in {pod.role for pod in lost} if checks else ():
            if self.role_count(group, role) < group.by_role.get(role, 0):
                return False
        parts = parts_of(group) if group.policies else []
        for policy in group.policies:
            mine = [part for part in parts if part.policy == policy["name"]]
            standing = sum(self.stands(part, lost) for part in mine)
            stood = sum(self.stands_with(part, lost) for part in mine)
            if standing < stood and standing < policy.get("minSubGroups", 0):
                return False
        return True

    @staticmethod
    def stands_with(part: Part, lost: Sequence[Pod]) -> bool:
        """Whether a part had its minimum when it had lost nothing."""
        counts = [pod for pod in part.members if pod in lost or pod.status in READY or part.group.counts(pod)]
        return len(counts) >= part.minimum

    # Plugins

    def group_of(self, pod: Pod) -> Group:
        """The group of a pod."""
        return self.cluster.groups[pod.group]

    def by_priority(self, pod: Pod, candidates: list[Pod]) -> list[Pod]:
        """Less important groups; inside a group, less important pods."""
        mine = self.group_of(pod)
        return [
            each
            for each in candidates
            if (
                each.priority < pod.priority
                if each.group == pod.group
                else self.group_of(each).priority < mine.priority
            )
        ]

    def by_gang(self, pod: Pod, candidates: list[Pod]) -> list[Pod]:
        """What groups can spare together, first come first gone; the beneficiary makes up for one of its own group."""
        gone: list[Pod] = []
        for each in candidates:
            group = self.group_of(each)
            before = [other for other in gone if other.group == group.key]
            if self.spares(group, before, each, instead=pod if pod.group == group.key else None):
                gone.append(each)
        return gone

    def by_conformance(self, _: Pod, candidates: list[Pod]) -> list[Pod]:
        """All but what the cluster itself needs."""
        return [
            each
            for each in candidates
            if each.namespace != "kube-system" and each.spec.get("priorityClassName") not in SYSTEM
        ]

    def by_drf(self, pod: Pod, candidates: list[Pod]) -> list[Pod]:
        """Pods of groups that keep at least the share that the beneficiary would have."""
        wanted = self.share_with(self.group_of(pod), [pod], [])
        chosen = []
        for number, each in enumerate(candidates):
            group = self.group_of(each)
            kept = self.share_with(group, [], [one for one in candidates[: number + 1] if one.group == group.key])
            if wanted < kept or abs(wanted - kept) <= CLOSE:
                chosen.append(each)
        return chosen

    def share_with(self, group: Group, more: Sequence[Pod], less: Sequence[Pod]) -> float:
        """Dominant share of a group with some pods more and some less."""
        held = [pod for pod in group.pods if pod.status in (*ACTIVE, "Pipelined")]

        def amount(name: str) -> int:
            add, take = ([pod.counted.get(name, 0) for pod in pods] for pods in (more, less))
            return sum(pod.counted.get(name, 0) for pod in held) + sum(add) - sum(take)

        total = self.cluster.total
        return max((amount(name) / number for name, number in total.items() if number), default=0.0)

    def by_proportion(self, _: Pod, candidates: list[Pod]) -> list[Pod]:
        """Pods of queues that have more than they deserve of something, as long as they have."""
        chosen: list[Pod] = []
        for each in candidates:
            queue = self.group_of(each).queue
            gone = [other for other in chosen if self.group_of(other).queue == queue]
            left = self.shares.allocated(queue)
            for name in left:
                left[name] -= sum(other.counted.get(name, 0) for other in gone)
            if any(left[name] > deserved for name, deserved in self.shares.deserved[queue].items()):
                chosen.append(each)
        return chosen

    def by_capacity(self, pod: Pod, candidates: list[Pod]) -> list[Pod]:
        """Pods of queues that exceed their declared amounts, in the order of victims, for any preemptor."""
        declared, in_turn = self.declared(), self.leave_first(candidates)
        names = declared.victims(plain_pod(pod, self.group_of(pod)), [self.declared_pod(each) for each in in_turn])
        return [each for each in in_turn if each.key in names]

    def by_capacity_for_gang(self, _: Pod, candidates: list[Pod]) -> list[Pod]:
        """The same for a whole gang, which asks about the victim's own queue alone."""
        declared = self.declared()
        chosen = []
        for each in candidates:
            victim = self.declared_pod(each)
            if declared.keeps_guarantee(victim) and declared.has_too_much(victim, victim.queue):
                declared.gone.add(victim.name)
                chosen.append(each)
        return chosen

    def declared(self) -> Declared:
        """Queues and pods as capacity sees them now, side by side."""
        queues = {
            name: PlainQueue(
                name, "root", each.priority, *map(renamed, (each.deserved, each.capability, each.guarantee))
            )
            for name, each in self.cluster.queues.items()
        }
        pods = [plain_pod(pod, group) for group in self.cluster.groups.values() for pod in group.pods]
        return Declared(queues=queues, pods=pods, total=renamed(self.cluster.total), in_tree=False, levels=0)

    def declared_pod(self, pod: Pod) -> PlainPod:
        """A pod as capacity sees it."""
        return plain_pod(pod, self.group_of(pod))

    # Tiers

    def rules(self, point: str) -> dict[str, Rule]:
        """Plugins with a function at a point."""
        common: dict[str, Rule] = {"conformance": self.by_conformance}
        common |= {name: rule for name, policy in self.policies.items() if (rule := policy.rules(point)) is not None}
        if point == "preemptable":
            return common | {"priority": self.by_priority, "gang": self.by_gang, "drf": self.by_drf}
        if point == "reclaimable":
            return common | {"gang": self.by_gang, "proportion": self.by_proportion, "capacity": self.by_capacity}
        common |= {"gang": lambda _, candidates: candidates}
        if point == "gang preemptable":
            return common | {"priority": self.by_priority, "capacity": lambda _, candidates: candidates}
        return common | {"priority": lambda _, candidates: candidates, "capacity": self.by_capacity_for_gang}

    def guards(self, plugin: str) -> bool:
        """Whether a plugin protects pods in every tier."""
        return self.has(plugin) and (
            plugin == "conformance" or (plugin in self.policies and self.policies[plugin].guards)
        )

    def permitted(
        self, point: str, pod: Pod, candidates: list[Pod], gang: list[Pod] | None = None, *, within: bool = False
    ) -> list[Pod]:
        """Return the victims: all plugins of the first tier with an answer agree; `gang`: all that go with a candidate.

        Plugins that guard pods must agree in every tier.
        Plugins that compare queues have no say `within` one queue; there those that divide it agree in every tier.
        """
        rules = self.rules(point)
        if within:
            rules = {plugin: rule for plugin, rule in rules.items() if plugin not in ("proportion", "capacity", "drf")}
        for tier in self.tiers:
            asked = [plugin for plugin in tier if plugin in rules]
            left: list[Pod] = candidates if asked else []
            for plugin in asked:
                together = plugin in self.policies and self.policies[plugin].together
                allowed = rules[plugin](pod, gang if gang and together else candidates)
                if gang and plugin == "capacity" and "reclaimable" in point and not self.keeps_guarantee(gang):
                    allowed = []
                left = [each for each in left if each in allowed]
            for plugin in (each for each in rules if each not in asked and self.guards(each)):
                together = plugin in self.policies and self.policies[plugin].together
                allowed = rules[plugin](pod, gang if gang and together else left)
                left = [each for each in left if each in allowed]
            if within:
                for plugin in (each for each in rules if each in self.policies and self.policies[each].divides_queues):
                    left = rules[plugin](pod, left) if left else []
            elif "reclaimable" in point and left:
                left = self.beyond_deserved(pod, left, gang)
            if left:
                return left
        return []

    def beyond_deserved(self, pod: Pod, victims: list[Pod], gang: list[Pod] | None) -> list[Pod]:
        """Those of queues that have more than they deserve, by each plugin that says so, in whatever tier."""
        for plugin in (each for tier in self.tiers for each in tier):
            if plugin == "proportion":
                victims = self.by_proportion(pod, victims)
            elif plugin == "capacity":
                keeps = not gang or self.keeps_guarantee(gang)
                victims = self.by_capacity_for_gang(pod, victims) if keeps else []
            elif plugin in self.policies:
                victims = self.policies[plugin].surplus(pod, victims)
        return victims

    def outranks(self, victim: Pod, pod: Pod) -> bool:
        """Whether a victim has a higher priority: inside a group by pod, else by group or by pod."""
        if victim.group == pod.group:
            return victim.priority > pod.priority
        own, other = self.group_of(pod), self.group_of(victim)
        return other.priority > own.priority or self.weight_of(victim) > self.weight_of(pod)

    def weight_of(self, pod: Pod) -> int:
        """The priority of a pod or of its group, the higher one."""
        return max(pod.spec.get("priority") or 0, self.group_of(pod).priority)

    def keeps_guarantee(self, gang: Sequence[Pod]) -> bool:
        """Whether a queue keeps what it is guaranteed without all of a gang."""
        declared, victims = self.declared(), [self.declared_pod(each) for each in gang]
        declared.gone.update(victim.name for victim in victims[1:])
        return declared.keeps_guarantee(victims[0])

    # Order

    def leave_first(self, candidates: Sequence[Pod]) -> list[Pod]:
        """Sort victims: of the queue served last, of the job served last, the pod placed last."""
        return [pod for queue in self.queues_last_first(candidates) for pod in self.of_queue(queue, candidates)]

    def queues_last_first(self, candidates: Sequence[Pod]) -> list[str]:
        """The queues of some pods, the one served last first."""
        return sorted({self.group_of(pod).queue for pod in candidates}, key=self.queue_key, reverse=True)

    def of_queue(self, queue: str, candidates: Sequence[Pod]) -> Iterator[Pod]:
        """The pods of a queue, first to go first: jobs that no plugin tells apart take turns."""
        mine = [pod for pod in candidates if self.group_of(pod).queue == queue]
        ranks = {self.job_key(self.group_of(pod))[:-2] for pod in mine}
        for rank in sorted(ranks, reverse=True):
            alike: dict[str, list[Pod]] = {}
            for pod in sorted(mine, key=self.own_key, reverse=True):
                if self.job_key(self.group_of(pod))[:-2] == rank:
                    alike.setdefault(pod.group, []).append(pod)
            while alike:
                last = max(alike, key=lambda key: self.turn_key(alike[key][0]))
                yield alike[last].pop(0)
                if not alike[last]:
                    del alike[last]

    def own_key(self, pod: Pod) -> Key:
        """Pods of a job: by the plugins, those with an index in the name, the index, age."""
        return self.turn_key(pod, across_jobs=False)

    def turn_key(self, pod: Pod, *, across_jobs: bool = True) -> Key:
        """Pods of several jobs: the same, but for what plugins say of the pods of a job alone."""
        pieces = pod.name.split("-")
        indexed = len(pieces) > 2 and pieces[-1].isdecimal()
        return (
            *self.pod_rank(pod, across_jobs=across_jobs),
            not indexed,
            int(pieces[-1]) if indexed else 0,
            pod.created,
        )


def renamed(amounts: Amounts) -> dict[str, Any]:
    """Amounts under the short names of the declared shares, where they have one."""
    short = {name: each for each, name in SPELLED.items()}
    return {short.get(name, name): amount for name, amount in amounts.items()}


def plain_pod(pod: Pod, group: Group) -> PlainPod:
    """A pod as capacity sees it."""
    return PlainPod(pod.key, group.queue, renamed(pod.counted), pod.status in (*ACTIVE, "Pipelined"))
