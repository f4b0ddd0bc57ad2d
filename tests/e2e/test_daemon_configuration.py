"""The configuration file as a mounted ConfigMap, a chain of links that the kubelet swaps; and plugins beside it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.cluster import Cluster
from tests.e2e.ground import Ground, standing_on

ENQUEUE_ONLY = "actions: enqueue\ntiers:\n- plugins: [{name: gang}]\n"
PLACES = "actions: enqueue, allocate\ntiers:\n- plugins: [{name: gang}, {name: predicates}]\n"
PACKS = "actions: enqueue, allocate\ntiers:\n- plugins: [{name: gang}, {name: predicates}, {name: binpack}]\n"
NAMES_OURS = "actions: enqueue, allocate\ntiers:\n- plugins: [{name: gang}, {name: predicates}, {name: ours}]\n"
BROKEN = "actions: enqueue, alocate\ntiers:\n- plugins: [{name: gang, enableJobOrder: perhaps}]\n"
OURS = """
from pyroclast import Plugin, Reason, contract


class Ours(Plugin):
    name = "ours"
    watches_clock = False

    def on_session_open(self, session):
        session.extensions.register(contract.PREDICATE, self.name, lambda task, node: {answer})
"""
NOWHERE, ANYWHERE = (OURS.format(answer=answer) for answer in ("Reason('node(s) closed by ours')", "None"))


class ConfigMapFolder:
    """A folder as the kubelet mounts a ConfigMap with the one key `scheduler.yaml`."""

    def __init__(self, folder: Path, text: str) -> None:
        """Mount the first content."""
        self._folder = folder
        self._number = 0
        self.swap(text)
        (folder / "scheduler.yaml").symlink_to("..data/scheduler.yaml")

    @property
    def file(self) -> Path:
        """What the daemon is configured to read."""
        return self._folder / "scheduler.yaml"

    def swap(self, text: str) -> None:
        """Put another content in place, as the kubelet does: a new folder, then one rename of a link."""
        self._number += 1
        content = self._folder / f"..{self._number}"
        content.mkdir()
        (content / "scheduler.yaml").write_text(text)
        link = self._folder / "..data_tmp"
        link.symlink_to(content.name)
        link.replace(self._folder / "..data")


@pytest.fixture(scope="module")
def ground(cluster_with_crds: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """Four nodes of eight CPUs."""
    with standing_on(cluster_with_crds, "settings", folder=tmp_path_factory.mktemp("settings")) as ground:
        yield ground


def test_a_swapped_config_map_is_in_force_without_a_restart(ground: Ground, tmp_path: Path) -> None:
    """An edit changes what happens; a broken one changes nothing, and metric, event and log tell every fault."""
    mounted = ConfigMapFolder(tmp_path, ENQUEUE_ONLY)
    with ground.daemon(tmp_path, f"--scheduler-conf={mounted.file}") as daemon:
        ground.gang("early", 2)
        daemon.wait_for(lambda: ground.phase_of("early") == "Inqueue")
        daemon.wait_cycles(2)
        assert ground.nodes_of("early") == ["", ""]

        mounted.swap(PLACES)
        daemon.wait_for(lambda: ground.is_placed("early"))
        daemon.wait_metric("pyroclast_configuration_generation", 2)

        mounted.swap(BROKEN)
        daemon.wait_metric("pyroclast_configuration_reload_ok", 0)
        ground.gang("later", 2)
        daemon.wait_for(lambda: ground.is_placed("later"))
        daemon.wait_metric("pyroclast_configuration_generation", 2)
        events = ("get", "events", "-n", "default", "--field-selector=reason=ConfigurationRefused", "-o", "yaml")
        daemon.wait_for(lambda: "alocate" in ground.cluster.kubectl(*events))
        told = ground.cluster.kubectl(*events)
        assert "did you mean" in told
        assert "enableJobOrder" in told

        mounted.swap(PACKS)
        daemon.wait_metric("pyroclast_configuration_reload_ok", 1)
        ground.gang("packed", 4)
        daemon.wait_for(lambda: ground.is_placed("packed"))
        daemon.wait_metric("pyroclast_configuration_generation", 3)
        assert len(set(ground.nodes_of("packed"))) == 1


def test_a_file_that_vanishes_leaves_the_last_good_one(ground: Ground, tmp_path: Path) -> None:
    """Without the file the last configuration holds; when it is back, all is well again."""
    mounted = ConfigMapFolder(tmp_path, PLACES)
    with ground.daemon(tmp_path, f"--scheduler-conf={mounted.file}") as daemon:
        mounted.file.rename(tmp_path / "elsewhere.yaml")
        daemon.wait_metric("pyroclast_configuration_reload_ok", 0)
        ground.gang("without", 2)
        daemon.wait_for(lambda: ground.is_placed("without"))

        (tmp_path / "elsewhere.yaml").rename(mounted.file)
        daemon.wait_metric("pyroclast_configuration_reload_ok", 1)
        daemon.wait_metric("pyroclast_configuration_generation", 1)


def test_a_changed_plugin_is_in_force_without_a_restart(ground: Ground, tmp_path: Path) -> None:
    """What it refused is placed once it permits it; while it is broken the last good one goes on."""
    plugins, file = tmp_path / "plugins", tmp_path / "scheduler.yaml"
    plugins.mkdir()
    (plugins / "ours.py").write_text(NOWHERE)
    file.write_text(NAMES_OURS)
    with ground.daemon(tmp_path, f"--scheduler-conf={file}", f"--plugins-dir={plugins}") as daemon:
        ground.gang("refused", 2)
        daemon.wait_for(lambda: "closed by ours" in ground.condition_of("refused-worker-0").get("message", ""))

        (plugins / "ours.py").write_text(f"{ANYWHERE}\n(")
        daemon.wait_metric("pyroclast_configuration_reload_ok", 0)
        daemon.wait_cycles(2)
        assert ground.nodes_of("refused") == ["", ""]

        (plugins / "ours.py").write_text(ANYWHERE)
        daemon.wait_for(lambda: ground.is_placed("refused"))
        daemon.wait_metric("pyroclast_configuration_reload_ok", 1)
