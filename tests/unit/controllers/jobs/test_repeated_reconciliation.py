"""A look at a Job is no event of its life: version, time of its phase and pods change when something has happened."""

from tests.unit.controllers.jobs.world import World, policy, task


def completed() -> World:
    """A Job of one pod that has completed."""
    world = World()
    world.job("job", task(replicas=1))
    world.run()
    world.set_pods("Running")
    world.run()
    world.wait(60)
    world.set_pods("Succeeded")
    world.run()
    assert world.phase() == "Completed"
    return world


def test_an_ended_job_that_is_looked_at_keeps_its_version() -> None:
    """Nothing was restarted, so its pods are of the first incarnation still."""
    world = completed()
    before = world.status()

    world.wait(3600)
    world.restart()
    world.run()

    assert world.status() == before
    assert world.status().get("version", 0) == 0


def test_a_restart_is_a_version() -> None:
    """And so is a stop: pods of before are past."""
    world = World()
    world.job(policies=[policy("RestartJob", "PodFailed")])
    world.run()
    world.set_pods("Running")
    world.run()
    world.set_pod("job-worker-0", "Failed")
    world.run()
    assert world.status()["version"] == 1

    world.command("AbortJob")
    world.run()
    assert (world.phase(), world.status()["version"]) == ("Aborted", 2)


def test_the_time_of_a_phase_is_when_it_was_entered() -> None:
    """Pods that succeed meanwhile change the counts and not the time."""
    world = World()
    world.job()
    world.run()
    world.set_pods("Running")
    world.run()
    entered = world.status()["state"]["lastTransitionTime"]

    world.wait(60)
    world.set_pod("job-worker-0", "Succeeded")
    world.run()

    assert (world.phase(), world.status()["succeeded"]) == ("Running", 1)
    assert world.status()["state"]["lastTransitionTime"] == entered


def test_pods_of_a_task_that_was_taken_out_go() -> None:
    """With their part of the group's minimum."""
    world = World()
    world.job("job", task("master", 1), task("worker", 2), minAvailable=1)
    world.run()
    world.set_pods("Running")
    world.run()

    world.change_job(tasks=[task("master", 1)])
    world.run()

    group = world.group()
    assert world.pods() == ["job-master-0"]
    assert group is not None
    assert group["spec"]["minTaskMember"] == {"master": 1}
