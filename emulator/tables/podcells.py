"""Table cells of a pod: ready containers, one word for its state, restarts."""

from typing import Any

from pyroclast.emulator.tables.ages import age_text, moment
from pyroclast.emulator.trees import items_at, number_at, object_at, text_at, value_at

__all__ = ["readiness_gates", "ready", "restarts", "status"]

NONE = "<none>"


def ready(pod: Any) -> str:
    """Ready containers of all that run for good, such as `1/2`."""
    total = len(items_at(pod, "spec", "containers")) + len(_sidecars(pod))
    if _initializing(pod):
        return f"{_ready_sidecars(pod)}/{total}"
    count = sum(
        value_at(container, "ready") is True and value_at(container, "state", "running") is not None
        for container in items_at(pod, "status", "containerStatuses")
    )
    return f"{count + _ready_sidecars(pod)}/{total}"


def status(pod: Any) -> str:
    """The pod's state in one word: its phase, or the reason that says more."""
    reason = text_at(pod, "status", "reason")
    if value_at(pod, "metadata", "deletionTimestamp") is not None:
        if reason == "NodeLost":
            return "Unknown"
        if text_at(pod, "status", "phase") not in ("Succeeded", "Failed"):
            return "Terminating"
    if _initializing(pod):
        return _initial_reason(pod)
    return _running_reason(pod) or _gate_reason(pod) or reason or text_at(pod, "status", "phase")


def restarts(pod: Any, now: Any) -> str:
    """Restarts of the containers, with the time since the last one."""
    containers = items_at(pod, "status", "initContainerStatuses")
    if not _initializing(pod):
        sidecars = _sidecars(pod)
        containers = [item for item in containers if value_at(item, "name") in sidecars]
        containers = containers + items_at(pod, "status", "containerStatuses")
    count = sum(number_at(container, "restartCount") for container in containers)
    ends = [text_at(container, "lastState", "terminated", "finishedAt") for container in containers]
    last = max(filter(None, ends), key=lambda end: moment(end) or 0.0, default="")
    return f"{count} ({age_text(last, now)} ago)" if count and last else str(count)


def readiness_gates(pod: Any) -> str:
    """Readiness gates that are open of those that the pod has."""
    gates = [text_at(gate, "conditionType") for gate in items_at(pod, "spec", "readinessGates")]
    if not gates:
        return NONE
    return f"{sum(_condition_status(pod, gate) == 'True' for gate in gates)}/{len(gates)}"


def _condition_status(pod: Any, name: str) -> str:
    for condition in items_at(pod, "status", "conditions"):
        if value_at(condition, "type") == name:
            return text_at(condition, "status")
    return ""


def _sidecars(pod: Any) -> set[str]:
    """Names of the init containers that keep running."""
    return {
        text_at(container, "name")
        for container in items_at(pod, "spec", "initContainers")
        if value_at(container, "restartPolicy") == "Always"
    }


def _ready_sidecars(pod: Any) -> int:
    sidecars = _sidecars(pod)
    return sum(
        value_at(container, "name") in sidecars
        and value_at(container, "started") is True
        and value_at(container, "ready") is True
        for container in items_at(pod, "status", "initContainerStatuses")
    )


def _unfinished_init_container(pod: Any) -> tuple[int, Any] | None:
    """The first init container that neither succeeded nor runs as a sidecar, with its place."""
    sidecars = _sidecars(pod)
    for place, container in enumerate(items_at(pod, "status", "initContainerStatuses")):
        ended = value_at(container, "state", "terminated")
        if isinstance(ended, dict) and number_at(ended, "exitCode") == 0:
            continue
        if value_at(container, "name") in sidecars and value_at(container, "started") is True:
            continue
        return place, container
    return None


def _initializing(pod: Any) -> bool:
    return _unfinished_init_container(pod) is not None and _condition_status(pod, "Initialized") != "True"


def _initial_reason(pod: Any) -> str:
    place, container = _unfinished_init_container(pod) or (0, {})
    state = object_at(container, "state")
    if isinstance(state.get("terminated"), dict):
        return f"Init:{_end_reason(state['terminated'])}"
    waiting = text_at(state, "waiting", "reason")
    if waiting and waiting != "PodInitializing":
        return f"Init:{waiting}"
    return f"Init:{place}/{len(items_at(pod, 'spec', 'initContainers'))}"


def _end_reason(ended: Any) -> str:
    if text_at(ended, "reason"):
        return text_at(ended, "reason")
    if number_at(ended, "signal"):
        return f"Signal:{number_at(ended, 'signal')}"
    return f"ExitCode:{number_at(ended, 'exitCode')}"


def _running_reason(pod: Any) -> str:
    """Why the first container that does not simply run does not; empty when all do."""
    reason = ""
    runs = False
    for container in reversed(items_at(pod, "status", "containerStatuses")):
        state = object_at(container, "state")
        if text_at(state, "waiting", "reason"):
            reason = text_at(state, "waiting", "reason")
        elif isinstance(state.get("terminated"), dict):
            reason = _end_reason(state["terminated"])
        elif value_at(container, "ready") is True and state.get("running") is not None:
            runs = True
    if reason == "Completed" and runs:
        return "Running" if _condition_status(pod, "Ready") == "True" else "NotReady"
    return reason


def _gate_reason(pod: Any) -> str:
    for condition in items_at(pod, "status", "conditions"):
        if value_at(condition, "type") == "PodScheduled" and value_at(condition, "reason") == "SchedulingGated":
            return "SchedulingGated"
    return ""
