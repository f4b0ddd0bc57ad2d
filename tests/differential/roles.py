"""Roles together and apart, task by task and node by node: what docs/plugins/task-topology.md says, spelled out."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from random import Random

__all__ = ["ROLES", "PlainBucket", "PlainJob", "PlainTask", "plain_job"]

ROLES = ("ps", "worker", "chief")
AFFINITY = "volcano.sh/task-topology-affinity"
ANTI_AFFINITY = "volcano.sh/task-topology-anti-affinity"
ORDER = "volcano.sh/task-topology-task-order"


@dataclass(frozen=True)
class PlainTask:
    """A task of the job; CPUs and GiB."""

    name: str
    role: str
    cpu: int | Fraction
    memory: int | Fraction
    node: str = ""
    devices: int = 0


@dataclass
class PlainBucket:
    """Tasks that should be on one node."""

    tasks: list[PlainTask] = field(default_factory=list)
    """All of them, in the order in which they came."""
    weight: int | Fraction = 0
    """How heavy those are that waited: thousandths of a core and MiB, and one for each pod."""


class PlainJob:
    """A job, its annotations, and what of it was placed by now."""

    def __init__(self, annotations: Mapping[str, str], tasks: Sequence[PlainTask]) -> None:
        self.annotations = annotations
        self.tasks = tasks
        self.placed: dict[str, str] = {}
        """Nodes of tasks placed since the buckets were made, by name."""
        self.buckets: list[PlainBucket] = []
        for task in sorted((each for each in tasks if each.node), key=lambda each: (each.node, each.name)):
            if self.rank(task.role):
                known = [each for each in self.buckets if each.tasks[0].node == task.node]
                (known or [self.opened()])[0].tasks.append(task)
        for task in sorted((each for each in tasks if not each.node), key=self.urgency):
            if self.rank(task.role):
                bucket = self.best_bucket(task)
                bucket.tasks.append(task)
                bucket.weight += 1000 * task.cpu + 1024 * task.memory + 1000 * task.devices + 1

    def groups(self, key: str) -> list[list[str]]:
        """The groups of an annotation."""
        return [group.split(",") for group in self.annotations[key].split(";")] if key in self.annotations else []

    def related(self, key: str, role: str, other: str) -> bool:
        """Whether an annotation puts two tasks of these roles into a relation."""
        if role == other:
            return [role] in self.groups(key)
        return any(role in group and other in group for group in self.groups(key))

    def rank(self, role: str) -> int:
        """The strongest relation of a role, 0 where it has none."""
        kinds = ((4, ANTI_AFFINITY, True), (3, AFFINITY, False), (2, AFFINITY, True), (1, ANTI_AFFINITY, False))
        for rank, key, alone in kinds:
            if any(role in group and (len(group) == 1) is alone for group in self.groups(key)):
                return rank
        return 0

    def urgency(self, task: PlainTask) -> tuple[int, int, str]:
        """What goes first is smallest."""
        order = self.annotations[ORDER].split(",") if ORDER in self.annotations else []
        place = len(order) - order.index(task.role) if task.role in order else 0
        return -place, -self.rank(task.role), task.name

    def opened(self) -> PlainBucket:
        """A new bucket."""
        self.buckets.append(PlainBucket())
        return self.buckets[-1]

    def best_bucket(self, task: PlainTask) -> PlainBucket:
        """The bucket that attracts most, of equals the lightest, then the oldest; a new one where all repel."""
        chosen, most = None, -1
        for bucket in self.buckets:
            attraction = sum(
                self.related(AFFINITY, task.role, other.role) - self.related(ANTI_AFFINITY, task.role, other.role)
                for other in bucket.tasks
            )
            if attraction > most or (chosen is not None and attraction == most and bucket.weight < chosen.weight):
                chosen, most = bucket, attraction
        return chosen or self.opened()

    def bucket_of(self, task: PlainTask) -> PlainBucket | None:
        """The bucket of a task."""
        return next((bucket for bucket in self.buckets if task in bucket.tasks), None)

    def pending(self, bucket: PlainBucket) -> list[PlainTask]:
        """The tasks of a bucket on no node."""
        return [task for task in bucket.tasks if not task.node and task.name not in self.placed]

    def score(self, task: PlainTask, node: str, free: Mapping[str, int | Fraction], weight: int) -> float:
        """Score a node that has so much cpu, memory and pods free or being released."""
        bucket = self.bucket_of(task)
        if bucket is None or not fits([task], free):
            return 0.0
        near = sum((self.placed.get(each.name) or each.node) == node for each in bucket.tasks)
        apart = sum(
            self.placed.get(other.name) == node and self.related(ANTI_AFFINITY, task.role, other.role)
            for other in self.tasks
        )
        company = [each for each in self.pending(bucket) if each != task]
        while company and not fits([task, *company], free):
            company.pop()
        largest = max(len(each.tasks) for each in self.buckets)
        return weight * 100 * (near - apart + 1 + len(company)) / largest

    def ordered(self) -> list[str]:
        """Names of the tasks of the buckets, first to be placed first; of equals by name."""

        def key(task: PlainTask) -> tuple[int, int, tuple[int, int, str]]:
            bucket = self.bucket_of(task)
            assert bucket is not None
            return -len(self.pending(bucket)), self.buckets.index(bucket), self.urgency(task)

        return [task.name for task in sorted((each for each in self.tasks if self.bucket_of(each)), key=key)]


def fits(tasks: Iterable[PlainTask], free: Mapping[str, int | Fraction]) -> bool:
    """Whether tasks have room together; of devices only where they ask for some."""
    there = list(tasks)
    asked = {
        "cpu": sum(task.cpu for task in there),
        "memory": sum(task.memory for task in there),
        "devices": sum(task.devices for task in there),
        "pods": len(there),
    }
    return all(amount <= free.get(name, 0) for name, amount in asked.items() if amount or name != "devices")


def plain_job(chance: Random, nodes: Sequence[str]) -> PlainJob:
    """Draw a job: roles, relations, some tasks on nodes."""
    tasks = [
        PlainTask(
            name=f"t{number}",
            role=chance.choice(ROLES) if number >= len(ROLES) else ROLES[number],
            cpu=chance.choice([1, 1, 2, 3]),
            memory=chance.choice([1, 1, 4]),
            node=chance.choice(nodes) if chance.random() < 0.3 else "",
        )
        for number in range(chance.randint(len(ROLES), 10))
    ]
    chance.shuffle(tasks)
    annotations = {}
    for key in (AFFINITY, ANTI_AFFINITY):
        if chance.random() < 0.7:
            annotations[key] = ";".join(
                ",".join(chance.sample(ROLES, chance.choice([1, 1, 2, 3]))) for _ in range(chance.choice([1, 1, 2]))
            )
    if chance.random() < 0.4:
        annotations[ORDER] = ",".join(chance.sample(ROLES, chance.randint(1, 3)))
    return PlainJob(annotations, tasks)
