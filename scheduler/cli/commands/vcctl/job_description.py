"""Description of a job for users: its spec, its status and its events."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from pyroclast.model.api.batch import Job, TaskSpec
from pyroclast.model.api.names import LENT
from pyroclast.scheduler.cli.commands.vcctl.ages import age
from pyroclast.scheduler.cli.commands.vcctl.output_formats import Column, Object, table

__all__ = ["description", "events_of", "lent_pods"]

_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
"""The whole manifest on one line. `kubectl describe` leaves it out too."""


def description(job: Job, events: Sequence[Object], now: datetime, *, lent: int = 0) -> str:
    """Describe a job.

    Args:
        job: The job.
        events: Its events.
        now: Ages are relative to this time.
        lent: Number of its pods on resources that the queue borrowed, which other queues can reclaim first.
    """
    on_lent_room = _lines("On Lent Room", [str(lent)]) if lent else []
    return "\n".join([*_head(job), *_tasks(job), *_status(job), *on_lent_room, *_events(events, now)])


def events_of(job: Object, events: Iterable[Object]) -> list[Object]:
    """Return the events of a job, oldest first. The UID excludes an earlier job of the same name."""
    uid = job["metadata"]["uid"]
    about = [event for event in events if (event.get("involvedObject") or {}).get("uid") == uid]
    return sorted(about, key=lambda event: (_seen(event), event["metadata"]["name"]))


def lent_pods(pods: Iterable[Object]) -> int:
    """Count the active pods on resources that their queue borrowed."""
    return sum(_is_lent(pod) and _phase(pod) not in {"Succeeded", "Failed"} for pod in pods)


def _is_lent(pod: Object) -> bool:
    return (pod["metadata"].get("annotations") or {}).get(LENT) == "true"


def _phase(pod: Object) -> str:
    return str((pod.get("status") or {}).get("phase", ""))


def _head(job: Job) -> list[str]:
    spec = job.spec
    topology = spec.network_topology
    return [
        *_lines("Name", [job.metadata.name]),
        *_lines("Namespace", [job.metadata.namespace]),
        *_lines("Labels", _pairs(job.metadata.labels)),
        *_lines("Annotations", _pairs({k: v for k, v in job.metadata.annotations.items() if k != _APPLIED})),
        *_lines("Created", [job.metadata.creation_timestamp]),
        *_lines("Queue", [spec.queue]),
        *_lines("Scheduler", [spec.scheduler_name]),
        *_lines("Priority Class", [spec.priority_class_name]),
        *_lines("Min Available", [str(job.status.min_available or spec.min_available)]),
        *_lines("Max Retry", [str(spec.max_retry)]),
        *_lines("Plugins", [" ".join([name, *spec.plugins[name]]) for name in sorted(spec.plugins)]),
        *(_lines("Topology", [f"{topology.mode}, tier {_tier(topology)}"]) if topology else []),
    ]


def _tier(topology: Any) -> str:
    if topology.highest_tier_allowed is not None:
        return str(topology.highest_tier_allowed)
    return topology.highest_tier_name or "<none>"


def _lines(name: str, values: Iterable[str]) -> list[str]:
    """Return one line for each value, the first with its name; `<none>` if there is no value."""
    first, *rest = [value for value in values if value] or ["<none>"]
    return [f"{name + ':':<16}{first}", *(f"{'':<16}{value}" for value in rest)]


def _pairs(mapping: Mapping[str, str]) -> list[str]:
    return [f"{key}={mapping[key]}" for key in sorted(mapping)]


def _tasks(job: Job) -> list[str]:
    counts = job.status.task_status_count

    def pods(task: TaskSpec) -> str:
        phases = counts[task.name].phase if task.name in counts else {}
        return ",".join(f"{phase}={phases[phase]}" for phase in sorted(phases))

    columns: tuple[Column[TaskSpec], ...] = (
        Column(heading="NAME", cell=lambda task: task.name),
        Column(heading="REPLICAS", cell=lambda task: task.replicas),
        Column(heading="MIN", cell=lambda task: task.replicas if task.min_available is None else task.min_available),
        Column(heading="IMAGES", cell=_images),
        Column(heading="PODS", cell=pods),
    )
    return ["Tasks:", *_indented(table(columns, job.spec.tasks))]


def _images(task: TaskSpec) -> str:
    containers = (task.template.get("spec") or {}).get("containers") or ()
    return ",".join(str(container.get("image", "")) for container in containers if isinstance(container, dict))


def _status(job: Job) -> list[str]:
    status, state = job.status, job.status.state
    counts = {
        "Pending": status.pending,
        "Running": status.running,
        "Succeeded": status.succeeded,
        "Failed": status.failed,
        "Terminating": status.terminating,
        "Unknown": status.unknown,
    }
    pods = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    cause = " ".join(part for part in (state.reason, state.message) if part)
    lines = [
        *_lines("Phase", [state.phase]),
        *(_lines("Cause", [cause]) if cause else []),
        *_lines("Pods", [pods]),
        *(_lines("Retries", [str(status.retry_count)]) if status.retry_count else []),
        *(_lines("Version", [str(status.version)]) if status.version else []),
        *(_lines("Running For", [status.running_duration]) if status.running_duration else []),
    ]
    resources = status.controlled_resources
    if resources:
        lines += _lines("Controlled", _pairs(resources))
    if status.conditions:
        lines += _lines("Phases", [f"{each.last_transition_time} {each.status}" for each in status.conditions])
    return lines


def _events(events: Sequence[Object], now: datetime) -> list[str]:
    if not events:
        return ["Events:         <none>"]
    columns: tuple[Column[Object], ...] = (
        Column(heading="TYPE", cell=lambda event: event.get("type", "")),
        Column(heading="REASON", cell=lambda event: event.get("reason", "")),
        Column(heading="AGE", cell=lambda event: _event_age(event, now)),
        Column(heading="FROM", cell=_origin),
        Column(heading="MESSAGE", cell=lambda event: str(event.get("message", "")).strip()),
    )
    return ["Events:", *_indented(table(columns, events))]


def _event_age(event: Object, now: datetime) -> str:
    last = age(_seen(event), now)
    count = event.get("count") or (event.get("series") or {}).get("count") or 1
    first = event.get("firstTimestamp") or event.get("eventTime") or ""
    return f"{last} (x{count} over {age(first, now)})" if count > 1 else last


def _seen(event: Object) -> str:
    series = event.get("series") or {}
    return str(series.get("lastObservedTime") or event.get("lastTimestamp") or event.get("eventTime") or "")


def _origin(event: Object) -> str:
    source = event.get("source") or {}
    return str(source.get("component") or event.get("reportingComponent") or "")


def _indented(text: str) -> list[str]:
    return [f"  {line}" for line in text.splitlines()]
