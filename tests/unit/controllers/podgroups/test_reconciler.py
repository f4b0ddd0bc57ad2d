"""Pods get their groups on a server, whatever was done before and with other writers."""

import asyncio
from typing import Any

import pytest

from pyroclast.controllers.podgroups.reconciler import build
from pyroclast.controllers.runtime.operator import Operator
from pyroclast.controllers.runtime.options import ControllerOptions
from pyroclast.kube.api.resources import POD_GROUPS
from pyroclast.kube.api.resources import PODS as CONTROLLED_PODS
from pyroclast.model.api import names
from tests.unit.controllers.ground import Ground

GROUPS = POD_GROUPS.collection("default")
PODS = "/api/v1/namespaces/default/pods"
APPS = "/apis/apps/v1/namespaces/default"


def controllers(ground: Ground, **options: Any) -> Operator:
    """The controller alone."""
    operator = ground.operator()
    build(operator, ControllerOptions(**options))
    return operator


async def make_pod(
    ground: Ground,
    name: str,
    of: dict[str, Any] | None = None,
    *,
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    cpu: str = "1",
    scheduler: str = "volcano",
) -> dict[str, Any]:
    """Create a pod, perhaps of an owner."""
    metadata: dict[str, Any] = {"name": name, "labels": labels or {"app": "a"}, "annotations": annotations or {}}
    if of is not None:
        metadata["ownerReferences"] = [
            {
                "apiVersion": of["apiVersion"],
                "kind": of["kind"],
                "name": of["metadata"]["name"],
                "uid": of["metadata"]["uid"],
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ]
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    made: dict[str, Any] = await ground.post(
        PODS, {"metadata": metadata, "spec": {"schedulerName": scheduler, "containers": [container]}}
    )
    return made


async def make_workload(
    ground: Ground, plural: str, kind: str, *, replicas: int | None = 3, annotations: dict[str, str] | None = None
) -> dict[str, Any]:
    """Create an owner of pods."""
    group, version = ("batch", "v1") if kind == "Job" else ("apps", "v1")
    spec: dict[str, Any] = {
        "selector": {"matchLabels": {"app": "a"}},
        "template": {
            "metadata": {"labels": {"app": "a"}},
            "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]},
        },
    }
    if kind in {"ReplicaSet", "StatefulSet"}:
        spec["replicas"] = replicas
        spec["template"]["spec"]["restartPolicy"] = "Always"
    if kind == "DaemonSet":
        spec["template"]["spec"]["restartPolicy"] = "Always"
    if kind == "StatefulSet":
        spec["serviceName"] = "s"
    if kind == "Job":
        del spec["selector"]
    made: dict[str, Any] = await ground.post(
        f"/apis/{group}/{version}/namespaces/default/{plural}",
        {"metadata": {"name": "w", "annotations": annotations or {}}, "spec": spec},
    )
    return {"apiVersion": f"{group}/{version}", "kind": kind, **made}


async def group_of(ground: Ground, pod: str) -> str:
    """The group that a pod names."""
    made = await ground.get(f"{PODS}/{pod}")
    return str((made["metadata"].get("annotations") or {}).get(names.GROUP_NAME, ""))


async def until_grouped(ground: Ground, *pods: str) -> dict[str, Any]:
    """Wait until pods name a group; return that of the first."""

    async def are_grouped() -> bool:
        return all([await group_of(ground, pod) for pod in pods])

    await ground.soon(are_grouped)
    found: dict[str, Any] = await ground.get(f"{GROUPS}/{await group_of(ground, pods[0])}")
    return found


async def test_a_bare_pod_gets_a_group(ground: Ground) -> None:
    """Made before or after the controller began."""
    await make_pod(ground, "before")
    async with ground.working(controllers(ground)):
        made = await make_pod(ground, "after", annotations={names.POD_QUEUE_NAME: "q"})
        await until_grouped(ground, "before")
        group = await until_grouped(ground, "after")

    uid = made["metadata"]["uid"]
    assert group["metadata"]["name"] == f"podgroup-{uid}"
    assert group["spec"]["queue"] == "q"
    assert group["spec"]["minMember"] == 1
    assert group["status"]["phase"] == "Pending"
    assert group["metadata"]["ownerReferences"] == [
        {"apiVersion": "v1", "kind": "Pod", "name": "after", "uid": uid, "controller": True, "blockOwnerDeletion": True}
    ]


@pytest.mark.parametrize(
    ("plural", "kind"),
    [
        ("replicasets", "ReplicaSet"),
        ("statefulsets", "StatefulSet"),
        ("daemonsets", "DaemonSet"),
        ("jobs", "Job"),
    ],
)
async def test_pods_of_a_workload_share_a_group(ground: Ground, plural: str, kind: str) -> None:
    """Size that the workload requests, whatever its kind; six pods at once make one group."""
    workload = await make_workload(ground, plural, kind, annotations={names.GROUP_MIN_MEMBER: "3", "volcano.sh/x": "y"})
    async with ground.working(controllers(ground, workers={"podgroup": 5})):
        pods = [f"p{number}" for number in range(6)]
        await asyncio.gather(*(make_pod(ground, pod, workload) for pod in pods))
        group = await until_grouped(ground, *pods)

    assert await ground.names(GROUPS) == [f"podgroup-{workload['metadata']['uid']}"]
    assert group["spec"]["minMember"] == 3
    assert group["spec"]["minResources"]["cpu"] == "3"
    assert group["metadata"]["annotations"] == {"volcano.sh/x": "y"}
    assert group["metadata"]["ownerReferences"][0]["kind"] == kind


async def test_without_inheritance_workload_annotations_are_ignored(ground: Ground) -> None:
    """Vector 4: `--inherit-owner-annotations=false`."""
    workload = await make_workload(ground, "replicasets", "ReplicaSet", annotations={names.GROUP_MIN_MEMBER: "3"})
    async with ground.working(controllers(ground, inherits_owner_annotations=False)):
        await make_pod(ground, "p", workload)
        group = await until_grouped(ground, "p")

    assert group["spec"]["minMember"] == 1


async def test_the_group_of_a_workload_without_pods_goes(ground: Ground) -> None:
    """Vector 5, and it comes back with the pods."""
    workload = await make_workload(ground, "replicasets", "ReplicaSet")
    async with ground.working(controllers(ground)):
        await make_pod(ground, "p", workload)
        await until_grouped(ground, "p")
        await ground.patch(f"{APPS}/replicasets/w", {"spec": {"replicas": 0}})

        async def is_gone() -> bool:
            return await ground.names(GROUPS) == []

        await ground.soon(is_gone)
        await ground.patch(f"{APPS}/replicasets/w", {"spec": {"replicas": 1}})

        async def is_back() -> bool:
            return len(await ground.names(GROUPS)) == 1

        await ground.soon(is_back)


async def test_pods_that_have_a_group_are_left_alone(ground: Ground) -> None:
    """Vector 6; and so are those of other schedulers."""
    async with ground.working(operator := controllers(ground)):
        await make_pod(ground, "grouped", annotations={names.GROUP_NAME: "mine"})
        await make_pod(ground, "foreign", scheduler="default-scheduler")
        await make_pod(ground, "ours")
        await until_grouped(ground, "ours")
        await operator.queues["podgroup"].idle()

    assert len(await ground.names(GROUPS)) == 1
    assert await group_of(ground, "grouped") == "mine"
    assert await group_of(ground, "foreign") == ""


async def test_several_schedulers_may_be_ours(ground: Ground) -> None:
    """`--scheduler-name` may be repeated."""
    async with ground.working(controllers(ground, scheduler_names=("volcano", "batch"))):
        await make_pod(ground, "p", scheduler="batch")
        await until_grouped(ground, "p")


async def test_a_namespace_may_name_the_queue(ground: Ground) -> None:
    """As the webhook would have it, so that it is the same without."""
    annotated = {"metadata": {"annotations": {names.POD_QUEUE_NAME: "team"}}}
    await ground.patch("/api/v1/namespaces/default", annotated)
    async with ground.working(controllers(ground)):
        await make_pod(ground, "p")
        group = await until_grouped(ground, "p")

    assert group["spec"]["queue"] == "team"


async def test_a_restarted_process_continues_between_steps(ground: Ground) -> None:
    """The group was created, and the pod not annotated: a fresh process annotates it."""
    made = await make_pod(ground, "p")
    name = f"podgroup-{made['metadata']['uid']}"
    await ground.post(GROUPS, {"metadata": {"name": name}, "spec": {"minMember": 1}})
    async with ground.working(controllers(ground)):
        await until_grouped(ground, "p")

    assert await group_of(ground, "p") == name
    assert await ground.names(GROUPS) == [name]


async def test_a_newer_pod_of_a_workload_brings_its_group_up_to_date(ground: Ground) -> None:
    """Its template and the workload's annotations may have changed since the group was made."""
    workload = await make_workload(ground, "replicasets", "ReplicaSet", annotations={names.GROUP_MIN_MEMBER: "1"})
    async with ground.working(controllers(ground)):
        await make_pod(ground, "old", workload, annotations={names.PREEMPTABLE: "true"})
        group = await until_grouped(ground, "old")
        hyper_node = {"volcano.sh/job-allocated-hypernode": "s1"}
        await ground.patch(f"{GROUPS}/{group['metadata']['name']}", {"metadata": {"annotations": hyper_node}})
        await ground.patch(f"{APPS}/replicasets/w", {"metadata": {"annotations": {names.GROUP_MIN_MEMBER: "2"}}})
        await make_pod(ground, "new", workload, cpu="2", annotations={names.POD_QUEUE_NAME: "q"})
        group = await until_grouped(ground, "new")

    assert group["spec"]["minMember"] == 2
    assert group["spec"]["minResources"]["cpu"] == "4"
    assert group["spec"]["queue"] == "q"
    assert group["metadata"]["annotations"] == hyper_node
    assert group["status"]["phase"] == "Pending"


async def test_a_pod_of_an_old_revision_changes_nothing(ground: Ground) -> None:
    """In the middle of a rollout old pods may be made again."""
    workload = await make_workload(ground, "statefulsets", "StatefulSet")
    await ground.patch(f"{APPS}/statefulsets/w/status", {"status": {"replicas": 0, "updateRevision": "w-2"}})
    async with ground.working(controllers(ground)):
        await make_pod(ground, "new", workload, labels={"controller-revision-hash": "w-2"}, cpu="2")
        await until_grouped(ground, "new")
        await make_pod(ground, "old", workload, labels={"controller-revision-hash": "w-1"}, cpu="1")
        group = await until_grouped(ground, "old")

    assert group["spec"]["minResources"]["cpu"] == "2"


async def test_a_deleted_group_is_created_again(ground: Ground) -> None:
    """Its pods live, and without it they are not counted."""
    async with ground.working(controllers(ground)):
        await make_pod(ground, "p")
        group = await until_grouped(ground, "p")
        await ground.delete(f"{GROUPS}/{group['metadata']['name']}")

        async def is_back() -> bool:
            found = await ground.get(GROUPS)
            return [item["metadata"]["uid"] for item in found["items"]] not in ([], [group["metadata"]["uid"]])

        await ground.soon(is_back)


async def test_a_group_that_goes_with_its_pods_stays_away(ground: Ground) -> None:
    """Though its end may be seen before theirs."""
    operator = controllers(ground)
    await make_pod(ground, "p")
    async with ground.working(operator):
        await until_grouped(ground, "p")
        pods = operator.store(CONTROLLED_PODS)
        await ground.soon(lambda: names.GROUP_NAME in pods.values()[0].metadata.annotations)
        stale = pods.values()[0]
        await ground.delete(f"{PODS}/p")
        await ground.soon(lambda: not pods)
        pods.added(stale)  # as if the deletion were still on its way
        groups = operator.store(POD_GROUPS)
        await ground.soon(lambda: not groups)  # collected with the pod
        version = (await ground.get(GROUPS))["metadata"]["resourceVersion"]
        operator.queues["podgroup"].add(("default", "p"))
        await operator.idle()

        assert (await ground.get(GROUPS))["metadata"]["resourceVersion"] == version, "nothing was made"


async def test_pods_whose_owner_is_gone_get_no_group(ground: Ground) -> None:
    """They are about to be collected; a group would be collected with them."""
    workload = await make_workload(ground, "replicasets", "ReplicaSet")
    ghost = {**workload, "metadata": {**workload["metadata"], "uid": "another"}}
    async with ground.working(operator := controllers(ground)):
        await make_pod(ground, "p", ghost)
        await make_pod(ground, "other")
        await until_grouped(ground, "other")
        await operator.queues["podgroup"].idle()

    assert len(await ground.names(GROUPS)) == 1


@pytest.mark.parametrize("suffix", ["/status", "?limit=1", "#", " ", "/../../configmaps", "\r\nX: y"])
async def test_a_name_of_an_owner_is_a_name_and_no_path(ground: Ground, suffix: str) -> None:
    """The creator of a pod may write any owner; this one does not exist, and other pods do not wait."""
    workload = await make_workload(ground, "replicasets", "ReplicaSet")
    strange = {**workload, "metadata": {**workload["metadata"], "name": workload["metadata"]["name"] + suffix}}
    async with ground.working(operator := controllers(ground)):
        await make_pod(ground, "p", strange)
        await make_pod(ground, "other")
        await until_grouped(ground, "other")
        await operator.queues["podgroup"].idle()

    assert len(await ground.names(GROUPS)) == 1


async def test_a_server_in_trouble_only_delays(ground: Ground) -> None:
    """What fails is done again until it is done."""
    ground.emulator.faults.add(effect="error", resource="podgroups", verb="create", code=500, count=3)
    ground.emulator.faults.add(effect="error", resource="pods", verb="patch", code=409, count=3)
    async with ground.working(controllers(ground)):
        await make_pod(ground, "p")
        await until_grouped(ground, "p")


async def test_a_refused_group_is_reported_on_the_pod(ground: Ground) -> None:
    """Reported by an event on the pod, with the server's words."""
    ground.emulator.faults.add(effect="error", resource="podgroups", verb="create", code=403, count=1)
    async with ground.working(controllers(ground)):
        await make_pod(ground, "p")
        await until_grouped(ground, "p")

        async def is_told() -> bool:
            events = await ground.get("/api/v1/namespaces/default/events")
            return [(event["involvedObject"]["name"], event["reason"]) for event in events["items"]] == [
                ("p", "FailedCreatePodGroup")
            ]

        await ground.soon(is_told)


@pytest.mark.parametrize("writes", [1, 2, 3])
async def test_killed_after_any_write_the_end_is_the_same(ground: Ground, writes: int) -> None:
    """Processes that end after one, two or three writes, one after another, group everything once."""
    workload = await make_workload(ground, "replicasets", "ReplicaSet", annotations={names.GROUP_MIN_MEMBER: "2"})
    for number in range(3):
        await make_pod(ground, f"of-{number}", workload)
        await make_pod(ground, f"bare-{number}")
    while await ground.live_and_die(lambda operator: build(operator, ControllerOptions()), writes=writes):
        pass

    assert len({await group_of(ground, f"of-{number}") for number in range(3)}) == 1
    groups = {await group_of(ground, f"{kind}-{number}") for kind in ("of", "bare") for number in range(3)}
    assert sorted(groups) == sorted(await ground.names(GROUPS))
    assert len(groups) == 4


async def test_a_workload_smaller_than_its_gang_is_reported(ground: Ground) -> None:
    """A Deployment that is rolled makes its new replica set with one pod first."""
    workload = await make_workload(
        ground, "replicasets", "ReplicaSet", replicas=1, annotations={names.GROUP_MIN_MEMBER: "2"}
    )
    async with ground.working(controllers(ground)):
        await make_pod(ground, "p", workload)
        await until_grouped(ground, "p")

        async def told() -> bool:
            events = (await ground.get("/api/v1/namespaces/default/events"))["items"]
            return any("asks for 1 of the 2 pods that its gang needs" in each["message"] for each in events)

        await ground.soon(told)
