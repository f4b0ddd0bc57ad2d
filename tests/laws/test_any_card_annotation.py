"""Whatever annotations and amounts say of cards, no plugin fails, and sound work beside it runs."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pyroclast.model.devices.names import (
    AVOID_TYPES,
    AVOID_UUIDS,
    GPU_INDEX,
    GPU_LOCK,
    GPU_MEMORY,
    GPU_NUMBER,
    GPU_UNHEALTHY,
    USE_TYPES,
    USE_UUIDS,
    VGPU_GROUP_POLICY,
    VGPU_IDS,
    VGPU_LOCK,
    VGPU_MODE,
    VGPU_REGISTER,
)
from pyroclast.testing import Scenario
from tests.unit.plugins.cards import CORES, COUNT, SIZE, config_map, container, one, run, wanting, with_cards

PIECES = (
    "GPU-0",
    "NVIDIA",
    "mig",
    "hami-core",
    "true",
    ",",
    ":",
    ";",
    "[",
    "]",
    "-",
    "7",
    "-1",
    "group1",
    "9" * 30,
    " ",
    "é",
)
STRANGE = st.lists(st.sampled_from(PIECES), max_size=12).map("".join) | st.text(max_size=20)
OF_NODES = st.dictionaries(st.sampled_from([VGPU_REGISTER, GPU_UNHEALTHY, GPU_LOCK, VGPU_LOCK]), STRANGE)
OF_PODS = st.dictionaries(
    st.sampled_from(
        [VGPU_IDS, GPU_INDEX, VGPU_MODE, USE_TYPES, AVOID_TYPES, USE_UUIDS, AVOID_UUIDS, VGPU_GROUP_POLICY]
    ),
    STRANGE,
)
AMOUNTS = st.dictionaries(
    st.sampled_from([COUNT, SIZE, CORES, GPU_MEMORY, GPU_NUMBER]),
    st.sampled_from(["0", "1", "7", "1e30", "500m", "much"]),
)
FAMILIES = st.sampled_from(
    [
        {"VGPUEnable": True},
        {"GPUSharingEnable": True},
        {"GPUNumberEnable": True},
        {"VGPUEnable": True, "NodeLockEnable": True},
    ]
)
DOCUMENTS = STRANGE | st.sampled_from(
    ["nvidia: null", "nvidia: {knownMigGeometries: [{models: [NVIDIA], allowedGeometries: [{group: g}]}]}"]
)


@given(
    node=OF_NODES,
    offered=AMOUNTS,
    holder=OF_PODS,
    asking=OF_PODS,
    limits=AMOUNTS,
    family=FAMILIES,
    document=DOCUMENTS,
    policy=st.sampled_from(["", "binpack", "spread"]),
)
def test_invalid_objects_do_not_block_others(**drawn: Any) -> None:
    """A pod that asks for a card of a sound node is bound to it, and one that asks for none goes anywhere."""
    family, limits = drawn["family"], drawn["limits"]
    strange = {"name": "c", "image": "app:1", "resources": {"limits": limits, "requests": {"cpu": "1"}}}
    cluster = Scenario().add(config_map(drawn["document"])) if drawn["document"] else Scenario()
    cluster = cluster.node("strange", cpu=8, resources=drawn["offered"], annotations=drawn["node"])
    cluster = with_cards(cluster, "sound", 1000, 1000).running(
        "h", on=["strange"], pod=wanting(strange), annotations=drawn["holder"]
    )
    cluster = cluster.job("s", pod=wanting(strange), annotations=drawn["asking"]).job("plain")
    outcome = run(
        cluster.job("p", pod=one(number=1, memory=10)), **family, SchedulePolicy=drawn["policy"], ScheduleWeight=1
    )

    assert outcome.failed_plugins == []
    assert outcome.bindings["plain-0"] in {"strange", "sound"}
    # the strange node may take it, too; locked nodes take one a cycle
    assert "p-0" in outcome.bindings or "NodeLockEnable" in family


def test_the_strange_is_strange_enough() -> None:
    """A sound pod alone has its card, so that what is asserted above can fail."""
    assert run(with_cards(Scenario(), "sound", 1000).job("p", pod=wanting(container(number=1, memory=10)))).bindings
