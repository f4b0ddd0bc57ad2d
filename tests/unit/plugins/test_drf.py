"""DRF in a session: worked numbers of docs/plugins/drf.md."""

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Vote
from pyroclast.model.tasks import Task
from pyroclast.plugins.drf.shares import dominant, largest
from pyroclast.plugins.drf.tree import Tree
from tests.unit.plugins.policies import World, acted, bound, group, node, opened, pod, queue

HIERARCHICAL = {"name": "drf", "enableHierarchy": True}


def held(name: str, *amounts: tuple[str, str], own: str = "default") -> list[Any]:
    """A group with running pods of (cpu, memory)."""
    pods = [
        pod(f"{name}{index}", job=name, on="n", cpu=cpu, memory=memory) for index, (cpu, memory) in enumerate(amounts)
    ]
    return [group(name, queue=own), *pods]


def wanted(name: str, own: str, count: int, cpu: str = "", memory: str = "") -> list[Any]:
    """A group with pending pods."""
    return [
        group(name, queue=own),
        *(pod(f"{name}-w-{index}", job=name, cpu=cpu, memory=memory) for index in range(count)),
    ]


def world(*objects: Any) -> World:
    """A session with drf alone, on 10 CPU and 100 bytes of memory."""
    return opened(node("n", cpu="10", memory="100", pods=1000), *objects, plugins=["drf"])


# Shares ---------------------------------------------------------------------------------------------------------------


def test_the_dominant_share_is_the_largest() -> None:
    """3 of 10 and 10 of 100: 0.3, of the first resource; the first of equals; none of what is not offered."""
    assert dominant([3000, 10], [10000, 100]) == (0.3, 0)
    assert dominant([1000, 30], [10000, 100]) == (0.3, 1)
    assert dominant([3000, 30], [10000, 100]) == (0.3, 0)
    assert dominant([0, 0], [10000, 100]) == (0.0, -1)
    assert dominant([5, 1], [0, 100]) == (0.01, 1)


def test_jobs_with_smaller_shares_go_first() -> None:
    """0.2 by memory before 0.3 by CPU, against the order of names."""
    there = world(*held("a-rich", ("3", "5")), *held("b-poor", ("1", "20")))
    jobs = sorted((there.job(name) for name in ("a-rich", "b-poor")), key=there.session.jobs.order_key)

    assert [job.job.name for job in jobs] == ["b-poor", "a-rich"]


def test_pods_are_a_resource_too() -> None:
    """A job of many tiny pods has the places of pods as its dominant resource."""
    there = opened(node("n", cpu="10", memory="100", pods=10), *held("many", *[("1m", "1")] * 5), plugins=["drf"])
    assert there.function(contract.JOB_ORDER).function(there.job("many")) == 0.5
    there.close()

    assert there.session.report.shares[there.job("many").id].resource == "pods"


def test_a_share_follows_placements_evictions_and_waiting_places() -> None:
    """Waiting tasks count as given, evicted ones as gone."""
    there = world(*held("a", ("2", "1"), ("1", "1")), pod("p", job="a", cpu="1", memory="1"))
    rank, job = there.function(contract.JOB_ORDER).function, there.job("a")
    assert rank(job) == 0.3
    with there.session.statement() as statement:
        assert statement.pipeline(job, there.tasks("p"), [0]) is None
        assert rank(job) == 0.4
        there.evict(statement, "a0")
        assert rank(job) == 0.2

    assert rank(job) == 0.3


def test_shares_are_reported() -> None:
    """Dominant resource, share and amounts, what this session placed included."""
    there = acted(world(*held("a", ("2", "30")), pod("p", job="a", cpu="1", memory="1")))
    there.close()
    (share,) = there.session.report.shares.values()

    assert (share.resource, share.share) == ("memory", 0.31)
    assert share.allocated == {"cpu": 3000, "memory": 31000, "pods": 2000}


def test_jobs_that_no_action_looked_at_are_reported_too() -> None:
    """A running job that lacks nothing has a share all the same; the largest comes first."""
    there = world(*held("small", ("1", "5")), *held("large", ("5", "15")))
    there.close()

    assert [(job, share.share) for job, share in there.session.report.shares.items()] == [
        ("ns/large", 0.5),
        ("ns/small", 0.1),
    ]


def test_the_largest_shares_are_found() -> None:
    """0.2 of the third resource, then 0.1 twice; what is not offered, and who does not count, is left out."""
    allocated = np.array([[1, 0, 0, 9, 0], [7, 7, 7, 7, 7], [0, 2, 0, 0, 1]])
    among = np.array([True, True, True, False, True])

    assert largest(allocated, np.array([10, 0, 10]), among=among, most=3) == [1, 0, 4]


def test_an_empty_total_gives_no_share() -> None:
    """Where the cluster offers nothing all are equal."""
    assert largest(np.array([[1, 2]]), np.array([0]), among=np.array([True, True]), most=9) == [0, 1]


# Victims --------------------------------------------------------------------------------------------------------------


def test_jobs_that_keep_more_than_the_preemptor_would_have_give_way() -> None:
    """The preemptor would have 0.30: left with 0.50, 0.30 and 0.40 they give, left with 0.25 it does not."""
    there = world(
        *held("j1", ("1", "5"), ("5", "15")),
        *held("j2", ("1", "5"), ("3", "5")),
        *held("j3", ("1", "10"), ("2", "40")),
        *held("j4", ("1", "1"), ("2500m", "1")),
        *held("mine", ("2", "5")),
        pod("p", job="mine", cpu="1", memory="5"),
    )
    candidates = there.tasks("j10", "j20", "j30", "j40")
    victims, vote = there.function(contract.PREEMPTABLE).function(there.task("p"), candidates)

    assert [task.name for task in victims] == ["j10", "j20", "j30"]
    assert vote is Vote.PERMIT


def test_candidates_of_one_job_are_counted_down() -> None:
    """6 CPU in six pods: left with 0.5, 0.4, 0.3 they give, with 0.2 and 0.1 no more."""
    there = world(*held("j1", *[("1", "1")] * 6), *held("mine", ("2", "1")), pod("p", job="mine", cpu="1", memory="1"))
    candidates = there.tasks(*(f"j1{index}" for index in range(5)))

    assert there.session.evictions.preemptable(there.task("p"), candidates) == candidates[:3]


def test_the_second_candidate_of_a_job_is_judged_without_the_first() -> None:
    """Pods of 1 CPU and 5 bytes: left with 0.50, 0.40 and 0.30 it gives, the fourth would leave 0.20 and stays."""
    there = world(*held("j1", *[("1", "5")] * 6), *held("mine", ("2", "5")), pod("p", job="mine", cpu="1", memory="5"))
    candidates = there.tasks("j10", "j11", "j12", "j13")

    assert there.session.evictions.preemptable(there.task("p"), candidates) == candidates[:3]


@pytest.mark.parametrize(("left", "gives"), [("2999990m", True), ("2999989m", False), ("3000001m", True)])
def test_shares_a_millionth_apart_count_as_equal(left: str, gives: bool) -> None:
    """The preemptor would have 3000 of 10000 CPU: 3000 less a hundredth is as good, a millicore less is not."""
    there = opened(
        node("n", cpu="10000", memory="100", pods=1000),
        *held("j1", ("1", ""), (left, "")),
        *held("mine", ("2999", "")),
        pod("p", job="mine", cpu="1", memory=""),
        plugins=["drf"],
    )

    assert (there.session.evictions.preemptable(there.task("p"), there.tasks("j10")) == there.tasks("j10")) is gives


def test_what_the_session_placed_counts_for_both_sides() -> None:
    """A place that waits makes the preemptor richer, an eviction makes the victim's job poorer."""
    there = world(
        *held("j1", *[("2", "1")] * 3),
        *held("mine", ("1", "1")),
        pod("p", job="mine", cpu="2", memory="1"),
        pod("q", job="mine", cpu="1", memory="1"),
    )
    asked = there.task("p"), there.tasks("j10", "j11")
    assert there.session.evictions.preemptable(*asked) == there.tasks("j10")
    with there.session.statement() as statement:
        assert statement.pipeline(there.job("mine"), there.tasks("q"), [0]) is None
        assert there.session.evictions.preemptable(*asked) == there.tasks("j10")
        there.evict(statement, "j12")
        assert there.session.evictions.preemptable(*asked) == []


def test_candidates_of_no_job_are_passed_over() -> None:
    """They have no share to keep."""
    there = world(*held("j1", ("5", "1"), ("1", "1")), *held("mine", ("1", "1")), pod("alone", job=""))
    alone = there.session.snapshot.orphan_pods[0].task
    candidates = [alone, *there.tasks("j11")]

    assert there.function(contract.PREEMPTABLE).function(there.task("mine0"), candidates)[0] == there.tasks("j11")


def test_a_remaining_pod_is_counted_down_too() -> None:
    """The first would leave 0.2 and stays; the second is judged at 0.1 without it."""
    there = world(
        *held("j1", ("4", "1"), ("1", "1"), ("1", "1")),
        *held("mine", ("2", "1")),
        pod("p", job="mine", cpu="1", memory="1"),
    )

    assert there.session.evictions.preemptable(there.task("p"), there.tasks("j10", "j11")) == []
    assert there.session.evictions.preemptable(there.task("p"), there.tasks("j11", "j10")) == there.tasks("j11")


def test_a_preemptor_without_a_job_has_no_victims() -> None:
    """There is no share to compare with."""
    there = world(*held("a", ("5", "1")), pod("alone", job=""))
    alone = there.session.snapshot.orphan_pods[0].task

    assert there.function(contract.PREEMPTABLE).function(alone, there.tasks("a0")) == ([], Vote.PERMIT)


# Hierarchy ------------------------------------------------------------------------------------------------------------


def test_without_the_flag_queues_are_not_its_business() -> None:
    """Neither their order nor reclaim."""
    session = world(*held("a", ("1", "1"))).session

    assert session.extensions.functions(contract.QUEUE_ORDER) == ()
    assert session.extensions.functions(contract.RECLAIMABLE) == ()


def test_rescaling_end_to_end() -> None:
    """10 CPU and 10 GB: science runs 5 pods of both, development 5 of CPU, production 5 of memory."""
    there = acted(
        opened(
            node("n", cpu="10", memory="10G", pods=50),
            queue("eng-dev", hierarchy="root/eng/dev", weights="100/50/50"),
            queue("eng-prod", hierarchy="root/eng/prod", weights="100/50/50"),
            queue("sci", hierarchy="root/sci", weights="100/50"),
            *wanted("d", "eng-dev", 10, cpu="1"),
            *wanted("m", "eng-prod", 10, memory="1G"),
            *wanted("s", "sci", 10, cpu="1", memory="1G"),
            plugins=["gang", HIERARCHICAL],
            actions="allocate",
        )
    )
    placed = [name[0] for name in bound(there)]

    assert {name: placed.count(name) for name in "dms"} == {"d": 5, "m": 5, "s": 5}


def test_blocked_queues_do_not_hold_back_others_end_to_end() -> None:
    """30 CPU and 30 GB: three queues of CPU run 10 pods each, two of memory 15."""
    there = acted(
        opened(
            node("n", cpu="30", memory="30G", pods=500),
            queue("pg1", hierarchy="root/pg1", weights="100/25"),
            queue("pg2", hierarchy="root/pg2", weights="100/25"),
            queue("pg31", hierarchy="root/pg3/pg31", weights="100/25/50"),
            queue("pg32", hierarchy="root/pg3/pg32", weights="100/25/50"),
            queue("pg4", hierarchy="root/pg4", weights="100/25"),
            *wanted("a", "pg1", 30, cpu="1"),
            *wanted("b", "pg2", 30, cpu="1"),
            *wanted("c", "pg31", 30, cpu="1"),
            *wanted("d", "pg32", 30, memory="1G"),
            *wanted("e", "pg4", 30, memory="1G"),
            plugins=["gang", HIERARCHICAL],
            actions="allocate",
        )
    )
    placed = [name[0] for name in bound(there)]

    assert {name: placed.count(name) for name in "abcde"} == {"a": 10, "b": 10, "c": 10, "d": 15, "e": 15}


def shared() -> World:
    """Two queues of equal weight on 10 CPU: one runs 6 pods of 1 CPU and 2 of 100m, the other has a pending job."""
    rich = [
        group("r", queue="rich"),
        *(pod(f"r{index}", job="r", on="n", cpu="1", memory="") for index in range(6)),
        pod("big", job="r", on="n", cpu="3", memory=""),
        pod("more", job="r", cpu="1", memory=""),
    ]
    poor = [group("p", queue="poor"), pod("p0", job="p", cpu="3", memory=""), pod("p1", job="p", cpu="7", memory="")]
    return opened(
        node("n", cpu="10", memory="10G", pods=500),
        queue("rich", hierarchy="root/rich", weights="1/1"),
        queue("poor", hierarchy="root/poor", weights="1/1"),
        *rich,
        *poor,
        plugins=[HIERARCHICAL],
    )


def test_room_is_reclaimed_while_the_reclaimers_queue_would_still_go_first() -> None:
    """With 3 CPU of its own it goes before 8 and before 6; with 7 it does not go before 6."""
    there = shared()

    assert there.session.evictions.reclaimable(there.task("p0"), there.tasks("r0", "big")) == there.tasks("r0", "big")
    assert there.session.evictions.reclaimable(there.task("p1"), there.tasks("r0", "big")) == there.tasks("r0")


def test_candidates_are_judged_each_for_itself() -> None:
    """Six of them together would leave 3, but each alone leaves 8."""
    there = shared()
    candidates = there.tasks(*(f"r{index}" for index in range(6)))

    assert there.session.evictions.reclaimable(there.task("p0"), candidates) == candidates


def test_a_reclaimer_without_a_job_has_no_victims() -> None:
    """It is in no queue of the tree."""
    there = opened(
        node("n"),
        queue("rich", hierarchy="root/rich", weights="1/1"),
        *held("r", ("1", "1"), own="rich"),
        pod("alone", job=""),
        plugins=[HIERARCHICAL],
    )
    alone = there.session.snapshot.orphan_pods[0].task

    assert there.function(contract.RECLAIMABLE).function(alone, there.tasks("r0")) == ([], Vote.PERMIT)


@pytest.mark.parametrize(("weights", "gives"), [("1/1", False), ("1/2", True)])
def test_a_heavier_queue_may_reclaim_more(weights: str, gives: bool) -> None:
    """With 4 of 10 CPU against 4 that would be left, weight 2 makes it 2 against 4."""
    there = opened(
        node("n", cpu="10", memory="10G", pods=500),
        queue("rich", hierarchy="root/rich", weights="1/1"),
        queue("poor", hierarchy="root/poor", weights=weights),
        *held("r", ("4", ""), ("1", ""), own="rich"),
        pod("r-more", job="r", cpu="1", memory=""),
        group("p", queue="poor"),
        pod("p0", job="p", cpu="4", memory=""),
        pod("p1", job="p", cpu="1", memory=""),
        plugins=[HIERARCHICAL],
    )

    assert (there.session.evictions.reclaimable(there.task("p0"), there.tasks("r1")) == there.tasks("r1")) is gives


def test_a_reclaimer_whose_queue_would_have_all_it_asks_for_has_no_victims() -> None:
    """Saturated goes last: with its one pod placed the poor queue could use nothing more, the rich one could."""
    there = opened(
        node("n", cpu="10", memory="10G", pods=500),
        queue("rich", hierarchy="root/rich", weights="1/1"),
        queue("poor", hierarchy="root/poor", weights="1/1"),
        *held("r", *[("1", "")] * 9, own="rich"),
        pod("r-more", job="r", cpu="1", memory=""),
        group("p", queue="poor"),
        pod("p0", job="p", cpu="1", memory=""),
        plugins=[HIERARCHICAL],
    )

    assert there.session.evictions.reclaimable(there.task("p0"), there.tasks("r0")) == []


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_reclaim_decides_as_trees_made_afresh_would(data: st.DataObject) -> None:
    """For each candidate a new tree, with the reclaimer's request given and the candidate's taken."""
    paths = {"a": ("root/a", "1/1"), "b": ("root/b/x", "1/3/1"), "c": ("root/b/y", "1/2/2"), "d": ("root/d", "1/2")}
    cpus, names = st.integers(1, 3).map(str), sorted(paths)
    running = {name: data.draw(st.lists(cpus, max_size=4)) for name in names}
    waits = {name: data.draw(cpus) for name in names}
    there = opened(
        node("n", cpu="14", memory="1Gi", pods=data.draw(st.sampled_from([20, 500]))),
        *(queue(name, hierarchy=path, weights=weights) for name, (path, weights) in paths.items()),
        *(each for name in names for each in held(name, *((cpu, "") for cpu in running[name]), own=name)),
        *(pod(f"{name}-waits", job=name, cpu=waits[name], memory="") for name in names),
        plugins=[HIERARCHICAL],
    )
    mine = data.draw(st.sampled_from(names))
    reclaimer = there.task(f"{mine}-waits")
    candidates = there.tasks(
        *(f"{name}{index}" for name in names if name != mine for index in range(len(running[name])))
    )

    def fresh(candidate: Task) -> bool:
        tree = Tree(there.session.total.tolist())
        counted = {
            task.id: np.array(there.session.nodes.counted_amounts(task))
            for name in names
            for task in there.job(name).tasks.values()
        }
        for name in names:
            job = there.job(name)
            changes = {reclaimer.id: 1, candidate.id: -1}
            moved = sum(
                (changes[task.id] * counted[task.id] for task in job.tasks.values() if task.id in changes),
                start=job.allocated,
            )
            request = sum((counted[task.id] for task in job.tasks.values()), start=0 * job.allocated)
            tree.add_job(job.id, tree.node(*paths[name]), request=request.tolist(), allocated=moved.tolist())
        tree.settle()
        job = there.session.jobs.of(candidate)
        assert job is not None
        return tree.compare(paths[mine][0], paths[job.job.name][0]) < 0

    answer, _ = there.function(contract.RECLAIMABLE).function(reclaimer, candidates)
    assert answer == [candidate for candidate in candidates if fresh(candidate)]


def test_asking_for_victims_changes_no_share() -> None:
    """The order of queues is what it was."""
    there = shared()
    queues = there.queue("rich"), there.queue("poor")
    tree = there.function(contract.RECLAIMABLE).function.__self__._tree
    before = {name: (node.share, list(node.vector)) for name, node in tree.root.children.items()}
    there.session.evictions.reclaimable(there.task("p1"), there.tasks("r0", "big"))

    assert {name: (node.share, list(node.vector)) for name, node in tree.root.children.items()} == before
    assert min(queues, key=there.session.queues.order_key).name == "poor"


def test_queues_without_jobs_or_path_are_compared_as_having_nothing() -> None:
    """Nothing fails; older ones go first among equals."""
    there = opened(
        node("n"),
        queue("busy", hierarchy="root/busy", weights="1/1"),
        queue("idle", hierarchy="root/idle", weights="1/1"),
        queue("plain"),
        *held("a", ("1", "1"), own="busy"),
        pod("p", job="a"),
        plugins=[HIERARCHICAL],
    )
    keys = {name: there.session.queues.order_key(there.queue(name)) for name in ("busy", "idle", "plain")}

    assert keys["idle"] < keys["busy"]
    assert not keys["plain"][0] < keys["busy"][0]
    assert not keys["busy"][0] < keys["plain"][0]


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_undone_changes_leave_shares_and_tree_as_they_were(data: st.DataObject) -> None:
    """Any mix of placements, waiting places and evictions."""
    there = shared()
    tree = there.function(contract.RECLAIMABLE).function.__self__._tree
    rank = there.function(contract.JOB_ORDER).function

    def everything() -> list[Any]:
        nodes = [tree.root, *tree.root.children.values()]
        shares = [rank(there.job("r")), rank(there.job("p"))]
        return [*shares, *((node.share, list(node.vector), node.is_saturated) for node in nodes)]

    before = everything()
    with there.session.statement() as statement:
        names = data.draw(st.permutations(["r0", "r1", "big", "more", "p0", "p1"]))
        for name in names[: data.draw(st.integers(1, 6))]:
            task = there.task(name)
            job = there.session.jobs.of(task)
            assert job is not None
            if task.node is not None:
                there.evict(statement, name)
            elif data.draw(st.booleans()):
                there.place(statement, name, "n")
            else:
                assert statement.pipeline(job, [task], [0]) is None

    assert everything() == before
