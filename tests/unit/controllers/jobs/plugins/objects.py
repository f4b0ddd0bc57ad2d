"""Jobs in a few words."""

from typing import Any

import msgspec

from pyroclast.controllers.jobs.plugins.registry import plugins_of
from pyroclast.controllers.jobs.pods import build_pod
from pyroclast.model.api.batch import Job

Json = dict[str, Any]


def task(name: str, replicas: int = 1, **template: Any) -> Json:
    """Describe a task; `template` is the spec of its pods, one container named as the task by default."""
    spec = {"containers": [{"name": name, "image": "train"}], **template}
    return {"name": name, "replicas": replicas, "template": {"spec": spec}}


def job(*tasks: Json, name: str = "train", plugins: Json | None = None, **spec: Any) -> Job:
    """Make a job of tasks and plugins."""
    return msgspec.convert(
        {
            "metadata": {"name": name, "namespace": "team", "uid": "u"},
            "spec": {"tasks": list(tasks), "plugins": plugins or {}, "schedulerName": "volcano", **spec},
        },
        Job,
    )


def pod(of: Job, task_name: str, index: int = 0) -> Json:
    """Make a pod of a job, completed by the job's plugins."""
    spec = next(each for each in of.spec.tasks if each.name == task_name)
    made = build_pod(of, spec, index)
    for plugin in plugins_of(of):
        plugin.on_pod(of, spec, index, made)
    return made


def env(container: Json) -> Json:
    """Return a container's variables; of one name the last holds."""
    return {each["name"]: each.get("value", each.get("valueFrom")) for each in container.get("env", [])}


def regular(made: Json, position: int = 0) -> Json:
    """Return a regular container."""
    found: Json = made["spec"]["containers"][position]
    return found
