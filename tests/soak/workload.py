"""A random workload: jobs come and end, nodes go and come back, and a controller makes lost pods anew.

What there is beside plain gangs follows from the plugins of a configuration: a tree of queues, groups of nodes, racks
behind switches, zones that may be revoked, budgets, quotas, kubelets that align CPUs.
"""

import json
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from pyroclast.framework.configuration import Profile
from pyroclast.kube.api.client import MediaType
from pyroclast.kube.api.errors import ApiError
from pyroclast.kube.api.resources import NODE_METRICS, NODE_RESOURCE_TOPOLOGIES
from pyroclast.model.api.names import POD_QUEUE_NAME
from pyroclast.model.gangs.names import MIN_AVAILABLE, MODE, NAME
from pyroclast.model.ids import NodeName
from pyroclast.model.usage import NodeUsage
from tests.elastic_quotas import elastic_quota, uses
from tests.nodemetrics import node_metric, pod_metric
from tests.nodenuma import QOS, policies, topology
from tests.numatopologies import numatopology
from tests.soak.ground import Ground, Object

__all__ = [
    "CARD",
    "CARD_INDEX",
    "CARD_MEMORY",
    "CHIP",
    "CHIP_IDS",
    "CHIP_WHOLE",
    "ELASTIC_QUOTAS",
    "HYPERNODES",
    "NAMESPACE",
    "PARENTS",
    "QUOTA",
    "Workload",
    "job_of",
]

NAMESPACE: Final = "soak"
GROUP_NAME: Final = "scheduling.k8s.io/group-name"
CLEANED: Final = 0.3
"""Chance of a pod that succeeded to be deleted in a cycle, while others of its job run."""
"""Annotation by which a pod names its group."""
GPU: Final = "nvidia.com/gpu"
CARD_MEMORY: Final = "volcano.sh/gpu-memory"
CARD_INDEX: Final = "volcano.sh/gpu-index"
"""Annotation of a pod: the card that it has a part of."""
CHIP: Final = "huawei.com/Ascend310P"
CHIP_IDS: Final = "hami.io/Ascend310P-devices-allocated"
"""Annotation of a pod: the chip that it has a part of, and the memory of this part."""
CHIP_WHOLE: Final = 21527
NUMA_POLICY: Final = "volcano.sh/numa-topology-policy"
PODS_PATH: Final = f"/api/v1/namespaces/{NAMESPACE}/pods"
GROUPS_PATH: Final = f"/apis/scheduling.volcano.sh/v1beta1/namespaces/{NAMESPACE}/podgroups"
QUOTAS_PATH: Final = f"/api/v1/namespaces/{NAMESPACE}/resourcequotas"
ELASTIC_QUOTAS_PATH: Final = f"/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/{NAMESPACE}/elasticquotas"
QUEUES_PATH: Final = "/apis/scheduling.volcano.sh/v1beta1/queues"

NODES: Final = 8
NODE_CPU: Final = 8
NODE_GPU: Final = 4
"""Label of the first half of the nodes."""
NODE_CARDS: Final = 2
CARD: Final = 8
"""Cards of these, where they are shared, and the memory of each."""
LOAD: Final = 1.4
"""Requests of all jobs, as a part of the cluster's CPU, above which no job comes."""
_CONFLICT: Final = 409
PARENTS: Final = {"red": "left", "green": "left", "blue": "right", "left": "root", "right": "root"}
"""Members of a tree of queues."""
HYPERNODES: Final = {
    "rack-0": (1, ("node-0", "node-1")),
    "rack-1": (1, ("node-2", "node-3")),
    "rack-2": (1, ("node-4", "node-5")),
    "rack-3": (1, ("node-6", "node-7")),
    "row-0": (2, ("rack-0", "rack-1")),
    "row-1": (2, ("rack-2", "rack-3")),
}
"""Tier and members by name."""
PRIORITIES: Final = {"low": 10, "middle": 100, "high": 1000}
LEAVES: Final = ("red", "green", "blue")
ZONES: Final = ("rz1", "rz2")
"""Taints of the last nodes, which can be taken back."""
QUOTA: Final = {"cpu": "40", "memory": "60Gi", "pods": "30"}
"""Quota of the only namespace: less than the cluster has."""
ELASTIC_QUOTAS: Final = {
    "org": ("", 24, 40),
    "ant": ("org", 16, 32),
    "bee": ("org", 8, 24),
    "cat": ("", 16, 48),
}
"""Parent, guaranteed and maximum CPUs, by name."""
NUMA_POLICIES: Final = ("single-numa-node", "restricted", "best-effort", "none")
"""Policies of the kubelets, in turns."""
MEASURING: Final = 12
"""Cycles between two measurements of what nodes use."""


@dataclass(slots=True, kw_only=True)
class Job:
    """One job and what its controller remembers."""

    name: str
    queue: str
    tasks: int
    minimum: int
    cpu: int
    gpu: int
    card: int = 0
    """Memory of a card."""
    chip: int = 0
    """Memory of a chip."""
    priority: str
    cycles: int
    """How many cycles each of its pods runs."""
    topology: Object | None
    extra: Object
    """Annotations of its pods."""
    labels: Object = field(default_factory=dict)
    """Priority class of its pods."""
    is_gang: bool = False
    """Whether its pods make a gang of Koordinator's, by their annotations, in place of a PodGroup."""
    group_annotations: Object
    grace_seconds: int
    has_budget: bool
    has_limits: bool = False
    """Whether its pods are Guaranteed, where they ask for CPU."""
    ends_by_pod: dict[str, int] = field(default_factory=dict)
    """Cycle in which a running pod will have ended."""
    succeeded: int = 0
    made: int = 0

    @property
    def requests(self) -> Object:
        """What each pod asks for."""
        amounts: Object = {"cpu": str(self.cpu), "memory": f"{self.cpu}Gi"} if self.cpu else {}
        return amounts | self._devices(1)

    def _devices(self, pods: int) -> Object:
        chips = {CHIP: pods, f"{CHIP}-memory": self.chip * pods} if self.chip else {}
        amounts = {GPU: self.gpu * pods, CARD_MEMORY: self.card * pods, **chips}
        return {name: str(amount) for name, amount in amounts.items() if amount}

    @property
    def needs(self) -> Object:
        """What its minimum asks for."""
        amounts = {"cpu": str(self.cpu * self.minimum), "memory": f"{self.cpu * self.minimum}Gi"}
        return {**amounts, **self._devices(self.minimum), "pods": str(self.minimum)}


class Workload:
    """All that happens in a cluster beside scheduling; it hangs on the seed and on what the scheduler does."""

    def __init__(self, ground: Ground, profile: Profile, seed: int) -> None:
        self._ground, self._chance = ground, random.Random(seed)
        self.plugins = {option.plugin for option in profile.plugins}
        self.is_tree = any(
            option.plugin in {"capacity", "nodegroup"} and option.hierarchy for option in profile.plugins
        )
        self.jobs: dict[str, Job] = {}
        self._numbers = 0
        self._lost_nodes: dict[int, int] = {}
        """Cycle of its return by number of the node."""
        self._cleaning = random.Random(seed)
        self.cleaned: dict[str, int] = {}
        """Pods of each job that succeeded and were deleted."""
        self.lost_groups: set[str] = set()
        """Groups that a loss of a node has hit, until they have their minimum again."""
        self.ended = 0
        self.losses = 0

    async def begin(self) -> None:
        """Make what is there from the start."""
        await self._ground.post("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        for name, value in PRIORITIES.items():
            await self._ground.post(
                "/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": name}, "value": value}
            )
        for queue in self._queues():
            await self._ground.post(QUEUES_PATH, queue)
        for number in range(NODES):
            await self._add_node(number)
        if "network-topology-aware" in self.plugins:
            for name, (tier, members) in HYPERNODES.items():
                await self._ground.post(
                    "/apis/topology.volcano.sh/v1alpha1/hypernodes", _hypernode(name, tier, members)
                )
        if "elastic-quota" in self.plugins:
            for name, (above, least, most) in ELASTIC_QUOTAS.items():
                quota = elastic_quota(
                    name,
                    least={"cpu": str(least)},
                    most={"cpu": str(most)},
                    parent=above,
                    is_parent=name == "org",
                    namespace=NAMESPACE,
                )
                await self._ground.post(ELASTIC_QUOTAS_PATH, quota)
        if "resourcequota" in self.plugins:
            status = {"hard": QUOTA, "used": {}}
            await self._ground.post(
                QUOTAS_PATH, {"metadata": {"name": "quota"}, "spec": {"hard": QUOTA}, "status": status}
            )

    async def step(self, cycle: int, *, is_calm: bool = False, is_still: bool = False) -> None:
        """Let one cycle's worth of things happen.

        Args:
            cycle: Which.
            is_calm: Whether no pods arrive and no node is lost.
            is_still: No pod ends of itself.
        """
        await self._return_nodes(cycle)
        if not is_still:
            await self._end_pods(cycle)
            await self._clean_up()
        await self._make_missing_pods()
        if "resourcequota" in self.plugins:
            await self._count_quota()
        if self.plugins & {"usage", "rescheduling"} and (cycle % MEASURING == 0 or is_calm):
            self._measure(is_calm=is_calm)
        if "load-aware" in self.plugins and (cycle % MEASURING == 0 or is_calm):
            self._report(is_calm=is_calm)
        if is_calm:
            return
        if self._chance.random() < 0.03:
            await self._lose_node(cycle)
        for _ in range(self._chance.choice((0, 0, 1, 1, 2))):
            if self._load() < LOAD * NODES * NODE_CPU:
                await self._add_job()

    # Queues and nodes -------------------------------------------------------------------------------------------------

    def _queues(self) -> list[Object]:
        made = [_queue("left", deserved=40, gpus=10), _queue("right", deserved=24, cpus=48)] if self.is_tree else []
        made += [
            _queue("red", weight=2, deserved=24, guarantee=8),
            _queue("green", weight=1, deserved=16, cpus=32, gpus=4, gib=24),
            _queue("blue", weight=3, deserved=24, cpus=40),
        ]
        for queue in made:
            name = queue["metadata"]["name"]
            if self.is_tree:
                queue["spec"]["parent"] = PARENTS[name]
            side = "left" if name in {"red", "green", "left"} else "right"
            queue["metadata"]["annotations"] = {
                "volcano.sh/hierarchy": f"root/{side}/{name}",
                "volcano.sh/hierarchy-weights": "1/2/1",
            }
            if "nodegroup" in self.plugins and name in LEAVES:
                queue["spec"]["affinity"] = _affinity(name)
        return made

    async def _add_node(self, number: int) -> None:
        amounts = {"cpu": str(NODE_CPU), "memory": "32Gi", "pods": "20"}
        amounts |= {GPU: str(NODE_GPU)} if number < NODES // 2 else {}
        annotations: Object = {}
        if "deviceshare" in self.plugins and number < NODES // 2:
            amounts |= {CARD_MEMORY: str(NODE_CARDS * CARD), "volcano.sh/gpu-number": str(NODE_CARDS)}
            amounts |= {CHIP: str(7 * NODE_CARDS), f"{CHIP}-memory": "1000000"}
            chips = [{"id": f"chip-{at}", "count": 7, "devmem": CHIP_WHOLE} for at in range(NODE_CARDS)]
            annotations = {"hami.io/node-register-Ascend310P": json.dumps(chips)}
        labels = {"emulator.pyroclast.io/hollow": "true", "kubernetes.io/hostname": f"node-{number}"}
        if "nodegroup" in self.plugins:
            labels["volcano.sh/nodegroup-name"] = f"group{number % 3}"
        if "tdm" in self.plugins and number >= NODES - len(ZONES):
            labels["volcano.sh/revocable-zone"] = ZONES[number - NODES]
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "ready"}
        await self._ground.post(
            "/api/v1/nodes",
            {
                "metadata": {"name": f"node-{number}", "labels": labels, "annotations": annotations},
                "spec": {},
                "status": {"capacity": amounts, "allocatable": amounts, "conditions": [ready]},
            },
        )
        if "numa-aware" in self.plugins:
            await self._describe(number)
        if "nodenuma" in self.plugins:
            described = NODE_RESOURCE_TOPOLOGIES.decoder.convert(topology(f"node-{number}"))
            self._ground.cache.state.apply("NodeResourceTopology", described)

    async def _describe(self, number: int) -> None:
        """As an exporter on a node does, but for what its pods hold; what was there before may be there still."""
        policy = NUMA_POLICIES[number % len(NUMA_POLICIES)]
        topology = numatopology(f"node-{number}", policy=policy)
        try:
            await self._ground.post("/apis/nodeinfo.volcano.sh/v1alpha1/numatopologies", dict(topology))
        except ApiError as error:
            if error.status != _CONFLICT:
                raise

    async def _lose_node(self, cycle: int) -> None:
        number = self._chance.randrange(NODES)
        if number in self._lost_nodes or len(self._lost_nodes) > 1:
            return
        self._lost_nodes[number] = cycle + self._chance.randint(5, 15)
        self.losses += 1
        await self._ground.client.request("DELETE", f"/api/v1/nodes/node-{number}")
        for pod in self._ground.objects("pods"):
            if pod["spec"].get("nodeName") == f"node-{number}":
                self.lost_groups.add(job_of(pod))
                await self._remove_pod(pod)

    async def _return_nodes(self, cycle: int) -> None:
        # Pods that were bound to the node as it went end here, as the garbage collector of pods sees to it.
        for pod in self._ground.objects("pods"):
            node = pod["spec"].get("nodeName", "")
            if node and int(node.removeprefix("node-")) in self._lost_nodes:
                self.lost_groups.add(job_of(pod))
                await self._remove_pod(pod)
        for number in [number for number, back in self._lost_nodes.items() if back <= cycle]:
            del self._lost_nodes[number]
            await self._add_node(number)

    def _measure(self, *, is_calm: bool) -> None:
        """As a monitoring system does: nodes are busy or idle whatever was asked for; in the calm all is idle."""
        usage = {}
        for node in self._ground.objects("nodes"):
            cpu, memory = (self._chance.choice((5, 15, 40, 70, 95)) for _ in range(2))
            usage[NodeName(node["metadata"]["name"])] = NodeUsage(
                cpu_percent=0 if is_calm else cpu,
                memory_percent=0 if is_calm else memory,
                measured=self._ground.time.now,
            )
        self._ground.cache.state.measure(usage)

    def _report(self, *, is_calm: bool) -> None:
        """As agents on nodes do, at several moments: what nodes and most of their pods use."""
        pods = self._ground.objects("pods")
        for node in self._ground.objects("nodes"):
            name = node["metadata"]["name"]
            cpu, gib = (0, 0) if is_calm else (self._chance.choice((0, 1, 3, 5, 7)), self._chance.choice((1, 8, 30)))
            measured = [
                pod_metric(pod["metadata"]["name"], {"cpu": "100m"}, namespace=NAMESPACE)
                for pod in pods
                if pod["spec"].get("nodeName") == name and self._chance.random() < 0.8
            ]
            at = self._ground.time.now - (0 if is_calm else self._chance.choice((0, 0, 30, 200)))
            metric = node_metric(name, {"cpu": str(cpu), "memory": f"{gib}Gi"}, at=at, pods=measured)
            self._ground.cache.state.apply("NodeMetric", NODE_METRICS.decoder.convert(metric))

    async def _count_quota(self) -> None:
        """As the controller of quotas does: all pods that have not ended are in use."""
        used: Counter[str] = Counter()
        for pod in self._ground.objects("pods"):
            if pod["status"].get("phase") not in {"Succeeded", "Failed"}:
                job = self.jobs[job_of(pod)]
                used.update({"cpu": job.cpu, "memory": job.cpu, "pods": 1})
        status = {
            "hard": QUOTA,
            "used": {"cpu": str(used["cpu"]), "memory": f"{used['memory']}Gi", "pods": str(used["pods"])},
        }
        await self._ground.client.request(
            "PATCH",
            f"{QUOTAS_PATH}/quota/status",
            body=json.dumps({"status": status}).encode(),
            media_type=MediaType.MERGE_PATCH,
        )

    # Jobs -------------------------------------------------------------------------------------------------------------

    def _load(self) -> int:
        return sum(job.cpu * (job.tasks - job.succeeded) for job in self.jobs.values())

    async def _add_job(self) -> None:
        job = self._draw_job()
        self.jobs[job.name] = job
        if not job.is_gang:
            await self._add_group(job)
        if job.has_budget:
            await self._ground.post(
                f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets",
                {
                    "metadata": {"name": job.name},
                    "spec": {"minAvailable": job.minimum, "selector": {"matchLabels": {"job": job.name}}},
                },
            )

    async def _add_group(self, job: Job) -> None:
        spec = {
            "minMember": job.minimum,
            "queue": job.queue,
            "priorityClassName": job.priority,
            "minResources": job.needs,
        }
        if job.topology is not None:
            spec["networkTopology"] = job.topology
        await self._ground.post(
            GROUPS_PATH,
            {
                "apiVersion": "scheduling.volcano.sh/v1beta1",
                "kind": "PodGroup",
                "metadata": {"name": job.name, "annotations": job.group_annotations},
                "spec": spec,
            },
        )

    def _draw_job(self) -> Job:
        chance = self._chance
        self._numbers += 1
        tasks = chance.choice((1, 1, 2, 3, 4, 4, 6))
        cpu = chance.choice((0, 1, 1, 2, 2, 3))
        job = Job(
            name=f"job-{self._numbers}",
            queue=chance.choice(LEAVES),
            tasks=tasks,
            minimum=chance.choice((1, tasks, tasks)),
            cpu=cpu,
            gpu=chance.choice((0, 0, 0, 1)) if cpu else 0,
            priority=chance.choice(tuple(PRIORITIES)),
            cycles=chance.randint(4, 40),
            topology=None,
            extra={},
            group_annotations={},
            grace_seconds=chance.choice((0, 0, 30)),
            has_budget=chance.random() < 0.1,
        )
        self._adorn(job)
        return job

    def _adorn(self, job: Job) -> None:
        """Give a job what the plugins of the configuration look at."""
        chance = self._chance
        if "network-topology-aware" in self.plugins and chance.random() < 0.5:
            mode = chance.choice(("hard", "hard", "soft"))
            job.topology = {"mode": mode, "highestTierAllowed": chance.choice((1, 2))}
        if chance.random() < 0.1:
            job.extra["volcano.sh/preemptable"] = "false"
        if "tdm" in self.plugins and chance.random() < 0.4:
            job.extra |= {"volcano.sh/preemptable": "true", "volcano.sh/revocable-zone": "*"}
        if "cdp" in self.plugins and chance.random() < 0.5:
            job.extra["volcano.sh/cooldown-time"] = "10s"
        if "sla" in self.plugins and chance.random() < 0.3:
            job.group_annotations["volcano.sh/sla-waiting-time"] = "20s"
        if "numa-aware" in self.plugins and chance.random() < 0.5:
            job.has_limits = True
            job.extra |= chance.choice(({}, {NUMA_POLICY: chance.choice(NUMA_POLICIES)}))
        if "nodenuma" in self.plugins and job.cpu and chance.random() < 0.6:
            job.labels |= {QOS: chance.choice(("LSR", "LSE"))}
            bind = chance.choice(("FullPCPUs", "SpreadByPCPUs", "SpreadByPCPUs"))
            numa = chance.choice(("", "", "BestEffort", "Restricted", "SingleNUMANode"))
            job.extra |= policies(preferred=bind, **({"numa": numa} if numa else {}))
        if "deviceshare" in self.plugins and job.cpu and chance.random() < 0.7:
            if chance.random() < 0.6:
                job.card = chance.choice((2, 5, 5, 8))
            else:
                job.chip = chance.choice((3000, 6000, 12000, 20000))
        if "elastic-quota" in self.plugins:
            quota = chance.choice(("ant", "ant", "bee", "cat", "cat", ""))
            job.labels |= uses(quota, preemptible=chance.random() < 0.9)
        if "coscheduling" in self.plugins and chance.random() < 0.6:
            job.is_gang = True
            mode = chance.choice(("Strict", "NonStrict"))
            job.extra |= {NAME: job.name, MIN_AVAILABLE: str(job.minimum), MODE: mode, POD_QUEUE_NAME: job.queue}
        if "task-topology" in self.plugins and job.tasks > 1 and chance.random() < 0.6:
            kind = chance.choice(("affinity", "anti-affinity"))
            job.group_annotations[f"volcano.sh/task-topology-{kind}"] = "first,rest"

    async def _make_missing_pods(self) -> None:
        """As job controllers do: a pod that is gone without having succeeded is made anew."""
        present: dict[str, int] = {}
        for pod in self._ground.objects("pods"):
            if pod["status"].get("phase") == "Failed":
                await self._remove_pod(pod)
            elif pod["status"].get("phase") != "Succeeded":
                present[job_of(pod)] = present.get(job_of(pod), 0) + 1
        for job in list(self.jobs.values()):
            for number in range(present.get(job.name, 0), job.tasks - job.succeeded):
                if self._may_make(job, number):
                    job.made += 1
                    await self._ground.post(PODS_PATH, _pod(job, job.made))

    def _may_make(self, job: Job, number: int) -> bool:
        """Return whether a job's n-th pod is made: under a quota the minimum is, once the group is admitted."""
        if "resourcequota" not in self.plugins:
            return True
        group = self.group(job.name) or {}
        return number < job.minimum and group.get("status", {}).get("phase", "Pending") != "Pending"

    def group(self, name: str) -> Object | None:
        """Return a PodGroup as the server has it; None where it is gone."""
        found = self._ground.emulator.store.collection("scheduling.volcano.sh", "podgroups").get(NAMESPACE, name)
        return None if found is None else found.object()

    async def _end_pods(self, cycle: int) -> None:
        for pod in self._ground.objects("pods"):
            job = self.jobs.get(job_of(pod))
            if job is None or pod["status"].get("phase") != "Running" or pod["metadata"].get("deletionTimestamp"):
                continue
            ends = job.ends_by_pod.setdefault(pod["metadata"]["name"], cycle + job.cycles)
            if ends <= cycle:
                job.succeeded += 1
                await self._ground.client.request(
                    "PATCH",
                    f"{PODS_PATH}/{pod['metadata']['name']}/status",
                    body=b'{"status": {"phase": "Succeeded"}}',
                    media_type=MediaType.MERGE_PATCH,
                )
        for job in [job for job in self.jobs.values() if job.succeeded >= job.tasks]:
            await self._end_job(job)

    async def _clean_up(self) -> None:
        """As cleaners do: pods that succeeded are deleted while others of their job still run."""
        for pod in self._ground.objects("pods"):
            job = self.jobs.get(job_of(pod))
            if job is None or job.is_gang or pod["status"].get("phase") != "Succeeded":
                continue
            if self._cleaning.random() < CLEANED:
                self.cleaned[job.name] = self.cleaned.get(job.name, 0) + 1
                await self._remove_pod(pod)

    async def _end_job(self, job: Job) -> None:
        del self.jobs[job.name]
        self.ended += 1
        for pod in self._ground.objects("pods"):
            if job_of(pod) == job.name:
                await self._remove_pod(pod)
        if not job.is_gang:
            await self._ground.client.request("DELETE", f"{GROUPS_PATH}/{job.name}")
        if job.has_budget:
            await self._ground.client.request(
                "DELETE", f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets/{job.name}"
            )

    async def _remove_pod(self, pod: Object) -> None:
        try:
            await self._ground.client.request(
                "DELETE", f"{PODS_PATH}/{pod['metadata']['name']}", body=b'{"gracePeriodSeconds": 0}'
            )
        except ApiError as error:
            if not error.is_not_found:
                raise


def job_of(pod: Object) -> str:
    """Return the name of the job of a pod."""
    name: str = pod["metadata"]["labels"]["job"]
    return name


def _pod(job: Job, number: int) -> Object:
    role, own = "first" if number == 1 else "rest", {} if job.is_gang else {GROUP_NAME: job.name}
    return {
        "metadata": {
            "name": f"{job.name}-{number}",
            "labels": {"job": job.name, **job.labels},
            "annotations": {**own, "volcano.sh/task-spec": role, **job.extra},
        },
        "spec": {
            "schedulerName": "volcano",
            "priorityClassName": job.priority,
            "priority": PRIORITIES[job.priority],
            "terminationGracePeriodSeconds": job.grace_seconds,
            "containers": [{"name": "main", "image": "none", "resources": _resources(job)}],
        },
    }


def _resources(job: Job) -> Object:
    limits = job.requests if job.has_limits or job.chip else {CARD_MEMORY: str(job.card)} if job.card else {}
    return {"requests": job.requests, **({"limits": limits} if limits else {})}


def _queue(
    name: str, *, weight: int = 1, deserved: int, guarantee: int = 0, cpus: int = 0, gpus: int = 0, gib: int = 0
) -> Object:
    """Return a queue; what is 0 is not said."""
    spec: Object = {"weight": weight, "reclaimable": True, "deserved": {"cpu": str(deserved)}}
    if guarantee:
        spec["guarantee"] = {"resource": {"cpu": str(guarantee)}}
    limits = {"cpu": str(cpus), GPU: str(gpus), "memory": f"{gib}Gi"}
    if capability := {name: limit for name, limit in limits.items() if limit not in {"0", "0Gi"}}:
        spec["capability"] = capability
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": spec,
    }


def _affinity(queue: str) -> Object:
    own = f"group{LEAVES.index(queue)}"
    others = [f"group{number}" for number in range(3) if f"group{number}" != own]
    required, preferred = (
        "requiredDuringSchedulingIgnoredDuringExecution",
        "preferredDuringSchedulingIgnoredDuringExecution",
    )
    return {
        "nodeGroupAffinity": {required: [own], preferred: others[:1]},
        "nodeGroupAntiAffinity": {required: others[1:]},
    }


def _hypernode(name: str, tier: int, members: Sequence[str]) -> Object:
    kind = "Node" if tier == 1 else "HyperNode"
    return {
        "apiVersion": "topology.volcano.sh/v1alpha1",
        "kind": "HyperNode",
        "metadata": {"name": name},
        "spec": {
            "tier": tier,
            "members": [{"type": kind, "selector": {"exactMatch": {"name": member}}} for member in members],
        },
    }
