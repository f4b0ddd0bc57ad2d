"""Virtual cards: which are chosen, what is written of them, and why there are none."""

from typing import Any

import pytest

from pyroclast.testing import Scenario
from tests.unit.plugins.cards import (
    CORES,
    COUNT,
    IDS,
    MEMORY,
    SIZE,
    annotations_of,
    cards_of,
    container,
    one,
    run,
    wanting,
    with_cards,
)

TWO = with_cards(Scenario(), "n", MEMORY, MEMORY)
THREE = with_cards(Scenario(), "n", MEMORY, MEMORY, MEMORY)


def test_the_binding_contains_the_cards() -> None:
    """Six annotations, the moment in whole seconds, the phase for the device plugin to go on from."""
    outcome = TWO.job("p", pod=one(number=2, memory=3000, cores=50)).run(
        "allocate",
        plugins=("gang", "predicates", "deviceshare"),
        arguments={"deviceshare": {"deviceshare.VGPUEnable": True}},
        now=1_800_000_000.9,
    )

    ids = "GPU-1,NVIDIA,3000,50:GPU-0,NVIDIA,3000,50:"
    assert annotations_of(outcome)["p-0"] == {
        "volcano.sh/vgpu-node": "n",
        "volcano.sh/vgpu-time": "1800000000",
        "volcano.sh/vgpu-ids-new": ids,
        "volcano.sh/devices-to-allocate": ids,
        "volcano.sh/bind-phase": "allocating",
        "volcano.sh/bind-time": "1800000000",
    }


def test_containers_stand_apart() -> None:
    """Those that ask for no card are not among them."""
    spec = wanting(
        container("a", number=2, memory=3000, cores=50), container("b"), container("c", number=1, memory=3000)
    )
    outcome = run(TWO.job("p", pod=spec))

    ids = "GPU-1,NVIDIA,3000,50:GPU-0,NVIDIA,3000,50:;GPU-1,NVIDIA,3000,0:"
    assert annotations_of(outcome)["p-0"][IDS] == ids


@pytest.mark.parametrize(("policy", "card"), [("", "GPU-2"), ("binpack", "GPU-0"), ("spread", "GPU-0")])
def test_idle_cards_go_by_index(policy: str, card: str) -> None:
    """Without a policy the last first, with one the first."""
    outcome = run(THREE.job("p", pod=one(number=1, memory=4096)), VGPUEnable=True, SchedulePolicy=policy)

    assert cards_of(outcome) == {"p-0": [card]}


@pytest.mark.parametrize(("policy", "card"), [("binpack", "GPU-0"), ("spread", "GPU-1")])
def test_policies_look_at_what_is_taken(policy: str, card: str) -> None:
    """One card has 4096 taken by one pod, the other is idle."""
    held = TWO.running("r", on=["n"], pod=one(number=1, memory=4096), annotations={IDS: "GPU-0,NVIDIA,4096,0:"})
    outcome = run(held.job("p", pod=one(number=1, memory=4096)), VGPUEnable=True, SchedulePolicy=policy)

    assert cards_of(outcome) == {"p-0": [card]}


def test_binpack_fills_one_card() -> None:
    """Three pods of 4096 are all on the same one of three."""
    outcome = run(THREE.job("p", tasks=3, pod=one(number=1, memory=4096)), VGPUEnable=True, SchedulePolicy="binpack")

    assert cards_of(outcome) == {"p-0": ["GPU-0"], "p-1": ["GPU-0"], "p-2": ["GPU-0"]}


def test_whole_cards_of_different_sizes() -> None:
    """Without memory all of each card's is charged, and cores of 100 want it for oneself."""
    cluster = with_cards(Scenario(), "n", 30000, 20000, 30000)
    outcome = run(cluster.job("p", pod=one(number=3, cores=100)))

    assert (
        annotations_of(outcome)["p-0"][IDS] == "GPU-2,NVIDIA,30000,100:GPU-1,NVIDIA,20000,100:GPU-0,NVIDIA,30000,100:"
    )


@pytest.mark.parametrize(
    ("key", "value", "node_model", "is_bound"),
    [
        ("nvidia.com/use-gputype", "AMD,NVIDIA,INTEL", "NVIDIA", True),
        ("nvidia.com/use-gputype", "nvidia", "NVIDIA", True),
        ("nvidia.com/nouse-gputype", "AMD,INTEL,MLU", "NVIDIA", True),
        ("other", "x", "NVIDIA", True),
        ("nvidia.com/use-gputype", "H100", "NVIDIA-A100", False),
        ("nvidia.com/nouse-gputype", "a100", "NVIDIA-A100", False),
        ("other", "x", "nvidia", False),
        ("volcano.sh/vgpu-use-gpuuuid", "  ", "NVIDIA", True),
        ("volcano.sh/vgpu-use-gpuuuid", ", ,", "NVIDIA", True),
        ("volcano.sh/vgpu-use-gpuuuid", "GPU-10", "NVIDIA", False),
        ("volcano.sh/vgpu-use-gpuuuid", " GPU-0 , x", "NVIDIA", True),
        ("volcano.sh/vgpu-nouse-gpuuuid", "GPU-0", "NVIDIA", False),
        ("volcano.sh/vgpu-mode", "hami-core", "NVIDIA", True),
        ("volcano.sh/vgpu-mode", "mig", "NVIDIA", False),
        ("volcano.sh/vgpu-mode", "", "NVIDIA", False),
    ],
)
def test_which_cards_will_do(key: str, value: str, node_model: str, *, is_bound: bool) -> None:
    """Models by parts of their names, in any case but for NVIDIA itself; cards by their whole UUID; the exact mode."""
    cluster = with_cards(Scenario(), "n", MEMORY, model=node_model)
    outcome = run(cluster.job("p", pod=one(number=1), annotations={key: value}))

    assert bool(outcome.bindings) is is_bound


def test_a_card_that_is_named_on_both_lists_is_avoided() -> None:
    """The one to avoid wins."""
    lists = {"volcano.sh/vgpu-use-gpuuuid": "GPU-0,GPU-1", "volcano.sh/vgpu-nouse-gpuuuid": "GPU-1"}

    assert cards_of(run(TWO.job("p", pod=one(number=1), annotations=lists))) == {"p-0": ["GPU-0"]}


@pytest.mark.parametrize(
    ("annotations", "limits", "why"),
    [
        (
            {"volcano.sh/vgpu-use-gpuuuid": "GPU-9"},
            {"number": 1},
            "no GPU matches UUID constraints volcano.sh/vgpu-use-gpuuuid",
        ),
        (
            {"volcano.sh/vgpu-nouse-gpuuuid": "GPU-0,GPU-1"},
            {"number": 1},
            "UUID constraints volcano.sh/vgpu-use-gpuuuid, volcano.sh/vgpu-nouse-gpuuuid on node",
        ),
        ({}, {"number": 3}, "no enough gpu cards on node"),
        ({}, {"number": 1, "memory": MEMORY + 1}, "not enough gpu fitted on this node, were it empty"),
        ({}, {"number": 1, "cores": 101}, "not enough gpu fitted on this node, were it empty"),
        ({"volcano.sh/vgpu-mode": "mig"}, {"number": 1}, "sharing mode mig is not the same as the node mode hami-core"),
    ],
)
def test_what_never_fits_says_so(annotations: dict[str, str], limits: dict[str, Any], why: str) -> None:
    """No eviction helps, and the one node is counted under its reason."""
    outcome = run(TWO.job("p", pod=one(**limits), annotations=annotations))
    (refusal,) = outcome.refusals_of_pod("p-0")

    assert why in refusal.message
    assert (list(refusal.counts.values()), refusal.resolvable, refusal.plugin) == ([1], False, "deviceshare")


@pytest.mark.parametrize(
    ("holds", "asks", "is_bound"),
    [
        ((10000, 0), {"number": 1, "memory": 6384}, True),
        ((10000, 0), {"number": 1, "memory": 6385}, False),
        ((1, 60), {"number": 1, "memory": 1, "cores": 40}, True),
        ((1, 60), {"number": 1, "memory": 1, "cores": 41}, False),
        ((1, 0), {"number": 1, "memory": 1, "cores": 100}, False),
        ((1, 100), {"number": 1, "memory": 1}, False),
    ],
)
def test_what_is_left_of_a_card(holds: tuple[int, int], asks: dict[str, Any], *, is_bound: bool) -> None:
    """Memory and cores add up; all cores need an idle card; a card without free cores accepts no pod."""
    memory, cores = holds
    ids = {IDS: f"GPU-0,NVIDIA,{memory},{cores}:"}
    running = one(number=1, memory=memory, cores=cores)
    cluster = with_cards(Scenario(), "n", MEMORY).running("r", on=["n"], pod=running, annotations=ids)
    outcome = run(_roomy(cluster).job("p", pod=one(**asks)))

    assert bool(outcome.bindings) is is_bound
    assert is_bound or "not enough gpu fitted on this node." in outcome.why_pod("p-0")


def _roomy(scenario: Scenario) -> Scenario:
    """Let every node offer so much of the resources that the cards alone decide."""
    plenty = {COUNT: 1000, SIZE: 10**6, CORES: 1000}
    grown = [
        {**each, "status": {**each["status"], "allocatable": {**each["status"]["allocatable"], **plenty}}}
        if each["kind"] == "Node"
        else each
        for each in scenario.objects
    ]
    return Scenario(tuple(grown))


def test_a_card_has_so_many_shares() -> None:
    """Two pods share it, a third waits."""
    cluster = _roomy(with_cards(Scenario(), "n", MEMORY, shares=2))
    outcome = run(cluster.job("p", tasks=3, min_available=1, pod=one(number=1, memory=1)))

    assert cards_of(outcome) == {"p-0": ["GPU-0"], "p-1": ["GPU-0"]}
    assert "1 not enough gpu fitted on this node" in outcome.why_pod("p-2")


def test_two_containers_on_one_card_are_two_parts() -> None:
    """In the session that places the pod, and when the books are made anew from its annotation."""
    spec = wanting(container("a", number=1, memory=6000), container("b", number=1, memory=6000))
    cluster = _roomy(with_cards(Scenario(), "n", MEMORY))
    first = run(cluster.job("p", pod=spec).job("q", pod=one(number=1, memory=6000)))
    again = run(
        cluster.running("p", on=["n"], pod=spec, annotations={IDS: annotations_of(first)["p-0"][IDS]}).job(
            "q", pod=one(number=1, memory=6000)
        )
    )

    assert list(first.bindings) == ["p-0"]
    assert (first.why_pod("q-0"), again.bindings) == (again.why_pod("q-0"), {})


def test_a_deleted_pod_holds_no_card() -> None:
    """Its memory of the node is still taken, so the next pod waits for that alone."""
    leaving = one(number=1, memory=MEMORY)
    cluster = with_cards(Scenario(), "n", MEMORY).running(
        "r", on=["n"], pod=leaving, annotations={IDS: f"GPU-0,NVIDIA,{MEMORY},0:"}
    )
    going = [
        {**each, "metadata": {**each["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}
        if each["kind"] == "Pod"
        else each
        for each in cluster.objects
    ]
    outcome = run(Scenario(tuple(going)).job("p", pod=leaving))

    assert outcome.pipelined == {"p-0": "n"}


def test_a_node_without_card_annotations_counts_by_its_amounts() -> None:
    """It offers the resource and has no register: the pod is bound without cards, as by Volcano."""
    outcome = run(Scenario().node("n", resources={COUNT: 1}).job("p", pod=one(number=1)))

    assert (outcome.bindings, cards_of(outcome)) == ({"p-0": "n"}, {})


@pytest.mark.parametrize("name", [COUNT, SIZE, CORES])
def test_cards_of_a_node_that_offers_nothing_of_them_are_not_there(name: str) -> None:
    """The device plugin has gone: nothing is chosen, and amounts decide."""
    offered = {COUNT: 1, SIZE: 1, CORES: 1} | {name: 0}
    register = {"volcano.sh/node-vgpu-register": "GPU-0,1,0,AMD,true,hami-core:"}
    spec = wanting({**container(number=1), "resources": {"limits": {COUNT: 1}, "requests": {"cpu": 1}}})
    outcome = run(Scenario().node("n", resources=offered, annotations=register).job("p", pod=spec))

    assert outcome.bindings == {"p-0": "n"}


def test_an_unhealthy_card_is_allocated_unless_configured_otherwise() -> None:
    """Volcano's way by default."""
    scenario = with_cards(Scenario(), "n", MEMORY, healthy="false").job("p", pod=one(number=1))

    assert run(scenario).bindings == {"p-0": "n"}
    assert "were it empty" in run(scenario, VGPUEnable=True, SkipUnhealthyCards=True).why_pod("p-0")


def test_an_invalid_register_is_reported_and_the_node_accepts_no_pod() -> None:
    """The other node goes on; the owner of the node has an event."""
    cluster = with_cards(TWO, "o", MEMORY, annotations={"volcano.sh/node-vgpu-register": "GPU-0,1:"})
    outcome = run(cluster.job("p", tasks=2, pod=one(number=1)).job("q", pod=one(number=2, memory=MEMORY)))

    assert set(outcome.bindings.values()) == {"n"}
    (event,) = [each for each in outcome.events if each.kind == "Node"]
    assert (event.name, event.reason) == ("o", "DeviceRegisterInvalid")
    assert (
        event.message == "hamivgpu: record 0 has 2 fields, expected 6; the node accepts no pod that requests its cards"
    )
    assert "1 the node's registered cards cannot be read" in outcome.why_pod("q-0")
    assert outcome.failed_plugins == []


def test_unreadable_cards_of_a_pod_are_left_out() -> None:
    """What can be read of the same annotation counts."""
    ids = "GPU-0,NVIDIA,-5,30:GPU-1,NVIDIA,16384,10:junk:GPU-7,NVIDIA,1,1:"
    held = TWO.running("r", on=["n"], pod=one(number=1), annotations={IDS: ids})

    outcome = run(_roomy(held).job("p", pod=one(number=1)), cycles=2)

    assert cards_of(outcome) == {"p-0": ["GPU-0"]}
    (event,) = [each for each in outcome.events if each.kind == "Pod"]
    assert (event.name, event.reason) == ("r-0", "DeviceIdsInvalid")
    assert event.message == f"{IDS}: 3 of its entries are not cards of the node, and do not count"


def test_an_unreadable_limit_affects_only_its_pod() -> None:
    """The refusal names the limit."""
    broken = {"resources": {"limits": {COUNT: "many"}, "requests": {"cpu": 1}}, "name": "main", "image": "app:1"}
    outcome = run(TWO.job("p", pod=wanting(broken)).job("q", pod=one(number=1)))

    assert outcome.bindings == {"q-0": "n"}
    assert f"container main: resources.limits.{COUNT}: 'many' is not a quantity" in outcome.why("p")


def test_cards_are_given_without_other_plugins() -> None:
    """The filters of Kubernetes are not needed for it."""
    outcome = run(TWO.job("p", pod=one(number=1)), plugins=("deviceshare",))

    assert cards_of(outcome) == {"p-0": ["GPU-1"]}


def test_a_card_is_known_by_its_whole_uuid() -> None:
    """What begins alike is another one: GPU-10 is no card of this node."""
    held = TWO.running("r", on=["n"], pod=one(number=1, memory=1), annotations={IDS: f"GPU-10,NVIDIA,{MEMORY},0:"})

    assert cards_of(run(held.job("p", tasks=1, pod=one(number=2, memory=1)))) == {"p-0": ["GPU-1", "GPU-0"]}
