"""The statuses that a kubelet writes."""

from typing import Any

from pyroclast.model import wire

__all__ = ["ended", "refused", "running"]

_ALIVE = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady")


def running(pod: wire.Pod, now: str, *, host_ip: str, pod_ip: str) -> dict[str, Any]:
    """All containers run."""
    return {
        "phase": "Running",
        "startTime": now,
        "hostIP": host_ip,
        "hostIPs": [{"ip": host_ip}],
        "podIP": pod_ip,
        "podIPs": [{"ip": pod_ip}],
        "conditions": [{"type": type_, "status": "True", "lastTransitionTime": now} for type_ in _ALIVE],
        "containerStatuses": [
            _container(container, is_ready=True, state={"running": {"startedAt": now}})
            for container in pod.spec.containers
        ],
    }


def ended(pod: wire.Pod, now: str, *, exit_code: int) -> dict[str, Any]:
    """All containers have ended, well or not."""
    has_failed = exit_code != 0
    reason = "Error" if has_failed else "Completed"
    terminated = {
        "exitCode": exit_code,
        "reason": reason,
        "startedAt": pod.status.start_time or now,
        "finishedAt": now,
    }
    unready = "PodFailed" if has_failed else "PodCompleted"
    return {
        "phase": "Failed" if has_failed else "Succeeded",
        "conditions": [
            {"type": type_, "status": "False", "reason": unready, "lastTransitionTime": now}
            for type_ in ("Ready", "ContainersReady")
        ],
        "containerStatuses": [
            _container(container, is_ready=False, state={"terminated": terminated}) for container in pod.spec.containers
        ],
    }


def refused(reason: str, message: str, now: str) -> dict[str, Any]:
    """The node did not take the pod."""
    return {
        "phase": "Failed",
        "reason": reason,
        "message": f"Pod was rejected: {message}",
        "startTime": now,
    }


def _container(container: wire.Container, *, is_ready: bool, state: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": container.name,
        "image": container.image,
        "imageID": f"hollow://{container.image}",
        "containerID": "",
        "ready": is_ready,
        "started": is_ready,
        "restartCount": 0,
        "state": state,
    }
