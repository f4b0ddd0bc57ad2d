"""How many flows have ended, and how: counted when the end is written, and not again."""

import pytest
from prometheus_client import REGISTRY

from tests.unit.controllers.ground import Ground
from tests.unit.controllers.jobflows.test_reconciler import become, built, jobs, make_flow, make_template, state


def counted(ending: str) -> float:
    """Flows of the namespace that have ended so."""
    name = f"volcano_jobflow_{ending}_phase_count"
    return REGISTRY.get_sample_value(name, {"jobflow_namespace": "default"}) or 0.0


@pytest.mark.parametrize(
    ("of_a", "of_b", "ends", "succeeded", "failed"),
    [
        ("Completed", None, "Running", 0, 0),
        ("Completed", "Completed", "Succeed", 1, 0),
        ("Failed", None, "Failed", 0, 1),
    ],
)
async def test_each_flow_is_counted_once(
    ground: Ground, *, of_a: str, of_b: str | None, ends: str, succeeded: int, failed: int
) -> None:
    """One that goes on is in neither number, and a process that begins later counts nothing again."""
    before = counted("succeed"), counted("failed")

    async def is_made(name: str) -> bool:
        return name in await jobs(ground)

    async def has_ended() -> bool:
        found = await state(ground)
        seen = {each["name"]: each.get("state") for each in found.get("jobStatusList", [])}
        is_seen = seen.get("etl-a") == of_a and (of_b is None or seen.get("etl-b") == of_b)
        return is_seen and found["state"]["phase"] == ends

    operator = ground.operator()
    built(operator)
    async with ground.working(operator):
        await make_template(ground, "a")
        await make_template(ground, "b")
        await make_flow(ground)
        await ground.soon(lambda: is_made("etl-a"))
        await become(ground, "etl-a", of_a)
        if of_b is not None:
            await ground.soon(lambda: is_made("etl-b"))
            await become(ground, "etl-b", of_b)
        await ground.soon(has_ended)
        await operator.idle()
    later = ground.operator()
    built(later)
    async with ground.working(later):
        await later.idle()

    assert (counted("succeed") - before[0], counted("failed") - before[1]) == (succeeded, failed)
