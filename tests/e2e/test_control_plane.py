"""The real control plane of the other tests: what it lets in, and that it leaves nothing behind."""

import json
from pathlib import Path

import pytest

from tests.e2e.cluster import Cluster, KubectlError
from tests.e2e.controlplane import ControlPlane
from tests.e2e.probes import answers_ok, trust_nobody_in_particular


@pytest.mark.realserver
def test_nothing_is_left_running(tmp_path: Path, assets: Path) -> None:
    """Every server has ended when the block is left, those started later too."""
    with ControlPlane(tmp_path, assets=assets) as plane:
        manager = plane.start_controller_manager()
        assert answers_ok(f"{plane.url}/readyz", trust_nobody_in_particular())

    assert not answers_ok(f"{plane.url}/readyz", trust_nobody_in_particular())
    assert not Path(f"/proc/{manager.pid}").exists()


def test_the_administrator_may_do_everything(cluster: Cluster) -> None:
    """The kubeconfig's user is allowed any verb on any resource."""
    assert cluster.kubectl("auth", "can-i", "*", "*").strip() == "yes"


def test_a_refused_command_says_why(cluster: Cluster) -> None:
    """What kubectl wrote to standard error is the message of the exception."""
    with pytest.raises(KubectlError, match=r'^Error from server \(NotFound\): namespaces "nowhere" not found$'):
        cluster.kubectl("get", "namespace", "nowhere")


def config_map(name: str, **metadata: object) -> str:
    """Return the manifest of an empty ConfigMap in the default namespace."""
    return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}})


def test_what_an_owner_leaves_is_collected(cluster: Cluster) -> None:
    """With controllers running, an object goes when its only owner is gone."""
    cluster.start_controllers()
    cluster.apply(config_map("owner"))
    uid = cluster.kubectl("get", "configmap", "owner", "-o", "jsonpath={.metadata.uid}")
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}
    cluster.apply(config_map("owned", ownerReferences=[owner]))

    cluster.kubectl("delete", "configmap", "owner")

    cluster.kubectl("wait", "--for=delete", "configmap/owned", "--timeout=60s")


def test_a_namespace_goes_with_its_content(cluster: Cluster) -> None:
    """With controllers running, deletion of a namespace ends, and it can be made again, empty."""
    cluster.start_controllers()
    cluster.kubectl("create", "namespace", "passing")
    cluster.apply(config_map("content", namespace="passing"))

    cluster.kubectl("delete", "namespace", "passing", "--timeout=60s")
    cluster.kubectl("create", "namespace", "passing")

    names = cluster.kubectl("get", "configmaps", "-n", "passing", "-o", "jsonpath={.items[*].metadata.name}")
    assert "content" not in names.split()
