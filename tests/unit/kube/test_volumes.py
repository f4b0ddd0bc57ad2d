"""Claims are bound before their pods; what a failed plan began is withdrawn."""

import asyncio
from typing import Any, cast

import msgspec
import pytest

from pyroclast.kube.api.client import Client, MediaType
from pyroclast.kube.writes.binder import ApiBinder
from pyroclast.kube.writes.volumes import BIND_VOLUME, VolumePreparer
from pyroclast.model.errors import ConflictError
from pyroclast.model.ids import JobId, NodeName, TaskId
from pyroclast.model.plan import Bind, Plan, Preparation
from tests.unit.kube.world import BusyClient, World

CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
VOLUMES = "/api/v1/persistentvolumes"
SELECTED = "volume.kubernetes.io/selected-node"


async def make_claim(world: World, name: str = "data") -> str:
    """Create a claim that waits; return its UID."""
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": "local",
    }
    body = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}
    made = await world.client.request_json("POST", CLAIMS, body=body)
    return str(made["metadata"]["uid"])


async def make_volume(world: World, name: str = "disk", claim_ref: dict[str, str] | None = None) -> None:
    """Create a volume, taken where a reference is given."""
    spec: dict[str, Any] = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": "/data"},
        "storageClassName": "local",
    }
    if claim_ref is not None:
        spec["claimRef"] = claim_ref
    body = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec}
    await world.client.request_json("POST", VOLUMES, body=body)


async def controller(world: World) -> None:
    """Do as the cluster's volume controller does: complete what is offered, provision what is asked for."""
    while True:
        await asyncio.sleep(0.01)
        offered = {
            reference["name"]: volume["metadata"]["name"]
            for volume in (await world.client.request_json("GET", VOLUMES))["items"]
            if (reference := volume["spec"].get("claimRef")) is not None
        }
        for claim in (await world.client.request_json("GET", CLAIMS))["items"]:
            name = claim["metadata"]["name"]
            selected = claim["metadata"].get("annotations", {}).get(SELECTED)
            volume = offered.get(name) or (f"made-on-{selected}" if selected else None)
            if volume and not claim["spec"].get("volumeName"):
                await patch(world, f"{CLAIMS}/{name}", {"spec": {"volumeName": volume}})
                await patch(world, f"{CLAIMS}/{name}/status", {"status": {"phase": "Bound"}})


async def patch(world: World, path: str, body: dict[str, Any]) -> None:
    """Merge a patch."""
    content = msgspec.json.encode(body)
    await world.client.request("PATCH", path, body=content, media_type=MediaType.MERGE_PATCH)


def step(uid: str, **details: str) -> Preparation:
    """The preparation of the claim `data`."""
    return Preparation(kind=BIND_VOLUME, namespace="default", name="data", details={"claim-uid": uid, **details})


def bind_with(uid: str, *steps: Preparation) -> Bind:
    """Send the pod `p` to node n1."""
    return Bind(
        task=TaskId(uid), job=JobId("default/j"), namespace="default", name="p", node=NodeName("n1"), preparations=steps
    )


def preparer(world: World) -> VolumePreparer:
    """The preparer under test."""
    return VolumePreparer(world.client, clock=world.clock)


async def test_a_chosen_volume_is_bound_to_the_claim_before_the_pod_is_bound(world: World) -> None:
    """The volume carries the claim's reference, and the pod follows."""
    claim, pod = await make_claim(world), await world.pod("p")
    await make_volume(world)
    world.start(controller(world))
    bind = bind_with(pod, step(claim, volume="disk"))
    plan = Plan(number=0, cycle=1, configuration=1, action="allocate", job=None, queue=None, binds=(bind,))

    outcome = await asyncio.wait_for(ApiBinder(world.client).bind(plan), 30)

    assert outcome.is_complete
    volume = await world.client.request_json("GET", f"{VOLUMES}/disk")
    assert volume["spec"]["claimRef"]["uid"] == claim
    assert (await world.get_pod("p"))["spec"]["nodeName"] == "n1"


async def test_a_claim_without_volume_is_marked_with_the_node(world: World) -> None:
    """The provisioner learns where to make the volume."""
    claim = await make_claim(world)
    world.start(controller(world))

    await asyncio.wait_for(
        VolumePreparer(world.client).prepare(bind_with("u", step(claim)), step(claim, **{"selected-node": "n1"})), 20
    )

    made = await world.client.request_json("GET", f"{CLAIMS}/data")
    assert made["metadata"]["annotations"][SELECTED] == "n1"


async def test_a_provisioner_that_cannot_is_not_waited_for(world: World) -> None:
    """It takes the mark off the claim, so that another node is chosen; ten minutes are for those that go on."""
    claim = await make_claim(world)

    async def provisioner() -> None:
        while True:
            await asyncio.sleep(0.01)
            made = await world.client.request_json("GET", f"{CLAIMS}/data")
            if SELECTED in made["metadata"].get("annotations", {}):
                await patch(world, f"{CLAIMS}/data", {"metadata": {"annotations": {SELECTED: None}}})

    world.start(provisioner())
    with pytest.raises(ConflictError, match="no volume could be made for claim default/data on node n1"):
        await asyncio.wait_for(VolumePreparer(world.client).prepare(bind_with("u", step(claim)), step(claim)), 30)


async def test_many_claims_wait_their_turn() -> None:
    """Those of a large plan are asked about a few at a time, and binds find connections."""
    bound = {"metadata": {"name": "data", "uid": "c"}, "spec": {"volumeName": "v"}, "status": {"phase": "Bound"}}

    busy = BusyClient(msgspec.json.encode(bound))
    made = VolumePreparer(cast("Client", busy), concurrency=3)

    await asyncio.gather(*(made.prepare(bind_with(f"u{number}"), step("c")) for number in range(50)))

    assert (busy.most, busy.answered) == (3, 100)


async def test_a_volume_of_another_claim_is_refused(world: World) -> None:
    """The later of two schedulers loses, and names the other."""
    claim = await make_claim(world)
    await make_volume(world, claim_ref={"namespace": "default", "name": "other", "uid": "x"})

    with pytest.raises(ConflictError, match="taken by claim default/other"):
        await preparer(world).prepare(bind_with("u"), step(claim, volume="disk"))


async def test_a_claim_made_anew_is_refused(world: World) -> None:
    """The node was chosen for another claim."""
    await make_claim(world)

    with pytest.raises(ConflictError, match="deleted and made anew"):
        await preparer(world).prepare(bind_with("u"), step("another-uid", volume="disk"))


async def test_waiting_ends(world: World) -> None:
    """The claim is not bound: the plan fails after the timeout of the plugin."""
    claim = await make_claim(world)
    await make_volume(world)

    with pytest.raises(ConflictError, match="was not bound within 5 s"):
        await preparer(world).prepare(bind_with("u"), step(claim, volume="disk", **{"timeout-seconds": "5"}))


@pytest.mark.parametrize("details", [{"volume": "disk"}, {"selected-node": "n1"}])
async def test_what_a_failed_plan_began_is_withdrawn(world: World, details: dict[str, str]) -> None:
    """The volume is free again, the annotation gone."""
    claim = await make_claim(world)
    await make_volume(world)
    work, bind = step(claim, **details, **{"timeout-seconds": "1"}), bind_with("u")
    with pytest.raises(ConflictError):
        await preparer(world).prepare(bind, work)

    await preparer(world).revert(bind, work)

    volume = await world.client.request_json("GET", f"{VOLUMES}/disk")
    left = await world.client.request_json("GET", f"{CLAIMS}/data")
    assert volume["spec"].get("claimRef") is None
    assert SELECTED not in left["metadata"].get("annotations", {})


@pytest.mark.parametrize("verb", ["get", "patch"])
async def test_a_server_that_refuses_for_a_while_is_asked_again(world: World, verb: str) -> None:
    """Reading and marking a claim are tried again like binds."""
    claim = await make_claim(world)
    world.faults.add(effect="error", resource="persistentvolumeclaims", verb=verb, code=503, count=2)
    world.start(controller(world))

    await asyncio.wait_for(preparer(world).prepare(bind_with("u"), step(claim, **{"timeout-seconds": "1e6"})), 30)

    made = await world.client.request_json("GET", f"{CLAIMS}/data")
    assert made["metadata"]["annotations"][SELECTED] == "n1"


async def test_an_offer_whose_answer_was_lost_is_made_again(world: World) -> None:
    """The claim has the volume already, which is the goal."""
    claim = await make_claim(world)
    await make_volume(world)
    world.faults.add(effect="lost", resource="persistentvolumes", verb="patch", count=1)
    offered = step(claim, volume="disk", **{"timeout-seconds": "0"})

    with pytest.raises(ConflictError, match="not bound within 0 s"):
        await preparer(world).prepare(bind_with("u"), offered)

    volume = await world.client.request_json("GET", f"{VOLUMES}/disk")
    assert volume["spec"]["claimRef"]["uid"] == claim


async def test_what_was_begun_is_withdrawn_although_the_server_refuses_for_a_while(world: World) -> None:
    """The claim does not stay marked with a node that it will not use."""
    claim = await make_claim(world)
    await patch(world, f"{CLAIMS}/data", {"metadata": {"annotations": {SELECTED: "n1"}}})
    world.faults.add(effect="error", resource="persistentvolumeclaims", code=503, count=3)

    await preparer(world).revert(bind_with("u"), step(claim))

    found = await world.client.request_json("GET", f"{CLAIMS}/data")
    assert SELECTED not in found["metadata"].get("annotations", {})
