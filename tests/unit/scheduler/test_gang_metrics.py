"""Gangs under Koordinator's metric names."""

import pytest

from pyroclast.scheduler.daemon.daemon import Seen
from pyroclast.scheduler.monitoring.cycle_metrics import observe_gangs
from pyroclast.scheduler.monitoring.metrics import Metrics
from pyroclast.testing import Scenario
from tests.gangs import annotated

PLUGINS = ("coscheduling", "gang", "predicates")


@pytest.mark.parametrize(("members", "waiting", "reason"), [(2, 0.0, "scheduled"), (1, 1.0, "waiting")])
def test_gang_groups_that_wait_are_counted(members: int, waiting: float, reason: str) -> None:
    """A gang of two with both members is placed; with one it waits. Other jobs do not count."""
    scenario = Scenario().node("n", cpu=8).job("plain", cpu=20)
    for number in range(members):
        scenario = scenario.pod(f"p{number}", annotations=annotated("train", 2))
    (done,) = scenario.run("allocate", plugins=PLUGINS).rounds
    metrics = Metrics()
    observe_gangs(Seen(snapshot=done.snapshot, report=done.report, seconds=0.25), metrics)

    assert metrics.value("scheduler_waiting_gang_group_number") == waiting
    text = metrics.text().decode()
    labels = f'{{job_size="1-100",reason="{reason}"}}'
    assert f"scheduler_gang_schedule_cycle_duration_seconds_sum{labels} 0.25" in text
