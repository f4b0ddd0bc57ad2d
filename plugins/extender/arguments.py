"""Arguments of extender, spelled as in the configuration file."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, fields
from typing import Final
from urllib.parse import urlsplit

from pyroclast.framework.configuration.arguments import argument
from pyroclast.model.durations import parse_duration
from pyroclast.model.errors import ArgumentError
from pyroclast.model.tasks import Task

__all__ = ["ExtenderArgs"]

_MOST_SECONDS: Final = 120
"""Longest timeout: a cycle waits as long, and a few such waits must not look like one that hangs."""


def _timeout(value: object) -> str:
    """Read how long an exchange may take; the text is kept as written."""
    expected = "a duration above 0s and at most 2m, such as 100ms"
    try:
        seconds = parse_duration(value)
    except ValueError:
        raise ValueError(expected) from None
    if not 0 < seconds <= _MOST_SECONDS:
        raise ValueError(expected)
    return str(value)


def _names(value: object) -> tuple[str, ...]:
    """Read a list of names; a single text is none, for it would silently be a list of one."""
    if not isinstance(value, list) or not all(isinstance(each, str) and each for each in value):
        raise ValueError("a list of names of resources")
    return tuple(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtenderArgs:
    """Arguments of extender."""

    url_prefix: str = argument("extender.urlPrefix", "", refuse=True)
    """Where the service is: verbs are put behind it."""
    http_timeout: str = argument("extender.httpTimeout", "1s", parse=_timeout)
    """For the whole of one exchange, as Go writes durations."""
    on_session_open_verb: str = argument("extender.onSessionOpenVerb", "")
    """Told of the whole cluster as a cycle begins."""
    on_session_close_verb: str = argument("extender.onSessionCloseVerb", "")
    """Told that a cycle ends."""
    predicate_verb: str = argument("extender.predicateVerb", "")
    """Asked whether a node may take a task."""
    batch_predicate_verb: str = argument("extender.batchPredicateVerb", "")
    """Asked the same of many nodes in one call; goes before `predicateVerb`."""
    prioritize_verb: str = argument("extender.prioritizeVerb", "")
    """Asked to score nodes for a task."""
    preemptable_verb: str = argument("extender.preemptableVerb", "")
    """Asked who may give way to a task of the same queue."""
    reclaimable_verb: str = argument("extender.reclaimableVerb", "")
    """Asked who may give way to a task of another queue."""
    queue_overused_verb: str = argument("extender.queueOverusedVerb", "")
    """Asked whether a queue has had enough."""
    job_enqueueable_verb: str = argument("extender.jobEnqueueableVerb", "")
    """Asked whether a job may pass the gate of its queue."""
    job_enqueued_verb: str = argument("extender.jobEnqueuedVerb", "")
    """Told that a job has passed it."""
    job_ready_verb: str = argument("extender.jobReadyVerb", "")
    """Asked whether the places of a job may be committed."""
    allocate_func_verb: str = argument("extender.allocateFuncVerb", "")
    """Told that a task got a place; may refuse."""
    deallocate_func_verb: str = argument("extender.deallocateFuncVerb", "")
    """Told that a task lost its place; may refuse an eviction."""
    bind_verb: str = argument("extender.bindVerb", "")
    """Binds pods in the scheduler's place."""
    ignorable: bool = argument("extender.ignorable", False)
    """Whether scheduling goes on without an answer."""
    managed_resources: tuple[str, ...] = argument("extender.managedResources", (), parse=_names, refuse=True)
    """Only pods that name one of these in requests or limits are its concern; all pods where empty."""

    def __post_init__(self) -> None:
        """Refuse an address that nothing can be asked of."""
        key = "extender.urlPrefix"
        if not self.url_prefix:
            raise ArgumentError(key, self.url_prefix, "the address of the extender, such as http://127.0.0.1:8713")
        try:
            parts = urlsplit(self.url_prefix)
            has_port = parts.port is None or parts.port > 0
        except ValueError:
            raise ArgumentError(key, self.url_prefix, "an address such as http://127.0.0.1:8713") from None
        if parts.username is not None or parts.password is not None:
            raise ArgumentError(key, "one with credentials", "an address without: it stands in messages and logs")
        if parts.scheme not in {"http", "https"} or not parts.hostname or not has_port or parts.query or parts.fragment:
            raise ArgumentError(key, self.url_prefix, "http:// or https://, a host, and no query")

    def doubts(self) -> Iterator[str]:
        """Name what has no effect."""
        if not any(self.verbs()):
            yield "extender.urlPrefix: nothing is asked there, for no verb is set"
        if self.predicate_verb and self.batch_predicate_verb:
            yield "extender.predicateVerb: has no effect beside 'extender.batchPredicateVerb'"

    def verbs(self) -> Iterable[str]:
        """Return all verbs, empty ones included."""
        return (getattr(self, field.name) for field in fields(self) if field.name.endswith("_verb"))

    def url(self, verb: str) -> str:
        """Return where a verb is asked."""
        return f"{self.url_prefix.rstrip('/')}/{verb}"

    @property
    def timeout_seconds(self) -> float:
        """How long one exchange may take."""
        return float(parse_duration(self.http_timeout))

    def is_concerned(self, task: Task) -> bool:
        """Tell whether a task is any concern of the extender."""
        return not self.managed_resources or names_any(task, frozenset(self.managed_resources))


def names_any(task: Task, resources: Collection[str]) -> bool:
    """Tell whether any container of a task, init containers included, names one of some resources."""
    spec = task.pod.spec
    return any(
        name in resources
        for container in (*spec.containers, *spec.init_containers)
        for amounts in (container.resources.requests, container.resources.limits)
        for name in amounts
    )
