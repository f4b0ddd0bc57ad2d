"""Gangs that are gathered by the layers of a ClusterNetworkTopology, on a server."""

import json
from collections.abc import Iterator

import pytest

from tests.e2e.cluster import Cluster
from tests.e2e.daemon import Daemon
from tests.e2e.ground import Ground, standing_on
from tests.gangs import annotated
from tests.network_layers import gathered, network_topology, network_topology_definition

CONFIGURATION = """
actions: enqueue, allocate
tiers:
- plugins:
  - {name: coscheduling, arguments: {awareNetworkTopology: true}}
  - {name: gang}
  - {name: predicates}
"""


@pytest.fixture(scope="module")
def ground(cluster_with_crds: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """Four nodes of eight CPUs in two blocks of one spine; their layers come later."""
    with standing_on(cluster_with_crds, "layers", folder=tmp_path_factory.mktemp("layers")) as ground:
        ground.kubectl("apply", "-f", "-", input=json.dumps(network_topology_definition()))
        ground.kubectl("wait", "--for=condition=Established", "crd/clusternetworktopologies.scheduling.koordinator.sh")
        for number, name in enumerate(names_of(ground)):
            ground.kubectl("label", "node", name, "net/spine=s1", f"net/block=b{number // 2}")
        yield ground
        ground.kubectl("delete", "clusternetworktopology", "default")


@pytest.fixture(scope="module")
def daemon(ground: Ground, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon that gathers gangs."""
    settings = tmp_path_factory.mktemp("settings") / "scheduler.yaml"
    settings.write_text(CONFIGURATION)
    with ground.daemon(ground.folder, f"--scheduler-conf={settings}") as daemon:
        yield daemon


def names_of(ground: Ground) -> list[str]:
    """The names of the nodes, sorted."""
    return sorted(node["metadata"]["name"] for node in ground.nodes())


def test_a_gang_waits_for_the_layers_and_is_placed_in_one_block(ground: Ground, daemon: Daemon) -> None:
    """Four pods of four CPUs fill a block. Before the object exists, the reason names it."""
    annotations = {**annotated("gathered", 4, more=gathered("BlockLayer"))}
    for number in range(4):
        ground.pod(f"gathered-{number}", "4", gang="gathered", annotations=annotations)
    why = "there is no ClusterNetworkTopology 'default'"
    daemon.wait_for(lambda: why in ground.condition_of("gathered-0").get("message", ""))

    ground.kubectl("apply", "-f", "-", input=json.dumps(network_topology()))
    daemon.wait_for(lambda: ground.is_placed("gathered"))
    first, second = names_of(ground)[:2], names_of(ground)[2:]

    assert sorted(ground.nodes_of("gathered")) in (sorted(first * 2), sorted(second * 2))
