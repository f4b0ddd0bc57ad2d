"""Jobs that their queue refused are passed over until it has room, and only then."""

from collections.abc import Iterator

import pytest

from pyroclast.framework.cycle import run_cycle
from pyroclast.framework.extension.contract import ALLOCATABLE, Plugin
from pyroclast.framework.session.memory import Memory, Settled
from pyroclast.framework.session.session import Session
from pyroclast.model.ids import TaskId
from pyroclast.model.report import CycleReport
from pyroclast.model.tasks import Task
from pyroclast.testing import Scenario
from pyroclast.testing.cluster import cluster_of
from pyroclast.testing.configuration import configured

PLUGINS = ("gang", "predicates", "capacity")
FULL = (
    Scenario()
    .queue("q", capability={"cpu": 2})
    .node("n", cpu=8)
    .running("old", on=["n", "n"], queue="q")
    .job("a", tasks=1, queue="q", phase="Inqueue")
    .job("b", tasks=1, queue="q", phase="Inqueue")
)


class Watching(Plugin):
    """A plugin that sees how often the queue is asked, and with `says` has a say that it cannot count."""

    name = "watching"
    says = False
    watches_clock = True
    asked: list[str] = []  # noqa: RUF012  # the class is built anew in each cycle

    def on_session_open(self, session: Session) -> None:
        """Register."""

        def count(_: object, task: Task) -> bool:
            self.asked.append(task.name)
            return True

        headroom = None if self.says else lambda _queue, _task: 1 << 30
        session.extensions.register(ALLOCATABLE, self.name, count, headroom=headroom)


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    """Forget what other tests asked."""
    Watching.asked.clear()
    yield
    Watching.says = False


def cycles(scenario: Scenario, count: int, *, ends: str = "") -> list[CycleReport]:
    """Run cycles on one cluster; after the first one a running pod ends."""
    parsed, registry = configured(("allocate",), (Watching, *PLUGINS), {})
    cluster = cluster_of(scenario.objects, shard_mode="none", shard="volcano", warnings=[])
    settled, memory, reports = Settled(), Memory(), []
    for now in range(count):
        report, memory = run_cycle(
            cluster.snapshot(), parsed.configuration, registry=registry, now=now, memory=memory, settled=settled
        )
        reports.append(report)
        cluster.settle([], report, now=now + 0.5, recreate_evicted=False)
        if now == 1 and ends:
            cluster._delete(TaskId(ends), now + 0.6, recreate=False)
    return reports


def test_a_full_queue_is_asked_once_for_all_equal_jobs() -> None:
    """Two jobs have the reason in the first cycle that their queue is full; later one question decides for both."""
    cycles(FULL, 2)
    Watching.asked.clear()
    reports = cycles(FULL, 4)

    assert Watching.asked.count("b-0") <= 2  # while its status is being written
    assert reports[-1].refusals.keys() == {"default/a", "default/b"}


def test_room_in_the_queue_ends_it() -> None:
    """When a pod of the queue ends the first job is placed in the next cycle."""
    old = next(
        task.id
        for task in cluster_of(FULL.objects, shard_mode="none", shard="volcano", warnings=[])
        .snapshot()
        .jobs["default/old"]  # type: ignore[index]  # a plain string does
        .tasks.values()
    )

    reports = cycles(FULL, 3, ends=old)

    assert reports[1].plans == ()
    assert [bind.name for plan in reports[2].plans for bind in plan.binds] == ["a-0"]


def test_a_plugin_that_looks_at_each_task_is_always_asked() -> None:
    """One that cannot say for how many there is room may answer otherwise for the next task."""
    Watching.says = True

    cycles(FULL, 4)

    assert Watching.asked.count("b-0") == 4
