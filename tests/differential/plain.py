"""A plain scheduler: enqueue, allocate and backfill as the rules are written, pod by pod and node by node.

Slow and obvious on purpose. It is written from Volcano's documented behaviour and this project's decisions
(docs/compatibility), shares no code with the product, and gives the plans that the product must give.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from tests.differential.cluster import READY, Cluster, Group, Node, Pod
from tests.differential.filters import Filters
from tests.differential.minimums import Choosing, Step
from tests.differential.parts import Part, parts_of
from tests.differential.policies import POLICIES
from tests.differential.policy import Key, Policy
from tests.differential.scores import SCORES, used
from tests.differential.shares import NEVER, Shares

Arguments = Mapping[str, Mapping[str, Any]]
Vote = Callable[[Group], int]


class Plain:
    """One cycle."""

    def __init__(
        self,
        objects: Iterable[Mapping[str, Any]],
        tiers: Sequence[Sequence[str]],
        now: float,
        arguments: Arguments | None = None,
        runs: Mapping[str, float] | None = None,
    ) -> None:
        self.cluster = Cluster(list(objects))
        self.tiers = tiers
        self.now = now
        self.arguments = arguments or {}
        self.policies: dict[str, Policy] = {
            plugin: POLICIES[plugin](self.cluster, now, self.arguments.get(plugin, {}), (runs or {}).get(plugin))
            for tier in tiers
            for plugin in tier
            if plugin in POLICIES
        }
        """Plugins that say what they have to say in a file of their own, in the order of the tiers."""
        self.filters = Filters(self.cluster)
        self.shares = Shares(self.cluster)
        self.plans: list[list[tuple[str, str]]] = []
        self.kept_by_share: set[str] = set()
        """Jobs that their queue refused something in allocate."""
        self.waiting: dict[str, list[Pod]] = {}
        """Places kept until best-effort pods of their group have some too, by group."""

    def has(self, plugin: str) -> bool:
        """Whether a plugin is configured."""
        return any(plugin in tier for tier in self.tiers)

    def run(self, actions: Sequence[str]) -> None:
        """Run actions in order."""
        for action in actions:
            getattr(self, action)(actions)
        self.lend(actions)

    # Orders

    def job_key(self, group: Group) -> Key:
        """Jobs: by the plugins in their order, then age."""
        keys: list[Any] = []
        for plugin in (plugin for tier in self.tiers for plugin in tier):
            if plugin == "priority":
                keys.append(-group.priority)
            elif plugin == "gang":
                whole = group.ready + group.light >= group.minimum
                intact = not (self.lacks_part(group) or self.has_broken_part(group))
                keys += [intact, intact] if whole else [False, not group.stranded]
            elif plugin == "drf":
                keys.append(self.shares.job_share(group))
            elif plugin == "sla":
                keys.append(self.deadline(group))
            elif plugin in self.policies:
                keys += self.policies[plugin].job_key(group)
        return (*keys, group.created, group.key)

    def pod_key(self, pod: Pod) -> Key:
        """Pods of a job: by priority, then the index in the name, then age."""
        pieces = pod.name.split("-")
        index = int(pieces[-1]) if len(pieces) > 2 else 0
        return (*self.pod_rank(pod), index, pod.created)

    def pod_rank(self, pod: Pod, *, across_jobs: bool = False) -> Key:
        """Pods of a job, or of several: by the plugins in their order."""
        keys: list[Any] = []
        for plugin in (plugin for tier in self.tiers for plugin in tier):
            if plugin == "priority":
                keys.append(-pod.priority)
            elif plugin in self.policies and not across_jobs:
                keys += self.policies[plugin].pod_key(pod)
        return tuple(keys)

    def queue_key(self, name: str) -> Key:
        """Queues: by priority and share, then age."""
        queue = self.cluster.queues[name]
        own = (-queue.priority, self.shares.queue_share(name)) if self.has("proportion") else ()
        return (*own, queue.created, name)

    def part_key(self, part: Part) -> Key:
        """Parts of a job: required ones first, then by the plugins, then by name."""
        keys: list[Any] = [not self.is_required(part)]
        for plugin in (plugin for tier in self.tiers for plugin in tier):
            if plugin == "priority":
                keys.append(-max(0, *(pod.priority for pod in part.members)))
            elif plugin == "gang":
                keys.append(part.reaches())
        return (*keys, part.index, part.id)

    def is_required(self, part: Part) -> bool:
        """Whether the job needs what comes next of a part: it was chosen, or others of its kind came to nothing."""
        if part.needed is None:
            return part.is_required
        ready = sum(self.part_ready(each) for each in parts_of(part.group) if each.policy == part.policy)
        least = next((each.get("minSubGroups", 0) for each in part.group.policies if each["name"] == part.policy), 0)
        is_chosen = any(pod in part.needed for pod in part.left[:1])
        return is_chosen or (ready < least and not self.part_ready(part))

    def steps(self, group: Group, pods: Sequence[Pod]) -> list[Step]:
        """The pods that make a job ready, those together that serve together."""
        return list(Choosing(group, self.parts(group), pods).steps())

    def parts(self, group: Group) -> list[Part]:
        """Sub-groups in their order."""
        return sorted(parts_of(group), key=lambda part: self.part_key(part)[1:])

    def deadline(self, group: Group) -> float:
        """When a job has waited long enough."""
        return NEVER if group.waits is None else _seconds(group.created) + group.waits

    # Questions

    def vote(self, votes: Mapping[str, Any], group: Group) -> bool:
        """Ask the tiers."""
        for tier in self.tiers:
            answers = [votes[plugin](group) for plugin in tier if plugin in votes]
            if -1 in answers:
                return False
            if 1 in answers:
                return True
        return True

    def patience(self, group: Group) -> int:
        """Vote of sla."""
        return 1 if self.deadline(group) <= self.now else 0

    def role_count(self, group: Group, role: str, *more: str) -> int:
        """Count the placed pods of a role."""
        return sum(
            pod.role == role and (pod.status in READY or pod.status in more or group.counts(pod)) for pod in group.pods
        )

    def roles(self, group: Group, *more: str) -> bool:
        """Whether each role has its minimum."""
        if group.minimum < sum(group.by_role.values()):
            return True
        return all(self.role_count(group, role, *more) >= least for role, least in group.by_role.items() if least)

    def valid(self, group: Group) -> bool:
        """Whether a job can ever have its minimum, and all is there that it needs."""
        if not all(policy.is_complete(group) for policy in self.policies.values()):
            return False
        if not self.has("gang"):
            return True
        possible = READY | {"Pipelined", "Pending"}
        if group.minimum >= sum(group.by_role.values()):
            for role, least in group.by_role.items():
                if least and sum(pod.role == role and pod.status in possible for pod in group.pods) < least:
                    return False
        for policy in group.policies:
            parts = (part for part in parts_of(group) if part.policy == policy["name"])
            sizes = (sum(pod.status in possible for pod in part.members) for part in parts)
            if sum(size >= policy.get("subGroupSize", 1) for size in sizes) < policy.get("minSubGroups", 0):
                return False
        return group.count(*possible) >= group.minimum

    def ready(self, group: Group) -> bool:
        """Whether a job has its minimum."""
        return not self.has("gang") or (
            group.ready + group.light >= group.minimum and self.roles(group) and self.enough_parts(group)
        )

    def enough_parts(self, group: Group, *more: str) -> bool:
        """Whether enough parts of each policy have theirs."""
        parts = parts_of(group) if group.policies else []
        return all(
            sum(part.policy == policy["name"] and part.reaches(*more) for part in parts)
            >= policy.get("minSubGroups", 0)
            for policy in group.policies
        )

    def lacks_part(self, group: Group) -> bool:
        """Whether as many run or wait for their places as the minimum, but too few of a role or too few parts."""
        enough = group.ready + group.count("Pipelined") + group.light >= group.minimum
        return (
            group.has_lost and enough and not (self.roles(group, "Pipelined") and self.enough_parts(group, "Pipelined"))
        )

    def has_broken_part(self, group: Group) -> bool:
        """Whether a part runs without its minimum, and pods of it wait."""
        parts = parts_of(group) if group.policies and group.has_lost else []
        return any(
            not part.reaches()
            and any(pod.status == "Pending" for pod in part.members)
            and any(pod.status in ("Running", "Bound") for pod in part.members)
            for part in parts
        )

    def part_ready(self, part: Part) -> bool:
        """Whether a part has its minimum; the whole job where nothing divides it."""
        if not part.group.policies:
            return self.ready(part.group)
        return not self.has("gang") or part.reaches()

    def pipelined(self, group: Group) -> bool:
        """Whether the places of a job may be held."""

        def gang(group: Group) -> int:
            enough = group.ready + group.light + group.count("Pipelined") >= group.minimum
            return 1 if enough and self.roles(group, "Pipelined") and self.enough_parts(group, "Pipelined") else -1

        votes: dict[str, Vote] = {plugin: policy.holds for plugin, policy in self.policies.items()}
        return self.vote({**votes, "gang": gang, "sla": self.patience}, group)

    def part_pipelined(self, part: Part) -> bool:
        """Whether the places of a part may be held."""
        return not self.has("gang") or part.reaches("Pipelined")

    def relies_on_light(self, group: Group) -> bool:
        """Whether best-effort pods without a place are needed for the minimum, or for that of a role."""
        if not group.light:
            return False
        placed = Counter(pod.role for pod in group.pods if pod.status in READY)
        checks = group.minimum >= sum(group.by_role.values())
        lacks = checks and any(placed[role] < least for role, least in group.by_role.items())
        return group.ready < group.minimum or lacks

    # Enqueue

    def enqueue(self, _: Sequence[str]) -> None:
        """Let jobs pass the gates of their queues, queues in turn."""
        votes: dict[str, Vote] = {plugin: policy.opens_gate for plugin, policy in self.policies.items()}
        votes |= {"sla": self.patience, "overcommit": self.shares.cluster_takes, "proportion": self.shares.queue_takes}
        votes["capacity"] = self.shares.queue_takes
        work = self.by_queue(group for group in self.cluster.groups.values() if group.phase in ("", "Pending"))
        while work:
            name = min(work, key=self.queue_key)
            if not work[name]:
                del work[name]
                continue
            _, group = work[name].pop(0)
            if group.reserves is None or self.vote(votes, group):
                group.phase = "Inqueue"
                self.shares.admit(group)
                for policy in self.policies.values():
                    policy.passed(group)

    def by_queue(self, groups: Iterable[Group]) -> dict[str, list[tuple[Key, Group]]]:
        """Sort jobs by queue, best first."""
        work: dict[str, list[tuple[Key, Group]]] = {}
        for group in groups:
            if group.queue in self.cluster.queues:
                work.setdefault(group.queue, []).append((self.job_key(group), group))
        return {name: sorted(jobs, key=lambda each: each[0]) for name, jobs in work.items()}

    # Allocate

    def allocate(self, actions: Sequence[str]) -> None:
        """Offer free room to jobs, queues in turn."""
        for group in self.cluster.groups.values():
            if group.phase in ("", "Pending") and "enqueue" not in actions:
                group.phase = "Inqueue"
        willing = [group for group in self.cluster.groups.values() if group.phase not in ("", "Pending")]
        work = self.by_queue(group for group in willing if group.count("Pending") and self.valid(group))
        sheets = {group.key: self.worksheet(group) for jobs in work.values() for _, group in jobs}
        while work:
            name = min(work, key=self.queue_key)
            if not work[name] or (self.has("proportion") and self.shares.overused(name)):
                self.kept_by_share |= {group.key for _, group in work.pop(name)}
                continue
            _, group = work[name].pop(0)
            parts = sheets[group.key]
            if any(part.left for part in parts) and self.offer(group, parts) and any(part.left for part in parts):
                work[name] = sorted([*work[name], (self.job_key(group), group)], key=lambda each: each[0])
        rest = list(actions[actions.index("allocate") + 1 :])
        evicts = [action in ("preempt", "reclaim", "gangpreempt", "gangreclaim") for action in rest]
        if "backfill" not in rest or any(evicts[: rest.index("backfill")]):
            self.complete_rest()  # else somebody could be evicted for a gang that lacks nothing but light pods

    def worksheet(self, group: Group) -> list[Part]:
        """List what a job has to place, by part."""
        parts = parts_of(group)
        for part in parts:
            waiting = [pod for pod in part.members if pod.status == "Pending" and not (pod.gated or pod.best_effort)]
            part.left = sorted(waiting, key=self.pod_key)
        needed = {policy["name"]: policy.get("minSubGroups", 0) for policy in group.policies}
        for part in parts:
            if self.part_ready(part):
                needed[part.policy] = needed.get(part.policy, 0) - 1
        for part in sorted(parts, key=self.part_key):
            if not self.part_ready(part) and needed.get(part.policy, 0) > 0:
                needed[part.policy] -= 1
                part.is_required = True
        return [part for part in parts if part.left]

    def offer(self, group: Group, parts: list[Part]) -> bool:
        """Place pods of a job and keep what is worth keeping; True where the job has its minimum."""
        placed: list[Pod] = []
        self.attempt(group, parts, placed)
        if not (self.ready(group) or self.pipelined(group)):
            self.undo(placed, 0)
            again = self.by_need(group)
            self.attempt(group, again, placed)
            if self.ready(group) or self.pipelined(group):
                parts[:] = again
        if self.ready(group):
            if self.relies_on_light(group):
                unplaceable = len(group.nowhere)
                if not self.light_pods_fit(group):
                    self.undo(placed, 0)
                    parts[:] = self.worksheet(group)
                    return len(group.nowhere) > unplaceable
                self.waiting[group.key] = [*self.waiting.get(group.key, []), *placed]
            else:
                self.commit([*self.waiting.pop(group.key, []), *placed])
            return True
        if not self.pipelined(group):
            self.undo(placed, 0)
        return False

    def by_need(self, group: Group) -> list[Part]:
        """List what a job has to place, those first that make it ready."""
        parts = self.worksheet(group)
        needed = [pod for _, step in self.steps(group, [pod for part in parts for pod in part.left]) for pod in step]
        for part in parts:
            part.needed = [pod for pod in needed if pod in part.left]
            part.left = part.needed + [pod for pod in part.left if pod not in part.needed]
        return parts

    def attempt(self, group: Group, parts: list[Part], placed: list[Pod]) -> None:
        """Place pods of a job."""
        if group.policies:
            self.take_turns(group, parts, placed, lambda part: self.place(part, placed))
        else:
            self.place(parts[0], placed)

    def take_turns(self, group: Group, parts: list[Part], placed: list[Pod], place: Callable[[Part], bool]) -> None:
        """Place pods of the parts, one part after the other, until the job is ready."""
        open_parts = [part for part in parts if part.left]
        while open_parts:
            part = min(open_parts, key=self.part_key)
            begun = len(placed)
            kept = place(part)
            if not (kept and len(placed) > begun):
                part.left = []  # a part that comes to nothing gets no other turn
            if not part.left:
                open_parts.remove(part)
            if kept and len(placed) > begun and self.ready(group):
                break

    def place(self, part: Part, placed: list[Pod]) -> bool:
        """Place the pods of a part until it is ready; False where nothing of it was worth keeping."""
        begun = len(placed)
        if part.group.policies:
            part.failed.clear()  # every attempt at a part begins without memories
        while part.left:
            pod = part.left.pop(0)
            if not self.allocatable(part.group, pod):
                self.kept_by_share.add(part.group.key)
                continue
            if self.role_has_failed(part, pod):
                part.failed.add(pod.key)
                continue
            choice = self.choose(pod)
            if choice is None:
                part.failed.add(pod.key)
                if not self.goes_on(part):
                    break
                continue
            node, is_idle = choice
            self.put(pod, node, "Allocated" if is_idle else "Pipelined")
            placed.append(pod)
            if self.part_ready(part):
                break
        if self.part_ready(part) or (self.part_pipelined(part) if part.group.policies else self.pipelined(part.group)):
            return True
        self.undo(placed, begun)
        return False

    def role_has_failed(self, part: Part, pod: Pod) -> bool:
        """Whether a pod is passed over since another of its role found no node."""
        if not pod.role or any(policy.tries_all(part.group) for policy in self.policies.values()):
            return False
        return any(other.role == pod.role and other.key in part.failed for other in part.members)

    def allocatable(self, group: Group, pod: Pod) -> bool:
        """Whether a queue may have one pod more, with other users counted."""
        if self.has("proportion") and not self.shares.takes(group.queue, pod.request):
            return False
        return all(policy.takes(pod) for policy in self.policies.values())

    def goes_on(self, part: Part) -> bool:
        """Whether placing more pods can make sense after one found no node."""
        group = part.group
        if group.minimum == len(group.pods) or part.minimum >= len(part.members):
            return False
        if group.policies:
            return True
        roles = {pod.role for pod in part.members if pod.key in part.failed}
        if group.minimum < sum(group.by_role.values()):
            left = sum(pod.status == "Pending" and pod.role not in roles for pod in part.members)
            return group.ready + left >= group.minimum
        return all(self.role_count(group, role) >= group.by_role[role] for role in roles if group.by_role.get(role))

    def choose(self, pod: Pod) -> tuple[Node, bool] | None:
        """Find the best node: free room before room being released, then by score, then by name."""
        nodes = [node for node in self.cluster.nodes if self.fits(pod, node, later=True) and self.permits(pod, node)]
        for is_idle in (True, False):
            group = [node for node in nodes if self.fits(pod, node, later=False) is is_idle]
            if group:
                return self.best(pod, group), is_idle
        return None

    def permits(self, pod: Pod, node: Node) -> bool:
        """Ask the filters."""
        if not all(policy.permits(pod, node) for policy in self.policies.values()):
            return False
        return not self.has("predicates") or self.filters.permit(pod, node)

    def fits(self, pod: Pod, node: Node, *, later: bool) -> bool:
        """Whether a pod fits free room, or the room that will be free."""
        return all(
            pod.request.get(name, 0) <= self.room(node, name, later=later)
            for name in {"cpu", "memory", "pods"} | set(pod.request)
        )

    def room(self, node: Node, name: str, *, later: bool) -> int:
        """What a node has left, or will have when all that leaves is gone and all that waits is there."""
        left = node.offers.get(name, 0) - used(self.filters, node, name, viewed=False)
        if later:
            there = self.filters.on(node) + self.filters.evicted_from(node)
            left += sum(other.request.get(name, 0) for other in there if other.status == "Releasing")
            left -= sum(other.request.get(name, 0) for other in there if other.status == "Pipelined")
        return left

    def takes_a_pod(self, node: Node) -> bool:
        """Whether a node takes one pod more, with other users counted."""
        return node.offers["pods"] > used(self.filters, node, "pods", viewed=False)

    def best(self, pod: Pod, nodes: Sequence[Node]) -> Node:
        """Take the highest score, the lowest name among equals."""
        total = self.scores(pod, nodes)
        return max(nodes, key=lambda node: (total[node.name], _reversed(node.name)))

    def scores(self, pod: Pod, nodes: Sequence[Node]) -> dict[str, float]:
        """Add up the scores of all plugins."""
        total = dict.fromkeys((node.name for node in nodes), 0.0)
        for plugin in (plugin for tier in self.tiers for plugin in tier):
            scores: Mapping[str, float] = {}
            if plugin in SCORES:
                scores = SCORES[plugin](self.filters, pod, nodes)
            elif plugin in self.policies:
                scores = self.policies[plugin].scores(pod, nodes)
            for name, score in scores.items():
                total[name] += score
        return total

    def put(self, pod: Pod, node: Node, status: str) -> None:
        """Put a pod on a node."""
        pod.status, pod.node = status, node.name
        self.cluster.placed.append(pod)
        for policy in self.policies.values():
            policy.was_placed(pod, node)

    def undo(self, placed: list[Pod], begun: int) -> None:
        """Take pods off their nodes again."""
        for pod in placed[begun:]:
            pod.status, pod.node = "Pending", ""
            self.cluster.placed.remove(pod)
        del placed[begun:]

    def commit(self, placed: list[Pod]) -> None:
        """Bind what was placed on free room, as one plan."""
        bound = [pod for pod in placed if pod.status == "Allocated"]
        for pod in bound:
            pod.status = "Binding"
        if bound:
            self.plans.append([(pod.key, pod.node) for pod in bound])

    # Backfill

    def backfill(self, _: Sequence[str]) -> None:
        """Place pods that ask for nothing, queue by queue and job by job."""
        willing = [group for group in self.cluster.groups.values() if group.phase not in ("", "Pending")]
        work = self.by_queue(group for group in willing if group.light and self.valid(group))
        while work:
            name = min(work, key=self.queue_key)
            for _, group in work.pop(name):
                self.complete(group)
        self.complete_rest()

    def complete_rest(self) -> None:
        """Complete or undo what still waits for best-effort pods."""
        for key in list(self.waiting):
            self.complete(self.cluster.groups[key])

    def complete(self, group: Group) -> None:
        """Place a job's best-effort pods; from its minimum on each counts for itself, below it nothing counts."""
        placed = self.waiting.pop(group.key, [])
        for pod in self.light_pods(group):
            self.put_light(group, pod, placed)
            if self.ready(group) and not self.relies_on_light(group):
                self.commit(placed)
                placed = []
        if not (self.ready(group) and not self.relies_on_light(group)):
            self.undo(placed, 0)

    def light_pods(self, group: Group) -> list[Pod]:
        """Pods of a job that ask for nothing and wait."""
        return sorted((pod for pod in group.pods if group.counts(pod) and not pod.gated), key=self.pod_key)

    def put_light(self, group: Group, pod: Pod, placed: list[Pod]) -> None:
        """Place a pod that asks for nothing, if a node takes it."""
        permitted = [node for node in self.cluster.nodes if self.permits(pod, node) and self.takes_a_pod(node)]
        nodes = self.where_it_may_lie(pod, permitted)
        if nodes:
            self.put(pod, self.best(pod, nodes), "Allocated")
            placed.append(pod)
        else:
            group.nowhere.add(pod.key)

    def light_pods_fit(self, group: Group) -> bool:
        """Whether nodes take those that ask for nothing of which a job needs some; none of them stays."""
        placed: list[Pod] = []
        for pod in self.light_pods(group):
            if self.relies_on_light(group):
                self.put_light(group, pod, placed)
        fit = self.ready(group) and not self.relies_on_light(group)
        self.undo(placed, 0)
        return fit

    def where_it_may_lie(self, _pod: Pod, nodes: Sequence[Node]) -> Sequence[Node]:
        """Where a pod that asks for nothing may lie by its topology; where domains count, they differ."""
        return nodes

    # Lending

    def lend(self, actions: Sequence[str]) -> None:
        """Offer idle room to jobs whatever the shares of their queues, queues in turn."""
        lends = self.arguments.get("proportion", {}).get("lendIdle", True)
        if "allocate" not in actions or not self.has("proportion") or not lends:
            return
        self.shares.lends = True
        kept = [self.cluster.groups[key] for key in self.kept_by_share]
        work = self.by_queue(group for group in kept if group.count("Pending"))
        while work:
            name = min(work, key=self.queue_key)
            if not work[name]:
                del work[name]
                continue
            _, group = work[name].pop(0)
            parts = self.worksheet(group)
            if parts and self.lend_to(group, parts):
                work[name] = sorted([*work[name], (self.job_key(group), group)], key=lambda each: each[0])
        self.shares.lends = False

    def lend_to(self, group: Group, parts: list[Part]) -> bool:
        """Bind pods of a job on idle room alone, or none of them; True where more of it is left."""
        placed: list[Pod] = []
        self.attempt(group, parts, placed)
        if not (self.ready(group) or self.pipelined(group)):
            self.undo(placed, 0)
            parts[:] = self.by_need(group)
            self.attempt(group, parts, placed)
        if not (self.ready(group) and placed and all(pod.status == "Allocated" for pod in placed)):
            self.undo(placed, 0)
            return False
        if self.relies_on_light(group):
            self.waiting[group.key] = [*self.waiting.get(group.key, []), *placed]
            self.complete(group)
        else:
            self.commit(placed)
        return any(part.left for part in parts)

    # Outcome

    @property
    def held(self) -> dict[str, str]:
        """Places that wait for room being released."""
        return {pod.key: pod.node for pod in self.cluster.placed if pod.status == "Pipelined"}

    @property
    def phases(self) -> dict[str, str]:
        """Phases at the end, of jobs that are not found unschedulable while some of their pods run."""
        return {group.key: self.phase(group) for group in self.cluster.groups.values()}

    def phase(self, group: Group) -> str:
        """Phase of one job."""
        leaving = sum(pod.status == "Releasing" and bool(pod.node) for pod in group.pods)
        finished = group.count("Succeeded", "Failed")
        scheduled = group.count("Running", "Bound") + finished + leaving
        lacks = group.ready + group.light < group.minimum and self.has("gang") and bool(group.pods)
        had_places = not group.count("Pending", "Pipelined") and scheduled >= group.minimum
        if group.count("Running") and lacks and not had_places:
            return "Unknown"
        if scheduled >= group.minimum and (scheduled or group.minimum):
            return "Completed" if scheduled == finished else "Running"
        return "Inqueue" if group.phase == "Inqueue" else "Pending"


def _reversed(name: str) -> list[int]:
    return [-ord(letter) for letter in name]


def _seconds(created: str) -> float:
    return datetime.fromisoformat(created).timestamp()
