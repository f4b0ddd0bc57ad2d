"""The sharding controller assigns nodes on a server, and a scheduler uses them alone."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.cluster import Cluster
from tests.e2e.controllersprocess import controllers
from tests.e2e.ground import LABEL, Ground, standing_on

NAME = "assigned"
SETTINGS = f"""
schedulerConfigs:
- name: {NAME}
  policies:
  - {{name: warmup, arguments: {{warmupLabel: {LABEL}, warmupLabelValue: {NAME}}}}}
  - {{name: node-limit, arguments: {{maxNodes: 2}}}}
shardSyncPeriod: 1s
"""


@pytest.fixture(scope="module")
def ground(cluster_with_crds: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """Four nodes of eight CPUs."""
    with standing_on(cluster_with_crds, NAME, folder=tmp_path_factory.mktemp(NAME)) as ground:
        yield ground


def test_a_scheduler_uses_the_nodes_that_the_controller_assigns(ground: Ground, tmp_path: Path) -> None:
    """Two nodes are desired. One of them loses its label, and another node takes its place."""
    data = {"sharding.yaml": SETTINGS}
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shards"}, "data": data}
    ground.kubectl("apply", "-f", "-", input=json.dumps(config_map))
    names = sorted(node["metadata"]["name"] for node in ground.nodes())
    flags = (
        "--controllers=+sharding-controller",
        "--sharding-configmap=shards",
        f"--sharding-configmap-namespace={NAME}",
    )
    hard = ("--scheduler-sharding-mode=hard", f"--scheduler-sharding-name={NAME}")
    desired = ("get", "nodeshard", NAME, "--ignore-not-found", "-o", "jsonpath={.spec.nodesDesired}")
    with controllers(ground.cluster, tmp_path, *flags) as running, ground.daemon(tmp_path, *hard) as daemon:
        running.wait_for(lambda: ground.kubectl(*desired) == json.dumps(names[:2], separators=(",", ":")))
        ground.gang("inside", 2, "8")
        daemon.wait_for(lambda: ground.is_placed("inside"))
        ground.gang("outside", 1, "8")
        daemon.wait_cycles(3)
        assert sorted(ground.nodes_of("inside")) == names[:2]
        assert ground.nodes_of("outside") == [""]

        ground.kubectl("label", "node", names[0], f"{LABEL}-")
        running.wait_for(lambda: ground.kubectl(*desired) == json.dumps(names[1:3], separators=(",", ":")))
        daemon.wait_for(lambda: ground.nodes_of("outside") == [names[2]])
        assert f'pyroclast_shard_nodes{{shard="{NAME}"}} 2.0' in running.metrics()
