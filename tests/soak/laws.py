"""What must hold after each cycle, read from the objects of the API server and from the plans that were carried out."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from pyroclast.emulator.kinds.quantities import amount
from pyroclast.model.cpusets import members, read_cpu_set
from pyroclast.model.plan import Eviction, Plan
from pyroclast.model.report import CycleReport
from pyroclast.model.tasks import READY_STATUSES
from tests.elastic_quotas import is_preemptible, quota_of
from tests.nodenuma import STATUS
from tests.soak.ground import Ground, Object
from tests.soak.idle import IdleRoom
from tests.soak.workload import (
    CARD,
    CARD_INDEX,
    CARD_MEMORY,
    CHIP,
    CHIP_IDS,
    CHIP_WHOLE,
    ELASTIC_QUOTAS,
    HYPERNODES,
    PARENTS,
    QUOTA,
    Workload,
    job_of,
)

__all__ = ["Laws"]

ENDED: Final = frozenset({"Succeeded", "Failed"})
BETWEEN_QUEUES: Final = frozenset({"reclaim", "gangreclaim"})
WITHOUT_BENEFICIARY: Final = "shuffle"
TIME_TO_TELL: Final = 5
"""Cycles after a plan in which its beneficiary may still wait without a word."""


@dataclass(kw_only=True)
class Figures:
    """What happened, for the report."""

    cycles: int = 0
    binds: int = 0
    evictions: int = 0
    refused_evictions: int = 0
    """Protected by a disruption budget at the server."""
    by_action: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, kw_only=True)
class Won:
    """A place that a pod waits for, or has got, by an eviction."""

    job: str
    name: str
    node: str
    action: str
    cycle: int
    losing_jobs: frozenset[str]
    """Losers by preemption, from which it may not be evicted, among them earlier losers to a victim."""
    losing_queues: frozenset[str]
    """For which it may not be evicted by reclaim, likewise."""


class Laws:
    """Looks at one cluster after each cycle and collects what is broken."""

    def __init__(self, ground: Ground, workload: Workload) -> None:
        self._ground, self._workload = ground, workload
        self.broken: list[str] = []
        self._idle = IdleRoom(frozenset(workload.plugins))
        self.figures = Figures()
        self._won: dict[str, Won] = {}
        """UID of the preemptor's pod."""
        self._evicted: dict[str, str] = {}
        """Reason by UID of each pod that left for one."""
        self._satisfied: set[str] = set()
        """Gangs of Koordinator's that were bound once."""
        self._shaken: set[str] = set()
        """Groups that lost a part of a gang because a budget held the rest back."""

    def look(self, cycle: int, report: CycleReport) -> None:
        """Check all laws after a cycle whose plans were carried out."""
        plans = self._ground.noting.taken
        pods = self._ground.objects("pods")
        found = [
            *self._ground.broken_by_deciding(),
            *self._for_too_few(report),
            *self._evictions(cycle, plans, {pod["metadata"]["uid"]: pod for pod in pods}),
            *self._overcommitted(pods),
            *self._crowded_cards(pods),
            *self._crowded_chips(pods),
            *self._shared_cpus(pods),
            *self._refused_by_kubelets(pods),
            *self._half_bound(plans),
            *self._gangs_in_part(plans),
            *self._across_topology(pods),
            *self._beyond_capability(pods),
            *self._beyond_quota(pods),
            *self._beyond_elastic_quotas(pods),
            *self._idle_for_shares(pods, report),
        ]
        self.broken += [f"cycle {cycle}: {each}" for each in found]
        self.figures.cycles += 1

    async def look_at_books(self, cycle: int) -> None:
        """The books equal those that are made anew from the same objects."""
        self.broken += [f"cycle {cycle}: books: {each}" for each in await self._ground.cache.audit()]

    def look_at_the_end(self) -> None:
        """Each preemptor was bound, is gone, or has a reason."""
        pods = {pod["metadata"]["uid"]: pod for pod in self._ground.objects("pods")}
        for uid, won in self._won.items():
            pod = pods.get(uid)
            if pod is None or pod["spec"].get("nodeName") or won.cycle > self.figures.cycles - TIME_TO_TELL:
                continue
            told = [each for each in pod["status"].get("conditions", []) if each["type"] == "PodScheduled"]
            if not told or not told[0].get("message"):
                self.broken.append(f"{won.name}, for which {won.action} evicted in cycle {won.cycle}, was told nothing")

    # Placing ----------------------------------------------------------------------------------------------------------

    def _overcommitted(self, pods: list[Object]) -> Iterator[str]:
        used: dict[str, Counter[str]] = defaultdict(Counter)
        for pod in pods:
            if pod["spec"].get("nodeName") and pod["status"].get("phase") not in ENDED:
                used[pod["spec"]["nodeName"]].update(_requests(pod))
        for node in self._ground.objects("nodes"):
            name, offered = node["metadata"]["name"], node["status"]["allocatable"]
            for resource, total in used[name].items():
                if total > (amount(offered.get(resource, "0")) or 0):
                    yield f"{name} is over-committed: {float(total)} {resource}"

    def _crowded_cards(self, pods: list[Object]) -> Iterator[str]:
        """A pod that requests memory of a card has one, and no card exceeds its size; a terminating pod holds none."""
        used: Counter[tuple[str, str]] = Counter()
        for pod in pods:
            memory = _requests(pod)[CARD_MEMORY]
            if not (memory and pod["spec"].get("nodeName")) or pod["status"].get("phase") in ENDED:
                continue
            card = pod["metadata"]["annotations"].get(CARD_INDEX)
            if card is None:
                yield f"{pod['metadata']['name']} was bound without a card"
            elif not pod["metadata"].get("deletionTimestamp"):
                used[pod["spec"]["nodeName"], card] += memory
        yield from (
            f"card {card} of {node} is crowded: {memory}" for (node, card), memory in used.items() if memory > CARD
        )

    def _crowded_chips(self, pods: list[Object]) -> Iterator[str]:
        """A pod that requests a chip has a part with enough memory, and no chip exceeds its memory."""
        used: Counter[tuple[str, str]] = Counter()
        for pod in pods:
            asked = _requests(pod)
            if not (asked[CHIP] and pod["spec"].get("nodeName")) or pod["status"].get("phase") in ENDED:
                continue
            chip, _, memory, _ = pod["metadata"]["annotations"].get(CHIP_IDS, ",,0,").split(",")
            if int(memory) < asked[f"{CHIP}-memory"]:
                yield f"{pod['metadata']['name']} has {memory} of a chip"
            elif not pod["metadata"].get("deletionTimestamp"):
                used[pod["spec"]["nodeName"], chip] += int(memory)
        yield from (f"{chip} of {node} is crowded: {part}" for (node, chip), part in used.items() if part > CHIP_WHOLE)

    def _shared_cpus(self, pods: list[Object]) -> Iterator[str]:
        """No two pods on a node have the same CPU, and a pod has as many as it requests."""
        owners: dict[tuple[str, int], str] = {}
        for pod in pods:
            text = pod["metadata"].get("annotations", {}).get(STATUS)
            if not text or pod["status"].get("phase") in ENDED or pod["metadata"].get("deletionTimestamp"):
                continue
            name, node = pod["metadata"]["name"], pod["spec"].get("nodeName", "")
            cpus = set(members(read_cpu_set(json.loads(text).get("cpuset", ""))))
            if cpus and len(cpus) != _requests(pod)["cpu"]:
                yield f"{name} has the CPUs {sorted(cpus)}"
            for cpu in cpus:
                other = owners.setdefault((node, cpu), name)
                if other != name:
                    yield f"CPU {cpu} of {node} belongs to {other} and {name}"

    def _refused_by_kubelets(self, pods: list[Object]) -> Iterator[str]:
        for pod in pods:
            is_leaving = bool(pod["metadata"].get("deletionTimestamp"))  # and ends by SIGTERM before it goes
            if pod["status"].get("phase") == "Failed" and not is_leaving:
                yield f"{pod['metadata']['name']} was refused by its node: {pod['status'].get('message')}"

    def _half_bound(self, plans: list[Plan]) -> Iterator[str]:
        """A gang that just got members has its minimum; one that just lost some has it, or nothing."""
        bound = self._ground.bound_by_job()
        got = {_group(bind.job) for plan in plans for bind in plan.binds}
        lost = {_group(eviction.job) for plan in plans for eviction in plan.evictions}
        for group in self._ground.objects("podgroups", "scheduling.volcano.sh"):
            name, minimum = group["metadata"]["name"], group["spec"]["minMember"]
            members = bound.get(name, [])
            count, alive = (
                len(members) + self._workload.cleaned.get(name, 0),
                sum(pod["status"].get("phase") not in ENDED for pod in members),
            )
            if name in self._workload.lost_groups or name in self._shaken:
                if count >= minimum:
                    self._workload.lost_groups.discard(name)
                    self._shaken.discard(name)
                continue
            if name in got and count < minimum:
                yield f"{name} is bound in part: {count} of {minimum}"
            elif name in lost and alive and count < minimum:  # what has ended does not go
                yield f"{name} was evicted in part: {count} of {minimum} are left"

    def _gangs_in_part(self, plans: list[Plan]) -> Iterator[str]:
        """A gang of Koordinator's is bound with its minimum for the first time; from then on its pods go one by one."""
        bound = self._ground.bound_by_job()
        for name in {_group(bind.job) for plan in plans for bind in plan.binds} - self._satisfied:
            job = self._workload.jobs.get(name)
            if job is not None and job.is_gang:
                self._satisfied.add(name)
                if len(bound[name]) < job.minimum:
                    yield f"{name} is bound in part: {len(bound[name])} of {job.minimum}"

    def _across_topology(self, pods: list[Object]) -> Iterator[str]:
        if "network-topology-aware" not in self._workload.plugins:
            return
        nodes_by_group: dict[str, set[str]] = defaultdict(set)
        for pod in pods:
            if pod["spec"].get("nodeName") and pod["status"].get("phase") not in ENDED:
                nodes_by_group[job_of(pod)].add(pod["spec"]["nodeName"])
        for group in self._ground.objects("podgroups", "scheduling.volcano.sh"):
            wanted = group["spec"].get("networkTopology")
            nodes = nodes_by_group[group["metadata"]["name"]]
            if wanted and wanted["mode"] == "hard" and nodes and _tier_of(nodes) > wanted["highestTierAllowed"]:
                job = self._workload.jobs.get(group["metadata"]["name"])
                asks = job.requests if job is not None else {}
                won = sorted({each.action for each in self._won.values() if each.job == group["metadata"]["name"]})
                where = f"its topology: {sorted(nodes)}; room won by {won}"
                yield f"{group['metadata']['name']}, asking for {asks}, lies across {where}"

    def _beyond_capability(self, pods: list[Object]) -> Iterator[str]:
        """No queue, and none above it, uses more than its capability says, of anything it names."""
        if not self._workload.plugins & {"capacity", "proportion"}:
            return
        used: dict[str, Counter[str]] = defaultdict(Counter)
        for pod in pods:
            is_here = pod["spec"].get("nodeName") and not pod["metadata"].get("deletionTimestamp")
            if not is_here or pod["status"].get("phase") in ENDED:
                continue
            queue = self._queue_of(job_of(pod))
            while queue:
                used[queue].update(_requests(pod))
                queue = PARENTS.get(queue, "") if self._workload.is_tree else ""
        for each in self._ground.objects("queues", "scheduling.volcano.sh"):
            name = each["metadata"]["name"]
            for resource, limit in each["spec"].get("capability", {}).items():
                if used[name][resource] > (amount(limit) or 0):
                    yield f"queue {name} uses {float(used[name][resource])} of {limit} {resource}"

    def _beyond_quota(self, pods: list[Object]) -> Iterator[str]:
        """Pods that were made once their group was admitted fit into the quota of their namespace.

        Where sla stands in front of the quota, who has waited too long is admitted in spite of it.
        """
        if "resourcequota" not in self._workload.plugins or "sla" in self._workload.plugins:
            return
        used: Counter[str] = Counter()
        for pod in pods:
            if pod["status"].get("phase") not in ENDED:
                used.update(_requests(pod))
        for resource, limit in QUOTA.items():
            if used[resource] > (amount(limit) or 0):
                yield f"the namespace uses {float(used[resource])} of {limit} {resource}"

    def _beyond_elastic_quotas(self, pods: list[Object]) -> Iterator[str]:
        """No quota, and none above it, has more than its maximum; what may not go stays within the guarantee."""
        if "elastic-quota" not in self._workload.plugins:
            return
        used: Counter[str] = Counter()
        kept: Counter[str] = Counter()
        for pod in pods:
            is_here = pod["spec"].get("nodeName") and not pod["metadata"].get("deletionTimestamp")
            if not is_here or pod["status"].get("phase") in ENDED:
                continue
            quota, cpus = quota_of(pod), int(_requests(pod)["cpu"])
            kept[quota] += 0 if is_preemptible(pod) else cpus
            while quota:
                used[quota] += cpus
                quota = ELASTIC_QUOTAS[quota][0]
        for name, (_above, least, most) in ELASTIC_QUOTAS.items():
            if used[name] > most:
                yield f"quota {name} has {used[name]} of {most} CPUs"
            if kept[name] > least:
                yield f"quota {name} has {kept[name]} CPUs that may not be taken back, and is guaranteed {least}"

    def _idle_for_shares(self, pods: list[Object], report: CycleReport) -> Iterator[str]:
        alive: dict[str, list[Object]] = defaultdict(list)
        for pod in pods:
            if pod["status"].get("phase") not in ENDED:
                alive[job_of(pod)].append(pod)
        jobs = {
            name: (job.queue, job.minimum, alive[name]) for name, job in self._workload.jobs.items() if not job.topology
        }
        nodes, queues = self._ground.objects("nodes"), self._ground.objects("queues", "scheduling.volcano.sh")
        yield from self._idle.look(report, nodes, queues, jobs)

    def _queue_of(self, group: str) -> str:
        job = self._workload.jobs.get(group)
        if job is not None:
            return job.queue
        found = self._workload.group(group)
        return "" if found is None else str(found["spec"]["queue"])

    # Evicting ---------------------------------------------------------------------------------------------------------

    def _evictions(self, cycle: int, plans: list[Plan], pods: Mapping[str, Object]) -> Iterator[str]:
        self.figures.binds += sum(len(plan.binds) for plan in plans)
        for plan in plans:
            gone = []
            for eviction in plan.evictions:
                pod = pods.get(eviction.task)
                if pod is not None and not pod["metadata"].get("deletionTimestamp"):
                    self.figures.refused_evictions += 1
                    self._shaken.add(_group(eviction.job))
                    continue
                gone.append(eviction)
                self.figures.evictions += 1
                self.figures.by_action[plan.action] += 1
                if eviction.task in self._evicted:
                    yield f"{eviction.name} was evicted twice: {self._evicted[eviction.task]}, {eviction.reason}"
                self._evicted[eviction.task] = eviction.reason
                yield from self._taken_back(plan, eviction)
            if plan.evictions and plan.action != WITHOUT_BENEFICIARY:
                if plan.job is None or not (plan.nominations or plan.binds):
                    yield f"{plan.action} evicted {[each.name for each in plan.evictions]} for nobody"
                self._note_winners(cycle, plan, gone)

    def _for_too_few(self, report: CycleReport) -> Iterator[str]:
        """Each preemptor with a plan has places for its minimum, unless it changes one of its own for another.

        The check uses decisions: a plan is given up whole if the server would keep one of its victims.
        """
        bound = Counter(plan.job for plan in report.plans for _ in plan.binds)
        for plan in report.plans:
            if not plan.evictions or plan.job is None or plan.action == WITHOUT_BENEFICIARY:
                continue
            job = self._ground.noting.seen.jobs[plan.job]
            ready = sum(task.status in READY_STATUSES for task in job.tasks.values())
            ready += self._workload.cleaned.get(_group(plan.job), 0)
            places = ready + bound[plan.job] + len(report.pipelined.get(plan.job, {}))
            if places < job.min_available and any(each.job != plan.job for each in plan.evictions):
                yield f"{plan.action} evicts for {_group(plan.job)}, which has {places} of {job.min_available} places"

    def _taken_back(self, plan: Plan, eviction: Eviction) -> Iterator[str]:
        won = self._won_by(eviction)
        if won is None:
            return
        between_queues = plan.action in BETWEEN_QUEUES
        gainer = str(plan.queue) if between_queues else _group(plan.job)
        if gainer in (won.losing_queues if between_queues else won.losing_jobs):
            yield f"{gainer} took back {won.name} by {plan.action}, which won its place by {won.action} in {won.cycle}"

    def _won_by(self, eviction: Eviction) -> Won | None:
        won = self._won.get(eviction.task)
        return won if won is not None and won.node == eviction.node else None

    def _note_winners(self, cycle: int, plan: Plan, gone: list[Eviction]) -> None:
        """Note what a plan won; one whose victims all stayed at the server won nothing, and undoes nothing."""
        if not gone:
            return
        jobs = {_group(eviction.job) for eviction in gone} - {_group(plan.job)}
        queues = {self._queue_of(name) for name in jobs}
        between_queues = plan.action in BETWEEN_QUEUES
        before = [won for eviction in gone if (won := self._won_by(eviction)) is not None]
        losing_jobs = frozenset(() if between_queues else jobs).union(*(won.losing_jobs for won in before))
        losing_queues = frozenset(queues if between_queues else ()).union(*(won.losing_queues for won in before))
        for place in plan.nominations:
            self._won[place.task] = Won(
                job=_group(plan.job),
                name=place.name,
                node=place.node,
                action=plan.action,
                cycle=cycle,
                losing_jobs=losing_jobs,
                losing_queues=losing_queues,
            )


def _group(job: str | None) -> str:
    return (job or "").rpartition("/")[2].removeprefix("gang:").removesuffix(":free")


def _requests(pod: Object) -> Counter[str]:
    amounts: Object = {}
    for container in pod["spec"]["containers"]:
        amounts |= container.get("resources", {}).get("requests", {})
    return Counter({name: amount(str(value)) or 0 for name, value in amounts.items()} | {"pods": 1})


def _nodes_under(name: str) -> set[str]:
    if name not in HYPERNODES:
        return {name}
    return set().union(*(_nodes_under(member) for member in HYPERNODES[name][1]))


def _tier_of(nodes: set[str]) -> int:
    """Return the lowest tier of a domain that holds all of them; above all tiers where none does."""
    tiers = [tier for name, (tier, _) in HYPERNODES.items() if nodes <= _nodes_under(name)]
    return min(tiers, default=max(tier for tier, _ in HYPERNODES.values()) + 1)
