"""Binds of pods with devices of a vendor: the lock, the label and the annotations are written and undone together."""

import msgspec
import pytest

from pyroclast.kube.writes.binder import ApiBinder
from pyroclast.model.ids import TaskId
from pyroclast.model.plan import Plan
from tests.devices import gpu
from tests.unit.kube.test_node_lock import WallClock
from tests.unit.kube.test_pod_patch import metadata_of
from tests.unit.kube.world import World
from tests.unit.plugins.koordinator import with_devices
from tests.unit.plugins.test_koordinator_vendors import requesting, run

LOCK = "hami.io/mutex.lock"
ISOLATION = {"koordinator.sh/gpu-isolation-provider": "HAMi-core"}


def plan_for(uid: str) -> Plan:
    """The plan of a cycle that places a pod with a GPU of MetaX, which HAMi finds by a label."""
    own = {"labels": {"node.koordinator.sh/gpu-vendor": "metax"}}
    there = with_devices(gpu(0), name="n1", labels=ISOLATION, own=own)
    (plan,) = run(requesting(there, labels=ISOLATION, core=50, ratio=50)).report.plans
    (bind,) = plan.binds
    return msgspec.structs.replace(plan, binds=(msgspec.structs.replace(bind, task=TaskId(uid)),))


async def lock_of(world: World) -> str | None:
    """Read the lock of the node."""
    node = await world.client.request_json("GET", "/api/v1/nodes/n1")
    text: str | None = node["metadata"].get("annotations", {}).get(LOCK)
    return text


@pytest.mark.parametrize("is_refused", [False, True])
async def test_all_is_written_and_undone_together(world: World, *, is_refused: bool) -> None:
    """A refused bind leaves neither the lock nor the label nor an annotation."""
    await world.post("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}})
    uid = await world.pod("p-0")
    before = await metadata_of(world, "p-0")
    if is_refused:
        world.faults.add(effect="error", subresource="binding", code=403)
    outcome = await ApiBinder(world.client, clock=WallClock(), patience_seconds=0.5).bind(plan_for(uid))
    labels, annotations, node = await metadata_of(world, "p-0")

    if is_refused:
        assert not outcome.is_complete
        assert (labels, annotations, node) == before
        assert await lock_of(world) is None
    else:
        assert outcome.is_complete
        assert labels["hami.io/vgpu-node"] == "n1"
        assert {"metax-tech.com/gpu-devices-allocated", "scheduling.koordinator.sh/device-allocated"} <= {*annotations}
        assert await lock_of(world) == "2027-01-15T08:00:00Z,default,p-0"
