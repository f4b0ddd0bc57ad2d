"""A full tree of queues admits jobs below their deserved amount, or they could never reclaim (Volcano issue 4679)."""

from pyroclast.testing import Scenario

GPU = "nvidia.com/gpu"
BRANCHES = {"name": "capacity", "enableHierarchy": True}


def test_the_branch_that_has_nothing_gets_its_half() -> None:
    """Branch a runs on all eight devices, branch b deserves four of them and asks for four."""
    scenario = Scenario().queue("root", capability={GPU: 8})
    for branch in ("a", "b"):
        scenario = scenario.queue(branch, parent="root", deserved={GPU: 4}, capability={GPU: 8})
        scenario = scenario.queue(f"{branch}1", parent=branch, deserved={GPU: 4}, capability={GPU: 8})
    scenario = scenario.node("n1", cpu=32, gpu=8)
    scenario = scenario.running("old", on=["n1"] * 8, queue="a1", gpu=1, min_resources={"cpu": 1, GPU: 1})
    scenario = scenario.job("new", tasks=4, queue="b1", gpu=1, min_resources={"cpu": 4, GPU: 4})
    plugins = (("priority", "gang", "conformance"), ("predicates", BRANCHES, "nodeorder"))
    outcome = scenario.run(
        "enqueue", "allocate", "reclaim", "backfill", plugins=plugins, cycles=20, recreate_evicted=True
    )

    assert outcome.evictions == ["old-7", "old-6", "old-5", "old-4"]
    assert sorted(outcome.bindings) == ["new-0", "new-1", "new-2", "new-3"]
    assert outcome.is_at_rest
