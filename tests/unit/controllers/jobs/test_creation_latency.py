"""How long pods of Jobs let wait for them, as Volcano measures it: from the Job's creation to the pod's."""

import asyncio

from prometheus_client import REGISTRY

from tests.unit.controllers.jobs.world import World

NAME = "volcano_controller_job_to_pod_creation_latency_milliseconds"


def measured() -> tuple[float, float]:
    """Count and sum so far."""
    return REGISTRY.get_sample_value(f"{NAME}_count") or 0.0, REGISTRY.get_sample_value(f"{NAME}_sum") or 0.0


def test_each_pod_is_measured_from_its_jobs_creation() -> None:
    """Seven seconds pass before the gang is let in; looking again measures nothing."""
    before = measured()
    world = World()
    world.job()
    asyncio.run(world.rest(scheduler=False))
    assert world.pods() == []
    world.wait(7)
    world.run()
    world.run()

    after = measured()
    assert len(world.pods()) == 2
    assert (after[0] - before[0], after[1] - before[1]) == (2, 2 * 7000)
