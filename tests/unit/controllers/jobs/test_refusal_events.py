"""Events for owners of Jobs while the server refuses what a Job needs: one reason for each kind of object, once."""

from collections.abc import Callable
from typing import Any

import pytest

from pyroclast.kube.api.errors import ApiError
from tests.unit.controllers.jobs.world import World, policy

REFUSED = ApiError(403, "Forbidden", "exceeded quota")
WHOLE: dict[str, Any] = {
    "plugins": {"svc": [], "ssh": []},
    "volumes": [{"mountPath": "/data", "volumeClaim": {"accessModes": ["ReadWriteOnce"]}}],
}
"""A Job that needs one of everything."""


@pytest.mark.parametrize(
    ("plural", "reason"),
    [
        ("jobs", "JobStatusError"),
        ("podgroups", "PodGroupError"),
        ("persistentvolumeclaims", "PVCError"),
        ("configmaps", "PluginError"),
        ("services", "PluginError"),
        ("networkpolicies", "PluginError"),
        ("secrets", "PluginError"),
        ("pods", "FailedCreate"),
    ],
)
def test_failed_creations_of_a_job_have_their_reason(plural: str, reason: str) -> None:
    """The server's words are reported once for all tries, and the Job begins when the server accepts."""
    world = World()
    world.job(**WHOLE)
    world.refusals[plural] = REFUSED
    world.run()
    world.run()
    told = [event for event in world.events if "exceeded quota" in event[2]]
    assert [event[:2] for event in told] == [("Warning", reason)]

    world.refusals.clear()
    world.run()
    assert len(world.pods()) == 2


def scale_down(world: World) -> None:
    """Have one pod too many."""
    world.scale("worker", 1)


def abort(world: World) -> None:
    """Have all pods killed."""
    world.command("AbortJob")


@pytest.mark.parametrize("begin", [scale_down, abort])
def test_failed_deletions_of_pods_are_reported(begin: Callable[[World], None]) -> None:
    """Whether they are surplus, or marked as given up first."""
    world = World()
    world.job()
    world.run()
    world.set_pods("Running")
    world.run()
    begin(world)
    world.refusals["pods"] = REFUSED
    world.run()
    told = [event for event in world.events if "exceeded quota" in event[2]]
    assert [event[:2] for event in told] == [("Warning", "FailedDelete")]
    assert len(world.pods()) == 2

    world.refusals.clear()
    world.run()
    assert len(world.pods()) < 2


def test_the_action_of_a_policy_is_reported() -> None:
    """What is done, and which pod called for it."""
    world = World()
    world.job(policies=[policy("RestartJob", "PodFailed")])
    world.run()
    world.set_pods("Running")
    world.run()
    world.set_pod("job-worker-1", "Failed")
    world.run()
    (told,) = [event for event in world.events if event[1] == "ExecuteAction"]
    assert told[2].startswith("Executing RestartJob: ")
    assert "job-worker-1" in told[2]
