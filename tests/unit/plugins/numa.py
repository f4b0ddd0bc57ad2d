"""Sessions of numa-aware in a few words."""

from collections.abc import Mapping
from typing import Any

from pyroclast import Session, Task
from pyroclast.framework.extension import contract
from pyroclast.model.cpusets import as_text
from pyroclast.plugins.numa_aware.cpu_allocator import CpuAllocator, Inside
from pyroclast.testing import Scenario, open_session
from tests.numatopologies import guaranteed

NODE = Scenario().node("n1", cpu=8)
SINGLE = guaranteed(4, policy="single-numa-node")


def opened(scenario: Scenario, **arguments: Any) -> Session:
    """A session with numa-aware alone."""
    session = open_session(scenario, plugins=("numa-aware",), arguments={"numa-aware": arguments})
    assert session.extensions.failures == {}
    return session


def task_of(session: Session, name: str) -> Task:
    """A task by its name."""
    return next(task for job in session.jobs.all() for task in job.tasks.values() if task.name == name)


def why(session: Session, name: str = "j-0") -> Mapping[str, int]:
    """What keeps a task from nodes, counted; empty where one takes it."""
    task = task_of(session, name)
    if session.candidates.of(task).choose(task) is not None:
        return {}
    return session.candidates.explain(task).counts


def books_of(session: Session) -> CpuAllocator:
    """The plugin's ledger."""
    (books,) = [ledger for _, ledger in session.extensions.all_ledgers() if isinstance(ledger, CpuAllocator)]
    return books


def free_on(session: Session, column: int = 0) -> str:
    """The CPUs that the plugin takes to be free on a node."""
    inside = books_of(session).inside(column)
    assert isinstance(inside, Inside)
    return as_text(inside.free)


def held(session: Session) -> Mapping[str, int]:
    """The CPUs that tasks hold that were placed in this session."""
    _, by_task = books_of(session).picture()
    return {str(task): cpus for task, cpus in by_task.items()}


def scores(session: Session, name: str = "j-0") -> list[float]:
    """Scores of all nodes for a task, rescaled."""
    (each,) = session.extensions.functions(contract.NODE_ORDER)
    raw = each.function(task_of(session, name), session.nodes.columns())
    assert raw is not None
    assert each.normalise is not None
    return list(each.normalise(raw))
