"""`pyroclast job`: list, view, run, suspend, resume and delete jobs."""

import argparse
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from pyroclast.kube.api.errors import ApiError
from pyroclast.kube.api.resources import EVENTS, JOBS, PODS
from pyroclast.model.api.batch import Job
from pyroclast.model.api.bus import LifecycleAction
from pyroclast.model.api.names import JOB_NAME, JOB_TYPE
from pyroclast.model.errors import ConfigError
from pyroclast.scheduler.cli.commands.vcctl.ages import age
from pyroclast.scheduler.cli.commands.vcctl.api_requests import CommandClient, run_command
from pyroclast.scheduler.cli.commands.vcctl.flags import names_of, print_line
from pyroclast.scheduler.cli.commands.vcctl.job_description import description, events_of, lent_pods
from pyroclast.scheduler.cli.commands.vcctl.job_parser import parser
from pyroclast.scheduler.cli.commands.vcctl.object_actions import command, delete
from pyroclast.scheduler.cli.commands.vcctl.object_output import fetch, show_made, show_objects
from pyroclast.scheduler.cli.commands.vcctl.output_formats import Column, Object, table
from pyroclast.scheduler.simulation.object_reader import read_objects

__all__ = ["columns", "main"]

_LABEL: Final = "job.volcano.sh"
"""Label on the pods of jobs created from flags. Its value is the name of the job."""


def columns(now: datetime, *, has_namespace: bool) -> tuple[Column[Job], ...]:
    """Return the columns of jobs. Ages are relative to `now`."""
    namespace: tuple[Column[Job], ...] = (Column(heading="NAMESPACE", cell=lambda job: job.metadata.namespace),)
    return (
        *(namespace if has_namespace else ()),
        Column(heading="NAME", cell=lambda job: job.metadata.name),
        Column(heading="PHASE", cell=lambda job: job.status.state.phase),
        Column(heading="JOBTYPE", cell=lambda job: job.metadata.labels.get(JOB_TYPE, "Batch")),
        Column(heading="REPLICAS", cell=lambda job: sum(task.replicas for task in job.spec.tasks)),
        Column(heading="MIN", cell=lambda job: job.status.min_available or job.spec.min_available),
        Column(heading="PENDING", cell=lambda job: job.status.pending),
        Column(heading="RUNNING", cell=lambda job: job.status.running),
        Column(heading="SUCCEEDED", cell=lambda job: job.status.succeeded),
        Column(heading="FAILED", cell=lambda job: job.status.failed),
        Column(heading="UNKNOWN", cell=lambda job: job.status.unknown),
        Column(heading="RETRYCOUNT", cell=lambda job: job.status.retry_count),
        Column(heading="AGE", cell=lambda job: age(job.metadata.creation_timestamp, now)),
        Column(heading="QUEUE", cell=lambda job: job.spec.queue, is_wide=True),
        Column(heading="SCHEDULER", cell=lambda job: job.spec.scheduler_name, is_wide=True),
        Column(heading="PRIORITYCLASS", cell=lambda job: job.spec.priority_class_name, is_wide=True),
        Column(heading="CREATION", cell=lambda job: job.metadata.creation_timestamp, is_wide=True),
    )


# --- commands ---------------------------------------------------------------------------------------------------------


async def show(given: argparse.Namespace, client: CommandClient) -> None:
    """List jobs."""
    if given.all_namespaces and names_of(given):
        raise ConfigError("a resource cannot be retrieved by name across all namespaces")
    found = [each for each in await fetch(given, client, JOBS) if _is_selected(given, each)]

    def as_table() -> str:
        shown = columns(datetime.now(UTC), has_namespace=given.all_namespaces)
        is_wide = given.output == "wide"
        return table(shown, client.decoded(JOBS, found), is_wide=is_wide, has_headings=not given.no_headers)

    show_objects(given, client, JOBS, found, as_table)


def _is_selected(given: argparse.Namespace, job: Object) -> bool:
    spec = job.get("spec") or {}
    return given.queue in {"", spec.get("queue")} and given.scheduler in {"", spec.get("schedulerName")}


async def view(given: argparse.Namespace, client: CommandClient) -> None:
    """Describe jobs."""
    if given.output:
        show_objects(given, client, JOBS, await fetch(given, client, JOBS), str)
        return
    texts: list[str] = []

    async def describe(name: str) -> None:
        found = await client.get(JOBS, name)
        events = events_of(found, await client.all_of(EVENTS))
        lent = lent_pods(await _pods_of(client, name))
        texts.extend(description(job, events, datetime.now(UTC), lent=lent) for job in client.decoded(JOBS, [found]))

    await client.each(JOBS, names_of(given), describe)
    if texts:
        print_line("\n\n\n".join(texts))


async def _pods_of(client: CommandClient, name: str) -> list[Object]:
    """Return the pods of a job, or none if they cannot be read: the rest of the description does not need them."""
    try:
        return await client.all_of(PODS, selector=f"{JOB_NAME}={name}")
    except ApiError:
        return []


async def run(given: argparse.Namespace, client: CommandClient) -> None:
    """Create jobs."""
    jobs = _jobs_of_file(given.filename) if given.filename else [_job_of_flags(given, name) for name in names_of(given)]
    placed = [(job, _namespace(job, given.namespace) or client.namespace) for job in jobs]

    async def make(job_in_namespace: tuple[Object, str]) -> None:
        job, namespace = job_in_namespace
        show_made(given, JOBS, await client.create(JOBS, job, namespace=namespace))

    await client.each(JOBS, placed, make)


def _namespace(job: Object, asked: str) -> str:
    """Return the namespace of a manifest.

    Raises:
        ConfigError: It differs from the requested namespace.
    """
    own = job["metadata"].get("namespace") or ""
    if asked and own and own != asked:
        raise ConfigError(
            f'the namespace from the provided object "{own}" does not match the namespace "{asked}". '
            f"You must pass '--namespace={own}' to perform this operation."
        )
    return str(own)


def main(arguments: Sequence[str]) -> int:
    """Run one command on jobs."""
    given = parser().parse_args(arguments)
    if not getattr(given, "filename", ""):
        names_of(given)
    return run_command(given, JOBS, partial(_ACTS[given.action], given))


_ACTS: Final[Mapping[str, Callable[[argparse.Namespace, CommandClient], Awaitable[None]]]] = {
    "list": show,
    "view": view,
    "run": run,
    "suspend": partial(command, resource=JOBS, action=LifecycleAction.ABORT_JOB),
    "resume": partial(command, resource=JOBS, action=LifecycleAction.RESUME_JOB),
    "delete": partial(delete, resource=JOBS),
}


def _job_of_flags(given: argparse.Namespace, name: str) -> Object:
    """Return a job of one task with one container."""
    container: Object = {
        "name": name,
        "image": given.image,
        "imagePullPolicy": "IfNotPresent",
        "resources": _resources(given.requests, given.limits),
    }
    if given.command:
        container["command"] = given.command
    template = {
        "metadata": {"name": name, "labels": {_LABEL: name}},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    spec: Object = {
        "schedulerName": given.scheduler,
        "minAvailable": given.min,
        "tasks": [{"name": "default0", "replicas": given.replicas, "template": template}],
    }
    if given.queue:
        spec["queue"] = given.queue
    return {"apiVersion": JOBS.api_version, "kind": JOBS.kind, "metadata": {"name": name}, "spec": spec}


def _resources(requests: Mapping[str, str], limits: Mapping[str, str]) -> Object:
    parts = {"requests": dict(requests), "limits": dict(limits)}
    return {name: part for name, part in parts.items() if part}


def _jobs_of_file(path: str) -> list[Object]:
    """Read jobs from a manifest, YAML or JSON, or from the manifests of a folder; `-` is standard input.

    Raises:
        ReadError: It cannot be read.
        ConfigError: It holds other objects.
    """
    documents = read_objects([path])
    if not documents:
        raise ConfigError(f"{path}: no objects passed to create")
    return [_job(document, path) for document in documents]


def _job(document: Mapping[str, Any], path: str) -> Object:
    found = (document.get("apiVersion"), document.get("kind"))
    if found != (JOBS.api_version, JOBS.kind):
        raise ConfigError(f"{path}: got {found[1]} of {found[0]}, expected {JOBS.kind} of {JOBS.api_version}")
    if not isinstance(document.get("metadata"), dict):
        raise ConfigError(f"{path}: metadata is missing")
    return dict(document)
