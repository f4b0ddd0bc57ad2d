"""Whole lives of Jobs: the worked scenarios."""

from tests.unit.controllers.jobs.world import World, policy, task


def test_a_job_that_succeeds() -> None:
    """Pending until the gang is let in, Running with its minimum, Completed when all succeeded; the pods stay."""
    world = World()
    world.job()
    world.run()
    group = world.group()
    assert group is not None
    assert group["spec"]["minMember"] == 2
    assert group["spec"]["minResources"]["pods"] == "2"
    assert world.pods() == ["job-worker-0", "job-worker-1"]
    assert world.phase() == "Pending"

    world.set_pods("Running")
    world.run()
    assert world.phase() == "Running"

    world.set_pods("Succeeded")
    world.run()
    assert world.phase() == "Completed"
    assert world.group() is None
    assert world.pods() == ["job-worker-0", "job-worker-1"]
    assert world.status()["succeeded"] == 2


def test_three_failures_with_restart_job_fail_it() -> None:
    """Each failure kills all pods and the group, and counts; the third ends in Failed."""
    world = World()
    world.job(policies=[policy("RestartJob", "PodFailed")])
    for attempt in range(1, 4):
        world.run()
        world.set_pods("Running")
        world.run()
        assert world.phase() == "Running"
        first = world.group()
        world.set_pod("job-worker-0", "Failed")
        world.run()
        assert world.status()["retryCount"] == attempt
        assert world.status()["version"] == attempt
        second = world.group()
        assert second is None or first is None or second["metadata"]["uid"] != first["metadata"]["uid"]
    assert world.phase() == "Failed"
    assert world.status()["state"]["message"].startswith("3 of 3 retries are used up; PodFailed of pod job-worker-0")


def test_restart_task_leaves_the_other_task_and_the_group() -> None:
    """An eviction answered with RestartTask deletes and makes anew the pods of that task alone."""
    world = World()
    world.job("job", task("master", 1), task("worker", 2), policies=[policy("RestartTask", "PodEvicted")])
    world.run()
    world.set_pods("Running")
    world.run()
    before = {name: world.pod(name)["metadata"]["uid"] for name in world.pods()}
    group = world.group()
    world.evict("job-worker-1")
    world.run()
    after = {name: world.pod(name)["metadata"]["uid"] for name in world.pods()}
    assert after["job-master-0"] == before["job-master-0"]
    assert after["job-worker-0"] != before["job-worker-0"]
    assert after["job-worker-1"] != before["job-worker-1"]
    assert world.status()["retryCount"] == 1
    assert world.status().get("version", 0) == 0
    assert group is not None
    assert world.group()["metadata"]["uid"] == group["metadata"]["uid"]  # type: ignore[index] # it is there


def test_abort_and_resume() -> None:
    """Aborting deletes what runs and keeps what ended; resuming makes anew what is missing, what ended is not rerun."""
    world = World()
    world.job("job", task("worker", 3))
    world.run()
    world.set_pods("Running")
    world.set_pod("job-worker-2", "Succeeded")
    world.run()
    ended = world.pod("job-worker-2")["metadata"]["uid"]
    world.command("AbortJob")
    world.run()
    assert world.phase() == "Aborted"
    assert world.pods() == ["job-worker-2"]
    assert world.group() is None
    assert "CommandIssued" in world.reasons()

    world.command("ResumeJob")
    world.run()
    assert world.pods() == ["job-worker-0", "job-worker-1", "job-worker-2"]
    assert world.pod("job-worker-2")["metadata"]["uid"] == ended
    assert world.status().get("retryCount", 0) == 0
    assert not [at for at in world.objects if at[0] == "commands"]


async def test_a_gang_that_is_not_let_in_has_no_pods() -> None:
    """While the pod group is Pending the Job makes none, and says why."""
    world = World()
    world.job()
    await world.rest(scheduler=False)
    world.set_group(
        "Pending",
        conditions=[
            {"type": "Unschedulable", "status": "True", "message": "queue is full", "reason": "NotEnoughResources"}
        ],
    )
    await world.rest(scheduler=False)
    assert world.pods() == []
    assert world.phase() == "Pending"
    assert ("Warning", "PodGroupPending") in {event[:2] for event in world.events}
