"""The order of jobs, and the facts about them in the table, after any changes."""

import random
from typing import Any

import msgspec
import numpy as np

from pyroclast.cache.state import ClusterState
from pyroclast.model.jobs import MANY_TEMPLATES, NO_NAMESPACE, NO_TEMPLATE
from pyroclast.model.snapshot import Snapshot
from tests.unit.cache.builders import group, pod, queue


def moved(each: Any, namespace: str) -> Any:
    """Return an object as one of another namespace."""
    return msgspec.structs.replace(each, metadata=msgspec.structs.replace(each.metadata, namespace=namespace))


def check(snapshot: Snapshot) -> None:
    """Compare the table with the jobs."""
    table, jobs = snapshot.job_table, list(snapshot.jobs.values())
    assert [job.id for job in jobs] == sorted(snapshot.jobs) == [*snapshot.jobs]
    assert [job.id for job in table.select(np.ones(table.queue.size, dtype=np.bool_))] == [job.id for job in jobs]
    by_namespace = table.by_namespace(table.in_order(table.namespace != NO_NAMESPACE))
    assert {name: [each.id for each in table.jobs_in(columns)] for name, columns in by_namespace.items()} == {
        name: [job.id for job in jobs if job.namespace == name] for name in sorted({job.namespace for job in jobs})
    }
    for job in jobs:
        assert table.priority[job.column] == job.priority
        assert table.created[job.column] == job.created
        expected = {0: NO_TEMPLATE, 1: next(iter(job.waiting), (0, 0))[0]}.get(len(job.waiting), MANY_TEMPLATES)
        assert table.waiting_template[job.column] == expected
    assert table.has_several_namespaces == (len(by_namespace) > 1)


def test_jobs_stay_in_order_and_have_their_facts() -> None:
    """Jobs come, change and go, one by one and many together; columns are used again by other jobs."""
    chance, state, there = random.Random(3), ClusterState(), dict[str, list[tuple[str, Any]]]()
    state.apply("Queue", queue())
    for step in range(120):
        for _ in range(chance.choice([1, 1, 2, 3, 200])):
            name = f"g{chance.randrange(400)}"
            if name in there:
                for kind, each in there.pop(name):
                    state.remove(kind, each)
                continue
            namespace = chance.choice(["a", "a-b", "b", "c"])
            own = moved(group(name, minimum=1), namespace)
            pods = [
                moved(pod(f"{name}-{number}", group=name, cpu=str(chance.randint(1, 3))), namespace)
                for number in range(chance.randint(0, 2))
            ]
            there[name] = [("PodGroup", own), *(("Pod", each) for each in pods)]
            for kind, each in there[name]:
                state.apply(kind, each)
        if step % 3 == 0:
            check(state.snapshot())


def test_namespaces_without_jobs_leave_nothing() -> None:
    """Numbers of namespaces are used again."""
    state = ClusterState()
    state.apply("Queue", queue())
    for number in range(300):
        own = moved(group("g", minimum=1), f"ns-{number}")
        state.apply("PodGroup", own)
        table = state.snapshot().job_table
        assert table.namespace.max() <= 1
        state.remove("PodGroup", own)


def test_pods_of_the_server_are_a_live_view() -> None:
    """Each bind and each condition of a cycle reads one pod: copies of all would take seconds of a cycle."""
    state = ClusterState()
    pods = state.stored("Pod")
    state.apply("Pod", pod("a"))
    assert pods is state.stored("Pod")
    assert len(pods) == 1
