"""Roles together and apart in whole cycles: what tests/differential/roles.py makes of the jobs of a cluster."""

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from tests.differential.cluster import Group, Node, Pod
from tests.differential.filters import Filters
from tests.differential.policy import Key, Policy
from tests.differential.roles import AFFINITY, ANTI_AFFINITY, ORDER, PlainJob, PlainTask
from tests.differential.scores import used

GPU = "nvidia.com/gpu"


class TaskTopology(Policy):
    """Nodes where the rest of a pod's bucket is, or has room."""

    name = "task-topology"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.filters = Filters(self.cluster)
        self.jobs = {key: plain_job(group) for key, group in self.cluster.groups.items() if is_written_well(group)}
        self.began_on = {pod.key: pod.node for pod in self.cluster.pods}

    def job_of(self, pod: Pod) -> PlainJob | None:
        """A pod's job, with what was placed of it by now."""
        job = self.jobs.get(pod.group)
        if job is not None:
            pods = self.cluster.groups[pod.group].pods
            job.placed = {each.key: each.node for each in pods if each.node and not self.began_on[each.key]}
        return job

    def scores(self, pod: Pod, nodes: Sequence[Node]) -> Mapping[str, float]:
        """What nodes are worth to a pod of a bucket."""
        job = self.job_of(pod)
        if job is None:
            return {}
        task = next(each for each in job.tasks if each.name == pod.key)
        weight = self.arguments.get("task-topology.weight", 1)
        return {node.name: job.score(task, node.name, self.free(node), weight) for node in nodes}

    def free(self, node: Node) -> dict[str, int | Fraction]:
        """What a node has free or being released."""
        leaving = [*self.filters.on(node), *self.filters.evicted_from(node)]
        left: dict[str, int] = {
            name: node.offers.get(name, 0)
            - used(self.filters, node, name, viewed=False)
            + sum(other.request.get(name, 0) for other in leaving if other.status == "Releasing")
            for name in ("cpu", "memory", "pods", GPU)
        }
        return measured(left)

    def pod_key(self, pod: Pod) -> Key:
        """Pods of buckets first: of the bucket with most to place, then the oldest; inside by order, then rank."""
        job = self.job_of(pod)
        task = None if job is None else next(each for each in job.tasks if each.name == pod.key)
        bucket = None if job is None or task is None else job.bucket_of(task)
        if job is None or task is None or bucket is None:
            return (1, 0, 0, ())
        number = next(number for number, each in enumerate(job.buckets) if each is bucket)
        return (0, -len(job.pending(bucket)), number, job.urgency(task)[:-1])


def measured(amounts: Mapping[str, int]) -> dict[str, int | Fraction]:
    """Amounts in the units of `PlainTask`."""
    return {
        "cpu": Fraction(amounts.get("cpu", 0), 1000),
        "memory": Fraction(amounts.get("memory", 0), 2**30),
        "devices": Fraction(amounts.get(GPU, 0), 1000),
        "pods": amounts.get("pods", 0),
    }


def is_written_well(group: Group) -> bool:
    """Whether some annotation is there, none names a missing role or one twice, and something is to be placed."""
    annotations = group.object["metadata"]["annotations"]
    written = [annotations[key].split(";") for key in (AFFINITY, ANTI_AFFINITY) if key in annotations]
    written += [[annotations[ORDER]]] if ORDER in annotations else []
    roles = {pod.role for pod in group.pods}
    for names in (names.split(",") for groups in written for names in groups):
        counted = Counter(name for name in names if name)
        if any(count > 1 or name not in roles for name, count in counted.items()):
            return False
    return bool(written) and group.count("Pending") > 0


def plain_job(group: Group) -> PlainJob:
    """A group as the rule sees it."""

    def task(pod: Pod) -> PlainTask:
        asked = measured(pod.request)
        return PlainTask(pod.key, pod.role, asked["cpu"], asked["memory"], pod.node, int(asked["devices"]))

    return PlainJob(group.object["metadata"]["annotations"], [task(pod) for pod in group.pods])
