"""Plugins read what they are given: the session's own mappings and amounts refuse to be changed."""

from collections.abc import Callable, MutableMapping
from typing import Any, cast

import pytest

from pyroclast import Plugin, Session
from pyroclast.framework.extension.uses import WrongUseError
from pyroclast.testing import Scenario

CLUSTER = Scenario().queue("q").node("n1", cpu=4, labels={"pool": "a"}).job("j", queue="q", tasks=1, cpu=1)


def first_node(session: Session) -> Any:
    """View of the first node."""
    return session.nodes.view(0)


def first_task(session: Session) -> Any:
    """First pending task."""
    (job,) = session.jobs.with_pending_tasks()
    return session.jobs.pending_tasks(job)[0]


def job_of(session: Session) -> Any:
    """First job."""
    return next(iter(session.jobs.with_pending_tasks()))


def put(mapping: Any) -> None:
    """Write something into a mapping."""
    mapping["written"] = None


def pop(mapping: object, key: str) -> None:
    """Take a key out of a mapping, whatever its type says."""
    cast("MutableMapping[str, object]", mapping).pop(key)


@pytest.mark.parametrize(
    "write",
    [
        lambda session: pop(session.queues.by_name, "q"),
        lambda session: session.total.fill(0),
        lambda session: pop(first_node(session).labels, "pool"),
        lambda session: pop(first_task(session).template.request, "cpu"),
        lambda session: pop(next(iter(session.jobs.with_pending_tasks())).annotations, "a"),
        lambda session: put(first_node(session).facts.labels),
        lambda session: put(first_node(session).facts.annotations),
        lambda session: put(first_node(session).facts.object.metadata.labels),
        lambda session: put(first_task(session).pod.metadata.labels),
        lambda session: put(first_task(session).pod.metadata.annotations),
        lambda session: put(job_of(session).job.group.metadata.labels),
        lambda session: put(first_node(session).tasks),
        lambda session: put(job_of(session).tasks),
        lambda session: put(job_of(session).job.tasks),
        lambda session: put(session.snapshot.jobs),
        lambda session: put(session.jobs.known()),
        lambda session: put(session.extensions.failures),
        lambda session: session.extensions.all_ledgers().clear(),
        lambda session: session.nodes.state.fill(0),
        lambda session: session.nodes.columns().used.fill(0),
        lambda session: session.nodes.table.allocatable.fill(0),
        lambda session: session.nodes.table.state.fill(0),
        lambda session: session.snapshot.job_table.counts.fill(0),
        lambda session: session.snapshot.job_table.allocated.fill(0),
    ],
    ids=[
        "queues",
        "total",
        "node labels",
        "request",
        "group annotations",
        "labels of facts",
        "annotations of facts",
        "labels of the Node",
        "labels of a pod",
        "annotations of a pod",
        "labels of a group",
        "tasks on a node",
        "tasks of a job",
        "tasks of the snapshot",
        "jobs of the snapshot",
        "known jobs",
        "failures",
        "ledgers",
        "amounts",
        "columns",
        "allocatable",
        "amounts of the snapshot",
        "counts",
        "allocated",
    ],
)
def test_a_plugin_that_writes_fails_and_the_cycle_goes_on(write: Callable[[Session], object]) -> None:
    """The plugin fails when it is opened; the job is placed all the same."""
    failures: list[str] = []

    class Writer(Plugin):
        name = "writer"
        filters_nodes = False

        def on_session_open(self, session: Session) -> None:
            try:
                write(session)
            except (TypeError, ValueError, AttributeError, WrongUseError) as failure:
                failures.append(str(failure))
                raise

    outcome = CLUSTER.run("allocate", plugins=("gang", "predicates", Writer))

    assert failures
    assert outcome.bindings == {"j-0": "n1"}
