"""Further situations that users reported about Jobs, each with the end that they expect."""

import copy
from typing import Any

import pytest

from tests.unit.controllers.jobs.world import NAMESPACE, World, policy, task


def started(*tasks: dict[str, Any], **spec: Any) -> World:
    """A Job whose pods run."""
    world = World()
    world.job("job", *tasks, **spec)
    world.run()
    world.set_pods("Running")
    world.run()
    return world


def environment(world: World, pod: str) -> dict[str, str]:
    """Return the variables of a pod's first container."""
    return {each["name"]: each.get("value", "") for each in world.pod(pod)["spec"]["containers"][0].get("env", [])}


# Restarts -------------------------------------------------------------------------------------------------------------


def test_a_job_is_suspended_and_resumed_as_often_as_wanted() -> None:
    """volcano#3067: only failures count as retries."""
    world = started(task("w", 1), maxRetry=3)
    for _ in range(5):
        world.command("AbortJob")
        world.run()
        assert world.phase() == "Aborted"
        world.command("ResumeJob")
        world.run()
        world.set_pods("Running")
        world.run()
        assert world.phase() == "Running"
    assert world.pods() == ["job-w-0"]


@pytest.mark.parametrize("events", [["PodFailed"], ["PodEvicted", "PodFailed"]])
def test_restart_task_replaces_the_failed_pod(events: list[str]) -> None:
    """volcano#1866: the pods of the task are made again, those of the other task stay."""
    world = started(task("master", 1), task("w", 2), maxRetry=3, policies=[policy("RestartTask", *events)])
    others = {name: world.pod(name)["metadata"]["uid"] for name in ("job-w-0", "job-w-1")}
    failed = world.pod("job-master-0")["metadata"]["uid"]
    world.set_pod("job-master-0", "Failed")
    world.run()
    assert world.pod("job-master-0")["metadata"]["uid"] != failed
    assert {name: world.pod(name)["metadata"]["uid"] for name in others} == others


def test_the_last_retry_ends_the_running_pods() -> None:
    """volcano#1718: the failed pod stays to be looked at, and the others stop."""
    world = started(task("master", 1), task("w", 1), maxRetry=1, policies=[policy("RestartJob", "PodFailed")])
    world.set_pod("job-master-0", "Failed")
    world.run()
    assert world.phase() == "Failed"
    assert world.pods() == ["job-master-0"]
    assert world.status().get("running", 0) == 0


def test_a_restarted_job_runs_again_in_the_same_queue() -> None:
    """volcano#5385: the group of the new round has the spec of the Job."""
    world = started(task("w", 2), minAvailable=2, maxRetry=3, policies=[policy("RestartJob", "PodFailed")])
    world.set_pod("job-w-1", "Failed")
    world.run()
    world.set_pods("Running")
    world.run()
    group = world.group()
    assert group is not None
    assert (group["spec"]["minMember"], group["spec"]["queue"], world.phase()) == (2, "default", "Running")
    assert world.status()["retryCount"] == 1


# Ends -----------------------------------------------------------------------------------------------------------------


def test_completing_lasts_until_the_other_pods_are_gone() -> None:
    """volcano#1956: the driver has ended, the workers stop with their grace period."""
    driver = task("driver", 1, policies=[policy("CompleteJob", "TaskCompleted")])
    world = World(is_graceful=True)
    world.job("job", driver, task("w", 2), minAvailable=3)
    world.run()
    world.set_pods("Running")
    world.run()
    world.set_pod("job-driver-0", "Succeeded")
    world.run()
    assert world.phase() == "Completing"
    assert world.pods() == ["job-driver-0"]
    world.reap()
    world.run()
    assert world.phase() == "Completed"
    assert world.status()["succeeded"] == 1


def test_succeeded_pods_whose_node_is_gone_are_not_run_again() -> None:
    """volcano#3296: an autoscaler removes the node, and the garbage collector its pods, while others run."""
    world = started(task("w", 4), minAvailable=1, policies=[policy("RestartTask", "PodEvicted")])
    for name in ("job-w-0", "job-w-1"):
        world.set_pod(name, "Succeeded")
    world.run()
    for name in ("job-w-0", "job-w-1"):
        world.evict(name)
    world.run()
    assert world.pods() == ["job-w-2", "job-w-3"]
    assert (world.phase(), world.status()["succeeded"]) == ("Running", 2)
    for name in ("job-w-2", "job-w-3"):
        world.set_pod(name, "Succeeded")
    world.run()
    assert (world.phase(), world.status()["succeeded"]) == ("Completed", 4)


def test_min_success_ends_the_job_early() -> None:
    """volcano#1046: enough pods have succeeded; the rest stops and the Job has completed."""
    world = started(task("w", 3), minAvailable=3, minSuccess=2)
    for name in ("job-w-0", "job-w-1"):
        world.set_pod(name, "Succeeded")
    world.run()
    assert world.phase() in {"Completing", "Completed"}


def test_all_tasks_of_no_pods() -> None:
    """volcano#1169: scaled to nothing and back, the Job goes on."""
    world = started(task("w", 2, minAvailable=0), minAvailable=0, plugins={"svc": []})
    world.scale("w", 0)
    world.run()
    assert world.pods() == []
    assert world.status().get("pending", 0) == 0
    world.scale("w", 2)
    world.run()
    world.set_pods("Running")
    world.run()
    assert (world.phase(), world.status()["running"]) == ("Running", 2)


# Dependencies ---------------------------------------------------------------------------------------------------------


def test_a_task_follows_one_whose_pods_have_succeeded() -> None:
    """volcano#5424: the containers of a succeeded pod are not ready, and the dependency is met all the same."""
    world = World()
    world.job("job", task("a", 2), task("b", 1, dependsOn={"name": ["a"]}), minAvailable=2)
    world.run()
    assert world.pods() == ["job-a-0", "job-a-1"]
    world.set_pods("Succeeded")
    world.run()
    assert "job-b-0" in world.pods()


def test_a_task_waits_until_the_pods_before_it_are_ready() -> None:
    """volcano#2130: a pod that runs but fails its readiness probe is not waited for in vain, nor skipped."""
    world = World()
    world.job("job", task("a", 1), task("b", 1, dependsOn={"name": ["a"]}), minAvailable=1)
    world.run()
    world.set_pod("job-a-0", "Running")
    pod = copy.deepcopy(world.pod("job-a-0"))
    pod["status"]["containerStatuses"][0]["ready"] = False
    world.put("pods", pod)
    world.run()
    assert world.pods() == ["job-a-0"]
    world.set_pod("job-a-0", "Running")
    world.run()
    assert world.pods() == ["job-a-0", "job-b-0"]


def test_a_new_job_of_the_same_name_begins_anew() -> None:
    """volcano#2345, volcano#2044: nothing of the deleted Job is taken over, and its group is made."""
    tasks = task("a", 1), task("b", 1, dependsOn={"name": ["a"]})
    world = World()
    world.job("job", *tasks, minAvailable=1)
    world.run()
    for at in [at for at in world.objects if at[0] in {"jobs", "pods", "podgroups"}]:
        world.remove(*at)
    world.run()
    assert world.pods() == []
    world.put(
        "jobs",
        {
            "metadata": {"name": "job", "namespace": NAMESPACE, "uid": "uid-second"},
            "spec": {"tasks": list(tasks), "queue": "default", "minAvailable": 1},
            "status": {},
        },
    )
    world.run()
    assert ("podgroups", NAMESPACE, "job-uid-second") in world.objects
    assert world.pods() == ["job-a-0"]
    assert world.status()["state"]["phase"] == "Pending"


# Sizes ----------------------------------------------------------------------------------------------------------------


def test_the_group_follows_a_larger_minimum() -> None:
    """volcano#950: minAvailable and replicas grow together."""
    world = started(task("w", 2), minAvailable=2)
    world.change_job(minAvailable=4)
    world.scale("w", 4)
    world.run()
    group = world.group()
    assert group is not None
    assert group["spec"]["minMember"] == 4
    assert group["spec"]["minResources"]["cpu"] == "400m"
    assert len(world.pods()) == 4


def test_minimums_of_tasks_follow() -> None:
    """volcano#4802: a task without pods has no minimum any more."""
    world = started(task("a", 2, minAvailable=2), task("b", 2, minAvailable=2), minAvailable=4)
    world.change_job(minAvailable=2, tasks=[task("a", 0, minAvailable=0), task("b", 2, minAvailable=2)])
    world.run()
    group = world.group()
    assert group is not None
    assert group["spec"]["minMember"] == 2
    assert group["spec"].get("minTaskMember", {}).get("a", 0) == 0


def test_a_pending_job_moves_to_another_queue() -> None:
    """kueue#3948: its group follows once, and pods that run keep the Job in its queue."""
    world = World()
    world.queue("other")
    world.job("job", task("w", 2))
    world.run()
    world.change_job(queue="other")
    world.run()
    group = world.group()
    assert group is not None
    assert group["spec"]["queue"] == "other"
    world.set_pods("Running")
    world.run()
    world.change_job(queue="default")
    world.run()
    assert (world.group() or {})["spec"]["queue"] == "other"


def test_scaling_a_task_down_keeps_the_lowest_numbers() -> None:
    """volcano#782: pods of the highest numbers go."""
    world = started(task("w", 5, minAvailable=1), minAvailable=1)
    world.scale("w", 2)
    world.run()
    assert world.pods() == ["job-w-0", "job-w-1"]
    assert world.status()["running"] == 2


# Plugins --------------------------------------------------------------------------------------------------------------


def test_the_world_of_pytorch_has_master_and_workers_alone() -> None:
    """volcano#4238: pods of other tasks take no part in the training."""
    world = World()
    plugins = {"pytorch": ["--master=master", "--worker=worker", "--port=23456"], "svc": []}
    world.job("job", task("master", 1), task("worker", 3), task("extras", 4), plugins=plugins)
    world.run()
    found = environment(world, "job-worker-1")
    assert (found["WORLD_SIZE"], found["RANK"], found["MASTER_PORT"]) == ("4", "2", "23456")
    assert environment(world, "job-master-0")["RANK"] == "0"
    assert "RANK" not in environment(world, "job-extras-0")


def test_the_index_of_a_pod_of_tensorflow() -> None:
    """volcano#2653: each pod finds its own role and number in TF_CONFIG."""
    world = World()
    world.job("job", task("ps", 1), task("worker", 2), plugins={"tensorflow": ["--port=5000"], "svc": []})
    world.run()
    assert '"index":1' in environment(world, "job-worker-1")["TF_CONFIG"].replace(" ", "")
    assert '"type":"ps"' in environment(world, "job-ps-0")["TF_CONFIG"].replace(" ", "")


def test_hosts_of_a_task_are_a_list_in_order() -> None:
    """volcano#14: the file of hosts has one name a line, by number, also beyond ten."""
    world = World()
    world.job("job", task("w", 12), plugins={"svc": []})
    world.run()
    (hosts,) = [found for at, found in world.objects.items() if at[0] == "configmaps"]
    assert hosts["data"]["w.host"].split() == [f"job-w-{number}.job" for number in range(12)]


def test_env_names_the_number_of_a_pod() -> None:
    """volcano#1226: VC_TASK_INDEX and VK_TASK_INDEX, also of init containers."""
    world = World()
    one = task("w", 2)
    one["template"]["spec"]["initContainers"] = [{"name": "i", "image": "busybox"}]
    world.job("job", one, plugins={"env": []})
    world.run()
    spec = world.pod("job-w-1")["spec"]
    for container in (*spec["containers"], *spec["initContainers"]):
        values = {each["name"]: each.get("value") for each in container["env"]}
        assert (values["VC_TASK_INDEX"], values["VK_TASK_INDEX"]) == ("1", "1")


# Status ---------------------------------------------------------------------------------------------------------------


def test_a_pod_of_a_running_job_that_waits_again_is_counted() -> None:
    """volcano#2684: one of two pods was evicted and waits; the counts say so."""
    world = started(task("w", 2), minAvailable=1)
    world.evict("job-w-1")
    world.run()
    status = world.status()
    assert (status["running"], status["pending"]) == (1, 1)
    assert status["taskStatusCount"]["w"]["phase"] == {"Running": 1, "Pending": 1}


def test_a_job_below_its_minimum_is_not_running() -> None:
    """volcano#2684: a gang of two needs both."""
    world = World()
    world.job("job", task("w", 2), minAvailable=2)
    world.run()
    world.set_pod("job-w-0", "Running")
    world.run()
    assert world.phase() == "Pending"


def test_the_priority_of_a_job_is_that_of_its_group() -> None:
    """volcano#1706: a changed class reaches the group."""
    world = World()
    world.put("priorityclasses", {"metadata": {"name": "high"}, "value": 100})
    world.job("job", task("w", 1))
    world.run()
    world.change_job(priorityClassName="high")
    world.run()
    group = world.group()
    assert group is not None
    assert group["spec"]["priorityClassName"] == "high"
