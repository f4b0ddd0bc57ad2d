"""Deserved amounts: proportion, overcommit and drf, computed again at every question."""

from fractions import Fraction

from tests.differential.cluster import ALLOCATED, Amounts, Cluster, Group, Node

NEVER = float("inf")


class Shares:
    """The books of one cycle."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.leaving = {pod.key for pod in cluster.pods if pod.status == "Releasing"}
        """Pods that are terminating as the cycle begins."""
        self.lends = False
        """Whether idle room is being lent: a limit counts then, a share does not."""
        self.names = sorted({"cpu", "memory", "pods"} | set(cluster.total) | _asked_for(cluster))
        self.queues = {group.queue for group in cluster.groups.values()}
        self.asked = {
            queue: self.of(queue, lambda pod: pod.status in ALLOCATED or pod.status == "Pending")
            for queue in self.queues
        }
        self.elastic = {queue: self.beyond_minimum(queue) for queue in self.queues}
        self.limits = {queue: self.limit(queue) for queue in self.queues}
        self.deserved = self.divide()
        self.inqueue: dict[str, Amounts] = {queue: {} for queue in self.queues}
        self.admitted: Amounts = {}
        for group in cluster.groups.values():
            self.reserve(group)
        self.taken = {name: sum(pod.counted.get(name, 0) for pod in cluster.placed) for name in self.names}

    def of(self, queue: str, counts) -> Amounts:  # type: ignore[no-untyped-def]  # noqa: ANN001  # any predicate
        """Add up the requests of a queue's pods."""
        pods = [
            pod for group in self.cluster.groups.values() if group.queue == queue for pod in group.pods if counts(pod)
        ]
        return {name: sum(pod.counted.get(name, 0) for pod in pods) for name in self.names}

    def allocated(self, queue: str) -> Amounts:
        """What a queue has, waiting places included."""
        return self.of(queue, lambda pod: pod.status in ALLOCATED or pod.status == "Pipelined")

    def beyond_minimum(self, queue: str) -> Amounts:
        """What the jobs of a queue have beyond their minimum resources."""
        sums = dict.fromkeys(self.names, 0)
        for group in self.cluster.groups.values():
            if group.queue == queue:
                for name, number in has(group, self.names).items():
                    sums[name] += max(0, number - (group.reserves or {}).get(name, 0))
        return sums

    def guaranteed(self, queue: str, name: str) -> int:
        """The guarantee of a queue, as far as its capability lets it use it."""
        mine = self.cluster.queues[queue]
        least, own = mine.guarantee.get(name, 0), mine.capability.get(name)
        is_limit = own is not None and (own > 0 or name not in ("cpu", "memory"))
        return min(least, own) if own is not None and is_limit else least

    def kept(self, queue: str, name: str) -> int:
        """What a guarantee keeps from others: where the cluster has less, what the queue asks for."""
        least, there = self.guaranteed(queue, name), self.cluster.total.get(name, 0)
        others = [self.guaranteed(each, name) for each in self.cluster.queues]
        too_much = least > there or sum(each for each in others if each <= there) > there
        return min(least, self.asked.get(queue, {}).get(name, 0)) if too_much and there else least

    def limit(self, queue: str) -> dict[str, float]:
        """The most that a queue may have."""
        mine = self.cluster.queues[queue]
        limits: dict[str, float] = {}
        for name in self.names:
            guaranteed = sum(self.kept(each, name) for each in self.cluster.queues)
            rest = max(0, self.cluster.total.get(name, 0) - guaranteed) + self.kept(queue, name)
            cap = mine.capability.get(name, 0 if name in ("cpu", "memory") else None)
            unlimited = cap is None or (name in ("cpu", "memory") and cap <= 0)
            limits[name] = rest if unlimited or cap is None else min(rest, cap)
        return limits

    def divide(self) -> dict[str, dict[str, Fraction]]:
        """Fill queues with water: by weight up to what each may have and asks for, again until nothing moves."""
        weights = {queue: self.cluster.queues[queue].weight for queue in self.queues}
        given: dict[str, dict[str, Fraction]] = {queue: dict.fromkeys(self.names, Fraction(0)) for queue in self.queues}
        if not sum(weights.values()):
            return given
        for name in self.names:
            caps = {queue: Fraction(min(self.limits[queue][name], self.asked[queue][name])) for queue in self.queues}
            total = Fraction(self.cluster.total.get(name, 0))
            for queue in self.queues:
                part = min(total * weights[queue] / sum(weights.values()), caps[queue])
                given[queue][name] = max(part, Fraction(self.kept(queue, name)))
            left = total - sum(given[queue][name] for queue in self.queues)
            while left > 0:
                thirsty = [queue for queue in self.queues if given[queue][name] < caps[queue] and weights[queue]]
                if not thirsty:
                    break
                step = min((caps[queue] - given[queue][name]) / weights[queue] for queue in thirsty)
                step = min(step, left / sum(weights[queue] for queue in thirsty))
                for queue in thirsty:
                    given[queue][name] += step * weights[queue]
                    left -= step * weights[queue]
        return given

    def reserve(self, group: Group) -> None:
        """Count what an admitted group keeps reserved."""
        if group.reserves is None:
            return
        placed = sum(pod.status in ALLOCATED for pod in group.pods)
        mine = has(group, self.names, counted=False)
        missing = {name: max(0, number - mine.get(name, 0)) for name, number in group.reserves.items()}
        running = group.phase == "Running" and placed >= group.minimum
        if group.phase == "Inqueue" or running:
            _add(self.inqueue[group.queue], ungated(group, missing))
        if group.phase == "Inqueue":
            _add(self.admitted, ungated(group, group.reserves))
        elif running:
            _add(self.admitted, ungated(group, missing))

    def admit(self, group: Group) -> None:
        """Count a group that has passed the gate."""
        _add(self.inqueue[group.queue], ungated(group, group.reserves or {}))
        _add(self.admitted, ungated(group, group.reserves or {}))

    # Questions

    def queue_share(self, queue: str) -> float:
        """The largest part of what is deserved that is allocated."""
        mine = self.allocated(queue)
        return max((float(mine[name] / number) for name, number in self.deserved[queue].items() if number), default=0.0)

    def overused(self, queue: str) -> bool:
        """Whether all that is deserved is allocated."""
        mine = self.allocated(queue)
        return all(number <= mine[name] for name, number in self.deserved[queue].items())

    def takes(self, queue: str, request: Amounts) -> bool:
        """Whether a request fits what a queue deserves, or where idle room is lent what it may have at all."""
        mine, most = self.allocated(queue), self.lendable(queue) if self.lends else self.deserved[queue]
        victims = self.of(queue, lambda pod: pod.status == "Releasing" and pod.key not in self.leaving)
        return self.cluster.queues[queue].state == "Open" and all(
            mine[name] + number <= most[name]
            and (not self.lends or mine[name] + victims[name] + number <= self.limits[queue][name])
            for name, number in request.items()
            if number and name != "pods"
        )

    def lendable(self, queue: str) -> dict[str, float]:
        """The most that a queue may have with lent room, which leaves others what is guaranteed to them."""
        mine = self.allocated(queue)
        others = [each for each in self.cluster.queues.values() if each.name != queue and each.guarantee]
        most = dict(self.limits[queue])
        for name in self.names if others else ():
            free = sum(self.free(node, name) for node in self.cluster.nodes)
            kept = sum(max(0, self.kept(each.name, name) - self.allocated(each.name)[name]) for each in others)
            most[name] = min(most[name], mine[name] + free - kept)
        return most

    def free(self, node: Node, name: str) -> int:
        """What a node has left when all that leaves is gone."""
        staying = [pod for pod in self.cluster.placed if pod.node == node.name and pod.status != "Releasing"]
        return max(0, node.offers.get(name, 0) - sum(pod.request.get(name, 0) for pod in staying))

    def queue_takes(self, group: Group) -> int:
        """Vote of proportion at the gate, and of capacity."""
        if self.cluster.queues[group.queue].state != "Open":
            return -1
        mine, held, elastic = self.allocated(group.queue), self.inqueue[group.queue], self.elastic[group.queue]
        fits = all(
            number + mine[name] + held.get(name, 0) - elastic[name] <= self.limits[group.queue][name]
            for name, number in (group.reserves or {}).items()
            if number and name != "pods"
        )
        return 1 if fits else -1

    def cluster_takes(self, group: Group) -> int:
        """Vote of overcommit at the gate."""
        fits = all(
            self.admitted.get(name, 0) + number
            <= Fraction(self.cluster.total.get(name, 0)) * Fraction(6, 5) - self.taken.get(name, 0)
            for name, number in (group.reserves or {}).items()
            if number and name != "pods"
        )
        return 1 if fits else -1

    def job_share(self, group: Group) -> float:
        """Dominant share of a job, waiting places included."""
        mine = has(group, self.names, "Pipelined")
        total = self.cluster.total
        return max((mine[name] / number for name, number in total.items() if number), default=0.0)


def has(group: Group, names: list[str], *more: str, counted: bool = True) -> Amounts:
    """What a group has been given, or what it asks for there."""
    pods = [pod for pod in group.pods if pod.status in ALLOCATED or pod.status in more]
    return {name: sum((pod.counted if counted else pod.request).get(name, 0) for pod in pods) for name in names}


def ungated(group: Group, amounts: Amounts) -> Amounts:
    """Amounts less those of pods that may not be placed yet."""
    gated = [pod for pod in group.pods if pod.gated]
    return {name: max(0, number - sum(pod.counted.get(name, 0) for pod in gated)) for name, number in amounts.items()}


def _asked_for(cluster: Cluster) -> set[str]:
    pods = {name for pod in cluster.pods for name in pod.request}
    return pods | {name for group in cluster.groups.values() for name in group.reserves or {}}


def _add(sums: Amounts, more: Amounts) -> None:
    for name, number in more.items():
        sums[name] = sums.get(name, 0) + number
