"""Which action answers what: the order of policies, timeouts, and what is too old to be answered."""

import asyncio
import copy

import pytest

from tests.unit.controllers.jobs.world import World, policy, task


def running(*policies: object, tasks: tuple[object, ...] = (), **spec: object) -> World:
    """Bring a Job to Running."""
    world = World()
    world.job("job", *tasks, policies=list(policies), **spec)  # type: ignore[arg-type] # plain JSON
    world.run()
    world.set_pods("Running")
    world.run()
    assert world.phase() == "Running"
    return world


def test_without_policies_a_failed_pod_stays() -> None:
    """Its name is taken, so it is not made anew; the Job ends when all have."""
    world = running()
    failed = world.pod("job-worker-0")["metadata"]["uid"]
    world.set_pod("job-worker-0", "Failed")
    world.run()
    assert world.pod("job-worker-0")["metadata"]["uid"] == failed
    assert world.phase() == "Running"
    world.set_pod("job-worker-1", "Succeeded")
    world.run()
    assert world.phase() == "Failed"


def test_without_policies_a_deleted_pod_is_made_anew() -> None:
    """That is no retry."""
    world = running()
    world.evict("job-worker-0")
    world.run()
    assert world.pods() == ["job-worker-0", "job-worker-1"]
    assert world.status().get("retryCount", 0) == 0


def test_the_task_comes_first() -> None:
    """A task's policy for any event beats the Job's for this one."""
    world = running(policy("AbortJob", "PodFailed"), tasks=(task(policies=[policy("CompleteJob", "*")]),))
    world.set_pod("job-worker-0", "Failed")
    world.run()
    assert world.phase() == "Completed"


def test_the_first_that_matches_answers() -> None:
    """A more special one behind it has no say."""
    world = running(policy("TerminateJob", "PodFailed"), policy("RestartJob", exitCode=3))
    world.set_pod("job-worker-0", "Failed", exit_code=3)
    world.run()
    assert world.phase() == "Terminated"


@pytest.mark.parametrize(("code", "phase"), [(3, "Aborted"), (4, "Running")])
def test_exit_codes(code: int, phase: str) -> None:
    """The code of the first container is meant."""
    world = running(policy("AbortJob", exitCode=3))
    world.set_pod("job-worker-0", "Failed", exit_code=code)
    world.run()
    assert world.phase() == phase


def test_pending_needs_a_timeout_to_be_an_event() -> None:
    """Every pod is pending for a moment."""
    world = World()
    world.job(policies=[policy("AbortJob", "PodPending")])
    world.run()
    world.wait(3600)
    world.run()
    assert world.phase() == "Pending"


def test_pending_for_too_long() -> None:
    """The pod's own age counts, and the controller comes by itself when it is due."""
    world = World()
    world.job(policies=[policy("AbortJob", "PodPending", timeout="10m")])
    assert world.run() == 600.0
    world.wait(599)
    assert world.run() == 1.0
    assert world.phase() == "Pending"
    world.wait(1)
    world.run()
    assert world.phase() == "Aborted"


@pytest.mark.parametrize("ahead", [3600.0, -3600.0])
def test_a_clock_that_is_set_hastens_and_delays_nothing(ahead: float) -> None:
    """What is due was counted from when the pod was first seen."""
    world = World()
    world.job(policies=[policy("AbortJob", "PodPending", timeout="10m")])
    assert world.run() == 600.0
    world.wait(100)
    world.clock.ahead = ahead
    assert world.run() == 500.0
    assert world.phase() == "Pending"
    world.wait(500)
    world.run()
    assert world.phase() == "Aborted"


def test_an_end_in_the_future_is_answered_at_once() -> None:
    """The clock of a node, or the one before this, was ahead: what happened has happened."""
    world = running(policy("RestartJob", "PodFailed"))
    world.set_pod("job-worker-0", "Failed")
    world.clock.ahead = -3600.0
    world.run()
    assert world.status()["retryCount"] == 1


def test_running_in_time_is_no_event() -> None:
    """A pod that runs when its time is up has done nothing wrong."""
    world = World()
    world.job(policies=[policy("AbortJob", "PodPending", timeout="10m")])
    world.run()
    world.wait(300)
    world.set_pods("Running")
    world.run()
    world.wait(3600)
    assert world.run() is None
    assert world.phase() == "Running"


def test_a_failure_is_answered_after_its_timeout_by_the_controller_that_runs_then() -> None:
    """The time runs from the end of the container, so that a new process knows it."""
    world = running(policy("RestartJob", "PodFailed", timeout="5m"))
    world.set_pod("job-worker-0", "Failed")
    world.wait(100)
    assert world.run() == 200.0
    world.restart()
    world.wait(200)
    world.run()
    assert world.status()["retryCount"] == 1


def test_an_eviction_whose_successor_runs_in_time_is_forgiven() -> None:
    """The pod is made anew at once; when it runs before the timeout, nothing is done."""
    world = running(policy("RestartJob", "PodEvicted", timeout="5m"))
    world.evict("job-worker-0")
    assert world.run() == 300.0
    assert world.pods() == ["job-worker-0", "job-worker-1"]
    world.wait(100)
    world.set_pods("Running")
    assert world.run() is None
    world.wait(1000)
    world.run()
    assert world.status().get("retryCount", 0) == 0


def test_an_eviction_is_answered_after_its_timeout_by_the_controller_that_runs_then() -> None:
    """Since when the pod is missed stands in the status."""
    world = running(policy("RestartJob", "PodEvicted", timeout="5m"))
    world.evict("job-worker-0")
    world.run()
    world.restart()
    world.wait(300)
    world.run()
    assert world.status()["retryCount"] == 1


def test_an_eviction_between_two_decisions() -> None:
    """The status knows which pods there were."""
    world = running(policy("AbortJob", "PodEvicted"))
    world.evict("job-worker-0")
    world.restart()
    world.run()
    assert world.phase() == "Aborted"


def test_scaling_down_evicts_no_pod() -> None:
    """Volcano answers pods that it takes away itself as evicted."""
    world = running(policy("AbortJob", "PodEvicted"), tasks=(task(replicas=3, minAvailable=1),), minAvailable=1)
    world.scale("worker", 1)
    world.run()
    assert world.pods() == ["job-worker-0"]
    assert world.phase() == "Running"
    world.scale("worker", 3)
    world.run()
    assert world.pods() == ["job-worker-0", "job-worker-1", "job-worker-2"]
    assert world.phase() == "Running"


def test_a_restart_evicts_no_pod() -> None:
    """What the Job kills itself triggers no policy."""
    world = running(policy("RestartTask", "PodFailed"), policy("AbortJob", "PodEvicted"))
    world.set_pod("job-worker-0", "Failed")
    world.run()
    assert world.phase() == "Pending"
    assert world.status()["retryCount"] == 1


def test_two_failures_at_once_are_one_retry() -> None:
    """Pods that are seen to have failed together are restarted together."""
    world = running(policy("RestartPod", "PodFailed"))
    before = {name: world.pod(name)["metadata"]["uid"] for name in world.pods()}
    world.set_pods("Failed")
    world.run()
    assert world.status()["retryCount"] == 1
    assert all(world.pod(name)["metadata"]["uid"] != uid for name, uid in before.items())


def test_a_pod_of_an_older_version_means_nothing() -> None:
    """Pods that were kept over a resume are past: their loss is no eviction, their failure no failure, done is done."""
    world = running(policy("TerminateJob", "PodFailed", "PodEvicted"), tasks=(task(replicas=3),))
    world.set_pod("job-worker-2", "Succeeded")
    world.run()
    world.command("AbortJob")
    world.run()
    world.command("ResumeJob")
    world.run()
    world.evict("job-worker-2")
    world.run()
    assert world.phase() != "Terminated"
    assert "job-worker-2" not in world.pods()
    assert world.status()["succeeded"] == 1


def test_task_completed() -> None:
    """It takes as many successes as the task has replicas."""
    world = running(tasks=(task("master", 1, policies=[policy("CompleteJob", "TaskCompleted")]), task("worker", 2)))
    world.set_pod("job-worker-0", "Succeeded")
    world.run()
    assert world.phase() == "Running"
    world.set_pod("job-master-0", "Succeeded")
    world.run()
    assert world.phase() == "Completed"
    assert world.pods() == ["job-master-0", "job-worker-0"]


@pytest.mark.parametrize(
    ("retries", "restarts", "phase"), [(0, 3, "Terminated"), (5, 3, "Running"), (5, 5, "Terminated")]
)
def test_task_failed(retries: int, restarts: int, phase: str) -> None:
    """Restarts of containers add up to the task's limit, which is 3 unless it says otherwise."""
    world = running(policy("TerminateJob", "TaskFailed"), tasks=(task(maxRetry=retries),))
    world.set_pod("job-worker-0", "Running", restarts=restarts - 1)
    world.set_pod("job-worker-1", "Running", restarts=1)
    world.run()
    assert world.phase() == phase


def test_unknown() -> None:
    """A gang of which some run and others cannot; asked of the second version too, where Volcano forgets it."""
    world = running(policy("RestartJob", "Unknown"))
    for attempt in (1, 2):
        world.set_group("Unknown")
        world.run()
        assert world.status()["retryCount"] == attempt
        world.set_pods("Running")
        world.run()


def test_unknown_has_no_task_to_restart() -> None:
    """Volcano counts a retry and restarts nothing."""
    world = running(policy("RestartTask", "Unknown"))
    world.set_group("Unknown")
    world.run()
    assert world.phase() == "Running"
    assert world.status().get("retryCount", 0) == 0


def test_restart_partition() -> None:
    """The pods of the failed pod's partition are restarted, the others stay."""
    partitions = {"totalPartitions": 2, "partitionSize": 2}
    world = running(policy("RestartPartition", "PodFailed"), tasks=(task(replicas=4, partitionPolicy=partitions),))
    before = {name: world.pod(name)["metadata"]["uid"] for name in world.pods()}
    world.set_pod("job-worker-3", "Failed")
    world.run()
    after = {name: world.pod(name)["metadata"]["uid"] for name in world.pods()}
    assert [name for name in before if before[name] != after[name]] == ["job-worker-2", "job-worker-3"]


def test_a_pod_that_ends_while_we_kill_it_has_not_failed() -> None:
    """The mark that it was given up stands before it is deleted."""
    world = running(policy("RestartTask", "PodFailed"), tasks=(task("a"), task("b")))
    world.is_graceful = True
    world.set_pod("job-a-0", "Failed")
    world.run()
    killed = copy.deepcopy(world.pod("job-a-1"))
    assert killed["metadata"]["annotations"]["volcano.sh/controller-out-of-sync"] == "true"
    world.set_pod("job-a-1", "Failed", exit_code=143)
    world.run()
    world.reap()
    world.run()
    assert world.status()["retryCount"] == 1


@pytest.mark.parametrize(("phase", "exit_code"), [("Failed", 143), ("Succeeded", 0)])
def test_a_pod_that_ends_during_its_deletion_is_evicted(phase: str, exit_code: int) -> None:
    """Kubelets say how it ended before it goes: it did not fail, and its task is not complete."""
    others = (policy("AbortJob", "PodFailed"), policy("CompleteJob", "TaskCompleted"), policy("AbortJob", exitCode=143))
    world = running(*others, policy("RestartJob", "PodEvicted"), tasks=(task(replicas=1),))
    world.begin_to_evict("job-worker-0")
    world.run()
    world.set_pod("job-worker-0", phase, exit_code=exit_code)
    world.run()
    assert (world.phase(), world.status().get("retryCount", 0)) == ("Running", 0)
    world.reap()
    world.run()
    assert (world.status()["retryCount"], world.pods()) == (1, ["job-worker-0"])
    assert "PodEvicted" in world.status()["state"]["message"]


def test_a_stale_store_evicts_no_pod() -> None:
    """A new leader's store may show less than the status remembers: the server is asked before a pod counts as lost."""
    world = running(policy("TerminateJob", "PodEvicted"))
    store = world.stores.pods
    pod = store.get("team", "job-worker-0")
    assert pod is not None
    store.deleted(pod)
    assert asyncio.run(world.step()) == 1.0
    assert world.phase() == "Running"
    store.added(pod)
    assert world.run() is None


def test_restart_pod_of_a_pod_that_is_gone() -> None:
    """It is made anew, and that is a retry."""
    world = running(policy("RestartPod", "PodEvicted"))
    other = world.pod("job-worker-1")["metadata"]["uid"]
    world.evict("job-worker-0")
    world.run()
    assert world.pods() == ["job-worker-0", "job-worker-1"]
    assert world.pod("job-worker-1")["metadata"]["uid"] == other
    assert world.status()["retryCount"] == 1


def test_the_status_says_why() -> None:
    """Action and cause stand in the state."""
    world = running(policy("TerminateJob", "PodFailed"))
    world.set_pod("job-worker-0", "Failed", exit_code=7)
    world.run()
    state = world.status()["state"]
    assert (state["reason"], state["message"]) == ("TerminateJob", "PodFailed of pod job-worker-0 with exit code 7")
