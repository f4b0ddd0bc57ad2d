"""Declared shares, plainly: what capacity says of queues, pods and victims, found by recursion over names.

Amounts are dicts; a name that is absent is not spoken of. Each pod is a job of its own.
"""

from dataclasses import dataclass, field
from random import Random

Amounts = dict[str, int]
NAMES = ("cpu", "memory", "gpu")
ALL = (*NAMES, "pods")
NEVER = float("inf")
TOTAL = {"cpu": 12, "memory": 12, "gpu": 6, "pods": 110}
"""What the one node has."""


@dataclass(frozen=True)
class PlainQueue:
    """One queue as its owner wrote it."""

    name: str
    parent: str
    priority: int
    deserved: Amounts
    capability: Amounts
    guarantee: Amounts


@dataclass(frozen=True)
class PlainPod:
    """One pod, placed or not."""

    name: str
    queue: str
    request: Amounts
    is_placed: bool


def named_by(pod: PlainPod) -> list[str]:
    """What a pod asks for, a place for a pod left aside."""
    return [what for what, amount in pod.request.items() if amount > 0 and what != "pods"]


@dataclass(frozen=True)
class Declared:
    """Queues and pods, with the rule over them."""

    queues: dict[str, PlainQueue]
    pods: list[PlainPod]
    total: Amounts
    in_tree: bool
    levels: int
    gone: set[str] = field(default_factory=set)
    """Pods that have been taken as victims."""

    def above(self, name: str) -> list[str]:
        """The ancestors of a queue, nearest first."""
        if not self.in_tree or name == "root":
            return []
        return [self.queues[name].parent, *self.above(self.queues[name].parent)]

    def children(self, name: str) -> list[str]:
        """The queues right below."""
        return [each.name for each in self.queues.values() if each.name != "root" and each.parent == name]

    def allocated(self, queue: str, what: str) -> int:
        """What a queue and those below it have."""
        return sum(
            pod.request.get(what, 0)
            for pod in self.pods
            if pod.is_placed and pod.name not in self.gone and queue in (pod.queue, *self.above(pod.queue))
        )

    def capability(self, name: str, what: str) -> float:
        """What a queue's owner allows, or the one above."""
        own = self.queues[name].capability.get(what)
        if own is not None and (own > 0 or what not in ("cpu", "memory")):
            return own
        return self.capability(self.queues[name].parent, what) if self.in_tree and name != "root" else NEVER

    def guaranteed(self, name: str, what: str) -> int:
        """The guarantee of a queue, as far as its own capability lets it use it."""
        least, own = self.queues[name].guarantee.get(what, 0), self.queues[name].capability.get(what)
        is_limit = own is not None and (own > 0 or what not in ("cpu", "memory"))
        return min(least, own) if own is not None and is_limit else least

    def kept(self, name: str, what: str) -> int:
        """What a guarantee keeps from others: where the cluster has less, what the queue asks for."""
        least, there = self.guaranteed(name, what), self.total.get(what, 0)
        others = [self.guaranteed(each, what) for each in self.queues]
        too_much = least > there or sum(each for each in others if each <= there) > there
        asked = sum(pod.request.get(what, 0) for pod in self.pods if pod.queue == name)
        return min(least, asked) if too_much and there else least

    def limit(self, name: str, what: str) -> float:
        """The most a queue may have."""
        own = self.guaranteed(name, what)
        if not self.in_tree:
            promised = sum(self.kept(each, what) for each in self.queues)
            return min(max(self.total.get(what, 0) - promised, 0) + self.kept(name, what), self.capability(name, what))
        if name == "root":
            return self.capability("root", what)
        parent = self.queues[name].parent
        promised = sum(self.guaranteed(each, what) for each in self.children(parent))
        return min(max(self.limit(parent, what) - promised, 0) + own, self.capability(name, what))

    def deserved(self, name: str, what: str) -> int | None:
        """Amounts that others may not reclaim; None if there are none."""
        queue = self.queues[name]
        if self.in_tree and name == "root":
            return sum(self.deserved(each, what) or 0 for each in self.children("root"))
        if what not in queue.deserved and what not in queue.guarantee:
            return None
        asked = queue.deserved.get(what, 0)
        if not self.in_tree and self.is_known(what):
            asked = int(min(asked, self.limit(name, what)))
        return max(asked, self.guaranteed(name, what))

    def is_known(self, what: str) -> bool:
        """Whether there is any of it, or some queue is promised some; else what was written as deserved stands."""
        return what in self.total or any(what in queue.guarantee for queue in self.queues.values())

    def share(self, name: str) -> float:
        """The largest part of what is deserved that is allocated."""
        parts = [self.allocated(name, what) / amount for what in ALL if (amount := self.deserved(name, what))]
        return max(parts) if any(self.deserved(name, what) for what in NAMES) else 1.0

    def allocatable(self, pod: PlainPod) -> bool:
        """Whether the queue and all above it may take a pod."""
        return all(
            self.allocated(queue, what) + pod.request[what] <= self.limit(queue, what)
            for queue in (pod.queue, *self.above(pod.queue))
            for what in named_by(pod)
        )

    def preemptive(self, pod: PlainPod) -> bool:
        """Whether a queue may take room from others for a pod."""
        asked = named_by(pod)
        after = {what: self.allocated(pod.queue, what) + pod.request[what] for what in asked}
        if any(amount > self.limit(pod.queue, what) for what, amount in after.items()):
            return False
        for queue in (pod.queue, *(each for each in self.near(pod.queue) if each != "root")):
            for what in asked:
                if self.allocated(queue, what) + pod.request[what] <= (self.deserved(queue, what) or 0):
                    return True
        return False

    def near(self, name: str) -> list[str]:
        """The ancestors that take part in reclaim."""
        return self.above(name)[: self.levels]

    def victims(self, reclaimer: PlainPod, candidates: list[PlainPod]) -> list[str]:
        """Which candidates may go, in their order, each as if the earlier ones had gone."""
        self.gone.clear()
        for pod in candidates:
            if self.may_go(reclaimer, pod):
                self.gone.add(pod.name)
        gone = [pod.name for pod in candidates if pod.name in self.gone]
        self.gone.clear()
        return gone

    def may_go(self, reclaimer: PlainPod, pod: PlainPod) -> bool:
        """Whether one pod may go for another."""
        meets = bool({*named_by(pod)} & {*named_by(reclaimer)})
        if not meets or not self.keeps_guarantee(pod):
            return False
        shared = set(self.near(pod.queue)) & set(self.near(reclaimer.queue)) - {"root"}
        if self.is_promised_nothing(pod, pod.queue) and shared and self.is_promised_nothing(reclaimer, reclaimer.queue):
            return False
        checked = [
            queue
            for level, queue in enumerate(self.near(pod.queue))
            if queue != "root" and self.near(reclaimer.queue)[level : level + 1] != [queue]
        ]
        return all(self.has_too_much(pod, queue) for queue in (pod.queue, *checked))

    def keeps_guarantee(self, pod: PlainPod) -> bool:
        """Whether its queue has its guarantee without a pod."""
        return all(
            self.allocated(pod.queue, what) - pod.request.get(what, 0) >= self.guaranteed(pod.queue, what)
            for what in ALL
        )

    def is_promised_nothing(self, pod: PlainPod, queue: str) -> bool:
        """Whether a queue deserves nothing of what a pod asks for, a place for a pod included."""
        return not any(pod.request.get(what, 0) and (self.deserved(queue, what) or 0) > 0 for what in ALL)

    def has_too_much(self, pod: PlainPod, queue: str) -> bool:
        """Whether a queue has more than it deserves of something that a pod has and that was spoken of."""
        if self.is_promised_nothing(pod, queue):
            return True
        for what in named_by(pod):
            deserved = self.deserved(queue, what)
            is_spoken = deserved is not None and (deserved > 0 or what not in ("cpu", "memory"))
            if is_spoken and self.allocated(queue, what) > (deserved or 0):
                return True
        return False

    def goes_first(self, left: str, right: str) -> int:
        """Which of two leaves is served first: negative for the left one."""
        one, other = self.queues[left], self.queues[right]
        if one.priority != other.priority:
            return other.priority - one.priority
        lines = [[*reversed(self.above(each)), each] for each in (left, right)]
        level = next(level for level in range(min(map(len, lines))) if lines[0][level] != lines[1][level])
        keys = [
            (self.share(line[level]), not any(self.deserved(line[level], what) for what in NAMES)) for line in lines
        ]
        return (keys[0] > keys[1]) - (keys[0] < keys[1])


def declared(chance: Random) -> Declared:
    """Make queues and pods by chance."""
    in_tree = chance.random() < 0.6
    names = ["a", "b", "c", "d"][: chance.randint(2, 4)]
    parents = dict.fromkeys(names, "root")
    if in_tree:
        for number in range(chance.randint(0, 4)):
            parent = chance.choice([each for each in parents if len(each) < 3])
            parents[f"{parent}{number}"] = parent
    queues = {name: _queue(chance, name, parent) for name, parent in parents.items()}
    if in_tree:
        queues["root"] = PlainQueue("root", "", 0, {}, {"cpu": 9} if chance.random() < 0.2 else {}, {})
    leaves = sorted(set(parents) - set(parents.values())) if in_tree else sorted(parents)
    left = dict(TOTAL)
    pods = []
    for number in range(chance.randint(2, 9)):
        request = _request(chance)
        is_placed = chance.random() < 0.7 and all(amount <= left[what] for what, amount in request.items())
        left = {what: amount - is_placed * request.get(what, 0) for what, amount in left.items()}
        pods.append(PlainPod(f"p{number}", chance.choice(leaves), request, is_placed))
    return Declared(
        queues=queues,
        pods=pods,
        total=TOTAL,
        in_tree=in_tree,
        levels=chance.randint(0, 3) if in_tree else 0,
    )


def _queue(chance: Random, name: str, parent: str) -> PlainQueue:
    def some(likely: float, most: int, names: tuple[str, ...] = NAMES) -> Amounts:
        return {what: chance.randint(0, most) for what in names if chance.random() < likely}

    deserved = some(0.5, 6) | some(0.1, 3, ("pods",))
    return PlainQueue(name, parent, chance.choice([0, 0, 0, 3]), deserved, some(0.3, 10), some(0.15, 3))


def _request(chance: Random) -> Amounts:
    asked = {what: chance.randint(1, 4) for what in NAMES if chance.random() < 0.6} or {"cpu": 1}
    return {**asked, "pods": 1}
