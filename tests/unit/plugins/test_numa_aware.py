"""numa-aware in a session: refusals with reasons, and scores."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from pyroclast.framework.configuration.arguments import decode
from pyroclast.framework.extension import contract
from pyroclast.plugins.numa_aware.plugin import NumaAwareArgs, few_first
from pyroclast.testing import Scenario
from tests.nodenuma import topology
from tests.numatopologies import guaranteed, numatopology
from tests.unit.plugins.numa import NODE, SINGLE, free_on, opened, scores, task_of, why


@pytest.mark.parametrize(
    ("topology", "reason"),
    [
        (None, "numa info is empty"),
        (numatopology("n1", manager="none"), "cpu manager policy isn't static"),
        (
            numatopology("n1", policy="restricted"),
            "task topology policy[single-numa-node] is different with node[restricted]",
        ),
        (numatopology("n1", policy=""), "task topology policy[single-numa-node] is different with node[]"),
        (numatopology("n1", free=""), "cpu allocatable map is empty"),
        (numatopology("n1", free=None), "cpu allocatable map is empty"),
        (numatopology("n1", free="0-"), "no topo information"),
        (numatopology("n1", free="2-5"), "container c0 cannot be assigned by numa"),
        (numatopology("n1", free="0-3", reserved="500m"), "container c0 cannot be assigned by numa"),
        (numatopology("n1", free="0-3"), None),
    ],
)
def test_a_task_that_names_a_policy(topology: Mapping[str, Any] | None, reason: str | None) -> None:
    """It goes where the kubelet has that policy, gives CPUs away, and can align it."""
    cluster = NODE.job("j", **SINGLE)

    assert why(opened(cluster if topology is None else cluster.add(topology))) == ({reason: 1} if reason else {})


@pytest.mark.parametrize(
    ("topology", "reason"),
    [
        (None, None),
        (numatopology("n1", free="2-5", manager="none"), None),
        (numatopology("n1", free="2-5", policy="none"), None),
        (numatopology("n1", free="2-5", policy=""), None),
        (numatopology("n1", free=None, policy="restricted"), None),
        (numatopology("n1", free="?", policy="restricted"), None),
        (numatopology("n1", free="2-5", policy="best-effort"), None),
        (numatopology("n1", free="2-5", policy="restricted"), "container c0 cannot be assigned by numa"),
        (numatopology("n1", free="2-5"), "container c0 cannot be assigned by numa"),
        (numatopology("n1", free=""), "container c0 cannot be assigned by numa"),
    ],
)
@pytest.mark.parametrize("policy", ["", "none"])
def test_a_task_without_a_policy(topology: Mapping[str, Any] | None, reason: str | None, policy: str) -> None:
    """The node's own policy judges it, where there is one."""
    cluster = NODE.job("j", **guaranteed(4, policy=policy))

    assert why(opened(cluster if topology is None else cluster.add(topology))) == ({reason: 1} if reason else {})


def test_only_guaranteed_pods_are_looked_at() -> None:
    """Others get no CPUs for themselves, whatever they name."""
    named = {"volcano.sh/numa-topology-policy": "restricted"}
    session = opened(NODE.job("j", cpu=4, annotations=named).add(numatopology("n1", free="")))

    assert why(session) == {}


@pytest.mark.parametrize(
    ("pod", "topology", "has_say"),
    [
        (guaranteed(4), numatopology("n1"), True),
        (guaranteed("500m", policy="restricted"), numatopology("n1"), True),
        (guaranteed("500m"), numatopology("n1"), False),
        (guaranteed(4), numatopology("n1", manager="none"), False),
        (guaranteed(4), numatopology("n1", free="?"), False),
    ],
)
def test_pods_without_exclusive_cpus_are_skipped(
    pod: dict[str, Any], topology: Mapping[str, Any], has_say: bool
) -> None:
    """So that equal ones are placed in one go."""
    session = opened(NODE.job("j", **pod).add(topology))
    each = session.extensions.functions(contract.PREDICATE)[-1]

    assert (each.function(task_of(session, "j-0"), session.nodes.columns()) is not None) is has_say


def test_a_request_that_is_not_written_is_its_limit() -> None:
    """As servers make it."""
    limits = {"limits": {"cpu": "4", "memory": "1Gi"}}
    cluster = NODE.job("j", pod={"containers": [{"name": "c0", "image": "i", "resources": limits}]})

    assert why(opened(cluster.add(numatopology("n1", free="2-5")))) == {"container c0 cannot be assigned by numa": 1}


def test_pod_scope_shares_cpus() -> None:
    """Kubelets give its containers none for themselves, however many they ask for."""
    amounts = {"cpu": "4", "memory": "1Gi"}
    whole = {**guaranteed(4)["pod"], "resources": {"requests": amounts, "limits": amounts}}
    cluster = NODE.job("j", pod=whole).add(numatopology("n1", policy="restricted", free="2-5", listed=["someone"]))

    assert why(opened(cluster)) == {}
    assert free_on(opened(cluster.running("old", on=["n1"], pod=whole))) == "2-5"
    assert why(opened(cluster.job("k", **guaranteed(4))), "k-0") == {"container c0 cannot be assigned by numa": 1}


def test_the_container_that_does_not_fit_is_named() -> None:
    """Containers are looked at in order; parts of CPUs are shared, and always fit."""
    cluster = NODE.job("j", **guaranteed("500m", 3, 3, 2)).add(numatopology("n1"))

    assert why(opened(cluster.node("n2", cpu=1))) == {
        "Insufficient cpu": 2,
    }
    roomy = Scenario().node("n1", cpu=16).job("j", **guaranteed("500m", 3, 3, 2)).add(numatopology("n1"))
    assert why(opened(roomy)) == {"container c3 cannot be assigned by numa": 1}


def test_more_containers_than_reasons_can_name_are_no_failure() -> None:
    """The last name that there is stands for those beyond."""
    many = guaranteed(*["100m"] * 120, 5)
    session = opened(Scenario().node("n1", cpu=64, memory="1Ti").job("j", **many).add(numatopology("n1")))

    assert why(session) == {"container c99 cannot be assigned by numa": 1}
    assert session.extensions.failures == {}


def test_more_policies_than_reasons_can_name_are_no_failure() -> None:
    """The writer of Numatopologies may write any word; the last existing name stands for those beyond."""
    cluster = NODE.job("j", **SINGLE).add(numatopology("n1", policy="zzz"))
    others = [numatopology(f"m{number}", policy=f"p{number:03}") for number in range(300)]
    session = opened(cluster.add(*others))

    assert why(session) == {"task topology policy[single-numa-node] is different with node[p099]": 1}


def test_of_long_policies_reasons_show_the_beginning() -> None:
    """An annotation may be as long as 256 KiB, and reasons are written into conditions."""
    cluster = NODE.job("j", **guaranteed(4, policy="y" * 200_000)).add(numatopology("n1", policy="x" * 200_000))

    assert why(opened(cluster)) == {
        f"task topology policy[{'y' * 40}…] is different with node[{'x' * 40}…]": 1,
    }


def test_reasons_distinguish_nodes() -> None:
    """Each node under the first rule that refuses it; only a want of CPUs can pass, and only when pods end."""
    cluster = NODE.node("n2", cpu=8).node("n3", cpu=8).node("n4", cpu=8).job("j", **SINGLE)
    session = opened(
        cluster.add(numatopology("n2", policy="restricted"), numatopology("n3", free=""), numatopology("n4", free="0"))
    )
    refusal = session.candidates.explain(task_of(session, "j-0"))

    assert refusal.counts == {
        "numa info is empty": 1,
        "task topology policy[single-numa-node] is different with node[restricted]": 1,
        "cpu allocatable map is empty": 1,
        "container c0 cannot be assigned by numa": 1,
    }
    by_name = {
        each.text: each.resolvable
        for part in session.extensions.functions(contract.PREDICATE)
        for each in session.candidates.answers.reasons_of(part, task_of(session, "j-0"))
    }
    assert {text for text in refusal.counts if by_name[text]} == {"cpu allocatable map is empty"}


def test_fewer_numa_nodes_score_higher() -> None:
    """The worked example: one and two NUMA nodes."""
    cluster = NODE.node("n2", cpu=8).job("j", **guaranteed(4, policy="best-effort"))
    cluster = cluster.add(
        numatopology("n1", policy="best-effort"), numatopology("n2", policy="best-effort", free="2-5")
    )

    assert scores(opened(cluster)) == [50, 0]
    assert scores(opened(cluster, weight=10)) == [500, 0]
    assert scores(opened(cluster, weight="10")) == [500, 0]


@pytest.mark.parametrize(
    ("counts", "expected"),
    [([1, 2], [50, 0]), ([1, 2, 3], [67, 34, 0]), ([2, 2], [0, 0]), ([0, 0], [100, 100]), ([], [])],
)
def test_scores_are_whole_numbers(counts: list[int], expected: list[int]) -> None:
    """A hundred less the part of the greatest count, rounded down."""
    assert few_first(np.array(counts, dtype=np.float64)).tolist() == expected


def test_without_a_policy_nothing_is_scored() -> None:
    """Nor with one where the pod is not Guaranteed."""
    session = opened(NODE.job("j", **guaranteed(4)).add(numatopology("n1")))
    (each,) = session.extensions.functions(contract.NODE_ORDER)

    assert each.function(task_of(session, "j-0"), session.nodes.columns()) is None


def test_a_weight_of_zero_mutes_the_scores() -> None:
    """The filter stays."""
    session = opened(NODE.job("j", **SINGLE).add(numatopology("n1", free="0")), weight=0)

    assert session.extensions.functions(contract.NODE_ORDER) == ()
    assert why(session) == {"container c0 cannot be assigned by numa": 1}


def test_the_weight_is_a_whole_number() -> None:
    """As in Volcano; text that is one is read, anything else keeps the default and warns."""
    assert decode(NumaAwareArgs, {"weight": "5"}, "arguments") == (NumaAwareArgs(weight=5), [])
    kept, warnings = decode(NumaAwareArgs, {"weight": 2.5, "wieght": 3}, "arguments")

    assert kept == NumaAwareArgs()
    assert [warning.split(":")[0] for warning in warnings] == ["arguments.weight", "arguments.wieght"]


def test_nodes_whose_cpus_nodenuma_gives_are_skipped() -> None:
    """Only one of the two plugins decides about a node: the one with a NodeResourceTopology."""
    there = (
        Scenario()
        .node("n1")
        .node("n2")
        .add(numatopology("n1"), numatopology("n2"), topology("n1"))
        .job("p", **guaranteed(4, policy="single-numa-node"))
    )

    assert there.run("allocate", plugins=("gang", "predicates", "numa-aware")).bindings == {"p-0": "n1"}
    both = there.run("allocate", plugins=("gang", "predicates", "numa-aware", "nodenuma"))
    assert both.bindings == {"p-0": "n2"}
