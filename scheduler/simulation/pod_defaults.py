"""Defaulting: sets the fields of pods that an API server would set when it admits them.

Pods from a server have these fields already and stay unchanged.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from pyroclast.cache.files.objects import unfolded

__all__ = ["as_admitted"]

_Object = Mapping[str, Any]

_OF_THE_SYSTEM: Final[Mapping[str, _Object]] = {
    "system-cluster-critical": {"value": 2_000_000_000},
    "system-node-critical": {"value": 2_000_001_000},
}
_NO_CLASS: Final[_Object] = {"value": 0}


def as_admitted(objects: Iterable[_Object]) -> tuple[_Object, ...]:
    """Set requests of containers that have only limits, and the priority from the pod's PriorityClass."""
    known = tuple(unfolded(objects))
    classes = dict(_OF_THE_SYSTEM)
    for each in known:
        if each.get("kind") == "PriorityClass" and _is_priority(each.get("value")):
            classes[_name(each)] = each
    # If there are several default classes, the lowest value wins, as in Kubernetes.
    defaults = [each for each in classes.values() if each.get("globalDefault") is True]
    default = min(defaults, key=lambda each: int(each["value"]), default=_NO_CLASS)
    return tuple(_pod(each, classes, default) if each.get("kind") == "Pod" else each for each in known)


def _name(each: _Object) -> str:
    metadata = each.get("metadata")
    return str(metadata.get("name")) if isinstance(metadata, Mapping) else ""


def _is_priority(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _pod(pod: _Object, classes: Mapping[str, _Object], default: _Object) -> _Object:
    spec = pod.get("spec")
    if not isinstance(spec, Mapping):
        return pod  # the reader reports the fault
    filled = {**spec, **{part: _containers(spec[part]) for part in ("containers", "initContainers") if part in spec}}
    named = spec.get("priorityClassName")
    priority = classes.get(str(named)) if named else default
    if priority is not None and spec.get("priority") is None:
        filled["priority"] = priority["value"]
        if policy := spec.get("preemptionPolicy") or priority.get("preemptionPolicy"):
            filled["preemptionPolicy"] = policy
    return {**pod, "spec": filled}


def _containers(containers: Any) -> Any:
    return [_container(each) for each in containers] if isinstance(containers, list) else containers


def _container(container: Any) -> Any:
    resources = container.get("resources") if isinstance(container, Mapping) else None
    if not (isinstance(resources, Mapping) and isinstance(limits := resources.get("limits"), Mapping)):
        return container
    requests = resources.get("requests")
    if requests is not None and not isinstance(requests, Mapping):
        return container
    return {**container, "resources": {**resources, "requests": {**limits, **(requests or {})}}}
