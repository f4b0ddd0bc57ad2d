"""A node takes no more Guaranteed pods than its kubelet can give CPUs to, in one cycle and over several."""

from pyroclast.testing import Scenario
from tests.numatopologies import guaranteed, numatopology

PLUGINS = (("priority", "gang"), ("drf", "predicates", "proportion", "nodeorder", "numa-aware"))
ROOMY = Scenario().node("n1", cpu=12).add(numatopology("n1"))
"""Four CPUs more than the topology knows: amounts exclude no pod."""
THREE, FOUR = (guaranteed(cpus, policy="single-numa-node") for cpus in (3, 4))
NOT_ALIGNED = "0/1 nodes are unavailable: 1 container c0 cannot be assigned by numa."
NONE_LEFT = "0/1 nodes are unavailable: 1 cpu allocatable map is empty."


def test_two_fit_and_the_third_waits() -> None:
    """Each takes one NUMA node; the reason of the third names the container, or the missing CPUs."""
    for pod, reason in ((THREE, NOT_ALIGNED), (FOUR, NONE_LEFT)):
        outcome = ROOMY.job("a", **pod).job("b", **pod).job("c", **pod).run("allocate", plugins=PLUGINS)

        assert outcome.bindings == {"a-0": "n1", "b-0": "n1"}
        assert reason in outcome.why("c")


def test_those_bound_before_count_though_no_topology_lists_them() -> None:
    """The exporter takes its time: the second cycle foresees what the kubelet will do."""
    begun = ROOMY.job("a", **THREE).job("b", **THREE)
    outcome = begun.run("allocate", plugins=PLUGINS, cycles=3, later={2: begun.job("c", **THREE)})

    assert outcome.bindings == {"a-0": "n1", "b-0": "n1"}
    assert NOT_ALIGNED in outcome.why("c")


def test_a_topology_that_frees_cpus_lets_the_next_one_in() -> None:
    """Nothing else changed: who was refused for want of CPUs is looked at again."""
    full = Scenario().node("n1", cpu=12).add(numatopology("n1", free="0-1", listed=["someone"])).job("a", **FOUR)
    outcome = full.run(
        "allocate", plugins=PLUGINS, cycles=3, later={2: full.add(numatopology("n1", free="0-3", listed=["someone"]))}
    )

    assert outcome.bindings == {"a-0": "n1"}


def test_a_gang_is_whole_or_absent() -> None:
    """Three of four could be aligned on two nodes of which one is half taken; none is bound."""
    cluster = ROOMY.node("n2", cpu=12).add(numatopology("n2", free="4-7", listed=["someone"]))
    outcome = cluster.job("gang", tasks=4, **THREE).run("allocate", plugins=PLUGINS)
    three = cluster.job("gang", tasks=3, **THREE).run("allocate", plugins=PLUGINS)

    assert outcome.bindings == {}
    assert "2 container c0 cannot be assigned by numa" in outcome.why("gang")
    assert sorted(three.bindings.values()) == ["n1", "n1", "n2"]


def test_the_policy_of_a_job_finds_its_node() -> None:
    """The node whose kubelet has the policy is used; a pod without a policy is checked by each node's own."""
    cluster = ROOMY.node("n0", cpu=12).add(numatopology("n0", policy="best-effort", free="2-5"))

    assert cluster.job("a", **FOUR).run("allocate", plugins=PLUGINS).bindings == {"a-0": "n1"}
    assert cluster.job("a", **guaranteed(4)).run("allocate", plugins=PLUGINS).bindings == {"a-0": "n0"}


def test_fewer_numa_nodes_win() -> None:
    """Both nodes take it; on the first it would lie on two NUMA nodes."""
    cluster = (
        Scenario()
        .node("n1", cpu=8)
        .node("n2", cpu=8)
        .add(numatopology("n1", policy="best-effort", free="2-5", listed=["someone"]))
        .add(numatopology("n2", policy="best-effort"))
    )
    wide = cluster.job("a", **guaranteed(4, policy="best-effort"))

    assert wide.run("allocate", plugins=("gang", "numa-aware")).bindings == {"a-0": "n2"}
    assert wide.run("allocate", plugins=("gang",)).bindings == {"a-0": "n1"}
