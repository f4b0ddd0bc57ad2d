"""Ignored terms: events about pods whose terms of affinity and anti-affinity do not count, or not all, for others.

The bounds keep the cost of a cycle from growing with the terms of one namespace. Each pod gets an event once.
"""

from collections.abc import Iterator
from typing import Final

from pyroclast.framework.session.pods import SessionPods, known_session_pods
from pyroclast.framework.session.session import Session
from pyroclast.model.matching.bounds import pod_terms_of
from pyroclast.model.report import EventNote
from pyroclast.model.tasks import Task

__all__ = ["record_ignored_terms"]

_MOST_EVENTS: Final = 64
"""Events of one cycle; the other pods get theirs in later cycles in which a plugin asks about terms."""
_REASON: Final = "PodTermsIgnored"


def record_ignored_terms(session: Session) -> None:
    """Record an event for each pod whose terms are ignored, and count these pods."""
    pods = known_session_pods(session)
    if pods is None:
        return
    session.report.sample("pods_with_ignored_terms", pods.without_terms_count)
    left = _MOST_EVENTS
    for task, text in _texts(pods):
        job = task.job if task.job in session.snapshot.jobs else None
        if left and session.report.is_news(f"Pod/{task.id}/{_REASON}", text, job=job):
            left -= 1
            session.report.record_events(
                EventNote(
                    kind="Pod",
                    namespace=task.namespace,
                    name=task.name,
                    uid=task.id,
                    type="Warning",
                    reason=_REASON,
                    message=text,
                )
            )


def _texts(pods: SessionPods) -> Iterator[tuple[Task, str]]:
    for task in pods.without_terms:
        number = pod_terms_of(task.template.spec)
        yield (
            task,
            (
                f"the {number} terms of pod affinity and anti-affinity of this pod do not count for other pods: "
                "the pod, its namespace or the cluster has more different terms than the scheduler counts"
            ),
        )
    for task in pods.beside_too_many_terms.values():
        yield (
            task,
            (
                "more terms of other pods concern this pod than the scheduler counts; the pod may be placed beside "
                "pods with anti-affinity to it"
            ),
        )
