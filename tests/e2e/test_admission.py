"""Admission on a real kube-apiserver: real kubectl, webhooks by address, certificates of both sides.

The emulator calls no webhooks, so these tests have a control plane of their own and leave the shared one alone.
"""

import asyncio
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

import pytest
import trustme
import yaml

from pyroclast.controllers.admission.options import AdmissionOptions
from pyroclast.controllers.admission.process import Admission
from pyroclast.controllers.admission.webhooks import WebhookOptions, configurations
from pyroclast.kube.api.client import Client
from pyroclast.kube.api.configuration import ClusterOptions, connect
from pyroclast.model.elastic.names import IS_PARENT, NAMESPACES, PARENT, RUNTIME
from tests.e2e.cluster import Cluster, KubectlError
from tests.e2e.controlplane import ControlPlane
from tests.e2e.ports import free_ports
from tests.elastic_quotas import elastic_quota
from tests.unit.controllers.admission.objects import Json, container, job, task
from tests.unit.controllers.admission.rules.test_templates import REFUSED, TAKEN

pytestmark = pytest.mark.realserver

NAME = "pyroclast-admission"
CLIENT = "kube-apiserver"
"""Name in the certificate that the API server shows."""


def awaited(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


class Running:
    """Admission in a thread with a loop of its own, as long as a block."""

    def __init__(self, kubeconfig: Path, port: int, client_ca: Path) -> None:
        """Take where the API server is, where to listen, and who signed the certificate that it shows."""
        self._kubeconfig, self._port, self._client_ca = kubeconfig, port, client_ca
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._serve(),))
        self.admission: Admission | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join(20)

    @property
    def is_ready(self) -> bool:
        """It answers, and knows the queues."""
        return self.admission is not None and self.admission.trouble() is None

    async def _serve(self) -> None:
        self._task = asyncio.current_task() or pytest.fail("no task")
        cluster = await connect(ClusterOptions(kubeconfig=str(self._kubeconfig)))
        with suppress(asyncio.CancelledError):
            async with Client(cluster, component="admission") as client:
                options = AdmissionOptions(
                    address=f"127.0.0.1:{self._port}",
                    namespace="default",
                    extra_names=("127.0.0.1",),
                    client_ca_file=str(self._client_ca),
                    client_names=(CLIENT,),
                )
                self.admission = Admission(client, options)
                await self.admission.run()


class Plane:
    """The control plane with its webhooks."""

    def __init__(self, cluster: Cluster, port: int, client_ca: Path) -> None:
        """Take what runs."""
        self.cluster, self.port, self._client_ca = cluster, port, client_ca
        self._running: Running | None = None

    def start(self) -> None:
        """Answer the API server from here on."""
        self._running = running = Running(self.cluster.kubeconfig, self.port, self._client_ca)
        running.__enter__()
        awaited(lambda: running.is_ready)
        awaited(self.is_trusted)

    def stop(self) -> None:
        """Answer no more."""
        if self._running is not None:
            self._running.__exit__()
        self._running = None

    @contextmanager
    def silent(self) -> Iterator[None]:
        """The server does not answer for the length of a block."""
        self.stop()
        try:
            yield
        finally:
            self.start()

    def refusal(self, manifest: Json, *arguments: str) -> str:
        """Return why an object is refused."""
        with pytest.raises(KubectlError) as caught:
            self.cluster.kubectl(*(arguments or ("create",)), "-f", "-", input=json.dumps(manifest))
        return str(caught.value)

    def create(self, manifest: Json) -> Json:
        """Create an object and return it."""
        found: Json = json.loads(self.cluster.kubectl("create", "-o", "json", "-f", "-", input=json.dumps(manifest)))
        return found

    def secret(self) -> Json:
        """Return the certificates that replicas share."""
        found: Json = json.loads(self.cluster.kubectl("get", "secret", NAME, "-o", "json"))["data"]
        return found

    def is_trusted(self) -> bool:
        """Return whether all webhooks have a CA bundle."""
        for kind in ("mutatingwebhookconfigurations", "validatingwebhookconfigurations"):
            found = json.loads(self.cluster.kubectl("get", kind, NAME, "-o", "json"))
            if not all(webhook["clientConfig"].get("caBundle") for webhook in found["webhooks"]):
                return False
        return True


@pytest.fixture(scope="module")
def plane(assets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plane]:
    """A control plane that asks us about everything, pods included."""
    folder = tmp_path_factory.mktemp("admission")
    (port,) = free_ports(1)
    flags = (f"--admission-control-config-file={shown_by_the_server(folder, port)}",)
    with ControlPlane(folder, assets=assets, flags=flags) as running:
        cluster = running.cluster()
        cluster.serve_custom_resources()
        options = WebhookOptions(
            url=f"https://127.0.0.1:{port}", paths=AdmissionOptions().paths, excluded_namespaces=("kube-system",)
        )
        cluster.kubectl("create", "-f", "-", input=yaml.safe_dump_all(configurations(options)))
        yield Plane(cluster, port, folder / "clients.crt")


def shown_by_the_server(folder: Path, port: int) -> Path:
    """Have the API server show a certificate to the webhooks on a port: the files that docs/admission.md names."""
    authority = trustme.CA()
    issued = authority.issue_cert(CLIENT, common_name=CLIENT)
    authority.cert_pem.write_to_path(str(folder / "clients.crt"))
    issued.cert_chain_pems[0].write_to_path(str(folder / "webhooks.crt"))
    issued.private_key_pem.write_to_path(str(folder / "webhooks.key"))
    user = {"client-certificate": str(folder / "webhooks.crt"), "client-key": str(folder / "webhooks.key")}
    kubeconfig = {"apiVersion": "v1", "kind": "Config", "users": [{"name": f"127.0.0.1:{port}", "user": user}]}
    (folder / "webhooks.kubeconfig").write_text(yaml.safe_dump(kubeconfig))
    group = "apiserver.config.k8s.io/v1"
    shown = {
        "apiVersion": group,
        "kind": "WebhookAdmissionConfiguration",
        "kubeConfigFile": str(folder / "webhooks.kubeconfig"),
    }
    plugins = [{"name": f"{kind}AdmissionWebhook", "configuration": shown} for kind in ("Validating", "Mutating")]
    file = folder / "admission-control.yaml"
    file.write_text(yaml.safe_dump({"apiVersion": group, "kind": "AdmissionConfiguration", "plugins": plugins}))
    return file


@pytest.fixture(scope="module")
def answered(plane: Plane) -> Iterator[Plane]:
    """The same, while we answer; with a tree of queues."""
    plane.start()
    try:
        for name, parent in (("root", ""), ("default", "root"), ("lab", "root"), ("lab-a", "lab")):
            plane.create(queue(name, **({"parent": parent} if parent else {})))
        yield plane
    finally:
        plane.stop()


def queue(name: str, **spec: object) -> Json:
    """A queue."""
    kind = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue"}
    return {**kind, "metadata": {"name": name}, "spec": spec}


def pod(name: str, **metadata: object) -> Json:
    """A pod of ours."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", **metadata},
        "spec": {"schedulerName": "volcano", "containers": [container()]},
    }


def in_default(manifest: Json) -> Json:
    """Put an object into the default namespace."""
    manifest["metadata"]["namespace"] = "default"
    return manifest


def test_a_bad_job_is_refused_with_field_value_and_limit(answered: Plane) -> None:
    """Kubectl shows the whole message."""
    words = answered.refusal(in_default(job(task(minAvailable=3), name="bad", plugins={"sv": []})))

    assert 'admission webhook "validatejob.volcano.sh" denied the request: ' in words
    assert (
        "spec.tasks[0].minAvailable: 'minAvailable' is greater than 'replicas' in task: worker, job: bad "
        "(got 3, expected at most 2, its replicas)" in words
    )
    assert "spec.plugins: unable to find job plugin: sv" in words


def test_a_good_job_is_completed(answered: Plane) -> None:
    """What was left out stands in the stored object."""
    bare: dict[str, Any] = {"replicas": 3, "template": {"spec": {"containers": [container()]}}, "name": "master"}
    manifest = in_default(job(name="bare"))
    manifest["spec"] = {"tasks": [bare], "plugins": {"mpi": []}}

    spec = answered.create(manifest)["spec"]

    assert (spec["queue"], spec["schedulerName"], spec["minAvailable"], spec["maxRetry"]) == (
        "default",
        "volcano",
        3,
        3,
    )
    assert (spec["tasks"][0]["minAvailable"], spec["tasks"][0]["maxRetry"]) == (3, 3)
    assert spec["plugins"] == {"mpi": [], "svc": [], "ssh": []}


def test_a_job_right_behind_its_queue_is_taken(answered: Plane) -> None:
    """Both in one file: the job does not wait until the queue was seen."""
    documents = [queue("quick", parent="root"), in_default(job(name="quick", queue="quick"))]

    answered.cluster.kubectl("create", "-f", "-", input=yaml.safe_dump_all(documents))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("default", "`default` queue can not be deleted"),
        ("lab", "queue lab can not be deleted because it has 1 child queues: lab-a"),
    ],
)
def test_queues_that_others_stand_on_stay(answered: Plane, name: str, words: str) -> None:
    """Deletion is refused in words."""
    with pytest.raises(KubectlError) as caught:
        answered.cluster.kubectl("delete", "queue", name)

    assert words in str(caught.value)


def test_a_queue_is_completed_and_judged(answered: Plane) -> None:
    """Defaults are filled in; amounts and the tree are checked."""
    assert answered.create(queue("fresh"))["spec"]["reclaimable"] is True
    assert "deserved[cpu] must be >= guarantee[cpu]=4" in answered.refusal(
        queue("poor", guarantee={"resource": {"cpu": "4"}})
    )
    assert "can only submit job to leaf queue, queue `lab` has 1 child queues" in answered.refusal(
        in_default(job(name="inner", queue="lab"))
    )


def test_a_job_keeps_its_shape_while_it_runs(answered: Plane) -> None:
    """Size may change, the image may not; finalizers come and go whatever the spec is."""
    answered.create(in_default(job(name="steady")))
    patch = [{"op": "replace", "path": "/spec/tasks/0/template/spec/containers/0/image", "value": "other"}]

    with pytest.raises(KubectlError) as caught:
        answered.cluster.kubectl("patch", "vcjob", "steady", "--type=json", "-p", json.dumps(patch))
    assert "job updates may not change fields other than" in str(caught.value)
    answered.cluster.kubectl("patch", "vcjob", "steady", "--type=merge", "-p", '{"spec":{"priorityClassName":"high"}}')
    answered.cluster.kubectl("annotate", "vcjob", "steady", "a=b")


def test_the_small_kinds(answered: Plane) -> None:
    """Patterns, flows, schedules, pod groups and budgets of pods."""
    member = {"type": "Node", "selector": {"regexMatch": {"pattern": "("}}}
    flow = [{"name": "a", "dependsOn": {"targets": ["b"]}}, {"name": "b", "dependsOn": {"targets": ["a"]}}]
    cron = {"schedule": "never", "jobTemplate": {"spec": job()["spec"]}}
    for kind, version, spec, words in (
        ("HyperNode", "topology.volcano.sh/v1alpha1", {"tier": 1, "members": [member]}, "pattern is invalid"),
        ("JobFlow", "flow.volcano.sh/v1alpha1", {"flows": flow}, "jobflow Flow is not DAG"),
        ("CronJob", "batch.volcano.sh/v1alpha1", cron, "schedule is not a valid cron expression"),
        ("PodGroup", "scheduling.volcano.sh/v1beta1", {"queue": "nowhere"}, "unable to find queue"),
    ):
        manifest = {"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, "spec": spec}
        assert words in answered.refusal(manifest), kind
    wrong = pod("halved", annotations={"volcano.sh/jdb-min-available": "half"})
    assert "it must be a valid percentage" in answered.refusal(wrong)


def test_a_pod_stays_as_preemptible_as_it_is(answered: Plane) -> None:
    """The server asks about a change of this label alone."""
    kubectl, key = answered.cluster.kubectl, "quota.scheduling.koordinator.sh/preemptible"
    spec = {"schedulerName": "volcano", "containers": [{"name": "main", "image": "none"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "borrower", "namespace": "default"}, "spec": spec}
    answered.create(pod)
    kubectl("label", "pod", "borrower", "other=yes")
    with pytest.raises(KubectlError) as caught:
        kubectl("label", "pod", "borrower", f"{key}=false")
    assert "this label does not change" in str(caught.value)
    with answered.silent():
        kubectl("label", "pod", "borrower", "other-")
    kubectl("delete", "pod", "borrower", "--grace-period=0", "--force")


def test_quotas_are_judged_beside_each_other(answered: Plane) -> None:
    """What the scheduler writes into them is no question; a label that moves one is, and so is its deletion."""
    answered.create(elastic_quota("org", least={"cpu": 4}, most={"cpu": 9}, is_parent=True, namespace="default"))
    answered.create(elastic_quota("team", least={"cpu": 4}, most={"cpu": 9}, parent="org", namespace="default"))
    more = elastic_quota("more", least={"cpu": 1}, most={"cpu": 9}, parent="org", namespace="default")
    assert "it and its siblings below org are guaranteed 5 together, more than the 4 of org" in answered.refusal(more)

    kubectl = answered.cluster.kubectl
    with pytest.raises(KubectlError) as caught:
        kubectl("label", "elasticquota", "org", f"{IS_PARENT}=false", "--overwrite")
    assert "quotas stand below it: team (expected true)" in str(caught.value)
    with pytest.raises(KubectlError) as caught:
        kubectl("delete", "elasticquota", "org")
    assert "quotas stand below it: team" in str(caught.value)
    with answered.silent():
        kubectl("annotate", "elasticquota", "team", f"{RUNTIME}={{}}")
        kubectl("label", "elasticquota", "team", f"{PARENT}=nowhere", "--overwrite")
    kubectl("annotate", "elasticquota", "team", f"{NAMESPACES}=[]")
    kubectl("delete", "elasticquota", "org", "team")


def test_how_a_quota_without_a_spec_stands_is_no_question(answered: Plane) -> None:
    """Nor a failure to ask one, which would be a no where silence is."""
    bare = elastic_quota("bare", namespace="default")
    answered.create({key: value for key, value in bare.items() if key != "spec"})
    kubectl = answered.cluster.kubectl
    configuration = ("validatingwebhookconfiguration", NAME)
    webhooks = json.loads(kubectl("get", *configuration, "-o", "json"))["webhooks"]
    (at,) = (at for at, each in enumerate(webhooks) if each["name"] == "validateelasticquota.volcano.sh")

    def policy(value: str) -> None:
        change = {"op": "replace", "path": f"/webhooks/{at}/failurePolicy", "value": value}
        kubectl("patch", *configuration, "--type=json", "-p", json.dumps([change]))
        time.sleep(2)  # the server follows its configurations by a watch that shows nowhere

    policy("Fail")
    try:
        kubectl("annotate", "elasticquota", "bare", f"{RUNTIME}={{}}")
    finally:
        policy("Ignore")
        kubectl("delete", "elasticquota", "bare")


def test_a_collection_of_quotas_goes_whole(answered: Plane) -> None:
    """As that of a namespace which is deleted: a refused parent would keep all that come after it."""
    answered.create(elastic_quota("above", is_parent=True, namespace="default"))
    answered.create(elastic_quota("below", parent="above", namespace="default"))
    path = "/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/default/elasticquotas"
    answered.cluster.kubectl("delete", "--raw", path)
    awaited(lambda: not answered.cluster.kubectl("get", "elasticquotas", "-o", "name").strip())


def test_the_queue_of_a_namespace(answered: Plane) -> None:
    """Pod groups of a namespace go to the queue that it names."""
    names = {"apiVersion": "v1", "kind": "Namespace"}
    annotations = {"scheduling.volcano.sh/queue-name": "lab-a"}
    answered.create({**names, "metadata": {"name": "team", "annotations": annotations}})
    group = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup"}

    made = answered.create({**group, "metadata": {"name": "g", "namespace": "team"}, "spec": {"minMember": 1}})

    assert made["spec"]["queue"] == "lab-a"


def test_rules_of_templates_are_those_of_kubernetes(answered: Plane) -> None:
    """What we refuse of a template the API server refuses of a pod, and what we take it takes."""
    differing = []
    for value, is_taken in [*((each, False) for each, _, _ in REFUSED), *((each, True) for each in TAKEN)]:
        manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe", **(value.get("metadata") or {})}}
        manifest["spec"] = value.get("spec") or {}
        if _is_created(answered.cluster, manifest) is not is_taken:
            differing.append(manifest)

    assert differing == []


def _is_created(cluster: Cluster, manifest: Json) -> bool:
    try:
        cluster.kubectl("create", "--dry-run=server", "--validate=false", "-f", "-", input=json.dumps(manifest))
    except KubectlError:
        return False
    return True


def test_an_emptied_bundle_is_filled_again(answered: Plane) -> None:
    """A chart applied anew takes the authorities away; they come back."""
    patch = [{"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}]
    answered.cluster.kubectl("patch", "validatingwebhookconfiguration", NAME, "--type=json", "-p", json.dumps(patch))

    awaited(answered.is_trusted)


def test_the_cluster_continues_without_admission(answered: Plane) -> None:
    """A dead webhook stops no pod and no job; the next process shows the same certificate."""
    before = answered.secret()
    with answered.silent():
        answered.create(pod("orphan"))
        answered.create(in_default(job(name="orphan")))

    assert answered.secret() == before
    assert "unable to find job queue" in answered.refusal(in_default(job(name="late", queue="nowhere")))


def test_when_the_server_hangs_pods_wait_two_seconds(answered: Plane) -> None:
    """Connections are taken and nothing is said: the API server goes on without us."""
    with answered.silent(), socket.create_server(("127.0.0.1", answered.port)):
        answered.create(pod("patient"))
