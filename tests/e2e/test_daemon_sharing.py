"""Several schedulers on one cluster: by hash ring, by shards; by lease they are in `test_high_availability.py`."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from pyroclast.cache.sync.ring import HashRing
from tests.e2e.cluster import Cluster
from tests.e2e.daemon import Daemon
from tests.e2e.ground import Ground, standing_on

MEMBERS = ("volcano-0", "volcano-1")
SHARDS = "/apis/shard.volcano.sh/v1alpha1/nodeshards"


@pytest.fixture(scope="module")
def ground(cluster_with_crds: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """Eight nodes of eight CPUs: by the ring, each of two members has some."""
    with standing_on(cluster_with_crds, "shared", folder=tmp_path_factory.mktemp("sharing"), nodes=8) as ground:
        yield ground


def ring_member(ground: Ground, stack: ExitStack, folder: Path, member: str) -> Daemon:
    """Run one of two daemons that share pods and nodes by the ring."""
    variables = {"MULTI_SCHEDULER_ENABLE": "true", "SCHEDULER_POD_NAME": member, "SCHEDULER_NUM": "2"}
    return stack.enter_context(ground.daemon(folder, environment=variables))


def test_two_members_of_a_ring_share_pods_and_nodes(ground: Ground, tmp_path: Path) -> None:
    """Each gang's pods are bound by the member that owns them, to nodes that it owns; none is bound by both."""
    ring = HashRing(MEMBERS)
    nodes = [node["metadata"]["name"] for node in ground.nodes()]
    assert {ring.owner(node) for node in nodes} == set(MEMBERS)
    with ExitStack() as stack:
        daemons = {member: ring_member(ground, stack, tmp_path, member) for member in MEMBERS}
        placed = dict.fromkeys(MEMBERS, 0)
        for number in range(12):
            name = f"ring-{number}"
            ground.group(name, 1)
            # The pod's key is its own name, for it has no owner: it is called like its group.
            ground.pod(name, group=name)
            placed[ring.owner(name)] += 1
        names = [f"ring-{number}" for number in range(12)]
        for daemon in daemons.values():
            daemon.wait_for(lambda: all(ground.is_placed(name) for name in names))

        assert all(ring.owner(node) == ring.owner(name) for name in names for node in ground.nodes_of(name))
        for member, daemon in daemons.items():
            daemon.wait_metric('pyroclast_binds_total{result="succeeded"}', placed[member])
            assert placed[member] > 0
            assert daemon.get_json("/debug/audit") == {"differences": []}


def test_a_hard_shard_limits_the_nodes(ground: Ground, tmp_path: Path) -> None:
    """In mode `hard` nothing is placed outside of the shard; what the shard uses is written to its status."""
    names = sorted(node["metadata"]["name"] for node in ground.nodes())
    shard = {"apiVersion": "shard.volcano.sh/v1alpha1", "kind": "NodeShard", "metadata": {"name": "sharing"}}
    ground.create(SHARDS, {**shard, "spec": {"nodesDesired": names[:2]}})
    flags = ("--scheduler-sharding-mode=hard", "--scheduler-sharding-name=sharing")
    with ground.daemon(tmp_path, *flags) as daemon:
        ground.gang("inside", 2, "8")
        daemon.wait_for(lambda: ground.is_placed("inside"))
        ground.gang("outside", 1, "8")
        daemon.wait_cycles(3)

        assert sorted(ground.nodes_of("inside")) == names[:2]
        assert ground.nodes_of("outside") == [""]
        in_use = ("get", "nodeshard", "sharing", "-o", "jsonpath={.status.nodesInUse}")
        daemon.wait_for(lambda: bool(ground.kubectl(*in_use)))
        assert sorted(json.loads(ground.kubectl(*in_use))) == names[:2]

        patch = {"spec": {"nodesDesired": names[:3]}}
        ground.kubectl("patch", "nodeshard", "sharing", "--type=merge", "-p", json.dumps(patch))
        daemon.wait_for(lambda: ground.nodes_of("outside") == [names[2]])


def test_a_soft_shard_ranks_the_nodes(ground: Ground, tmp_path: Path) -> None:
    """In mode `soft` the shard's nodes come first, and others are taken when they are full."""
    names = sorted(node["metadata"]["name"] for node in ground.nodes())
    shard = {"apiVersion": "shard.volcano.sh/v1alpha1", "kind": "NodeShard", "metadata": {"name": "sharing-soft"}}
    ground.create(SHARDS, {**shard, "spec": {"nodesDesired": names[5:7]}})
    flags = ("--scheduler-sharding-mode=soft", "--scheduler-sharding-name=sharing-soft")
    with ground.daemon(tmp_path, *flags) as daemon:
        ground.gang("soft", 2, "8")
        daemon.wait_for(lambda: ground.is_placed("soft"))
        assert sorted(ground.nodes_of("soft")) == names[5:7]

        ground.gang("overflow", 1, "8")
        daemon.wait_for(lambda: ground.is_placed("overflow"))
