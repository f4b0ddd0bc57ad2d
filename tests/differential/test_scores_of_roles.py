"""Task-topology over arrays and a plain computation, node by node and task by task, agree on clusters by chance."""

from fractions import Fraction
from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pyroclast.framework.extension import contract
from tests.differential.roles import PlainJob, PlainTask, plain_job
from tests.drawing import examples
from tests.unit.plugins.policies import World, group, node, opened, pod

ALIKE = settings(max_examples=examples(120), deadline=None)
SEEDS = st.integers(0, 2**32)
WEIGHT = 10
PLUGIN = {"name": "task-topology", "arguments": {"task-topology.weight": WEIGHT}}
Sizes = dict[str, dict[str, int]]


def sizes(chance: Random) -> Sizes:
    """What each node offers; running tasks may have filled it up beyond that."""
    return {
        f"n{number}": {
            "cpu": chance.choice([2, 4, 9]),
            "memory": chance.choice([3, 8, 20]),
            "pods": chance.choice([2, 9]),
        }
        for number in range(chance.randint(1, 5))
    }


def world(plain: PlainJob, offered: Sizes) -> World:
    """A session with task-topology alone."""
    return opened(
        *(
            node(name, cpu=str(size["cpu"]), memory=f"{size['memory']}Gi", pods=size["pods"])
            for name, size in offered.items()
        ),
        group("job", annotations=plain.annotations),
        *(
            pod(
                each.name,
                on=each.node,
                cpu=str(each.cpu),
                memory=f"{each.memory}Gi",
                annotations={"volcano.sh/task-spec": each.role},
            )
            for each in plain.tasks
        ),
        plugins=[PLUGIN],
    )


def room(plain: PlainJob, name: str, size: dict[str, int], gone: set[str]) -> dict[str, int | Fraction]:
    """What a node has free or being released."""
    there = [
        each for each in plain.tasks if (plain.placed.get(each.name) or each.node) == name and each.name not in gone
    ]
    return {
        "cpu": size["cpu"] - sum(each.cpu for each in there),
        "memory": size["memory"] - sum(each.memory for each in there),
        "pods": size["pods"] - len(there),
    }


def waiting(plain: PlainJob) -> list[PlainTask]:
    """The tasks on no node."""
    return [each for each in plain.tasks if not each.node and each.name not in plain.placed]


def agree(there: World, plain: PlainJob, offered: Sizes, gone: set[str]) -> None:
    """All nodes at once, each alone, and the plain rule: the same scores."""
    for task in waiting(plain):
        free = {name: room(plain, name, size, gone) for name, size in offered.items()}
        found = there.scores(task.name)

        assert {
            name: score for each in offered for name, score in there.scores(task.name, among=[each]).items()
        } == found
        for name, score in found.items():
            assert abs(score - plain.score(task, name, free[name], WEIGHT)) < 1e-6, (task, name)


@ALIKE
@given(SEEDS)
def test_same_scores(seed: int) -> None:
    """As the session opens, while tasks are placed and evicted, and when that is undone."""
    chance = Random(seed)
    offered = sizes(chance)
    plain = plain_job(chance, sorted(offered))
    there, gone = world(plain, offered), set[str]()
    agree(there, plain, offered, gone)

    with there.session.statement() as statement:
        for _ in range(chance.randint(1, 4)):
            running = [each for each in plain.tasks if each.node and each.name not in gone]
            if running and chance.random() < 0.3:
                victim = chance.choice(running).name
                there.evict(statement, victim)
                gone.add(victim)
                continue
            choices = [
                (task.name, name)
                for task in waiting(plain)
                for name, size in offered.items()
                if _has_room(plain, task, name, size)
            ]
            if choices:
                name, on = chance.choice(choices)
                there.place(statement, name, on)
                plain.placed[name] = on
        agree(there, plain, offered, gone)

    plain.placed.clear()
    agree(there, plain, offered, set())


def _has_room(plain: PlainJob, task: PlainTask, name: str, size: dict[str, int]) -> bool:
    free = room(plain, name, size, set())
    return task.cpu <= free["cpu"] and task.memory <= free["memory"] and free["pods"] > 0


@ALIKE
@given(SEEDS)
def test_same_order(seed: int) -> None:
    """Tasks of buckets go in the plain order, and before the others."""
    chance = Random(seed)
    offered = sizes(chance)
    plain = plain_job(chance, sorted(offered))
    there = world(plain, offered)
    if not waiting(plain):
        return
    key = there.function(contract.TASK_ORDER).function
    found = sorted(there.tasks(*(each.name for each in plain.tasks)), key=lambda task: (key(task), task.name))
    ordered = plain.ordered()

    assert [task.name for task in found][: len(ordered)] == ordered


@ALIKE
@given(SEEDS)
def test_nodes_of_a_subset_score_as_among_all(seed: int) -> None:
    """The rest of the candidates does not matter."""
    chance = Random(seed)
    offered = sizes(chance)
    plain = plain_job(chance, sorted(offered))
    there = world(plain, offered)
    some = chance.sample(sorted(offered), chance.randint(1, len(offered)))
    for task in waiting(plain):
        found = there.scores(task.name)

        assert there.scores(task.name, among=some) == {name: found[name] for name in sorted(some)}
        assert np.isfinite(list(found.values())).all()
