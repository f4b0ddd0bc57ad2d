"""What an API server answers to the requests a scheduler makes, the refused ones above all, word for word.

A scheduler decides by these answers whether to retry, to read again or to give up; so the emulator must give them as
the real server does.
"""

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from tests.e2e.cluster import Cluster
from tests.e2e.rawhttp import Answer, Client

PODS = "/api/v1/namespaces/default/pods"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
MERGE = "application/merge-patch+json"
CANNOT_BIND = "Operation cannot be fulfilled on pods/binding"
MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"

numbers = count(1)


@pytest.fixture(scope="module", autouse=True)
def nodes(cluster: Cluster) -> Iterator[None]:
    """The nodes that pods are bound to."""
    with Client(cluster).nodes("node-a", "node-b"):
        yield


@pytest.fixture
def client(cluster: Cluster) -> Client:
    """The administrator, speaking JSON."""
    return Client(cluster)


@pytest.fixture
def pod(client: Client) -> Iterator[str]:
    """The name of a new pod, pending; it is removed when the test is over."""
    name = f"answers-{next(numbers)}"
    created = client.send("POST", PODS, pod_manifest(name))
    assert created.code == 201, created.body
    yield name
    client.send("PATCH", f"{PODS}/{name}", {"metadata": {"finalizers": None}}, as_type=MERGE)
    client.send("DELETE", f"{PODS}/{name}?gracePeriodSeconds=0")


def pod_manifest(name: str, **spec: object) -> dict[str, object]:
    """Return a pod that no scheduler takes up."""
    containers = [{"name": "main", "image": "busybox"}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"pod": name}},
        "spec": {"schedulerName": "nobody", "containers": containers, **spec},
    }


def bind(client: Client, pod: str, node: str = "node-a", *, said_name: str = "", **metadata: object) -> Answer:
    """Bind a pod; `said_name` is the name in the Binding, when it is not the pod's."""
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": said_name or pod, **metadata},
        "target": {"kind": "Node", "name": node},
    }
    return client.send("POST", f"{PODS}/{pod}/binding", binding)


def hold(client: Client, pod: str) -> None:
    """Delete a pod that a finalizer keeps."""
    client.send("PATCH", f"{PODS}/{pod}", {"metadata": {"finalizers": ["example.com/hold"]}}, as_type=MERGE)
    assert client.send("DELETE", f"{PODS}/{pod}").code == 200


def test_a_bound_pod_has_its_node_and_condition(client: Client, pod: str) -> None:
    """Binding answers 201 with a Status; node and condition are set, and it is no new generation."""
    answer = bind(client, pod)

    assert (answer.code, answer.body["kind"], answer.body["status"]) == (201, "Status", "Success")
    bound = client.send("GET", f"{PODS}/{pod}").body
    (condition,) = bound["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("PodScheduled", "True")
    assert (bound["spec"]["nodeName"], bound["status"]["phase"]) == ("node-a", "Pending")
    assert bound["metadata"]["generation"] == 1


def test_annotations_and_labels_of_a_binding_reach_the_pod(client: Client, pod: str) -> None:
    """They are merged in: what the pod had stays."""
    bind(client, pod, annotations={"volcano.sh/hypernode": "rack-1"}, labels={"rack": "rack-1"})

    metadata = client.send("GET", f"{PODS}/{pod}").body["metadata"]
    assert metadata["annotations"] == {"volcano.sh/hypernode": "rack-1"}
    assert metadata["labels"] == {"pod": pod, "rack": "rack-1"}


def test_a_binding_needs_a_node(client: Client, pod: str) -> None:
    """Without a target's name nothing is bound."""
    assert bind(client, pod, node="").refusal == (500, "", "target.name: Required value")


@pytest.mark.parametrize("path", ["", "/status"])
def test_a_patch_of_another_object_is_invalid(client: Client, pod: str, path: str) -> None:
    """A UID in a patch that is not the object's is a change of what cannot be changed."""
    body = {"metadata": {"uid": "1"}, "status": {"phase": "Running"}}
    answer = client.send("PATCH", f"{PODS}/{pod}{path}", body, as_type="application/strategic-merge-patch+json")

    assert answer.code == 422
    assert answer.body["message"] == (f'Pod "{pod}" is invalid: metadata.uid: Invalid value: "1": field is immutable')


@pytest.mark.parametrize(
    "operation",
    [{"op": "remove", "path": "/nope"}, {"op": "test", "path": "/metadata/name", "value": "x"}],
    ids=["remove", "test"],
)
def test_a_json_patch_that_fails(client: Client, pod: str, operation: dict[str, object]) -> None:
    """One sentence, whatever the operation."""
    answer = client.send("PATCH", f"{PODS}/{pod}", [operation], as_type="application/json-patch+json")

    message = "the server rejected our request due to an error in our request"
    assert answer.refusal == (422, "Invalid", message)


@pytest.mark.parametrize("node", ["node-a", "node-b"])
def test_a_bound_pod_is_not_bound_again(client: Client, pod: str, node: str) -> None:
    """The refusal names the node the pod is on: that tells a lost answer from a lost race."""
    bind(client, pod)

    assert bind(client, pod, node).refusal == (
        409,
        "Conflict",
        f'{CANNOT_BIND} "{pod}": pod {pod} is already assigned to node "node-a"',
    )


def test_a_pod_being_deleted_is_not_bound(client: Client, pod: str) -> None:
    """A pod on its way out takes no node."""
    hold(client, pod)

    assert bind(client, pod).refusal == (
        409,
        "Conflict",
        f'{CANNOT_BIND} "{pod}": pod {pod} is being deleted, cannot be assigned to a host',
    )


def test_a_pod_of_the_same_name_is_not_bound_in_its_place(client: Client, pod: str) -> None:
    """A UID in the binding must be the pod's."""
    code, reason, message = bind(client, pod, uid="another").refusal

    assert (code, reason) == (409, "Conflict")
    uid = client.send("GET", f"{PODS}/{pod}").body["metadata"]["uid"]
    assert message.startswith(f'Operation cannot be fulfilled on pods "{pod}": StorageError: invalid object')
    assert message.endswith(f"Precondition failed: UID in precondition: another, UID in object meta: {uid}")


def test_a_binding_must_name_its_pod(client: Client, pod: str) -> None:
    """The name in the body is the name in the address."""
    assert bind(client, pod, said_name="other").refusal == (
        400,
        "BadRequest",
        "name in URL does not match name in Binding object",
    )


def test_a_pod_that_is_not_there_is_not_bound(client: Client) -> None:
    """A pod deleted meanwhile is not found."""
    assert bind(client, "no-such-pod").refusal == (404, "NotFound", 'pods "no-such-pod" not found')


def test_a_stale_write_conflicts(client: Client, pod: str) -> None:
    """A write with an old resource version changes nothing."""
    stale = {"metadata": {"resourceVersion": "1", "labels": {"late": "yes"}}}

    assert client.send("PATCH", f"{PODS}/{pod}", stale, as_type=MERGE).refusal == (
        409,
        "Conflict",
        f'Operation cannot be fulfilled on pods "{pod}": {MODIFIED}',
    )


def test_a_lease_is_compared_and_swapped(client: Client) -> None:
    """The second of two writes of the same version of a lease is refused."""
    manifest = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "answers"},
        "spec": {"holderIdentity": "first", "leaseDurationSeconds": 15},
    }
    read = client.send("POST", LEASES, manifest).body

    assert client.send("PUT", f"{LEASES}/answers", {**read, "spec": {"holderIdentity": "second"}}).code == 200
    assert client.send("PUT", f"{LEASES}/answers", {**read, "spec": {"holderIdentity": "third"}}).refusal == (
        409,
        "Conflict",
        f'Operation cannot be fulfilled on leases.coordination.k8s.io "answers": {MODIFIED}',
    )


def test_the_node_of_a_pod_is_not_set_by_an_update(client: Client, pod: str) -> None:
    """Only binding places a pod."""
    patch = client.send("PATCH", f"{PODS}/{pod}", {"spec": {"nodeName": "node-a"}}, as_type=MERGE)

    code, reason, message = patch.refusal
    assert (code, reason) == (422, "Invalid")
    assert message.startswith(f'Pod "{pod}" is invalid: spec: Forbidden: pod updates may not change fields other than')


@pytest.mark.parametrize(
    ("precondition", "found"),
    [
        ({"uid": "another"}, "the UID in the precondition (another) does not match the UID in record ({uid}). "),
        (
            {"resourceVersion": "1"},
            "the ResourceVersion in the precondition (1) does not match the ResourceVersion in record ({version}). ",
        ),
    ],
    ids=["uid", "resource version"],
)
def test_preconditions_of_a_deletion(client: Client, pod: str, precondition: dict[str, str], found: str) -> None:
    """A pod that is not the one meant stays."""
    metadata = client.send("GET", f"{PODS}/{pod}").body["metadata"]
    options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": precondition}

    code, reason, message = client.send("DELETE", f"{PODS}/{pod}", options).refusal

    assert (code, reason) == (409, "Conflict")
    expected = found.format(uid=metadata["uid"], version=metadata["resourceVersion"])
    assert message.startswith(f'Operation cannot be fulfilled on Pod "{pod}": {expected}')


def test_a_placed_pod_is_given_time_to_end(client: Client, pod: str) -> None:
    """Deletion marks a placed pod; its node removes it. The mark is a new generation."""
    bind(client, pod)

    assert client.send("DELETE", f"{PODS}/{pod}").code == 200

    metadata = client.send("GET", f"{PODS}/{pod}").body["metadata"]
    assert (metadata["deletionGracePeriodSeconds"], metadata["generation"]) == (30, 2)
    assert client.send("DELETE", f"{PODS}/{pod}?gracePeriodSeconds=0").code == 200
    assert client.send("GET", f"{PODS}/{pod}").code == 404


def test_a_pod_without_a_node_goes_at_once(client: Client, pod: str) -> None:
    """What never ran needs no stop."""
    assert client.send("DELETE", f"{PODS}/{pod}").code == 200
    assert client.send("GET", f"{PODS}/{pod}").refusal == (404, "NotFound", f'pods "{pod}" not found')


def test_no_finalizer_is_added_to_what_is_going(client: Client, pod: str) -> None:
    """Deletion, once begun, cannot be drawn out."""
    hold(client, pod)
    more = {"metadata": {"finalizers": ["example.com/hold", "example.com/more"]}}

    code, reason, message = client.send("PATCH", f"{PODS}/{pod}", more, as_type=MERGE).refusal

    assert (code, reason) == (422, "Invalid")
    assert message == (
        f'Pod "{pod}" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the object is '
        'being deleted, found new finalizers []string{"example.com/more"}'
    )


def test_a_budget_refuses_an_eviction(cluster: Cluster, client: Client, pod: str) -> None:
    """An eviction that a disruption budget forbids is answered 429, with the budget's sum."""
    cluster.start_controllers()
    bind(client, pod)
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": pod},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"pod": pod}}},
    }
    running = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    client.send("PATCH", f"{PODS}/{pod}/status", running, as_type=MERGE)
    client.send("POST", BUDGETS, budget)
    cluster.kubectl("wait", "--for=jsonpath={.status.currentHealthy}=1", f"pdb/{pod}", "--timeout=30s")
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod}}

    answer = client.send("POST", f"{PODS}/{pod}/eviction", eviction)

    client.send("DELETE", f"{BUDGETS}/{pod}")
    assert answer.refusal == (
        429,
        "TooManyRequests",
        "Cannot evict pod as it would violate the pod's disruption budget.",
    )
    (cause,) = answer.body["details"]["causes"]
    assert cause == {
        "reason": "DisruptionBudget",
        "message": f"The disruption budget {pod} needs 1 healthy pods and has 1 currently",
    }


def test_an_eviction_without_a_budget_deletes(client: Client, pod: str) -> None:
    """Eviction is deletion, asked for politely."""
    bind(client, pod)
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod}}

    answer = client.send("POST", f"{PODS}/{pod}/eviction", eviction)

    assert (answer.code, answer.body["status"]) == (201, "Success")
    assert "deletionTimestamp" in client.send("GET", f"{PODS}/{pod}").body["metadata"]


def test_an_unknown_priority_class_is_refused(client: Client) -> None:
    """A pod cannot name a priority that is not there."""
    pod = pod_manifest("answers-priority", priorityClassName="no-such-class")

    assert client.send("POST", PODS, pod).refusal == (
        403,
        "Forbidden",
        'pods "answers-priority" is forbidden: no PriorityClass with name no-such-class was found',
    )


def test_a_priority_class_gives_its_number(client: Client) -> None:
    """Admission writes the class's priority and preemption policy into the pod."""
    client.create_priority_class("answers-high", 1000, preemptionPolicy="Never")

    answer = client.send("POST", f"{PODS}?dryRun=All", pod_manifest("answers-high", priorityClassName="answers-high"))

    assert answer.code == 201, answer.body
    assert (answer.body["spec"]["priority"], answer.body["spec"]["preemptionPolicy"]) == (1000, "Never")


def test_a_priority_class_keeps_its_number_and_policy(client: Client) -> None:
    """Its description may change, which is no new generation."""
    name = "answers-kept"
    path = f"/apis/scheduling.k8s.io/v1/priorityclasses/{name}"
    client.send("POST", path.rpartition("/")[0], {"metadata": {"name": name}, "value": 7})

    answers = [
        client.send("PATCH", path, change, as_type=MERGE)
        for change in ({"value": 8}, {"preemptionPolicy": "Never"}, {"description": "rich"})
    ]
    client.send("DELETE", path)

    assert [answer.code for answer in answers] == [422, 422, 200]
    told = [answer.body["message"] for answer in answers[:2]]
    assert told[0] == INVALID_CLASS % (name, "value: Forbidden: may not be changed in an update.")
    assert told[1] == INVALID_CLASS % (name, 'preemptionPolicy: Invalid value: "Never": field is immutable')
    assert (answers[2].body["preemptionPolicy"], answers[2].body["metadata"]["generation"]) == (
        "PreemptLowerPriority",
        1,
    )


def test_what_says_nothing_is_left_out(client: Client) -> None:
    """Empty lists, maps and texts are as if they were not written: defaults come in their place."""
    container: dict[str, Any] = {"name": "main", "image": "busybox", "env": [], "args": None}
    container |= {"workingDir": "", "stdin": False}
    said: dict[str, Any] = {
        "metadata": {
            "name": "answers-said",
            "labels": {},
            "annotations": None,
            "finalizers": [],
            "ownerReferences": [],
        },
        "spec": {
            "containers": [{**container, "ports": [{"containerPort": 80, "hostPort": 0, "protocol": "", "name": ""}]}],
            "nodeName": "",
            "restartPolicy": "",
            "schedulerName": "",
            "nodeSelector": {},
            "volumes": [],
            "affinity": {},
            "hostNetwork": False,
            "shareProcessNamespace": False,
        },
    }

    pod = client.send("POST", f"{PODS}?dryRun=All&fieldValidation=Strict", said).body

    assert not pod["metadata"].keys() & said["metadata"].keys() - {"name"}
    spec = pod["spec"]
    assert spec["containers"][0].keys() & container.keys() == {"name", "image"}
    assert spec["containers"][0]["ports"] == [{"containerPort": 80, "protocol": "TCP"}]
    assert not spec.keys() & {"nodeName", "nodeSelector", "volumes", "hostNetwork"}
    assert (spec["restartPolicy"], spec["schedulerName"]) == ("Always", "default-scheduler")
    assert (spec["affinity"], spec["shareProcessNamespace"]) == ({}, False)


def test_empty_metadata_of_a_custom_resource_are_left_out(cluster_with_crds: Cluster) -> None:
    """They are the same for all kinds; what is in the specification stays."""
    client = Client(cluster_with_crds)
    metadata = {"name": "answers-bare", "labels": {}, "annotations": {}, "finalizers": [], "ownerReferences": []}
    group = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": metadata}

    path = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups?dryRun=All"
    made = client.send("POST", path, {**group, "spec": {"minResources": {}}}).body

    assert not made["metadata"].keys() & metadata.keys() - {"name"}
    assert made["spec"]["minResources"] == {}


@pytest.mark.parametrize(
    ("query", "form_and_body", "refusal"),
    [
        (
            "?force=true",
            (MERGE, {}),
            (
                422,
                "Invalid",
                'PatchOptions.meta.k8s.io "" is invalid: force: Forbidden: may not be specified for non-apply patch',
            ),
        ),
    ],
)
def test_patches_that_are_asked_for_wrongly(
    client: Client, pod: str, query: str, form_and_body: tuple[str, dict[str, str]], refusal: tuple[int, str, str]
) -> None:
    """An option that another form of patch has."""
    form, body = form_and_body

    assert client.send("PATCH", f"{PODS}/{pod}{query}", body, as_type=form).refusal == refusal


def test_an_object_of_nothing_has_no_managers(client: Client) -> None:
    """No owner is named where there is none."""
    made = client.send(
        "POST", "/api/v1/namespaces/default/configmaps?dryRun=All", {"metadata": {"name": "answers-void"}}
    )

    assert made.code == 201
    assert "managedFields" not in made.body["metadata"]


def test_a_dry_run_stores_nothing(client: Client) -> None:
    """The answer is the object, as if it had been made."""
    assert client.send("POST", f"{PODS}?dryRun=All", pod_manifest("answers-dry")).code == 201
    assert client.send("GET", f"{PODS}/answers-dry").code == 404


LEASE_TOO_SHORT = (
    'Lease.coordination.k8s.io "answers-short" is invalid: '
    "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"
)

INVALID_OPTIONS = '%s.meta.k8s.io "" is invalid: %s: Unsupported value: "%s": supported values: %s'
OWN_POLICY = (
    'pods "answers-polite" is forbidden: the string value of PreemptionPolicy (Never) must not be provided in pod '
    "spec; priority admission controller computed PreemptLowerPriority from the given PriorityClass name"
)
INVALID_CLASS = 'PriorityClass.scheduling.k8s.io "%s" is invalid: %s'
RESERVED = (
    "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. "
    "error: system-answers is not a known system priority class"
)
UNKNOWN_POLICY = 'preemptionPolicy: Unsupported value: "Sometimes": supported values: "PreemptLowerPriority", "Never"'

REFUSALS = {
    "taken name": (
        ("POST", "/api/v1/namespaces", {"metadata": {"name": "kube-system"}}),
        (409, "AlreadyExists", 'namespaces "kube-system" already exists'),
    ),
    "missing namespace": (
        ("POST", "/api/v1/namespaces/nowhere/pods", pod_manifest("answers-nowhere")),
        (404, "NotFound", 'namespaces "nowhere" not found'),
    ),
    "missing pod": (
        ("GET", f"{PODS}/no-such-pod", None),
        (404, "NotFound", 'pods "no-such-pod" not found'),
    ),
    "missing subresource": (
        ("POST", f"{PODS}/no-such-pod/scale", {}),
        (404, "NotFound", "the server could not find the requested resource"),
    ),
    **{
        f"{verb} of {subresource}": (
            (verb, f"{PODS}/no-such-pod/{subresource}", {}),
            (405, "MethodNotAllowed", "the server does not allow this method on the requested resource"),
        )
        for verb, subresource in (
            ("POST", "status"),
            ("DELETE", "status"),
            ("GET", "binding"),
            ("PUT", "binding"),
            ("GET", "eviction"),
            ("PATCH", "eviction"),
        )
    },
    "watch of a subresource": (
        ("GET", f"{PODS}/no-such-pod/status?watch=1", None),
        (404, "NotFound", 'pods "no-such-pod" not found'),
    ),
    "missing resource": (
        ("GET", "/api/v1/namespaces/default/carts", None),
        (404, "NotFound", "the server could not find the requested resource"),
    ),
    "unknown field selector": (
        ("GET", f"{PODS}?fieldSelector=spec.colour%3Dred", None),
        (400, "BadRequest", "field label not supported: spec.colour"),
    ),
    "broken label selector": (
        ("GET", f"{PODS}?labelSelector=a%20of%20b", None),
        (400, "BadRequest", "unable to parse requirement: found 'of', expected: in, notin, =, ==, !=, gt, lt"),
    ),
    "pod without containers": (
        ("POST", PODS, pod_manifest("answers-empty", containers=[])),
        (422, "Invalid", 'Pod "answers-empty" is invalid: spec.containers: Required value'),
    ),
    "other namespace in the body": (
        ("POST", "/api/v1/namespaces/kube-system/configmaps", {"metadata": {"name": "a", "namespace": "default"}}),
        (
            400,
            "BadRequest",
            "the namespace of the provided object does not match the namespace sent on the request",
        ),
    ),
    "needed namespace": (
        ("DELETE", "/api/v1/namespaces/kube-public", None),
        (403, "Forbidden", 'namespaces "kube-public" is forbidden: this namespace may not be deleted'),
    ),
    "version of an object to be made": (
        ("POST", PODS, pod_manifest("answers-versioned") | {"metadata": {"name": "a", "resourceVersion": "5"}}),
        (500, "", "resourceVersion should not be set on objects to be created"),
    ),
    "another kind": (
        ("POST", PODS, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}),
        (
            400,
            "BadRequest",
            'Node in version "v1" cannot be handled as a Pod: converting (v1.Node) to (core.Pod): unknown conversion',
        ),
    ),
    "unknown dry run": (
        ("POST", f"{PODS}?dryRun=Some", pod_manifest("answers-dry")),
        (
            422,
            "Invalid",
            'CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["Some"]: supported values: "All"',
        ),
    ),
    "unknown field validation": (
        ("POST", f"{PODS}?fieldValidation=Loose", pod_manifest("answers-loose")),
        (
            422,
            "Invalid",
            INVALID_OPTIONS % ("CreateOptions", "fieldValidation", "Loose", '"", "Ignore", "Strict", "Warn"'),
        ),
    ),
    "unknown propagation": (
        ("DELETE", f"{PODS}?labelSelector=none%3Dnone&propagationPolicy=Sideways", None),
        (
            422,
            "Invalid",
            INVALID_OPTIONS
            % ("DeleteOptions", "propagationPolicy", "Sideways", '"Foreground", "Background", "Orphan", "nil"'),
        ),
    ),
    "watch from nowhere": (
        ("GET", f"{PODS}?watch=1&resourceVersion=abc", None),
        (500, "", 'resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax'),
    ),
    "patch of no known form": (
        ("PATCH", f"{PODS}/no-such-pod", {"metadata": {}}),
        (415, "UnsupportedMediaType", "415: Unsupported Media Type"),
    ),
    "policy of a pod's own": (
        ("POST", PODS, pod_manifest("answers-polite", preemptionPolicy="Never")),
        (
            403,
            "Forbidden",
            OWN_POLICY,
        ),
    ),
    "priority above those of people": (
        ("POST", CLASSES, {"metadata": {"name": "answers-high"}, "value": 1_000_000_001}),
        (
            422,
            "Invalid",
            INVALID_CLASS
            % ("answers-high", "value: Forbidden: maximum allowed value of a user defined priority is 1000000000"),
        ),
    ),
    "priority class that is called as the system's": (
        ("POST", CLASSES, {"metadata": {"name": "system-answers"}, "value": 5}),
        (
            422,
            "Invalid",
            INVALID_CLASS % ("system-answers", RESERVED),
        ),
    ),
    "unknown preemption policy": (
        ("POST", CLASSES, {"metadata": {"name": "answers-mild"}, "value": 5, "preemptionPolicy": "Sometimes"}),
        (
            422,
            "Invalid",
            INVALID_CLASS % ("answers-mild", UNKNOWN_POLICY),
        ),
    ),
    "lease of no duration": (
        (
            "POST",
            "/apis/coordination.k8s.io/v1/namespaces/default/leases",
            {"metadata": {"name": "answers-short"}, "spec": {"leaseDurationSeconds": 0}},
        ),
        (
            422,
            "Invalid",
            LEASE_TOO_SHORT,
        ),
    ),
}
"""What is wrong → a request that has it wrong, and the answer."""


@pytest.mark.parametrize("case", REFUSALS)
def test_refusals(client: Client, case: str) -> None:
    """A request that cannot be served is answered with a code, a reason and a sentence."""
    (method, path, body), answer = REFUSALS[case]

    assert client.send(method, path, body).refusal == answer
