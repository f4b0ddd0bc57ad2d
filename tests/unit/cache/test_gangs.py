"""Jobs of gangs follow changes of members and pod groups in any order, and a rebuild has the same jobs."""

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
    """Apply objects to a cluster state."""
    for kind, each in decoded(objects):
        state.apply(kind, each)


def state_of(scenario: Scenario, *more: Mapping[str, Any], rules: GangRules | None = RULES) -> ClusterState:
    """Return a cluster state that forms jobs of gangs."""
    state = ClusterState()
    state.follow_gangs(rules)
    apply(state, *scenario.objects, *more)
    return state


def jobs(state: ClusterState) -> dict[JobId, tuple[int, dict[str, int], list[str]]]:
    """Return minimum, minimum by gang and members by job. A rebuild must have the same."""
    snapshot = state.snapshot()
    assert differences(snapshot, state.rebuild().snapshot()) == []
    assert differences(snapshot, state.copy_of_objects()().snapshot()) == []
    assert set(snapshot.gangs) <= set(snapshot.jobs)
    return {job.id: (job.min_available, dict(job.min_by_role), members(job)) for job in snapshot.jobs.values()}


def members(job: Job) -> list[str]:
    """Return the names of the pods of a job."""
    return sorted(task.name for task in job.tasks.values())


def refusal(state: ClusterState, job: JobId = A) -> str:
    """Return why no member of a job may be placed."""
    return state.snapshot().gangs[job].refusal


def remove(state: ClusterState, name: str) -> None:
    """Delete a pod."""
    (pod,) = (each for each in state.stored("Pod").values() if each.metadata.name == name)
    state.remove("Pod", pod)


def test_pods_of_one_gang_are_one_job() -> None:
    """The gang is their role, and other pods are not in the job."""
    scenario = BASE.pod("p0", annotations=annotated("a", 2)).pod("p1", annotations=annotated("a", 2))
    scenario = scenario.pod("other", annotations=annotated("a", 2), namespace="elsewhere").pod("alone")
    state = state_of(scenario)

    assert jobs(state) == {
        A: (2, {"default/a": 2}, ["p0", "p1"]),
        JobId("elsewhere/gang:a"): (2, {"elsewhere/a": 2}, ["other"]),
    }
    job = state.snapshot().jobs[A]
    assert {task.role for task in job.tasks.values()} == {"default/a"}
    assert (job.is_made_up, job.phase, job.queue, job.namespace) == (True, PodGroupPhase.INQUEUE, "default", "default")
    assert state.snapshot().gangs[A].id == "default/a"
    assert [each.task.name for each in state.snapshot().orphan_pods] == ["alone"]


def test_clusters_without_gang_rules_have_no_gangs() -> None:
    """The pods of gangs are single pods. Other pods do not change."""
    scenario = BASE.pod("p0", annotations=annotated("a", 2)).job("g", annotations=annotated("a", 2)).pod("alone")
    state = state_of(scenario, gang_pod_group("a", 2), rules=None)

    snapshot = state.snapshot()
    assert snapshot.gangs == {}
    assert {job.id.partition("-")[0]: job.min_available for job in snapshot.jobs.values()} == {
        "default/g": 1,
        "default/podgroup": 1,
    }
    assert [each.task.name for each in snapshot.orphan_pods] == ["alone"]


def test_gang_rules_can_be_added_changed_and_removed() -> None:
    """After a reload of the configuration, jobs are formed, changed and removed."""
    state = state_of(BASE.pod("p0", annotations=annotated("a", 1), node="n"), rules=None)
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


def test_pods_that_are_not_members() -> None:
    """Pods of a PodGroup of Volcano, of other schedulers, finished pods, and broken pods."""
    scenario = BASE.pod("p", annotations=annotated("a", 1))
    scenario = scenario.job("g", annotations=annotated("a", 1))
    scenario = scenario.pod("theirs", annotations=annotated("a", 1), scheduler="default-scheduler", node="n")
    scenario = scenario.pod("done", annotations=annotated("a", 1), phase="Succeeded", node="n")
    scenario = scenario.pod("failed", annotations=annotated("a", 1), phase="Failed", node="n")
    scenario = scenario.pod("broken", annotations=annotated("a", 1), cpu="one")
    state = state_of(scenario)

    assert jobs(state) == {
        A: (1, {"default/a": 1}, ["p"]),
        JobId("default/g"): (1, {}, ["g-0"]),
    }
    assert [each.task.name for each in state.snapshot().orphan_pods] == ["broken"]


def test_members_are_created_finish_and_are_deleted() -> None:
    """The gang lacks members until it has its minimum, and again when one ends. The last member ends the job."""
    state = state_of(BASE.pod("p0", annotations=annotated("a", 2)))
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
    """It leaves the old gang and joins the new one."""
    state = state_of(BASE.pod("p0", annotations=annotated("a", 1)).pod("p1", annotations=annotated("a", 1)))
    apply(state, *Scenario().pod("p1", annotations=annotated("z", 1)).objects)
    assert jobs(state) == {
        A: (1, {"default/a": 1}, ["p0"]),
        JobId("default/gang:z"): (1, {"default/z": 1}, ["p1"]),
    }


def test_a_pod_group_can_be_created_later_changed_and_deleted() -> None:
    """Row 17: members wait for it. It determines the gang until it is deleted."""
    state = state_of(BASE.pod("p0", labels=described_by("a")).pod("p1", labels=described_by("a")))
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


def test_a_pod_group_overrides_the_annotations_of_a_gang() -> None:
    """The annotations count again after its deletion."""
    state = state_of(BASE.pod("p0", annotations=annotated("a", 1)))
    apply(state, gang_pod_group("a", 4))
    assert refusal(state) == "the gang is not complete: gang default/a has 1 of 4 pods"
    state.remove("GangPodGroup", state.stored("GangPodGroup")["default/a"])
    assert jobs(state) == {A: (1, {"default/a": 1}, ["p0"])}
    assert refusal(state) == ""


def test_the_oldest_living_member_describes_a_gang() -> None:
    """The first by name of members with equal age counts. The annotations of the others are ignored."""
    scenario = BASE.pod("z", annotations=annotated("a", 1)).pod("y", annotations=annotated("a", 2))
    state = state_of(scenario)
    assert jobs(state) == {A: (1, {"default/a": 1}, ["y", "z"])}
    remove(state, "z")
    assert jobs(state) == {A: (2, {"default/a": 2}, ["y"])}


def test_a_group_of_gangs_is_one_job() -> None:
    """It spans namespaces, has a minimum for each gang, and is named after its gangs."""
    ids = ("default/a", "ml/b")
    scenario = BASE.pod("b0", annotations=annotated("b", 1, groups=ids), namespace="ml")
    scenario = scenario.pod("a0", annotations={**annotated("a", 1, groups=reversed_of(ids)), POD_QUEUE_NAME: "q"})
    state = state_of(scenario.pod("a1", annotations=annotated("a", 1, groups=ids)))

    job = JobId("default/gang:a,ml/b")
    assert jobs(state) == {job: (2, {"default/a": 1, "ml/b": 1}, ["a0", "a1", "b0"])}
    assert state.snapshot().jobs[job].queue == "default"  # that of the oldest member
    assert state.snapshot().gangs[job].id == "default/a,ml/b"


def reversed_of(ids: tuple[str, ...]) -> tuple[str, ...]:
    """Return a list in reverse order."""
    return tuple(reversed(ids))


def test_the_refusal_of_a_group_names_its_missing_gangs() -> None:
    """Row 18: a gang is missing, cannot be used, or lacks members. Each is named."""
    ids = ("default/a", "default/b", "default/c", "default/d")
    scenario = BASE.pod("a0", annotations=annotated("a", 1, groups=ids)).pod("c0", labels=described_by("c"))
    scenario = scenario.pod("d0", annotations=annotated("d", 2, groups=ids))
    state = state_of(scenario)

    assert refusal(state, JobId("default/gang:a,default/b,default/c,default/d")) == (
        "the gang group is not complete: there is no gang default/b; "
        "gang default/c: there is no PodGroup default/c of scheduling.sigs.k8s.io; gang default/d has 1 of 2 pods"
    )


def test_long_lists_of_gangs_are_shortened() -> None:
    """Eight gangs are named, and the number of the others."""
    ids = tuple(f"default/{number:03}" for number in range(100))
    state = state_of(BASE.pod("p", annotations=annotated("000", 1, groups=ids)))
    ((job, group),) = state.snapshot().gangs.items()
    assert group.refusal.endswith("there is no gang default/008 and 91 more")
    assert len(job) < 250


def test_gangs_with_different_lists_are_reported() -> None:
    """A gang that waits for a gang with another list is refused. The other gang is not."""
    scenario = BASE.pod("a0", annotations=annotated("a", 1, groups=BOTH)).pod("b0", annotations=annotated("b", 1))
    state = state_of(scenario)
    b = JobId("default/gang:b")

    assert jobs(state) == {AB: (1, {"default/a": 1}, ["a0"]), b: (1, {"default/b": 1}, ["b0"])}
    assert refusal(state, AB) == ("the gang group is not complete: gang default/b names another group: default/b")
    assert refusal(state, b) == ""

    apply(state, *Scenario().pod("b0", annotations=annotated("b", 1, groups=BOTH)).objects)
    assert jobs(state) == {AB: (2, {"default/a": 1, "default/b": 1}, ["a0", "b0"])}
    assert refusal(state, AB) == ""


def test_a_satisfied_group_stays_satisfied() -> None:
    """A bound member lifts the minimum of its group, also after it ends. This ends when all members are gone."""
    scenario = BASE.pod("a0", annotations=annotated("a", 2, groups=BOTH), node="n")
    scenario = scenario.pod("a1", annotations=annotated("a", 2, groups=BOTH))
    scenario = scenario.pod("b0", annotations=annotated("b", 3, groups=BOTH))
    state = state_of(scenario)
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


def test_a_satisfied_group_stays_satisfied_after_a_reload() -> None:
    """The configuration is loaded again with other rules."""
    state = state_of(BASE.pod("p0", annotations=annotated("a", 2), node="n").pod("p1", annotations=annotated("a", 2)))
    state.snapshot()
    apply(state, *Scenario().pod("p0", annotations=annotated("a", 2), node="n", phase="Failed").objects)
    state.follow_gangs(GangRules(waiting_seconds=5.0))
    assert jobs(state) == {A: (0, {"default/a": 0}, ["p1"])}


def test_deleted_gangs_are_forgotten() -> None:
    """The store forgets the gangs, and the gangs that their lists named."""
    ids = (*BOTH, "default/none")
    scenario = BASE.pod("p0", annotations=annotated("a", 2, groups=ids), node="n")
    state = state_of(scenario.pod("p1", annotations=annotated("b", 2, groups=ids)))
    state.snapshot()
    remove(state, "p0")
    remove(state, "p1")
    assert jobs(state) == {}
    store = state._gangs
    assert not any((store._members, store._gang_by_task, store._gangs, store._groups, store._listing))
    assert store.satisfied() == set()


def test_a_role_equal_to_a_gang_id_does_not_make_a_member() -> None:
    """The pod belongs to a PodGroup of Volcano."""
    state = state_of(BASE.job("g", annotations={**annotated("a", 1), TASK_SPEC: "default/a"}))
    assert state.snapshot().gangs == {}
    assert jobs(state) == {JobId("default/g"): (1, {}, ["g-0"])}


def test_long_names_of_gangs_are_shortened() -> None:
    """Lists may contain any text, and the message must fit into the status of a pod."""
    ids = ("default/a", "default/b", "default/" + "x" * 10_000)
    scenario = BASE.pod("a0", annotations=annotated("a", 1, groups=ids))
    state = state_of(scenario.pod("b0", annotations=annotated("b", 1, groups=(*ids, "default/y" * 1000))))
    refusals = [group.refusal for group in state.snapshot().gangs.values()]
    assert len(refusals) == 2
    assert all(len(refusal) < 1000 for refusal in refusals)


def test_after_a_restart_only_bound_members_are_known() -> None:
    """The bound member has ended, and no object of the server shows that it was bound."""
    ended = BASE.pod("p0", annotations=annotated("a", 2), node="n", phase="Failed")
    scenario = ended.pod("p1", annotations=annotated("a", 2))
    state = state_of(BASE.pod("p0", annotations=annotated("a", 2), node="n"))
    state.snapshot()
    apply(state, *scenario.objects[len(BASE.objects) :][::-1])
    assert jobs(state) == {A: (0, {"default/a": 0}, ["p1"])}
    assert jobs(state_of(scenario)) == {A: (2, {"default/a": 2}, ["p1"])}


def test_a_restart_reads_the_status_of_the_pod_group() -> None:
    """Two members ended and were deleted before the start. The pod group counts them, so others need not wait."""
    scenario = BASE.pod("p2", labels=described_by("a"))
    group = gang_pod_group("a", 2)

    assert jobs(state_of(scenario, group)) == {A: (2, {"default/a": 2}, ["p2"])}
    group["status"] = {"phase": "Finished", "succeeded": 2}
    assert jobs(state_of(scenario, group)) == {A: (0, {"default/a": 0}, ["p2"])}


def test_a_pod_group_without_members_has_bound_none() -> None:
    """Its controller writes that it is pending again, so a restart lets newcomers wait for each other."""
    group = {**gang_pod_group("a", 2), "status": {"phase": "Pending"}}

    assert jobs(state_of(BASE.pod("p2", labels=described_by("a")), group)) == {A: (2, {"default/a": 2}, ["p2"])}


def test_a_satisfied_gang_keeps_its_minimum_running() -> None:
    """Its running members count up to its minimum, so that no member of a gang of minimum size is evicted alone."""
    scenario = BASE
    for number in range(3):
        scenario = scenario.pod(f"p{number}", annotations=annotated("a", 2), node="n")
    assert jobs(state_of(scenario)) == {A: (2, {"default/a": 2}, ["p0", "p1", "p2"])}


def test_match_policies_determine_which_members_count() -> None:
    """Members on nodes count, or they are in a job of their own."""

    def found(policy: str) -> dict[JobId, tuple[int, dict[str, int], list[str]]]:
        annotations = annotated("a", 3, policy=policy)
        return jobs(state_of(BASE.pod("p0", annotations=annotations, node="n").pod("p1", annotations=annotations)))

    free = JobId("default/gang:a:free")
    assert found("waiting-and-running") == {A: (3, {"default/a": 3}, ["p0", "p1"])}
    assert found("only-waiting") == {A: (3, {"default/a": 3}, ["p1"]), free: (1, {"default/a": 1}, ["p0"])}
    assert found("once-satisfied") == {A: (1, {"default/a": 1}, ["p0", "p1"])}


def test_gangs_of_one_group_can_have_different_policies() -> None:
    """Members that do not wait by their policy are in another job than the waiting members."""
    once, waits = annotated("a", 2, groups=BOTH), annotated("b", 2, groups=BOTH, policy="waiting-and-running")
    scenario = BASE.pod("a0", annotations=once, node="n").pod("a1", annotations=once)
    state = state_of(scenario.pod("b0", annotations=waits))

    free = JobId("default/gang:a,default/b:free")
    assert jobs(state) == {
        AB: (2, {"default/a": 0, "default/b": 2}, ["b0"]),
        free: (1, {"default/a": 1}, ["a0", "a1"]),
    }
    assert refusal(state, free) == ""
    assert refusal(state, AB) == "the gang group is not complete: gang default/b has 1 of 2 pods"


def test_a_broken_gang_does_not_block_members_that_need_not_wait() -> None:
    """Its group was satisfied. Members of the other gang do not wait, and its own members are refused."""
    scenario = BASE.pod("a0", annotations=annotated("a", 2, groups=BOTH), node="n").pod("b0", labels=described_by("b"))
    state = state_of(
        scenario.pod("a1", annotations=annotated("a", 2, groups=BOTH)), gang_pod_group("b", -1, groups=BOTH)
    )

    free = JobId("default/gang:a,default/b:free")
    assert jobs(state) == {
        AB: (0, {"default/a": 0, "default/b": 0}, ["b0"]),
        free: (1, {"default/a": 1}, ["a0", "a1"]),
    }
    assert refusal(state, free) == ""
    assert refusal(state, AB).startswith("the gang group is not complete: gang default/b: PodGroup default/b: spec.min")


def test_an_assumed_bind_does_not_satisfy_a_group() -> None:
    """A bind in execution counts as allocated, but not as bound, because it may fail."""
    state = state_of(BASE.pod("p0", annotations=annotated("a", 2)).pod("p1", annotations=annotated("a", 2)))
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


def test_the_priority_is_the_highest_priority_of_the_members() -> None:
    """If no pod has a priority, the priority class counts."""
    scenario = BASE.priority_class("high", 70)
    scenario = scenario.pod("p0", annotations=annotated("a", 1), priority=3)
    state = state_of(scenario.pod("p1", annotations=annotated("a", 1), priority=5))
    assert state.snapshot().jobs[A].priority == 5

    spec = {"priorityClassName": "high", "priority": None}
    state = state_of(scenario.pod("c", annotations=annotated("c", 1), spec=spec))
    assert state.snapshot().jobs[JobId("default/gang:c")].priority == 70


def test_broken_fields_are_reported_once() -> None:
    """A new fault is reported. A change of a member does not repeat the report."""
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


def test_the_order_of_events_does_not_matter() -> None:
    """Every order of pods and pod groups results in the same state."""
    pods = BASE.pod("a0", annotations=annotated("a", 1, groups=BOTH)).pod("b0", labels=described_by("b"))
    pods = pods.pod("a1", annotations={NAME: "a", MIN_AVAILABLE: "x", GROUPS: json.dumps(["default/a"])}, node="n")
    moving = [*pods.objects[len(BASE.objects) :], gang_pod_group("b", 1, groups=BOTH)]
    first = state_of(BASE, *moving).snapshot()
    for order in permutations(moving):
        state = state_of(BASE)
        for each in order:
            apply(state, each)
            state.snapshot()
        assert differences(state.snapshot(), first) == []


def test_a_dump_has_both_kinds_of_pod_groups() -> None:
    """The state read from the dump has the same jobs. Both API groups use the same kind name."""
    scenario = BASE.job("g").pod("p0", labels=described_by("g"), node="n").pod("p1", labels=described_by("g"))
    state = state_of(scenario, gang_pod_group("g", 1))
    found = json.loads(take_dump(state, 0.0).encode())["items"]
    kinds = {each["apiVersion"] for each in found if each["kind"] == "PodGroup"}
    assert kinds == {"scheduling.volcano.sh/v1beta1", "scheduling.sigs.k8s.io/v1alpha1"}

    again = ClusterState()
    again.follow_gangs(RULES)
    apply(again, *found)
    assert jobs(again) == jobs(state)
    assert set(jobs(again)) == {JobId("default/g"), JobId("default/gang:g")}


def test_lists_of_pod_groups_are_distinguished_by_api_group() -> None:
    """A list without an API group is one of Volcano."""
    sigs, plain = gang_pod_group("a", 1), {"metadata": {"name": "b", "namespace": "default"}}
    found = decoded(
        [
            {"apiVersion": sigs["apiVersion"], "kind": "PodGroupList", "items": [{"metadata": sigs["metadata"]}]},
            {"kind": "PodGroupList", "items": [plain]},
        ]
    )
    assert sorted((kind, each.metadata.name) for kind, each in found) == [("GangPodGroup", "a"), ("PodGroup", "b")]


def test_a_changed_condition_does_not_change_the_gang() -> None:
    """A status update of a member keeps the gang, and the state has the newest pod."""
    state = state_of(BASE.pod("p0", annotations=annotated("a", 1)))
    before = state.snapshot().gangs
    (pod,) = Scenario().pod("p0", annotations=annotated("a", 1)).objects
    apply(state, {**pod, "status": {**pod["status"], "nominatedNodeName": "n"}})
    after = state.snapshot()
    assert after.gangs is before
    (task,) = after.jobs[A].tasks.values()
    assert task.pod.status.nominated_node_name == "n"
