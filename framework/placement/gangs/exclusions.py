"""Exclusions: members of which a node takes one at most, written as amounts of a resource that each node has one of.

Members that shun each other on a host, and members that use the same port of it, are known without asking plugins, so
that the search on paper keeps them apart. Plugins have the last word.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from pyroclast.model.arrays import IntArray
from pyroclast.model.matching.selectors import Selector
from pyroclast.model.tasks import Task
from pyroclast.model.wire import PodAffinityTerm

__all__ = ["HOST", "are_exclusive", "exclusions"]

HOST: Final = "kubernetes.io/hostname"


def exclusions(tasks: Sequence[Task]) -> IntArray:
    """Return by kind what its tasks take of such resources, shape (kinds, resources).

    Args:
        tasks: One task of each kind.
    """
    rows = dict.fromkeys([*_shunning(tasks), *_ports(tasks)])
    return np.array(list(rows), dtype=np.int64).reshape(len(rows), len(tasks)).T


def are_exclusive(tasks: Sequence[Task]) -> bool:
    """Return whether a node with the label `HOST` takes one of some tasks of one template at most."""
    first = tasks[0]
    if _ports_of(first):
        return True
    if any(each.namespace != first.namespace for each in tasks):
        return False
    selectors = [Selector.of(term.label_selector) for term in _terms(first) if term.label_selector is not None]
    return any(all(selector.matches(each.pod.metadata.labels) for each in tasks) for selector in selectors)


def _shunning(tasks: Sequence[Task]) -> Iterator[tuple[bool, ...]]:
    """Yield sets of kinds all of which shun each other on a host, themselves included."""
    for task in tasks:
        for term in _terms(task):
            selector = Selector.of(term.label_selector) if term.label_selector is not None else None
            if selector is None:
                continue
            shunned = tuple(selector.matches(each.pod.metadata.labels) for each in tasks)
            # where some are shunned that do not shun each other, a resource would forbid too much
            if any(shunned) and all(term in _terms(each) for each, is_in in zip(tasks, shunned, strict=True) if is_in):
                yield shunned


def _terms(task: Task) -> list[PodAffinityTerm]:
    """Return what a pod's anti-affinity excludes on its host in its own namespace. Only labels are checked."""
    affinity = task.template.spec.affinity
    if affinity is None or affinity.pod_anti_affinity is None:
        return []
    return [
        term
        for term in affinity.pod_anti_affinity.required
        if term.topology_key == HOST
        and not (term.namespaces or term.namespace_selector or term.match_label_keys or term.mismatch_label_keys)
    ]


def _ports(tasks: Sequence[Task]) -> Iterator[tuple[bool, ...]]:
    """Yield the kinds that use the same port on all addresses of a host."""
    used = [_ports_of(task) for task in tasks]
    for port in sorted(set().union(*used)):
        yield tuple(port in each for each in used)


def _ports_of(task: Task) -> set[tuple[int, str]]:
    return {
        (port.host_port, port.protocol)
        for container in task.template.spec.containers
        for port in container.ports
        if port.host_port and port.host_ip in {"", "0.0.0.0"}  # noqa: S104  # compared, not bound to
    }
