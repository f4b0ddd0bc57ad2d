"""Ended pods: they are not run again, and no pod is evicted when they are deleted."""

from typing import Any

import pytest

from pyroclast.controllers.jobs.reconciler import JobReconciler
from pyroclast.controllers.runtime.expectations import Expectations
from tests.unit.controllers.jobs.world import NAMESPACE, World, policy, task


def two(*policies: object, **spec: object) -> World:
    """A Job whose pods `quick` and `long` run."""
    world = World()
    world.job("job", task("quick", 1), task("long", 1), policies=list(policies), **spec)
    world.run()
    world.set_pods("Running")
    world.run()
    return world


def test_work_that_is_done_is_not_done_again() -> None:
    """A cleaner deletes the pod that succeeded; the Job completes when the other has too."""
    world = two()
    world.set_pod("job-quick-0", "Succeeded")
    world.run()
    world.evict("job-quick-0")
    world.run()
    assert world.pods() == ["job-long-0"]
    assert world.phase() == "Running"
    assert world.status()["succeeded"] == 1

    world.set_pod("job-long-0", "Succeeded")
    world.run()
    assert world.phase() == "Completed"
    assert world.status()["succeeded"] == 2
    world.evict("job-long-0")
    world.run()
    assert world.status()["succeeded"] == 2
    assert world.pods() == []


@pytest.mark.parametrize("ended", ["Succeeded", "Failed"])
def test_the_deletion_of_a_pod_that_ended_is_no_eviction(ended: str) -> None:
    """However it ended: the policy for evictions does not answer."""
    world = two(policy("RestartJob", "PodEvicted"))
    world.set_pod("job-quick-0", ended)
    world.run()
    world.evict("job-quick-0")
    world.run()
    assert world.status().get("retryCount", 0) == 0
    assert ("job-quick-0" in world.pods()) is (ended == "Failed")


def test_a_pod_that_its_node_evicted_is_missed() -> None:
    """It failed by no fault of its own: its deletion is the eviction."""
    world = two(policy("RestartJob", "PodEvicted"))
    world.set_pod("job-quick-0", "Failed")
    pod = world.pod("job-quick-0")
    world.put("pods", {**pod, "status": {**pod["status"], "reason": "Evicted"}})
    world.run()
    world.evict("job-quick-0")
    world.run()
    assert world.status()["retryCount"] == 1


def test_a_pod_that_succeeded_and_went_unseen_is_done() -> None:
    """Both happened while the Job was left alone: its store had shown the pod."""
    world = two(policy("RestartJob", "PodEvicted"))
    world.set_pod("job-quick-0", "Succeeded")
    old = world.stores.pods.get(NAMESPACE, "job-quick-0")
    world.evict("job-quick-0")
    world.reconciler.note_vanished(old, None)
    world.run()
    assert world.pods() == ["job-long-0"]
    assert world.status()["succeeded"] == 1
    assert world.status().get("retryCount", 0) == 0


def test_a_pod_that_vanishes_while_a_decision_is_carried_out_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """It succeeds and is deleted after its Job was observed."""
    world = two()
    carry_out = world.reconciler._carry_out
    left = iter(["job-quick-0"])

    async def meanwhile(*arguments: Any) -> None:
        await carry_out(*arguments)
        for name in left:
            world.set_pod(name, "Succeeded")
            old = world.stores.pods.get(NAMESPACE, name)
            world.evict(name)
            world.reconciler.note_vanished(old, None)

    monkeypatch.setattr(world.reconciler, "_carry_out", meanwhile)
    world.run()
    world.run()
    assert world.pods() == ["job-long-0"]
    assert world.status()["succeeded"] == 1


def test_a_task_whose_pods_are_cleaned_away_one_by_one_is_completed() -> None:
    """The last one completes it, the others are gone by then."""
    world = World()
    world.job("job", task("worker", 2), task("server", 1), policies=[policy("CompleteJob", "TaskCompleted")])
    world.run()
    world.set_pods("Running")
    world.run()
    world.set_pod("job-worker-0", "Succeeded")
    world.run()
    world.evict("job-worker-0")
    world.run()
    assert world.phase() == "Running"
    world.set_pod("job-worker-1", "Succeeded")
    world.run()
    assert world.phase() == "Completed"


def test_a_task_that_waits_for_one_that_is_done_begins() -> None:
    """Also where the pods of that one are gone."""
    world = World()
    world.job("job", task("first", 1), task("then", 1, dependsOn={"name": ["first"]}), minAvailable=1)
    world.run()
    world.set_pod("job-first-0", "Succeeded")
    group = world.group()
    assert group is not None
    world.run()
    assert world.pods() == ["job-first-0", "job-then-0"]
    world.evict("job-first-0")
    world.evict("job-then-0")
    world.run()
    assert world.pods() == ["job-then-0"]


def test_a_restart_runs_it_again() -> None:
    """Policy of the task, or of the whole Job."""
    world = two(policy("RestartJob", "PodFailed"))
    world.set_pod("job-quick-0", "Succeeded")
    world.run()
    world.evict("job-quick-0")
    world.run()
    world.set_pod("job-long-0", "Failed")
    world.run()
    assert world.pods() == ["job-long-0", "job-quick-0"]
    assert world.status().get("succeeded", 0) == 0


def test_a_task_that_is_made_smaller_and_larger_again_runs_again() -> None:
    """Its place was taken away in between."""
    world = World()
    world.job("job", task("worker", 2), minAvailable=1)
    world.run()
    world.set_pods("Running")
    world.set_pod("job-worker-1", "Succeeded")
    world.run()
    world.evict("job-worker-1")
    world.run()
    assert world.pods() == ["job-worker-0"]
    world.scale("worker", 1)
    world.run()
    world.scale("worker", 2)
    world.run()
    assert world.pods() == ["job-worker-0", "job-worker-1"]


def test_volcanos_rule_can_be_had() -> None:
    """A deleted pod is made again whatever it ended with, and counts as evicted."""
    world = World()
    world.reconciler = JobReconciler(
        stores=world.stores,
        writer=world,  # type: ignore[arg-type] # has its methods
        events=world,
        expectations=Expectations(clock=world.clock),
        clock=world.clock,
        reruns_succeeded=True,
    )
    world.job("job", task("quick", 1), task("long", 1), policies=[policy("RestartJob", "PodEvicted")])
    world.run()
    world.set_pods("Running")
    world.set_pod("job-quick-0", "Succeeded")
    world.run()
    world.evict("job-quick-0")
    world.run()
    assert world.status()["retryCount"] == 1
    assert "job-quick-0" in world.pods()
