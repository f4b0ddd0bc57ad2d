"""Whatever annotations and amounts say of cards, no plugin fails, and sound work beside it runs."""

import json
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
from tests.unit.plugins.ascend import one as chip
from tests.unit.plugins.ascend import with_chips
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


CHIPS = "Ascend310P"
REGISTERS = STRANGE | st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "id": st.sampled_from(["id0", "id1", "a,b", "", None]),
            "count": st.sampled_from([0, 7, -1, 10**20, "7", None]),
            "devmem": st.sampled_from([0, 21527, 1.5, 2**31]),
            "devcore": st.sampled_from([0, 8, 100]),
            "health": st.sampled_from([True, False, "yes"]),
            "custominfo": st.sampled_from([None, {}, {"NetworkID": 1}, {"NetworkID": "x"}, {"NetworkID": 1e308}, []]),
        },
    ),
    max_size=3,
).map(json.dumps)


@given(
    node=st.fixed_dictionaries(
        {f"hami.io/node-register-{CHIPS}": REGISTERS},
        optional={"hami-vnpu-core": st.sampled_from(["true", "no"]), "hami.io/mutex.lock": STRANGE},
    ),
    holder=STRANGE,
    mode=st.sampled_from(["hami-core", "soft", ""]),
    limits=st.dictionaries(
        st.sampled_from([f"huawei.com/{CHIPS}{part}" for part in ("", "-memory", "-core")]),
        st.sampled_from(["0", "1", "2", "3000", "1e30", "500m", "much"]),
    ),
    settings=DOCUMENTS | st.sampled_from(["vnpus: []", "vnpus: {configs: [{}]}", "vnpus: 7", "vnpus: {configs: null}"]),
    policy=st.sampled_from(["", "binpack", "spread"]),
    locks=st.booleans(),
)
def test_invalid_ascend_objects_do_not_block_others(**drawn: Any) -> None:
    """A pod that requests a chip of a sound node is bound to it, if the settings define its kind."""
    strange = {"name": "c", "image": "app:1", "resources": {"limits": drawn["limits"], "requests": {"cpu": "1"}}}
    cluster = Scenario().add(config_map(drawn["settings"])) if drawn["settings"] else Scenario()
    cluster = cluster.node("strange", cpu=8, resources={f"huawei.com/{CHIPS}": 7}, annotations=drawn["node"])
    holder = {f"hami.io/{CHIPS}-devices-allocated": drawn["holder"], "huawei.com/vnpu-mode": drawn["mode"]}
    cluster = with_chips(cluster, CHIPS, 3, name="sound").running(
        "h", on=["strange"], pod=wanting(strange), annotations=holder
    )
    cluster = cluster.job("s", pod=wanting(strange), annotations={"huawei.com/vnpu-mode": drawn["mode"]}).job("plain")
    outcome = run(
        cluster.job("p", pod=chip(CHIPS, number=1, memory=10)),
        AscendHAMiVNPUEnable=True,
        NodeLockEnable=drawn["locks"],
        SchedulePolicy=drawn["policy"],
        ScheduleWeight=1,
    )

    assert outcome.failed_plugins == []
    assert outcome.bindings["plain-0"] in {"strange", "sound"}
    assert "p-0" in outcome.bindings or drawn["locks"]  # see above


def test_the_strange_is_strange_enough() -> None:
    """A sound pod alone has its card, so that what is asserted above can fail."""
    assert run(with_cards(Scenario(), "sound", 1000).job("p", pod=wanting(container(number=1, memory=10)))).bindings
