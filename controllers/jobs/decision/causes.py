"""Causes: why a pod is pending or failed, as text from its status."""

from collections.abc import Iterator
from itertools import chain
from typing import Final

from pyroclast.model.wire import ContainerStateTerminated, ContainerStatus, Pod

__all__ = ["exit_codes", "failed_pod", "why_failed", "why_pending"]

_LONGEST: Final = 300
"""Maximum number of characters of a message in the status of a Job."""


def exit_codes(pod: Pod) -> tuple[int, ...]:
    """Return the exit codes of the failed containers: regular containers first, then init containers."""
    return tuple(dict.fromkeys(ended.exit_code for _, ended in _failures(pod)))


def why_failed(pod: Pod) -> str:
    """Return why a pod failed, without its exit code: reason and message of the pod, or of the failed container."""
    if pod.status.reason or pod.status.message:
        return _clipped(_joined(pod.status.reason, pod.status.message))
    name, ended = next(_failures(pod), ("", None))
    cause = _joined(ended.reason, ended.message.strip()) if ended is not None else ""
    is_only = sum(1 for _ in _statuses(pod)) == 1
    return _clipped(_joined(f"container {name}" if name and not (is_only and not cause) else "", cause))


def why_pending(pod: Pod) -> str:
    """Return why a pod does not run: it has no node, or a container cannot start. Empty if the reason is unknown."""
    for condition in pod.status.conditions:
        if condition.type == "PodScheduled" and condition.status == "False":
            return _clipped(condition.message or condition.reason)
    for status in _statuses(pod):
        waiting = status.state.waiting
        if waiting is not None and waiting.reason:
            return _clipped(_joined(f"container {status.name} waits", waiting.reason, waiting.message))
    return ""


def failed_pod(pod: Pod) -> str:
    """Return the message that a pod failed, with the reason."""
    codes = exit_codes(pod)
    code = f" with exit code {codes[0]}" if codes else ""
    return _joined(f"pod {pod.metadata.name} failed{code}", why_failed(pod))


def _failures(pod: Pod) -> Iterator[tuple[str, ContainerStateTerminated]]:
    """Yield the containers that ended with an exit code other than 0."""
    for status in _statuses(pod):
        ended = status.state.terminated
        if ended is not None and ended.exit_code:
            yield status.name, ended


def _statuses(pod: Pod) -> Iterator[ContainerStatus]:
    return chain(pod.status.container_statuses, pod.status.init_container_statuses)


def _joined(*parts: str) -> str:
    return ": ".join(filter(None, parts))


def _clipped(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
