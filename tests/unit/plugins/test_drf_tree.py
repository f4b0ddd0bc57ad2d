"""The tree of hierarchical DRF: worked examples of docs/plugins/drf.md, and the law of changes."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from pyroclast.plugins.drf.tree import Tree

PLENTY = (20000, 20000)


def grown(total: Sequence[int], *jobs: tuple[str, str, Sequence[int]], request: Sequence[int] = PLENTY) -> Tree:
    """A tree of jobs: path, weights, allocation; jobs are called j1, j2, ..."""
    tree = Tree(total)
    for number, (path, weights, allocated) in enumerate(jobs, start=1):
        tree.add_job(f"j{number}", tree.node(path, weights), request=request, allocated=allocated)
    tree.settle()
    return tree


def share(tree: Tree, path: str) -> Fraction:
    """Share of the node at a path."""
    return tree.node(path, "").share


A = grown(
    (10000, 10000),
    ("root/eng/dev", "1/1/1", (8000, 0)),
    ("root/eng/prod", "1/1/1", (0, 2000)),
    ("root/sci", "1/2", (0, 3000)),
)
B = grown(
    (10000, 10000),
    ("root/a", "1/1", (6000, 0)),
    ("root/b/x", "1/1/1", (4000, 0)),
    ("root/b/y", "1/1/1", (0, 4000)),
)


def test_a_child_far_ahead_is_scaled_down() -> None:
    """Development has 0.8 of the CPU, production 0.2 of memory: engineering counts as 0.2, the root as 0.4."""
    assert share(A, "root/eng/dev") == Fraction(8, 10)
    assert share(A, "root/eng/prod") == Fraction(2, 10)
    assert share(A, "root/eng") == Fraction(2, 10)
    assert A.node("root/eng", "").vector == [2000, 2000]
    assert share(A, "root/sci") == Fraction(3, 10)
    assert A.root.vector == [2000, 4000]
    assert A.root.share == Fraction(4, 10)


def test_queues_are_compared_where_their_paths_part() -> None:
    """Ordered by share over weight: 0.2 to 0.3 / 2, and 0.8 to 0.2."""
    assert A.compare("root/eng/dev", "root/sci") == Fraction(5, 100)
    assert A.compare("root/sci", "root/eng/dev") == -Fraction(5, 100)
    assert A.compare("root/eng/dev", "root/eng/prod") == Fraction(6, 10)
    assert A.compare("root/sci", "root/sci") == 0


def test_the_next_level_decides_between_equal_branches() -> None:
    """Both branches have 0.4. Below them 0.4 / 4 goes before 0.4 / 1."""
    tree = grown(
        (10000, 10000),
        ("root/a/x", "1/1/1", (4000, 0)),
        ("root/b/y", "1/1/4", (4000, 0)),
    )

    assert share(tree, "root/a") == share(tree, "root/b") == Fraction(4, 10)
    assert tree.compare("root/a/x", "root/b/y") == Fraction(3, 10)
    assert tree.compare("root/b/y", "root/a/x") == -Fraction(3, 10)


def test_satisfied_quotas_come_last() -> None:
    """All CPU is taken: those who hold CPU and want more are saturated, and so is a."""
    assert B.node("root/a", "").is_saturated
    assert B.node("root/b/x", "").is_saturated
    assert not B.node("root/b/y", "").is_saturated
    assert not B.node("root/b", "").is_saturated
    assert B.node("root/b", "").vector == [4000, 4000]
    assert share(B, "root/b") == Fraction(4, 10)
    assert B.compare("root/a", "root/b/y") == 1
    assert B.compare("root/b/y", "root/a") == -1


def test_a_job_with_all_it_asked_for_is_saturated() -> None:
    """One saturated resource is enough; a queue without resources never is."""
    done = grown((10000, 10000), ("root/a", "1/1", (500, 0)), request=(500, 9000))
    idle = grown((10000, 10000), ("root/a", "1/1", (0, 0)), request=(0, 0))

    assert done.node("root/a", "").is_saturated
    assert not idle.node("root/a", "").is_saturated


@pytest.mark.parametrize(
    ("weights", "weight"),
    [("1/4", 4), ("1/2.5", Fraction(5, 2)), ("1/0.5", 1), ("1/-3", 1), ("1/much", 1), ("1/nan", 1), ("1", 1), ("", 1)],
)
def test_weights_below_one_broken_and_missing_are_one(weights: str, weight: Fraction) -> None:
    """As in Volcano, which fails on missing ones."""
    assert Tree((1,)).node("root/a", weights).weight == weight


def test_the_first_weight_of_a_node_stays() -> None:
    """Another queue below it may say otherwise."""
    tree = Tree((1,))
    tree.node("root/a/x", "1/3/1")
    tree.node("root/a/y", "1/7/1")

    assert tree.node("root/a", "").weight == 3


def test_a_queue_without_path_or_jobs_has_no_share() -> None:
    """It compares as an equal of nothing: a node that is not there has share 0 and can use more."""
    assert A.compare("", "root/sci") == 0
    assert A.compare("root/new", "root/sci") < 0
    assert B.compare("root/new", "root/a") == -1


def allocate(total: Mapping[str, int], queues: Sequence[tuple[str, str, Mapping[str, int]]], pods: int) -> list[int]:
    """Give one pod at a time to the first queue, ties by name; returns pods by queue."""
    names = list(total)
    tree = Tree([total[name] for name in names])
    requests = [[request.get(name, 0) for name in names] for _, _, request in queues]
    for number, (path, weights, _) in enumerate(queues):
        wanted = [amount * pods for amount in requests[number]]
        tree.add_job(str(number), tree.node(path, weights), request=wanted, allocated=[0] * len(names))
    tree.settle()
    free, given = [total[name] for name in names], [0] * len(queues)
    waiting = set(range(len(queues)))
    while waiting:
        first = min(waiting)
        for number in sorted(waiting):
            if tree.compare(queues[number][0], queues[first][0]) < 0:
                first = number
        fits = all(have >= asked for have, asked in zip(free, requests[first], strict=True))
        if not fits or given[first] == pods:
            waiting.discard(first)
            continue
        free = [have - asked for have, asked in zip(free, requests[first], strict=True)]
        given[first] += 1
        tree.change(str(first), requests[first])
    return given


def test_rescaling_end_to_end() -> None:
    """10 CPU and 10 GB: science has 5 pods of both, development 5 of CPU, production 5 of memory."""
    queues = [
        ("root/eng/dev", "100/50/50", {"cpu": 1000, "pods": 1}),
        ("root/eng/prod", "100/50/50", {"memory": 10**9, "pods": 1}),
        ("root/sci", "100/50", {"cpu": 1000, "memory": 10**9, "pods": 1}),
    ]

    assert allocate({"cpu": 10000, "memory": 10**10, "pods": 50}, queues, 10) == [5, 5, 5]


def test_blocked_queues_do_not_hold_back_others_end_to_end() -> None:
    """30 CPU and 30 GB: three queues of CPU have 10 pods each, two of memory 15."""
    cpu, memory = {"cpu": 1000, "pods": 1}, {"memory": 10**9, "pods": 1}
    queues = [
        ("root/pg1", "100/25", cpu),
        ("root/pg2", "100/25", cpu),
        ("root/pg3/pg31", "100/25/50", cpu),
        ("root/pg3/pg32", "100/25/50", memory),
        ("root/pg4", "100/25", memory),
    ]

    assert allocate({"cpu": 30000, "memory": 3 * 10**10, "pods": 500}, queues, 30) == [10, 10, 10, 15, 15]


# Laws -----------------------------------------------------------------------------------------------------------------

Plain = dict[str, tuple[list[Fraction], Fraction, bool]]
PATHS = ("root/a", "root/b/x", "root/b/y", "root/c/u/v", "root/c/w")


def from_scratch(total: Sequence[int], jobs: Mapping[str, tuple[str, Sequence[int], Sequence[int]]]) -> Plain:
    """Compute all nodes as docs/plugins/drf.md says, keeping nothing: path → (allocation, share, saturated)."""
    rows = range(len(total))
    used = [sum(allocated[row] for _, _, allocated in jobs.values()) for row in rows]
    demanding = [used[row] < total[row] for row in rows]

    def share_of(vector: Sequence[Fraction]) -> Fraction:
        return max((vector[row] / total[row] for row in rows if total[row]), default=Fraction(0))

    def leaf(request: Sequence[int], allocated: Sequence[int]) -> tuple[list[Fraction], Fraction, bool]:
        vector = [Fraction(amount) for amount in allocated]
        saturated = any(
            allocated[row] and request[row] and (allocated[row] >= request[row] or not demanding[row]) for row in rows
        )
        return vector, share_of(vector), saturated

    result: Plain = {}

    def node(path: str) -> tuple[list[Fraction], Fraction, bool]:
        below = {
            other[: other.find("/", len(path) + 1)] if "/" in other[len(path) + 1 :] else other
            for other, _, _ in jobs.values()
            if other.startswith(path + "/")
        }
        children = [node(child) for child in sorted(below)]
        children += [leaf(request, allocated) for own, request, allocated in jobs.values() if own == path]
        smallest = min([Fraction(1), *(share for _, share, saturated in children if share and not saturated)])
        vector = [Fraction(0)] * len(total)
        for allocation, share, saturated in children:
            if share:
                scale = Fraction(1) if saturated else smallest / share
                vector = [have + amount * scale for have, amount in zip(vector, allocation, strict=True)]
        result[path] = (vector, share_of(vector), all(saturated for *_, saturated in children))
        return result[path]

    node("root")
    return result


def values(tree: Tree, paths: Sequence[str]) -> Plain:
    """Allocation, share and saturation of nodes of a tree."""
    nodes = {path: tree.node(path, "") for path in paths}
    return {path: (node.vector, node.share, node.is_saturated) for path, node in nodes.items()}


@settings(deadline=None)
@given(data=st.data())
def test_changes_give_what_a_fresh_computation_gives_and_undo_exactly(data: st.DataObject) -> None:
    """Any placements and evictions on any tree, one by one, then all of them back."""
    total = data.draw(st.lists(st.integers(0, 12), min_size=3, max_size=3))
    amounts = st.lists(st.integers(0, 6), min_size=3, max_size=3)
    jobs = {
        f"j{number}": (path, data.draw(amounts), data.draw(amounts))
        for number, path in enumerate(data.draw(st.lists(st.sampled_from(PATHS), min_size=1, max_size=6)))
    }
    tree = Tree(total)
    for name, (path, request, allocated) in jobs.items():
        tree.add_job(name, tree.node(path, "1/2/3/4"), request=request, allocated=allocated)
    tree.settle()
    paths = list(from_scratch(total, jobs))
    begin = values(tree, paths)
    assert begin == from_scratch(total, jobs)

    done: list[tuple[str, list[int]]] = []
    current = dict(jobs)
    for _ in range(data.draw(st.integers(1, 8))):
        name = data.draw(st.sampled_from(sorted(jobs)))
        path, request, allocated = current[name]
        change = [data.draw(st.integers(-have, 4)) for have in allocated]
        tree.change(name, change)
        done.append((name, change))
        current[name] = (path, request, [have + more for have, more in zip(allocated, change, strict=True)])
        assert values(tree, paths) == from_scratch(total, current)

    for name, change in reversed(done):
        tree.change(name, [-amount for amount in change])
    assert values(tree, paths) == begin


def test_a_path_may_have_thousands_of_parts() -> None:
    """The share of the queue at its end is that of all above it."""
    path = "root" + "/a" * 5000
    tree = grown((10000, 10000), (path, "1", (5000, 0)))

    assert share(tree, path) == share(tree, "root/a") == Fraction(1, 2)
