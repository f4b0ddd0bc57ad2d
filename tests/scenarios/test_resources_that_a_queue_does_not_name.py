"""A queue that deserves devices alone takes them back with pods that need CPU too (Volcano issue 4658)."""

from pyroclast.testing import Scenario

PLUGINS = (("priority", "gang", "conformance"), ("predicates", "capacity", "nodeorder"))
GPU = "nvidia.com/gpu"


def test_cpu_is_no_reason_to_refuse_where_the_queue_says_nothing_of_it() -> None:
    """q2 has all four GPUs; q1 gets the two that it deserves, pod by pod with a CPU each."""
    scenario = Scenario().queue("q1", deserved={GPU: 2}).queue("q2", deserved={GPU: 2}).node("n1", cpu=16, gpu=4)
    scenario = scenario.running("b", on=["n1"] * 4, queue="q2", gpu=1)
    scenario = scenario.job("a", tasks=2, queue="q1", gpu=1)
    outcome = scenario.run(
        "enqueue", "allocate", "reclaim", "backfill", plugins=PLUGINS, cycles=20, recreate_evicted=True
    )

    assert outcome.evictions == ["b-3", "b-2"]
    assert outcome.bindings == {"a-0": "n1", "a-1": "n1"}
    assert outcome.is_at_rest
