"""Scores by requests and room: worked numbers of docs/plugins/nodeorder.md."""

from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from pyroclast.model.arrays import IntArray
from pyroclast.plugins.nodeorder.amounts import balance, balanced, least_allocated, most_allocated
from pyroclast.plugins.nodeorder.single import balanced_one, least_one, most_one
from tests.unit.plugins.policies import GIB, MIB, World, node, opened, pod

WEIGHTS = (
    "leastrequested",
    "mostrequested",
    "balancedresource",
    "nodeaffinity",
    "podaffinity",
    "tainttoleration",
    "imagelocality",
    "podtopologyspread",
)


def column(*amounts: int) -> IntArray:
    """One node's amounts."""
    return np.array(amounts, dtype=np.int64)[:, None]


def only(weight: str, value: int = 1) -> dict[str, Any]:
    """The plugin with one score alone."""
    return {"name": "nodeorder", "arguments": {f"{key}.weight": value if key == weight else 0 for key in WEIGHTS}}


def world(weight: str, *objects: Any, value: int = 1, formula: str = "1.36") -> World:
    """A session with one score alone."""
    option = only(weight, value)
    option["arguments"]["balancedresource.formula"] = formula
    return opened(*objects, plugins=["predicates", option])


def test_free_room_and_used_room_of_empty_nodes() -> None:
    """A pod of 1 CPU and 1 GB on 2 CPU / 4 GiB and on 4 CPU / 8 GiB: 63 and 81 free, 36 and 18 used."""
    nodes = node("n1", cpu="2", memory="4Gi"), node("n2", cpu="4", memory="8Gi")

    assert world("leastrequested", *nodes, pod("p", memory="1G")).scores("p") == {"n1": 63, "n2": 81}
    assert world("mostrequested", *nodes, pod("p", memory="1G")).scores("p") == {"n1": 36, "n2": 18}


def test_scores_of_a_node_in_use() -> None:
    """4 CPU / 8 GiB of which 1 CPU and 2 GiB are used, a pod of 1 CPU and 1 GiB: 56, 43 and 71."""
    there = node("n", cpu="4", memory="8Gi"), pod("r", on="n", memory="2Gi"), pod("p")

    assert world("leastrequested", *there).scores("p") == {"n": 56}
    assert world("mostrequested", *there).scores("p") == {"n": 43}
    assert world("balancedresource", *there).scores("p") == {"n": 71}


def test_the_earlier_balance_scores_what_would_be_left() -> None:
    """The same node by the formula of Kubernetes 1.35: 93."""
    there = node("n", cpu="4", memory="8Gi"), pod("r", on="n", memory="2Gi"), pod("p")

    assert world("balancedresource", *there, formula="1.35").scores("p") == {"n": 93}


def test_balance_of_empty_nodes() -> None:
    """75 where both are used alike, 68 where not; a weight of 10 multiplies."""
    nodes = node("n1", cpu="2", memory="2Gi"), node("n2", cpu="4", memory="2Gi")

    assert world("balancedresource", *nodes, pod("p"), value=10).scores("p") == {"n1": 750, "n2": 680}


def test_balance_that_a_pod_improves() -> None:
    """3 of 4 CPU and 1 of 8 GiB used, the pod requests memory: 84."""
    there = node("n", cpu="4", memory="8Gi"), pod("r", on="n", cpu="3"), pod("p", cpu="500m", memory="4Gi")

    assert world("balancedresource", *there).scores("p") == {"n": 84}


def test_balance_with_devices() -> None:
    """8 CPU, 32 GiB and 8 GPUs; 2 CPU, 4 GiB and 2 GPUs used and requested: 72."""
    there = (
        node("n", cpu="8", memory="32Gi", gpu="8"),
        pod("r", on="n", cpu="2", memory="4Gi", gpu="2"),
        pod("p", cpu="2", memory="4Gi", gpu="2"),
    )

    assert world("balancedresource", *there).scores("p") == {"n": 72}


def test_unrequested_devices_do_not_count_in_the_balance() -> None:
    """The same node for a pod without GPUs: of cpu and memory alone 50 + (50 + 87 - 93) / 2."""
    there = (
        node("n", cpu="8", memory="32Gi", gpu="8"),
        pod("r", on="n", cpu="2", memory="4Gi", gpu="2"),
        pod("p", cpu="2", memory="4Gi"),
    )

    assert world("balancedresource", *there).scores("p") == {"n": 72}
    assert balance(column(4000, 8 * GIB), column(8000, 32 * GIB)).tolist() == [87]
    assert balance(column(2000, 4 * GIB), column(8000, 32 * GIB)).tolist() == [93]


def test_a_pod_that_asks_for_nothing_counts_with_assumed_requests() -> None:
    """100 millis and 200 MiB on 4 CPU / 8 GiB: 97 free, 2 used; its balance is not scored."""
    there = node("n", cpu="4", memory="8Gi"), pod("p", cpu="", memory="")

    assert world("leastrequested", *there).scores("p") == {"n": 97}
    assert world("mostrequested", *there).scores("p") == {"n": 2}
    assert world("balancedresource", *there).scores("p") == {"n": 0}


def test_a_request_written_as_zero_stays_zero() -> None:
    """Only what is not written is assumed."""
    there = node("n", cpu="4", memory="8Gi"), pod("p", cpu="0", memory="0")

    assert world("leastrequested", *there).scores("p") == {"n": 100}


def test_a_node_that_overflows_has_no_free_part() -> None:
    """More requested than there is: 0 free, 100 used."""
    assert least_allocated(column(5000, GIB), column(4000, 4 * GIB)).tolist() == [37]
    assert most_allocated(column(5000, GIB), column(4000, 4 * GIB)).tolist() == [62]


def test_what_a_node_does_not_offer_is_left_out() -> None:
    """Without CPU the memory alone counts; without either the score is 0, and the balance perfect."""
    assert least_allocated(column(1000, GIB), column(0, 4 * GIB)).tolist() == [75]
    assert most_allocated(column(1000, GIB), column(0, 4 * GIB)).tolist() == [25]
    assert least_allocated(column(1000, GIB), column(0, 0)).tolist() == [0]
    assert balance(column(1000, GIB), column(0, 4 * GIB)).tolist() == [100]
    assert balance(column(1000, GIB), column(0, 0)).tolist() == [100]


def test_one_resource_is_always_in_balance() -> None:
    """Nothing to deviate from: no change, 75."""
    zero = column(0, 0)

    assert balanced(zero, column(500, 0), column(1000, 0), looks_back=True).tolist() == [75]


def test_an_evicted_pod_makes_room_in_scores_at_once() -> None:
    """Scores see pods as Kubernetes' do: evicted in this session is gone, and undone it is back."""
    there = world("leastrequested", node("n", cpu="4", memory="8Gi"), pod("r", on="n", memory="2Gi"), pod("p"))
    with there.session.statement() as statement:
        there.evict(statement, "r")
        assert there.scores("p") == {"n": 81}

    assert there.scores("p") == {"n": 56}


def test_oversubscription_does_not_count_as_capacity() -> None:
    """Room that an annotation adds is room to place, not room to score."""
    generous = node("n", cpu="4", memory="8Gi", annotations={"volcano.sh/oversubscription-cpu": "4000"})
    there = world("leastrequested", generous, pod("p", memory="2Gi"))

    assert there.session.nodes.columns().allocatable[0].tolist() == [8000]
    assert there.scores("p") == {"n": 75}


@pytest.mark.parametrize("looks_back", [True, False])
@given(data=st.data())
def test_scores_of_many_nodes_are_those_of_each(data: st.DataObject, looks_back: bool) -> None:
    """Asked for all nodes or for one, as array or as plain numbers, a node scores the same, to the last bit."""
    amounts = st.integers(0, 64 * GIB)
    count = data.draw(st.integers(1, 12))
    rows = data.draw(st.integers(2, 3))
    capacity = np.array(data.draw(st.lists(amounts, min_size=rows * count, max_size=rows * count))).reshape(rows, -1)
    used = np.array(data.draw(st.lists(amounts, min_size=rows * count, max_size=rows * count))).reshape(rows, -1)
    request = np.array(data.draw(st.lists(amounts, min_size=rows, max_size=rows)))[:, None]

    def each(many: Callable[[IntArray, IntArray], IntArray]) -> list[int]:
        return [int(many(used[:, [at]], capacity[:, [at]])[0]) for at in range(count)]

    def plainly(one: Callable[[list[int], list[int]], int]) -> list[int]:
        return [one(used[:, at].tolist(), capacity[:, at].tolist()) for at in range(count)]

    even = balanced(used, request, capacity, looks_back=looks_back).tolist()
    wanted = request[:, 0].tolist()
    assert even == each(lambda there, offered: balanced(there, request, offered, looks_back=looks_back))
    assert even == plainly(lambda there, offered: balanced_one(there, wanted, offered, looks_back=looks_back))
    for many, one in ((least_allocated, least_one), (most_allocated, most_one)):
        scores = many(used[:2], capacity[:2]).tolist()
        assert scores == each(lambda there, offered, many=many: many(there[:2], offered[:2]))  # type: ignore[misc]
        assert scores == plainly(lambda there, offered, one=one: one(there[:2], offered[:2]))  # type: ignore[misc]
        assert all(0 <= score <= 100 for score in (*even, *scores))


def test_assumed_requests_count_for_pods_on_nodes_too() -> None:
    """A running pod without requests takes 100 millis and 200 MiB of what is scored."""
    there = node("n", cpu="4", memory="8000Mi"), pod("r", on="n", cpu="", memory=""), pod("p", cpu="900m", memory="1Gi")

    expected = (100 * (4000 - 1000) // 4000 + 100 * (8000 * MIB - 1224 * MIB) // (8000 * MIB)) // 2
    assert world("leastrequested", *there).scores("p") == {"n": expected}
