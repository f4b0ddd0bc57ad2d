"""Estimates of the usage of pods, and how long they count despite measurements."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Final

import msgspec

from pyroclast.model import wire
from pyroclast.model.colocation import (
    LOAD_SCALING_FACTORS,
    LOAD_SECONDS_AFTER_INITIALIZED,
    LOAD_SECONDS_AFTER_SCHEDULED,
    PROD,
    priority_class_of,
    resource_of,
)
from pyroclast.model.limits import pod_limit
from pyroclast.model.quantity import millis, units
from pyroclast.model.requests import LARGEST_REQUEST
from pyroclast.model.resources import CPU, MEMORY, MILLI
from pyroclast.model.tasks import Task
from pyroclast.plugins.load_aware.arguments import LoadAwareArgs
from pyroclast.plugins.load_aware.arithmetic import estimate

__all__ = ["Estimates", "Row"]

Row = tuple[int, ...]
"""Amounts by resource, in the order of the arguments' resources."""

_LIGHT: Final = {
    CPU: 250,
    MEMORY: 200 * 2**20,
    "kubernetes.io/batch-cpu": 250,
    "kubernetes.io/batch-memory": 200 * 2**20,
}
"""Estimate for a pod without a request and limit."""
_FACTORS: Final = msgspec.json.Decoder(dict[str, int])
_LARGEST_TEXT: Final = 18
"""Maximum number of characters of a number of seconds."""
_SHOWN: Final = 100
"""Maximum number of characters of an annotation in a message."""


@dataclass(slots=True, kw_only=True)
class Estimates:
    """Estimates for templates and pods of one session."""

    args: LoadAwareArgs
    resources: tuple[str, ...]
    bad_pods: dict[str, tuple[Task, str]] = field(default_factory=dict)
    """Pods with an invalid annotation, with the fault, by pod and annotation."""
    bad_templates: dict[int, str] = field(default_factory=dict)
    """Faults of all pods of a template, by template number."""
    _by_template: dict[int, Row] = field(default_factory=dict)
    _is_prod: dict[int, bool] = field(default_factory=dict)

    def of(self, task: Task) -> Row:
        """Return the estimated usage of a task."""
        known = self._by_template.get(task.template.number)
        if known is None:
            known = self._by_template[task.template.number] = self._estimate(task)
        return known

    def is_prod(self, task: Task) -> bool:
        """Return whether a task is of the class koord-prod."""
        known = self._is_prod.get(task.template.number)
        if known is None:
            known = self._is_prod[task.template.number] = priority_class_of(task.pod) == PROD
        return known

    def counts(self, task: Task, measured: float | None, interval_seconds: int) -> bool:
        """Return whether a task's estimate counts in addition to its measured usage.

        Args:
            task: A task on a node.
            measured: Time of the node's measurement; None if unknown.
            interval_seconds: Interval between measurements.
        """
        since, last = _placed(task.pod), 0.0 if measured is None else measured
        return since > last - interval_seconds or self._deadline(task, since) > last

    def _deadline(self, task: Task, placed: float) -> float:
        """Return until when a task's estimate counts, in seconds since 1970; 0 for no such time."""
        args, seconds = self.args, self._seconds
        after_initialized = seconds(task, LOAD_SECONDS_AFTER_INITIALIZED, args.seconds_after_initialized)
        if after_initialized:
            initialized = _since(task.pod, "Initialized")
            if initialized is not None:
                return initialized + after_initialized
        after_placed = seconds(task, LOAD_SECONDS_AFTER_SCHEDULED, args.seconds_after_scheduled)
        return placed + after_placed if after_placed else 0.0

    def _seconds(self, task: Task, annotation: str, otherwise: int) -> int:
        """Return the value of an annotation if annotations count; otherwise, or if it is invalid, the default."""
        text = task.pod.metadata.annotations.get(annotation) if self.args.customised else None
        if not text:
            return otherwise
        if not (text.isascii() and text.isdigit() and len(text) <= _LARGEST_TEXT):
            fault = _fault(annotation, text, "a whole number of at least 0")
            self.bad_pods[f"{task.key}/{annotation}"] = task, fault
            return otherwise
        return int(text)

    def _estimate(self, task: Task) -> Row:
        factors = self._factors(task)
        priority_class = priority_class_of(task.pod)
        return tuple(
            _estimated_use(task, resource_of(priority_class, name), factors[name]) if name in factors else 0
            for name in self.resources
        )

    def _factors(self, task: Task) -> Mapping[str, int]:
        text = task.pod.metadata.annotations.get(LOAD_SCALING_FACTORS) if self.args.customised else None
        if not text:
            return self.args.factors
        try:
            own = _FACTORS.decode(text)
        except (msgspec.DecodeError, RecursionError):
            own = None
        if own is None or any(factor < 0 for factor in own.values()):
            expected = "whole percentages of at least 0 by resource, as JSON"
            self.bad_templates[task.template.number] = _fault(LOAD_SCALING_FACTORS, text, expected)
            return self.args.factors
        return {**self.args.factors, **own}


def _fault(annotation: str, text: str, expected: str) -> str:
    shown = text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
    return f"{annotation}: got {shown!r}, expected {expected}"


def _estimated_use(task: Task, asked_as: str | None, factor: int) -> int:
    """Return the estimated usage of a resource; 0 if `asked_as`, the name in the pod's priority class, is None."""
    if asked_as is None:
        return 0
    request = task.template.request.get(asked_as, 0)
    limit = pod_limit(task.template.spec, asked_as)
    amounts = (request, millis(limit)) if asked_as == CPU else (-(-request // MILLI), units(limit))
    request, most = (min(amount, LARGEST_REQUEST) for amount in amounts)
    return min(estimate(request, most, factor, otherwise=_LIGHT.get(asked_as, 0)), LARGEST_REQUEST)


def _placed(pod: wire.Pod) -> float:
    """Return when a pod was scheduled, in seconds since 1970; infinity (just now) if unknown."""
    scheduled = _since(pod, "PodScheduled")
    if scheduled is not None:
        return scheduled
    return _moment(pod.status.start_time) or inf


def _since(pod: wire.Pod, condition: str) -> float | None:
    """Return since when a condition is true; None if it is not, or if the time is unknown."""
    found = next((each for each in pod.status.conditions if each.type == condition and each.status == "True"), None)
    return None if found is None else _moment(found.last_transition_time) or None


def _moment(text: str) -> float:
    """Parse a time; 0 if it is missing or invalid."""
    try:
        return wire.unix_seconds(text)
    except ValueError:
        return 0.0
