"""Status is written when it is news, once, and never more than a cycle may."""

import asyncio
from typing import Any

import pytest
from structlog.testing import capture_logs

from pyroclast.kube.api import resources
from pyroclast.kube.api.discovery import Discovery
from pyroclast.kube.writes.status import StatusWriter
from pyroclast.kube.writes.write_priority import WritePriority
from pyroclast.model.wire import Condition, ElasticQuota, Pod, PodGroup, PodGroupCondition, PodGroupStatus, Queue
from tests.unit.kube.world import World

GROUPS = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups"


@pytest.fixture
async def writer(world: World) -> StatusWriter:
    """The writer under test, at work."""
    made = StatusWriter(world.client, Discovery(world.client), clock=world.clock)
    world.start(made.run())
    return made


async def drained(writer: StatusWriter) -> None:
    """Wait for the writer."""
    await asyncio.wait_for(writer.drain(), 30)


async def seen_pod(world: World, name: str = "a") -> Pod:
    """A pod as a reflector sees it."""
    return resources.PODS.decoder.convert(await world.get_pod(name))


async def seen_group(world: World, name: str = "g") -> PodGroup:
    """A pod group as a reflector sees it."""
    return resources.POD_GROUPS.decoder.convert(await world.client.request_json("GET", f"{GROUPS}/{name}"))


def unschedulable(message: str = "no room") -> Condition:
    """The condition of a pod that waits."""
    return Condition(type="PodScheduled", status="False", reason="Unschedulable", message=message)


def inqueue(**fields: Any) -> PodGroupStatus:
    """The status of a job that waits."""
    return PodGroupStatus(
        phase="Inqueue",
        conditions=(
            PodGroupCondition(type="Unschedulable", status="True", reason="NotEnoughResources", transition_id="1"),
        ),
        **fields,
    )


async def test_a_bound_pod_gets_no_waiting_condition(world: World, writer: StatusWriter) -> None:
    """What was wished for the pod before it got its node comes too late, and the bind's condition stays."""
    await world.pod("a")
    seen = await seen_pod(world)
    await world.post(
        "/api/v1/namespaces/default/pods/a/binding",
        {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "a"}, "target": {"kind": "Node", "name": "n1"}},
    )
    writer.pod(seen, condition=unschedulable())
    await drained(writer)

    conditions = (await world.get_pod("a"))["status"]["conditions"]
    assert [(each["type"], each["status"]) for each in conditions] == [("PodScheduled", "True")]


async def test_wishes_for_a_pod_on_its_way_are_dropped(world: World) -> None:
    """Nothing is sent for them."""
    writer = StatusWriter(world.client, Discovery(world.client), clock=world.clock)
    uid = await world.pod("a")
    writer.pod(await seen_pod(world), condition=unschedulable())
    assert writer.backlog == 1

    writer.forget_pod(uid, "default")
    assert writer.backlog == 0


async def test_conditions_of_a_pod_merge_with_those_of_others(world: World, writer: StatusWriter) -> None:
    """Our condition and the nominated node are set; the kubelet's stay."""
    await world.pod("a")
    await world.patch(
        "/api/v1/namespaces/default/pods/a/status",
        {"status": {"conditions": [{"type": "Initialized", "status": "True"}]}},
    )

    assert writer.pod(await seen_pod(world), condition=unschedulable(), nominated_node="n1")
    await drained(writer)

    status = (await world.get_pod("a"))["status"]
    assert {condition["type"] for condition in status["conditions"]} == {"Initialized", "PodScheduled"}
    assert status["nominatedNodeName"] == "n1"


async def test_a_nominated_node_is_cleared_by_an_empty_name_alone(world: World, writer: StatusWriter) -> None:
    """A pod that waits for no node any more says so; one of which nothing is said keeps what it has."""
    await world.pod("a")
    writer.pod(await seen_pod(world), nominated_node="n1")
    await drained(writer)
    writer.pod(await seen_pod(world), condition=unschedulable())
    await drained(writer)
    assert (await world.get_pod("a"))["status"]["nominatedNodeName"] == "n1"

    assert writer.pod(await seen_pod(world), condition=unschedulable(), nominated_node="")
    await drained(writer)

    assert not (await world.get_pod("a"))["status"].get("nominatedNodeName")


async def test_what_is_known_is_not_written(world: World, writer: StatusWriter) -> None:
    """Neither what the object says already, nor what we wrote and have not seen yet."""
    await world.pod("a")
    before = await seen_pod(world)
    assert writer.pod(before, condition=unschedulable())
    await drained(writer)

    assert not writer.pod(before, condition=unschedulable())
    assert not writer.pod(await seen_pod(world), condition=unschedulable())
    assert writer.pod(await seen_pod(world), condition=unschedulable("other"))


async def test_the_time_of_a_condition_moves_with_its_status_alone(world: World, writer: StatusWriter) -> None:
    """A new message is no transition."""
    await world.pod("a")
    writer.pod(await seen_pod(world), condition=unschedulable())
    await drained(writer)
    first = (await seen_pod(world)).status.conditions[0].last_transition_time
    world.clock.now += 100

    writer.pod(await seen_pod(world), condition=unschedulable("other"))
    await drained(writer)

    condition = (await seen_pod(world)).status.conditions[0]
    assert (condition.message, condition.last_transition_time) == ("other", first)


@pytest.mark.parametrize("has_status", [False, True])
async def test_pod_groups_are_written_where_the_server_keeps_their_status(
    world: World, writer: StatusWriter, has_status: bool
) -> None:
    """Through the subresource when the definition has one, else to the object; annotations to the object."""
    await world.define_pod_groups(has_status=has_status)
    await world.pod_group("g", minMember=1)

    assert writer.pod_group(await seen_group(world), inqueue(running=1), annotations={"example.com/domain": "s0"})
    await drained(writer)

    group = await seen_group(world)
    assert (group.status.phase, group.status.running) == ("Inqueue", 1)
    assert group.status.conditions[0].last_transition_time
    assert group.metadata.annotations["example.com/domain"] == "s0"


async def test_transition_ids_and_times_are_no_news(world: World, writer: StatusWriter) -> None:
    """Each session writes its own: alone they change nothing."""
    await world.define_pod_groups()
    await world.pod_group("g", minMember=1)
    writer.pod_group(await seen_group(world), inqueue())
    await drained(writer)

    same = PodGroupStatus(
        phase="Inqueue",
        conditions=(
            PodGroupCondition(
                type="Unschedulable",
                status="True",
                reason="NotEnoughResources",
                transition_id="2",
                last_transition_time="2027-01-01T00:00:00Z",
            ),
        ),
    )
    assert not writer.pod_group(await seen_group(world), same)


async def test_amounts_of_a_queue_compare_by_value(world: World, writer: StatusWriter) -> None:
    """`1` is `1000m`; a resource that is held no longer is removed."""
    await world.define("queues", "Queue", group="scheduling.volcano.sh", version="v1beta1", has_status=True)
    path = "/apis/scheduling.volcano.sh/v1beta1/queues"
    await world.post(
        path, {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "q"}, "spec": {}}
    )

    async def seen() -> Queue:
        return resources.QUEUES.decoder.convert(await world.client.request_json("GET", f"{path}/q"))

    assert writer.queue(await seen(), {"cpu": "1000m", "nvidia.com/gpu": "2"})
    await drained(writer)
    assert not writer.queue(await seen(), {"cpu": "1", "nvidia.com/gpu": 2})

    assert writer.queue(await seen(), {"cpu": "1"})
    await drained(writer)

    assert (await seen()).status.allocated == {"cpu": "1000m"}


async def test_how_a_quota_stands_is_written_beside_what_others_wrote(world: World, writer: StatusWriter) -> None:
    """Amounts compare by value; what says only zeros where nothing stands is no news; what cannot be read is mended."""
    await world.define("elasticquotas", "ElasticQuota", group="scheduling.sigs.k8s.io", version="v1alpha1")
    path = "/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/default/elasticquotas"
    metadata = {"name": "q", "namespace": "default", "annotations": {"mine": "yes", "runtime": "nonsense"}}
    quota = {"apiVersion": "scheduling.sigs.k8s.io/v1alpha1", "kind": "ElasticQuota", "metadata": metadata}
    await world.post(path, {**quota, "spec": {"max": {"cpu": "4"}}})

    async def seen() -> ElasticQuota:
        return resources.ELASTIC_QUOTAS.decoder.convert(await world.client.request_json("GET", f"{path}/q"))

    assert writer.elastic_quota(await seen(), {"cpu": "1"}, {"runtime": {"cpu": "3"}, "request": {"cpu": "0"}})
    await drained(writer)
    written = await seen()
    assert written.status.used == {"cpu": "1"}
    assert written.metadata.annotations == {"mine": "yes", "runtime": '{"cpu":"3"}'}

    assert not writer.elastic_quota(written, {"cpu": "1000m"}, {"runtime": {"cpu": "3000m"}, "request": {"cpu": "0"}})
    assert writer.elastic_quota(written, {"memory": "1Gi"}, {"runtime": {"memory": "0"}, "request": {"cpu": "2"}})
    await drained(writer)
    written = await seen()
    assert written.status.used == {"memory": "1Gi"}
    assert written.metadata.annotations["runtime"] == '{"memory":"0"}'
    assert written.metadata.annotations["request"] == '{"cpu":"2"}'


async def test_a_cycle_writes_no_more_than_its_budget(world: World) -> None:
    """The rest is carried over, and of two wishes for one pod the newer counts."""
    writer = StatusWriter(world.client, Discovery(world.client), writes_per_cycle=2, clock=world.clock)
    for name in ("a", "b", "c"):
        await world.pod(name)
        writer.pod(await seen_pod(world, name), condition=unschedulable("old"))
    writer.pod(await seen_pod(world, "c"), condition=unschedulable("new"))
    world.start(writer.run())
    await world.soon(lambda: writer.backlog == 1)
    assert (await seen_pod(world, "c")).status.conditions == ()

    writer.begin_cycle()
    await drained(writer)

    assert (await seen_pod(world, "c")).status.conditions[0].message == "new"


async def test_the_newest_wish_has_the_last_word(world: World, writer: StatusWriter) -> None:
    """One that was under way before it, and comes late to the server, is not written over it."""
    await world.define_pod_groups()
    await world.pod_group("g", minMember=1)
    seen = await seen_group(world)
    world.faults.add(effect="hold", resource="podgroups", verb="patch", delay_seconds=0.2, count=1)
    writer.pod_group(seen, inqueue(running=1))
    await world.soon(lambda: world.faults.used == 1)

    writer.pod_group(seen, inqueue(running=2))
    await drained(writer)

    assert (await seen_group(world)).status.running == 2


async def test_a_wish_that_is_written_already_outdates_the_one_that_waits(world: World) -> None:
    """There and back again before the echo came: what was wished in between is not written."""
    await world.define_pod_groups()
    await world.pod_group("g", minMember=1)
    writer = StatusWriter(world.client, Discovery(world.client), writes_per_cycle=1, clock=world.clock)
    world.start(writer.run())
    seen = await seen_group(world)
    writer.pod_group(seen, inqueue(running=1))
    await drained(writer)

    writer.pod_group(seen, inqueue(running=2))
    assert not writer.pod_group(seen, inqueue(running=1))
    writer.begin_cycle()
    await drained(writer)

    assert (await seen_group(world)).status.running == 1


async def test_what_is_wished_again_while_it_is_under_way_is_written_once(world: World, writer: StatusWriter) -> None:
    """A slow answer is no reason to say it twice."""
    await world.define_pod_groups()
    await world.pod_group("g", minMember=1)
    seen = await seen_group(world)
    world.faults.add(effect="hold", resource="podgroups", verb="patch", delay_seconds=0.1)
    writer.pod_group(seen, inqueue(running=1))
    await world.soon(lambda: world.faults.used == 1)

    writer.pod_group(seen, inqueue(running=1))
    await drained(writer)

    assert world.faults.used == 1


async def test_temporary_refusals_are_carried_over(world: World, writer: StatusWriter) -> None:
    """Nothing is lost when the server is busy."""
    await world.pod("a")
    world.faults.add(effect="error", subresource="status", code=503, count=3)

    writer.pod(await seen_pod(world), condition=unschedulable())
    await world.soon(lambda: writer.backlog == 0 and world.faults.used == 3)

    assert (await seen_pod(world)).status.conditions[0].reason == "Unschedulable"


async def test_a_successor_of_the_same_name_is_not_written(world: World, writer: StatusWriter) -> None:
    """The UID is a precondition."""
    await world.pod("a")
    old = await seen_pod(world)
    await world.delete_pod("a")
    await world.pod("a")

    writer.pod(old, condition=unschedulable())
    await drained(writer)

    assert (await seen_pod(world)).status.conditions == ()


async def test_a_wish_that_came_true_by_itself_is_dropped(world: World) -> None:
    """What waits is not written when the newest wish is what the cluster says already."""
    writer = StatusWriter(world.client, Discovery(world.client), clock=world.clock)
    await world.pod("a")
    plain = await seen_pod(world)
    writer.pod(plain, condition=unschedulable())

    assert not writer.pod(plain)
    assert writer.backlog == 0


async def test_binds_pass_first(world: World) -> None:
    """A write waits while binds are under way."""
    traffic = WritePriority()
    writer = StatusWriter(world.client, Discovery(world.client), write_priority=traffic, clock=world.clock)
    await world.pod("a")
    with traffic.bind():
        world.start(writer.run())
        writer.pod(await seen_pod(world), condition=unschedulable())
        await asyncio.sleep(0.05)
        assert (await seen_pod(world)).status.conditions == ()
    await drained(writer)

    assert (await seen_pod(world)).status.conditions[0].type == "PodScheduled"


async def pods_in(world: World, namespace: str, count: int) -> list[Pod]:
    """Create pods in a namespace and return them as a reflector sees them."""
    path = f"/api/v1/namespaces/{namespace}/pods"
    await world.post("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    made = []
    for number in range(count):
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"p{number}"},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        }
        made.append(resources.PODS.decoder.convert(await world.post(path, pod)))
    return made


@pytest.mark.parametrize("delay_seconds", [0, 0.5])
async def test_failing_writes_in_one_namespace_delay_those_of_that_namespace_alone(
    world: World, delay_seconds: float
) -> None:
    """A webhook that fails, or does not answer, for the pods of one namespace leaves workers for others."""
    writer = StatusWriter(world.client, Discovery(world.client))
    world.start(writer.run())
    broken, healthy = await pods_in(world, "broken", 100), await pods_in(world, "healthy", 20)
    world.faults.add(subresource="status", namespace="broken", code=500, delay_seconds=delay_seconds)
    for pod in broken:
        writer.pod(pod, condition=unschedulable())
    await world.soon(lambda: world.faults.used >= 1)
    for pod in healthy:
        writer.pod(pod, condition=unschedulable())
    begun = asyncio.get_running_loop().time()
    await world.soon(lambda: writer.backlog == len(broken))

    assert asyncio.get_running_loop().time() - begun < 5
    statuses = [(await world.client.request_json("GET", f"/api/v1/namespaces/healthy/pods/p{n}")) for n in range(20)]
    assert all(pod["status"]["conditions"] for pod in statuses)
    world.faults.clear()
    await world.soon(lambda: writer.backlog == 0, seconds=30)


async def test_a_server_in_trouble_is_left_alone_for_a_while(world: World) -> None:
    """Refusals of the whole server pause all writes, with a growing wait."""
    writer = StatusWriter(world.client, Discovery(world.client), clock=world.clock)
    for name in "abcdefgh":
        await world.pod(name)
    world.faults.add(subresource="status", code=503, count=60)
    world.start(writer.run())
    for name in "abcdefgh":
        writer.pod(await seen_pod(world, name), condition=unschedulable())
    await world.soon(lambda: writer.backlog == 0)

    assert max(world.clock.slept) > 1


async def test_repeated_failures_of_one_object_are_logged(world: World, writer: StatusWriter) -> None:
    """The first ones pass; the 4th, 8th, 16th are logged with the object and the server's words."""
    await world.pod("a")
    world.faults.add(subresource="status", code=500, message="failed calling webhook", count=9)
    with capture_logs() as logs:
        writer.pod(await seen_pod(world), condition=unschedulable())
        await world.soon(lambda: writer.backlog == 0)

    lines = [line for line in logs if line["event"] == "status_not_written"]
    assert [(line["object"], line["failures"]) for line in lines] == [("default/a", 4), ("default/a", 8)]
    assert all("failed calling webhook" in line["error"] for line in lines)


async def test_a_write_that_breaks_ends_no_other(
    world: World, writer: StatusWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is dropped and logged; the workers go on, and the same object may be written again."""
    await world.pod("a")
    await world.pod("b")
    request, calls = world.client.request, 0

    async def broken_once(*arguments: Any, **options: Any) -> bytes:
        nonlocal calls
        if arguments[0] == "PATCH":
            calls += 1
            if calls == 1:
                raise RuntimeError("no such thing")
        return await request(*arguments, **options)

    monkeypatch.setattr(world.client, "request", broken_once)
    for name in ("a", "b"):
        writer.pod(await seen_pod(world, name), condition=unschedulable())
    await drained(writer)
    writer.begin_cycle()
    for name in ("a", "b"):
        writer.pod(await seen_pod(world, name), condition=unschedulable("again"))
    await drained(writer)

    assert [(await seen_pod(world, name)).status.conditions[0].message for name in ("a", "b")] == ["again", "again"]
