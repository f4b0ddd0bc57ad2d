"""Koordinator's devices: its worked examples, on a node of four GPUs and on one of eight."""

from typing import Any

import pytest

from pyroclast.testing import Outcome, Scenario
from tests.devices import CORE, MEMORY, RATIO, RDMA, fpga, gpu, rdma
from tests.unit.plugins.koordinator import (
    EIGHT,
    FOUR,
    GENERAL,
    TOGETHER,
    annotated,
    given,
    holding,
    run,
    told_of,
    wanting,
    whole,
    with_devices,
)

GIB = 2**30
ONE_PCIE = {"gpu": {"requiredTopologyScope": "PCIe"}}
ONE_NUMA = {"gpu": {"requiredTopologyScope": "NUMANode"}}


def four(**held: Any) -> Scenario:
    """The node of four GPUs, some devices taken whole, by type."""
    taken = {kind: whole(kind, *minors)[kind] for kind, minors in held.items()}
    there = with_devices(*FOUR)
    return holding(there, "r", **taken) if taken else there


def asking(scenario: Scenario, hint: Any = None, joint: Any = None, arguments: Any = None, **amounts: Any) -> Outcome:
    """Let one pod ask for devices."""
    return run(wanting(scenario, annotations=annotated(hint=hint, joint=joint), **amounts), **(arguments or {}))


def resources(core: str | None, memory: str, ratio: str) -> dict[str, str]:
    """Amounts of a GPU as annotations tell of them."""
    return {**({} if core is None else {CORE: core}), MEMORY: memory, RATIO: ratio}


@pytest.mark.parametrize(
    ("state", "hint", "amounts", "minors"),
    [
        ({}, None, {"nvidia": 1}, [0]),
        ({"gpu": [2]}, None, {"nvidia": 1}, [3]),
        ({"gpu": [0]}, None, {"nvidia": 2}, [2, 3]),
        ({}, None, {"nvidia": 3}, [0, 1, 2]),
        ({}, ONE_PCIE, {"nvidia": 3}, None),
        ({}, None, {"core": 50, "ratio": 50}, [0]),
        ({}, None, {"memory": "20Gi"}, [0]),
        ({}, None, {"shared": 2, "core": 100, "ratio": 100}, [0, 1]),
        ({}, None, {"gpu": 200}, [0, 1]),
        ({"gpu": [0]}, {"gpu": {"requiredTopologyScope": "Device"}}, {"nvidia": 1}, [1]),
        ({}, {"gpu": {"requiredTopologyScope": "Node"}}, {"nvidia": 3}, [0, 1, 2]),
    ],
)
def test_which_gpus(state: Any, hint: Any, amounts: Any, minors: Any) -> None:
    """Examples 1 to 5, 7, 8 and 10: near each other, and where GPUs are in use already."""
    assert given(asking(four(**state), hint, **amounts)).get("gpu") == minors


@pytest.mark.parametrize(
    ("amounts", "count", "told"),
    [
        ({"nvidia": 1}, 1, resources("100", "80Gi", "100")),
        ({"core": 50, "ratio": 50}, 1, resources("50", "40Gi", "50")),
        ({"memory": "20Gi"}, 1, resources(None, "20Gi", "25")),
        ({"shared": 2, "core": 100, "ratio": 100}, 2, resources("50", "40Gi", "50")),
        ({"core": 30, "memory": "1Mi"}, 1, resources("30", "1Mi", "0")),
    ],
)
def test_what_of_each_gpu(amounts: Any, count: int, told: Any) -> None:
    """Examples 1, 7, 8 and 10: memory and percent follow from each other, cores are annotated if requested."""
    outcome = told_of(asking(four(), **amounts))["gpu"]

    assert outcome == [{"minor": minor, "id": f"GPU-{minor}", "resources": told} for minor in range(count)]


@pytest.mark.parametrize(
    ("devices", "amounts", "told"),
    [
        ([gpu(0, memory="16Gi")], {"memory": "5Gi"}, resources(None, "5Gi", "31")),
        ([gpu(0, memory="16Gi")], {"ratio": 33}, resources(None, "5669356830", "33")),
    ],
)
def test_memory_is_a_part_of_the_gpus(devices: Any, amounts: Any, told: Any) -> None:
    """Examples 18 and 19, rounded down."""
    assert told_of(asking(with_devices(*devices), **amounts))["gpu"][0]["resources"] == told


def test_an_unhealthy_gpu_is_not_allocated() -> None:
    """Example 6: no pod is evicted for it."""
    sick = tuple({**each, "health": False} if each["minor"] == 0 and each["type"] == "gpu" else each for each in FOUR)
    outcome = asking(with_devices(*sick), nvidia=4)
    (refusal,) = outcome.refusals_of_pod("p-0")

    assert "Insufficient gpu devices, were they all free" in refusal.counts
    assert not refusal.resolvable
    assert given(asking(with_devices(*sick), nvidia=3)) == {"gpu": [1, 2, 3]}


def test_a_share_goes_where_enough_is_left() -> None:
    """Example 9: of four GPUs one has half of its memory and cores left."""
    there = four(gpu=[0, 2, 3])
    there = holding(there, "half", **whole("gpu", 1, **{CORE: "50", RATIO: "50", MEMORY: "40Gi"}))
    outcome = asking(there, core=30, memory="40Gi")

    assert told_of(outcome)["gpu"] == [{"minor": 1, "id": "GPU-1", "resources": resources("30", "40Gi", "50")}]
    assert given(asking(there, core=51, memory="1Gi")) == {}


@pytest.mark.parametrize(
    ("amounts", "fault"),
    [
        ({"core": 150, "ratio": 150}, "koordinator.sh/gpu-core: 150, expected at most 100, or a multiple of it"),
        ({"nvidia": 1, "core": 100}, "nvidia.com/gpu + koordinator.sh/gpu-core: these are not asked for together"),
    ],
)
def test_incompatible_settings_are_reported(amounts: Any, fault: str) -> None:
    """Example 11: on no node."""
    outcome = asking(four(), **amounts)

    assert fault in outcome.why_pod("p-0")
    assert not outcome.refusals_of_pod("p-0")[0].resolvable


@pytest.mark.parametrize(
    ("state", "joint", "arguments", "amounts", "expected"),
    [
        ({}, TOGETHER, {}, {"nvidia": 2}, {"gpu": [0, 1], "rdma": [0]}),
        ({}, TOGETHER, {}, {"nvidia": 3}, {"gpu": [0, 1, 2], "rdma": [0, 1]}),
        ({"rdma": [0]}, {**TOGETHER, "requiredScope": "SamePCIe"}, {"jointSearchRetry": False}, {"nvidia": 2}, {}),
        ({"rdma": [0]}, {**TOGETHER, "requiredScope": "SamePCIe"}, {}, {"nvidia": 2}, {"gpu": [2, 3], "rdma": [1]}),
        ({"rdma": [0]}, TOGETHER, {}, {"nvidia": 2}, {"gpu": [0, 1], "rdma": [1]}),
        ({}, {"deviceTypes": ["rdma", "gpu"]}, {}, {"nvidia": 2}, {"gpu": [0, 1], "rdma": [0]}),
    ],
)
def test_gpus_and_cards_near_each_other(state: Any, joint: Any, arguments: Any, amounts: Any, expected: Any) -> None:
    """Examples 12 to 14: a card at each switch, so perhaps more than were asked for; other GPUs are looked for, too."""
    assert given(asking(four(**state), joint=joint, arguments=arguments, rdma=1, **amounts)) == expected


def test_the_virtual_function_of_the_smallest_address() -> None:
    """Example 15: any group will do."""
    outcome = asking(four(), {"rdma": {"vfSelector": {}}}, rdma=50)

    assert told_of(outcome) == {
        "rdma": [{"minor": 0, "resources": {RDMA: "50"}, "extension": {"vfs": [{"minor": 1, "busID": "0000:3d:00.2"}]}}]
    }


def test_a_pod_may_have_several_virtual_functions_of_a_card() -> None:
    """Another scheduler may have allocated them: none of them is free."""
    functions = [{"busID": "0000:3d:00.2"}, {"busID": "0000:3d:00.3"}]
    held = [{"minor": 0, "resources": {RDMA: "1"}, "extension": {"vfs": functions}}]
    there = holding(with_devices(*FOUR), "r", rdma=held)

    assert given(asking(there, {"rdma": {"vfSelector": {}}}, rdma=1)) == {"rdma": [(1, "5d:00.2")]}


def test_multiples_are_whole_cards() -> None:
    """Example 16, and the same of FPGAs."""
    assert given(asking(four(), rdma=200)) == {"rdma": [0, 1]}
    assert given(asking(with_devices(fpga(0), fpga(1)), fpga=200)) == {"fpga": [0, 1]}
    assert given(asking(with_devices(fpga(0), fpga(1)), fpga=30)) == {"fpga": [0]}


def test_a_node_without_such_devices_never_has_them() -> None:
    """Example 17; amounts that the node offers by its status do not help."""
    there = with_devices(gpu(0), name="n")
    roomy = Scenario(tuple(_offering(each, RDMA) for each in there.objects))
    (refusal,) = asking(roomy, rdma=50).refusals_of_pod("p-0")

    assert dict(refusal.counts) == {"Insufficient rdma devices, were they all free": 1}
    assert not refusal.resolvable


def _offering(each: Any, name: str) -> Any:
    if each["kind"] != "Node":
        return each
    return {**each, "status": {**each["status"], "allocatable": {**each["status"]["allocatable"], name: "1000"}}}


def test_a_pod_without_devices_gets_no_annotation() -> None:
    """Example 20."""
    outcome = run(four().job("p"))

    assert outcome.bindings == {"p-0": "n"}
    assert told_of(outcome) == {}


def test_a_node_without_a_device_object_counts_by_its_allocatable() -> None:
    """The kubelet's own plugin hands them out there."""
    outcome = asking(Scenario().node("n", resources={"nvidia.com/gpu": 2}), nvidia=1)

    assert outcome.bindings == {"p-0": "n"}
    assert told_of(outcome) == {}


# The node of eight ----------------------------------------------------------------------------------------------------

ONE_TAKEN = {
    **whole("gpu", 0),
    "rdma": [{"minor": 1, "resources": {RDMA: "1"}, "extension": {"vfs": [{"busID": "0000:1f:00.2"}]}}],
}
FIVE_TAKEN = {
    **whole("gpu", 5),
    "rdma": [{"minor": 3, "resources": {RDMA: "1"}, "extension": {"vfs": [{"busID": "0000:51:00.2"}]}}],
}
HALF = {CORE: "50", RATIO: "50", MEMORY: "41600608Ki"}
CARDS = {1: (1, "1f:00.2"), 2: (2, "90:00.2"), 3: (3, "51:00.2"), 4: (4, "b9:00.2")}


def eight(state: Any, hint: Any = None, joint: Any = None, arguments: Any = None, **amounts: Any) -> Any:
    """What a pod with virtual functions beside its GPUs is given on the node of eight."""
    there = with_devices(*EIGHT)
    there = holding(there, "r", **state) if state else there
    wish = {**GENERAL, **(hint or {})}
    found = given(asking(there, wish, joint or TOGETHER, arguments, rdma=1, **amounts))
    return {kind: sorted(numbers) for kind, numbers in found.items()}


@pytest.mark.parametrize(
    ("gpus", "cards"),
    [(0, [1]), (1, [1]), (2, [1]), (3, [1, 2]), (4, [1, 2]), (6, [1, 2, 3]), (8, [1, 2, 3, 4])],
)
def test_cards_beside_gpus(gpus: int, cards: Any) -> None:
    """Rows R1 to R7: a virtual function at each switch."""
    wanted = {"nvidia": gpus} if gpus else {}
    expected = {**({"gpu": list(range(gpus))} if gpus else {}), "rdma": [CARDS[card] for card in cards]}

    assert eight({}, **wanted) == expected


@pytest.mark.parametrize(
    ("state", "hint", "amounts", "gpus", "cards"),
    [
        (ONE_TAKEN, None, {"nvidia": 2}, [2, 3], [CARDS[2]]),
        (ONE_TAKEN, None, {"nvidia": 3}, [1, 2, 3], [(1, "1f:00.3"), CARDS[2]]),
        (FIVE_TAKEN, None, {"nvidia": 1}, [4], [(3, "51:00.3")]),
        (whole("gpu", 5), None, {"nvidia": 2}, [6, 7], [CARDS[4]]),
        (whole("gpu", 5), ONE_PCIE, {"nvidia": 2}, [6, 7], [CARDS[4]]),
        (whole("gpu", 5), ONE_NUMA, {"nvidia": 4}, [0, 1, 2, 3], [CARDS[1], CARDS[2]]),
        (whole("gpu", 5), None, {"shared": 1, "core": 50, "ratio": 50}, [4], [CARDS[3]]),
    ],
)
def test_where_others_are_already(state: Any, hint: Any, amounts: Any, gpus: Any, cards: Any) -> None:
    """Rows R8, R9, R17 to R20 and R22: empty switches and NUMA nodes stay empty."""
    assert eight(state, hint, **amounts) == {"gpu": gpus, "rdma": cards}


def test_all_within_one_numa_node_or_nowhere() -> None:
    """Row R21: neither of them has four left."""
    assert eight(whole("gpu", 5, 0), ONE_NUMA, nvidia=4) == {}


def test_the_fullest_gpu_first() -> None:
    """Row R23: both switches are in use, and a half GPU has the better score."""
    state = {"gpu": [*whole("gpu", 5)["gpu"], *whole("gpu", 7, **HALF)["gpu"]]}
    strategy = {"scoringStrategy": {"type": "MostAllocated"}}
    amounts = {"shared": 1, "core": 50, "ratio": 50}

    assert eight(state, None, None, strategy, **amounts) == {"gpu": [7], "rdma": [CARDS[4]]}
    assert eight(state, **amounts) == {"gpu": [4], "rdma": [CARDS[3]]}


def test_the_same_switches_or_others() -> None:
    """Row R10: the first card has nothing left; Koordinator gives up, else the other NUMA node does."""
    state = {**whole("gpu", 0), **whole("rdma", 1)}
    same = {**TOGETHER, "requiredScope": "SamePCIe"}

    assert eight(state, None, same, {"jointSearchRetry": False}, nvidia=3) == {}
    assert eight(state, None, same, nvidia=3) == {"gpu": [4, 5, 6], "rdma": [CARDS[3], CARDS[4]]}


def test_one_card_for_all() -> None:
    """Row R11: near is as near as can be."""
    few = [each for each in EIGHT if each["type"] == "gpu" or each["minor"] == 2]
    outcome = asking(with_devices(*few), GENERAL, TOGETHER, nvidia=4, rdma=1)

    assert given(outcome) == {"gpu": [0, 1, 2, 3], "rdma": [CARDS[2]]}


def test_all_cards_for_one() -> None:
    """Row R12: who applies for all has no need of near ones."""
    outcome = asking(with_devices(*EIGHT), {"rdma": {"allocateStrategy": "ApplyForAll"}}, TOGETHER, nvidia=4, rdma=1)

    assert given(outcome) == {"gpu": [0, 1, 2, 3], "rdma": [1, 2, 3, 4]}


def test_no_virtual_functions_anywhere() -> None:
    """Row R14: never on this node, wherever its devices are."""
    bare = [{name: value for name, value in each.items() if name not in {"topology", "vfGroups"}} for each in EIGHT]
    outcome = asking(with_devices(*bare), GENERAL, TOGETHER, nvidia=1, rdma=1)

    assert "node(s) without virtual functions of rdma devices" in outcome.why_pod("p-0")
    assert given(asking(with_devices(*bare), None, TOGETHER, nvidia=1, rdma=1)) == {"gpu": [0], "rdma": [1]}


def test_one_card_of_each_switch_first() -> None:
    """Row R15: of four switches the first has three cards."""
    switches = [(0, f"pci-{number}") for number in range(4)]
    gpus = [gpu(number, at=at) for number, at in enumerate(switches)]
    cards = [rdma(number, at=switches[max(number - 2, 0)]) for number in range(6)]
    outcome = asking(with_devices(*gpus, *cards), None, TOGETHER, nvidia=4, rdma=400)

    assert given(outcome) == {"gpu": [0, 1, 2, 3], "rdma": [0, 3, 4, 5]}


def test_two_cards_of_each_switch() -> None:
    """Row R16: the first NUMA node is busy."""
    switches = [(number // 2, f"pci-{number}") for number in range(4)]
    gpus = [gpu(number, at=switches[number // 2]) for number in range(8)]
    cards = [rdma(number, at=switches[number // 2]) for number in range(8)]
    there = holding(with_devices(*gpus, *cards), "r", **whole("gpu", 0, 1, 2, 3))
    found = given(asking(there, None, TOGETHER, nvidia=4, rdma=400))

    assert found["gpu"] == [4, 5, 6, 7]
    assert sorted(found["rdma"]) == [4, 5, 6, 7]


@pytest.mark.parametrize(
    ("hint", "quantity", "cards", "amount"),
    [
        ({"allocateStrategy": "ApplyForAll", "selector": {"matchLabels": {"type": "w"}}}, 50, [0, 1, 2, 3], "50"),
        (
            {
                "allocateStrategy": "ApplyForAll",
                "selector": {"matchExpressions": [{"key": "type", "operator": "Exists"}]},
            },
            50,
            [0, 1, 2, 3, 4],
            "50",
        ),
        ({"allocateStrategy": "RequestsAsCount"}, 4, [0, 1, 2, 3], "1"),
        ({"allocateStrategy": "RequestsAsCount", "exclusivePolicy": "DeviceLevel"}, 4, [0, 1, 2, 3], "100"),
        ({"allocateStrategy": "RequestsAsCount"}, 200, [0, 1], "100"),
        ({"selector": {"matchLabels": {"type": "s"}}}, 30, [4], "30"),
    ],
)
def test_how_many_cards(hint: Any, quantity: int, cards: Any, amount: str) -> None:
    """The strategies of hints; four cards are of one type, a fifth of another."""
    there = with_devices(*(rdma(number, labels={"type": "s" if number == 4 else "w"}) for number in range(5)))
    told = told_of(asking(there, {"rdma": hint}, rdma=quantity))["rdma"]

    assert [each["minor"] for each in told] == cards
    assert {each["resources"][RDMA] for each in told} == {amount}


def test_a_selector_that_selects_nothing() -> None:
    """No pod waits for missing devices."""
    hint = {"rdma": {"allocateStrategy": "ApplyForAll", "selector": {"matchLabels": {"type": "x"}}}}
    (refusal,) = asking(with_devices(rdma(0)), hint, rdma=50).refusals_of_pod("p-0")

    assert not refusal.resolvable


@pytest.mark.parametrize(
    ("used", "count", "minors"),
    [([4], 1, [5]), ([4], 2, [6, 7]), ([2, 3], 2, [0, 1]), ([2, 3], 3, [4, 5, 6]), ([], 4, [0, 1, 2, 3])],
)
def test_gpus_that_go_together(used: Any, count: int, minors: Any) -> None:
    """On known models the table prefers what is linked; what it does not speak of goes by topology."""
    there = with_devices(*EIGHT[:8], labels={"node.koordinator.sh/gpu-model": "H800"})
    there = holding(there, "r", **whole("gpu", *used)) if used else there

    assert given(asking(there, nvidia=count)) == {"gpu": minors}


@pytest.mark.parametrize(("count", "is_served"), [(3, False), (6, False), (4, True), (8, True)])
def test_gpus_by_partition_alone(count: int, is_served: bool) -> None:
    """Rows R24 to R26: where the table is to be honoured."""
    labels = {"node.koordinator.sh/gpu-model": "H100", "node.koordinator.sh/gpu-partition-policy": "Honor"}
    outcome = asking(with_devices(*EIGHT[:8], labels=labels), nvidia=count)

    assert bool(outcome.bindings) is is_served
    assert is_served or "node(s) Unsupported number of GPU requests" in outcome.why_pod("p-0")
