"""Enqueue: which groups pass the gate of their queue."""

from pyroclast.testing import Scenario

PLUGINS = ("drf", "proportion", "sla", "gang")
NODE = Scenario().node("n1", cpu=100)


def test_a_group_that_says_no_minimum_passes() -> None:
    """No plugin is asked, whatever its pods request."""
    there = NODE.queue("q", capability={"cpu": 1}).job("a", queue="q", cpu=8)

    assert there.run("enqueue", plugins=PLUGINS).phases == {"a": "Inqueue"}


def test_a_group_above_the_capability_of_its_queue_is_not_admitted() -> None:
    """8 CPU, where 1 is the most."""
    there = NODE.queue("q", capability={"cpu": 1}).job("a", queue="q", cpu=8, min_resources={"cpu": 8})

    assert there.run("enqueue", plugins=PLUGINS).phases == {"a": "Pending"}


def test_admitted_pods_stay_admitted() -> None:
    """Inqueue stays Inqueue and Running stays Running, beside one that has just come."""
    there = NODE.job("in", phase="Inqueue").running("runs", on=["n1"]).job("new")

    assert there.run("enqueue", plugins=PLUGINS).phases == {"in": "Inqueue", "runs": "Running", "new": "Inqueue"}


def test_a_refused_group_holds_up_none_behind_it() -> None:
    """The older one requests more than exists."""
    there = NODE.job("large", cpu=1, min_resources={"cpu": 101}).job("small", cpu=1, min_resources={"cpu": 1})

    assert there.run("enqueue", plugins=PLUGINS).phases == {"large": "Pending", "small": "Inqueue"}
