"""Anyone who may write a pod may write its annotations about cards: they count for what the pod asks for."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from pyroclast.testing import Outcome, Scenario
from tests.devices import CORE, MEMORY, NVIDIA, RATIO, gpu
from tests.unit.plugins.ascend import one as chips
from tests.unit.plugins.ascend import with_chips
from tests.unit.plugins.cards import IDS, one, with_cards
from tests.unit.plugins.koordinator import ALLOCATED, whole, with_devices

INDEX = "volcano.sh/gpu-index"
CARDS = {"volcano.sh/gpu-memory": 4000, "volcano.sh/gpu-number": 4}
Pod = Mapping[str, Any]

NUMBER: tuple[Scenario, dict[str, Any], Pod, str, Any] = (
    Scenario().node("n", cpu=64, resources=CARDS),
    {"GPUNumberEnable": True},
    {"pod": one(gpu_number=1)},
    INDEX,
    lambda *cards: ",".join(map(str, cards)),
)
VIRTUAL: tuple[Scenario, dict[str, Any], Pod, str, Any] = (
    with_cards(Scenario(), "n", 1000, 1000, 1000, 1000, shares=2),
    {"VGPUEnable": True},
    {"pod": one(number=1, memory=1000, cores=100)},
    IDS,
    lambda *cards: "".join(f"GPU-{card},NVIDIA,1000,100:" for card in cards),
)
KOORDINATOR: tuple[Scenario, dict[str, Any], Pod, str, Any] = (
    with_devices(*(gpu(minor) for minor in range(4))),
    {"KoordinatorEnable": True},
    {"resources": {NVIDIA: 1}},
    ALLOCATED,
    lambda *cards: json.dumps(whole("gpu", *cards)),
)
ASCEND: tuple[Scenario, dict[str, Any], Pod, str, Any] = (
    with_chips(Scenario(), "Ascend310P", 4, shares=2),
    {"AscendHAMiVNPUEnable": True},
    {"pod": chips("Ascend310P", number=1)},
    "hami.io/Ascend310P-devices-allocated",
    lambda *cards: "".join(f"id{card},Ascend310P,21527,0:" for card in cards) + ";",
)
FAMILIES = pytest.mark.parametrize(
    "family", [NUMBER, VIRTUAL, KOORDINATOR, ASCEND], ids=["number", "virtual", "koordinator", "ascend"]
)


def run(family: Any, scenario: Scenario) -> Outcome:
    """Place what waits."""
    named = {f"deviceshare.{key}": value for key, value in family[1].items()}
    return scenario.run("allocate", plugins=("gang", "predicates", "deviceshare"), arguments={"deviceshare": named})


def messages(outcome: Outcome) -> list[str]:
    """What events on pods tell."""
    return [each.message for each in outcome.events if each.reason == "DeviceIdsInvalid"]


@FAMILIES
def test_a_pod_that_asks_for_no_card_blocks_none(family: Any) -> None:
    """It names all four cards, and all four go to others."""
    base, _, asks, key, cards = family
    there = base.running("claims", on=["n"], cpu=0, annotations={key: cards(0, 1, 2, 3)})
    outcome = run(family, there.job("work", tasks=4, **asks))

    assert len(outcome.bindings) == 4
    assert messages(outcome) == ["the cards in its annotations do not count: it requests none"]


@FAMILIES
def test_a_pod_that_names_more_cards_than_it_asks_for_blocks_as_many_as_it_asks_for(family: Any) -> None:
    """One of the four named cards is its own."""
    base, _, asks, key, cards = family
    there = base.running("claims", on=["n"], annotations={key: cards(0, 1, 2, 3)}, **asks)

    assert len(run(family, there.job("work", tasks=4, min_available=1, **asks)).bindings) == 3


@FAMILIES
def test_a_pod_that_erases_its_annotation_keeps_its_card(family: Any) -> None:
    """Two pods named their cards, one of them no more: two cards are left for others."""
    base, _, asks, key, cards = family
    there = base.running("honest", on=["n"], annotations={key: cards(1)}, **asks).running("erased", on=["n"], **asks)
    outcome = run(family, _roomy(there.job("work", tasks=4, min_available=1, **asks)))

    assert len(outcome.bindings) == 2
    assert messages(outcome) == [
        "its annotations do not name the cards that it requests: it is counted with 1 free ones"
    ]


@FAMILIES
def test_a_pod_that_names_the_card_of_another_is_counted_with_a_free_one(family: Any) -> None:
    """Both name card 1: whichever is right, two cards are in use."""
    base, _, asks, key, cards = family
    there = base
    for name in ("honest", "lying"):
        there = there.running(name, on=["n"], annotations={key: cards(1)}, **asks)

    assert len(run(family, _roomy(there.job("work", tasks=4, min_available=1, **asks))).bindings) == 2


LESS = [
    (VIRTUAL, "GPU-1,NVIDIA,0,0:"),
    (KOORDINATOR, json.dumps({"gpu": [{"minor": 1, "resources": {CORE: "0", RATIO: "0", MEMORY: "0"}}]})),
    (ASCEND, "id1,Ascend310P,0,0:;"),
]


@pytest.mark.parametrize(("family", "text"), LESS, ids=["virtual", "koordinator", "ascend"])
def test_a_pod_that_names_less_of_its_card_than_it_requests_holds_what_it_requests(family: Any, text: str) -> None:
    """It requests all of a card: three cards are left for others."""
    base, _, asks, key, _ = family
    there = base.running("claims", on=["n"], annotations={key: text}, **asks)

    assert len(run(family, _roomy(there.job("work", tasks=4, min_available=1, **asks))).bindings) == 3


def _roomy(scenario: Scenario) -> Scenario:
    """Let nodes offer so much of all that cards alone decide."""
    return Scenario(tuple(map(_with_plenty, scenario.objects)))


def _with_plenty(each: Any) -> Any:
    if each["kind"] != "Node":
        return each
    names = (*CARDS, NVIDIA, "koordinator.sh/gpu-core", "volcano.sh/vgpu-number", "volcano.sh/vgpu-memory")
    names = (*names, "volcano.sh/vgpu-cores", "koordinator.sh/gpu-memory-ratio", "huawei.com/Ascend310P")
    return {
        **each,
        "status": {**each["status"], "allocatable": each["status"]["allocatable"] | dict.fromkeys(names, 9999)},
    }
