"""Situations that users of Volcano and of its relatives reported about Jobs, each with the end that they expect."""

import copy
from typing import Any

import pytest

from tests.unit.controllers.jobs.world import NAMESPACE, World, policy, task

HELD = "kueue.x-k8s.io/resource-in-use"


def started(*tasks: dict[str, Any], **spec: Any) -> World:
    """A Job whose pods run."""
    world = World()
    world.job("job", *tasks, **spec)
    world.run()
    world.set_pods("Running")
    world.run()
    return world


# Restarts -------------------------------------------------------------------------------------------------------------


def test_a_restarted_pod_leaves_its_group() -> None:
    """volcano#5385: the failed member comes back; the group and the other member stay."""
    world = started(task("steady", 1), task("shaky", 1), policies=[policy("RestartPod", "PodFailed")], maxRetry=5)
    steady, group = world.pod("job-steady-0")["metadata"]["uid"], world.group()
    world.set_pod("job-shaky-0", "Failed")
    world.run()
    assert world.pods() == ["job-shaky-0", "job-steady-0"]
    assert world.pod("job-steady-0")["metadata"]["uid"] == steady
    assert group is not None
    assert world.group()["metadata"]["uid"] == group["metadata"]["uid"]  # type: ignore[index] # it is there


def test_an_evicted_pod_that_ends_failed_is_evicted() -> None:
    """volcano#5885: the policy for evictions answers, not the one for failures."""
    world = started(policies=[policy("TerminateJob", "PodFailed"), policy("RestartJob", "PodEvicted")], maxRetry=100)
    world.begin_to_evict("job-worker-0")
    world.run()
    pod = world.pod("job-worker-0")
    world.put("pods", {**copy.deepcopy(pod), "status": {**pod["status"], "phase": "Failed"}})
    world.run()
    world.reap()
    world.run()
    assert world.phase() in {"Restarting", "Pending"}
    assert world.status()["retryCount"] == 1


def test_a_pod_that_waits_too_long_is_replaced_and_the_event_says_why() -> None:
    """volcano#4743: how long it waited, and for what."""
    waits = policy("RestartPod", "PodPending", timeout="4s")
    world = World()
    world.job("job", task("fine", 1), task("stuck", 1), minAvailable=1, policies=[waits], maxRetry=2)
    world.run()
    world.set_pod("job-fine-0", "Running")
    stuck = world.pod("job-stuck-0")
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "3 nodes: no label"}
    world.put("pods", {**copy.deepcopy(stuck), "status": {"phase": "Pending", "conditions": [condition]}})
    world.run()
    fine = world.pod("job-fine-0")["metadata"]["uid"]
    world.wait(5)
    world.run()
    assert world.pod("job-stuck-0")["metadata"]["uid"] != stuck["metadata"]["uid"]
    assert world.pod("job-fine-0")["metadata"]["uid"] == fine
    told = "Executing RestartPod: PodPending of pod job-stuck-0 for 4s: 3 nodes: no label"
    assert ("Normal", "ExecuteAction", told) in world.events


@pytest.mark.parametrize("action", ["RestartJob", "RestartPod", "RestartTask"])
def test_the_last_failed_pod_stays(action: str) -> None:
    """volcano#1651: the pod whose failure ended the Job can be looked at, whatever the action was."""
    world = started(task("w", 1), policies=[policy(action, "PodFailed")], maxRetry=1)
    world.set_pod("job-w-0", "Failed")
    world.run()
    assert world.phase() == "Failed"
    assert world.pods() == ["job-w-0"]
    assert world.status()["failed"] == 1


def test_an_earlier_failed_pod_is_replaced() -> None:
    """Only the last retry keeps its pods."""
    world = started(task("w", 1), policies=[policy("RestartPod", "PodFailed")], maxRetry=2)
    first = world.pod("job-w-0")["metadata"]["uid"]
    world.set_pod("job-w-0", "Failed")
    world.run()
    assert world.pod("job-w-0")["metadata"]["uid"] != first


def test_objects_of_plugins_outlast_a_restart() -> None:
    """volcano#1977: pods that still start find what they mount."""
    world = started(plugins={"svc": [], "ssh": []}, policies=[policy("RestartJob", "PodFailed")])
    before = {at: world.objects[at[0], NAMESPACE, at[1]]["metadata"]["uid"] for at in world.owned()}
    world.set_pod("job-worker-0", "Failed")
    world.run()
    assert world.status()["retryCount"] == 1
    assert {at: world.objects[at[0], NAMESPACE, at[1]]["metadata"]["uid"] for at in world.owned()} == before


def test_a_new_process_repeats_no_message() -> None:
    """volcano#3745: it began to run before."""
    world = started()
    told = list(world.events)
    world.restart()
    world.run()
    assert world.events == told


# Sizes ----------------------------------------------------------------------------------------------------------------


def test_a_task_of_no_pods_runs_with_the_others() -> None:
    """volcano#2171."""
    world = World()
    world.job("job", task("main", 1, minAvailable=1), task("extra", 0, minAvailable=0), minAvailable=1)
    world.run()
    world.set_pods("Running")
    world.run()
    assert (world.phase(), world.pods()) == ("Running", ["job-main-0"])


def test_a_smaller_task_evicts_no_pod() -> None:
    """volcano#4072: the policy for evictions does not answer."""
    world = started(task("w", 3, minAvailable=1), minAvailable=1, policies=[policy("TerminateJob", "PodEvicted")])
    world.scale("w", 1)
    world.run()
    assert (world.phase(), world.pods()) == ("Running", ["job-w-0"])


def test_hosts_are_updated_before_surplus_pods_are_deleted() -> None:
    """The pods that stay learn at once that they are fewer, however long the deletions take."""
    world = started(task("w", 40, minAvailable=1), minAvailable=1, plugins={"svc": []})
    world.scale("w", 1)
    written: list[str] = []
    plain = world._write

    def write(plural: str, apply: Any) -> Any:
        written.append(plural)
        return plain(plural, apply)

    world._write = write  # type: ignore[method-assign] # watched
    world.run()
    assert written.index("configmaps") < min(written.index("jobs"), written.index("pods"))


def test_claims_are_made_once() -> None:
    """volcano#4100: beside one that is missing."""
    volumes = [
        {"mountPath": "/out", "volumeClaim": {"accessModes": ["ReadWriteOnce"]}},
        {"mountPath": "/in", "volumeClaimName": "not-there-yet"},
    ]
    world = World()
    world.job(volumes=volumes)
    for _ in range(4):
        world.run()
        world.restart()
    assert len([at for at in world.objects if at[0] == "persistentvolumeclaims"]) <= 1
    world.put("persistentvolumeclaims", {"metadata": {"name": "not-there-yet", "namespace": NAMESPACE}, "spec": {}})
    for _ in range(4):
        world.run()
        world.restart()
    assert len([at for at in world.objects if at[0] == "persistentvolumeclaims"]) == 2


# Ends -----------------------------------------------------------------------------------------------------------------


def test_a_job_with_a_task_that_failed_fails_and_says_why() -> None:
    """volcano#1046: minAvailable is left out, so every pod is needed."""
    world = started(task("bad", 1), task("good", 1), minAvailable=2)
    world.set_pod("job-bad-0", "Failed", exit_code=3)
    world.set_pod("job-good-0", "Succeeded")
    world.run()
    state = world.status()["state"]
    assert (state["phase"], state["reason"]) == ("Failed", "TooFewSucceeded")
    assert state["message"] == "task bad: 0 pods succeeded, minAvailable is 1; pod job-bad-0 failed with exit code 3"


def test_a_job_that_needs_one_success_completes_and_names_the_failure() -> None:
    """The user said that one pod is enough."""
    world = started(task("bad", 1), task("good", 1), minAvailable=1)
    world.set_pod("job-bad-0", "Failed", exit_code=3)
    world.set_pod("job-good-0", "Succeeded")
    world.run()
    state = world.status()["state"]
    assert state["phase"] == "Completed"
    assert state["message"] == "1 pods succeeded, which is enough; pod job-bad-0 failed with exit code 3"


def test_aborting_lasts_until_the_pods_are_gone() -> None:
    """volcano#4828."""
    world = World(is_graceful=True)
    world.job()
    world.run()
    world.set_pods("Running")
    world.run()
    world.command("AbortJob")
    world.run()
    assert world.phase() == "Aborting"
    world.reap()
    world.run()
    assert world.phase() == "Aborted"


def test_a_pod_deleted_beside_its_job_is_not_made_again() -> None:
    """volcano#3357: a finalizer of others holds the Job; its counts stay true, and it leaves its queue."""
    world = started(task("w", 1))
    job = copy.deepcopy(world._found(("jobs", NAMESPACE, "job")))
    job["metadata"] |= {"finalizers": [HELD], "deletionTimestamp": "2026-01-01T00:00:00Z"}
    world.put("jobs", job)
    world.run()
    assert world.group() is not None
    world.evict("job-w-0")
    world.run()
    assert world.pods() == []
    assert world.status().get("running", 0) == 0
    assert world.group() is None


def test_the_garbage_collector_is_left_alone() -> None:
    """A Job that is deleted in the foreground: what it owns goes before it."""
    world = started(task("w", 1))
    job = copy.deepcopy(world._found(("jobs", NAMESPACE, "job")))
    job["metadata"] |= {"finalizers": ["foregroundDeletion"], "deletionTimestamp": "2026-01-01T00:00:00Z"}
    world.put("jobs", job)
    writes = world.writes
    world.evict("job-w-0")
    world.run()
    assert world.writes == writes


# Others ---------------------------------------------------------------------------------------------------------------


def test_pods_join_a_group_of_an_older_name() -> None:
    """volcano#2962: before Volcano 1.5 groups were named as their Jobs."""
    world = World()
    world.job("job", task("w", 1))
    owner = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "job", "uid": "uid-job"}
    metadata = {"name": "job", "namespace": NAMESPACE, "ownerReferences": [{**owner, "controller": True}]}
    status = {"phase": "Inqueue"}
    world.put("podgroups", {"metadata": metadata, "spec": {"minMember": 1, "queue": "default"}, "status": status})
    world.run()
    assert world.pod("job-w-0")["metadata"]["annotations"]["scheduling.k8s.io/group-name"] == "job"


@pytest.mark.parametrize("where", ["containerStatuses", "initContainerStatuses"])
def test_exit_codes_of_all_containers_count(where: str) -> None:
    """A policy for an exit code sees further containers, and init containers."""
    world = started(task("w", 1), policies=[{"action": "TerminateJob", "exitCode": 42}])
    ended = {"name": "side", "state": {"terminated": {"exitCode": 42, "reason": "Error"}}}
    main = {"name": "main", "state": {"terminated": {"exitCode": 0}}}
    status: dict[str, Any] = {"phase": "Failed", "containerStatuses": [main]}
    status[where] = [*status.get(where, []), ended]
    world.put("pods", {**copy.deepcopy(world.pod("job-w-0")), "status": status})
    world.run()
    state = world.status()["state"]
    assert state["phase"] in {"Terminating", "Terminated"}
    assert state["message"] == "PodFailed of pod job-w-0 with exit code 42: container side: Error"


def test_an_evicted_member_comes_back() -> None:
    """volcano#3705: the queue is as large as the gang; the group keeps its place."""
    world = started(task("w", 3), minAvailable=3)
    group = world.group()
    world.evict("job-w-1")
    world.run()
    assert world.pods() == ["job-w-0", "job-w-1", "job-w-2"]
    assert group is not None
    assert world.group()["metadata"]["uid"] == group["metadata"]["uid"]  # type: ignore[index] # it is there
