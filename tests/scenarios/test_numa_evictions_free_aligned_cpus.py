"""Evictions make room for a Guaranteed pod, but free no CPUs: none happen where its kubelet would reject it."""

from typing import Any

from pyroclast.testing import Outcome, Scenario
from tests.numatopologies import guaranteed, numatopology

PLUGINS = (("priority", "gang", "conformance"), ("drf", "predicates", "proportion", "nodeorder", "numa-aware"))
NODE = Scenario().priority_class("low", 1).priority_class("high", 100).node("n1", cpu=8)


def urgent(cluster: Scenario, **pod: Any) -> Outcome:
    """What happens when an important pod comes."""
    return cluster.job("urgent", priority_class="high", **pod).run(
        "enqueue", "allocate", "preempt", plugins=PLUGINS, cycles=4
    )


def test_a_pod_that_shares_cpus_gives_way() -> None:
    """It has no CPUs for itself, so the topology has them free; only its amount stands in the way."""
    cluster = NODE.running("batch", on=["n1", "n1"], cpu=3, priority_class="low").add(numatopology("n1"))
    outcome = urgent(cluster, **guaranteed(4, policy="single-numa-node"))

    assert outcome.evictions == ["batch-1"]
    assert outcome.bindings == {"urgent-0": "n1"}


def test_no_pod_is_evicted_whose_cpus_are_freed_too_late() -> None:
    """A Guaranteed pod has its CPUs until it is gone and its node has reported it; evicting it would be useless."""
    low: dict[str, Any] = {"priority_class": "low", **guaranteed(3)}
    batch, listed = NODE.running("batch", on=["n1", "n1"], **low), ["default-batch-0", "default-batch-1"]
    lenient = batch.add(numatopology("n1", policy="best-effort", free="6-7", listed=listed))
    restricted = batch.add(numatopology("n1", policy="restricted", free="6-7", listed=listed))
    full = batch.add(numatopology("n1", policy="restricted", free="", listed=listed))

    assert urgent(lenient, **guaranteed(4)).evictions == ["batch-1"]
    for outcome in (urgent(restricted, **guaranteed(4)), urgent(full, **guaranteed(4, policy="restricted"))):
        assert outcome.evictions == []
        assert outcome.bindings == {}


def test_a_pod_without_victims_has_the_reason() -> None:
    """Evictions would make room enough, so want of room is not what it waits for."""
    batch = NODE.running("batch", on=["n1", "n1"], priority_class="low", **guaranteed(4))
    full = batch.add(numatopology("n1", free="", listed=["default-batch-0", "default-batch-1"]))
    told = {
        named: urgent(full, **guaranteed(4, policy=named))
        .why("urgent")
        .partition("no evictions free enough capacity: ")[2]
        for named in ("", "single-numa-node")
    }

    assert told == {
        "": "1 container c0 cannot be assigned by numa",
        "single-numa-node": "1 cpu allocatable map is empty",
    }


def test_no_pod_is_evicted_on_a_node_with_another_policy() -> None:
    """It would still be refused there."""
    batch = NODE.running("batch", on=["n1", "n1"], cpu=3, priority_class="low")
    cluster = batch.add(numatopology("n1", policy="restricted"))
    outcome = urgent(cluster, **guaranteed(4, policy="single-numa-node"))

    assert outcome.evictions == []
    assert outcome.bindings == {}
