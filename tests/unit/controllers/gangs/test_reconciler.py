"""The status of Koordinator's PodGroups on a server: whatever definition they have, and whosever pods there are."""

from typing import Any

import pytest

from pyroclast.controllers.gangs.reconciler import GangStatuses
from pyroclast.controllers.runtime.operator import Operator
from pyroclast.controllers.runtime.options import ControllerOptions
from pyroclast.model.gangs.names import LABEL_POD_GROUP, NAME
from tests.gangs import gang_pod_group
from tests.unit.controllers.ground import DEFINITIONS, Ground

GROUPS = "/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/default/podgroups"
PODS = "/api/v1/namespaces/default/pods"


async def define(ground: Ground, *, has_status: bool) -> None:
    """Define the kind, as Koordinator would."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1alpha1", "served": True, "storage": True, "schema": schema}
    await ground.post(
        DEFINITIONS,
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {
                "name": "podgroups.scheduling.sigs.k8s.io",
                "annotations": {"api-approved.kubernetes.io": "unapproved, for tests"},
            },
            "spec": {
                "group": "scheduling.sigs.k8s.io",
                "scope": "Namespaced",
                "names": {
                    "plural": "podgroups",
                    "singular": "podgroup",
                    "kind": "PodGroup",
                    "listKind": "PodGroupList",
                },
                "versions": [version | ({"subresources": {"status": {}}} if has_status else {})],
            },
        },
    )


def controllers(ground: Ground) -> Operator:
    """The controller alone."""
    operator = ground.operator()
    GangStatuses(operator, ControllerOptions(scheduler_names=("volcano",)))
    return operator


async def make_pod(
    ground: Ground, name: str, *, gang: str = "g", by_label: bool = True, scheduler: str = "volcano"
) -> None:
    """Create a member."""
    metadata: dict[str, Any] = {"name": name, "labels": {LABEL_POD_GROUP: gang}}
    if not by_label:
        metadata = {"name": name, "annotations": {NAME: gang}}
    container = {"name": "c", "image": "i"}
    await ground.post(PODS, {"metadata": metadata, "spec": {"schedulerName": scheduler, "containers": [container]}})


async def status(ground: Ground, name: str = "g") -> dict[str, Any]:
    """What a group says of its members."""
    found = await ground.get(f"{GROUPS}/{name}")
    told: dict[str, Any] = found.get("status", {})
    return told


async def is_(ground: Ground, phase: str, **numbers: int) -> bool:
    """Whether the group says this."""
    told = await status(ground)
    return told.get("phase") == phase and all(told.get(key) == number for key, number in numbers.items())


@pytest.mark.parametrize("has_status", [True, False])
async def test_a_group_follows_its_members(ground: Ground, has_status: bool) -> None:
    """From nothing to two pods with nodes, one of them by annotation, to none; its spec stays as it was."""
    await define(ground, has_status=has_status)
    async with ground.working(controllers(ground)):
        await ground.post(GROUPS, gang_pod_group("g", 2))
        await ground.soon(lambda: is_(ground, "Pending"))
        await make_pod(ground, "a")
        await make_pod(ground, "b", by_label=False)
        await ground.soon(lambda: is_(ground, "Scheduling", scheduled=0))
        target = {"apiVersion": "v1", "kind": "Node", "name": "n"}
        for name in ("a", "b"):
            await ground.post(f"{PODS}/{name}/binding", {"metadata": {"name": name}, "target": target})
        await ground.soon(lambda: is_(ground, "Scheduled", scheduled=2))
        for name in ("a", "b"):
            await ground.patch(f"{PODS}/{name}/status", {"status": {"phase": "Running"}})
        await ground.soon(lambda: is_(ground, "Running", running=2))
        for name in ("a", "b"):
            await ground.delete(f"{PODS}/{name}")
        await ground.soon(lambda: is_(ground, "Pending", scheduled=0, running=0))
    assert (await ground.get(f"{GROUPS}/g"))["spec"] == {"minMember": 2}


async def test_groups_of_other_schedulers_are_not_changed(ground: Ground) -> None:
    """Nothing is written of one whose pods another scheduler places."""
    await define(ground, has_status=True)
    await ground.post(GROUPS, gang_pod_group("g", 1))
    await make_pod(ground, "theirs", scheduler="koord-scheduler")
    await ground.post(GROUPS, gang_pod_group("ours", 1))
    await make_pod(ground, "mine", gang="ours")
    operator = controllers(ground)
    async with ground.working(operator):

        async def is_told() -> bool:
            return (await status(ground, "ours")).get("phase") == "Scheduling"

        await ground.soon(is_told)
        await operator.idle()
    assert await status(ground) == {}


async def test_without_the_definition_nothing_happens(ground: Ground) -> None:
    """A cluster without the kind is synced, too, and pods of gangs stop nothing."""
    operator = controllers(ground)
    async with ground.working(operator):
        await make_pod(ground, "a")
        await operator.idle()
