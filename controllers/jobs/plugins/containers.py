"""Containers: adds variables, ports and mounts to the containers of a pod in plain JSON."""

import hashlib
from collections.abc import Iterator
from typing import Any, Final

from pyroclast.controllers.admission.rules.names import is_dns_label
from pyroclast.controllers.jobs.plugins.plugin import Json

__all__ = ["add_env", "add_port", "add_volume", "all_containers", "containers", "mount", "volume_name"]

_HEAD: Final = 50
_TAIL: Final = 12
"""Number of characters of the name, and of the suffix that distinguishes names with the same beginning."""


def containers(pod: Json) -> list[Json]:
    """Return the regular containers."""
    found: list[Json] = pod["spec"].get("containers") or []
    return found


def all_containers(pod: Json) -> Iterator[Json]:
    """Yield the init containers, then the regular ones."""
    yield from pod["spec"].get("initContainers") or ()
    yield from containers(pod)


def add_env(container: Json, variables: list[Json]) -> None:
    """Append variables. They take precedence over the user's variables of the same name."""
    container["env"] = [*(container.get("env") or ()), *(dict(each) for each in variables)]


def add_port(container: Json, name: str, port: int) -> None:
    """Add a port if it is missing."""
    ports: list[dict[str, Any]] = container.get("ports") or []
    if all(each.get("containerPort") != port for each in ports):
        container["ports"] = [*ports, {"name": name, "containerPort": port}]


def mount(container: Json, volume_mount: Json) -> None:
    """Add a mount."""
    container["volumeMounts"] = [*(container.get("volumeMounts") or ()), dict(volume_mount)]


def add_volume(pod: Json, volume: Json) -> None:
    """Add a volume."""
    pod["spec"]["volumes"] = [*(pod["spec"].get("volumes") or ()), volume]


def volume_name(name: str) -> str:
    """Return the volume name of an object that is named after the Job. Unlike that name, it is always a DNS label."""
    if is_dns_label(name):
        return name
    return f"{name.replace('.', '-')[:_HEAD]}-{hashlib.sha256(name.encode()).hexdigest()[:_TAIL]}"
