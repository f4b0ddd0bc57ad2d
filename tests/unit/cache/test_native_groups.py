"""Jobs of native groups follow changes of members and groups in any order, and a rebuild has the same jobs."""

from collections.abc import Mapping
from itertools import permutations
from typing import Any

import pytest

from pyroclast.cache.files.audit import differences
from pyroclast.cache.files.dump import take_dump
from pyroclast.cache.files.objects import decoded, state_from_objects
from pyroclast.cache.options import StateOptions
from pyroclast.cache.state import ClusterState
from pyroclast.model.api.names import GROUP_NAME, POD_QUEUE_NAME, TASK_SPEC
from pyroclast.model.errors import ObjectError
from pyroclast.model.gangs import GangRules
from pyroclast.model.ids import JobId, TaskId
from pyroclast.model.native import Disruption
from pyroclast.testing import Scenario
from tests.gangs import annotated
from tests.native import ALL, native_group, of_native

BASE = Scenario().queue("default").queue("q").node("n")
A = JobId("default/podgroup:a")
TWO = BASE.pod("a-0", spec=of_native("a")).pod("a-1", spec=of_native("a"), priority=7)


def apply(state: ClusterState, *objects: Mapping[str, Any]) -> None:
    """Apply objects to a cluster state."""
    for kind, each in decoded(objects):
        state.apply(kind, each)


def state_of(scenario: Scenario, *more: Mapping[str, Any], options: StateOptions | None = None) -> ClusterState:
    """Return the cluster state of objects."""
    state = ClusterState(options)
    apply(state, *scenario.objects, *more)
    return state


def jobs(state: ClusterState) -> dict[JobId, tuple[int, list[str]]]:
    """Return minimum and members by job. A rebuild must have the same."""
    snapshot = state.snapshot()
    assert differences(snapshot, state.rebuild().snapshot()) == []
    assert differences(snapshot, state.copy_of_objects()().snapshot()) == []
    return {
        job.id: (job.min_available, sorted(task.name for task in job.tasks.values())) for job in snapshot.jobs.values()
    }


def reasons(state: ClusterState) -> set[str]:
    """Return why pods outside of jobs wait."""
    return {orphan.refusal.message for orphan in state.snapshot().orphan_pods}


def test_pods_that_name_a_group_form_a_job_with_its_minimum() -> None:
    """The minimum is that of the gang policy."""
    assert jobs(state_of(TWO, native_group("a", 2))) == {A: (2, ["a-0", "a-1"])}


def test_the_order_of_objects_does_not_matter() -> None:
    """Groups and pods come by watches of their own."""
    group, *rest = native_group("a", 2), *TWO.objects
    for order in permutations((group, *rest[-2:])):
        state = state_of(BASE)
        for each in order:
            apply(state, each)
            state.snapshot()
        assert jobs(state) == {A: (2, ["a-0", "a-1"])}


def test_a_group_that_is_missing_keeps_its_pods_waiting() -> None:
    """They start when it is created, and wait again when it is deleted."""
    state = state_of(TWO)
    assert jobs(state) == {}
    assert reasons(state) == {"PodGroup default/a of scheduling.k8s.io does not exist"}

    apply(state, native_group("a", 2))
    assert jobs(state) == {A: (2, ["a-0", "a-1"])}
    assert reasons(state) == set()

    state.remove("NativePodGroup", state.stored("NativePodGroup")["default/a"])
    assert jobs(state) == {}


def test_a_group_with_a_fault_keeps_its_pods_waiting_with_the_fault() -> None:
    """The fault is reported once, and gone with it."""
    faults: list[ObjectError] = []
    state = ClusterState(None, faults.append)
    apply(state, *TWO.objects, native_group("a", 0))

    message = "spec.schedulingPolicy.gang.minCount: 0 is not a whole number from 1 to 2147483647"
    assert reasons(state) == {f"PodGroup default/a of scheduling.k8s.io: {message}"}
    state.remove("Pod", state.stored("Pod")["default-a-0"])
    state.snapshot()
    assert [str(each) for each in faults] == [f"PodGroup default/a: {message}"]

    apply(state, native_group("a", 1))
    assert jobs(state) == {A: (1, ["a-1"])}


def test_a_name_that_no_group_can_have_is_a_fault_of_the_pod() -> None:
    """The pod alone waits."""
    state = state_of(BASE.pod("bad", spec=of_native("No/Name")).pod("none", spec={"schedulingGroup": {}}))

    assert jobs(state) == {}
    assert reasons(state) == {
        "spec.schedulingGroup.podGroupName: 'No/Name' is not a DNS subdomain of at most 253 characters",
        "spec.schedulingGroup.podGroupName: '' is not a DNS subdomain of at most 253 characters",
    }


def test_the_minimum_follows_the_group() -> None:
    """Since v1beta1 it can be changed."""
    state = state_of(TWO, native_group("a", 2))
    jobs(state)
    apply(state, native_group("a", 1))
    assert jobs(state) == {A: (1, ["a-0", "a-1"])}


def test_a_job_is_gone_with_its_last_member() -> None:
    """The group alone forms no job."""
    state = state_of(TWO, native_group("a", 2))
    jobs(state)
    for uid in ("default-a-0", "default-a-1"):
        state.remove("Pod", state.stored("Pod")[uid])
    assert jobs(state) == {}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [({}, 7), ({"priority": 3}, 3), ({"priorityClassName": "high"}, 50), ({"priority": 0}, 0)],
)
def test_the_priority_is_of_the_group_or_its_class_else_the_highest_of_its_pods(
    spec: Mapping[str, Any], expected: int
) -> None:
    """Without the feature gate of priorities, groups have none."""
    state = state_of(TWO.priority_class("high", 50), native_group("a", 2, **spec))
    assert state.snapshot().jobs[A].priority == expected


def test_the_queue_is_of_the_group_else_of_its_oldest_pod() -> None:
    """Controllers create groups without annotations, and pods from templates of users."""
    pods = BASE.pod("a-0", spec=of_native("a"), annotations={POD_QUEUE_NAME: "q"})
    annotations = {"annotations": {POD_QUEUE_NAME: "default"}}

    assert state_of(pods, native_group("a", 1)).snapshot().jobs[A].queue == "q"
    assert state_of(pods, native_group("a", 1, metadata=annotations)).snapshot().jobs[A].queue == "default"


def test_the_job_has_the_settings_of_the_group() -> None:
    """Disruption mode and topology are read by the framework."""
    native = state_of(TWO, native_group("a", 2, key="rack", disruptionMode=ALL)).snapshot().jobs[A].native

    assert native is not None
    assert (native.disruption, native.topology_key) == (Disruption.ALL, "rack")


def test_volcanos_group_has_precedence_and_koordinators_gang_has_not() -> None:
    """A pod is in one job, whatever it names."""
    state = ClusterState()
    state.follow_gangs(GangRules())
    pods = BASE.pod("v", spec=of_native("a"), annotations={GROUP_NAME: "v"}).pod(
        "k", spec=of_native("a"), annotations=annotated("k", 1)
    )
    volcano = {"kind": "PodGroup", "metadata": {"name": "v", "namespace": "default"}, "spec": {"minMember": 1}}
    apply(state, *pods.objects, volcano, native_group("a", 1))

    assert jobs(state) == {A: (1, ["k"]), "default/v": (1, ["v"])}


def test_the_role_of_a_native_pod_makes_it_no_member_of_a_koordinator_gang() -> None:
    """A role may be equal to the id of a gang."""
    state = ClusterState()
    state.follow_gangs(GangRules())
    annotations = {**annotated("k", 1), TASK_SPEC: "default/k"}
    apply(state, *BASE.pod("n", spec=of_native("a"), annotations=annotations).objects, native_group("a", 1))

    assert jobs(state) == {A: (1, ["n"])}
    assert dict(state.snapshot().gangs) == {}


def test_without_the_feature_each_pod_is_a_job() -> None:
    """The gate GenericWorkload of the scheduler is off."""
    state = state_of(TWO, native_group("a", 2), options=StateOptions(forms_native_groups=False))
    assert [minimum for minimum, _ in jobs(state).values()] == [1, 1]


def test_pods_of_other_schedulers_are_no_members() -> None:
    """They are not counted towards the minimum."""
    state = state_of(TWO.pod("other", spec=of_native("a"), scheduler="default-scheduler"), native_group("a", 2))
    assert jobs(state) == {A: (2, ["a-0", "a-1"])}


def test_a_pod_that_completes_the_minimum_starts_a_cycle() -> None:
    """Earlier members do not."""
    state = state_of(TWO, native_group("a", 3))
    assert not state.is_complete_with(TaskId("default-a-0"))
    apply(state, *BASE.pod("a-2", spec=of_native("a")).objects)
    assert state.is_complete_with(TaskId("default-a-2"))


@pytest.mark.parametrize("version", ["v1alpha2", "v1beta1"])
def test_a_dump_has_the_version_of_each_group(version: str) -> None:
    """The versions differ in their fields."""
    state = state_of(TWO, native_group("a", 2, version=version))
    text = take_dump(state, 0.0).encode()

    assert f'"apiVersion":"scheduling.k8s.io/{version}"'.encode() in text
    assert text.count(b'"apiVersion":"scheduling.k8s.io/') == 1


def test_files_report_groups_that_no_workload_made() -> None:
    """Admission would refuse them; the group is used all the same."""
    reports: list[ObjectError] = []
    reference = {"workloadName": "w", "templateName": "t"}
    state = state_from_objects([*TWO.objects, native_group("a", 2, workloadRef=reference)], report=reports.append)

    assert [str(each) for each in reports] == [
        "PodGroup default/a: spec.workloadRef: there is no Workload 'w'; the group is used as it is"
    ]
    assert jobs(state) == {A: (2, ["a-0", "a-1"])}


def test_workloads_of_other_projects_are_no_workloads() -> None:
    """Kueue has a kind of this name."""
    notes: list[str] = []
    foreign = {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "Workload", "metadata": {"name": "w"}}
    state = state_from_objects([foreign], note=notes.append)

    assert state.stored("Workload") == {}
    assert notes == ["kueue.x-k8s.io/v1beta1 Workload does not affect scheduling: ignored"]
