"""Times of a CronJob that names no zone are UTC, wherever the controller runs."""

import time

import msgspec
import pytest

from pyroclast.controllers.cronjobs.decide import decide
from pyroclast.model.api.batch import CronJob
from pyroclast.model.wire.times import unix_seconds

NOON = unix_seconds("2026-07-09T12:00:00Z")


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/New_York"])
def test_the_zone_of_the_machine_does_not_count(monkeypatch: pytest.MonkeyPatch, zone: str) -> None:
    """Twelve o'clock is noon in Greenwich."""
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    metadata = {"name": "daily", "namespace": "team", "uid": "c", "creationTimestamp": "2026-07-09T11:30:00Z"}
    spec = {"schedule": "0 12 * * *", "jobTemplate": {"spec": {}}}
    try:
        decision = decide(msgspec.convert({"metadata": metadata, "spec": spec}, CronJob), [], NOON + 1)
    finally:
        monkeypatch.undo()
        time.tzset()

    assert decision.due == NOON
