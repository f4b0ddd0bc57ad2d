"""Accounts of numa-aware: CPUs allocated and released, and those that pods will get that are not listed yet."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from pyroclast.plugins.numa_aware.cpu_allocator import Inside
from pyroclast.testing import Scenario
from tests.numatopologies import guaranteed, numatopology
from tests.unit.plugins.numa import NODE, SINGLE, books_of, free_on, held, opened, task_of


def test_placing_takes_cpus_and_undoing_gives_them_back() -> None:
    """Two tasks fill the machine, the third has the reason; undone, all is as before."""
    session = opened(NODE.job("j", tasks=3, **SINGLE).add(numatopology("n1")))
    job = next(session.jobs.all())
    first, second, third = (task_of(session, f"j-{number}") for number in range(3))
    with session.statement() as statement:
        assert statement.allocate(job, [first], [0]) is None
        assert free_on(session) == "4-7"
        assert statement.pipeline(job, [second], [0]) is None
        assert free_on(session) == ""
        refusal = statement.allocate(job, [third], [0])
        assert refusal is not None
        assert (refusal.reason, refusal.message, refusal.resolvable) == (
            "NumaNotAligned",
            "container c0 cannot be assigned by numa",
            False,
        )

    assert free_on(session) == "0-7"
    assert held(session) == {}


def test_a_run_is_refused_whole() -> None:
    """Where the last of several does not fit, nothing of them is counted."""
    session = opened(NODE.job("j", tasks=3, **SINGLE).add(numatopology("n1")))
    job = next(session.jobs.all())
    tasks = [task_of(session, f"j-{number}") for number in range(3)]
    with session.statement() as statement:
        assert statement.allocate(job, tasks, [0, 0, 0]) is not None
        assert held(session) == {}
        assert statement.allocate(job, tasks[:2], [0, 0]) is None
        assert free_on(session) == ""


def test_pods_without_cpus_are_not_recorded() -> None:
    """Neither when placed nor when undone, also beside one that does."""
    session = opened(NODE.job("j", tasks=2, **guaranteed("500m")).job("k", **SINGLE).add(numatopology("n1")))
    jobs = {job.job.name: job for job in session.jobs.all()}
    with session.statement() as statement:
        for name, task in (("j", "j-0"), ("k", "k-0"), ("j", "j-1")):
            assert statement.allocate(jobs[name], [task_of(session, task)], [0]) is None
        assert free_on(session) == "4-7"

    assert held(session) == {}


def test_evicting_frees_no_cpus() -> None:
    """A terminating pod has its CPUs until it is gone."""
    cluster = NODE.running("old", on=["n1"], **SINGLE).job("j", **SINGLE).add(numatopology("n1"))
    session = opened(cluster)
    jobs = {job.job.name: job for job in session.jobs.all()}
    with session.statement() as statement:
        assert free_on(session) == "4-7"
        assert statement.evict(jobs["old"], task_of(session, "old-0"), "preempt") is None
        assert free_on(session) == "4-7"


def test_a_thousand_steps_at_random_leave_no_trace() -> None:
    """Tasks of several sizes come and go in nested statements; what is counted is always what is held."""
    chance = np.random.default_rng(7)
    cluster = NODE.node("n2", cpu=8).add(numatopology("n1", policy="best-effort"), numatopology("n2", reserved="1"))
    for name, cpus in (("a", (1,)), ("b", (2, 1)), ("c", (3,)), ("d", ("500m",))):
        cluster = cluster.job(name, tasks=4, min_available=0, **guaranteed(*cpus))
    session = opened(cluster)
    jobs = {job.job.name: job for job in session.jobs.all()}

    before = books_of(session).picture()

    def consistent() -> bool:
        """Free and held CPUs are all CPUs, and none is held twice."""
        insides, by_task = books_of(session).picture()
        free = sum(inside.free.bit_count() for inside in insides if isinstance(inside, Inside))
        return free + sum(cpus.bit_count() for cpus in by_task.values()) == 2 * 8

    for _ in range(50):
        with session.statement() as statement:
            for _ in range(20):
                job = jobs[chance.choice(list(jobs))]
                pending = [task for task in session.jobs.pending_tasks(job) if task.status.label == "Pending"]
                if pending and chance.random() < 0.7:
                    place = statement.allocate if chance.random() < 0.5 else statement.pipeline
                    some = pending[: int(chance.integers(1, len(pending) + 1))]
                    place(job, some, [int(chance.integers(2)) for _ in some])
                elif statement.operations:
                    statement.undo_to(int(chance.integers(len(statement.operations))))
                assert consistent()
        assert books_of(session).picture() == before


def test_pods_that_are_not_listed_yet_have_cpus() -> None:
    """Bound by any scheduler; listed ones are excluded already."""
    uids = ["default-old-0", "default-old-1"]
    cluster = NODE.running("old", on=["n1", "n1"], **guaranteed(2)).job("j", **SINGLE)

    def free(topology: Mapping[str, Any]) -> str:
        return free_on(opened(cluster.add(topology)))

    assert free(numatopology("n1")) == "4-7"
    assert free(numatopology("n1", free="2-7", listed=uids[:1])) == "4-7"
    assert free(numatopology("n1", free="0-3,6-7", listed=uids[:1])) == "2-3,6-7"
    assert free(numatopology("n1", free="4-7", listed=uids)) == "4-7"


def test_pods_are_known_by_name_too() -> None:
    """Some exporters know no UIDs."""
    listed = dict(numatopology("n1", free="4-7"))
    listed["spec"] = {**listed["spec"], "podAllocations": [{"namespace": "default", "name": "old-0"}]}

    assert free_on(opened(NODE.running("old", on=["n1"], **SINGLE).job("j", **SINGLE).add(listed))) == "4-7"


def test_an_old_exporter_lists_no_pods() -> None:
    """CPUs are taken by unlisted pods: running ones have them, terminating ones have not."""
    cluster = NODE.running("old", on=["n1"], **SINGLE).job("j", **SINGLE)
    coming = cluster.pod("new", node="n1", phase="Pending", spec=guaranteed(2)["pod"])

    assert free_on(opened(cluster.add(numatopology("n1", free="4-7")))) == "4-7"
    assert free_on(opened(coming.add(numatopology("n1", free="4-7")))) == "6-7"


def test_a_terminating_pod_holds_its_cpus() -> None:
    """An old exporter has taken them out, as of those that run."""
    cluster = NODE.running("old", on=["n1"], **SINGLE).job("j", **SINGLE)
    now = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    leaving = Scenario(
        tuple(
            {**each, "metadata": {**each["metadata"], **now}} if each["metadata"]["name"] == "old-0" else each
            for each in cluster.objects
        )
    )

    assert free_on(opened(leaving.add(numatopology("n1", free="4-7")))) == "4-7"


def test_unaligned_pods_count_with_their_number_of_cpus() -> None:
    """It is there, so it takes room somewhere; no more than there is, and nothing that is reserved."""
    across = NODE.running("old", on=["n1"], **guaranteed(5)).job("j", **SINGLE)

    assert free_on(opened(across.add(numatopology("n1")))) == "5-7"
    assert free_on(opened(across.add(numatopology("n1", reserved="1")))) == "0,2-3"
    assert free_on(opened(across.add(numatopology("n1", free="4-7", listed=["someone"])))) == ""


def test_the_older_pod_is_first() -> None:
    """In the order of age, not of names or UIDs: three of two CPUs each would lie otherwise."""
    cluster = NODE.running("z", on=["n1"], **guaranteed(3)).running("a", on=["n1"], **guaranteed(2))

    assert free_on(opened(cluster.job("j", **SINGLE).add(numatopology("n1")))) == "3,6-7"


def test_a_fresh_count_equals_the_books() -> None:
    """What a session placed is what the next one foresees, once those pods are on their node."""
    cluster = NODE.node("n2", cpu=8).add(numatopology("n1", free="1-7", reserved="1"), numatopology("n2"))
    before = opened(cluster.job("j", tasks=3, **guaranteed(2)))
    job = next(before.jobs.all())
    tasks = [task_of(before, f"j-{number}") for number in range(3)]
    with before.statement() as statement:
        assert statement.allocate(job, tasks, [0, 0, 1]) is None
        placed = [free_on(before, 0), free_on(before, 1)]
        statement.hold()

    after = opened(cluster.running("j", on=["n1", "n1", "n2"], **guaranteed(2)))

    assert [free_on(after, 0), free_on(after, 1)] == placed == ["1,6-7", "2-7"]


def test_without_alignment_no_pod_is_counted() -> None:
    """Neither who is placed nor who is there already: what is free is what the topology says."""
    cluster = NODE.add(numatopology("n1", policy="none"))
    before = opened(cluster.job("j", **guaranteed(2)))
    with before.statement() as statement:
        assert statement.allocate(next(before.jobs.all()), [task_of(before, "j-0")], [0]) is None
        placed = free_on(before)
        statement.hold()

    assert placed == free_on(opened(cluster.running("j", on=["n1"], **guaranteed(2)))) == "0-7"
