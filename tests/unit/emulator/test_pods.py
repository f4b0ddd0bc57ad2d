"""Pods: admission, what may change, and binding."""

import pytest

from pyroclast.emulator.kinds.pods import qos_class
from tests.unit.emulator.wire import MERGE, PODS, Client, Object, pod

CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"


async def test_a_new_pod_is_pending_with_defaults(client: Client) -> None:
    """What the client says about the status does not count; defaults are filled in."""
    created = (await client.post(PODS, {**pod("a"), "status": {"phase": "Running"}})).body

    assert created["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
    assert created["spec"]["terminationGracePeriodSeconds"] == 30
    assert created["spec"]["priority"] == 0
    assert created["metadata"]["generation"] == 1


async def test_priority_comes_from_the_class(client: Client) -> None:
    """Value and preemption policy of the class go into the pod."""
    high = {"metadata": {"name": "high"}, "value": 7, "preemptionPolicy": "Never"}
    await client.post(CLASSES, high)

    spec = (await client.post(PODS, pod("a", priorityClassName="high"))).body["spec"]

    assert (spec["priority"], spec["preemptionPolicy"]) == (7, "Never")


async def test_the_default_class_counts_where_none_is_named(client: Client) -> None:
    """`globalDefault` names the class."""
    await client.post(CLASSES, {"metadata": {"name": "usual"}, "value": 3, "globalDefault": True})

    spec = (await client.post(PODS, pod("a"))).body["spec"]

    assert (spec["priorityClassName"], spec["priority"]) == ("usual", 3)


async def test_there_is_one_default_class(client: Client) -> None:
    """A second one is forbidden, made or changed into; the one there is may be written again."""
    usual = {"metadata": {"name": "usual"}, "value": 3, "globalDefault": True}
    await client.post(CLASSES, usual)
    await client.post(CLASSES, {"metadata": {"name": "other"}, "value": 5})

    made = await client.post(CLASSES, {"metadata": {"name": "second"}, "value": 4, "globalDefault": True})
    changed = await client.send("PATCH", f"{CLASSES}/other", {"globalDefault": True}, kind=MERGE)

    why = "PriorityClass usual is already marked as default. Only one default can exist"
    assert made.refusal == (403, "Forbidden", f'priorityclasses.scheduling.k8s.io "second" is forbidden: {why}')
    assert changed.refusal == (403, "Forbidden", f'priorityclasses.scheduling.k8s.io "other" is forbidden: {why}')
    assert (await client.send("PUT", f"{CLASSES}/usual", usual)).code == 200


@pytest.mark.parametrize(("value", "code"), [(2_000_000_000, 201), (5, 422)])
async def test_the_system_has_classes_of_its_own(client: Client, value: int, code: int) -> None:
    """The creator gives it its number."""
    answer = await client.post(CLASSES, {"metadata": {"name": "system-cluster-critical"}, "value": value})

    assert answer.code == code


async def test_an_unknown_class_is_forbidden(client: Client) -> None:
    """Admission's words."""
    assert (await client.post(PODS, pod("a", priorityClassName="none"))).refusal == (
        403,
        "Forbidden",
        'pods "a" is forbidden: no PriorityClass with name none was found',
    )


async def test_a_binding_brings_annotations_and_the_condition(client: Client) -> None:
    """Node, PodScheduled and the binding's annotations, in one change."""
    await client.post(PODS, pod("a"))

    assert (await client.bind("a", annotations={"device": "0"})).code == 201

    bound = (await client.get(f"{PODS}/a")).body
    assert bound["spec"]["nodeName"] == "n1"
    assert bound["metadata"]["annotations"] == {"device": "0"}
    assert [(one["type"], one["status"]) for one in bound["status"]["conditions"]] == [("PodScheduled", "True")]


async def test_a_bound_pod_is_not_bound_again(client: Client) -> None:
    """409 names the node it has."""
    await client.post(PODS, pod("a"))
    await client.bind("a")

    assert (await client.bind("a", "n2")).refusal == (
        409,
        "Conflict",
        'Operation cannot be fulfilled on pods/binding "a": pod a is already assigned to node "n1"',
    )


async def test_a_gated_pod_is_not_bound(client: Client) -> None:
    """It says so in its condition, and 409 says it again."""
    created = await client.post(PODS, pod("a", schedulingGates=[{"name": "wait"}]))

    assert created.body["status"]["conditions"][0]["reason"] == "SchedulingGated"
    assert (await client.bind("a")).code == 409


async def test_a_binding_of_another_pod_is_refused(client: Client) -> None:
    """The UID in the binding is a precondition."""
    await client.post(PODS, pod("a"))

    code, _, message = (await client.bind("a", uid="other")).refusal

    assert code == 409
    assert "Precondition failed: UID in precondition: other" in message


async def test_the_specification_of_a_pod_stands(client: Client) -> None:
    """An update may not move the pod, nor change its requests."""
    body = (await client.post(PODS, pod("a"))).body
    body["spec"]["nodeName"] = "n9"

    code, reason, message = (await client.send("PUT", f"{PODS}/a", body)).refusal

    assert (code, reason) == (422, "Invalid")
    assert "pod updates may not change fields other than" in message


async def test_the_status_subresource_changes_the_status_alone(client: Client) -> None:
    """What else is sent along is ignored."""
    body = (await client.post(PODS, pod("a"))).body
    body["status"]["phase"], body["spec"]["nodeName"] = "Running", "n9"

    changed = (await client.send("PUT", f"{PODS}/a/status", body)).body

    assert changed["status"]["phase"] == "Running"
    assert "nodeName" not in changed["spec"]
    assert changed["metadata"]["generation"] == 1


async def test_faults_of_a_pod_are_reported_together(client: Client) -> None:
    """422 with a cause for each fault."""
    body = {"metadata": {"name": "Bad_Name"}, "spec": {"containers": [{"name": "A"}]}}

    refused = await client.post(PODS, body)

    fields = [cause["field"] for cause in refused.body["details"]["causes"]]
    assert refused.code == 422
    assert fields == ["metadata.name", "spec.containers[0].name", "spec.containers[0].image"]


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"requests": {"cpu": "1000m", "memory": "1Ki"}, "limits": {"cpu": "1", "memory": "1024"}}, "Guaranteed"),
        ({"requests": {"cpu": "0"}}, "BestEffort"),
    ],
)
def test_quality_of_service(resources: Object, expected: str) -> None:
    """Amounts are compared, not texts."""
    assert qos_class({"containers": [{"resources": resources}]}) == expected
