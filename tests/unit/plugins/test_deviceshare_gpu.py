"""GPU share: memory of one card, or whole cards."""

from typing import Any

import pytest

from pyroclast.model import wire
from pyroclast.model.devices.gpu import GpuCards, GpuDemand, gpu_cards, gpu_demand
from pyroclast.testing import Scenario
from tests.unit.plugins.cards import annotations_of, container, one, run, wanting

INDEX = "volcano.sh/gpu-index"


def gpus(memory: int, number: int, scenario: Scenario | None = None, name: str = "n", unhealthy: str = "") -> Scenario:
    """Add a node with cards that have so much memory together."""
    offered = {"volcano.sh/gpu-memory": memory, "volcano.sh/gpu-number": number}
    told = {"volcano.sh/gpu-unhealthy-ids": unhealthy} if unhealthy else {}
    return (scenario or Scenario()).node(name, cpu=64, resources=offered, annotations=told)


def wire_node(capacity: dict[str, Any], unhealthy: str = "") -> wire.Node:
    """A Node object."""
    metadata = wire.ObjectMeta(name="n", annotations={"volcano.sh/gpu-unhealthy-ids": unhealthy})
    return wire.Node(metadata=metadata, status=wire.NodeStatus(capacity=capacity))


def test_memory_is_divided_evenly() -> None:
    """89424 by 8 is 11178, and unhealthy cards leave the others what they have."""
    capacity = {"volcano.sh/gpu-memory": "89424", "volcano.sh/gpu-number": "8"}

    assert gpu_cards(wire_node(capacity)) == GpuCards(tuple(range(8)), 11178)
    assert gpu_cards(wire_node(capacity, "0, x,3,")) == GpuCards((1, 2, 4, 5, 6, 7), 11178, frozenset({0, 3}))


@pytest.mark.parametrize(
    "capacity", [{}, {"volcano.sh/gpu-memory": 8}, {"volcano.sh/gpu-memory": 8, "volcano.sh/gpu-number": 0}]
)
def test_without_both_amounts_there_are_no_cards(capacity: dict[str, int]) -> None:
    """Nor with none of them."""
    assert gpu_cards(wire_node(capacity)) is None


@pytest.mark.parametrize("number", ["many", 10**9])
def test_an_implausible_number_is_reported(number: object) -> None:
    """It must not fill the memory."""
    with pytest.raises(ValueError, match=r"status\.capacity"):
        gpu_cards(wire_node({"volcano.sh/gpu-memory": 8, "volcano.sh/gpu-number": number}))


@pytest.mark.parametrize(("init", "regular", "memory"), [([1, 3], [2], 3), ([], [1, 3], 4), ([5], [1, 3], 5)])
def test_init_containers_count_by_the_largest(init: list[int], regular: list[int], memory: int) -> None:
    """Containers run side by side, init containers one after the other."""
    spec = wire.Decoder("PodSpec", wire.PodSpec).convert(
        wanting(*(container(gpu_memory=each) for each in regular), init=[container(gpu_memory=each) for each in init])
    )

    assert gpu_demand(spec) == GpuDemand(memory=memory)


def test_sidecars_add_up_with_what_runs_beside_them() -> None:
    """A sidecar of 4 beside a container of 3 is 7; beside an init container of 5, which starts after it, 9."""
    sidecar = {**container(gpu_memory=4), "restartPolicy": "Always"}
    decode = wire.Decoder("PodSpec", wire.PodSpec).convert

    running = decode(wanting(container(gpu_memory=3), init=[sidecar]))
    starting = decode(wanting(container(gpu_memory=3), init=[sidecar, container(gpu_memory=5)]))

    assert gpu_demand(running) == GpuDemand(memory=7)
    assert gpu_demand(starting) == GpuDemand(memory=9)


def test_memory_is_all_on_the_first_card_with_enough() -> None:
    """Two of 600 do not share a card of 1000; a third waits, though 800 are free together."""
    outcome = run(gpus(2000, 2).job("p", tasks=3, min_available=1, pod=one(gpu_memory=600)), GPUSharingEnable=True)

    assert {name: told[INDEX] for name, told in annotations_of(outcome).items()} == {"p-0": "0", "p-1": "1"}
    assert "1 GpuShare no enough gpu memory on node." in outcome.why_pod("p-2")
    (refusal,) = outcome.refusals_of_pod("p-2")
    assert refusal.resolvable


def test_two_pods_share_a_card() -> None:
    """The first with enough, so nothing is spread."""
    outcome = run(gpus(2000, 2).job("p", tasks=2, pod=one(gpu_memory=500)), GPUSharingEnable=True)

    assert {told[INDEX] for told in annotations_of(outcome).values()} == {"0"}


def test_whole_cards_are_those_without_allocated_parts() -> None:
    """Ascending, where Volcano takes any."""
    cluster = gpus(4000, 4).running("r", on=["n"], pod=one(gpu_number=1), annotations={INDEX: "1"})
    outcome = run(cluster.job("p", pod=one(gpu_number=2)).job("q", pod=one(gpu_number=1)), GPUNumberEnable=True)

    assert {name: told[INDEX] for name, told in annotations_of(outcome).items()} == {"p-0": "0,2", "q-0": "3"}


def test_the_time_is_written_in_nanoseconds() -> None:
    """As the device plugin sorts by it."""
    outcome = (
        gpus(1000, 1)
        .job("p", pod=one(gpu_memory=1))
        .run(
            "allocate",
            plugins=("gang", "predicates", "deviceshare"),
            arguments={"deviceshare": {"deviceshare.GPUSharingEnable": True}},
            now=1_593_764_466.5,
        )
    )

    assert annotations_of(outcome)["p-0"] == {INDEX: "0", "volcano.sh/predicate-time": "1593764466500000000"}


@pytest.mark.parametrize("index", ["0", "0,x", "7", ""])
def test_what_pods_hold_is_read_from_their_annotations(index: str) -> None:
    """A pod that names unknown cards, or none, is counted with a free one."""
    cluster = gpus(1000, 1).running("r", on=["n"], pod=one(gpu_memory=400), annotations={INDEX: index})
    outcome = run(cluster.job("p", pod=one(gpu_memory=601)), GPUSharingEnable=True)

    # what the node as a whole has left is less, so that the pod waits in any case; which rule keeps it tells
    assert ("GpuShare" in outcome.why_pod("p-0")) is False
    assert "Insufficient volcano.sh/gpu-memory" in outcome.why_pod("p-0")
    told = [each.message for each in outcome.events if each.reason == "DeviceIdsInvalid"]
    wrong = f"{INDEX}: {index!r} are not indices of cards of the node, and do not count"
    unnamed = "its annotations do not name the cards that it requests: it is counted with 1 free ones"
    assert told == {"0": [], "": [unnamed]}.get(index, [wrong])
    grown = Scenario(tuple(_with_more(each) for each in cluster.job("p", pod=one(gpu_memory=601)).objects))
    assert not run(grown, GPUSharingEnable=True).bindings


def _with_more(each: Any) -> Any:
    """Let a node offer more than its cards have."""
    if each["kind"] != "Node":
        return each
    status = each["status"]
    return {**each, "status": {**status, "allocatable": {**status["allocatable"], "volcano.sh/gpu-memory": 10**6}}}


def test_a_pod_that_no_card_is_large_enough_for_says_so() -> None:
    """Nothing that leaves helps."""
    outcome = run(gpus(2000, 2).job("p", pod=one(gpu_memory=1001)), GPUSharingEnable=True)
    (refusal,) = outcome.refusals_of_pod("p-0")

    assert (refusal.counts, refusal.resolvable) == ({"GpuShare no enough gpu memory on node, were it empty": 1}, False)


def test_cards_that_are_unhealthy_are_not_given() -> None:
    """Two of three are left."""
    outcome = run(gpus(3000, 3, unhealthy="1").job("p", pod=one(gpu_number=3)), GPUNumberEnable=True)

    assert "GpuNumber no enough gpu number on node, were it empty" in outcome.why_pod("p-0")


def test_what_is_not_switched_on_is_no_concern() -> None:
    """Amounts decide, without an event."""
    outcome = run(gpus(2000, 2).job("p", pod=one(gpu_memory=1001)), GPUNumberEnable=True)

    assert (outcome.bindings, annotations_of(outcome)) == ({"p-0": "n"}, {"p-0": {}})


def test_the_books_begin_with_the_bindings_before() -> None:
    """In the second cycle the pods of the first run, and hold the annotated cards."""
    cluster = gpus(2000, 2).job("p", tasks=2, pod=one(gpu_memory=600))
    later = cluster.job("q", tasks=2, min_available=1, pod=one(gpu_memory=400))
    outcome = cluster.run(
        "allocate",
        plugins=("gang", "predicates", "deviceshare"),
        arguments={"deviceshare": {"deviceshare.GPUSharingEnable": True}},
        cycles=2,
        later={1: later},
    )

    assert {name: told[INDEX] for name, told in annotations_of(outcome).items()} == {
        "p-0": "0",
        "p-1": "1",
        "q-0": "0",
        "q-1": "1",
    }
