"""Jobs of gangs follow members and pod groups as they come, change and go, in any order; a rebuild finds the same."""

import json
from collections.abc import Mapping
from itertools import permutations
from typing import Any

from pyroclast.cache.files.audit import differences
from pyroclast.cache.files.dump import take_dump
from pyroclast.cache.files.objects import decoded
from pyroclast.cache.options import StateOptions
from pyroclast.cache.state import ClusterState
from pyroclast.model.api.names import POD_QUEUE_NAME, TASK_SPEC
from pyroclast.model.api.scheduling import PodGroupPhase
from pyroclast.model.errors import ObjectError
from pyroclast.model.gangs import GangRules
from pyroclast.model.gangs.names import GROUPS, MIN_AVAILABLE, MODE, NAME
from pyroclast.model.ids import JobId, NodeName, TaskId
from pyroclast.model.jobs import Job
from pyroclast.model.plan import Bind, Plan
from pyroclast.testing import Scenario
from tests.gangs import annotated, described_by, gang_pod_group

BASE = Scenario().queue("default").queue("q").node("n")
A, AB = JobId("default/gang:a"), JobId("default/gang:a,default/b")
RULES = GangRules()
BOTH = ("default/a", "default/b")


def apply(state: ClusterState, *objects: Mapping[str, Any]) -> None:
    """Take over objects."""
    for kind, each in decoded(objects):
        state.apply(kind, each)


def books_of(scenario: Scenario, *more: Mapping[str, Any], rules: GangRules | None = RULES) -> ClusterState:
    """Books of a cluster that make jobs of gangs."""
    state = ClusterState()
    state.follow_gangs(rules)
    apply(state, *scenario.objects, *more)
    return state


def jobs(state: ClusterState) -> dict[JobId, tuple[int, dict[str, int], list[str]]]:
    """Minimum, minimum by gang and members by job; a rebuild must find the same."""
    snapshot = state.snapshot()
    assert differences(snapshot, state.rebuild().snapshot()) == []
    assert differences(snapshot, state.copy_of_objects()().snapshot()) == []
    assert set(snapshot.gangs) <= set(snapshot.jobs)
    return {job.id: (job.min_available, dict(job.min_by_role), members(job)) for job in snapshot.jobs.values()}


def members(job: Job) -> list[str]:
    """Names of the pods of a job."""
    return sorted(task.name for task in job.tasks.values())


def refusal(state: ClusterState, job: JobId = A) -> str:
    """Why no member of a job may be placed."""
    return state.snapshot().gangs[job].refusal


def remove(state: ClusterState, name: str) -> None:
    """Delete a pod."""
    (pod,) = (each for each in state.stored("Pod").values() if each.metadata.name == name)
    state.remove("Pod", pod)


def test_pods_of_one_name_are_one_job() -> None:
    """Its role is the gang; nobody else is in it."""
    scenario = BASE.pod("p0", annotations=annotated("a", 2)).pod("p1", annotations=annotated("a", 2))
    scenario = scenario.pod("other", annotations=annotated("a", 2), namespace="elsewhere").pod("alone")
    state = books_of(scenario)

    assert jobs(state) == {
        A: (2, {"default/a": 2}, ["p0", "p1"]),
        JobId("elsewhere/gang:a"): (2, {"elsewhere/a": 2}, ["other"]),
    }
    job = state.snapshot().jobs[A]
    assert {task.role for task in job.tasks.values()} == {"default/a"}
    assert (job.is_made_up, job.phase, job.queue, job.namespace) == (True, PodGroupPhase.INQUEUE, "default", "default")
    assert state.snapshot().gangs[A].id == "default/a"
    assert [each.task.name for each in state.snapshot().orphan_pods] == ["alone"]


def test_clusters_that_do_not_ask_have_no_gangs() -> None:
    """Their pods are each for itself, whatever pods without a group do; pods of a PodGroup and others are as ever."""
    scenario = BASE.pod("p0", annotations=annotated("a", 2)).job("g", annotations=annotated("a", 2)).pod("alone")
    state = books_of(scenario, gang_pod_group("a", 2), rules=None)

    snapshot = state.snapshot()
    assert snapshot.gangs == {}
    assert {job.id.partition("-")[0]: job.min_available for job in snapshot.jobs.values()} == {
        "default/g": 1,
        "default/podgroup": 1,
    }
    assert [each.task.name for each in snapshot.orphan_pods] == ["alone"]


def test_asking_can_begin_end_and_change() -> None:
    """A configuration is loaded anew: jobs are made, made otherwise, and given up."""
    state = books_of(BASE.pod("p0", annotations=annotated("a", 1), node="n"), rules=None)
    (single,) = state.snapshot().jobs
    state.follow_gangs(GangRules())
    assert jobs(state) == {A: (1, {"default/a": 1}, ["p0"])}

    state.follow_gangs(GangRules(match_policy="only-waiting"))
    assert jobs(state) == {JobId("default/gang:a:free"): (1, {"default/a": 1}, ["p0"])}
    generation = state.generation
    state.follow_gangs(GangRules(match_policy="only-waiting"))
    assert state.generation == generation

    state.follow_gangs(None)
    assert set(jobs(state)) == {single}
    assert state.snapshot().gangs == {}


def test_pods_that_are_no_members() -> None:
    """Those of a PodGroup of Volcano, of other schedulers, those that ended, and those that cannot be read."""
    scenario = BASE.pod("p", annotations=annotated("a", 1))
    scenario = scenario.job("g", annotations=annotated("a", 1))
    scenario = scenario.pod("theirs", annotations=annotated("a", 1), scheduler="default-scheduler", node="n")
    scenario = scenario.pod("done", annotations=annotated("a", 1), phase="Succeeded", node="n")
    scenario = scenario.pod("failed", annotations=annotated("a", 1), phase="Failed", node="n")
    scenario = scenario.pod("broken", annotations=annotated("a", 1), cpu="one")
    state = books_of(scenario)

    assert jobs(state) == {
        A: (1, {"default/a": 1}, ["p"]),
        JobId("default/g"): (1, {}, ["g-0"]),
    }
    assert [each.task.name for each in state.snapshot().orphan_pods] == ["broken"]


def test_members_come_end_and_go() -> None:
    """The gang is short until enough are there, and short again when one ends; with the last one the job goes."""
    state = books_of(BASE.pod("p0", annotations=annotated("a", 2)))
    assert refusal(state) == "the gang is not complete: gang default/a has 1 of 2 pods"
    apply(state, *Scenario().pod("p1", annotations=annotated("a", 2)).objects)
    assert refusal(state) == ""
    assert jobs(state) == {A: (2, {"default/a": 2}, ["p0", "p1"])}

    apply(state, *Scenario().pod("p1", annotations=annotated("a", 2), phase="Failed").objects)
    assert jobs(state) == {A: (2, {"default/a": 2}, ["p0"])}
    assert refusal(state) == "the gang is not complete: gang default/a has 1 of 2 pods"
    remove(state, "p0")
    assert jobs(state) == {}


def test_a_member_can_change_its_gang() -> None:
    """It leaves the one and joins the other."""
    state = books_of(BASE.pod("p0", annotations=annotated("a", 1)).pod("p1", annotations=annotated("a", 1)))
    apply(state, *Scenario().pod("p1", annotations=annotated("z", 1)).objects)
    assert jobs(state) == {
        A: (1, {"default/a": 1}, ["p0"]),
        JobId("default/gang:z"): (1, {"default/z": 1}, ["p1"]),
    }


def test_a_pod_group_may_be_late_change_and_go() -> None:
    """Row 17: members wait for it; then its word counts, until it is gone."""
    state = books_of(BASE.pod("p0", labels=described_by("a")).pod("p1", labels=described_by("a")))
    assert refusal(state) == (
        "the gang is not complete: gang default/a: there is no PodGroup default/a of scheduling.sigs.k8s.io"
    )
    assert jobs(state) == {A: (0, {"default/a": 0}, ["p0", "p1"])}

    apply(state, gang_pod_group("a", 2))
    assert refusal(state) == ""
    assert jobs(state) == {A: (2, {"default/a": 2}, ["p0", "p1"])}
    apply(state, gang_pod_group("a", 3))
    assert refusal(state) == "the gang is not complete: gang default/a has 2 of 3 pods"

    state.remove("GangPodGroup", state.stored("GangPodGroup")["default/a"])
    assert "there is no PodGroup" in refusal(state)
    assert jobs(state) == {A: (0, {"default/a": 0}, ["p0", "p1"])}


def test_a_pod_group_takes_a_gang_of_annotations_over() -> None:
    """And gives it back when it goes."""
    state = books_of(BASE.pod("p0", annotations=annotated("a", 1)))
    apply(state, gang_pod_group("a", 4))
    assert refusal(state) == "the gang is not complete: gang default/a has 1 of 4 pods"
    state.remove("GangPodGroup", state.stored("GangPodGroup")["default/a"])
    assert jobs(state) == {A: (1, {"default/a": 1}, ["p0"])}
    assert refusal(state) == ""


def test_the_oldest_living_member_describes_a_gang() -> None:
    """Of equal age the first by name; what others say differently does not count."""
    scenario = BASE.pod("z", annotations=annotated("a", 1)).pod("y", annotations=annotated("a", 2))
    state = books_of(scenario)
    assert jobs(state) == {A: (1, {"default/a": 1}, ["y", "z"])}
    remove(state, "z")
    assert jobs(state) == {A: (2, {"default/a": 2}, ["y"])}


def test_a_group_of_gangs_is_one_job() -> None:
    """Over namespaces, with a minimum for each gang; it is named after the first of them."""
    ids = ("default/a", "ml/b")
    scenario = BASE.pod("b0", annotations=annotated("b", 1, groups=ids), namespace="ml")
    scenario = scenario.pod("a0", annotations={**annotated("a", 1, groups=reversed_of(ids)), POD_QUEUE_NAME: "q"})
    state = books_of(scenario.pod("a1", annotations=annotated("a", 1, groups=ids)))

    job = JobId("default/gang:a,ml/b")
    assert jobs(state) == {job: (2, {"default/a": 1, "ml/b": 1}, ["a0", "a1", "b0"])}
    assert state.snapshot().jobs[job].queue == "default"  # that of the oldest member
    assert state.snapshot().gangs[job].id == "default/a,ml/b"


def reversed_of(ids: tuple[str, ...]) -> tuple[str, ...]:
    """The same list from its end."""
    return tuple(reversed(ids))


def test_groups_that_lack_a_gang_say_so() -> None:
    """Row 18: a gang that is not there, one that cannot be used, one that is short, each named."""
    ids = ("default/a", "default/b", "default/c", "default/d")
    scenario = BASE.pod("a0", annotations=annotated("a", 1, groups=ids)).pod("c0", labels=described_by("c"))
    scenario = scenario.pod("d0", annotations=annotated("d", 2, groups=ids))
    state = books_of(scenario)

    assert refusal(state, JobId("default/gang:a,default/b,default/c,default/d")) == (
        "the gang group is not complete: there is no gang default/b; "
        "gang default/c: there is no PodGroup default/c of scheduling.sigs.k8s.io; gang default/d has 1 of 2 pods"
    )


def test_long_lists_are_told_in_short() -> None:
    """Eight gangs are named, and how many more there are."""
    ids = tuple(f"default/{number:03}" for number in range(100))
    state = books_of(BASE.pod("p", annotations=annotated("000", 1, groups=ids)))
    ((job, group),) = state.snapshot().gangs.items()
    assert group.refusal.endswith("there is no gang default/008 and 91 more")
    assert len(job) < 250


def test_lists_that_disagree_are_told() -> None:
    """One gang waits for another that does not wait for it: it is refused, the other is not."""
    scenario = BASE.pod("a0", annotations=annotated("a", 1, groups=BOTH)).pod("b0", annotations=annotated("b", 1))
    state = books_of(scenario)
    b = JobId("default/gang:b")

    assert jobs(state) == {AB: (1, {"default/a": 1}, ["a0"]), b: (1, {"default/b": 1}, ["b0"])}
    assert refusal(state, AB) == (
        "the gang group is not complete: gang default/b says it is of another group: default/b"
    )
    assert refusal(state, b) == ""

    apply(state, *Scenario().pod("b0", annotations=annotated("b", 1, groups=BOTH)).objects)
    assert jobs(state) == {AB: (2, {"default/a": 1, "default/b": 1}, ["a0", "b0"])}
    assert refusal(state, AB) == ""


def test_once_satisfied_is_remembered() -> None:
    """A bound member lifts the minimum of its whole group, also when it has ended since; not when all are gone."""
    scenario = BASE.pod("a0", annotations=annotated("a", 2, groups=BOTH), node="n")
    scenario = scenario.pod("a1", annotations=annotated("a", 2, groups=BOTH))
    scenario = scenario.pod("b0", annotations=annotated("b", 3, groups=BOTH))
    state = books_of(scenario)
    assert jobs(state) == {AB: (1, {"default/a": 1, "default/b": 0}, ["a0", "a1", "b0"])}
    assert refusal(state, AB) == ""

    apply(state, *Scenario().pod("a0", annotations=annotated("a", 2, groups=BOTH), node="n", phase="Failed").objects)
    assert jobs(state) == {AB: (0, {"default/a": 0, "default/b": 0}, ["a1", "b0"])}
    remove(state, "a1")
    assert jobs(state) == {AB: (0, {"default/b": 0}, ["b0"])}
    remove(state, "b0")
    assert jobs(state) == {}

    apply(state, *Scenario().pod("b0", annotations=annotated("b", 3, groups=BOTH)).objects)
    assert jobs(state) == {AB: (3, {"default/b": 3}, ["b0"])}


def test_once_satisfied_outlives_other_rules() -> None:
    """A configuration is loaded anew."""
    state = books_of(BASE.pod("p0", annotations=annotated("a", 2), node="n").pod("p1", annotations=annotated("a", 2)))
    state.snapshot()
    apply(state, *Scenario().pod("p0", annotations=annotated("a", 2), node="n", phase="Failed").objects)
    state.follow_gangs(GangRules(waiting_seconds=5.0))
    assert jobs(state) == {A: (0, {"default/a": 0}, ["p1"])}


def test_nothing_is_kept_of_gangs_that_are_gone() -> None:
    """Neither of the gangs, nor of those that their lists named."""
    ids = (*BOTH, "default/none")
    scenario = BASE.pod("p0", annotations=annotated("a", 2, groups=ids), node="n")
    state = books_of(scenario.pod("p1", annotations=annotated("b", 2, groups=ids)))
    state.snapshot()
    remove(state, "p0")
    remove(state, "p1")
    assert jobs(state) == {}
    keeper = state._gangs
    assert not any((keeper._members, keeper._gang_by_task, keeper._gangs, keeper._groups, keeper._listing))
    assert keeper.satisfied() == set()


def test_a_role_that_reads_like_a_gang_makes_no_member() -> None:
    """The pod is of a PodGroup of Volcano's."""
    state = books_of(BASE.job("g", annotations={**annotated("a", 1), TASK_SPEC: "default/a"}))
    assert state.snapshot().gangs == {}
    assert jobs(state) == {JobId("default/g"): (1, {}, ["g-0"])}


def test_names_are_told_in_short() -> None:
    """Lists may hold anything: a message stays one that a pod can carry."""
    ids = ("default/a", "default/b", "default/" + "x" * 10_000)
    scenario = BASE.pod("a0", annotations=annotated("a", 1, groups=ids))
    state = books_of(scenario.pod("b0", annotations=annotated("b", 1, groups=(*ids, "default/y" * 1000))))
    refusals = [group.refusal for group in state.snapshot().gangs.values()]
    assert len(refusals) == 2
    assert all(len(refusal) < 1000 for refusal in refusals)


def test_a_restart_knows_bound_members_alone() -> None:
    """Books made of what the server has: the bound member has ended, and nothing tells of it."""
    ended = BASE.pod("p0", annotations=annotated("a", 2), node="n", phase="Failed")
    scenario = ended.pod("p1", annotations=annotated("a", 2))
    state = books_of(BASE.pod("p0", annotations=annotated("a", 2), node="n"))
    state.snapshot()
    apply(state, *scenario.objects[len(BASE.objects) :][::-1])
    assert jobs(state) == {A: (0, {"default/a": 0}, ["p1"])}
    assert jobs(books_of(scenario)) == {A: (2, {"default/a": 2}, ["p1"])}


def test_a_restart_reads_the_status_of_the_pod_group() -> None:
    """Two members ended and were deleted before the start. The pod group counts them, so others need not wait."""
    scenario = BASE.pod("p2", labels=described_by("a"))
    group = gang_pod_group("a", 2)

    assert jobs(books_of(scenario, group)) == {A: (2, {"default/a": 2}, ["p2"])}
    group["status"] = {"phase": "Finished", "succeeded": 2}
    assert jobs(books_of(scenario, group)) == {A: (0, {"default/a": 0}, ["p2"])}


def test_a_pod_group_without_members_has_bound_none() -> None:
    """Its controller writes that it is pending again, so a restart lets newcomers wait for each other."""
    group = {**gang_pod_group("a", 2), "status": {"phase": "Pending"}}

    assert jobs(books_of(BASE.pod("p2", labels=described_by("a")), group)) == {A: (2, {"default/a": 2}, ["p2"])}


def test_a_satisfied_gang_keeps_its_minimum_running() -> None:
    """What runs of it is needed up to its minimum, so that nobody is evicted alone of a gang that is no larger."""
    scenario = BASE
    for number in range(3):
        scenario = scenario.pod(f"p{number}", annotations=annotated("a", 2), node="n")
    assert jobs(books_of(scenario)) == {A: (2, {"default/a": 2}, ["p0", "p1", "p2"])}


def test_policies_say_who_counts() -> None:
    """Members on nodes count, or are in a job of their own."""

    def found(policy: str) -> dict[JobId, tuple[int, dict[str, int], list[str]]]:
        said = annotated("a", 3, policy=policy)
        return jobs(books_of(BASE.pod("p0", annotations=said, node="n").pod("p1", annotations=said)))

    free = JobId("default/gang:a:free")
    assert found("waiting-and-running") == {A: (3, {"default/a": 3}, ["p0", "p1"])}
    assert found("only-waiting") == {A: (3, {"default/a": 3}, ["p1"]), free: (1, {"default/a": 1}, ["p0"])}
    assert found("once-satisfied") == {A: (1, {"default/a": 1}, ["p0", "p1"])}


def test_gangs_of_one_group_may_have_several_policies() -> None:
    """Who is for itself by its policy leaves the job of those who must wait, and does not keep them."""
    once, waits = annotated("a", 2, groups=BOTH), annotated("b", 2, groups=BOTH, policy="waiting-and-running")
    scenario = BASE.pod("a0", annotations=once, node="n").pod("a1", annotations=once)
    state = books_of(scenario.pod("b0", annotations=waits))

    free = JobId("default/gang:a,default/b:free")
    assert jobs(state) == {
        AB: (2, {"default/a": 0, "default/b": 2}, ["b0"]),
        free: (1, {"default/a": 1}, ["a0", "a1"]),
    }
    assert refusal(state, free) == ""
    assert refusal(state, AB) == "the gang group is not complete: gang default/b has 1 of 2 pods"


def test_a_gang_that_cannot_be_used_keeps_nobody_who_need_not_wait() -> None:
    """Its group was satisfied once: members of the other gang are for themselves, its own are refused."""
    scenario = BASE.pod("a0", annotations=annotated("a", 2, groups=BOTH), node="n").pod("b0", labels=described_by("b"))
    state = books_of(
        scenario.pod("a1", annotations=annotated("a", 2, groups=BOTH)), gang_pod_group("b", -1, groups=BOTH)
    )

    free = JobId("default/gang:a,default/b:free")
    assert jobs(state) == {
        AB: (0, {"default/a": 0, "default/b": 0}, ["b0"]),
        free: (1, {"default/a": 1}, ["a0", "a1"]),
    }
    assert refusal(state, free) == ""
    assert refusal(state, AB).startswith("the gang group is not complete: gang default/b: PodGroup default/b: spec.min")


def test_plans_satisfy_when_the_server_shows_it() -> None:
    """A bind that is on its way counts as placed, not yet as bound: it may fail."""
    state = books_of(BASE.pod("p0", annotations=annotated("a", 2)).pod("p1", annotations=annotated("a", 2)))
    tasks = sorted(state.snapshot().jobs[A].tasks)
    binds = tuple(Bind(task=TaskId(task), job=A, namespace="default", name=task, node=NodeName("n")) for task in tasks)
    plan = Plan(number=0, cycle=1, configuration=1, action="allocate", job=A, queue=None, binds=binds)
    assert state.assume(plan, 0.0) == []
    assert jobs(state) == {A: (2, {"default/a": 2}, ["p0", "p1"])}
    assert state.snapshot().jobs[A].phase is PodGroupPhase.RUNNING

    state.forget(binds[1].task, NodeName("n"), failed=True)
    assert state.snapshot().broken_gangs == {A}
    apply(state, *Scenario().pod("p0", annotations=annotated("a", 2), node="n").objects)
    assert jobs(state) == {A: (1, {"default/a": 1}, ["p0", "p1"])}
    assert state.snapshot().broken_gangs == set()


def test_priority_is_that_of_the_most_important_member() -> None:
    """Where no pod has one, that of the priority class."""
    scenario = BASE.priority_class("high", 70)
    scenario = scenario.pod("p0", annotations=annotated("a", 1), priority=3)
    state = books_of(scenario.pod("p1", annotations=annotated("a", 1), priority=5))
    assert state.snapshot().jobs[A].priority == 5

    spec = {"priorityClassName": "high", "priority": None}
    state = books_of(scenario.pod("c", annotations=annotated("c", 1), spec=spec))
    assert state.snapshot().jobs[JobId("default/gang:c")].priority == 70


def test_what_cannot_be_read_is_reported_once() -> None:
    """And again when it is another fault, not whenever a member changes."""
    faults: list[ObjectError] = []
    state = ClusterState(StateOptions(), faults.append)
    state.follow_gangs(GangRules())
    scenario = BASE.pod("p0", annotations=annotated("a", 1, mode="foo"))
    apply(state, *scenario.objects)
    state.snapshot()
    apply(state, scenario.pod("p1", annotations=annotated("a", 1)).objects[-1])
    state.snapshot()
    assert [fault.path for fault in faults] == [f"metadata.annotations[{MODE}]"]
    (gang,) = state.snapshot().gangs[A].gangs
    assert [note.name for note in gang.notes] == ["default/p0"]


def test_order_of_arrival_does_not_matter() -> None:
    """Every order of pods and pod groups leads to the same books."""
    pods = BASE.pod("a0", annotations=annotated("a", 1, groups=BOTH)).pod("b0", labels=described_by("b"))
    pods = pods.pod("a1", annotations={NAME: "a", MIN_AVAILABLE: "x", GROUPS: json.dumps(["default/a"])}, node="n")
    moving = [*pods.objects[len(BASE.objects) :], gang_pod_group("b", 1, groups=BOTH)]
    first = books_of(BASE, *moving).snapshot()
    for order in permutations(moving):
        state = books_of(BASE)
        for each in order:
            apply(state, each)
            state.snapshot()
        assert differences(state.snapshot(), first) == []


def test_a_dump_has_both_kinds_of_pod_groups() -> None:
    """What is read back from it makes the same jobs; the kinds have one name in two groups."""
    scenario = BASE.job("g").pod("p0", labels=described_by("g"), node="n").pod("p1", labels=described_by("g"))
    state = books_of(scenario, gang_pod_group("g", 1))
    found = json.loads(take_dump(state, 0.0).encode())["items"]
    kinds = {each["apiVersion"] for each in found if each["kind"] == "PodGroup"}
    assert kinds == {"scheduling.volcano.sh/v1beta1", "scheduling.sigs.k8s.io/v1alpha1"}

    again = ClusterState()
    again.follow_gangs(RULES)
    apply(again, *found)
    assert jobs(again) == jobs(state)
    assert set(jobs(again)) == {JobId("default/g"), JobId("default/gang:g")}


def test_lists_of_pod_groups_are_told_apart() -> None:
    """By the group that the list names; without one they are Volcano's."""
    sigs, plain = gang_pod_group("a", 1), {"metadata": {"name": "b", "namespace": "default"}}
    found = decoded(
        [
            {"apiVersion": sigs["apiVersion"], "kind": "PodGroupList", "items": [{"metadata": sigs["metadata"]}]},
            {"kind": "PodGroupList", "items": [plain]},
        ]
    )
    assert sorted((kind, each.metadata.name) for kind, each in found) == [("GangPodGroup", "a"), ("PodGroup", "b")]


def test_a_changed_condition_is_no_news() -> None:
    """Writing of a member's status makes no gang anew; the books still have the newest pod."""
    state = books_of(BASE.pod("p0", annotations=annotated("a", 1)))
    before = state.snapshot().gangs
    (pod,) = Scenario().pod("p0", annotations=annotated("a", 1)).objects
    apply(state, {**pod, "status": {**pod["status"], "nominatedNodeName": "n"}})
    after = state.snapshot()
    assert after.gangs is before
    (task,) = after.jobs[A].tasks.values()
    assert task.pod.status.nominated_node_name == "n"
