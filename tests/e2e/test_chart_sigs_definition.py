"""The chart installs the definition of `scheduling.sigs.k8s.io` PodGroups, changes no other, and never deletes it."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.chart.helm import CHART, chart_tool, helm
from tests.e2e.cluster import Cluster
from tests.e2e.rawhttp import Client
from tests.e2e.test_daemon_gangs import DEFINITION, DEFINITIONS

NAME = "sigs"
DEFINED = f"{DEFINITIONS}/{DEFINITION['metadata']['name']}"


@pytest.fixture
def client(cluster_with_crds: Cluster) -> Iterator[Client]:
    """A namespace, without the definition before and after the test."""
    chart_tool("helm")
    client = Client(cluster_with_crds)
    client.send("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAME}})
    yield client
    client.send("DELETE", DEFINED)


def run(cluster: Cluster, verb: str, *flags: str) -> None:
    """Install, upgrade or uninstall the release."""
    sets = () if verb == "uninstall" else (str(CHART), "--set", "sigsPodGroups.create=true")
    helm(verb, NAME, *sets, "--namespace", NAME, *flags, kubeconfig=cluster.kubeconfig)


def definition(client: Client) -> Any:
    """Return the definition as the server has it."""
    answer = client.send("GET", DEFINED)
    assert answer.code == 200, answer.body
    return answer.body


def test_a_definition_of_another_owner_stays_as_it_is(cluster_with_crds: Cluster, client: Client) -> None:
    """Through install, upgrade and uninstall."""
    assert client.send("POST", DEFINITIONS, DEFINITION).code == 201
    before = definition(client)["spec"]

    run(cluster_with_crds, "install")
    run(cluster_with_crds, "upgrade")
    run(cluster_with_crds, "uninstall")

    assert definition(client)["spec"] == before
    assert "helm.sh/resource-policy" not in definition(client)["metadata"]["annotations"]


def test_the_definition_is_installed_where_there_is_none_and_stays(cluster_with_crds: Cluster, client: Client) -> None:
    """Through upgrade and uninstall, with its objects; a second install takes it over."""
    run(cluster_with_crds, "install")
    uid = definition(client)["metadata"]["uid"]
    run(cluster_with_crds, "upgrade")
    run(cluster_with_crds, "uninstall")
    assert definition(client)["metadata"]["uid"] == uid

    run(cluster_with_crds, "install")
    run(cluster_with_crds, "uninstall")
    assert definition(client)["metadata"]["uid"] == uid
