"""Bodies with values of the wrong type: refused as the real server does it, never a fault of the emulator's own."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from pyroclast.emulator.api.server import ApiServer
from pyroclast.emulator.clock import Clock
from pyroclast.emulator.faults import Faults
from pyroclast.emulator.kinds.disruption import status_of
from pyroclast.emulator.requests.wrongtypes import wrong_type_in
from pyroclast.emulator.run import new_cluster
from pyroclast.emulator.storage.store import HISTORY

Object = dict[str, Any]

PODS = "/api/v1/namespaces/default/pods"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
QUANTITY_RULE = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
POD: Object = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "z",
        "labels": {"a": "b"},
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "o", "uid": "u"}],
        "finalizers": ["example.com/hold"],
    },
    "spec": {
        "containers": [
            {
                "name": "c",
                "image": "x",
                "ports": [{"containerPort": 1}],
                "resources": {"requests": {"cpu": 0.5, "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}},
                "livenessProbe": {"httpGet": {"port": "http"}, "periodSeconds": 5},
            }
        ],
        "initContainers": [{"name": "i", "image": "x", "restartPolicy": "Always"}],
        "tolerations": [{"key": "a"}],
        "schedulingGates": [{"name": "example.com/gate"}],
        "nodeSelector": {"a": "b"},
        "affinity": {
            "podAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {"topologyKey": "a", "labelSelector": {"matchLabels": {"a": "b"}}}
                ]
            }
        },
        "terminationGracePeriodSeconds": 1,
        "overhead": {"cpu": "250m"},
    },
}
OTHERS: dict[str, Object] = {
    "/api/v1/nodes": {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "z"},
        "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]},
        "status": {"allocatable": {"cpu": "1"}, "conditions": [{"type": "Ready", "status": "True"}]},
    },
    BUDGETS: {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "z"},
        "spec": {
            "minAvailable": 1,
            "selector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["x"]}]},
        },
    },
    "/apis/scheduling.k8s.io/v1/priorityclasses": {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "z"},
        "value": 1,
    },
    "/apis/batch/v1/namespaces/default/jobs": {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "z"},
        "spec": {
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}}
        },
    },
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "zs.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "zs", "kind": "Z", "shortNames": ["q"]},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.n"}},
                    "additionalPrinterColumns": [{"name": "N", "type": "integer", "jsonPath": ".spec.n"}],
                    "selectableFields": [{"jsonPath": ".spec.n"}],
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {
                                    "type": "object",
                                    "required": ["n"],
                                    "properties": {"n": {"type": "integer", "minimum": 1, "default": 2}},
                                }
                            },
                        }
                    },
                }
            ],
        },
    },
}
KINDS = {PODS: POD, **OTHERS}
ODD: tuple[Any, ...] = (
    None,
    [],
    {},
    "x",
    5,
    True,
    [None],
    [5],
    ["x"],
    {"a": 1},
    {"a": None},
    [[]],
    [{}],
    -1,
    1.5,
    2**70,
)


def fault_of(metadata: Object | None = None, **spec: Any) -> str:
    """What is said of a pod with this in its specification."""
    return wrong_type_in("v1", "Pod", {"metadata": metadata or {}, "spec": spec})


def test_a_sound_object_has_no_faults() -> None:
    """And stays as it is."""
    pod = copy.deepcopy(POD)

    assert wrong_type_in("v1", "Pod", pod) == ""
    assert pod == POD


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        ({"containers": "x"}, "string into Go struct field PodSpec.spec.containers of type []v1.Container"),
        ({"priority": "x"}, "string into Go struct field PodSpec.spec.priority of type int32"),
        ({"priority": 1.5}, "number 1.5 into Go struct field PodSpec.spec.priority of type int32"),
        ({"priority": 2**31}, "number 2147483648 into Go struct field PodSpec.spec.priority of type int32"),
        ({"hostNetwork": "yes"}, "string into Go struct field PodSpec.spec.hostNetwork of type bool"),
        ({"affinity": []}, "array into Go struct field PodSpec.spec.affinity of type v1.Affinity"),
        ({"nodeSelector": {"a": True}}, "bool into Go struct field PodSpec.spec.nodeSelector of type string"),
        ({"overhead": []}, "array into Go struct field PodSpec.spec.overhead of type v1.ResourceList"),
        (
            {"containers": [{"ports": [{"containerPort": "a"}]}]},
            "string into Go struct field ContainerPort.spec.containers.ports.containerPort of type int32",
        ),
    ],
)
def test_the_words_are_those_of_the_decoder(spec: Object, fault: str) -> None:
    """The error has type, innermost struct, path and expected type."""
    assert fault_of(**spec) == f"json: cannot unmarshal {fault}"


def test_the_first_fault_in_the_body_is_named() -> None:
    """Not the first of the kind's fields."""
    assert "spec.priority" in fault_of(priority="x", containers="x")
    assert "spec.containers" in fault_of(containers="x", priority="x")


@pytest.mark.parametrize("word", ["abc", "1Q", "", "1_0", "1/2", "1 core", True, ["x"], {}])
def test_an_invalid_quantity_gets_the_rule(word: Any) -> None:
    """Whatever stands there."""
    assert fault_of(overhead={"cpu": word}) == QUANTITY_RULE


def test_a_broken_time_is_named() -> None:
    """Times must be RFC 3339."""
    assert fault_of({"creationTimestamp": "x"}).startswith('parsing time "x" as "2006-01-02T15:04:05Z07:00"')
    assert fault_of({"creationTimestamp": 5}).endswith("ObjectMeta.metadata.creationTimestamp of type string")


def test_of_custom_kinds_the_metadata_is_read() -> None:
    """As the real server does, without the way to it."""
    number = "json: cannot unmarshal number into Go struct field ObjectMeta"

    assert wrong_type_in("x/v1", "Z", {"metadata": {"name": 5}, "spec": 1}) == f"{number}.name of type string"
    assert wrong_type_in("x/v1", "Z", {"metadata": "x"}).endswith("into Go value of type v1.ObjectMeta")
    assert wrong_type_in("x/v1", "Z", {"metadata": {"labels": {"a": "b"}}, "spec": 1}) == ""


def test_a_null_is_no_value() -> None:
    """It is dropped; in lists and maps it is the empty value."""
    pod: Object = {"spec": {"priority": None, "containers": [None], "nodeSelector": {"a": None}}}

    assert wrong_type_in("v1", "Pod", pod) == ""
    assert pod == {"spec": {"containers": [{}], "nodeSelector": {"a": ""}}}


# --- through the server ----------------------------------------------------------------------------------------------


def paths(tree: Any, start: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a tree."""
    yield start
    for key, inner in tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ():
        yield from paths(inner, (*start, key))


def with_value(tree: Object, path: tuple[Any, ...], value: Any) -> Any:
    """A copy with another value in one place."""
    if not path:
        return value
    changed = copy.deepcopy(tree)
    inner: Any = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = copy.deepcopy(value)
    return changed


class Server:
    """A server without a socket."""

    def __init__(self) -> None:
        self.cluster = new_cluster(Faults(0), Clock(), HISTORY)
        self._api = ApiServer(self.cluster)

    def send(self, method: str, target: str, body: Any, form: str = "application/json") -> tuple[int, Object]:
        """One request."""
        reply = self._api.answer_now(method, target, {"content-type": form}, json.dumps(body).encode())
        assert reply is not None
        return reply.code, json.loads(reply.body)


@given(
    where=st.sampled_from([(kind, path) for kind, tree in KINDS.items() for path in paths(tree)]),
    odd=st.sampled_from(ODD),
)
@seed(1)
@settings(max_examples=300, deadline=None)
def test_no_body_breaks_the_server(where: tuple[str, tuple[Any, ...]], odd: Any) -> None:
    """Created, patched in every form, replaced: an answer always, and never that of a surprise."""
    (target, path), server = where, Server()
    sound = KINDS[target]
    body = with_value(sound, path, odd)
    one = f"{target}/{sound['metadata']['name']}"

    for present in (False, True):
        if present:
            server.send("POST", target, sound)
        for method, address, form in (
            ("PATCH", f"{one}?dryRun=All", "merge-patch+json"),
            ("PATCH", f"{one}?dryRun=All", "strategic-merge-patch+json"),
            ("PUT", f"{one}?dryRun=All", "json"),
            ("POST", f"{target}?dryRun=All", "json"),
        ):
            code, answer = server.send(method, address, body, f"application/{form}")
            assert answer.get("reason") != "InternalError", (method, form, answer)
            assert code < 500
    code, answer = server.send("PUT", one, body)
    assert answer.get("reason") != "InternalError", answer
    assert server.send("GET", target, None)[0] == 200


def test_a_refusal_names_kind_and_version() -> None:
    """On create and replace 400; a patch's result is 422, as the real server has it."""
    server = Server()
    server.send("POST", PODS, POD)
    wrong = with_value(POD, ("spec", "priority"), "x")
    text = "json: cannot unmarshal string into Go struct field PodSpec.spec.priority of type int32"

    for method, target in (("POST", PODS), ("PUT", f"{PODS}/z")):
        code, answer = server.send(method, target, wrong)
        assert (code, answer["message"]) == (400, f'Pod in version "v1" cannot be handled as a Pod: {text}')
    code, answer = server.send("PATCH", f"{PODS}/z", {"spec": {"priority": "x"}}, "application/merge-patch+json")
    assert code == 422
    assert answer["message"].startswith(' "" is invalid: patch: Invalid value: "{')
    assert answer["message"].endswith(text)


@pytest.mark.parametrize(
    ("resources", "message"),
    [
        ({"requests": {"cpu": "-1"}}, '.requests[cpu]: Invalid value: "-1": must be greater than or equal to 0'),
        (
            {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}},
            '.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
        ),
    ],
)
def test_amounts_must_make_sense(resources: Object, message: str) -> None:
    """None below nothing, no request above its limit."""
    body = with_value(POD, ("spec", "containers", 0, "resources"), resources)

    code, answer = Server().send("POST", PODS, body)

    assert (code, answer["message"]) == (422, f'Pod "z" is invalid: spec.containers[0].resources{message}')


@pytest.mark.parametrize(
    ("subresource", "body"),
    [
        ("binding", {"metadata": {"name": "z"}, "target": "x"}),
        ("binding", {"metadata": {"name": "z"}, "target": {"name": 5}}),
        ("binding", {"metadata": {"name": "z", "labels": {"a": 5}}, "target": {"name": "n"}}),
        ("eviction", {"metadata": {"name": "z"}, "deleteOptions": 5}),
        ("eviction", {"metadata": 5}),
    ],
)
def test_bindings_and_evictions_are_read_too(subresource: str, body: Object) -> None:
    """Nothing is bound or evicted by half."""
    server = Server()
    server.send("POST", PODS, POD)

    code, answer = server.send("POST", f"{PODS}/z/{subresource}", body)

    assert (code, answer["reason"]) == (400, "BadRequest")


@pytest.mark.parametrize("options", [{"gracePeriodSeconds": "x"}, {"preconditions": 5}, {"dryRun": 5}, [1]])
def test_delete_options_are_read_too(options: Any) -> None:
    """What is deleted by nonsense stays."""
    server = Server()
    server.send("POST", PODS, POD)

    assert server.send("DELETE", f"{PODS}/z", options)[0] == 400
    assert server.send("GET", f"{PODS}/z", None)[0] == 200


@given(
    path=st.sampled_from(list(paths(OTHERS[BUDGETS]))),
    odd=st.sampled_from(ODD),
)
@seed(1)
@settings(max_examples=100, deadline=None)
def test_a_budget_that_was_taken_can_be_counted(path: tuple[Any, ...], odd: Any) -> None:
    """Its status is computed long after the answer, which could not report it."""
    server = Server()
    server.send("POST", PODS, POD)

    code, answer = server.send("POST", BUDGETS, with_value(OTHERS[BUDGETS], path, odd))

    if code == 201:
        assert status_of(server.cluster, answer)["currentHealthy"] == 0


def test_a_body_that_does_not_say_what_it_is() -> None:
    """The answer shows how it begins."""
    start = (
        "the object provided is unrecognized (must be of type Pod): couldn't get version/kind; json parse error: json"
    )

    message = Server().send("POST", PODS, {"apiVersion": 5, "kind": "Pod", "metadata": {}})[1]["message"]
    assert message == (
        f"{start}: cannot unmarshal number into Go struct field .apiVersion of type string "
        '({"apiVersion": 5, "kind": "Pod ...)'
    )
    message = Server().send("POST", PODS, [1])[1]["message"]
    assert message.startswith(f"{start}: cannot unmarshal array into Go value of type struct {{ APIVersion string")
    assert message.endswith("(5b315d)")
