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
"""Maximum timeout. A cycle waits this long, and a few such waits must not look like a cycle that hangs."""


def _timeout(value: object) -> str:
    """Parse the timeout of a request; the text is kept as written."""
    expected = "a duration above 0s and at most 2m, such as 100ms"
    try:
        seconds = parse_duration(value)
    except ValueError:
        raise ValueError(expected) from None
    if not 0 < seconds <= _MOST_SECONDS:
        raise ValueError(expected)
    return str(value)


def _names(value: object) -> tuple[str, ...]:
    """Parse a list of names. A single text is refused: it would silently become a list of one."""
    if not isinstance(value, list) or not all(isinstance(each, str) and each for each in value):
        raise ValueError("a list of names of resources")
    return tuple(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtenderArgs:
    """Arguments of extender."""

    url_prefix: str = argument("extender.urlPrefix", "", refuse=True)
    """URL of the service; verbs are appended."""
    http_timeout: str = argument("extender.httpTimeout", "1s", parse=_timeout)
    """Timeout of one request, as Go writes durations."""
    on_session_open_verb: str = argument("extender.onSessionOpenVerb", "")
    """Verb that receives the whole cluster at the start of a cycle."""
    on_session_close_verb: str = argument("extender.onSessionCloseVerb", "")
    """Verb that is called at the end of a cycle."""
    predicate_verb: str = argument("extender.predicateVerb", "")
    """Verb that decides whether a node may run a task."""
    batch_predicate_verb: str = argument("extender.batchPredicateVerb", "")
    """Verb that decides this for many nodes in one call; outranks `predicateVerb`."""
    prioritize_verb: str = argument("extender.prioritizeVerb", "")
    """Verb that scores nodes for a task."""
    preemptable_verb: str = argument("extender.preemptableVerb", "")
    """Verb that selects victims for a task of the same queue."""
    reclaimable_verb: str = argument("extender.reclaimableVerb", "")
    """Verb that selects victims for a task of another queue."""
    queue_overused_verb: str = argument("extender.queueOverusedVerb", "")
    """Verb that decides whether a queue is overused."""
    job_enqueueable_verb: str = argument("extender.jobEnqueueableVerb", "")
    """Verb that decides whether a job may be enqueued."""
    job_enqueued_verb: str = argument("extender.jobEnqueuedVerb", "")
    """Verb that is called after a job was enqueued."""
    job_ready_verb: str = argument("extender.jobReadyVerb", "")
    """Verb that decides whether the placements of a job may be committed."""
    allocate_func_verb: str = argument("extender.allocateFuncVerb", "")
    """Verb that is called for each placement; it may refuse."""
    deallocate_func_verb: str = argument("extender.deallocateFuncVerb", "")
    """Verb that is called for each undone placement and each eviction; it may refuse an eviction."""
    bind_verb: str = argument("extender.bindVerb", "")
    """Verb that binds pods instead of the scheduler."""
    ignorable: bool = argument("extender.ignorable", False)
    """Whether scheduling continues without a reply."""
    managed_resources: tuple[str, ...] = argument("extender.managedResources", (), parse=_names, refuse=True)
    """Only pods that name one of these in requests or limits are managed; all pods if empty."""

    def __post_init__(self) -> None:
        """Refuse an unusable URL."""
        key = "extender.urlPrefix"
        if not self.url_prefix:
            raise ArgumentError(key, self.url_prefix, "the address of the extender, such as http://127.0.0.1:8713")
        try:
            parts = urlsplit(self.url_prefix)
            has_port = parts.port is None or parts.port > 0
        except ValueError:
            raise ArgumentError(key, self.url_prefix, "an address such as http://127.0.0.1:8713") from None
        if parts.username is not None or parts.password is not None:
            raise ArgumentError(
                key, "one with credentials", "an address without credentials: messages and logs contain it"
            )
        if parts.scheme not in {"http", "https"} or not parts.hostname or not has_port or parts.query or parts.fragment:
            raise ArgumentError(key, self.url_prefix, "http:// or https://, a host, and no query")

    def doubts(self) -> Iterator[str]:
        """Yield warnings about arguments without effect."""
        if not any(self.verbs()):
            yield "extender.urlPrefix: has no effect, because no verb is set"
        if self.predicate_verb and self.batch_predicate_verb:
            yield "extender.predicateVerb: has no effect beside 'extender.batchPredicateVerb'"

    def verbs(self) -> Iterable[str]:
        """Return all verbs, empty ones included."""
        return (getattr(self, field.name) for field in fields(self) if field.name.endswith("_verb"))

    def url(self, verb: str) -> str:
        """Return the URL of a verb."""
        return f"{self.url_prefix.rstrip('/')}/{verb}"

    @property
    def timeout_seconds(self) -> float:
        """Timeout of one request, in seconds."""
        return float(parse_duration(self.http_timeout))

    def is_concerned(self, task: Task) -> bool:
        """Return whether the extender manages a task."""
        return not self.managed_resources or names_any(task, frozenset(self.managed_resources))


def names_any(task: Task, resources: Collection[str]) -> bool:
    """Return whether any container of a task, including init containers, names one of the resources."""
    spec = task.pod.spec
    return any(
        name in resources
        for container in (*spec.containers, *spec.init_containers)
        for amounts in (container.resources.requests, container.resources.limits)
        for name in amounts
    )
