"""Arguments of plugins that cannot be parsed are reported to the owner of the Job, who reads no log."""

from tests.unit.controllers.jobs.world import World


def test_an_event_names_the_argument() -> None:
    """What was got and what was expected; the Job goes on with the default."""
    world = World()
    world.job(plugins={"ssh": ["--no-such-flag=1"], "svc": ["--publish-not-ready-addresses=perhaps"]})
    world.run()

    told = [message for _, _, message in world.events if "perhaps" in message or "no-such-flag" in message]
    assert any("--publish-not-ready-addresses" in message for message in told), world.events
    assert world.pods() == ["job-worker-0", "job-worker-1"]
