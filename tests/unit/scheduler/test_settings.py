"""Settings: what a daemon does with good and bad configuration files."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from pyroclast.model.errors import ConfigError
from pyroclast.scheduler.daemon.plugin_files import PluginFiles
from pyroclast.scheduler.daemon.settings import Settings
from pyroclast.scheduler.monitoring.metrics import Metrics

GOOD = "actions: allocate\ntiers:\n- plugins:\n  - name: gang\n"
BAD = "actions: alocate\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A good file."""
    path = tmp_path / "scheduler.yaml"
    path.write_text(GOOD)
    return path


class Told:
    """Notes the faults of reloads."""

    def __init__(self) -> None:
        """Start with none."""
        self.faults: list[Sequence[str]] = []

    def __call__(self, faults: Sequence[str]) -> None:
        """Note them."""
        self.faults.append(faults)


def settings(path: Path | str, metrics: Metrics, told: Told | None = None, *names: str) -> Settings:
    """Read a file as a daemon does."""
    return Settings(
        str(path),
        PluginFiles(),
        metrics,
        scheduler_names=names or ("volcano",),
        refused=told or Told(),
        wall=lambda: 100.0,
    )


def test_without_a_file_the_built_in_configuration_is_in_force() -> None:
    """The shipped file has Volcano's default actions."""
    (profile,) = settings("", Metrics()).current().profiles

    assert profile.actions == ("enqueue", "allocate", "backfill")


def test_bad_file_at_the_start_is_refused_with_every_fault(file: Path) -> None:
    """A daemon does not start on a file that cannot be used; the faults name the file."""
    file.write_text("actions: alocate, enque\n")

    with pytest.raises(ConfigError) as raised:
        settings(file, Metrics())

    assert len(raised.value.faults) >= 2
    assert all(str(file) in fault for fault in raised.value.faults)


def test_missing_file_at_the_start_is_refused(tmp_path: Path) -> None:
    """A path that leads nowhere is a fault, never a silent default."""
    with pytest.raises(ConfigError, match=r"gone\.yaml"):
        settings(tmp_path / "gone.yaml", Metrics())


def test_changed_file_is_in_force_in_the_next_cycle(file: Path) -> None:
    """The generation rises, and metrics tell it."""
    metrics = Metrics()
    read = settings(file, metrics)
    file.write_text(GOOD.replace("allocate", "enqueue, allocate"))

    configuration = read.current()

    assert configuration.generation == 2
    assert configuration.profiles[0].actions == ("enqueue", "allocate")
    assert metrics.value("pyroclast_configuration_generation") == 2
    assert metrics.value("pyroclast_configuration_reload_time_seconds") == 100.0


def test_bad_change_keeps_the_last_good_file_and_is_reported_once(file: Path) -> None:
    """Cycles go on with what was good; metric and event tell the faults, once."""
    metrics, told = Metrics(), Told()
    read = settings(file, metrics, told)
    file.write_text(BAD)

    assert read.current().generation == 1
    assert read.current().profiles[0].actions == ("allocate",)
    assert metrics.value("pyroclast_configuration_reload_ok") == 0
    assert len(told.faults) == 1
    assert read.faults


def test_mended_file_is_taken_again(file: Path) -> None:
    """After the mistake is mended the metric is 1 again."""
    metrics = Metrics()
    read = settings(file, metrics)
    file.write_text(BAD)
    read.current()
    file.write_text(GOOD + "# mended\n")
    read.current()

    assert metrics.value("pyroclast_configuration_reload_ok") == 1
    assert not read.faults


def test_profile_of_our_scheduler_name_is_taken(file: Path) -> None:
    """The daemon runs the one of several profiles that names its scheduler."""
    file.write_text("profiles:\n- schedulerName: a\n  actions: allocate\n- schedulerName: b\n  actions: backfill\n")

    assert settings(file, Metrics(), None, "b").current().profiles[0].actions == ("backfill",)


def test_all_profiles_of_our_names_are_served_in_the_order_of_the_file(file: Path) -> None:
    """The profile for all other names comes last; each is called after the first name that reaches it."""
    file.write_text(
        "actions: enqueue\nprofiles:\n- schedulerName: a\n  actions: allocate\n- schedulerNames: [b, c]\n"
        "  actions: backfill\n- schedulerName: d\n  actions: preempt\n"
    )
    with capture_logs() as lines:
        current = settings(file, Metrics(), None, "other", "c", "b", "a").current()

    assert [(profile.name, profile.actions) for profile in current.profiles] == [
        ("a", ("allocate",)),
        ("c", ("backfill",)),
        ("other", ("enqueue",)),
    ]
    assert [each.deciding.name for each in current.turns()] == ["a", "c", "other"]
    unreachable = [line["scheduler_names"] for line in lines if line["event"] == "profile_unreachable"]
    assert unreachable == [("d",)]


def test_configuration_without_a_profile_for_us_is_refused(file: Path) -> None:
    """A file that schedules only others is a fault."""
    file.write_text("profiles:\n- schedulerName: a\n  actions: allocate\n")

    with pytest.raises(ConfigError, match="none for the scheduler name 'c'"):
        settings(file, Metrics(), None, "c")
