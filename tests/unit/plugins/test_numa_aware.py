"""numa-aware in a session: whom it refuses where and why, what it counts, and how it scores."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from framework import points
from framework.arguments import decode
from model.cpusets import as_text
from plugins.numa_aware.books import CpuBooks, Inside
from plugins.numa_aware.plugin import NumaAwareArgs, few_first
from pyroclast import Session, Task
from pyroclast.testing import Scenario, open_session
from tests.numatopologies import guaranteed, numatopology

NODE = Scenario().node("n1", cpu=8)
SINGLE = guaranteed(4, policy="single-numa-node")


def opened(scenario: Scenario, **arguments: Any) -> Session:
    """A session with numa-aware alone."""
    session = open_session(scenario, plugins=("numa-aware",), arguments={"numa-aware": arguments})
    assert session.failures == {}
    return session


def task_of(session: Session, name: str) -> Task:
    """A task by its name."""
    return next(task for job in session.jobs() for task in job.tasks.values() if task.name == name)


def why(session: Session, name: str = "j-0") -> Mapping[str, int]:
    """What keeps a task from nodes, counted; empty where one takes it."""
    task = task_of(session, name)
    if session.candidates(task).choose(task) is not None:
        return {}
    return session.explain(task).counts


def books_of(session: Session) -> CpuBooks:
    """The plugin's ledger."""
    (books,) = [ledger for _, ledger in session.ledgers if isinstance(ledger, CpuBooks)]
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
    (each,) = session.functions(points.NODE_ORDER)
    raw = each.function(task_of(session, name), session.nodes.columns())
    assert raw is not None
    assert each.normalise is not None
    return list(each.normalise(raw))


# Who is refused -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("topology", "reason"),
    [
        (None, "numa info is empty"),
        (numatopology("n1", manager="none"), "cpu manager policy isn't static"),
        (
            numatopology("n1", policy="restricted"),
            "task topology policy[single-numa-node] is different with node[restricted]",
        ),
        (numatopology("n1", policy=""), "task topology policy[single-numa-node] is different with node[]"),
        (numatopology("n1", free=""), "cpu allocatable map is empty"),
        (numatopology("n1", free=None), "cpu allocatable map is empty"),
        (numatopology("n1", free="0-"), "no topo information"),
        (numatopology("n1", free="2-5"), "container c0 cannot be assigned by numa"),
        (numatopology("n1", free="0-3", reserved="500m"), "container c0 cannot be assigned by numa"),
        (numatopology("n1", free="0-3"), None),
    ],
)
def test_a_task_that_names_a_policy(topology: Mapping[str, Any] | None, reason: str | None) -> None:
    """It goes where the kubelet has that policy, gives CPUs away, and can align it."""
    cluster = NODE.job("j", **SINGLE)

    assert why(opened(cluster if topology is None else cluster.add(topology))) == ({reason: 1} if reason else {})


@pytest.mark.parametrize(
    ("topology", "reason"),
    [
        (None, None),
        (numatopology("n1", free="2-5", manager="none"), None),
        (numatopology("n1", free="2-5", policy="none"), None),
        (numatopology("n1", free="2-5", policy=""), None),
        (numatopology("n1", free=None, policy="restricted"), None),
        (numatopology("n1", free="?", policy="restricted"), None),
        (numatopology("n1", free="2-5", policy="best-effort"), None),
        (numatopology("n1", free="2-5", policy="restricted"), "container c0 cannot be assigned by numa"),
        (numatopology("n1", free="2-5"), "container c0 cannot be assigned by numa"),
        (numatopology("n1", free=""), "container c0 cannot be assigned by numa"),
    ],
)
@pytest.mark.parametrize("policy", ["", "none"])
def test_a_task_without_a_policy(topology: Mapping[str, Any] | None, reason: str | None, policy: str) -> None:
    """The node's own policy judges it, where there is one."""
    cluster = NODE.job("j", **guaranteed(4, policy=policy))

    assert why(opened(cluster if topology is None else cluster.add(topology))) == ({reason: 1} if reason else {})


def test_only_guaranteed_pods_are_looked_at() -> None:
    """Others get no CPUs for themselves, whatever they name."""
    named = {"volcano.sh/numa-topology-policy": "restricted"}
    session = opened(NODE.job("j", cpu=4, annotations=named).add(numatopology("n1", free="")))

    assert why(session) == {}


@pytest.mark.parametrize(
    ("pod", "topology", "has_say"),
    [
        (guaranteed(4), numatopology("n1"), True),
        (guaranteed("500m", policy="restricted"), numatopology("n1"), True),
        (guaranteed("500m"), numatopology("n1"), False),
        (guaranteed(4), numatopology("n1", manager="none"), False),
        (guaranteed(4), numatopology("n1", free="?"), False),
    ],
)
def test_who_gets_no_cpus_anywhere_is_not_asked_about(
    pod: dict[str, Any], topology: Mapping[str, Any], has_say: bool
) -> None:
    """So that equal ones are placed in one go."""
    session = opened(NODE.job("j", **pod).add(topology))
    each = session.functions(points.PREDICATE)[-1]

    assert (each.function(task_of(session, "j-0"), session.nodes.columns()) is not None) is has_say


def test_the_container_that_does_not_fit_is_named() -> None:
    """Containers are looked at in order; parts of CPUs are shared, and always fit."""
    cluster = NODE.job("j", **guaranteed("500m", 3, 3, 2)).add(numatopology("n1"))

    assert why(opened(cluster.node("n2", cpu=1))) == {
        "Insufficient cpu": 2,
    }
    roomy = Scenario().node("n1", cpu=16).job("j", **guaranteed("500m", 3, 3, 2)).add(numatopology("n1"))
    assert why(opened(roomy)) == {"container c3 cannot be assigned by numa": 1}


def test_more_containers_than_reasons_can_name_are_no_failure() -> None:
    """The last name that there is stands for those beyond."""
    many = guaranteed(*["100m"] * 120, 5)
    session = opened(Scenario().node("n1", cpu=64, memory="1Ti").job("j", **many).add(numatopology("n1")))

    assert why(session) == {"container c99 cannot be assigned by numa": 1}
    assert session.failures == {}


def test_more_policies_than_reasons_can_name_are_no_failure() -> None:
    """Whoever writes Numatopologies may write any word; the last name that there is stands for those beyond."""
    cluster = NODE.job("j", **SINGLE).add(numatopology("n1", policy="zzz"))
    others = [numatopology(f"m{number}", policy=f"p{number:03}") for number in range(300)]
    session = opened(cluster.add(*others))

    assert why(session) == {"task topology policy[single-numa-node] is different with node[p099]": 1}


def test_reasons_tell_nodes_apart() -> None:
    """Each node under the first rule that refuses it; only a want of CPUs can pass, and only when pods end."""
    cluster = NODE.node("n2", cpu=8).node("n3", cpu=8).node("n4", cpu=8).job("j", **SINGLE)
    session = opened(
        cluster.add(numatopology("n2", policy="restricted"), numatopology("n3", free=""), numatopology("n4", free="0"))
    )
    refusal = session.explain(task_of(session, "j-0"))

    assert refusal.counts == {
        "numa info is empty": 1,
        "task topology policy[single-numa-node] is different with node[restricted]": 1,
        "cpu allocatable map is empty": 1,
        "container c0 cannot be assigned by numa": 1,
    }
    by_name = {
        each.text: each.resolvable
        for part in session.functions(points.PREDICATE)
        for each in session.reasons_of(part, task_of(session, "j-0"))
    }
    assert {text for text in refusal.counts if by_name[text]} == {"cpu allocatable map is empty"}


# What is counted ------------------------------------------------------------------------------------------------------


def test_placing_takes_cpus_and_undoing_gives_them_back() -> None:
    """Two tasks fill the machine, the third hears so; undone, all is as before."""
    session = opened(NODE.job("j", tasks=3, **SINGLE).add(numatopology("n1")))
    job = next(session.jobs())
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
    job = next(session.jobs())
    tasks = [task_of(session, f"j-{number}") for number in range(3)]
    with session.statement() as statement:
        assert statement.allocate(job, tasks, [0, 0, 0]) is not None
        assert held(session) == {}
        assert statement.allocate(job, tasks[:2], [0, 0]) is None
        assert free_on(session) == ""


def test_who_takes_no_cpus_leaves_no_trace() -> None:
    """Neither when placed nor when undone, also beside one that does."""
    session = opened(NODE.job("j", tasks=2, **guaranteed("500m")).job("k", **SINGLE).add(numatopology("n1")))
    jobs = {job.job.name: job for job in session.jobs()}
    with session.statement() as statement:
        for name, task in (("j", "j-0"), ("k", "k-0"), ("j", "j-1")):
            assert statement.allocate(jobs[name], [task_of(session, task)], [0]) is None
        assert free_on(session) == "4-7"

    assert held(session) == {}


def test_evicting_frees_no_cpus() -> None:
    """Who is asked to leave has its CPUs until it is gone."""
    cluster = NODE.running("old", on=["n1"], **SINGLE).job("j", **SINGLE).add(numatopology("n1"))
    session = opened(cluster)
    jobs = {job.job.name: job for job in session.jobs()}
    with session.statement() as statement:
        assert free_on(session) == "4-7"
        assert statement.evict(jobs["old"], task_of(session, "old-0"), "preempt") is None
        assert free_on(session) == "4-7"


# What is foreseen -----------------------------------------------------------------------------------------------------


def test_pods_that_are_not_listed_yet_have_cpus() -> None:
    """Whoever bound them; those that are listed are taken out already."""
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


def test_an_old_exporter_lists_nobody() -> None:
    """CPUs are taken, by nobody it tells of: who runs has them, who is on its way has not."""
    cluster = NODE.running("old", on=["n1"], **SINGLE).job("j", **SINGLE)
    coming = cluster.pod("new", node="n1", phase="Pending", spec=guaranteed(2)["pod"])

    assert free_on(opened(cluster.add(numatopology("n1", free="4-7")))) == "4-7"
    assert free_on(opened(coming.add(numatopology("n1", free="4-7")))) == "6-7"


def test_who_cannot_be_aligned_has_its_number_of_cpus() -> None:
    """It is there, so it takes room somewhere; no more than there is."""
    across = NODE.running("old", on=["n1"], **guaranteed(5)).job("j", **SINGLE)

    assert free_on(opened(across.add(numatopology("n1")))) == "5-7"
    assert free_on(opened(across.add(numatopology("n1", free="4-7", listed=["someone"])))) == ""


def test_the_older_pod_is_first() -> None:
    """In the order of age, not of names or UIDs: three of two CPUs each would lie otherwise."""
    cluster = NODE.running("z", on=["n1"], **guaranteed(3)).running("a", on=["n1"], **guaranteed(2))

    assert free_on(opened(cluster.job("j", **SINGLE).add(numatopology("n1")))) == "3,6-7"


def test_a_fresh_count_equals_the_books() -> None:
    """What a session placed is what the next one foresees, once those pods are on their node."""
    cluster = NODE.node("n2", cpu=8).add(numatopology("n1", free="1-7", reserved="1"), numatopology("n2"))
    before = opened(cluster.job("j", tasks=3, **guaranteed(2)))
    job = next(before.jobs())
    tasks = [task_of(before, f"j-{number}") for number in range(3)]
    with before.statement() as statement:
        assert statement.allocate(job, tasks, [0, 0, 1]) is None
        placed = [free_on(before, 0), free_on(before, 1)]
        statement.hold()

    after = opened(cluster.running("j", on=["n1", "n1", "n2"], **guaranteed(2)))

    assert [free_on(after, 0), free_on(after, 1)] == placed == ["1,6-7", "2-7"]


# Scores ---------------------------------------------------------------------------------------------------------------


def test_fewer_numa_nodes_score_higher() -> None:
    """The worked example: one and two NUMA nodes."""
    cluster = NODE.node("n2", cpu=8).job("j", **guaranteed(4, policy="best-effort"))
    cluster = cluster.add(
        numatopology("n1", policy="best-effort"), numatopology("n2", policy="best-effort", free="2-5")
    )

    assert scores(opened(cluster)) == [50, 0]
    assert scores(opened(cluster, weight=10)) == [500, 0]
    assert scores(opened(cluster, weight="10")) == [500, 0]


@pytest.mark.parametrize(
    ("counts", "expected"),
    [([1, 2], [50, 0]), ([1, 2, 3], [67, 34, 0]), ([2, 2], [0, 0]), ([0, 0], [100, 100]), ([], [])],
)
def test_scores_are_whole_numbers(counts: list[int], expected: list[int]) -> None:
    """A hundred less the part of the greatest count, rounded down."""
    assert few_first(np.array(counts, dtype=np.float64)).tolist() == expected


def test_without_a_policy_nothing_is_scored() -> None:
    """Nor with one where the pod is not Guaranteed."""
    session = opened(NODE.job("j", **guaranteed(4)).add(numatopology("n1")))
    (each,) = session.functions(points.NODE_ORDER)

    assert each.function(task_of(session, "j-0"), session.nodes.columns()) is None


def test_a_weight_of_zero_mutes_the_scores() -> None:
    """The filter stays."""
    session = opened(NODE.job("j", **SINGLE).add(numatopology("n1", free="0")), weight=0)

    assert session.functions(points.NODE_ORDER) == ()
    assert why(session) == {"container c0 cannot be assigned by numa": 1}


def test_the_weight_is_a_whole_number() -> None:
    """As in Volcano; text that is one is read, anything else keeps the default and warns."""
    assert decode(NumaAwareArgs, {"weight": "5"}, "arguments") == (NumaAwareArgs(weight=5), [])
    kept, warnings = decode(NumaAwareArgs, {"weight": 2.5, "wieght": 3}, "arguments")

    assert kept == NumaAwareArgs()
    assert [warning.split(":")[0] for warning in warnings] == ["arguments.weight", "arguments.wieght"]


# All of it ------------------------------------------------------------------------------------------------------------


def test_a_thousand_steps_at_random_leave_no_trace() -> None:
    """Tasks of several sizes come and go in nested statements; what is counted is always what is held."""
    chance = np.random.default_rng(7)
    cluster = NODE.node("n2", cpu=8).add(numatopology("n1", policy="best-effort"), numatopology("n2", reserved="1"))
    for name, cpus in (("a", (1,)), ("b", (2, 1)), ("c", (3,)), ("d", ("500m",))):
        cluster = cluster.job(name, tasks=4, min_available=0, **guaranteed(*cpus))
    session = opened(cluster)
    jobs = {job.job.name: job for job in session.jobs()}

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
                pending = [task for task in session.pending_tasks(job) if task.status.label == "Pending"]
                if pending and chance.random() < 0.7:
                    place = statement.allocate if chance.random() < 0.5 else statement.pipeline
                    some = pending[: int(chance.integers(1, len(pending) + 1))]
                    place(job, some, [int(chance.integers(2)) for _ in some])
                elif statement.operations:
                    statement.undo_to(int(chance.integers(len(statement.operations))))
                assert consistent()
        assert books_of(session).picture() == before
