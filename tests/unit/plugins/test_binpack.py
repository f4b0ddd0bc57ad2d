"""Binpack: worked numbers of docs/plugins/binpack.md."""

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from pyroclast.framework.configuration.arguments import decode
from pyroclast.framework.extension import contract
from pyroclast.plugins.binpack import BinpackArgs, fullness_after, fullness_of_one
from tests.unit.plugins.binpack import WEIGHTS
from tests.unit.plugins.policies import World, node, opened, pod

CLUSTER = (
    node("n1", cpu="2", memory="4Gi"),
    pod("r1", on="n1"),
    node("n2", cpu="4", memory="16Gi", gpu="4"),
    node("n3", cpu="2", memory="4Gi", foo="16"),
    pod("r3", on="n3", cpu="1500m", memory=""),
)


def world(*objects: Any, **arguments: Any) -> World:
    """A session with binpack alone; keywords are keys with `_` for dots."""
    raw = {f"binpack.{key.replace('_', '.')}": value for key, value in arguments.items()}
    return opened(*objects, plugins=[{"name": "binpack", "arguments": raw}])


def weighted(*objects: Any) -> World:
    """A session with the weights of the worked example."""
    return opened(*objects, plugins=[{"name": "binpack", "arguments": WEIGHTS}])


def test_fullness_of_three_nodes() -> None:
    """1 CPU and 1 GiB: full CPU and half the memory of n1, a little of n2, too much for n3."""
    assert weighted(*CLUSTER, pod("p")).scores("p") == pytest.approx({"n1": 700, "n2": 137.5, "n3": 0})


def test_devices_weigh_in() -> None:
    """2 CPU, 10 GiB and 2 GPUs on n2."""
    assert weighted(*CLUSTER, pod("p", cpu="2", memory="10Gi", gpu="2")).scores("p")["n2"] == 531.25


def test_what_a_node_does_not_offer_counts_as_empty() -> None:
    """3 CPU, 4 GiB and 3 foo on n2, which has no foo: its weight stays in the divisor."""
    score = weighted(*CLUSTER, pod("p", cpu="3", memory="4Gi", foo="3")).scores("p")["n2"]

    assert score == pytest.approx(173.0769, abs=1e-4)


def test_unlisted_resources_do_not_count() -> None:
    """GPUs weigh 23 of 25; foo is not listed, so cpu and memory decide."""
    there = world(
        *CLUSTER,
        pod("p", cpu="2", memory="10Gi", gpu="2"),
        pod("q", cpu="3", memory="4Gi", foo="3"),
        resources="nvidia.com/gpu",
        **{"resources.nvidia.com/gpu": 23},
    )

    assert there.scores("p")["n2"] == 50.5
    assert there.scores("q")["n2"] == 50


def test_weight_0_registers_nothing() -> None:
    """The plugin is mute."""
    assert world(*CLUSTER, pod("p"), weight=0).session.extensions.functions(contract.NODE_ORDER) == ()


def test_a_pod_that_asks_for_nothing_scores_0() -> None:
    """As a node does that it does not fit."""
    assert world(*CLUSTER, pod("p", cpu="", memory="")).scores("p") == {"n1": 0, "n2": 0, "n3": 0}


def test_a_resource_of_weight_0_neither_counts_nor_overfills() -> None:
    """CPU is short on n3, but only memory is looked at."""
    assert world(*CLUSTER, pod("p"), cpu=0).scores("p") == {"n1": 50, "n2": 6.25, "n3": 25}


def test_weights_that_are_all_0_score_0() -> None:
    """Nothing divides."""
    assert world(*CLUSTER, pod("p"), cpu=0, memory=0).scores("p") == {"n1": 0, "n2": 0, "n3": 0}


def test_pipelined_tasks_do_not_fill() -> None:
    """Only what is used counts."""
    there = world(node("n", cpu="2", memory="4Gi"), pod("p"), pod("q"))
    with there.session.statement() as statement:
        task = there.task("q")
        job = there.session.jobs.of(task)
        assert job is not None
        assert statement.pipeline(job, [task], [0]) is None
        assert there.scores("p") == {"n": 37.5}


@pytest.mark.parametrize("key", ["binpack.cpu", "binpack.memory"])
def test_a_negative_weight_warns_and_is_1(key: str) -> None:
    """The default is kept."""
    args, warnings = decode(BinpackArgs, {key: -1}, "arguments")

    assert args == BinpackArgs()
    assert warnings == [f"arguments.{key}: got -1, expected at least 0; the default 1 is kept"]


def test_a_negative_weight_of_a_listed_resource_warns_and_is_1() -> None:
    """The weight of a listed one without a number."""
    raw = {"binpack.resources": "nvidia.com/gpu", "binpack.resources.nvidia.com/gpu": -5}
    args, warnings = decode(BinpackArgs, raw, "arguments")

    assert args.weights() == {"nvidia.com/gpu": 1, "cpu": 1, "memory": 1}
    assert warnings == ["arguments.binpack.resources.nvidia.com/gpu: got -5, expected at least 0; 1 is kept"]


def test_cpu_and_memory_in_the_list_have_their_own_keys() -> None:
    """Those win."""
    raw = {"binpack.resources": "cpu, memory", "binpack.resources.cpu": 9, "binpack.memory": 4}

    assert decode(BinpackArgs, raw, "arguments")[0].weights() == {"cpu": 1, "memory": 4}


@given(data=st.data())
def test_equal_nodes_score_equal_to_the_last_bit(data: st.DataObject) -> None:
    """Asked for all nodes or for one, whatever stands beside it: a product of matrices would not do."""
    rows, count = data.draw(st.integers(1, 9)), data.draw(st.integers(1, 9))
    amounts = st.lists(st.integers(0, 2**40), min_size=rows * count, max_size=rows * count)
    used = np.array(data.draw(amounts)).reshape(rows, count)
    offered = np.array(data.draw(amounts)).reshape(rows, count)
    request = np.array(data.draw(st.lists(st.integers(1, 2**30), min_size=rows, max_size=rows)))
    weights = data.draw(st.lists(st.integers(0, 99), min_size=rows, max_size=rows))

    together = fullness_after(request, used, offered, weights).tolist()
    apart = [float(fullness_after(request, used[:, [at]], offered[:, [at]], weights)[0]) for at in range(count)]
    plainly = [
        fullness_of_one(request.tolist(), used[:, at].tolist(), offered[:, at].tolist(), weights) for at in range(count)
    ]

    assert together == apart == plainly
    assert all(0 <= score <= 100.000001 for score in together)
