"""kubectl at work: every verb an operator uses, against the emulator and the real server alike."""

import json
import subprocess
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
import yaml

from tests.e2e.cluster import Cluster, KubectlError
from tests.e2e.rawhttp import Client

KUBECTL = Path(__file__).parents[2] / ".venv" / "bin" / "kubectl"
NUMBERS = count(1)
POD = """
apiVersion: v1
kind: Pod
metadata: {name: one, labels: {app: web}}
spec:
  containers: [{name: main, image: "registry.example/web:1", resources: {requests: {cpu: 100m, memory: 1Gi}}}]
"""
DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: "registry.example/web:1"}]}
"""
NODE = """
apiVersion: v1
kind: Node
metadata: {name: NODE}
"""
DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: lamps.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: lamps, kind: Lamp, shortNames: [lp]}
  versions:
    - name: v1
      served: true
      storage: true
      additionalPrinterColumns: [{name: Watts, type: integer, jsonPath: .spec.watts}]
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              required: [watts]
              properties:
                watts: {type: integer, minimum: 1, description: What it draws.}
                colour: {type: string, default: white}
"""


REVIEWS = {
    "SubjectAccessReview": ("authorization.k8s.io/v1", "user: ann, resourceAttributes: {verb: get, resource: pods}"),
    "SelfSubjectAccessReview": ("authorization.k8s.io/v1", "resourceAttributes: {verb: get, resource: pods}"),
    "SelfSubjectRulesReview": ("authorization.k8s.io/v1", "namespace: default"),
    "TokenReview": ("authentication.k8s.io/v1", "token: none"),
}
"""Kind → its version, and what to ask."""


@pytest.fixture
def namespace(cluster: Cluster) -> Iterator[str]:
    """A namespace of the test's own."""
    name = f"kubectl-{next(NUMBERS)}"
    cluster.kubectl("create", "namespace", name)
    yield name
    cluster.kubectl("delete", "namespace", name, "--wait=false")


def bind(cluster: Cluster, namespace: str, pod: str, node: str) -> None:
    """Give a pod its node, as a scheduler does."""
    body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod}, "target": {"kind": "Node", "name": node}}
    path = f"/api/v1/namespaces/{namespace}/pods/{pod}/binding"
    cluster.kubectl("create", "--raw", path, "-f", "-", input=json.dumps(body))


def test_version_names_a_kubernetes(cluster: Cluster) -> None:
    """Kubectl can parse the server's version."""
    assert json.loads(cluster.kubectl("version", "-o", "json"))["serverVersion"]["major"] == "1"


def test_api_resources_lists_names_and_kinds(cluster: Cluster) -> None:
    """Short names and scopes are discovered."""
    lines = [line.split() for line in cluster.kubectl("api-resources", "--no-headers").splitlines()]

    assert ["pods", "po", "v1", "true", "Pod"] in lines
    assert ["priorityclasses", "pc", "scheduling.k8s.io/v1", "false", "PriorityClass"] in lines


def test_apply_creates_then_changes_nothing_then_configures(cluster: Cluster, namespace: str) -> None:
    """The three answers of apply."""
    changed = POD.replace("app: web", "app: api")
    answers = [cluster.kubectl("apply", "-n", namespace, "-f", "-", input=text) for text in (POD, POD, changed)]

    assert [answer.split()[1] for answer in answers] == ["created", "unchanged", "configured"]


def test_a_pod_is_written_again_without_what_the_server_added(cluster: Cluster, namespace: str) -> None:
    """Defaults and admission add it anew, to lists that a manifest replaces as well."""
    manifest = POD + "  tolerations: [{key: dedicated, operator: Exists}]\n"
    flags = ("-n", namespace, "-f", "-")
    spec = ("get", "pod", "one", "-n", namespace, "-o", "jsonpath={.spec}")
    assert cluster.kubectl("apply", *flags, input=manifest) == "pod/one created\n"
    first = cluster.kubectl(*spec)

    assert cluster.kubectl("apply", *flags, input=manifest) == "pod/one configured\n"
    assert cluster.kubectl("replace", *flags, input=manifest) == "pod/one replaced\n"
    if cluster.kind != "emulator":
        forced = cluster.kubectl("apply", "--server-side", "--force-conflicts", *flags, input=manifest)
        assert forced == "pod/one serverside-applied\n"
    assert cluster.kubectl("diff", *flags, input=manifest) == ""
    assert cluster.kubectl(*spec) == first


def test_get_shows_a_table(cluster: Cluster, namespace: str) -> None:
    """Columns of pods, with the wide ones."""
    cluster.kubectl("apply", "-n", namespace, "-f", "-", input=POD)

    header, row = cluster.kubectl("get", "pods", "-n", namespace, "-o", "wide").splitlines()

    assert header.split()[:5] == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert row.split()[:4] == ["one", "0/1", "Pending", "0"]


def test_server_side_apply_refuses_another_managers_field(cluster: Cluster, namespace: str) -> None:
    """Two managers that disagree get a conflict, which can be forced; the emulator refuses to apply."""
    config = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shared}\ndata: {key: "VALUE"}\n'

    def apply(manager: str, value: str, *more: str) -> str:
        words = ("apply", "--server-side", "-n", namespace, f"--field-manager={manager}", *more, "-f", "-")
        return cluster.kubectl(*words, input=config.replace("VALUE", value))

    if cluster.kind == "emulator":
        with pytest.raises(KubectlError, match="Server-side apply not available on the server"):
            apply("first", "a")
        return
    apply("first", "a")
    with pytest.raises(KubectlError, match=r'conflict with "first": \.data\.key'):
        apply("second", "b")
    apply("second", "b", "--force-conflicts")
    assert cluster.kubectl("get", "cm", "shared", "-n", namespace, "-o", "jsonpath={.data.key}") == "b"


def test_label_annotate_and_patches(cluster: Cluster, namespace: str) -> None:
    """Three kinds of patches change an object."""
    cluster.kubectl("apply", "-n", namespace, "-f", "-", input=POD)
    here = ("-n", namespace)
    cluster.kubectl("label", "pod", "one", "tier=gold", *here)
    cluster.kubectl("annotate", "pod", "one", "note=x", *here)
    cluster.kubectl("patch", "pod", "one", "-p", '{"metadata": {"labels": {"strategic": "1"}}}', *here)
    cluster.kubectl("patch", "pod", "one", "--type=merge", "-p", '{"metadata": {"labels": {"merge": "1"}}}', *here)
    operations = '[{"op": "remove", "path": "/metadata/labels/app"}]'
    cluster.kubectl("patch", "pod", "one", "--type=json", "-p", operations, *here)

    metadata = json.loads(cluster.kubectl("get", "pod", "one", *here, "-o", "json"))["metadata"]

    assert metadata["labels"] == {"tier": "gold", "strategic": "1", "merge": "1"}
    assert metadata["annotations"]["note"] == "x"


def test_a_definition_is_served_at_once(cluster: Cluster, namespace: str) -> None:
    """Columns, defaults, validation and explain of a new kind."""
    cluster.kubectl("apply", "-f", "-", input=DEFINITION)
    cluster.kubectl("wait", "--for=condition=Established", "crd/lamps.example.com", "--timeout=30s")
    lamp = "apiVersion: example.com/v1\nkind: Lamp\nmetadata: {name: desk}\nspec: {watts: WATTS}\n"
    cluster.kubectl("apply", "-n", namespace, "-f", "-", input=lamp.replace("WATTS", "9"))

    header, row = cluster.kubectl("get", "lp", "-n", namespace).splitlines()
    assert header.split() == ["NAME", "WATTS"]
    assert row.split() == ["desk", "9"]
    assert cluster.kubectl("get", "lamp", "desk", "-n", namespace, "-o", "jsonpath={.spec.colour}") == "white"
    assert "What it draws." in cluster.kubectl("explain", "lamp.spec.watts")
    with pytest.raises(KubectlError, match=r"spec.watts: Invalid value: 0: .*should be greater than or equal to 1"):
        cluster.kubectl("apply", "-n", namespace, "-f", "-", input=lamp.replace("WATTS", "0"))
    cluster.kubectl("delete", "crd", "lamps.example.com")
    with pytest.raises(KubectlError, match=r"could not find the requested resource|doesn't have a resource type"):
        cluster.kubectl("get", "lamps", "-n", namespace)


def test_a_list_of_definitions_is_checked_by_kubectl(cluster: Cluster) -> None:
    """It checks lists by OpenAPI v2, which must not deny what a definition may hold."""
    items = [yaml.safe_load(DEFINITION)]
    whole = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    assert cluster.kubectl("apply", "-f", "-", input=whole).endswith("lamps.example.com created\n")
    cluster.kubectl("delete", "crd", "lamps.example.com")


def test_wait_sees_a_condition_come(cluster: Cluster, namespace: str) -> None:
    """A wait ends when the status changes."""
    cluster.kubectl("apply", "-n", namespace, "-f", "-", input=POD)
    with Client(cluster).nodes("some-node"):
        bind(cluster, namespace, "one", "some-node")

        cluster.kubectl("wait", "-n", namespace, "--for=condition=PodScheduled", "pod/one", "--timeout=10s")
        cluster.kubectl(
            "wait", "-n", namespace, "--for=jsonpath={.spec.nodeName}=some-node", "pod/one", "--timeout=10s"
        )


def test_get_watch_streams_rows(cluster: Cluster, namespace: str) -> None:
    """`get -w` shows what comes after the list."""
    cluster.kubectl("apply", "-n", namespace, "-f", "-", input=POD)
    get = ["get", "pods", "-w", "-n", namespace, "--no-headers"]
    command = [str(KUBECTL), "--kubeconfig", str(cluster.kubeconfig), *get]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watching:
        assert watching.stdout is not None
        first = watching.stdout.readline().split()
        cluster.kubectl("label", "pod", "one", "-n", namespace, "tier=gold")
        second = watching.stdout.readline().split()
        watching.terminate()

    assert first[:3] == second[:3] == ["one", "0/1", "Pending"]


def test_describe_and_explain_show_pods(cluster: Cluster, namespace: str) -> None:
    """Describe reads the pod and its events; explain reads OpenAPI."""
    cluster.kubectl("apply", "-n", namespace, "-f", "-", input=POD)

    described = cluster.kubectl("describe", "pod", "one", "-n", namespace)
    assert "QoS Class:" in described
    assert "Burstable" in described
    assert "FIELD: containers" in cluster.kubectl("explain", "pod.spec.containers")


def test_diff_shows_changes(cluster: Cluster, namespace: str) -> None:
    """A dry run on the server, shown as a difference; the exit code says there is one."""
    cluster.kubectl("apply", "-n", namespace, "-f", "-", input=POD)
    assert cluster.kubectl("diff", "-n", namespace, "-f", "-", input=POD) == ""

    with pytest.raises(KubectlError):
        cluster.kubectl("diff", "-n", namespace, "-f", "-", input=POD.replace("app: web", "app: api"))
    assert cluster.kubectl("get", "pod", "one", "-n", namespace, "-o", "jsonpath={.metadata.labels.app}") == "web"


def test_create_sends_protobuf_and_is_understood(cluster: Cluster, namespace: str) -> None:
    """The kinds that `kubectl create` encodes itself."""
    cluster.kubectl("create", "configmap", "settings", "-n", namespace, "--from-literal=key=value")
    cluster.kubectl("create", "priorityclass", f"high-{namespace}", "--value=1000", "--description=x")
    cluster.kubectl("create", "serviceaccount", "robot", "-n", namespace)

    assert cluster.kubectl("get", "cm", "settings", "-n", namespace, "-o", "jsonpath={.data.key}") == "value"
    assert cluster.kubectl("get", "pc", f"high-{namespace}", "-o", "jsonpath={.value}") == "1000"


def test_create_ingress(cluster: Cluster, namespace: str) -> None:
    """A fault of a command line, in protobuf; it is shown with its host."""
    cluster.kubectl("create", "ingress", "web", "-n", namespace, "--rule=web.example.com/*=web:80")

    shown = cluster.kubectl("get", "ingress", "web", "-n", namespace, "--no-headers")
    assert shown.split()[:4] == ["web", "<none>", "web.example.com", "80"]


@pytest.mark.parametrize("kind", REVIEWS)
def test_reviews_are_answered_and_their_fields_checked(cluster: Cluster, kind: str) -> None:
    """Kinds that cannot be patched: kubectl checks their fields itself, by OpenAPI v2; the emulator's is empty."""
    review = f"apiVersion: {REVIEWS[kind][0]}\nkind: {kind}\nspec: {{{REVIEWS[kind][1]}}}\n"

    answer = json.loads(cluster.kubectl("create", "-f", "-", "-o", "json", input=review))

    assert answer["kind"] == kind
    assert answer["status"]
    if cluster.kind == "emulator":
        return
    with pytest.raises(KubectlError, match=rf'ValidationError\({kind}.spec\): unknown field "colour" in io.k8s.api'):
        cluster.kubectl("create", "-f", "-", input=review.replace("spec: {", "spec: {colour: red, "))


def test_scale_writes_replicas(cluster: Cluster, namespace: str) -> None:
    """The scale subresource changes the specification."""
    cluster.kubectl("apply", "-n", namespace, "-f", "-", input=DEPLOYMENT)

    cluster.kubectl("scale", "deployment", "web", "-n", namespace, "--replicas=3")

    assert cluster.kubectl("get", "deploy", "web", "-n", namespace, "-o", "jsonpath={.spec.replicas}") == "3"


def test_cordon_and_drain_respect_a_budget(cluster: Cluster, namespace: str) -> None:
    """Drain evicts; a budget that allows nothing stops it."""
    node = f"node-{namespace}"
    cluster.kubectl("apply", "-f", "-", input=NODE.replace("NODE", node))
    cluster.kubectl("apply", "-n", namespace, "-f", "-", input=POD)
    bind(cluster, namespace, "one", node)
    running = '{"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}'
    cluster.kubectl("patch", "pod", "one", "-n", namespace, "--subresource=status", "-p", running)
    cluster.kubectl("create", "poddisruptionbudget", "all", "-n", namespace, "--selector=app=web", "--min-available=1")
    cluster.start_controllers()
    budget = ("wait", "-n", namespace, "pdb/all", "--timeout=30s")
    cluster.kubectl(*budget, "--for=jsonpath={.status.currentHealthy}=1")

    cluster.kubectl("cordon", node)
    with pytest.raises(KubectlError, match="violate the pod's disruption budget"):
        cluster.kubectl("drain", node, "--force", "--timeout=2s")

    assert cluster.kubectl("get", "node", node, "-o", "jsonpath={.spec.unschedulable}") == "true"
    cluster.kubectl("delete", "pdb", "all", "-n", namespace)
    cluster.kubectl("drain", node, "--force", "--grace-period=0", "--timeout=20s")
    with pytest.raises(KubectlError, match="not found"):
        cluster.kubectl("get", "pod", "one", "-n", namespace)


def test_a_deleted_namespace_is_emptied_first(cluster: Cluster) -> None:
    """What is in it goes, then the namespace."""
    cluster.start_controllers()
    cluster.kubectl("create", "namespace", "kubectl-doomed")
    cluster.kubectl("create", "configmap", "inside", "-n", "kubectl-doomed")

    cluster.kubectl("delete", "namespace", "kubectl-doomed", "--timeout=60s")

    with pytest.raises(KubectlError, match='namespaces "kubectl-doomed" not found'):
        cluster.kubectl("create", "configmap", "late", "-n", "kubectl-doomed")


def test_auth_can_i(cluster: Cluster) -> None:
    """The administrator may do everything."""
    assert cluster.kubectl("auth", "can-i", "create", "pods").strip() == "yes"
