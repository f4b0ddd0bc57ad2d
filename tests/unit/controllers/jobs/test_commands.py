"""Commands: each is carried out once, whatever happens in between."""

import pytest

from tests.unit.controllers.jobs.world import NAMESPACE, World


def running() -> World:
    """Bring a Job to Running."""
    world = World()
    world.job()
    world.run()
    world.set_pods("Running")
    world.run()
    return world


def commands(world: World) -> list[str]:
    """Name the Commands that are there."""
    return [at[2] for at in world.objects if at[0] == "commands"]


@pytest.mark.parametrize(
    ("action", "phase"), [("AbortJob", "Aborted"), ("TerminateJob", "Terminated"), ("CompleteJob", "Completed")]
)
def test_stops(action: str, phase: str) -> None:
    """The Job stops, the Command is gone, an event tells."""
    world = running()
    world.command(action)
    world.run()
    assert world.phase() == phase
    assert commands(world) == []
    assert "CommandIssued" in world.reasons()


@pytest.mark.parametrize("is_taken", [True, False])
@pytest.mark.parametrize("write", range(1, 12))
def test_a_restart_is_done_once(write: int, *, is_taken: bool) -> None:
    """Killed at whichever write, the Job restarts once."""
    world = running()
    world.command("RestartJob")
    world.kills = {world.writes + write: is_taken}
    world.run()
    assert world.status()["retryCount"] == 1
    assert world.status()["version"] == 1
    assert commands(world) == []


def test_one_after_the_other() -> None:
    """Two Commands are two retries."""
    world = running()
    world.command("RestartJob")
    world.command("RestartJob")
    world.run()
    assert world.status()["version"] == 2
    assert commands(world) == []


def test_a_command_for_another_incarnation_is_dropped() -> None:
    """It was for a Job of the same name that is gone."""
    world = running()
    world.command("AbortJob", uid="another")
    world.run()
    assert world.phase() == "Running"
    assert commands(world) == []


@pytest.mark.parametrize("action", ["RestartTask", "Dance"])
def test_impossible_requests_are_reported(action: str) -> None:
    """A Command names no task, so restarting one is not for it; Volcano counts a retry and restarts nothing."""
    world = running()
    world.command(action)
    world.run()
    assert (world.phase(), world.status().get("retryCount", 0)) == ("Running", 0)
    assert commands(world) == []
    assert ("Warning", "CommandIssued") in {event[:2] for event in world.events}


def test_commands_for_a_job_that_is_gone_are_dropped() -> None:
    """No other controller would."""
    world = running()
    world.command("AbortJob")
    world.remove("jobs", NAMESPACE, "job")
    world.run()
    assert commands(world) == []


def refused() -> World:
    """Have a Job that no queue takes."""
    world = World()
    world.queue("default", state="Closed")
    world.job()
    world.wait(2)
    world.run()
    assert world.status()["state"]["reason"] == "Invalid"
    return world


@pytest.mark.parametrize("actions", [("RestartJob",), ("AbortJob", "ResumeJob")])
def test_a_refused_job_does_not_begin_by_a_command(actions: tuple[str, ...]) -> None:
    """Otherwise it would pass for one that had begun before its queue was closed."""
    world = refused()
    for action in actions:
        world.command(action)
        world.run()
    assert (world.phase(), world.status()["state"]["reason"]) == ("Pending", "Invalid")
    assert (world.group(), world.pods(), commands(world)) == (None, [], [])
    assert any("was refused and has not begun" in message for _, _, message in world.events)
    world.queue("default")
    world.run()
    assert len(world.pods()) == 2


@pytest.mark.parametrize(("action", "phase"), [("TerminateJob", "Terminated"), ("CompleteJob", "Completed")])
def test_a_refused_job_may_be_ended(action: str, phase: str) -> None:
    """It makes nothing on its way."""
    world = refused()
    world.command(action)
    world.run()
    assert (world.phase(), world.group(), world.pods()) == (phase, None, [])
