"""The stop-watch: nested phases, exceptions, and the names Volcano gives."""

from collections.abc import Iterator

import pytest

from pyroclast.scheduler.monitoring.metrics import Metrics
from pyroclast.scheduler.monitoring.stopwatch import Stopwatch


@pytest.fixture
def watch() -> Stopwatch:
    """A stop-watch whose clock moves one second at each look."""
    ticks: Iterator[int] = iter(range(100))
    return Stopwatch(lambda: float(next(ticks)))


def test_nested_phases_are_timed_each(watch: Stopwatch) -> None:
    """The outer phase includes the inner."""
    watch.phase("open", True)
    watch.phase("plugin/gang/OnSessionOpen", True)
    watch.phase("plugin/gang/OnSessionOpen", False)
    watch.phase("open", False)

    assert watch.seconds == {"plugin/gang/OnSessionOpen": 1.0, "open": 3.0}


def test_phase_met_twice_counts_with_its_sum(watch: Stopwatch) -> None:
    """An action that stands twice in the list is one phase."""
    for _ in range(2):
        watch.phase("action/allocate", True)
        watch.phase("action/allocate", False)

    assert watch.seconds == {"action/allocate": 2.0}


def test_phases_left_open_by_an_exception_end_with_the_outer_one(watch: Stopwatch) -> None:
    """Nothing runs on after the cycle has ended."""
    watch.phase("cycle", True)
    watch.phase("action/allocate", True)
    watch.phase("cycle", False)

    assert set(watch.seconds) == {"cycle", "action/allocate"}


def test_metrics_of_plugins_and_actions_have_volcanos_names(watch: Stopwatch) -> None:
    """The dashboards of Volcano find milliseconds under their names."""
    for phase in ("plugin/gang/OnSessionClose", "action/allocate"):
        watch.phase(phase, True)
        watch.phase(phase, False)
    metrics = Metrics()
    watch.report(metrics)

    text = metrics.text().decode()
    assert 'volcano_plugin_scheduling_latency_milliseconds_sum{OnSession="OnSessionClose",plugin="gang"} 1000.0' in text
    assert 'volcano_action_scheduling_latency_milliseconds_sum{action="allocate"} 1000.0' in text


def test_quotas_have_koordinators_latency(watch: Stopwatch) -> None:
    """The session open of elastic-quota computes all runtimes; in seconds."""
    watch.phase("plugin/elastic-quota/OnSessionOpen", True)
    watch.phase("plugin/elastic-quota/OnSessionOpen", False)
    metrics = Metrics()
    watch.report(metrics)

    assert 'scheduler_elastic_quota_process_latency_sum{operation="RefreshRuntime"} 1.0' in metrics.text().decode()
