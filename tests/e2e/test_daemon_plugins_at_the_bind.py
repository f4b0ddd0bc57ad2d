"""What plugins add to the bind of a pod, on a server: labels, annotations, and what it counts as."""

import json
from collections.abc import Iterator

import pytest

from tests.e2e.cluster import Cluster
from tests.e2e.daemon import Daemon
from tests.e2e.ground import Ground, standing_on

PLUGIN = """
from pyroclast import Plugin, contract


class Marking(Plugin):
    name = "marking"
    watches_clock = False

    def on_session_open(self, session):
        names = session.nodes.table.names
        session.extensions.register(contract.RESIZE_POD, self.name, lambda task, column: {"cpu": 5000})
        session.extensions.register_labels(self.name, lambda task, column: {"example.com/node": names[column]})
        session.extensions.register_annotations(self.name, lambda task, column: {"example.com/note": "placed"})
"""
SETTINGS = "actions: enqueue, allocate\ntiers:\n- plugins: [{name: gang}, {name: predicates}, {name: marking}]\n"


@pytest.fixture(scope="module")
def ground(cluster_with_crds: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """Four nodes of eight CPUs."""
    with standing_on(cluster_with_crds, "marked", folder=tmp_path_factory.mktemp("marked")) as ground:
        yield ground


@pytest.fixture(scope="module")
def daemon(ground: Ground, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon with the plugin."""
    folder = tmp_path_factory.mktemp("plugins")
    (folder / "marking.py").write_text(PLUGIN)
    settings = folder / "scheduler.yaml"
    settings.write_text(SETTINGS)
    flags = (f"--plugins-dir={folder}", f"--scheduler-conf={settings}", "--feature-gates=ResizePod=true")
    with ground.daemon(ground.folder, *flags) as daemon:
        yield daemon


def test_pods_are_labelled_and_counted_as_the_plugin_says(ground: Ground, daemon: Daemon) -> None:
    """Five CPUs each on nodes of eight: one pod for each node, and a fifth waits."""
    ground.group("four", 4)
    for number in range(4):
        ground.pod(f"four-{number}", group="four")
    daemon.wait_for(lambda: ground.is_placed("four"))
    pods = ground.pods("four")

    assert len({pod["spec"]["nodeName"] for pod in pods}) == 4
    for pod in pods:
        metadata = pod["metadata"]
        assert metadata["labels"]["example.com/node"] == pod["spec"]["nodeName"]
        assert metadata["annotations"]["example.com/note"] == "placed"
        assert json.loads(metadata["annotations"]["scheduling.pyroclast.io/counted-amounts"]) == {"cpu": "5"}

    ground.group("more", 1)
    ground.pod("more-0", group="more")
    why = "4 Insufficient resources for what the pod counts as"
    daemon.wait_for(lambda: why in ground.condition_of("more-0").get("message", ""))
