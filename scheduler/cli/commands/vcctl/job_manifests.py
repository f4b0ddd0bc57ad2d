"""Manifests of new jobs: from flags, as vcctl creates them, or from files."""

import argparse
from collections.abc import Mapping
from typing import Any, Final

from pyroclast.kube.resources import JOBS
from pyroclast.model.errors import ConfigError
from pyroclast.scheduler.cli.commands.vcctl.output_formats import Object
from pyroclast.scheduler.simulation.object_reader import read_objects

__all__ = ["job_of_flags", "jobs_of_file"]

_LABEL: Final = "job.volcano.sh"
"""Label on the pods of jobs created from flags. Its value is the name of the job."""


def job_of_flags(given: argparse.Namespace, name: str) -> Object:
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


def jobs_of_file(path: str) -> list[Object]:
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
