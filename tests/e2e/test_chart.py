"""The chart on a real API server: installed, upgraded and uninstalled by Helm, the scheduler run as it says.

Nothing starts pods here, so the test takes the part of the kubelet: it reads Deployment and ConfigMap back from the
server and runs the scheduler with their flags, their files, and the rights of their service account.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml

from pyroclast.emulator.hollow.kubelets import DURATION
from pyroclast.model.elastic.names import TOTAL_RESOURCE
from tests.chart.helm import CHART, chart_tool, helm
from tests.e2e.cluster import Cluster
from tests.e2e.controllersprocess import Controllers, controllers
from tests.e2e.daemon import Daemon
from tests.e2e.ground import Ground, standing_on
from tests.e2e.ports import free_ports
from tests.nodemetrics import node_metric_definition

NAME = "chart"
SETS = (
    f"scheduler.schedulerNames={{{NAME}}}",
    "scheduler.period=100ms",
    f"scheduler.nodeSelectors={{pyroclast.test/ground:{NAME}}}",
)
KINDS = (
    "deployments,services,serviceaccounts,configmaps,roles,rolebindings,poddisruptionbudgets,"
    "clusterroles,clusterrolebindings,priorityclasses"
)
EVICTING = """actions: "enqueue, allocate, backfill, preempt"
tiers:
  - plugins: [{name: priority}, {name: gang}, {name: conformance}]
  - plugins: [{name: predicates}, {name: proportion}, {name: nodeorder}, {name: load-aware}]
"""


@pytest.fixture(scope="module")
def ground(cluster_with_crds: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """Four nodes of eight CPUs."""
    if cluster_with_crds.kind == "emulator":
        pytest.skip("only the real API server checks rights")
    chart_tool("helm")
    with standing_on(cluster_with_crds, NAME, folder=tmp_path_factory.mktemp(NAME)) as ground:
        ground.client.create_priority_class(f"{NAME}-high", 1000)
        ground.kubectl("apply", "-f", "-", input=json.dumps(node_metric_definition()))
        yield ground


@contextmanager
def installed(ground: Ground, *sets: str) -> Iterator[None]:
    """Install the chart for the length of a block."""
    run(ground, "install", *(word for each in sets for word in ("--set", each)))
    try:
        yield
    finally:
        helm("uninstall", NAME, "--namespace", NAME, kubeconfig=ground.cluster.kubeconfig)


def run(ground: Ground, verb: str, *flags: str) -> None:
    """Install or upgrade the release."""
    sets = [word for each in SETS for word in ("--set", each)]
    helm(verb, NAME, str(CHART), "--namespace", NAME, *sets, *flags, kubeconfig=ground.cluster.kubeconfig)


def read(ground: Ground, kind: str, name: str) -> dict[str, Any]:
    """Read an object as the server has it."""
    found: dict[str, Any] = json.loads(ground.kubectl("get", kind, name, "-o", "json"))
    return found


def mount(ground: Ground, folder: Path) -> None:
    """Write the files of the ConfigMap that the Deployment mounts, as the kubelet would."""
    pod = read(ground, "deployment", f"{NAME}-pyroclast-scheduler")["spec"]["template"]["spec"]
    (source,) = [volume["configMap"]["name"] for volume in pod["volumes"] if volume["name"] == "config"]
    for name, text in read(ground, "configmap", source)["data"].items():
        fresh = folder / f".{name}"
        fresh.write_text(text)
        fresh.replace(folder / name)


def as_account(ground: Ground, name: str, folder: Path) -> Cluster:
    """Return the cluster as a service account sees it."""
    config = yaml.safe_load(ground.cluster.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": ground.kubectl("create", "token", name).strip()}
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(yaml.safe_dump(config))
    return replace(ground.cluster, kubeconfig=kubeconfig)


@contextmanager
def scheduling(ground: Ground, folder: Path) -> Iterator[Daemon]:
    """Run the scheduler as the Deployment says."""
    mount(ground, folder)
    pod = read(ground, "deployment", f"{NAME}-pyroclast-scheduler")["spec"]["template"]["spec"]
    command, *flags = pod["containers"][0]["args"]
    assert command == "scheduler"
    flags = [each.replace("/etc/pyroclast", str(folder)) for each in flags]
    daemon = Daemon(as_account(ground, pod["serviceAccountName"], folder), folder, *flags)
    try:
        daemon.wait_ready()
        yield daemon
    finally:
        daemon.process.stop()


@contextmanager
def controlling(ground: Ground, folder: Path, component: str = "controllers") -> Iterator[Controllers]:
    """Run the controllers, or the separate webhooks, as their Deployment says, on ports of the test's own."""
    pod = read(ground, "deployment", f"{NAME}-pyroclast-{component}")["spec"]["template"]["spec"]
    command, *flags = pod["containers"][0]["args"]
    assert command == "controllers"
    (port,) = free_ports(1)
    flags = [each for each in flags if not each.startswith(("--listen-address", "--admission-address"))]
    account = as_account(ground, pod["serviceAccountName"], folder)
    with controllers(account, folder, *flags, f"--admission-address=127.0.0.1:{port}") as running:
        yield running


def refused(metrics: str) -> list[str]:
    """Return what the server forbade."""
    lines = metrics.splitlines()
    return [line for line in lines if line.startswith("rest_client_requests_total") and 'code="403"' in line]


def test_an_install_schedules_with_its_own_rights_and_is_upgraded_without_a_stop(
    ground: Ground, tmp_path: Path
) -> None:
    """Gangs run, victims leave, an upgrade's configuration is in force in the same process; nothing is forbidden."""
    with installed(ground), scheduling(ground, tmp_path) as daemon:
        ground.group("old", 1)
        for number in range(4):
            ground.pod(f"old-{number}", "8", group="old")
        daemon.wait_for(lambda: ground.phases_of("old") == ["Running"] * 4)
        daemon.wait_metric("pyroclast_leader", 1)

        values = tmp_path / "values.yaml"
        values.write_text(yaml.safe_dump({"scheduler": {"config": EVICTING}}))
        run(ground, "upgrade", "--values", str(values))
        mount(ground, tmp_path)
        daemon.wait_metric("pyroclast_configuration_generation", 2)
        assert ground.phases_of("old") == ["Running"] * 4

        ground.group("urgent", 1, priorityClassName=f"{NAME}-high")
        ground.pod("urgent-0", "8", group="urgent", priorityClassName=f"{NAME}-high")
        daemon.wait_for(lambda: ground.is_placed("urgent"))
        daemon.wait_for(lambda: bool(ground.events_of("urgent-0")))
        assert refused(daemon.get("/metrics")) == []


def test_a_config_map_of_the_operator_s_own_is_in_force(ground: Ground, tmp_path: Path) -> None:
    """The chart makes none beside it; changes of it are in force in the same process; an uninstall leaves it."""
    file = "volcano-scheduler.conf"
    placing = yaml.safe_dump({**yaml.safe_load(EVICTING), "actions": "enqueue, allocate, backfill"})
    ground.kubectl("create", "configmap", "mine", f"--from-literal={file}={placing}")
    with installed(ground, "scheduler.existingConfigMap=mine"), scheduling(ground, tmp_path) as daemon:
        made = ground.kubectl("get", "configmaps", "-l", f"app.kubernetes.io/instance={NAME}", "-o", "name")
        assert made == ""
        assert (tmp_path / file).read_text() == placing
        ground.group("patient", 1)
        for number in range(4):
            ground.pod(f"patient-{number}", "8", group="patient")
        daemon.wait_for(lambda: ground.phases_of("patient") == ["Running"] * 4)
        ground.group("pressing", 1, priorityClassName=f"{NAME}-high")
        ground.pod("pressing-0", "8", group="pressing", priorityClassName=f"{NAME}-high")
        daemon.wait_for(lambda: ground.condition_of("pressing-0").get("status") == "False")

        ground.kubectl("patch", "configmap", "mine", "--type=merge", "-p", json.dumps({"data": {file: EVICTING}}))
        mount(ground, tmp_path)
        daemon.wait_for(lambda: ground.is_placed("pressing"))
        assert refused(daemon.get("/metrics")) == []
    ground.kubectl("delete", "configmap", "mine")


def template(lives: str = "1s", **spec: Any) -> dict[str, Any]:
    """Describe a Job of two tasks whose pods end by themselves; with no time to live they do not."""
    pod = {
        "metadata": {"annotations": {DURATION: lives}},
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}],
        },
    }
    tasks = [{"name": name, "replicas": replicas, "template": pod} for name, replicas in (("master", 1), ("worker", 2))]
    return {
        "schedulerName": NAME,
        "queue": NAME,
        "minAvailable": 3,
        "plugins": {"env": [], "svc": []},
        "tasks": tasks,
        **spec,
    }


def phase(ground: Ground, kind: str, name: str) -> str:
    """Return the phase of a Job or a JobFlow; empty where it has none yet."""
    return ground.kubectl("get", kind, name, "-o", "jsonpath={.status.state.phase}", "--ignore-not-found")


def test_jobs_flows_and_cron_jobs_run_to_their_end(ground: Ground, tmp_path: Path) -> None:
    """Controllers and scheduler, each with its own rights; webhooks that cannot be reached stop nothing."""
    batch, flow = "batch.volcano.sh/v1alpha1", "flow.volcano.sh/v1alpha1"
    objects: list[dict[str, Any]] = [
        {"apiVersion": batch, "kind": "Job", "metadata": {"name": "plain"}, "spec": template()},
        {"apiVersion": flow, "kind": "JobTemplate", "metadata": {"name": "prepare"}, "spec": template()},
        {"apiVersion": flow, "kind": "JobTemplate", "metadata": {"name": "train"}, "spec": template()},
        {
            "apiVersion": flow,
            "kind": "JobFlow",
            "metadata": {"name": "flow"},
            "spec": {
                "jobRetainPolicy": "retain",
                "flows": [{"name": "prepare"}, {"name": "train", "dependsOn": {"targets": ["prepare"]}}],
            },
        },
        {
            "apiVersion": batch,
            "kind": "CronJob",
            "metadata": {"name": "often"},
            "spec": {"schedule": "@every 2s", "concurrencyPolicy": "Forbid", "jobTemplate": {"spec": template()}},
        },
    ]
    with installed(ground), scheduling(ground, tmp_path) as scheduler, controlling(ground, tmp_path) as running:
        scheduler.wait_for(lambda: "Open" in ground.kubectl("get", "queue", NAME, "-o", "jsonpath={.status.state}"))
        ground.kubectl("apply", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))

        running.wait_for(lambda: phase(ground, "vcjob", "plain") == "Completed")
        running.wait_for(lambda: phase(ground, "jobflow", "flow") == "Succeed")
        succeeded = ("get", "cronvcjob", "often", "-o", "jsonpath={.status.lastSuccessfulTime}")
        running.wait_for(lambda: bool(ground.kubectl(*succeeded)))
        row = ground.kubectl("get", "vcjob", "plain", "--no-headers").split()
        assert row[:3] == ["plain", "Completed", "3"]
        assert refused(scheduler.get("/metrics")) == []
        assert refused(running.metrics()) == []
        ground.kubectl("delete", "cronvcjob,jobflow,jobtemplate,vcjob", "--all")


def is_grouped(ground: Ground, pod: str) -> bool:
    """Return whether the controllers have given a pod a group."""
    group = r"jsonpath={.metadata.annotations.scheduling\.k8s\.io/group-name}"
    return ground.kubectl("get", "pod", pod, "--ignore-not-found", "-o", group).startswith("podgroup-")


def try_it(ground: Ground, seconds: int, *, is_good: bool) -> str:
    """Run `helm test`; return what it said."""
    words = ("test", NAME, "--namespace", NAME, f"--timeout={seconds}s")
    return helm(*words, kubeconfig=ground.cluster.kubeconfig, is_good=is_good)


def test_helm_test_passes_where_controllers_and_scheduler_work(ground: Ground, tmp_path: Path) -> None:
    """Its pod is grouped and placed, its command ends well; with one of the two gone it waits, and the test fails.

    Either way the pod goes: an uninstall would not take it along.
    """
    hook = f"{NAME}-pyroclast-test"
    node = ("get", "pod", hook, "--ignore-not-found", "-o", "jsonpath={.spec.nodeName}")
    name = ("get", "pod", hook, "--ignore-not-found", "-o", "name")
    with installed(ground), scheduling(ground, tmp_path) as scheduler:
        with controlling(ground, tmp_path), ThreadPoolExecutor() as threads:
            trying = threads.submit(try_it, ground, 100, is_good=True)
            scheduler.wait_for(lambda: bool(ground.kubectl(*node)))
            (container,) = read(ground, "pod", hook)["spec"]["containers"]
            done = subprocess.run([sys.executable, "-m", "pyroclast.scheduler", *container["args"]], check=True)
            ended = {"status": {"phase": "Succeeded" if done.returncode == 0 else "Failed"}}
            ground.kubectl("patch", "pod", hook, "--subresource=status", "--type=merge", "-p", json.dumps(ended))
            assert "Succeeded" in trying.result()

        with ThreadPoolExecutor() as threads:
            trying = threads.submit(try_it, ground, 10, is_good=False)
            scheduler.wait_for(lambda: bool(ground.kubectl(*name)))
            scheduler.wait_cycles(3)
            assert (ground.kubectl(*name).split(), ground.kubectl(*node)) == ([f"pod/{hook}"], "")
            assert "timed out" in trying.result()
        assert ground.kubectl(*name) == ""


def test_helm_test_fails_without_a_scheduler(ground: Ground, tmp_path: Path) -> None:
    """The controllers alone place nothing."""
    hook = f"{NAME}-pyroclast-test"
    with installed(ground), controlling(ground, tmp_path) as running, ThreadPoolExecutor() as threads:
        trying = threads.submit(try_it, ground, 10, is_good=False)
        running.wait_for(lambda: is_grouped(ground, hook))
        assert read(ground, "pod", hook)["spec"].get("nodeName") is None
        assert "timed out" in trying.result()


def test_a_lease_of_another_name_ends_all_copies_first(ground: Ground) -> None:
    """Leaders under the old name and under the new name would not exclude each other."""

    def ways() -> list[str]:
        names = (f"{NAME}-pyroclast-{component}" for component in ("scheduler", "controllers"))
        return [read(ground, "deployment", name)["spec"]["strategy"]["type"] for name in names]

    with installed(ground):
        assert ways() == ["RollingUpdate"] * 2
        run(ground, "upgrade", "--set", "scheduler.lease.name=other")
        assert ways() == ["Recreate", "RollingUpdate"]
        run(ground, "upgrade", "--set", "scheduler.lease.name=other", "--set", "controllers.lease.name=other")
        assert ways() == ["RollingUpdate", "Recreate"]


WORKLOADS = (
    ("apps/v1", "replicasets", "ReplicaSet"),
    ("apps/v1", "statefulsets", "StatefulSet"),
    ("apps/v1", "daemonsets", "DaemonSet"),
    ("batch/v1", "jobs", "Job"),
    ("flow.volcano.sh/v1alpha1", "jobtemplates", "JobTemplate"),
)
"""Owners of pods; the last stands for kinds that the chart knows nothing of."""


def own(ground: Ground, version: str, plural: str, kind: str) -> None:
    """Create a workload, and a pod of it as its controller would."""
    labels = {"app": plural}
    pod = {**template()["tasks"][0]["template"]["spec"], "schedulerName": NAME}
    pod["restartPolicy"] = "Never" if kind == "Job" else "Always"
    body = {"metadata": {"labels": labels}, "spec": pod}
    spec: dict[str, Any] = {"selector": {"matchLabels": labels}, "template": body}
    match kind:
        case "Job":
            spec = {"template": body, "managedBy": "pyroclast.test/nobody"}
        case "StatefulSet":
            spec |= {"serviceName": plural}
        case "JobTemplate":
            spec = template()
    path = f"/apis/{version}/namespaces/{NAME}/{plural}"
    made = ground.create(path, {"apiVersion": version, "kind": kind, "metadata": {"name": plural}, "spec": spec})
    owner = {"apiVersion": version, "kind": kind, "name": plural, "uid": made["metadata"]["uid"]}
    metadata = {"name": f"of-{plural}", "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}]}
    ground.create(
        f"/api/v1/namespaces/{NAME}/pods",
        {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod},
    )


def test_rights_suffice_where_owners_are_guarded(ground: Ground, tmp_path: Path) -> None:
    """The server asks for a right on each owner that is to wait; pods of any owner, and all of a Job's, are made.

    Webhooks in a process of their own have what they need, too.
    """
    job = template(
        plugins={"env": [], "svc": [], "ssh": []},
        volumes=[
            {
                "mountPath": "/data",
                "volumeClaim": {
                    "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": "1Gi"}},
                },
            }
        ],
    )
    names = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "whole"}}
    separate = tmp_path / "admission"
    separate.mkdir()
    with (
        installed(ground, "admission.separate=true"),
        controlling(ground, separate, "admission") as answering,
        controlling(ground, tmp_path) as running,
    ):
        ground.pod("alone")
        for each in WORKLOADS:
            own(ground, *each)
        ground.kubectl("apply", "-f", "-", input=json.dumps({**names, "spec": job}))

        for pod in ("alone", *(f"of-{plural}" for _, plural, _ in WORKLOADS)):
            running.wait_for(partial(is_grouped, ground, pod))
        made = "configmaps,secrets,services,networkpolicies,persistentvolumeclaims,podgroups"
        owned = 'jsonpath={range .items[?(@.metadata.ownerReferences[0].name=="whole")]}{.kind} {end}'
        running.wait_for(
            lambda: (
                set(ground.kubectl("get", made, "-o", owned).split())
                == {"ConfigMap", "Secret", "Service", "NetworkPolicy", "PersistentVolumeClaim", "PodGroup"}
            )
        )
        assert refused(running.metrics()) == []
        assert refused(answering.metrics()) == []
        ground.kubectl("delete", "vcjob,jobtemplate,replicasets,statefulsets,daemonsets,jobs", "--all")
        ground.kubectl("delete", "persistentvolumeclaims", "--all", "--wait=false")


VOLUMES = """
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: chart-kept}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: chart-made}
provisioner: maker.pyroclast.test
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: chart-kept}
spec:
  storageClassName: chart-kept
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  hostPath: {path: /kept}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: kept}
spec: {storageClassName: chart-kept, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: made}
spec: {storageClassName: chart-made, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
"""
CLAIMS = ("kept", "made")


def make_drivers(ground: Ground) -> None:
    """Say of each node that it has the driver, as the kubelet would; without, none could attach anything."""
    for node in ground.nodes():
        name, uid = node["metadata"]["name"], node["metadata"]["uid"]
        owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid}
        spec = {"drivers": [{"name": "maker.pyroclast.test", "nodeID": name}]}
        metadata = {"name": name, "ownerReferences": [owner]}
        body = {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": metadata, "spec": spec}
        ground.create("/apis/storage.k8s.io/v1/csinodes", body)


def bind_claim(ground: Ground, name: str) -> None:
    """Bind a claim to a volume, as the server's own controllers would."""
    ground.kubectl("patch", "persistentvolumeclaim", name, "-p", json.dumps({"spec": {"volumeName": f"chart-{name}"}}))
    bound = json.dumps({"status": {"phase": "Bound"}})
    ground.kubectl("patch", "persistentvolumeclaim", name, "--subresource=status", "-p", bound)


def test_volumes_and_gates_are_seen_to(ground: Ground, tmp_path: Path) -> None:
    """A volume is kept for a claim, another asked for on the pod's node, and a queue's gate is taken off."""
    gate = "scheduling.volcano.sh/queue-allocation-gate"
    ground.kubectl("apply", "-f", "-", input=VOLUMES)
    make_drivers(ground)
    available = json.dumps({"status": {"phase": "Available"}})
    ground.kubectl("patch", "persistentvolume", "chart-kept", "--subresource=status", "-p", available)
    with (
        installed(ground, "scheduler.featureGates.SchedulingGatesQueueAdmission=true"),
        scheduling(ground, tmp_path) as daemon,
    ):
        ground.group("stored", 1)
        claimed = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in CLAIMS]
        ground.pod("stored-0", group="stored", volumes=claimed)
        claim = ("get", "persistentvolume", "chart-kept", "-o", "jsonpath={.spec.claimRef.name}")
        node = (
            *("get", "persistentvolumeclaim", "made", "-o"),
            r"jsonpath={.metadata.annotations.volume\.kubernetes\.io/selected-node}",
        )
        daemon.wait_for(lambda: ground.kubectl(*claim) == "kept")
        bind_claim(ground, "kept")
        daemon.wait_for(lambda: bool(ground.kubectl(*node)))
        bind_claim(ground, "made")
        daemon.wait_for(lambda: ground.nodes_of("stored") == [ground.kubectl(*node)])

        ground.group("gated", 1)
        pod = ground.pod("gated-0", group="gated", schedulingGates=[{"name": gate}])
        ground.kubectl("annotate", "pod", pod["metadata"]["name"], f"{gate}=true")
        daemon.wait_for(lambda: ground.is_placed("gated"))
        assert refused(daemon.get("/metrics")) == []
    ground.clear_workload()
    ground.kubectl("delete", "--wait=false", "-f", "-", input=VOLUMES)
    ground.kubectl("delete", "csinodes", *(node["metadata"]["name"] for node in ground.nodes()))


LABELS = """networkTopologyDiscovery:
  - source: label
    enabled: true
    config:
      networkTopologyTypes:
        racks:
          - nodeLabel: pyroclast.test/rack
          - nodeLabel: kubernetes.io/hostname
"""


def hyper_nodes(ground: Ground) -> dict[str, int]:
    """Return how many nodes each HyperNode has."""
    found = json.loads(ground.kubectl("get", "hypernodes", "-o", "json"))["items"]
    return {each["metadata"]["name"]: each.get("status", {}).get("nodeCount", 0) for each in found}


def job_of(name: str, **spec: Any) -> str:
    """Write a Job's manifest."""
    job = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": name}}
    return json.dumps({**job, "spec": template(**spec)})


def test_a_tree_of_quotas_is_as_large_as_its_nodes(ground: Ground, tmp_path: Path) -> None:
    """A profile makes its root, which grows when a node joins the pool."""
    first, second, *_ = (node["metadata"]["name"] for node in ground.nodes())
    ground.kubectl("label", "nodes", first, "pyroclast.test/pool=gpus")
    spec = {"quotaName": f"{ground.name}-root", "nodeSelector": {"matchLabels": {"pyroclast.test/pool": "gpus"}}}
    metadata = {"name": "gpus", "namespace": ground.name}
    kind = {"apiVersion": "quota.koordinator.sh/v1alpha1", "kind": "ElasticQuotaProfile"}

    def pods() -> int:
        found = json.loads(ground.kubectl("get", "elasticquotas", "-o", "json"))["items"]
        annotations = [each["metadata"].get("annotations", {}) for each in found]
        totals = [json.loads(each[TOTAL_RESOURCE]) for each in annotations if TOTAL_RESOURCE in each]
        return sum(int(each["pods"]) for each in totals)

    with installed(ground), controlling(ground, tmp_path) as running:
        ground.kubectl("create", "-f", "-", input=json.dumps({**kind, "metadata": metadata, "spec": spec}))
        running.wait_for(lambda: pods() > 0)
        before = pods()
        ground.kubectl("label", "nodes", second, "pyroclast.test/pool=gpus")
        running.wait_for(lambda: pods() == 2 * before)
        ground.kubectl("label", "nodes", first, second, "pyroclast.test/pool-")


def test_jobs_change_end_and_go_and_domains_follow_labels(ground: Ground, tmp_path: Path) -> None:
    """A Job grows, receives a command to stop, and is deleted by its ttl; a domain follows the labels of nodes."""
    rack = "pyroclast.test/rack"
    nodes = [node["metadata"]["name"] for node in ground.nodes()]
    ground.kubectl("create", "configmap", "labels", f"--from-literal=volcano-controller.conf={LABELS}")
    ground.kubectl("label", "nodes", *nodes[:2], f"{rack}=near")
    with (
        installed(ground, "controllers.topologyDiscovery=labels"),
        scheduling(ground, tmp_path) as scheduler,
        controlling(ground, tmp_path) as running,
    ):
        running.wait_for(lambda: list(hyper_nodes(ground).values()) == [2])
        ground.kubectl("apply", "-f", "-", input=job_of("grows", lives=""))
        running.wait_for(lambda: phase(ground, "vcjob", "grows") == "Running")
        larger = [{"op": "replace", "path": "/spec/tasks/1/replicas", "value": 3}]
        ground.kubectl("patch", "vcjob", "grows", "--type=json", "-p", json.dumps(larger))
        hosts = ("get", "configmap", "grows-svc", "-o", r"jsonpath={.data.worker\.host}")
        running.wait_for(lambda: len(ground.kubectl(*hosts).split()) == 3)
        people(ground, "job", "suspend", "--name=grows")
        running.wait_for(lambda: phase(ground, "vcjob", "grows") == "Aborted")
        running.wait_for(lambda: ground.kubectl("get", "commands", "-o", "name") == "")

        brief = job_of("brief", ttlSecondsAfterFinished=0, plugins={"ssh": []})
        ground.kubectl("apply", "-f", "-", input=brief)
        deleted = (
            "get",
            "vcjob",
            "brief",
            "--ignore-not-found",
            "-o",
            "jsonpath={.metadata.name}{.metadata.deletionTimestamp}",
        )
        running.wait_for(lambda: ground.kubectl(*deleted) != "brief")

        ground.kubectl("label", "nodes", nodes[2], f"{rack}=near")
        running.wait_for(lambda: list(hyper_nodes(ground).values()) == [3])
        ground.kubectl("label", "nodes", *nodes[:3], f"{rack}-")
        running.wait_for(lambda: hyper_nodes(ground) == {})
        assert refused(scheduler.get("/metrics")) == []
        assert refused(running.metrics()) == []
        ground.kubectl("delete", "vcjob", "--all")
    ground.kubectl("delete", "configmap", "labels")


def people(ground: Ground, *words: str) -> None:
    """Run a command for people, as the administrator."""
    line = [
        sys.executable,
        "-m",
        "pyroclast.scheduler",
        *words,
        f"--kubeconfig={ground.cluster.kubeconfig}",
        f"--namespace={NAME}",
    ]
    subprocess.run(line, check=True, capture_output=True)


def test_an_uninstall_leaves_definitions_queues_and_work(ground: Ground, tmp_path: Path) -> None:
    """Nothing of the release stays, nor what its processes made for themselves, though they live on for a moment."""
    with ExitStack() as stack:
        with installed(ground):
            scheduler = stack.enter_context(scheduling(ground, tmp_path))
            stack.enter_context(controlling(ground, tmp_path))
            scheduler.wait_for(lambda: scheduler.metric("pyroclast_leader") == 1)
            ground.gang("work", 2)
            scheduler.wait_for(lambda: ground.phases_of("work") == ["Running"] * 2)
            mine = ("get", KINDS, "-l", f"app.kubernetes.io/instance={NAME}", "-o", "name")
            assert len(ground.kubectl(*mine).split()) >= 8
            assert nobodys(ground) >= {
                "lease/volcano",
                "lease/vc-controller-manager",
                f"secret/{NAME}-pyroclast-admission",
            }
        # longer than it takes to look at a lease again
        time.sleep(3.0)
    assert nobodys(ground) == set()
    assert ground.kubectl(*mine).split() == []
    assert ground.kubectl("get", "crd", "queues.scheduling.volcano.sh", "-o", "name")
    assert ground.kubectl("get", "queue", NAME, "-o", "name")
    assert ground.phases_of("work") == ["Running"] * 2


def nobodys(ground: Ground) -> set[str]:
    """Name what is left in the namespace that no Job or other owner of users' takes along."""
    found = json.loads(ground.kubectl("get", "leases,secrets,configmaps,services", "-o", "json"))["items"]
    return {
        f"{each['kind'].lower()}/{each['metadata']['name']}"
        for each in found
        if "ownerReferences" not in each["metadata"]
    }


Right = tuple[str, str, str]
"""Group, resource with its subresource, and verb."""

ASKED_BY_THE_SERVER = "the server's own admission asks for it, which is no request of ours"
KOORDINATORS = "gangs of Koordinator, whose definition the chart does not bring"
DEVICES = "a pod with resource claims, of which test_daemon_claims has some"
RESERVATIONS = "Reservations of Koordinator, of which no test of the chart has one"
LAYERS = "layers of the network, which coscheduling needs only while it gathers gangs"
TOPOLOGIES = "CPUs of nodes, which nodenuma alone asks for"
NATIVE_GROUPS = "native groups, which a server has by its feature gates alone"
NO_QUOTA = "how an elastic quota stands, where there is one"
UNUSED: dict[str, dict[Right, str]] = {
    "scheduler": {
        ("", "pods", "get"): "a pod whose bind was not answered, or whose bind does not show",
        ("", "pods", "delete"): "a server without the Eviction API",
        **{("resource.k8s.io", "resourceclaims", verb): DEVICES for verb in ("get", "patch")},
        ("resource.k8s.io", "resourceclaims/status", "patch"): DEVICES,
        ("resource.k8s.io", "resourceclaims/binding", "patch"): DEVICES,
        ("scheduling.volcano.sh", "podgroups/status", "patch"): "somebody's definition with that subresource",
        ("shard.volcano.sh", "nodeshards/status", "patch"): "sharding, which is off by default",
        ("scheduling.koordinator.sh", "clusternetworktopologies", "list"): LAYERS,
        ("scheduling.koordinator.sh", "clusternetworktopologies", "watch"): LAYERS,
        ("topology.node.k8s.io", "noderesourcetopologies", "list"): TOPOLOGIES,
        ("topology.node.k8s.io", "noderesourcetopologies", "watch"): TOPOLOGIES,
        ("nodeinfo.volcano.sh", "numatopologies", "delete"): "a node that is deleted, of which an exporter told",
        ("scheduling.k8s.io", "podgroups/status", "patch"): NATIVE_GROUPS,
        ("scheduling.k8s.io", "podgroups", "watch"): NATIVE_GROUPS,
        ("scheduling.k8s.io", "workloads", "watch"): NATIVE_GROUPS,
        **{
            ("scheduling.koordinator.sh", "reservations", verb): RESERVATIONS
            for verb in ("get", "list", "watch", "patch")
        },
        ("scheduling.koordinator.sh", "reservations/status", "patch"): RESERVATIONS,
        ("scheduling.sigs.k8s.io", "podgroups", "watch"): KOORDINATORS,
        ("scheduling.sigs.k8s.io", "elasticquotas", "patch"): NO_QUOTA,
        ("scheduling.sigs.k8s.io", "elasticquotas/status", "patch"): NO_QUOTA,
        ("", "events", "patch"): "an event that is told again",
        ("scheduling.volcano.sh", "queues", "create"): "the first queues, where nobody has made them yet",
    },
    "controllers": {
        **{("scheduling.koordinator.sh", "reservations", verb): RESERVATIONS for verb in ("get", "delete")},
        ("scheduling.koordinator.sh", "reservations/status", "patch"): RESERVATIONS,
        (
            "scheduling.sigs.k8s.io",
            "elasticquotas",
            "patch",
        ): "built-in quotas, whose namespace no test of the chart has",
        ("scheduling.sigs.k8s.io", "podgroups", "watch"): KOORDINATORS,
        ("scheduling.sigs.k8s.io", "podgroups", "patch"): KOORDINATORS,
        ("scheduling.sigs.k8s.io", "podgroups/status", "patch"): KOORDINATORS,
        ("", "pods/finalizers", "update"): ASKED_BY_THE_SERVER,
        ("batch.volcano.sh", "jobs/finalizers", "update"): ASKED_BY_THE_SERVER,
        ("batch.volcano.sh", "cronjobs/finalizers", "update"): ASKED_BY_THE_SERVER,
        ("flow.volcano.sh", "jobflows/finalizers", "update"): ASKED_BY_THE_SERVER,
        (
            "",
            "namespaces",
            "get",
        ): "a webhook is called for a namespace that is not seen yet; nobody calls webhooks here",
        ("", "pods", "get"): "a pod that is there under the name of one to be made",
        ("", "persistentvolumeclaims", "get"): "a claim that is there under the name of one to be made",
        ("scheduling.volcano.sh", "podgroups", "get"): "a group that is there under the name of one to be made",
        ("topology.volcano.sh", "hypernodes", "get"): "a HyperNode that is there under the name of one to be made",
        ("scheduling.sigs.k8s.io", "elasticquotas", "get"): "a quota that is there under the name of one to be made",
        ("scheduling.volcano.sh", "podgroups/status", "patch"): "somebody's definition with that subresource",
        ("", "secrets", "update"): "certificates are renewed after months",
        ("", "secrets", "patch"): "keys of a Job that somebody changed",
        ("", "events", "patch"): "an event that is told again",
    },
    "admission": {
        (
            "",
            "namespaces",
            "get",
        ): "a webhook is called for a namespace that is not seen yet; nobody calls webhooks here",
        ("", "secrets", "update"): "certificates are renewed after months",
    },
}
"""Rights that this file need not use, and why they are given all the same."""


def granted(ground: Ground, component: str) -> set[Right]:
    """Return the rights of a component's account, as the server has them."""
    name = f"{NAME}-pyroclast-{component}"
    rules = [rule for kind in ("clusterrole", "role") for rule in read(ground, kind, name)["rules"]]
    return {right for rule in rules for right in product(rule["apiGroups"], rule["resources"], rule["verbs"])}


def used(ground: Ground, component: str) -> set[Right]:
    """Return the rights that a component's account has used so far, as the server wrote them down."""
    assert ground.cluster.audit_log is not None
    account = f"system:serviceaccount:{NAME}:{NAME}-pyroclast-{component}"
    found: set[Right] = set()
    for line in ground.cluster.audit_log.read_text().splitlines():
        event = json.loads(line)
        if event["user"]["username"] == account and "objectRef" in event:
            of = event["objectRef"]
            resource = "/".join(filter(None, (of["resource"], of.get("subresource"))))
            found.add((of.get("apiGroup", ""), resource, event["verb"]))
    return found


@pytest.mark.parametrize("component", ["scheduler", "controllers", "admission"])
def test_each_right_is_used_or_has_its_reason(ground: Ground, component: str, request: pytest.FixtureRequest) -> None:
    """The tests above use what the chart gives, all but what is named with its reason; and they use nothing else."""
    chosen = {item.originalname for item in request.session.items if item.path == request.path}  # type: ignore[attr-defined]  # of functions
    if not chosen >= {name for name in globals() if name.startswith("test_")}:
        pytest.skip("only the whole file shows what is used")
    separate = ("admission.separate=true",) if component == "admission" else ()
    with installed(ground, "scheduler.featureGates.SchedulingGatesQueueAdmission=true", *separate):
        given = granted(ground, component)

    assert UNUSED[component].keys() <= given
    assert given - used(ground, component) - UNUSED[component].keys() == set()
    assert used(ground, component) <= given
