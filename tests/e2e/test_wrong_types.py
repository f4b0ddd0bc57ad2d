"""Values of the wrong type, and amounts that make no sense: one answer on both servers, word for word."""

from typing import Any

import pytest

from tests.e2e.cluster import Cluster
from tests.e2e.rawhttp import Client

PODS = "/api/v1/namespaces/default/pods"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
NO_PERCENT = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for "
    "validation is '[0-9]+%')"
)
REFUSE_VALUES = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
UNREADABLE = 'Pod in version "v1" cannot be handled as a Pod: '
QUANTITY_RULE = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"


@pytest.fixture
def client(cluster: Cluster) -> Client:
    """The administrator, speaking JSON."""
    return Client(cluster)


def pod(container: dict[str, Any] | None = None, metadata: Any = None, **spec: Any) -> dict[str, Any]:
    """A pod that is never kept."""
    containers = [{"name": "main", "image": "busybox", **(container or {})}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "wrong"} if metadata is None else metadata,
        "spec": {"containers": containers, **spec},
    }


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (pod(containers="x"), "string into Go struct field PodSpec.spec.containers of type []v1.Container"),
        (pod(nodeSelector={"a": True}), "bool into Go struct field PodSpec.spec.nodeSelector of type string"),
        (pod(priority="x"), "string into Go struct field PodSpec.spec.priority of type int32"),
        (pod(priority=2**31), "number 2147483648 into Go struct field PodSpec.spec.priority of type int32"),
        (
            pod(terminationGracePeriodSeconds=5.0),
            "number 5.0 into Go struct field PodSpec.spec.terminationGracePeriodSeconds of type int64",
        ),
        (pod(hostNetwork="yes"), "string into Go struct field PodSpec.spec.hostNetwork of type bool"),
        (pod(tolerations={"a": 1}), "object into Go struct field PodSpec.spec.tolerations of type []v1.Toleration"),
        (pod(metadata="x"), "string into Go struct field Pod.metadata of type v1.ObjectMeta"),
        (pod(metadata={"name": 5}), "number into Go struct field ObjectMeta.metadata.name of type string"),
        (
            pod(metadata={"labels": []}),
            "array into Go struct field ObjectMeta.metadata.labels of type map[string]string",
        ),
        (
            pod(metadata={"ownerReferences": [5]}),
            "number into Go struct field ObjectMeta.metadata.ownerReferences of type v1.OwnerReference",
        ),
        (
            pod(metadata={"creationTimestamp": 5}),
            "number into Go struct field ObjectMeta.metadata.creationTimestamp of type string",
        ),
        (
            pod({"ports": [{"containerPort": 1.5}]}),
            "number 1.5 into Go struct field ContainerPort.spec.containers.ports.containerPort of type int32",
        ),
        (pod(overhead=[]), "array into Go struct field PodSpec.spec.overhead of type v1.ResourceList"),
    ],
)
def test_a_wrong_type_is_named(client: Client, body: dict[str, Any], fault: str) -> None:
    """The error has struct, path and expected type."""
    answer = client.send("POST", f"{PODS}?dryRun=All", body)

    assert answer.refusal == (400, "BadRequest", f"{UNREADABLE}json: cannot unmarshal {fault}")


@pytest.mark.parametrize("word", ["abc", "1Q", "", "1_0", True, ["x"]])
def test_an_invalid_quantity_gets_the_rule(client: Client, word: Any) -> None:
    """Whatever stands there."""
    answer = client.send("POST", f"{PODS}?dryRun=All", pod({"resources": {"requests": {"cpu": word}}}))

    assert answer.refusal == (400, "BadRequest", UNREADABLE + QUANTITY_RULE)


@pytest.mark.parametrize(
    ("resources", "fault"),
    [
        ({"requests": {"cpu": "-1m"}}, '.requests[cpu]: Invalid value: "-1m": must be greater than or equal to 0'),
        (
            {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}},
            '.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
        ),
    ],
)
def test_amounts_must_make_sense(client: Client, resources: dict[str, Any], fault: str) -> None:
    """None below nothing, no request above its limit."""
    answer = client.send(
        "POST", f"{PODS}?dryRun=All", pod({"resources": resources}, automountServiceAccountToken=False)
    )

    assert answer.refusal == (422, "Invalid", f'Pod "wrong" is invalid: spec.containers[0].resources{fault}')


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        ({"minAvailable": -1}, "minAvailable: Invalid value: -1: must be greater than or equal to 0"),
        ({"minAvailable": "101%"}, 'minAvailable: Invalid value: "101%": must not be greater than 100%'),
        ({"maxUnavailable": "x"}, f'maxUnavailable: Invalid value: "x": {NO_PERCENT}'),
        (
            {"selector": {"matchExpressions": [{"key": "a", "operator": "is"}]}},
            'selector.matchExpressions[0].operator: Invalid value: "is": not a valid selector operator',
        ),
        (
            {"selector": {"matchExpressions": [{"key": "a", "operator": "In"}]}},
            "selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
        ),
        (
            {"selector": {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]}},
            f"selector.matchExpressions[0].values: Forbidden: {REFUSE_VALUES}",
        ),
    ],
)
def test_a_budget_must_make_sense(client: Client, spec: dict[str, Any], fault: str) -> None:
    """Else nothing could be counted by it."""
    body = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "wrong"}, "spec": spec}
    answer = client.send("POST", f"{BUDGETS}?dryRun=All", body)

    assert answer.refusal == (422, "Invalid", f'PodDisruptionBudget.policy "wrong" is invalid: spec.{fault}')


def test_the_result_of_a_patch_is_read_too(client: Client) -> None:
    """A merge patch of the default namespace, whose labels are no numbers."""
    answer = client.send(
        "PATCH",
        "/api/v1/namespaces/default",
        {"metadata": {"labels": {"a": 5}}},
        as_type="application/merge-patch+json",
    )

    code, reason, message = answer.refusal
    assert (code, reason) == (422, "Invalid")
    assert message.startswith(' "" is invalid: patch: Invalid value: "{')
    assert message.endswith(
        "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string"
    )


@pytest.mark.parametrize(
    ("target", "fault"),
    [
        ("x", "string into Go struct field Binding.target of type v1.ObjectReference"),
        ({"name": 5}, "number into Go struct field ObjectReference.target.name of type string"),
    ],
)
def test_a_binding_is_read_too(client: Client, target: Any, fault: str) -> None:
    """Before the pod is looked for."""
    body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "nobody"}, "target": target}
    answer = client.send("POST", f"{PODS}/nobody/binding", body)

    words = 'Binding in version "v1" cannot be handled as a Binding: json: cannot unmarshal '
    assert answer.refusal == (400, "BadRequest", words + fault)


def test_a_body_that_is_no_object(client: Client) -> None:
    """The answer shows how it begins."""
    code, reason, message = client.send("POST", PODS, [1]).refusal

    assert (code, reason) == (400, "BadRequest")
    assert message == (
        "the object provided is unrecognized (must be of type Pod): couldn't get version/kind; json parse error: json: "
        'cannot unmarshal array into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; '
        'Kind string "json:\\"kind,omitempty\\"" } (5b315d)'
    )
