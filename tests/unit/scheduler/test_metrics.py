"""Metrics: Volcano's names and buckets, samples applied, series that go with their object."""

from itertools import pairwise

import pytest
from prometheus_client.parser import text_string_to_metric_families

from pyroclast.model.ids import JobId
from pyroclast.model.report import JobShare, Sample
from pyroclast.scheduler.monitoring.catalogue import OURS, VOLCANO, spread
from pyroclast.scheduler.monitoring.metrics import Metrics


def gauge(metric: str, value: float, **labels: str) -> Sample:
    """Make a sample of a gauge."""
    return Sample(metric=metric, labels=tuple(labels.items()), value=value)


def series(metrics: Metrics) -> dict[str, float]:
    """Return the values of all series without histograms, by name and labels as they are written."""
    lines = metrics.text().decode().splitlines()
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if not line.startswith("#")}


def test_names_are_exposed_as_volcano_spells_them() -> None:
    """Every name of the catalogue is in the text, counters with and without `_total` alike."""
    text = Metrics().text().decode()

    exposed = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}
    assert {f"volcano_{name}" for name in VOLCANO} | set(OURS) <= exposed
    assert "# TYPE volcano_job_retry_counts counter" in text


def test_text_is_read_by_the_library() -> None:
    """What is written can be parsed again."""
    metrics = Metrics()
    metrics.apply([Sample(metric="job_retry_counts", labels=(("job_id", "a"),), value=1, kind="counter")])

    families = {family.name for family in text_string_to_metric_families(metrics.text().decode())}

    assert "volcano_job_retry_counts" in families
    assert "volcano_e2e_scheduling_latency_milliseconds" in families


def test_buckets_grow_by_a_constant_factor() -> None:
    """range(1, 5000, 20) has twenty ends, from 1 to 5000, each about 1.566 times the one before."""
    ends = spread(1, 5000, 20)

    assert (len(ends), ends[0]) == (20, 1.0)
    assert ends[-1] == pytest.approx(5000)
    assert all(after / before == pytest.approx(1.566, abs=0.001) for before, after in pairwise(ends))


def test_gauges_set_counters_add_histograms_observe() -> None:
    """The kind of a sample says what its value does."""
    metrics = Metrics()
    for _ in range(2):
        metrics.apply(
            [
                gauge("unschedule_job_count", 3),
                Sample(metric="total_preemption_attempts", labels=(), value=2, kind="counter"),
                Sample(metric="e2e_job_scheduling_latency_milliseconds", labels=(), value=500, kind="histogram"),
            ]
        )

    found = series(metrics)
    assert found["volcano_unschedule_job_count"] == 3
    assert found["volcano_total_preemption_attempts"] == 4
    assert found["volcano_e2e_job_scheduling_latency_milliseconds_count"] == 2


def test_scalar_that_is_no_longer_reported_becomes_zero() -> None:
    """A resource that a queue once had, in any metric, is zero in later updates that lack it."""
    metrics = Metrics()
    metrics.apply([gauge("queue_request_scalar_resources", 8000, queue_name="q", resource="gpu")])
    metrics.apply(
        [
            gauge("queue_allocated_milli_cpu", 1, queue_name="q"),
            gauge("queue_allocated_memory_bytes", 1, queue_name="q"),
        ]
    )

    assert metrics.value("volcano_queue_allocated_scalar_resources", "q", "gpu") == 0
    assert metrics.value("volcano_queue_request_scalar_resources", "q", "gpu") == 8000


def test_deleted_queue_takes_all_its_series_along() -> None:
    """Nothing of a queue stays, and its resources are forgotten."""
    metrics = Metrics()
    metrics.apply([gauge("queue_allocated_scalar_resources", 1, queue_name="q", resource="gpu")])
    metrics.apply([gauge("queue_weight", 1, queue_name="q"), gauge("queue_weight", 1, queue_name="kept")])

    metrics.keep_queues({"kept"})
    metrics.apply([gauge("queue_request_milli_cpu", 0, queue_name="q")])

    assert metrics.value("volcano_queue_weight", "q") is None
    assert metrics.value("volcano_queue_weight", "kept") == 1
    assert metrics.value("volcano_queue_request_scalar_resources", "q", "gpu") is None


def test_deleted_job_takes_its_series_along() -> None:
    """Series by namespace and name go with their job; series by name stay while any job has that name."""
    metrics = Metrics()
    metrics.apply(
        [
            gauge("job_share", 0.5, job_ns="a", job_id="train"),
            gauge("job_share", 0.5, job_ns="b", job_id="train"),
            gauge("unschedule_task_count", 3, job_id="train"),
            gauge("unschedule_task_count", 3, job_id="gone"),
        ]
    )

    metrics.keep_jobs({JobId("b/train")})

    assert metrics.value("volcano_job_share", "a", "train") is None
    assert metrics.value("volcano_job_share", "b", "train") == 0.5
    assert metrics.value("volcano_unschedule_task_count", "train") == 3
    assert metrics.value("volcano_unschedule_task_count", "gone") is None


def test_series_of_a_job_that_no_cycle_ended_with_go_later() -> None:
    """The job came and went between two snapshots."""
    metrics = Metrics()
    metrics.keep_jobs({JobId("a/kept")})
    metrics.apply(
        [gauge("job_share", 0.5, job_ns="a", job_id="short"), gauge("job_share", 1, job_ns="a", job_id="kept")]
    )

    for _ in range(20):
        metrics.keep_jobs({JobId("a/kept")})

    assert metrics.value("volcano_job_share", "a", "short") is None
    assert metrics.value("volcano_job_share", "a", "kept") == 1


def test_metric_of_a_plugin_from_outside_is_adopted() -> None:
    """An unknown name becomes a metric when it is first reported."""
    metrics = Metrics()
    metrics.apply([gauge("affinity_hits", 7, group="a")])

    assert series(metrics)['volcano_affinity_hits{group="a"}'] == 7


@pytest.mark.parametrize(
    "sample",
    [
        gauge("queue_weight", 1, wrong="q"),
        Sample(metric="queue_weight", labels=(("queue_name", "q"),), value=1, kind="counter"),
        gauge("no name at all", 1),
        Sample(metric="new", labels=(), value=1, kind="summary"),
    ],
)
def test_sample_that_does_not_fit_is_dropped_and_counted(sample: Sample) -> None:
    """Wrong labels, a wrong kind, or an impossible name cost that sample alone."""
    metrics = Metrics()
    metrics.apply([sample, gauge("queue_weight", 2, queue_name="q")])

    assert metrics.value("pyroclast_samples_dropped_total", sample.metric) == 1
    assert metrics.value("volcano_queue_weight", "q") == 2


def test_shares_of_jobs_are_those_of_the_last_cycle() -> None:
    """A job that is not among those reported any more is not shown with what it had."""
    metrics = Metrics()
    metrics.show_shares({JobId("a/train"): JobShare(resource="cpu", share=0.5, allocated={})})
    metrics.show_shares({JobId("b/train"): JobShare(resource="cpu", share=0.25, allocated={})})

    assert metrics.value("volcano_job_share", "a", "train") is None
    assert metrics.value("volcano_job_share", "b", "train") == 0.25


def test_shares_shown_are_the_largest_and_bounded() -> None:
    """The jobs with the largest shares are shown, and none of the many others stays."""
    metrics = Metrics()
    shares = {JobId(f"ns/j{i}"): JobShare(resource="cpu", share=i / 10, allocated={}) for i in range(5)}

    metrics.show_shares(shares, limit=5)
    metrics.show_shares(shares, limit=2)

    shown = [name for name in series(metrics) if name.startswith("pyroclast_job_dominant_share")]
    assert sorted(shown) == [
        f'pyroclast_job_dominant_share{{job_name="{name}",job_namespace="ns",resource="cpu"}}' for name in ("j3", "j4")
    ]


def test_metrics_of_plugins_are_bounded() -> None:
    """In number and in series; what is beyond is dropped and counted, ever new names together."""
    metrics = Metrics()
    metrics.apply(Sample(metric="one", labels=(("label", str(number)),), value=1.0) for number in range(2000))
    metrics.apply(Sample(metric=f"odd_{number}", labels=(), value=1.0) for number in range(2000))

    text = metrics.text().decode()
    assert text.count("volcano_one{") == 1000
    assert metrics.value("pyroclast_samples_dropped_total", "one") == 1000
    assert text.count("# TYPE volcano_odd_") == 255
    assert text.count("pyroclast_samples_dropped_total{") == 257
    assert metrics.value("pyroclast_samples_dropped_total", "others") == 2000 - 255 - 255
