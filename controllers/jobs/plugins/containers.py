"""What plugins do to containers of a pod, which are plain JSON: variables, ports, mounts."""

from collections.abc import Iterator
from typing import Any

from controllers.jobs.plugins.plugin import Json

__all__ = ["add_env", "add_port", "add_volume", "all_containers", "containers", "mount"]


def containers(pod: Json) -> list[Json]:
    """Return the regular containers."""
    found: list[Json] = pod["spec"].get("containers") or []
    return found


def all_containers(pod: Json) -> Iterator[Json]:
    """Give the init containers, then the regular ones."""
    yield from pod["spec"].get("initContainers") or ()
    yield from containers(pod)


def add_env(container: Json, variables: list[Json]) -> None:
    """Append variables; of one name the last holds, so that a user's own is overruled."""
    container["env"] = [*(container.get("env") or ()), *(dict(each) for each in variables)]


def add_port(container: Json, name: str, port: int) -> None:
    """Open a port unless it is open."""
    ports: list[dict[str, Any]] = container.get("ports") or []
    if all(each.get("containerPort") != port for each in ports):
        container["ports"] = [*ports, {"name": name, "containerPort": port}]


def mount(container: Json, volume_mount: Json) -> None:
    """Append a mount."""
    container["volumeMounts"] = [*(container.get("volumeMounts") or ()), dict(volume_mount)]


def add_volume(pod: Json, volume: Json) -> None:
    """Append a volume."""
    pod["spec"]["volumes"] = [*(pod["spec"].get("volumes") or ()), volume]
