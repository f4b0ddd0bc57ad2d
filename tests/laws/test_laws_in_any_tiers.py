"""Priority is never inverted and no queue loses what it deserves, whatever plugins stand in whatever tiers."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyroclast.framework.session.session import Session
from pyroclast.model.ids import JobId, QueueName
from pyroclast.model.plan import Plan
from pyroclast.plugins.proportion.plugin import usage_by_queue
from pyroclast.testing import Outcome, Scenario, open_session
from tests.drawing import examples

EXAMPLES = examples(40)
LAWS = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
PLUGINS = ("priority", "gang", "conformance", "drf", "pdb", "cdp", "tdm", "predicates", "nodeorder", "binpack")
QUEUES = ("red", "green", "blue")
PRIORITIES = {"low": 1, "mid": 5, "high": 9}


@st.composite
def tiers(draw: st.DrawFn, share: str) -> list[list[dict[str, Any]]]:
    """Draw an order of plugins, the borders of tiers, and which plugins are not asked for victims."""
    order = draw(st.permutations([*PLUGINS, share]))
    kept = [name for name in order if name in {"predicates", share} or draw(st.integers(0, 4))]
    drawn: list[list[dict[str, Any]]] = [[]]
    for name in kept:
        if drawn[-1] and not draw(st.integers(0, 2)):
            drawn.append([])
        flags = {} if draw(st.integers(0, 3)) else {"enablePreemptable": False, "enableReclaimable": False}
        drawn[-1].append({"name": name, **flags})
    return drawn


@st.composite
def full(draw: st.DrawFn) -> Scenario:
    """Draw nodes full of jobs of all queues and priorities, and jobs that wait."""
    scenario = Scenario()
    for name, value in PRIORITIES.items():
        scenario = scenario.priority_class(name, value)
    for queue in QUEUES:
        scenario = scenario.queue(
            queue,
            weight=draw(st.integers(1, 3)),
            deserved={"cpu": draw(st.integers(1, 6))} if draw(st.booleans()) else None,
        )
    free = {f"n{number}": draw(st.integers(2, 8)) for number in range(draw(st.integers(1, 4)))}
    for node, cpu in free.items():
        scenario = scenario.node(node, cpu=cpu)
    for number in range(draw(st.integers(3, 9))):
        scenario = draw(_job(scenario, f"j{number}", free, runs=draw(st.integers(0, 3)) > 0))
    return scenario


@st.composite
def _job(draw: st.DrawFn, scenario: Scenario, name: str, free: dict[str, int], *, runs: bool) -> Scenario:
    cpu, tasks = draw(st.integers(1, 3)), draw(st.integers(1, 4))
    on: list[str] = []
    for node in free if runs else ():
        while len(on) < tasks and free[node] >= cpu:
            on.append(node)
            free[node] -= cpu
    kind = draw(st.sampled_from([*PRIORITIES, ""]))
    return scenario.job(
        name,
        tasks=max(tasks, len(on)),
        min_available=draw(st.integers(1, max(len(on), 1))) if on else draw(st.integers(1, tasks)),
        queue=draw(st.sampled_from(QUEUES)),
        cpu=cpu,
        running_on=on,
        priority_class=kind,
        priority=PRIORITIES.get(kind, draw(st.sampled_from([0, 0, 3, 7]))),
    )


def evicting_plans(outcome: Outcome) -> Iterator[Plan]:
    """Plans that evict."""
    return (plan for plan in outcome.rounds[0].plans if plan.evictions)


def own_priority(outcome: Outcome, task_id: Any) -> int:
    """The priority of a pod."""
    jobs = outcome.rounds[0].snapshot.jobs.values()
    return next(job.tasks[task_id].pod.spec.priority or 0 for job in jobs if task_id in job.tasks)


@LAWS
@given(
    full(),
    st.sampled_from(["proportion", "capacity"]).flatmap(tiers),
    st.sampled_from([("preempt",), ("gangpreempt",), ("preempt", "gangpreempt")]),
)
def test_no_pod_is_preempted_for_one_of_a_lower_priority(
    scenario: Scenario, plugins: Any, evicting: tuple[str, ...]
) -> None:
    """Neither the job nor the pod of a victim has a higher priority than the job and the pods that take its room."""
    outcome = scenario.run("enqueue", "allocate", *evicting, plugins=plugins)

    assert outcome.failed_plugins == []
    jobs = outcome.rounds[0].snapshot.jobs
    for plan in evicting_plans(outcome):
        assert plan.job is not None
        highest = max(jobs[plan.job].priority, *(own_priority(outcome, each.task) for each in plan.nominations))
        for victim in plan.evictions:
            assert victim.job is not None
            assert jobs[victim.job].priority <= jobs[plan.job].priority
            assert own_priority(outcome, victim.task) <= highest


class Surplus:
    """What queues have and deserve as the plans of a cycle follow each other."""

    def __init__(self, session: Session, share: str) -> None:
        self._session = session
        state = usage_by_queue(session)
        space = session.resources
        self.row = space.rows["cpu"]
        self.have = {name: amounts.tolist() for name, amounts in session.jobs.allocated_by_queue().items()}
        self.deserved: Mapping[QueueName, list[float]] = {}
        if share == "proportion":
            self.deserved = {name: list(map(float, book.deserved)) for name, book in state.items()}
        else:
            queues = session.queues.by_name.values()
            self.deserved = {each.name: list(space.vector(each.deserved).tolist()) for each in queues}

    def has_some(self, queue: QueueName, share: str) -> bool:
        """Whether a queue has more than it deserves; of cpu alone where the queue says what it deserves."""
        have, deserved = self.have[queue], self.deserved[queue]
        if share == "capacity":
            return deserved[self.row] <= 0 or have[self.row] > deserved[self.row]
        return any(used > most for used, most in zip(have, deserved, strict=True))

    def count(self, task_id: Any, sign: int) -> None:
        """Count what a queue gains or loses by a task."""
        for job in self._session.jobs.all():
            if task_id in job.tasks:
                request = self._session.nodes.needs(job.tasks[task_id].template).request.tolist()
                self.have[job.queue] = [
                    used + sign * amount for used, amount in zip(self.have[job.queue], request, strict=True)
                ]


@LAWS
@given(
    full(),
    st.sampled_from(["proportion", "capacity"]).flatmap(tiers),
    st.sampled_from([("reclaim",), ("preempt",), ("gangpreempt",), ("gangreclaim",), ("reclaim", "preempt")]),
)
def test_protected_pods_stay(scenario: Scenario, plugins: Any, evicting: tuple[str, ...]) -> None:
    """Critical pods, pods whose budget is used up, and pods in their cooldown time."""
    asked = {each["name"] for tier in plugins for each in tier if each.get("enablePreemptable", True)}
    outcome = with_protected_pods(scenario).run("enqueue", "allocate", *evicting, plugins=plugins, now=NOW)

    assert outcome.failed_plugins == []
    victims = {victim.task for plan in evicting_plans(outcome) for victim in plan.evictions}
    pods = {each: task.pod for job in outcome.rounds[0].snapshot.jobs.values() for each, task in job.tasks.items()}
    guards = {PROTECTED_BY.get(pods[victim].metadata.name[:2]) for victim in victims}
    assert guards.isdisjoint(asked)


NOW = 1_800_000_000.0
PROTECTED_BY = {"j0": "conformance", "j1": "pdb", "j2": "cdp"}
"""Plugins that protect the running pods of a job, by its name."""


def with_protected_pods(scenario: Scenario) -> Scenario:
    """Let the first three jobs have protected pods: critical, under a used-up budget, and scheduled a moment ago."""
    objects = [protected(each) if each["kind"] == "Pod" else each for each in scenario.objects]
    budget = {
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "none", "namespace": "default", "uid": "b"},
        "spec": {"selector": {"matchLabels": {"budget": "none"}}},
        "status": {"disruptionsAllowed": 0},
    }
    return replace(scenario, objects=(*objects, budget))


def protected(pod: Mapping[str, Any]) -> dict[str, Any]:
    """Protect a pod by the plugin of its job; pods of other jobs stay as they are."""
    metadata, guard = pod["metadata"], PROTECTED_BY.get(pod["metadata"]["name"][:2])
    if guard == "conformance":
        return {**pod, "spec": {**pod["spec"], "priorityClassName": "system-node-critical"}}
    if guard == "pdb":
        return {**pod, "metadata": {**metadata, "labels": {"budget": "none"}}}
    if guard == "cdp":
        annotations = {**metadata.get("annotations", {}), "volcano.sh/cooldown-time": "10m"}
        moment = {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2027-01-15T07:59:00Z"}
        return {
            **pod,
            "metadata": {**metadata, "annotations": annotations},
            "status": {**pod["status"], "conditions": [moment]},
        }
    return dict(pod)


@LAWS
@given(
    full(), st.data(), st.sampled_from(["proportion", "capacity"]), st.sampled_from([("reclaim",), ("gangreclaim",)])
)
def test_nothing_is_taken_from_queues_without_surplus(
    scenario: Scenario, data: st.DataObject, share: str, evicting: tuple[str, ...]
) -> None:
    """Before each victim, or each gang that goes whole, its queue has more than it deserves."""
    plugins = data.draw(tiers(share))
    outcome = scenario.run("enqueue", "allocate", *evicting, plugins=plugins)

    assert outcome.failed_plugins == []
    surplus = Surplus(open_session(scenario, plugins=plugins), share)
    jobs = outcome.rounds[0].snapshot.jobs
    gone: Counter[Any] = Counter()
    for plan in outcome.rounds[0].plans:
        lost = Counter(victim.job for victim in plan.evictions)
        gone += lost
        for job_id, victims in groupby(plan.evictions, key=lambda victim: victim.job):
            assert job_id is not None
            is_whole = lost[job_id] > 1 and _ran(jobs[JobId(job_id)]) == gone[job_id]
            for number, victim in enumerate(victims):
                if not (number and is_whole):
                    assert surplus.has_some(jobs[JobId(job_id)].queue, share)
                surplus.count(victim.task, -1)
        for task_id in [*(bind.task for bind in plan.binds), *(place.task for place in plan.nominations)]:
            surplus.count(task_id, 1)


def _ran(job: Any) -> int:
    """The number of pods that ran before the cycle."""
    return sum(task.status.label in {"Running", "Bound"} for task in job.tasks.values())


def test_a_gang_that_lost_a_pod_before_is_taken_whole() -> None:
    """The first plan leaves a gang its minimum; the second one takes both pods, since one would break the gang."""
    scenario = Scenario().node("n0", cpu=2).node("n1", cpu=4).queue("red").queue("green")
    scenario = scenario.running("gang", on=["n0", "n1", "n1"], min_available=2, queue="green", cpu=2)
    scenario = scenario.job("one", queue="red", cpu=1).job("two", queue="red", cpu=2)
    tiers = [[{"name": "gang", "enablePreemptable": False, "enableReclaimable": False}], ["predicates", "proportion"]]
    outcome = scenario.run("enqueue", "allocate", "reclaim", plugins=tiers)

    assert [len(plan.evictions) for plan in evicting_plans(outcome)] == [1, 2]
