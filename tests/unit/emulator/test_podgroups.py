"""PodGroups and Workloads of `scheduling.k8s.io` on the emulator: defaults, validation, admission."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from pyroclast.emulator.run import Emulator
from tests.native import native_group
from tests.unit.emulator.wire import Client

GROUPS = "/apis/scheduling.k8s.io/v1alpha2/namespaces/default/podgroups"
WORKLOADS = "/apis/scheduling.k8s.io/v1alpha2/namespaces/default/workloads"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"


@pytest.fixture
async def emulator() -> AsyncIterator[Emulator]:
    """A running server that serves native groups."""
    async with Emulator(bookmark_seconds=0.05, native_groups="v1alpha2") as running:
        yield running


async def sent(client: Client, method: str, path: str, body: object = None) -> tuple[int, Any]:
    """Send a request; return the code and the body of the answer."""
    answer = await client.send(method, path, body)
    return answer.code, answer.body


async def ok(client: Client, method: str, path: str, body: object = None) -> Any:
    """Send a request that succeeds; return the body of the answer."""
    code, answer = await sent(client, method, path, body)
    assert code < 300, answer
    return answer


async def table_of(client: Client, path: str) -> Any:
    """Return objects as the table that kubectl shows."""
    headers = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    async with client.session.get(client.url + path, headers=headers) as response:
        return await response.json()


def group(*given: Any, **spec: Any) -> dict[str, Any]:
    """Return a group of the version that is served."""
    return native_group("a", *given, version="v1alpha2", **spec)


def workload(name: str = "w", *templates: str) -> dict[str, Any]:
    """Return a Workload with templates of gangs."""
    policy = {"schedulingPolicy": {"gang": {"minCount": 2}}}
    return {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "Workload",
        "metadata": {"name": name},
        "spec": {"podGroupTemplates": [{"name": each, **policy} for each in templates]},
    }


async def test_a_group_gets_its_defaults(client: Client) -> None:
    """The disruption mode, and the priority of its class."""
    await ok(client, "POST", CLASSES, {"metadata": {"name": "high"}, "value": 7})

    assert (await ok(client, "POST", GROUPS, group(2, priorityClassName="high")))["spec"] == {
        "schedulingPolicy": {"gang": {"minCount": 2}},
        "disruptionMode": "Pod",
        "priorityClassName": "high",
        "priority": 7,
    }


async def test_a_basic_policy_stays(client: Client) -> None:
    """It is an empty object."""
    made = await ok(client, "POST", GROUPS, group())
    assert made["spec"]["schedulingPolicy"] == {"basic": {}}


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"schedulingPolicy": {}}, "spec.schedulingPolicy"),
        ({"schedulingPolicy": {"gang": {"minCount": 0}}}, "spec.schedulingPolicy.gang.minCount"),
        ({"disruptionMode": "Some"}, "spec.disruptionMode"),
        ({"schedulingConstraints": {"topology": [{"key": "a b"}]}}, "spec.schedulingConstraints.topology[0].key"),
        ({"schedulingConstraints": {"topology": [{"key": "a"}, {"key": "b"}]}}, "spec.schedulingConstraints.topology"),
    ],
)
async def test_faulty_groups_are_refused(client: Client, spec: Mapping[str, Any], field: str) -> None:
    """With the path of the field."""
    status, answer = await sent(client, "POST", GROUPS, group(2, **spec))

    assert status == 422
    assert [each["field"] for each in answer["details"]["causes"]] == [field]


async def test_a_specification_stays(client: Client) -> None:
    """In v1alpha2 the minimum, too."""
    made = await ok(client, "POST", GROUPS, group(2))
    made["spec"]["schedulingPolicy"] = {"gang": {"minCount": 1}}

    assert (await sent(client, "PUT", f"{GROUPS}/a", made))[0] == 422


async def test_a_group_needs_the_template_that_it_names(client: Client) -> None:
    """The Workload, and the template in it."""
    reference = {"workload": {"workloadName": "w", "podGroupTemplateName": "workers"}}
    named = group(2, podGroupTemplateRef=reference)

    status, answer = await sent(client, "POST", GROUPS, named)
    assert (status, 'Workload "w" not found' in answer["message"]) == (403, True)

    await ok(client, "POST", WORKLOADS, workload("w", "drivers"))
    status, answer = await sent(client, "POST", GROUPS, named)
    assert (status, 'PodGroupTemplate "workers" not found in Workload "w"' in answer["message"]) == (403, True)

    await ok(client, "DELETE", f"{WORKLOADS}/w")
    await ok(client, "POST", WORKLOADS, workload("w", "workers"))
    await ok(client, "POST", GROUPS, named)


async def test_a_priority_of_the_clients_own_is_refused(client: Client) -> None:
    """Admission computes it from the class."""
    assert (await sent(client, "POST", GROUPS, group(2, priority=5)))[0] == 403
    assert (await sent(client, "POST", GROUPS, group(2, priorityClassName="none")))[0] == 403


async def test_a_workload_has_templates_with_names(client: Client) -> None:
    """One to eight, which stay."""
    assert (await sent(client, "POST", WORKLOADS, workload("w")))[0] == 422
    assert (await sent(client, "POST", WORKLOADS, workload("w", "")))[0] == 422
    assert (await sent(client, "POST", WORKLOADS, workload("w", *"abcdefghi")))[0] == 422
    made = await ok(client, "POST", WORKLOADS, workload("w", "workers"))
    made["spec"]["podGroupTemplates"][0]["name"] = "drivers"
    assert (await sent(client, "PUT", f"{WORKLOADS}/w", made))[0] == 422


async def test_a_pod_names_a_group_by_a_valid_name(client: Client) -> None:
    """The group need not exist."""

    def pod(**named: Any) -> dict[str, Any]:
        spec = {"containers": [{"name": "c", "image": "i"}], "schedulingGroup": named}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "p-"}, "spec": spec}

    pods = "/api/v1/namespaces/default/pods"
    assert (await sent(client, "POST", pods, pod(podGroupName="No/Name")))[0] == 422
    assert (await sent(client, "POST", pods, pod()))[0] == 422
    assert (await ok(client, "POST", pods, pod(podGroupName="a")))["spec"]["schedulingGroup"] == {"podGroupName": "a"}


async def test_kubectl_shows_policy_workload_and_state(client: Client) -> None:
    """As the API server does."""
    await ok(client, "POST", GROUPS, group(2))
    table = await table_of(client, GROUPS)

    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Policy", "Workload", "Status", "Age"]
    assert table["rows"][0]["cells"][:4] == ["a", "Gang", "<none>", "Pending"]


async def test_without_the_feature_there_is_no_kind() -> None:
    """The server answers 404."""
    assert Emulator().cluster.registry.find("scheduling.k8s.io", "v1alpha2", "podgroups") is None
