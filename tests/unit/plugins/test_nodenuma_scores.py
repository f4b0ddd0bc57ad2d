"""Scores of nodes and of sets of NUMA nodes."""

from typing import Any

import numpy as np
import pytest

from pyroclast.framework.extension import contract
from pyroclast.plugins.nodenuma.scoring import LEAST, MOST, Scoring
from pyroclast.testing import Scenario, open_session
from tests.nodenuma import NUMA, holding, node, pinned

SINGLE = {NUMA: '{"numaTopologyPolicy":"SingleNUMANode"}'}


@pytest.mark.parametrize(("strategy", "expected"), [(LEAST, 50), (MOST, 50)])
def test_the_arithmetic(strategy: str, expected: int) -> None:
    """CPU half used with the pod, memory half; a resource that is not offered does not count."""
    scoring = Scoring(strategy, (("cpu", 1), ("memory", 3), ("example.com/x", 1)))

    assert scoring.score({"cpu": 8000, "memory": 8}, {"cpu": 2000, "memory": 4}, {"cpu": 2000}) == expected


def test_weights_and_rounding() -> None:
    """Each resource is rounded down, and so is their average."""
    scoring = Scoring(LEAST, (("cpu", 2), ("memory", 1)))

    assert scoring.score({"cpu": 3000, "memory": 3}, {}, {"cpu": 1000}) == (2 * 66 + 100) // 3
    assert scoring.score({"cpu": 3000}, {"cpu": 9000}, {}) == 0
    assert Scoring(MOST).score({"cpu": 3000}, {"cpu": 9000}, {}) == 100
    assert scoring.score({}, {}, {}) == 0


def test_many_nodes_at_once() -> None:
    """The same numbers as one by one."""
    totals, used = np.array([[8, 0, 4], [10, 10, 10]]), np.array([[2, 0, 8], [5, 0, 1]])
    for strategy in (LEAST, MOST):
        scoring = Scoring(strategy, (("cpu", 1), ("memory", 2)))
        one_by_one = [
            scoring.score(
                {"cpu": int(totals[0, at]), "memory": int(totals[1, at])},
                {"cpu": int(used[0, at]), "memory": int(used[1, at])},
                {},
            )
            for at in range(3)
        ]
        assert scoring.of_nodes([(0, 1), (1, 2)], totals, used).tolist() == one_by_one


def scores(scenario: Scenario, **arguments: Any) -> list[float]:
    """Scores of all nodes for the only pending task."""
    session = open_session(scenario, plugins=("gang", "nodenuma"), arguments={"nodenuma": arguments})
    task = next(task for job in session.jobs.all() for task in job.tasks.values() if task.node is None)
    answers = [
        each.function(task, session.nodes.columns()) for each in session.extensions.functions(contract.NODE_ORDER)
    ]
    assert session.extensions.failures == {}
    (found,) = [each for each in answers if each is not None]
    return [float(score) for score in found]


def test_nodes_without_a_numa_policy() -> None:
    """Scored by their amounts; memory is not in use."""
    there = node("n1").node("n2", cpu=8, memory="256Gi").running("a", on=["n2"], cpu=4)

    assert scores(there.job("p", cpu=2)) == [(75 + 100) // 2, (25 + 100) // 2]
    assert scores(there.job("p", cpu=2), scoringStrategy={"type": MOST}, weight=10) == [120, 370]
    assert scores(pinned(there, "p", 2)) == [87, 62]


def test_amplified_cpus() -> None:
    """Four own CPUs count six of twelve, two more of the pod three."""
    there = node(offers=12, notes={"resource-amplification-ratio": '{"cpu":1.5}'})

    assert scores(pinned(holding(there, "held", "0-1,4-5", 4), "p", 2), scoringStrategy=CPU_ALONE) == [25]


CPU_ALONE = {"type": LEAST, "resources": [{"name": "cpu", "weight": 1}]}


def test_nodes_with_a_numa_policy() -> None:
    """Scored by the NUMA nodes that the pod would use: the second one, of which it would use half."""
    there = holding(node(), "held", "0,4", 2, amounts={0: {"cpu": "2"}})

    assert scores(there.job("p", cpu=2, annotations=SINGLE), scoringStrategy=CPU_ALONE) == [50]
    assert scores(pinned(there, "p", 2, numa="SingleNUMANode"), scoringStrategy=CPU_ALONE) == [50]
    most = {"scoringStrategy": CPU_ALONE, "numaScoringStrategy": {"type": MOST}}
    assert scores(there.job("p", cpu=2, annotations=SINGLE), **most) == [0]
    assert scores(there.job("p", cpu=5, annotations=SINGLE), **most) == [0]


def test_amplified_cpus_of_numa_nodes() -> None:
    """A NUMA node offers six CPUs: two shared ones use a third, and two of a pod's own use a half."""
    there = node(offers=12, notes={"resource-amplification-ratio": '{"cpu":1.5}'})

    assert scores(there.job("p", cpu=2, annotations=SINGLE), scoringStrategy=CPU_ALONE) == [66]
    assert scores(pinned(there, "p", 2, numa="SingleNUMANode"), scoringStrategy=CPU_ALONE) == [50]


def test_no_score() -> None:
    """A weight of 0 registers none."""
    session = open_session(node().job("p"), plugins=("nodenuma",), arguments={"nodenuma": {"weight": 0}})

    assert not session.extensions.functions(contract.NODE_ORDER)
