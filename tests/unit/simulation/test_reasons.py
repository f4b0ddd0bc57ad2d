"""Reasons in answers: amounts, blocking jobs, and why no pods are evicted."""

from pyroclast.scheduler.simulation.answer import answers_of
from pyroclast.scheduler.simulation.table import table
from pyroclast.testing import Scenario

PLUGINS = (("priority", "gang", "conformance"), ("predicates", "capacity", "nodeorder"))
SCENARIO = (
    Scenario()
    .node("n1", cpu=4, memory="8Gi")
    .node("closed", cpu=64, memory="64Gi", unschedulable=True)
    .queue("a", deserved={"cpu": 2, "memory": "4Gi"})
    .running("old", on=["n1"] * 3, queue="a", cpu=1, memory="2Gi")
    .job("new", queue="a", cpu=2, memory="3Gi")
)


def test_amounts_are_quantities() -> None:
    """What a pod asks for and what nodes have left, what a queue would have and what it deserves."""
    (answer,) = answers_of(SCENARIO.run("enqueue", "allocate", "reclaim", plugins=PLUGINS).rounds)
    (of_pod,) = answer["podRefusals"]["default/new-0"]
    verdict, of_reclaim = answer["refusals"]["default/new"]

    assert of_pod["amounts"] == {"cpu": {"requested": "2", "available": "1"}}
    assert verdict["fitsWhen"] == ["default/old"]
    assert (of_reclaim["action"], of_reclaim["plugin"]) == ("reclaim", "capacity")
    assert of_reclaim["amounts"] == {
        "cpu": {"requested": "5", "available": "2"},
        "memory": {"requested": "9Gi", "available": "4Gi"},
    }


def test_what_there_is_none_of_is_left_out() -> None:
    """A refusal without amounts, action or remedy says nothing of them."""
    (answer,) = answers_of(SCENARIO.run("enqueue", "allocate", plugins=PLUGINS).rounds)

    assert set(answer["refusals"]["default/new"][0]) == {"reason", "plugin", "counts", "message", "fitsWhen"}


def test_the_table_says_first_what_is_lacking() -> None:
    """Then why no pods are evicted, also for a pod beyond the minimum."""
    elastic = SCENARIO.pod("old-3", job="old", cpu=2)
    text = table(elastic.run("enqueue", "allocate", "reclaim", plugins=PLUGINS).rounds)
    line = next(each for each in text.splitlines() if "default/old-3" in each)

    assert "1 node(s) were unschedulable. reclaim: queue a would exceed its deserved amount of every" in line
