"""Scores of nodes by their cards."""

import pytest

from pyroclast.framework.extension import contract
from pyroclast.model.arrays import FloatArray
from pyroclast.testing import Scenario
from pyroclast.testing.session import open_session
from tests.unit.plugins.cards import IDS, one, with_cards


def scores(scenario: Scenario, **arguments: object) -> dict[str, float]:
    """Scores of the first pending pod, by node."""
    named = {f"deviceshare.{key}": value for key, value in {"VGPUEnable": True, **arguments}.items()}
    session = open_session(scenario, plugins=("deviceshare",), arguments={"deviceshare": named})
    task = next(task for job in session.snapshot.jobs.values() for task in job.tasks.values() if task.node is None)
    found: dict[str, float] = dict.fromkeys(map(str, session.nodes.table.names), 0.0)
    concerned = [
        each for each in session.extensions.functions(contract.NODE_ORDER) if each.cares is None or each.cares(task)
    ]
    for each in concerned:
        answer: FloatArray | None = each.function(task, session.nodes.columns())
        for name, score in zip(session.nodes.table.names, [] if answer is None else answer.tolist(), strict=False):
            found[str(name)] += score
    return found


USED = with_cards(with_cards(Scenario(), "idle", 30000), "used", 30000)
USED = USED.running("r", on=["used"], pod=one(number=1, memory=3000), annotations={IDS: "GPU-0,NVIDIA,3000,0:"})


@pytest.mark.parametrize(
    ("policy", "idle", "used"),
    [("binpack", 30, 130), ("spread", 1000, 0), ("", 0, 0), ("other", 0, 0)],
)
def test_a_card_scores_by_the_policy(policy: str, idle: float, used: float) -> None:
    """Binpack: 1000 of 30000 are 3.33, so 3, and 4000 are 13.33, so 13; spread: 100 for an unused card."""
    found = scores(USED.job("p", pod=one(number=1, memory=1000)), SchedulePolicy=policy, ScheduleWeight=10)

    assert found == {"idle": idle, "used": used}


def test_spread_may_score_as_volcano_does() -> None:
    """It looks at the card after it has taken it, so that none is idle."""
    found = scores(
        USED.job("p", pod=one(number=1, memory=1000)),
        SchedulePolicy="spread",
        ScheduleWeight=10,
        StrictSpreadScore=True,
    )

    assert set(found.values()) == {0}


def test_without_a_weight_nothing_is_scored() -> None:
    """As is the default."""
    assert set(scores(USED.job("p", pod=one(number=1)), SchedulePolicy="binpack").values()) == {0}


def test_two_cards_add_up() -> None:
    """Both are full: 200."""
    cluster = with_cards(Scenario(), "n", 1000, 1000).job("p", pod=one(number=2))

    assert scores(cluster, SchedulePolicy="binpack", ScheduleWeight=1) == {"n": 200}


def test_binpack_draws_pods_to_the_used_node() -> None:
    """Through a cycle, where other scores are equal."""
    outcome = USED.job("p", pod=one(number=1, memory=1000)).run(
        "allocate",
        plugins=("predicates", "deviceshare"),
        arguments={
            "deviceshare": {
                "deviceshare.VGPUEnable": "true",
                "deviceshare.SchedulePolicy": "binpack",
                "deviceshare.ScheduleWeight": "10",
            }
        },
    )

    assert outcome.bindings == {"p-0": "used"}
