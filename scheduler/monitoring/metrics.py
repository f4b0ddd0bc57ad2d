"""Metrics: what Prometheus reads from this process.

Decisions come as samples of a cycle's report and are applied here; series of queues and jobs go when their object goes.
"""

import re
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
"""Most jobs whose dominant share is shown; more would make the label set grow with the cluster's history."""

_QUEUE_PREFIX: Final = "queue_"
_UPDATE_OF_SCALARS: Final = "_milli_cpu"
"""A report of a queue's CPU is a report of its other resources too: those left out are zero."""

_BARE_COUNTERS: Final = ("total_preemption_attempts", "job_retry_counts")
"""Counters that Volcano names without `_total`, which the library appends."""

_OWN_PREFIX: Final = "pyroclast_"

_DROPPED: Final = "pyroclast_samples_dropped_total"
_MOST_ADOPTED: Final = 256
"""Metrics of plugins from outside; samples of others are dropped and counted, together."""
_MOST_SERIES: Final = 1000
"""Series of each of them, likewise."""

_METRIC_NAME: Final = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
"""The names of the text format; the library takes others too, and then writes another format."""

Labels = tuple[str, ...]


class Metrics:
    """All metrics of one daemon, in a registry of their own."""

    def __init__(self) -> None:
        """Register every metric of the catalogue."""
        # The moment a series began would double their number, and Volcano has none.
        disable_created_metrics()  # type: ignore[no-untyped-call] # the library left it without types
        self.registry = CollectorRegistry(auto_describe=False)
        self._shapes: dict[str, Shape] = {}
        self._metrics: dict[str, Any] = {}
        self._series: dict[str, dict[Labels, Any]] = {}
        self._known_scalars: dict[str, set[str]] = {}
        self._adopted: set[str] = set()
        """Metrics of plugins from outside."""
        for name, shape in VOLCANO.items():
            self._register(VOLCANO_PREFIX + name, shape)
        for name, shape in OURS.items():
            self._register(name, shape)

    def text(self) -> bytes:
        """Return everything in the text format; also what the client of the API server and the process count."""
        own = generate_latest(self.registry).decode()
        for name in _BARE_COUNTERS:
            own = own.replace(f"{VOLCANO_PREFIX}{name}_total", VOLCANO_PREFIX + name)
        return own.encode() + generate_latest(REGISTRY)

    def put(self, name: str, value: float, *labels: str) -> None:
        """Set a gauge of ours, or of Volcano by its full name."""
        self._child(name, labels).set(value)

    def add(self, name: str, value: float, *labels: str) -> None:
        """Add to a counter."""
        self._child(name, labels).inc(value)

    def observe(self, name: str, value: float, *labels: str) -> None:
        """Put a value into a histogram; clocks that ran back count as zero."""
        self._child(name, labels).observe(max(value, 0.0))

    def value(self, name: str, *labels: str) -> float | None:
        """Return the value of a gauge or counter series, or None where there is none."""
        child = self._series[name].get(labels)
        return None if child is None else float(child._value.get())  # noqa: SLF001 - the library offers no other way

    def replace(self, name: str, values: Mapping[Labels, float]) -> None:
        """Make `values` all the series of a gauge; others of it go."""
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
        """Show the shares of jobs, and the dominant resources of those with the largest."""
        self.replace(f"{VOLCANO_PREFIX}job_share", {_split(job): share.share for job, share in shares.items()})
        largest = sorted(shares.items(), key=lambda item: (-item[1].share, item[0]))[:limit]
        self.replace(
            "pyroclast_job_dominant_share",
            {(*_split(job), share.resource): share.share for job, share in largest},
        )

    def keep_queues(self, queues: Collection[str]) -> None:
        """Remove the series of all queues but these."""
        for name, shape in self._shapes.items():
            if "queue_name" in shape.labels:
                place = shape.labels.index("queue_name")
                self.drop(name, [labels for labels in self._series[name] if labels[place] not in queues])
        for queue in self._known_scalars.keys() - set(queues):
            del self._known_scalars[queue]

    def keep_jobs(self, jobs: Collection[JobId]) -> None:
        """Remove the series of all jobs but these."""
        pairs = set(map(_split, jobs))
        names = {name for _, name in pairs}
        for metric in _JOB_METRICS:
            name = VOLCANO_PREFIX + metric
            labels = self._shapes[name].labels
            # Some know the name alone. A tuple's places, not a mapping: there are several series for each of all jobs.
            job_of = itemgetter(*(labels.index(label) for label in _JOB_LABELS if label in labels))
            known: Collection[Any] = pairs if _JOB_NAMESPACES.intersection(labels) else names
            self.drop(name, [series for series in self._series[name] if job_of(series) not in known])

    def _register(self, name: str, shape: Shape) -> None:
        kinds: Mapping[str, Any] = {"gauge": Gauge, "counter": Counter, "histogram": Histogram}
        extra = {"buckets": shape.buckets} if shape.kind == "histogram" and shape.buckets else {}
        metric = kinds[shape.kind](name, shape.about, shape.labels, registry=self.registry, **extra)
        self._shapes[name], self._metrics[name] = shape, metric
        self._series[name] = {} if shape.labels else {(): metric}

    def _child(self, name: str, labels: Labels) -> Any:
        """Return one series; they are kept, since the library's own look-up costs more than counting."""
        series = self._series[name]
        child = series.get(labels)
        if child is None:
            child = series[labels] = self._metrics[name].labels(*labels)
        return child

    def drop(self, name: str, gone: Iterable[Labels]) -> None:
        """Remove series that are there."""
        for labels in gone:
            self._remove(name, labels)

    def _remove(self, name: str, labels: Labels) -> None:
        del self._series[name][labels]
        self._metrics[name].remove(*labels)

    def _apply_one(self, sample: Sample) -> bool:
        """Apply a sample; tell whether it fits its metric. A metric that nobody knows is a plugin's own."""
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
        """Count a sample that is dropped by its metric, those of ever new ones together."""
        is_new = (sample.metric,) not in (counted := self._series[_DROPPED])
        self.add(_DROPPED, 1, "others" if is_new and len(counted) >= _MOST_ADOPTED else sample.metric)

    def _is_full(self, name: str, given: Mapping[str, str], shape: Shape) -> bool:
        """Return whether a metric of a plugin has as many series as it may have, and this is a new one."""
        series = self._series[name]
        return (
            name in self._adopted
            and len(series) >= _MOST_SERIES
            and tuple(given[label] for label in shape.labels) not in series
        )

    def _adopt(self, name: str, sample: Sample) -> Shape | None:
        """Register the metric of a plugin from outside, by its first sample."""
        if sample.kind not in {"gauge", "counter", "histogram"} or not _METRIC_NAME.fullmatch(name):
            return None
        if len(self._adopted) >= _MOST_ADOPTED:
            return None
        shape = Shape(sample.kind, tuple(label for label, _ in sample.labels), "Reported by a plugin.")  # type: ignore[arg-type] # the line above narrows it
        try:
            self._register(name, shape)
        except ValueError:  # a label that Prometheus does not take
            return None
        self._adopted.add(name)
        return shape

    def _zero_scalars(self, metric: str, queue: str, reported: set[str]) -> None:
        """Report as zero what was once reported of a queue and now is not, instead of letting it stand."""
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
    """Return which update of a queue's scalar metric a sample is part of: (metric, queue), empty for other samples."""
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
