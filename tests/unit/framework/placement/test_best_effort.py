"""Tasks that ask for nothing still take a place among the pods of a node."""

from pyroclast.testing import Scenario


def test_a_node_takes_no_more_pods_than_it_may() -> None:
    """Also where no plugin counts them."""
    outcome = (
        Scenario()
        .node("n1", pods=2)
        .job("a", tasks=3, min_available=1, cpu=None)
        .run("allocate", "backfill", plugins=("gang",))
    )

    assert sorted(outcome.bindings) == ["a-0", "a-1"]
    assert outcome.why_pod("a-2") == "resources: 0/1 nodes are unavailable: 1 Insufficient pods."
    assert outcome.warnings == ()


def test_other_shortages_do_not_matter() -> None:
    """A node whose CPU is promised twice over still takes a pod that asks for none."""
    crowded = Scenario().node("n1", cpu=1).running("old", on=["n1", "n1"], cpu=1)

    assert crowded.job("a", cpu=None).run("allocate", "backfill").bindings == {"a-0": "n1"}
