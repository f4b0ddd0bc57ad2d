"""Jobs that are skipped because nothing changed for them still get the reasons that changed around them."""

from pyroclast.framework.cycle import run_cycle
from pyroclast.framework.session.memory import Memory, Settled
from pyroclast.model.refusals import Refusal
from pyroclast.model.report import CycleReport
from pyroclast.testing import Scenario
from pyroclast.testing.cluster import cluster_of
from pyroclast.testing.configuration import configured

PLUGINS = (("priority", "gang"), ("predicates", "capacity"))
WAITING = (
    Scenario()
    .queue("q", deserved={"cpu": 1}, capability={"cpu": 16})
    .node("n1", cpu=4)
    .node("closed", cpu=16, unschedulable=True)
    .running("v", on=["n1"] * 3, queue="q", min_available=0)
    .job("big", queue="q", cpu=3, phase="Inqueue")
)


def cycles(scenario: Scenario, *, ends: str = "", comes: Scenario | None = None) -> list[CycleReport]:
    """Run five cycles, with what is remembered of jobs; after the third a pod ends, or something comes."""
    parsed, registry = configured(("enqueue", "allocate", "reclaim"), PLUGINS, {})
    cluster = cluster_of(scenario.objects, shard_mode="none", shard="volcano", warnings=[])
    settled, memory, reports = Settled(), Memory(), []
    for now in range(5):
        report, memory = run_cycle(
            cluster.snapshot(), parsed.configuration, registry=registry, now=now, memory=memory, settled=settled
        )
        reports.append(report)
        cluster.settle([], report, now=now + 0.5, recreate_evicted=False)
        if now == 2 and comes is not None:
            cluster.add(comes.objects[len(scenario.objects) :])
        elif now == 2:
            (ended,) = (task for task, name in cluster.pod_names().items() if name == f"default/{ends}")
            cluster._delete(ended, now + 0.6, recreate=False)
    return reports


def of_evictions(report: CycleReport) -> Refusal:
    """Return why no pod is evicted for the waiting job."""
    (refusal,) = (each for each in report.refusals["default/big"] if each.action)  # type: ignore[index]  # a plain string does
    return refusal


def test_amounts_are_those_of_now() -> None:
    """A pod of the queue ends: it would have 1 CPU less, the node has 1 more left; both are still no way out."""
    reports = cycles(WAITING, ends="v-0")
    first, last = reports[0], reports[3]
    (before,), (after,) = (report.task_refusals["default-big-0"] for report in (first, last))  # type: ignore[index]  # a plain string does

    assert (of_evictions(first).amounts, of_evictions(last).amounts) == ({"cpu": (6000, 1000)}, {"cpu": (5000, 1000)})
    assert (before.amounts, after.amounts) == ({"cpu": (3000, 1000)}, {"cpu": (3000, 2000)})
    assert before == after


def test_nothing_is_written_for_amounts_alone() -> None:
    """Words that stay are not written again, neither to the pod nor to its group."""
    reports = cycles(WAITING, ends="v-0")

    assert [each.name for each in reports[0].pod_conditions] == ["big-0"]
    assert reports[3].pod_conditions == ()
    assert [status.job for report in reports[3:] for status in report.group_statuses if "big" in status.job] == []


def test_changed_messages_are_written_and_others_stay() -> None:
    """The queue may take room from others, of which there are none at first; then a pod comes which is not enough."""
    scenario = (
        Scenario()
        .queue("q", deserved={"cpu": 16})
        .queue("other")
        .node("n1", cpu=4)
        .node("closed", cpu=16, unschedulable=True)
    )
    scenario = scenario.running("v", on=["n1"] * 2, queue="q", min_available=0).job(
        "big", queue="q", cpu=4, phase="Inqueue"
    )
    reports = cycles(scenario, comes=scenario.running("w", on=["n1"], queue="other", min_available=0))
    first, last = reports[0], reports[3]

    assert of_evictions(first).counts == {
        "node(s) without pods to evict": 1,
        "node(s) that evictions cannot make suitable": 1,
    }
    assert of_evictions(last).counts == {
        "node(s) on which all pods that could be evicted free too little": 1,
        "node(s) that evictions cannot make suitable": 1,
    }
    lacks = "0/2 nodes are unavailable: 1 Insufficient cpu, 1 node(s) were unschedulable"
    told = [each.message for each in reports[3].pod_conditions if each.name == "big-0"]
    assert told == [f"{lacks}. reclaim: {of_evictions(last).message}"]
    (status,) = (each for each in reports[3].group_statuses if each.job == "default/big")
    message = f"Origin reason is big-0: {lacks}; fits when default/v and default/w end. reclaim: "
    assert message in status.conditions[0].message
    assert (reports[4].pod_conditions, reports[4].group_statuses) == ((), ())


def test_a_status_that_does_not_show_yet_is_written_with_its_reason() -> None:
    """The last conditions are on their way to the server when the next cycle begins, which has other things to do."""
    scenario = Scenario().queue("q").node("n1", cpu=4).job("big", tasks=2, queue="q", cpu=5, phase="Inqueue")
    parsed, registry = configured(("enqueue", "allocate"), (("gang", "predicates"),), {})
    cluster = cluster_of(scenario.objects, shard_mode="none", shard="volcano", warnings=[])
    settled, memory, told, pods, events = Settled(), Memory(), [], [], []
    for now in range(3):
        report, memory = run_cycle(
            cluster.snapshot(), parsed.configuration, registry=registry, now=now, memory=memory, settled=settled
        )
        told += [condition.message for each in report.group_statuses for condition in each.conditions]
        pods += [each.message for each in report.pod_conditions]
        events += [each.message for each in report.events]
        cluster.add(Scenario().pod(f"stranger-{now}", node="n1", cpu=1, scheduler="other").objects)
        if now == 1:
            cluster.settle([], report, now=now + 0.5, recreate_evicted=False)

    assert len(told) == 2
    state = "pod group is not ready, 2 Pending, 2 minAvailable; Pending: 2 Unschedulable"
    reason = "big-0: 0/1 nodes are unavailable: 1 Insufficient cpu. It can never run: the largest node has 4 cpu."
    assert set(told) == {f"2/2 tasks in gang unschedulable: {state}. Origin reason is {reason}"}
    assert pods == ["0/1 nodes are unavailable: 1 Insufficient cpu. It can never run: the largest node has 4 cpu."] * 4
    assert len(events) == 3  # of the pods and of their group, in the first cycle alone
