"""Generated tests say what holds, not how fast the machine is."""

from hypothesis import HealthCheck, settings


def test_no_generated_test_fails_for_being_slow() -> None:
    """Neither a long run of one example nor slow generation is a failure, where a test does not ask for it."""
    usual = settings()

    assert usual.deadline is None
    assert HealthCheck.too_slow in usual.suppress_health_check
