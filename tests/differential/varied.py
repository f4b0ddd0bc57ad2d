"""Clusters by chance in which one more plugin matters: what it looks at is written on clusters of the other kinds."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from random import Random
from typing import Any

from pyroclast.scheduler.simulation.case import moment_after
from pyroclast.testing import Scenario
from tests.devices import CORE, RATIO, RDMA, device, gpu, rdma
from tests.devices import MEMORY as GPU_MEMORY
from tests.differential.cluster import amount
from tests.differential.crowded import crowded
from tests.differential.evicting import Evicting
from tests.differential.extended import DRAINED, KEPT, RANK, TOOLS, VOTE
from tests.differential.generated import AS_VOLCANO, case
from tests.elastic_quotas import elastic_quota, uses
from tests.nodemetrics import node_metric, pod_metric
from tests.nodenuma import QOS, STATUS, policies, topology

SHUFFLING = ("allocate", "shuffle")
TRIES = 4
"""Full clusters that are searched for one with evictions."""
YEAR_SECONDS = 365 * 24 * 3600
NAMESPACE = "default"
APPS = ("web", "db", "train")
GPU = "nvidia.com/gpu"
TEAMS = ("org", "rest", "team0", "team1", "team2", "pool", "miner")
"""Elastic quotas."""
KOORDINATOR = "scheduling.koordinator.sh/"
AGGREGATED = {"aggregatedUsage": {"usageThresholds": {"cpu": 55}, "usageAggregationType": "avg"}}
ALLOCATED = "scheduling.koordinator.sh/device-allocated"
Object = Mapping[str, Any]
Arguments = dict[str, Any]


@dataclass(frozen=True)
class Varied:
    """A cluster, a configuration that names the plugin, and the moment."""

    scenario: Scenario
    tiers: tuple[tuple[Any, ...], ...]
    actions: tuple[str, ...]
    arguments: Mapping[str, Mapping[str, Any]]
    """Results by plugin and by action."""
    now: float
    runs: Mapping[str, float]
    """When plugins that act from time to time last did."""

    def without(self, plugin: str) -> "Varied":
        """Return the same where a plugin is not configured."""
        return replace(self, tiers=tuple(tuple(each for each in tier if each != plugin) for tier in self.tiers))


def varied(plugin: str, chance: Random) -> Varied:
    """Make a case for a plugin."""
    variation = VARIATIONS[plugin]
    base: Varied = chance.choice(variation.bases)(chance)
    objects, arguments = variation.write(base.scenario.objects, base.now, chance)
    tiers = [list(tier) for tier in base.tiers]
    at = chance.choice([0, 0, chance.randrange(len(tiers))])
    tiers[at].insert(chance.randint(0, len(tiers[at])), plugin)
    return replace(
        base,
        scenario=replace(base.scenario, objects=objects),
        tiers=tuple(tuple(tier) for tier in tiers),
        arguments={**base.arguments, plugin: arguments},
    )


# What is varied


def gated(chance: Random) -> Varied:
    """Make a cluster that takes work through the gates of its queues."""
    return replace(roomy(chance), actions=("enqueue", "allocate", "backfill"))


def roomy(chance: Random) -> Varied:
    """Make a cluster with free capacity, without evictions."""
    each = case(chance, divided=chance.random() < 0.2)
    now = moment_after(each.scenario.objects) - YEAR_SECONDS
    return Varied(each.scenario, each.tiers, each.actions, AS_VOLCANO, now, {})


def related(chance: Random) -> Varied:
    """Make a cluster that takes work in several roles."""
    return next(
        each
        for each in iter(lambda: roomy(chance), None)
        if any(made["kind"] == "PodGroup" and len(made["spec"]["minTaskMember"]) > 1 for made in each.scenario.objects)
    )


def full(chance: Random) -> Varied:
    """Make a full cluster, if possible one with evictions."""
    for _ in range(TRIES):
        each = crowded(chance)
        now = moment_after(each.scenario.objects)
        plain = Evicting(each.scenario.objects, each.tiers, now, each.arguments)
        plain.run(each.actions)
        if plain.evicting:
            break
    return Varied(each.scenario, each.tiers, each.actions, each.arguments, now, {})


def preempting(chance: Random) -> Varied:
    """Make a cluster that is full, in which the more important evict others of their queue."""
    each = full(chance)
    return replace(each, actions=("allocate", "preempt"))


def shuffling(chance: Random) -> Varied:
    """Make a full cluster, from which pods are evicted without a preemptor."""
    each = full(chance)
    plugins = {"rescheduling": each.now - chance.choice([30, 300, 301, 301, 900, 900])}
    arguments = {**each.arguments, "shuffle": {"maxEvictions": chance.choice([0, 0, 1, 2])}}
    return replace(each, actions=SHUFFLING, arguments=arguments, runs=plugins)


def overusing(chance: Random) -> Varied:
    """Make the same where teams have had more than their quota for a while."""
    each = shuffling(chance)
    since = each.now - chance.choice([30, 120, 121, 301, 900])
    teams = {f"elastic-quota/{name}": since for name in TEAMS}
    return replace(each, runs={**each.runs, **teams, "elastic-quota": since})


def rescheduling(chance: Random) -> Varied:
    """Make a cluster from whose busy nodes pods go."""
    return varied("rescheduling", chance)


def edited(objects: tuple[Object, ...], kind: str, edit: Callable[[Any], Object]) -> tuple[Object, ...]:
    """Change the objects of a kind."""
    return tuple(edit(each) if each["kind"] == kind else each for each in objects)


def noted(each: Object, side: str, more: Mapping[str, str]) -> Object:
    """Add labels or annotations to an object."""
    metadata = each["metadata"]
    return {**each, "metadata": {**metadata, side: {**metadata[side], **more}}}


def moment(seconds: float) -> str:
    """Write a moment as Kubernetes does."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


# What is written


def with_budgets(objects: tuple[Object, ...], _now: float, chance: Random) -> tuple[tuple[Object, ...], Arguments]:
    """Disruption budgets: some overlap, some are of other namespaces or select no pod, some count pods already."""
    names = [each["metadata"]["name"] for each in objects if each["kind"] == "Pod"]
    budgets = [
        {
            "kind": "PodDisruptionBudget",
            "metadata": {"name": f"b{number}", "namespace": chance.choice([NAMESPACE] * 5 + ["elsewhere"])},
            "spec": {
                "selector": chance.choice(
                    [{"matchLabels": {"app": app}} for app in APPS]
                    + [
                        {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
                        {"matchExpressions": [{"key": "part", "operator": "NotIn", "values": ["0"]}]},
                        {},
                        None,
                    ]
                )
            },
            "status": {
                "disruptionsAllowed": chance.choice([0, 0, 0, 0, 1, 2]),
                "disruptedPods": {chance.choice(names): moment(0)} if names and chance.random() < 0.2 else {},
            },
        }
        for number in range(chance.randint(1, 3))
    ]

    def unlabelled(each: Any) -> Object:
        metadata = each["metadata"]
        return {**each, "metadata": {**metadata, "labels": {}}} if chance.random() < 0.1 else each

    return (*edited(objects, "Pod", unlabelled), *budgets), {}


def with_cooldown(objects: tuple[Object, ...], now: float, chance: Random) -> tuple[tuple[Object, ...], Arguments]:
    """Pods that were scheduled at different moments and want to be spared for different times."""

    def write(each: Any) -> Object:
        texts = ["600s", "600s", "10m", "60s", "600abcde", ""]
        for side in ("annotations", "labels"):
            if chance.random() < 0.5:
                each = noted(each, side, {"volcano.sh/cooldown-time": chance.choice(texts)})
        if not each["spec"]["nodeName"]:
            return dict(each)
        conditions = [{"type": "Initialized", "status": "True", "lastTransitionTime": moment(now)}]
        for _ in range(chance.choice([0, 1, 1, 1, 2])):
            at = moment(now - chance.choice([5, 5, 59, 60, 61, 599, 599, 600, 601]))
            status = chance.choice(["True", "True", "True", "False"])
            conditions.append({"type": "PodScheduled", "status": status, "lastTransitionTime": at})
        return {**each, "status": {**each["status"], "conditions": conditions}}

    return edited(objects, "Pod", write), {}


def with_zones(objects: tuple[Object, ...], now: float, chance: Random) -> tuple[tuple[Object, ...], Arguments]:
    """Revocable nodes of zones with open, closed and no windows, budgets of jobs, pods that may be there."""
    zones = ("day", "night", "never")
    arguments: Arguments = {
        f"tdm.revocable-zone.{zone}": _window(now, chance) for zone in zones[:2] if chance.random() < 0.9
    }
    if chance.random() < 0.5:
        arguments["tdm.evict.period"] = chance.choice(["10s", "5m"])
    if chance.random() < 0.2:
        arguments["tdm.evict.wholeGangs"] = False

    def node(each: Any) -> Object:
        zone = chance.choice(["", "", "day", "day", "night", "never"])
        return noted(each, "labels", {"volcano.sh/revocable-zone": zone}) if zone else each

    def pod(each: Any) -> Object:
        for key, texts in (("revocable-zone", ["*", "*", "day"]), ("preemptable", ["true", "false", "false"])):
            if chance.random() < 0.35:
                each = noted(each, "annotations", {f"volcano.sh/{key}": chance.choice(texts)})
        return dict(each)

    def group(each: Any) -> Object:
        for key, texts in (
            ("preemptable", ["true", "false"]),
            ("jdb-min-available", ["1", "2", "30%", "50%"]),
            ("jdb-max-unavailable", ["0", "1", "2", "50%", "99%"]),
        ):
            if chance.random() < 0.25:
                each = noted(each, "annotations", {f"volcano.sh/{key}": chance.choice(texts)})
        return dict(each)

    return edited(edited(edited(objects, "Node", node), "Pod", pod), "PodGroup", group), arguments


def _window(now: float, chance: Random) -> str:
    """Write a window that begins or ends near now, or at another hour."""
    here = datetime.fromtimestamp(int(now), UTC)
    minutes = here.hour * 60 + here.minute

    def clock() -> str:
        hour, minute = divmod((minutes + chance.choice([-600, -60, -1, 0, 1, 60, 600])) % (24 * 60), 60)
        return f"{hour}:{minute:02d}"

    return f"{clock()}-{clock()}"


def with_quotas(objects: tuple[Object, ...], _now: float, chance: Random) -> tuple[tuple[Object, ...], Arguments]:
    """Quotas of the namespace, of names that minimums have and others."""

    def amounts() -> dict[str, Any]:
        names = [name for name in ("cpu", "memory", GPU, "requests.cpu", "pods") if chance.random() < 0.7]
        return {name: f"{chance.randint(0, 4)}Gi" if name == "memory" else chance.randint(0, 3) for name in names}

    quotas = []
    for number in range(chance.randint(1, 2)):
        hard = amounts()
        used = {name: _part(amount, chance) for name, amount in hard.items() if chance.random() < 0.8}
        quotas.append(
            {
                "kind": "ResourceQuota",
                "metadata": {"name": f"q{number}", "namespace": chance.choice([NAMESPACE] * 4 + ["elsewhere"])},
                "spec": {"hard": hard},
                "status": {"hard": hard, "used": used},
            }
        )
    return (*objects, *quotas), {}


def _part(amount: Any, chance: Random) -> Any:
    return "1Gi" if isinstance(amount, str) else chance.randint(0, max(amount - 1, 0))


def with_load(objects: tuple[Object, ...], now: float, chance: Random) -> tuple[tuple[Object, ...], Arguments]:
    """Measurements, fresh and old, pods that have just begun, capacity beyond what nodes offer, limits."""
    nodes = [each["metadata"]["name"] for each in objects if each["kind"] == "Node"]
    loads = [(chance.uniform(0, 100), chance.uniform(0, 100)) for _ in range(3)]
    measured = []
    for name in nodes:
        if chance.random() < 0.85:
            cpu, memory = chance.choice(loads)
            at = now - chance.choice([0, 0, 0, 0, 300, 301])
            measured.append(_measured(name, cpu, memory, at))
    arguments: Arguments = {}
    for key, choices in (("usage.weight", [1, 20]), ("cpu.weight", [0, 3]), ("memory.weight", [0, 2])):
        if chance.random() < 0.3:
            arguments[key] = chance.choice(choices)
    if chance.random() < 0.6:
        arguments["thresholds"] = {"cpu": chance.choice([30, 60, 100]), "mem": chance.choice([30, 60, 100])}
    if chance.random() < 0.5:
        arguments["estimator"] = {
            "request_ratio": chance.choice([0.0, 0.5, 1.0]),
            "burst_ratio": chance.choice([0.0, 0.2, 1.0]),
            "risk_threshold": chance.choice([0.2, 0.5, 0.9]),
            "risk_factor": chance.choice([1, 1.5, 3.0]),
        }

    def node(each: Any) -> Object:
        capacity = {**each["status"]["capacity"], "cpu": chance.choice([8, 16]), "memory": "16Gi"}
        return {**each, "status": {**each["status"], "capacity": capacity}}

    def pod(each: Any) -> Object:
        if each["status"]["phase"] != "Running" or chance.random() < 0.3:
            return dict(each)
        started = moment(now - chance.choice([5, 29, 30, 31, 500]))
        return {**each, "status": {**each["status"], "startTime": started}}

    changed = edited(edited(edited(objects, "Node", node), "Pod", pod), "Pod", lambda each: _limited(each, chance))
    return (*changed, *measured), arguments


def _measured(node: str, cpu: float, memory: float, at: float) -> Object:
    return {
        "kind": "NodeUsage",
        "metadata": {"name": node},
        "cpuPercent": cpu,
        "memoryPercent": memory,
        "measured": at,
    }


def _limited(each: Any, chance: Random) -> Object:
    """Let some pods say how much they use at most."""
    [container] = each["spec"]["containers"]
    requests = container["resources"]["requests"]
    kind = chance.choice(["", "", "as much", "more"])
    if not kind or not requests:
        return dict(each)
    limits = {name: requests[name] for name in requests if name in ("cpu", "memory")}
    if kind == "more":
        limits["cpu"] = 8
    resources = {**container["resources"], "limits": limits}
    return {**each, "spec": {**each["spec"], "containers": [{**container, "resources": resources}]}}


def with_node_metrics(objects: tuple[Object, ...], now: float, chance: Random) -> tuple[tuple[Object, ...], Arguments]:
    """What an agent measured of nodes and pods, soon and late, in part; pods of several classes, young and old."""

    def node(each: Any) -> Object:
        own = chance.choice(
            [{}, {"usageThresholds": {"cpu": 30}}, {"prodUsageThresholds": {"cpu": 50, "memory": 0}}, AGGREGATED]
        )
        metadata = {**each["metadata"], "annotations": {f"{KOORDINATOR}usage-thresholds": json.dumps(own)}}
        return {**each, "metadata": metadata} if chance.random() < 0.3 else dict(each)

    def pod(each: Any) -> Object:
        kind = chance.choice(["", "", "", "koord-prod", "koord-mid", "koord-batch", "koord-free"])
        made: Object = noted(each, "labels", {"koordinator.sh/priority-class": kind} if kind else {})
        own = {
            "load-estimated-scaling-factors": json.dumps({"cpu": chance.choice([10, 100, 150])}),
            "load-estimated-seconds-after-pod-scheduled": chance.choice(["0", "400"]),
            "load-estimated-seconds-after-initialized": chance.choice(["0", "200"]),
        }
        made = noted(
            made, "annotations", {KOORDINATOR + key: text for key, text in own.items() if chance.random() < 0.1}
        )
        if chance.random() < 0.05:
            made = {**made, "metadata": {**made["metadata"], "ownerReferences": [{"kind": "DaemonSet"}]}}
        if made["status"]["phase"] == "Running":
            since = moment(now - chance.choice([0, 30, 59, 60, 61, 119, 120, 300, 900]))
            kinds = [name for name in ("PodScheduled", "Initialized") if chance.random() < 0.8]
            conditions = [{"type": name, "status": "True", "lastTransitionTime": since} for name in kinds]
            start = {"startTime": moment(now - 300)} if chance.random() < 0.5 else {}
            made = {**made, "status": {**made["status"], **start, "conditions": conditions}}
        return made

    changed = edited(edited(edited(objects, "Node", node), "Pod", pod), "Pod", lambda each: _limited(each, chance))
    metrics = [
        _node_metric(each, [pod for pod in changed if pod["kind"] == "Pod"], now, chance)
        for each in changed
        if each["kind"] == "Node" and chance.random() < 0.9
    ]
    return (*changed, *metrics), _load_arguments(chance)


def _node_metric(node: Object, pods: list[Object], now: float, chance: Random) -> Object:
    offers = node["status"]["allocatable"]

    def some(parts: tuple[float, ...]) -> Object:
        cpu = int(amount("cpu", str(offers["cpu"])) * chance.choice(parts))
        memory = int(amount("memory", str(offers["memory"])) * chance.choice(parts))
        return {"cpu": f"{cpu}m", "memory": str(memory)}

    on_it = [
        pod_metric(
            pod["metadata"]["name"],
            some((0.0, 0.1, 0.3)) if chance.random() < 0.9 else {},
            namespace=pod["metadata"]["namespace"],
            priority=chance.choice(["koord-prod", "koord-prod", "koord-batch", ""]),
        )
        for pod in pods
        if pod["spec"]["nodeName"] == node["metadata"]["name"] and chance.random() < 0.7
    ]
    return node_metric(
        node["metadata"]["name"],
        None if chance.random() < 0.05 else some((0.0, 0.2, 0.4, 0.6, 0.8)),
        at=chance.choice([*[int(now - 10)] * 8, int(now - 179), int(now - 180), int(now - 300), None]),
        pods=on_it,
        system=some((0.0, 0.1)),
        statistics={
            period: {kind: some((0.1, 0.5, 0.7)) for kind in ("p95", "avg") if chance.random() < 0.8}
            for period in ("5m", "10m")
            if chance.random() < 0.7
        },
        interval=chance.choice([None, None, 30, 120]),
    )


def _load_arguments(chance: Random) -> Arguments:
    choices: dict[str, list[Any]] = {
        "weight": [0, 5, 30],
        "filterExpiredNodeMetrics": [False],
        "nodeMetricExpirationSeconds": [179, 300],
        "enableScheduleWhenNodeMetricsExpired": [True],
        "resourceWeights": [{"cpu": 1}, {"memory": 3, "cpu": 1}],
        "dominantResourceWeight": [1, 5],
        "usageThresholds": [{"cpu": 30}, {"cpu": 50, "memory": 40}, {"cpu": 0, "memory": 60}],
        "prodUsageThresholds": [{"cpu": 40}, {"memory": 30}],
        "scoreAccordingProdUsage": [True],
        "aggregated": [
            {"usageThresholds": {"cpu": 60}, "usageAggregationType": "p95"},
            {"usageThresholds": {"cpu": 60}, "usageAggregationType": "p95", "usageAggregatedDuration": "10m"},
            {"scoreAggregationType": "avg", "scoreAggregatedDuration": "5m"},
            {"scoreAggregationType": "p50"},
        ],
        "estimatedScalingFactors": [{"cpu": 100}, {"memory": 33, "cpu": 50}],
        "estimatedSecondsAfterPodScheduled": [100, 1000],
        "estimatedSecondsAfterInitialized": [100, 1000],
        "allowCustomizeEstimation": [True],
    }
    given = {key: chance.choice(values) for key, values in choices.items() if chance.random() < 0.25}
    if given.get("filterExpiredNodeMetrics") is False:
        given.pop("enableScheduleWhenNodeMetricsExpired", None)
    if chance.random() < 0.5 and {"prodUsageThresholds", "scoreAccordingProdUsage"} & set(given):
        given["prodUsageIncludeSys"] = True
    return given


def with_marks(objects: tuple[Object, ...], now: float, chance: Random) -> tuple[tuple[Object, ...], Arguments]:
    """Measurements that leave some nodes idle and others busy, and the marks."""
    nodes = [each["metadata"]["name"] for each in objects if each["kind"] == "Node"]
    loads = [(10, 20), (9, 29), (29.5, 5), (30, 10), (60, 60), (95, 40), (61, 90), (75.5, 62)]
    measured = [
        _measured(name, *chance.choice(loads), at)
        for name in nodes
        if chance.random() < 0.9
        for at in [now - chance.choice([0, 0, 0, 0, 0, 0, 300, 301])]
    ]
    marks: dict[str, Any] = {"thresholds": {"cpu": 30, "memory": 30}, "targetThresholds": {"cpu": 60, "memory": 60}}
    if chance.random() < 0.2:
        marks["targetThresholds"] = {"cpu": 70}
    arguments = {
        "interval": chance.choice(["10s", "10s", "300s"]),
        "metricsPeriod": "10m",
        "strategies": [{"name": "lowNodeUtilization", "params": marks}],
    }
    changed = edited(objects, "Pod", lambda each: _limited(each, chance))
    return (*changed, *measured), arguments


def with_node_groups(objects: tuple[Object, ...], _now: float, chance: Random) -> tuple[tuple[Object, ...], Arguments]:
    """Nodes in groups, queues with terms and limits, below a queue that may have terms of its own."""
    names = ("a", "b", "c")

    def terms() -> Object:
        def some() -> list[str]:
            return chance.choices(names, k=chance.choice([0, 0, 1, 2]))

        return {
            side: {
                "requiredDuringSchedulingIgnoredDuringExecution": some() if side == "nodeGroupAffinity" else some()[:1],
                "preferredDuringSchedulingIgnoredDuringExecution": some(),
            }
            for side in ("nodeGroupAffinity", "nodeGroupAntiAffinity")
        }

    def queue(each: Any) -> Object:
        if chance.random() < 0.4:
            limits = {
                name: {"cpu": str(chance.randint(1, 6))} if chance.random() < 0.7 else {"memory": "4Gi"}
                for name in names
                if chance.random() < 0.5
            }
            text = json.dumps(limits) if chance.random() < 0.95 else "{broken"
            each = noted(each, "annotations", {"volcano.sh/nodegroup-resource-limits": text})
        if chance.random() < 0.75:
            each = {**each, "spec": {**each["spec"], "affinity": terms()}}
        return dict(each)

    def node(each: Any) -> Object:
        name = chance.choice(["", *names, *names])
        return noted(each, "labels", {"volcano.sh/nodegroup-name": name}) if name else each

    arguments = {"strict": chance.random() < 0.5, "enablePreferredOrder": chance.random() < 0.5}
    return edited(edited(objects, "Node", node), "Queue", queue), arguments


def with_devices(objects: tuple[Object, ...], _now: float, chance: Random) -> tuple[tuple[Object, ...], Arguments]:
    """More nodes with GPUs, pods with strategies of their own, and arguments of every kind."""

    def strategy() -> Arguments:
        return {"type": chance.choice(["LeastAllocated", "MostAllocated"]), "weight": chance.randint(1, 3)}

    def node(each: Any) -> Object:
        if chance.random() < 0.5:
            return dict(each)
        amounts = {**each["status"]["allocatable"], GPU: chance.choice([0, 1, 2, 4])}
        return {**each, "status": {**each["status"], "allocatable": amounts, "capacity": amounts}}

    def pod(each: Any) -> Object:
        if chance.random() < 0.2:
            kind = chance.choice(["LeastAllocated", "MostAllocated", "Unknown"])
            each = noted(each, "annotations", {"volcano.sh/resource-strategy-scoring-type": kind})
        if chance.random() < 0.2:
            text = chance.choice(['{"cpu": 1, "memory": 2}', '{"cpu": 2}', "{broken"])
            each = noted(each, "annotations", {"volcano.sh/resource-strategy-weight": text})
        return dict(each)

    arguments: Arguments = {"resourceStrategyFitWeight": chance.choice([1, 10])}
    if chance.random() < 0.6:
        names = [name for name in ("cpu", "memory", "nvidia.com/*", GPU, "pods") if chance.random() < 0.6]
        arguments["resources"] = {name: strategy() for name in names}
    if chance.random() < 0.5:
        arguments["sra"] = {
            "enable": chance.random() < 0.9,
            "resources": f"{GPU}, example.com/none",
            "weight": chance.choice([1, 5]),
            "resourceWeight": {GPU: chance.choice([1, 3])},
        }
    if chance.random() < 0.5:
        arguments["proportional"] = {
            "enable": chance.random() < 0.9,
            "resources": GPU,
            "resourceProportion": {f"{GPU}.cpu": chance.choice([0.5, 1, 1.2]), f"{GPU}.memory": 0.7},
        }
    return edited(edited(objects, "Node", node), "Pod", pod), arguments


def with_relations(objects: tuple[Object, ...], _now: float, chance: Random) -> tuple[tuple[Object, ...], Arguments]:
    """Roles to be together and apart; some are not there, some stand twice."""
    roles: dict[str, set[str]] = {}
    for each in objects:
        if each["kind"] == "Pod":
            annotations = each["metadata"]["annotations"]
            job = annotations.get("scheduling.k8s.io/group-name", "")
            roles.setdefault(job, set()).add(annotations.get("volcano.sh/task-spec", ""))

    def group(each: Any) -> Object:
        names = sorted(roles.get(each["metadata"]["name"], {""}) - {""})
        names += ["missing"] if chance.random() < 0.05 else []
        for key in ("affinity", "anti-affinity", "task-order"):
            if names and chance.random() < 0.8:
                sizes = [chance.randint(1, len(names)) for _ in range(chance.choice([1, 1, 2]))]
                groups = [",".join(chance.sample(names, size)) for size in sizes]
                groups = [chance.choice([each, each, each, f"{each},"]) for each in groups]
                text = groups[0] if key == "task-order" else ";".join(groups)
                each = noted(each, "annotations", {f"volcano.sh/task-topology-{key}": text})
        return dict(each)

    return edited(objects, "PodGroup", group), {"task-topology.weight": chance.choice([1, 10, 10])}


def with_racks(objects: tuple[Object, ...], _now: float, chance: Random) -> tuple[tuple[Object, ...], Arguments]:
    """HyperNodes of one to three tiers, some skipped, nodes and racks outside, jobs and parts that want to be close."""
    names = [each["metadata"]["name"] for each in objects if each["kind"] == "Node"]
    tiers = sorted(chance.sample([1, 2, 3, 4], chance.choice([1, 1, 2, 3])))
    members: dict[str, list[Object]] = {f"a{number}": [] for number in range(chance.randint(1, 3))}
    tier_of = dict.fromkeys(members, tiers[0])
    for name in names:
        if chance.random() < 0.9:
            members[chance.choice(list(members))].append(_member("Node", name))
    below = list(members)
    for level, tier in enumerate(tiers[1:], start=1):
        around = [f"{'abc'[level]}{number}" for number in range(chance.randint(1, 2))]
        for name in around:
            members[name], tier_of[name] = [], tier
        for name in below:
            if chance.random() < 0.9:
                members[chance.choice(around)].append(_member("HyperNode", name))
        below = around
    hyper_nodes = [
        {
            "kind": "HyperNode",
            "metadata": {"name": name},
            "spec": {"tier": tier_of[name], "tierName": f"t{tier_of[name]}", "members": inside},
        }
        for name, inside in members.items()
    ]

    def topology() -> Object:
        if chance.random() < 0.4:
            return {"mode": "soft"}
        if chance.random() < 0.2:
            return {"mode": "hard", "highestTierName": f"t{chance.choice([*tiers, 9])}"}
        if chance.random() < 0.1:
            return {"mode": "hard"}
        return {"mode": "hard", "highestTierAllowed": chance.choice([*tiers, *tiers, tiers[-1] + 1, 0])}

    def group(each: Any) -> Object:
        spec = dict(each["spec"])
        if chance.random() < 0.6:
            spec["networkTopology"] = topology()
        if spec.get("subGroupPolicy"):
            spec["subGroupPolicy"] = [
                {**policy, "networkTopology": topology()} if chance.random() < 0.5 else policy
                for policy in spec["subGroupPolicy"]
            ]
        return {**each, "spec": spec}

    arguments: Arguments = {"weight": chance.choice([1, 1, 3])}
    if chance.random() < 0.4:
        arguments["hypernode.binpack.cpu"] = chance.choice([0, 3])
    if chance.random() < 0.3:
        arguments |= {"hypernode.binpack.resources": GPU, f"hypernode.binpack.resources.{GPU}": 4}
    if chance.random() < 0.4:
        arguments["hypernode.binpack.normal-pod.fading"] = chance.choice([0, 0.5, 1])
    if chance.random() < 0.2:
        arguments["hypernode.binpack.normal-pod.enable"] = False
    if chance.random() < 0.3:
        arguments["hypernode.gradient.evict.max-hypernodes"] = chance.choice([1, 2])
    return (*edited(objects, "PodGroup", group), *hyper_nodes), arguments


def _member(kind: str, name: str) -> Object:
    return {"type": kind, "selector": {"exactMatch": {"name": name}}}


def with_topologies(objects: tuple[Object, ...], _now: float, chance: Random) -> tuple[tuple[Object, ...], Arguments]:
    """Machines of one to three NUMA nodes, exporters that list some pods, all or none, and pods with limits."""
    policies = ("single-numa-node", "single-numa-node", "restricted", "best-effort", "none", "")
    by_group: dict[str, str] = {}

    def pod(each: Any) -> Object:
        group = each["metadata"]["annotations"].get("scheduling.k8s.io/group-name", "")
        policy = by_group.setdefault(group, chance.choice(("", "", *policies)))
        containers = [
            {**container, "resources": {**resources, "limits": resources["requests"]}}
            for container in each["spec"]["containers"]
            for resources in [container["resources"]]
        ]
        each = {**each, "spec": {**each["spec"], "containers": containers}} if chance.random() < 0.8 else each
        return noted(each, "annotations", {"volcano.sh/numa-topology-policy": policy}) if policy else dict(each)

    objects = edited(objects, "Pod", pod)
    pods: dict[str, list[str]] = {}
    for each in objects:
        if each["kind"] == "Pod":
            pods.setdefault(each["spec"]["nodeName"], []).append(each["metadata"]["name"])
    topologies = [
        _topology(each, pods.get(each["metadata"]["name"], []), chance.choice(policies), chance)
        for each in objects
        if each["kind"] == "Node" and chance.random() < 0.9
    ]
    return (*objects, *topologies), {"weight": chance.choice([1, 1, 5, 0])}


def _topology(node: Object, pods: list[str], policy: str, chance: Random) -> Object:
    cpus = max(amount("cpu", str(node["status"]["allocatable"]["cpu"])) // 1000 + chance.choice([-1, 0, 0, 2]), 1)
    numa, cores_of = chance.choice([1, 2, 2, 3]), chance.choice([1, 2])
    free = [cpu for cpu in range(cpus) if chance.random() < chance.choice([0.7, 0.9, 1.0])]
    listed = chance.choice([[], [], pods, [name for name in pods if chance.random() < 0.5]])
    return {
        "kind": "Numatopology",
        "metadata": {"name": node["metadata"]["name"]},
        "spec": {
            "policies": {
                "CPUManagerPolicy": chance.choice(["static", "static", "static", "static", "none"]),
                "TopologyManagerPolicy": policy,
            },
            "numares": {"cpu": {"allocatable": ",".join(map(str, free)), "capacity": cpus}}
            if chance.random() < 0.95
            else {},
            "cpuDetail": {
                str(cpu): {"numa": cpu * numa // cpus, "socket": cpu * numa // cpus // 2, "core": cpu // cores_of}
                for cpu in range(cpus)
            },
            "resReserved": {"cpu": chance.choice(["0", "0", "500m", "1"])},
            "podAllocations": [{"namespace": NAMESPACE, "name": name} for name in listed],
        },
    }


def with_cpus(objects: tuple[Object, ...], _now: float, chance: Random) -> tuple[tuple[Object, ...], Arguments]:
    """Machines of one or two CPUs for each core, and pods with whole cores of their own, some of them running."""
    free: dict[str, list[list[int]]] = {}
    topologies = []
    for each in objects:
        name = each["metadata"]["name"]
        if each["kind"] == "Node" and chance.random() < 0.9:
            threads = chance.choice([1, 2])
            cores = max(amount("cpu", str(each["status"]["allocatable"]["cpu"])) // 1000 // threads, 1)
            numa = chance.choice([1, 2]) if cores > 1 else 1
            cpus = {
                core * threads + thread: (core * numa // cores, 0, core)
                for core in range(cores)
                for thread in range(threads)
            }
            topologies.append(topology(name, cpus))
            free[name] = [[core * threads + thread for thread in range(threads)] for core in range(cores)]
            chance.shuffle(free[name])

    def pod(each: Any) -> Object:
        node = each["spec"].get("nodeName", "")
        millis = sum(
            amount("cpu", str(container["resources"].get("requests", {}).get("cpu", 0)))
            for container in each["spec"]["containers"]
        )
        if chance.random() < 0.4 or each["metadata"].get("deletionTimestamp"):
            return dict(each)
        own = policies(required="FullPCPUs")
        if node:
            cores = free.get(node, [])
            needs = millis // 1000
            if not needs or millis % 1000 or not cores or needs % len(cores[0]) or needs // len(cores[0]) > len(cores):
                return dict(each)
            given = sorted(cpu for _ in range(needs // len(cores[0])) for cpu in cores.pop())
            own |= {STATUS: json.dumps({"cpuset": ",".join(map(str, given))})}
        return noted(noted(each, "labels", {QOS: "LSR"}), "annotations", own)

    return (*edited(objects, "Pod", pod), *topologies), {"weight": 0}


def with_marked_objects(
    objects: tuple[Object, ...], _now: float, chance: Random
) -> tuple[tuple[Object, ...], Arguments]:
    """Marks by which an extender of tests answers, and some of its verbs."""
    verbs = [
        "prioritize",
        "preemptable",
        "reclaimable",
        "jobEnqueueable",
        chance.choice(["predicate", "batchPredicate"]),
    ]
    arguments: Arguments = {"extender.urlPrefix": "http://extender.test"}
    arguments |= {f"extender.{verb}Verb": verb for verb in verbs if chance.random() < 0.8}

    def node(each: Any) -> Object:
        marks = {DRAINED: chance.choice(["true", "false", "false"]), RANK: chance.choice("0123")}
        return noted(each, "labels", marks)

    def pod(each: Any) -> Object:
        marks = {key: "true" for key in (TOOLS, KEPT) if chance.random() < 0.3}
        return noted(each, "annotations", marks)

    def group(each: Any) -> Object:
        return noted(each, "annotations", {VOTE: chance.choice(["-1", "0", "0", "1"])})

    return edited(edited(edited(objects, "Node", node), "Pod", pod), "PodGroup", group), arguments


CHIP = "huawei.com/Ascend310P"
CARD_MEMORY, CARD_NUMBER = "volcano.sh/gpu-memory", "volcano.sh/gpu-number"


def with_shared_devices(
    objects: tuple[Object, ...], now: float, chance: Random
) -> tuple[tuple[Object, ...], Arguments]:
    """Cards of one family or of another."""
    return chance.choice((with_cards, with_devices_of_koordinator, with_chips))(objects, now, chance)


def with_chips(objects: tuple[Object, ...], _now: float, chance: Random) -> tuple[tuple[Object, ...], Arguments]:
    """Nodes with one to three Ascend chips, and pods that ask for parts of one or for whole ones."""
    asked, plenty = dict[str, Object](), {CHIP: "99", f"{CHIP}-memory": "9999999"}

    def node(each: Any) -> Object:
        shares = chance.choice((1, 2, 7))
        listed = [{"id": f"id{at}", "count": shares, "devmem": 21527} for at in range(chance.randint(1, 3))]
        status = {side: {**each["status"][side], **plenty} for side in ("capacity", "allocatable")}
        each = {**each, "status": {**each["status"], **status}}
        told = {"hami.io/node-register-Ascend310P": json.dumps(listed)} if chance.random() < 0.9 else {}
        return {**each, "metadata": {**each["metadata"], "annotations": told}}

    def wish() -> Object:
        if chance.random() < 0.4:
            return {CHIP: chance.choice("12")} if chance.random() < 0.8 else {}
        return {CHIP: "1", f"{CHIP}-memory": str(chance.choice((100, 3073, 6145, 12289, 24576)))}

    def pod(each: Any) -> Object:
        group, place = each["metadata"]["annotations"].get("scheduling.k8s.io/group-name", ""), each["spec"]["nodeName"]
        more = asked.setdefault(group, wish())
        first, *others = each["spec"]["containers"]
        first = {**first, "resources": {"requests": {**first["resources"]["requests"], **more}, "limits": more}}
        each = {**each, "spec": {**each["spec"], "containers": [first, *others]}}
        ids = chance.choice(("", "id0,x,3072,0:;", "id1,x,21527,0:;", "id0,x,6144,0:id2,x,6144,0:;", "id7,x,1,0:;"))
        return noted(each, "annotations", {"hami.io/Ascend310P-devices-allocated": ids} if place and more else {})

    return edited(edited(objects, "Node", node), "Pod", pod), {"deviceshare.AscendHAMiVNPUEnable": True}


def with_devices_of_koordinator(
    objects: tuple[Object, ...], _now: float, chance: Random
) -> tuple[tuple[Object, ...], Arguments]:
    """Devices of nodes, some of them ill or of unknown place, and pods that ask for whole ones or for shares."""
    by_node = {
        each["metadata"]["name"]: _koordinator_devices(chance)
        for each in objects
        if each["kind"] == "Node" and chance.random() < 0.9
    }
    plenty = {GPU: "4", CORE: "400", RATIO: "400", GPU_MEMORY: "320Gi", RDMA: "200"}
    asked = dict[str, dict[str, str]]()

    def node(each: Any) -> Object:
        status = {side: {**each["status"][side], **plenty} for side in ("capacity", "allocatable")}
        return {**each, "status": {**each["status"], **status}}

    def wish() -> dict[str, str]:
        gpus = chance.choice(
            [
                {},
                {GPU: chance.choice("112")},
                {GPU: "1"},
                {CORE: "50", RATIO: chance.choice(["40", "60"])},
                {GPU_MEMORY: chance.choice(["20Gi", "33Gi"])},
            ]
        )
        return {**gpus, **({RDMA: chance.choice(["30", "60"])} if chance.random() < 0.3 else {})}

    def pod(each: Any) -> Object:
        group, place = each["metadata"]["annotations"].get("scheduling.k8s.io/group-name", ""), each["spec"]["nodeName"]
        more = asked.setdefault(group, wish())
        if place and running[place] >= 1:
            return dict(each)
        first, *others = each["spec"]["containers"]
        usual = {name: amount for name, amount in first["resources"]["requests"].items() if name != GPU}
        first = {**first, "resources": {"requests": {**usual, **more}, "limits": more}}
        each = {**each, "spec": {**each["spec"], "containers": [first, *others]}}
        if not (place and more):
            return dict(each)
        running[place] += 1
        return noted(each, "annotations", {ALLOCATED: json.dumps(_koordinator_held(more, chance))})

    running = dict.fromkeys((each["metadata"]["name"] for each in objects if each["kind"] == "Node"), 0)
    objects = edited(edited(objects, "Node", node), "Pod", pod)
    told = tuple(device(name, *devices) for name, devices in by_node.items())
    return (*objects, *told), {"deviceshare.KoordinatorEnable": True}


def _koordinator_devices(chance: Random) -> list[Object]:
    """One to four GPUs at two switches, and perhaps a card."""
    is_known = chance.random() < 0.8
    places = [((number // 2, f"switch-{number // 2}") if is_known else None) for number in range(4)]
    return [
        *(
            gpu(minor, at=places[minor], health=chance.random() < 0.9, memory="80Gi")
            for minor in range(chance.randint(1, 4))
        ),
        *(rdma(minor, at=places[2 * minor]) for minor in range(chance.randint(0, 2))),
    ]


def _koordinator_held(wish: Mapping[str, str], chance: Random) -> Object:
    """Allocations of a running pod, from any scheduler."""
    held: dict[str, Any] = {}
    if GPU in wish:
        minors = chance.sample(range(4), int(wish[GPU]))
        held["gpu"] = [{"minor": minor, "resources": {CORE: "100", RATIO: "100"}} for minor in minors]
    elif CORE in wish or GPU_MEMORY in wish:
        amounts = {name: wish[name] for name in (CORE, RATIO, GPU_MEMORY) if name in wish}
        held["gpu"] = [{"minor": chance.randrange(4), "resources": amounts}]
    if RDMA in wish:
        held["rdma"] = [{"minor": chance.randrange(3), "resources": {RDMA: wish[RDMA]}}]
    return held


def with_cards(objects: tuple[Object, ...], _now: float, chance: Random) -> tuple[tuple[Object, ...], Arguments]:
    """Nodes with one to three cards, some of them ill, and pods that ask for parts of one or for whole ones."""
    by_memory, asked = chance.random() < 0.6, dict[str, Object]()
    of_card = chance.choice([8, 8, 12])

    def node(each: Any) -> Object:
        if chance.random() < 0.1:
            return dict(each)
        number = chance.randint(1, 3)
        more = {CARD_MEMORY: str(number * of_card + chance.choice([0, 0, 1])), CARD_NUMBER: str(number)}
        status = {side: {**each["status"][side], **more} for side in ("capacity", "allocatable")}
        noting = {"annotations": {"volcano.sh/gpu-unhealthy-ids": chance.choice(["0", "0,1", "x,2"])}}
        metadata = {**each["metadata"], **(noting if chance.random() < 0.6 else {})}
        return {**each, "metadata": metadata, "status": {**each["status"], **status}}

    def wish() -> Object:
        if chance.random() < 0.1:
            return {}
        by_its_own = by_memory if chance.random() < 0.9 else not by_memory
        return {CARD_MEMORY: str(chance.choice([5, 5, 7, 10]))} if by_its_own else {CARD_NUMBER: chance.choice("112")}

    def pod(each: Any) -> Object:
        group, place = each["metadata"]["annotations"].get("scheduling.k8s.io/group-name", ""), each["spec"]["nodeName"]
        more = asked.setdefault(group, wish())
        if place and any(int(amount) > left.get(place, {}).get(name, 0) for name, amount in more.items()):
            return dict(each)
        if place and more:
            left[place] = {**left[place], **{name: left[place][name] - int(more[name]) for name in more}}
        first, *others = each["spec"]["containers"]
        first = {**first, "resources": {"requests": {**first["resources"]["requests"], **more}, "limits": more}}
        each = {**each, "spec": {**each["spec"], "containers": [first, *others]}}
        held = {"volcano.sh/gpu-index": chance.choice(["0", "1", "0,1", "0,1,2", "7", "x,0"])} if place and more else {}
        return noted(each, "annotations", held)

    objects = edited(objects, "Node", node)
    left = {
        each["metadata"]["name"]: {name: int(each["status"]["capacity"][name]) for name in (CARD_MEMORY, CARD_NUMBER)}
        for each in objects
        if each["kind"] == "Node" and CARD_NUMBER in each["status"]["capacity"]
    }
    switch = "deviceshare.GPUSharingEnable" if by_memory else "deviceshare.GPUNumberEnable"
    return edited(objects, "Pod", pod), {switch: True}


def with_elastic_quotas(
    objects: tuple[Object, ...], _now: float, chance: Random
) -> tuple[tuple[Object, ...], Arguments]:
    """Teams, some inside an organisation, with their jobs, and pods without a team."""
    teams = [f"team{number}" for number in range(chance.randint(1, 3))]
    quotas = [_elastic_quota(name, chance, above=chance.choice(["", "", "org", "org", "lost"])) for name in teams]
    if chance.random() < 0.3:
        annotations = {"quota.scheduling.koordinator.sh/namespaces": json.dumps([NAMESPACE])}
        quotas.append(_elastic_quota("rest", chance, annotations=annotations))
    quotas.append(_elastic_quota("org", chance, is_parent=True, most=chance.choice([4, 8, 12])))
    if chance.random() < 0.3:  # a part of the nodes for a tree of its own
        teams.append("miner")
        has, wide = {"cpu": chance.choice([2, 4, 6])}, {"cpu": 100, "memory": "100Gi"}
        most: Object = wide if chance.random() < 0.3 else has
        beside = chance.random() < 0.3
        pool = elastic_quota("pool", least=has, most=most, is_parent=True, tree="p", total=has, adds_to_cluster=beside)
        above = chance.choice(["", "pool", "pool", "org"])
        quotas += [pool, _elastic_quota("miner", chance, above=above, tree=chance.choice(["p", "p", "p", "q"]))]
    by_group: dict[str, str] = {}
    kept = chance.choice([0.0, 0.2])

    def pod(each: Any) -> Object:
        group = each["metadata"]["annotations"].get("scheduling.k8s.io/group-name", "")
        own = by_group.setdefault(group, chance.choice([*teams * 3, "", "elsewhere", "koordinator-system-quota"]))
        other = own if chance.random() < 0.9 else chance.choice(teams)
        return noted(each, "labels", uses(other, preemptible=chance.random() >= kept))

    arguments: Arguments = {}
    for key in ("enableRuntimeQuota", "enableCheckParentQuota", "enableMinQuotaScale", "disableDefaultQuotaPreemption"):
        if chance.random() < 0.15:
            arguments[key] = False
    if chance.random() < 0.15:
        arguments["enableGuaranteeUsage"] = True
    for each in ("default", "system"):
        if chance.random() < 0.2:
            arguments[f"{each}QuotaGroupMax"] = {"cpu": chance.choice([1, 2, 4])}
    if chance.random() < 0.5:
        arguments["delayEvictTime"] = chance.choice(["300s", "30s"])
    return (*edited(objects, "Pod", pod), *quotas), arguments


def _elastic_quota(name: str, chance: Random, *, above: str = "", most: int = 0, **more: Any) -> Object:
    highest: dict[str, Any] = {"cpu": most or chance.choice([2, 3, 4, 6, 8])}
    if chance.random() < 0.4:
        highest |= {"memory": f"{chance.choice([2, 4, 8])}Gi"}
    if chance.random() < 0.2:
        highest |= {"pods": chance.randint(1, 5)}
    least = {what: number if isinstance(number, str) else chance.randint(0, number) for what, number in highest.items()}
    least = {what: number for what, number in least.items() if chance.random() < 0.8}
    weight = {"cpu": chance.choice(["1", "3", "0"]), "memory": "1"}
    notes = {"quota.scheduling.koordinator.sh/shared-weight": json.dumps(weight)} if chance.random() < 0.5 else {}
    annotations = notes | more.pop("annotations", {})
    return elastic_quota(
        name, least=least, most=highest, parent=above, lends=chance.random() < 0.8, annotations=annotations, **more
    )


GANG = "gang.scheduling.koordinator.sh/"


def with_gangs(objects: tuple[Object, ...], _now: float, chance: Random) -> tuple[tuple[Object, ...], Arguments]:
    """Some jobs are gangs by annotations of their pods, some of these wait for each other, and some lack pods."""
    groups = [each for each in objects if each["kind"] == "PodGroup" and not each["spec"].get("subGroupPolicy")]
    chosen = {each["metadata"]["name"]: each for each in groups if chance.random() < 0.7}
    together = [sorted(chosen)[:2]] if len(chosen) > 1 and chance.random() < 0.5 else []
    lists = {name: json.dumps([f"{NAMESPACE}/{each}" for each in names]) for names in together for name in names}
    policies = {name: chance.choice(["once-satisfied", "waiting-and-running", ""]) for name in chosen}
    policies |= dict.fromkeys(lists, chance.choice(["once-satisfied", "waiting-and-running"]))

    def pod(each: Any) -> Object:
        annotations = each["metadata"]["annotations"]
        name = annotations.get("scheduling.k8s.io/group-name", "")
        if name not in chosen:
            return dict(each)
        spec = chosen[name]["spec"]
        left = {key: text for key, text in annotations.items() if not key.endswith(("/group-name", "/task-spec"))}
        marks = {"name": name, "min-available": str(spec["minMember"])}
        marks |= {"match-policy": policies[name]} if policies[name] else {}
        marks |= {"groups": lists[name]} if name in lists else {}
        own = {GANG + key: text for key, text in marks.items()} | {"scheduling.volcano.sh/queue-name": spec["queue"]}
        return {**each, "metadata": {**each["metadata"], "annotations": {**left, **own}}}

    rest = tuple(each for each in objects if each["kind"] != "PodGroup" or each["metadata"]["name"] not in chosen)
    return edited(rest, "Pod", pod), {}


@dataclass(frozen=True)
class Variation:
    """What is varied, and how."""

    bases: tuple[Callable[[Random], Varied], ...]
    write: Callable[[tuple[Object, ...], float, Random], tuple[tuple[Object, ...], Arguments]]


VARIATIONS = {
    "cdp": Variation((full,), with_cooldown),
    "coscheduling": Variation((roomy, roomy, full), with_gangs),
    "deviceshare": Variation((roomy, full), with_shared_devices),
    "elastic-quota": Variation((roomy, gated, full, full, overusing), with_elastic_quotas),
    "extender": Variation((roomy, gated, full), with_marked_objects),
    "load-aware": Variation((roomy, full), with_node_metrics),
    "network-topology-aware": Variation((roomy, full), with_racks),
    "nodegroup": Variation((roomy, full), with_node_groups),
    "nodenuma": Variation((roomy, roomy, gated), with_cpus),
    "numa-aware": Variation((roomy, roomy, full), with_topologies),
    "pdb": Variation((full, full, rescheduling), with_budgets),
    "rescheduling": Variation((shuffling,), with_marks),
    "resource-strategy-fit": Variation((roomy, full), with_devices),
    "resourcequota": Variation((gated,), with_quotas),
    "task-topology": Variation((related, related, related, full), with_relations),
    "tdm": Variation((roomy, preempting, full, shuffling), with_zones),
    "usage": Variation((roomy, full), with_load),
}
