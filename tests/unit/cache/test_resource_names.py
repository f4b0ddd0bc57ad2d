"""Resource names that no node or queue offers: the number of their rows is limited."""

from typing import Any

import pytest

from pyroclast.cache.files.audit import differences
from pyroclast.cache.state import ClusterState
from pyroclast.cache.stores.amounts.resource_names import MOST_UNOFFERED, UNOFFERED, ResourceNames
from pyroclast.model.resources import ResourceSpace
from tests.unit.cache.builders import bind_plan, filled, group, node, pod, queue, task


def odd(number: int) -> str:
    """Return an invented name."""
    return f"example.com/r{number:05}"


def amount(name: str, text: str) -> dict[str, Any]:
    """Return an amount, for the builders."""
    return {name: text}


def invented(begin: int, count: int) -> dict[str, Any]:
    """Return so many invented names with an amount, for the builders."""
    return {odd(number): "1" for number in range(begin, begin + count)}


def test_thousands_of_invented_resource_names_have_few_rows() -> None:
    """The space has the fixed rows, the shared row, and the first names in alphabetical order."""
    state = filled(
        ClusterState(),
        queue("q"),
        node("n1", cpu="4", pods="10", **amount("nvidia.com/gpu", "8")),
        *(group(f"g{number}", min_resources=invented(3000 * number, 3000)) for number in range(5)),
        pod("p", **invented(20_000, 3000)),
    )
    snapshot = state.snapshot()

    assert set(snapshot.resources.names) == {
        *ResourceSpace().names,
        "nvidia.com/gpu",
        UNOFFERED,
        *(odd(number) for number in range(MOST_UNOFFERED)),
    }
    assert task(state, "p").template.request[UNOFFERED] == 3_000_000
    assert differences(snapshot, state.rebuild().snapshot()) == []


def test_a_pod_that_requests_a_name_without_a_row_fits_on_no_node() -> None:
    """No node offers the shared row."""
    state = filled(
        ClusterState(),
        queue("q"),
        group("g", min_resources=invented(0, 500)),
        node("n1", cpu="4", pods="10"),
        pod("p", **amount(odd(900), "1")),
    )
    state.snapshot()

    assert UNOFFERED in state.assume(bind_plan(("p", "n1")), 1.0)[0]


@pytest.mark.parametrize("offers_first", [False, True])
def test_a_name_that_a_node_starts_to_offer_has_a_row(offers_first: bool) -> None:
    """Pods that requested it under the shared row fit, as after a restart."""
    offering = node("n2", cpu="4", pods="10", **amount(odd(900), "2"))
    asking = [
        group("crowd", min_resources=invented(0, 500)),
        group("g", min_resources={odd(900): "1"}),
        pod("p", group="g", **amount(odd(900), "1")),
    ]
    state = filled(ClusterState(), queue("q"), node("n1", cpu="4", pods="10"), *(offering,) * offers_first, *asking)
    state.snapshot()
    filled(state, offering)
    snapshot = state.snapshot()

    assert task(state, "p").template.request[odd(900)] == 1000
    assert differences(snapshot, state.rebuild().snapshot()) == []
    assert state.assume(bind_plan(("p", "n2")), 1.0) == []


def test_a_name_that_no_node_offers_any_more_can_lose_its_row() -> None:
    """The choice depends on the objects, not on the order of their events."""
    state = filled(
        ClusterState(),
        queue("q"),
        node("n1", cpu="4", pods="10", **amount(odd(900), "2")),
        group("crowd", min_resources=invented(0, 500)),
        pod("p", **amount(odd(900), "1")),
    )
    state.snapshot()
    state.remove("Node", node("n1"))
    snapshot = state.snapshot()

    assert task(state, "p").template.request[UNOFFERED] == 1000
    assert differences(snapshot, state.rebuild().snapshot()) == []


def test_unused_names_free_their_rows() -> None:
    """After the other names are gone, refusals name the resource again."""
    state = filled(
        ClusterState(), queue("q"), group("crowd", min_resources=invented(0, 500)), pod("p", **amount(odd(900), "1"))
    )
    state.snapshot()
    assert UNOFFERED in task(state, "p").template.request
    state.remove("PodGroup", group("crowd"))
    state.snapshot()

    assert task(state, "p").template.request[odd(900)] == 1000
    assert differences(state.snapshot(), state.rebuild().snapshot()) == []


def test_a_zero_amount_is_no_request() -> None:
    """A pod may request 0 of a resource that does not exist."""
    names = ResourceNames()
    names.fold(dict.fromkeys(map(odd, range(MOST_UNOFFERED)), 1000))

    assert names.fold({"cpu": 1000, odd(900): 0}) == {"cpu": 1000}
    assert names.fold({"cpu": 1000, odd(900): 5, odd(901): 7}) == {"cpu": 1000, UNOFFERED: 2000}
