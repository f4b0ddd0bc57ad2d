"""Parents of queues and of elastic quotas: missing ones, and circles."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pyroclast.framework.diagnosis.lint.finding import Finding, Severity
from pyroclast.model.elastic.names import PARENT, ROOT_QUOTA
from pyroclast.model.queues import ROOT_QUEUE

__all__ = ["lint_queue_parents", "lint_quota_parents"]


def lint_queue_parents(queues: Iterable[Mapping[str, Any]]) -> Iterator[Finding]:
    """Yield what is wrong with the parents that Queues name."""
    parents = {_name(queue): _text(_mapping(queue.get("spec")).get("parent")) for queue in queues}
    yield from _lint(parents, "Queue {}.spec.parent", root=ROOT_QUEUE)


def lint_quota_parents(quotas: Iterable[Mapping[str, Any]]) -> Iterator[Finding]:
    """Yield what is wrong with the parents that ElasticQuotas name."""
    parents = {_name(quota): _text(_labels(quota).get(PARENT)) for quota in quotas}
    yield from _lint(parents, f"ElasticQuota {{}}.metadata.labels[{PARENT}]", root=ROOT_QUOTA)


def _lint(parents: Mapping[str, str], path: str, *, root: str) -> Iterator[Finding]:
    for name, parent in parents.items():
        if name == root:
            if parent:
                yield Finding(Severity.FAULT, path.format(name), f"got {parent!r}, but {root} is the root queue")
        elif circle := _circle(name, parents):
            yield Finding(Severity.FAULT, path.format(name), f"is its own ancestor: {' → '.join(circle)}")
        elif parent and parent != root and parent not in parents:
            missing = (
                f"{parent!r} is not in this file; if it is not in the cluster either, "
                "this queue and those below it are ignored"
            )
            yield Finding(Severity.WARNING, path.format(name), missing)


def _circle(name: str, parents: Mapping[str, str]) -> list[str]:
    """Return the way from an object back to itself; empty if there is none."""
    way = [name]
    while parent := parents.get(way[-1], ""):
        way.append(parent)
        if parent == name:
            return way
        if parent in way[:-1]:
            return []  # its ancestors form a circle without it
    return []


def _name(manifest: Mapping[str, Any]) -> str:
    return _text(_mapping(manifest.get("metadata")).get("name"))


def _labels(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    return _mapping(_mapping(manifest.get("metadata")).get("labels"))


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
