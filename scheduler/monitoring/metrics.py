"""Metrics of this process for Prometheus.

A cycle's report contains samples, which are applied here. The series of a queue or job are removed with the object.
"""

import re
from collections import Counter as Count
from collections.abc import Collection, Iterable, Mapping
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

from prometheus_client import (
    REGISTRY,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)

from pyroclast.model.ids import JobId
from pyroclast.model.report import JobShare, Sample
from pyroclast.scheduler.monitoring.catalogue import OURS, SCALARS, VOLCANO, VOLCANO_PREFIX, Shape

__all__ = ["CONTENT_TYPE", "JOB_SHARES_SHOWN", "Metrics"]

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

JOB_SHARES_SHOWN: Final = 100
"""Maximum number of jobs whose dominant share is shown. It bounds the number of series."""

_QUEUE_PREFIX: Final = "queue_"
_UPDATE_OF_SCALARS: Final = "_milli_cpu"
"""A sample of a queue's CPU starts a new report of the queue: scalar resources that are missing in it are zero."""

_BARE_COUNTERS: Final = (
    f"{VOLCANO_PREFIX}total_preemption_attempts",
    f"{VOLCANO_PREFIX}job_retry_counts",
    "scheduler_scheduling_timeout",
)
"""Counters that Volcano and Koordinator name without `_total`, which the library appends."""

_OWN_PREFIX: Final = "pyroclast_"

_DROPPED: Final = "pyroclast_samples_dropped_total"
_MOST_ADOPTED: Final = 256
"""Maximum number of metrics of external plugins. Samples of further metrics are dropped and counted together."""
_MOST_SERIES: Final = 1000
"""Maximum number of series of each of them; further samples are dropped likewise."""

_MOST_SKIPPED_LOOKS: Final = 16
"""Calls after which series of jobs are compared with the jobs although no job is gone."""

_METRIC_NAME: Final = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
"""The names of the text format. The library accepts other names too, but then writes another format."""

Labels = tuple[str, ...]


class Metrics:
    """All metrics of one daemon, in its own registry."""

    def __init__(self) -> None:
        """Register every metric of the catalogue."""
        # `_created` series would double the number of series, and Volcano has none.
        disable_created_metrics()  # type: ignore[no-untyped-call] # the library left it without types
        self.registry = CollectorRegistry(auto_describe=False)
        self._shapes: dict[str, Shape] = {}
        self._metrics: dict[str, Any] = {}
        self._series: dict[str, dict[Labels, Any]] = {}
        self._known_scalars: dict[str, set[str]] = {}
        self._adopted: set[str] = set()
        """Metrics of external plugins."""
        self._jobs: set[JobId] = set()
        """Jobs of the last call of `keep_jobs`."""
        self._names: Count[str] = Count()
        """Number of these jobs by their names without namespaces."""
        self._skipped_looks = _MOST_SKIPPED_LOOKS
        for name, shape in VOLCANO.items():
            self._register(VOLCANO_PREFIX + name, shape)
        for name, shape in OURS.items():
            self._register(name, shape)

    def text(self) -> bytes:
        """Return all metrics in the text format, including those of the API client and the process."""
        own = generate_latest(self.registry).decode()
        for name in _BARE_COUNTERS:
            own = own.replace(f"{name}_total", name)
        return own.encode() + generate_latest(REGISTRY)

    def put(self, name: str, value: float, *labels: str) -> None:
        """Set a gauge, by its full name."""
        self._child(name, labels).set(value)

    def add(self, name: str, value: float, *labels: str) -> None:
        """Add to a counter."""
        self._child(name, labels).inc(value)

    def observe(self, name: str, value: float, *labels: str) -> None:
        """Add a value to a histogram. A negative value, from a clock that ran back, counts as zero."""
        self._child(name, labels).observe(max(value, 0.0))

    def value(self, name: str, *labels: str) -> float | None:
        """Return the value of a gauge or counter series, or None if there is no such series."""
        child = self._series[name].get(labels)
        return None if child is None else float(child._value.get())  # noqa: SLF001 - the library offers no other way

    def replace(self, name: str, values: Mapping[Labels, float]) -> None:
        """Replace all series of a gauge by `values`."""
        for labels in [labels for labels in self._series[name] if labels not in values]:
            self._remove(name, labels)
        for labels, value in values.items():
            self.put(name, value, *labels)

    def apply(self, samples: Iterable[Sample]) -> None:
        """Apply the samples of a cycle, in order."""
        for (metric, queue), group in groupby(samples, key=_update):
            scalars = set()
            for sample in group:
                if self._apply_one(sample) and sample.metric.endswith(SCALARS):
                    scalars.add(dict(sample.labels)["resource"])
            if metric:
                self._zero_scalars(metric, queue, scalars)

    def show_shares(self, shares: Mapping[JobId, JobShare], *, limit: int = JOB_SHARES_SHOWN) -> None:
        """Publish the shares of jobs, and the dominant resources of the jobs with the largest shares."""
        self.replace(f"{VOLCANO_PREFIX}job_share", {_split(job): share.share for job, share in shares.items()})
        largest = sorted(shares.items(), key=lambda item: (-item[1].share, item[0]))[:limit]
        self.replace(
            "pyroclast_job_dominant_share",
            {(*_split(job), share.resource): share.share for job, share in largest},
        )

    def keep_queues(self, queues: Collection[str]) -> None:
        """Remove the series of all other queues."""
        for name, shape in self._shapes.items():
            if "queue_name" in shape.labels:
                place = shape.labels.index("queue_name")
                self.drop(name, [labels for labels in self._series[name] if labels[place] not in queues])
        for queue in self._known_scalars.keys() - set(queues):
            del self._known_scalars[queue]

    def keep_resources(self, resources: Collection[str]) -> None:
        """Remove the series of queues about all other resources. Pods may name ever new ones."""
        for name, shape in self._shapes.items():
            if name.endswith(SCALARS):
                place = shape.labels.index("resource")
                self.drop(name, [labels for labels in self._series[name] if labels[place] not in resources])
        for known in self._known_scalars.values():
            known.intersection_update(resources)

    def keep_jobs(self, jobs: Collection[JobId]) -> None:
        """Remove the series of all other jobs. Most calls only compare the jobs with those of the last call."""
        gone, new = self._jobs - set(jobs), [job for job in jobs if job not in self._jobs]
        self._jobs.difference_update(gone)
        self._jobs.update(new)
        self._names.update(_split(job)[1] for job in new)
        self._names.subtract(_split(job)[1] for job in gone)
        # a job that was never passed may have series: it was gone before the next call
        self._skipped_looks += 1
        if not gone and self._skipped_looks < _MOST_SKIPPED_LOOKS:
            return
        self._skipped_looks, self._names = 0, +self._names
        for metric in _JOB_METRICS:
            name = VOLCANO_PREFIX + metric
            labels = self._shapes[name].labels
            # Some metrics have only the name as a label. `itemgetter` on tuples is fast: each job has several series.
            job_of = itemgetter(*(labels.index(label) for label in _JOB_LABELS if label in labels))
            if _JOB_NAMESPACES.intersection(labels):
                gone_series = [each for each in self._series[name] if "/".join(job_of(each)) not in self._jobs]
            else:
                gone_series = [each for each in self._series[name] if job_of(each) not in self._names]
            self.drop(name, gone_series)

    def _register(self, name: str, shape: Shape) -> None:
        kinds: Mapping[str, Any] = {"gauge": Gauge, "counter": Counter, "histogram": Histogram}
        extra = {"buckets": shape.buckets} if shape.kind == "histogram" and shape.buckets else {}
        metric = kinds[shape.kind](name, shape.about, shape.labels, registry=self.registry, **extra)
        self._shapes[name], self._metrics[name] = shape, metric
        self._series[name] = {} if shape.labels else {(): metric}

    def _child(self, name: str, labels: Labels) -> Any:
        """Return one series. Series are cached, because the library's look-up costs more than the update."""
        series = self._series[name]
        child = series.get(labels)
        if child is None:
            child = series[labels] = self._metrics[name].labels(*labels)
        return child

    def drop(self, name: str, gone: Iterable[Labels]) -> None:
        """Remove existing series."""
        for labels in gone:
            self._remove(name, labels)

    def _remove(self, name: str, labels: Labels) -> None:
        del self._series[name][labels]
        self._metrics[name].remove(*labels)

    def _apply_one(self, sample: Sample) -> bool:
        """Apply a sample. Return whether it fits its metric. An unknown metric is registered as a plugin's own."""
        ours = _OWN_PREFIX + sample.metric
        name = ours if ours in OURS else VOLCANO_PREFIX + sample.metric
        given = dict(sample.labels)
        shape = self._shapes.get(name)
        if shape is None:
            shape = self._adopt(name, sample)
        if shape is None:
            self._drop(sample)
            return False
        if shape.kind != sample.kind or given.keys() != set(shape.labels) or self._is_full(name, given, shape):
            self._drop(sample)
            return False
        labels = tuple(given[label] for label in shape.labels)
        change = {"gauge": self.put, "counter": self.add, "histogram": self.observe}[shape.kind]
        change(name, sample.value, *labels)
        return True

    def _drop(self, sample: Sample) -> None:
        """Count a dropped sample by its metric; further metrics beyond the limit count together."""
        is_new = (sample.metric,) not in (counted := self._series[_DROPPED])
        self.add(_DROPPED, 1, "others" if is_new and len(counted) >= _MOST_ADOPTED else sample.metric)

    def _is_full(self, name: str, given: Mapping[str, str], shape: Shape) -> bool:
        """Return whether a plugin's metric has reached its limit and this is a new series."""
        series = self._series[name]
        return (
            name in self._adopted
            and len(series) >= _MOST_SERIES
            and tuple(given[label] for label in shape.labels) not in series
        )

    def _adopt(self, name: str, sample: Sample) -> Shape | None:
        """Register the metric of an external plugin from its first sample."""
        if sample.kind not in {"gauge", "counter", "histogram"} or not _METRIC_NAME.fullmatch(name):
            return None
        if len(self._adopted) >= _MOST_ADOPTED:
            return None
        shape = Shape(sample.kind, tuple(label for label, _ in sample.labels), "Reported by a plugin.")  # type: ignore[arg-type] # the line above narrows it
        try:
            self._register(name, shape)
        except ValueError:  # a label that Prometheus does not accept
            return None
        self._adopted.add(name)
        return shape

    def _zero_scalars(self, metric: str, queue: str, reported: set[str]) -> None:
        """Set scalar resources to zero that a queue reported earlier and does not report now."""
        known = self._known_scalars.setdefault(queue, set())
        name = VOLCANO_PREFIX + metric
        for resource in known - reported:
            self.put(name, 0.0, queue, resource)
        known |= reported


_JOB_METRICS: Final = (
    "e2e_job_scheduling_duration",
    "e2e_job_scheduling_start_time",
    "e2e_job_scheduling_last_time",
    "unschedule_task_count",
    "job_share",
    "job_retry_counts",
)


_JOB_NAMESPACES: Final = frozenset({"job_namespace", "job_ns"})
_JOB_LABELS: Final = (*sorted(_JOB_NAMESPACES), "job_name", "job_id")
"""Labels that name a job, namespaces first."""


def _update(sample: Sample) -> tuple[str, str]:
    """Return the (metric, queue) of a queue's scalar metric that a sample updates; empty for other samples."""
    metric = sample.metric
    if not metric.startswith(_QUEUE_PREFIX):
        return "", ""
    for end in (SCALARS, _UPDATE_OF_SCALARS, "_memory_bytes"):
        if metric.endswith(end):
            return metric.removesuffix(end) + SCALARS, dict(sample.labels).get("queue_name", "")
    return "", ""


def _split(job: JobId) -> tuple[str, str]:
    namespace, _, name = job.partition("/")
    return namespace, name
