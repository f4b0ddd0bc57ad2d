"""What annotations and limits say of shared cards, as text and as values."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyroclast.model import wire
from pyroclast.model.devices.cards import Holder, Shelf, Use
from pyroclast.model.devices.settings import DEFAULT, Geometries, Group, Kind, VgpuSettings, read_settings
from pyroclast.model.devices.vgpu_demand import UNSET, ContainerDemand, vgpu_demand
from pyroclast.model.devices.vgpu_ids import Given, read_ids, split_id, write_ids
from pyroclast.model.devices.vgpu_register import Card, read_register
from pyroclast.model.ids import TaskId

NAMED = VgpuSettings(
    resource_count_name="n",
    resource_memory_name="m",
    resource_core_name="c",
    resource_memory_percentage_name="p",
)
CUT = Group(name="g", kinds=(Kind(name="1g", memory=5, count=2),))
MIG = VgpuSettings(known_mig_geometries=(Geometries(models=("H100", "A100"), groups=(CUT,)),))


@pytest.mark.parametrize(
    ("register", "mode", "cards"),
    [
        ("GPU-1,10,81920,NVIDIA,true,hami-core:", "hami-core", [Card(0, "GPU-1", 10, 81920, "NVIDIA", True)]),
        ("GPU-1,x,y,NVIDIA,maybe,:", "hami-core", [Card(0, "GPU-1", 0, 0, "NVIDIA", False)]),
        ("GPU-1,-1,-2,NVIDIA,1,other:", "hami-core", [Card(0, "GPU-1", 0, 0, "NVIDIA", True)]),
        (
            "one:GPU-1,1,2,A,T,hami-core:two:GPU-2,3,4,B,f,mig:",
            "hami-core",
            [Card(1, "GPU-1", 1, 2, "A", True), Card(3, "GPU-2", 3, 4, "B", False)],
        ),
        (
            "GPU-1,1,2,B,true,hami-core:GPU-2,3,4,an A100 card,true,mig,more:",
            "mig",
            [Card(0, "GPU-1", 1, 2, "B", True), Card(1, "GPU-2", 3, 4, "an A100 card", True, (CUT,))],
        ),
        (
            "GPU-2,3,4,A100,true,mig:GPU-1,1,2,B,true,hami-core:",
            "hami-core",
            [Card(0, "GPU-2", 3, 4, "A100", True, (CUT,)), Card(1, "GPU-1", 1, 2, "B", True)],
        ),
    ],
)
def test_registers(register: str, mode: str, cards: list[Card]) -> None:
    """What is no number is nothing; pieces that are no records take an index; the last record says how all share."""
    read = read_register(register, MIG)

    assert read is not None
    assert (read.mode, list(read.cards)) == (mode, cards)


@pytest.mark.parametrize("register", ["", "GPU-1,1,2,A,true,hami-core", ":", "a:b:c"])
def test_registers_without_cards(register: str) -> None:
    """One record without an end is none."""
    assert read_register(register, MIG) is None


@pytest.mark.parametrize("register", ["GPU-1,1,2,A,true:", "GPU-1,1,2,A,true,mig:x,y:", "a,1,1,A,true,x:" * 1025])
def test_registers_that_cannot_be_read(register: str) -> None:
    """A record that lacks fields, and more cards than a node can have."""
    with pytest.raises(ValueError, match=r"fields, expected 6|more than 1024"):
        read_register(register, MIG)


def test_registers_that_differ_in_uuids_have_one_shape() -> None:
    """And those that differ in anything else have not."""
    one, other, third = (
        read_register(f"{uuid},1,{memory},A,true,x:", MIG) for uuid, memory in (("a", 1), ("b", 1), ("a", 2))
    )
    assert one is not None
    assert other is not None
    assert third is not None

    assert one.shape == other.shape != third.shape


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ([Given("GPU-a", 3000, 50, 0), Given("GPU-b", 3000, 50, 0)], "GPU-a,NVIDIA,3000,50:GPU-b,NVIDIA,3000,50:"),
        ([Given("GPU-a", 3000, 50, 0), Given("GPU-b", 3000, 50, 1)], "GPU-a,NVIDIA,3000,50:;GPU-b,NVIDIA,3000,50:"),
        ([Given("GPU-a[group2-3]", 8000, 0, 0)], "GPU-a[group2-3],NVIDIA,8000,0:"),
        ([], ""),
    ],
)
def test_cards_of_a_pod_are_written_and_read(given: list[Given], text: str) -> None:
    """The same both ways."""
    assert write_ids(given) == text
    assert list(read_ids(text)) == given


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("GPU-0,NVIDIA,-5,30:GPU-1,NVIDIA,2048,10:", [Given("GPU-1", 2048, 10, 0)]),
        ("GPU-1234,NVIDIA,16384,0", [Given("GPU-1234", 16384, 0, 0)]),
        (
            "GPU-1,NVIDIA,1:GPU-2,NVIDIA,x,0:GPU-3,NVIDIA,1,y:GPU-4,NVIDIA,4294967296,0:;;a,b,1,2,3",
            [Given("a", 1, 2, 2)],
        ),
        ("junk", []),
    ],
)
def test_cards_that_cannot_be_read_are_left_out(text: str, given: list[Given]) -> None:
    """The others stay."""
    assert list(read_ids(text)) == given


@pytest.mark.parametrize(
    ("uuid", "told"),
    [
        ("GPU-a", ("GPU-a", None)),
        ("GPU-a[group2-3]", ("GPU-a", ("group2", 3))),
        ("GPU-a[group2]", ("GPU-a", None)),
        ("GPU-a[a-b-3]", ("GPU-a", None)),
        ("GPU-a[group2-x]", ("GPU-a", None)),
    ],
)
def test_instances_stand_behind_the_uuid(uuid: str, told: tuple[str, tuple[str, int] | None]) -> None:
    """What cannot be read is none."""
    assert split_id(uuid) == told


@pytest.mark.parametrize(
    ("limits", "requests", "demand"),
    [
        ({"n": 1, "m": 3000}, {}, ContainerDemand(1, 3000, UNSET, 0)),
        ({"n": 3, "c": 100}, {}, ContainerDemand(3, 0, 100, 100)),
        ({"m": 2000}, {}, ContainerDemand(1, 2000, UNSET, 0)),
        ({"n": 2}, {}, ContainerDemand(2, 0, 100, 0)),
        ({"c": 50}, {}, None),
        ({"p": 50}, {}, None),
        ({}, {"n": 1}, None),
        ({"n": 1, "p": 50}, {}, ContainerDemand(1, 0, 50, 0)),
        ({"n": 1}, {"m": "2k", "c": "10", "p": 20}, ContainerDemand(1, 2000, 20, 10)),
    ],
)
def test_what_a_container_asks_for(
    limits: dict[str, Any], requests: dict[str, Any], demand: ContainerDemand | None
) -> None:
    """Counted by its limits, and by requests if it requests cards at all."""
    resources = wire.ResourceRequirements(limits=limits, requests=requests)
    spec = wire.PodSpec(
        containers=(wire.Container(name="a"), wire.Container(name="b", resources=resources)),
        init_containers=(wire.Container(name="i", resources=wire.ResourceRequirements(limits={"n": 9})),),
    )

    assert vgpu_demand(spec, NAMED) == (() if demand is None else (demand,))


def test_sidecars_have_cards_before_containers() -> None:
    """They are started first and go on running; an init container that ends has none."""

    def container(name: str, cards: int, restart_policy: str = "") -> wire.Container:
        resources = wire.ResourceRequirements(limits={"n": cards})
        return wire.Container(name=name, resources=resources, restart_policy=restart_policy)

    spec = wire.PodSpec(
        containers=(container("main", 1),), init_containers=(container("fetch", 3), container("side", 2, "Always"))
    )

    assert [each.cards for each in vgpu_demand(spec, NAMED)] == [2, 1]


def test_percentages_mean_nothing_unless_they_have_a_name() -> None:
    """As by default."""
    limits = {"volcano.sh/vgpu-number": 1, "volcano.sh/vgpu-memory-percentage": 50}
    spec = wire.PodSpec(containers=(wire.Container(name="a", resources=wire.ResourceRequirements(limits=limits)),))

    assert vgpu_demand(spec, DEFAULT.nvidia) == (ContainerDemand(1, 0, 100, 0),)


def test_a_document_is_read() -> None:
    """What concerns device plugins alone is passed over."""
    raw = {
        "nvidia": {
            "resourceCountName": "volcano.sh/vgpu-number",
            "deviceSplitCount": 10,
            "gpuMemoryFactor": 2,
            "knownMigGeometries": [
                {
                    "models": ["A30"],
                    "allowedGeometries": [
                        {"group": "group1", "geometries": [{"name": "1g.6gb", "memory": 6144, "count": 4}]}
                    ],
                }
            ],
        },
        "vnpus": [],
    }
    settings = read_settings(raw).nvidia

    assert settings.groups_of("NVIDIA-A30") == (
        Group(name="group1", kinds=(Kind(name="1g.6gb", memory=6144, count=4),)),
    )
    assert settings.groups_of("NVIDIA-A100") == ()
    assert (settings.resource_memory_name, settings.megabytes, read_settings({}).nvidia.megabytes) == ("", 2, 1)


USES = st.builds(
    Use,
    card=st.integers(0, 2),
    memory=st.integers(0, 9),
    cores=st.integers(0, 9),
    instance=st.none() | st.tuples(st.sampled_from("gh"), st.integers(0, 3)),
    amounts=st.just(()) | st.tuples(st.integers(0, 9), st.integers(0, 9)),
)


@given(st.lists(st.lists(USES, min_size=1, max_size=3), max_size=5), st.randoms(use_true_random=False))
def test_a_removed_pod_restores_the_previous_state(holders: list[list[Use]], chance: Any) -> None:
    """In whatever order holders come and go."""
    shelf, names = Shelf(3), [TaskId(str(number)) for number in range(len(holders))]
    for name, uses in zip(names, holders, strict=True):
        shelf.put(name, Holder(tuple(uses)))
    chance.shuffle(names)
    half = names[: len(names) // 2]
    kept = Shelf(3)
    for name in names[len(names) // 2 :]:
        kept.put(name, shelf.holders[name])
    for name in half:
        assert shelf.take(name) is not None

    assert (shelf.state(), shelf.holders) == (kept.state(), kept.holders)
    assert shelf.take(TaskId("nobody")) is None
