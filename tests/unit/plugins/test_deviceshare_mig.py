"""Cards that hardware cuts into instances."""

from typing import Any

import pytest

from pyroclast.model.devices.settings import Group, Kind
from pyroclast.plugins.deviceshare.mig import kind_at, pick
from pyroclast.testing import Scenario
from tests.unit.plugins.cards import (
    CORES,
    COUNT,
    IDS,
    SIZE,
    annotations_of,
    cards_of,
    config_map,
    container,
    device_map,
    one,
    run,
    wanting,
    with_cards,
)

GROUP2 = Group(
    name="group2", kinds=(Kind(name="2g.10gb", memory=10240, count=3), Kind(name="1g.5gb", memory=5120, count=1))
)
A100 = (
    Group(name="group1", kinds=(Kind(name="1g.5gb", memory=5120, count=7),)),
    GROUP2,
    Group(name="group3", kinds=(Kind(name="3g.20gb", memory=20480, count=2),)),
    Group(name="group4", kinds=(Kind(name="7g.40gb", memory=40960, count=1),)),
)


@pytest.mark.parametrize(
    ("taken", "megabytes", "found"),
    [
        ([], 8000, ("group2", 0)),
        ([], 5120, ("group1", 0)),
        ([], 5121, ("group2", 0)),
        ([], 40960, ("group4", 0)),
        ([], 40961, None),
        ([("group2", 0)], 4000, ("group2", 3)),
        ([("group2", 0), ("group2", 3)], 4000, ("group2", 1)),
        ([("group2", 0), ("group2", 2)], 8000, ("group2", 1)),
        ([("group2", 0), ("group2", 1), ("group2", 2)], 4000, ("group2", 3)),
        ([("group2", 0), ("group2", 1), ("group2", 2)], 8000, None),
        ([("group1", 0)], 8000, None),
        ([("group9", 0)], 1, None),
        ([("group2", 4)], 1, None),
        ([("group1", 0), ("group2", 0)], 1, None),
    ],
)
def test_the_smallest_free_instance(
    taken: list[tuple[str, int]], megabytes: int, found: tuple[str, int] | None
) -> None:
    """In the group that is in use, else in the first that has one; of what makes no sense nothing is given."""
    picked = pick(A100, taken, megabytes)

    assert (None if picked is None else picked[0]) == found


def test_positions_run_through_the_kinds() -> None:
    """The only 1g.5gb of group2 is at 3."""
    kinds = [kind_at(A100, ("group2", position)) for position in range(5)]

    assert [None if kind is None else kind.name for kind in kinds] == ["2g.10gb", "2g.10gb", "2g.10gb", "1g.5gb", None]


def cluster(*memory: int, geometries: Any = None, **nvidia: Any) -> Scenario:
    """A node whose cards are cut, with room for many pods."""
    there = device_map(**nvidia) if geometries is None else device_map(geometries, **nvidia)
    told = with_cards(Scenario().add(there), "n", *memory, mode="mig")
    plenty = {COUNT: 1000, SIZE: 10**6, CORES: 10**4}
    node = told.objects[-1]
    status = {**node["status"], "allocatable": {**node["status"]["allocatable"], **plenty}}
    return Scenario((*told.objects[:-1], {**node, "status": status}))


def test_the_binding_names_the_instance() -> None:
    """With what was asked for; what is charged is all of the instance."""
    outcome = run(cluster(40960).job("p", pod=one(number=1, memory=8000)))

    assert annotations_of(outcome)["p-0"][IDS] == "GPU-0[group2-0],NVIDIA,8000,0:"


def test_pods_of_one_session_have_different_instances() -> None:
    """And in the next the books say the same from annotations; four fit, the fifth waits."""
    four = run(cluster(40960).job("p", tasks=5, min_available=1, pod=one(number=1, memory=8000, cores=1)))
    placed = annotations_of(four)

    assert [placed[f"p-{number}"][IDS].split(",")[0] for number in range(len(placed))] == [
        "GPU-0[group2-0]",
        "GPU-0[group2-1]",
        "GPU-0[group2-2]",
    ]
    running = cluster(40960)
    for name, told in sorted(placed.items()):
        running = running.running(name, on=["n"], pod=one(number=1, memory=8000), annotations={IDS: told[IDS]})
    again = run(running.job("q", pod=one(number=1, memory=4000)).job("r", pod=one(number=1, memory=8000)))
    assert cards_of(again) == {"q-0": ["GPU-0[group2-3]"]}
    assert "not enough gpu fitted on this node" in again.why_pod("r-0")


def test_two_containers_have_two_instances() -> None:
    """Each its own, in one pod."""
    spec = wanting(container("a", number=1, memory=8000), container("b", number=1, memory=4000))
    outcome = run(cluster(40960).job("p", pod=spec))

    assert annotations_of(outcome)["p-0"][IDS] == "GPU-0[group2-0],NVIDIA,8000,0:;GPU-0[group2-3],NVIDIA,4000,0:"


def test_an_unused_card_is_partitioned_again() -> None:
    """While an instance of group1 is in use, it is partitioned so; afterwards all of it is available."""
    held = cluster(40960).running(
        "r", on=["n"], pod=one(number=1, memory=1), annotations={IDS: "GPU-0[group1-0],NVIDIA,1,0:"}
    )
    wanting_all = held.job("p", pod=one(number=1, memory=30000))
    leaving = [
        {**each, "metadata": {**each["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}
        if each["kind"] == "Pod" and each["spec"]["nodeName"]
        else each
        for each in wanting_all.objects
    ]

    assert cards_of(run(wanting_all)) == {}
    assert cards_of(run(Scenario(tuple(leaving)))) == {"p-0": ["GPU-0[group4-0]"]}


def test_a_unit_of_memory_may_be_several_megabytes() -> None:
    """Factor 2: 6144 are 12288, for which 2g.20gb of 20480 is taken, so 10240 units."""
    geometries = [
        {
            "group": "group1",
            "geometries": [
                {"name": "1g.10gb", "memory": 10240, "count": 2},
                {"name": "2g.20gb", "memory": 20480, "count": 2},
            ],
        }
    ]
    there = cluster(20480, geometries=geometries, gpuMemoryFactor=2)
    outcome = run(there.job("p", tasks=3, min_available=1, pod=one(number=1, memory=6144)))

    assert cards_of(outcome) == {"p-0": ["GPU-0[group1-2]"], "p-1": ["GPU-0[group1-3]"]}


def test_a_model_that_is_not_known_is_shared_by_hami_core() -> None:
    """So does a node without the ConfigMap."""
    outcome = run(with_cards(Scenario(), "n", 1000, mode="mig").job("p", pod=one(number=1, memory=10)))

    assert annotations_of(outcome)["p-0"][IDS] == "GPU-0,NVIDIA,10,0:"


@pytest.mark.parametrize("held", ["GPU-0[group2],NVIDIA,1,0:", "GPU-0,NVIDIA,1,0:", "GPU-0[a-b],NVIDIA,1,0:"])
def test_an_instance_that_cannot_be_read_is_counted_by_what_the_pod_asks_for(held: str) -> None:
    """The pod holds the one card that there is."""
    running = cluster(40960).running("r", on=["n"], pod=one(number=1), annotations={IDS: held})
    outcome = run(running.job("p", pod=one(number=1, memory=40960)))

    assert cards_of(outcome) == {}


@pytest.mark.parametrize(
    ("there", "message"),
    [
        (config_map("nvidia: [1"), "data[device-config.yaml]: line 1, column 11: not YAML"),
        (config_map("nvidia: {gpuMemoryFactor: -1}"), "Expected `int` >= 0 - at `$.nvidia.gpuMemoryFactor`"),
        (config_map("[]", key="other"), "data: no key 'device-config.yaml'"),
        (config_map("- a"), "data[device-config.yaml]: got list, expected a mapping"),
        (
            device_map([{"group": "a-b", "geometries": []}]),
            "nvidia.knownMigGeometries: group 'a-b': a name without '-', '[' and ']'",
        ),
    ],
)
def test_a_broken_config_map_is_reported_and_the_defaults_apply(there: dict[str, Any], message: str) -> None:
    """Reported by an event on it; cards are shared all the same."""
    outcome = run(with_cards(Scenario().add(there), "n", 1000).job("p", pod=one(number=1, memory=10)))

    (event,) = [each for each in outcome.events if each.kind == "ConfigMap"]
    assert message in event.message
    assert event.message.endswith("; the defaults apply")
    assert outcome.bindings == {"p-0": "n"}
    assert outcome.failed_plugins == []


def test_a_document_stands_alone() -> None:
    """What it leaves out is not filled up: without names no pod asks for cards."""
    outcome = run(
        with_cards(Scenario().add(config_map("nvidia: {}")), "n", 1000).job("p", pod=one(number=1, memory=10))
    )

    assert (outcome.bindings, cards_of(outcome)) == ({"p-0": "n"}, {})


def test_a_key_without_a_value_says_nothing() -> None:
    """As in YAML that a template wrote: cards are cut as the rest of the document has it."""
    text = f"""
        nvidia:
          resourceCountName: {COUNT}
          resourceMemoryName: {SIZE}
          resourceMemoryPercentageName:
          knownMigGeometries:
          - models: [A100]
            allowedGeometries: [{{group: g, geometries: [{{name: 1g, memory: 1000, count: 2}}]}}]
          - models:
    """
    there = with_cards(Scenario().add(config_map(text)), "n", 2000, mode="mig")
    outcome = run(there.job("p", pod=one(number=1, memory=10)))

    assert [each.message for each in outcome.events if each.kind == "ConfigMap"] == []
    assert cards_of(outcome) == {"p-0": ["GPU-0[g-0]"]}


def test_other_names_and_percentages() -> None:
    """As the ConfigMap has them: half of 1000."""
    named = device_map(resourceMemoryPercentageName="volcano.sh/vgpu-memory-percentage")
    there = with_cards(Scenario().add(named), "n", 1000)
    node = there.objects[-1]
    offered = {**node["status"]["allocatable"], "volcano.sh/vgpu-memory-percentage": 1000}
    grown = Scenario((*there.objects[:-1], {**node, "status": {**node["status"], "allocatable": offered}}))
    outcome = run(grown.job("p", pod=one(number=1, percentage=50)))

    assert annotations_of(outcome)["p-0"][IDS] == "GPU-0,NVIDIA,500,0:"
