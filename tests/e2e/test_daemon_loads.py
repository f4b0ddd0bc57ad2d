"""Loads measured by Koordinator's agents: watched while the configuration needs them, and a dump decides the same."""

import json
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from time import time

import pytest

from pyroclast.scheduler.cli.main import main
from tests.e2e.cluster import Cluster
from tests.e2e.daemon import Daemon
from tests.e2e.ground import Ground, standing_on
from tests.nodemetrics import node_metric, node_metric_definition

WITHOUT = "actions: enqueue, allocate\ntiers:\n- plugins: [{name: gang}, {name: predicates}]\n"
WITH = WITHOUT.replace("]", ", {name: load-aware}]")
METRICS = "/apis/slo.koordinator.sh/v1alpha1/nodemetrics"


@pytest.fixture(scope="module")
def ground(cluster_with_crds: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """Two nodes of eight CPUs, on a server that knows NodeMetrics."""
    with standing_on(cluster_with_crds, "loads", folder=tmp_path_factory.mktemp("loads"), nodes=2) as ground:
        ground.kubectl("apply", "-f", "-", input=json.dumps(node_metric_definition()))
        ground.kubectl("wait", "--for=condition=Established", "crd/nodemetrics.slo.koordinator.sh")
        yield ground


def report(ground: Ground, cpus: Mapping[str, int]) -> None:
    """Write what nodes use, as agents do."""
    for name, cpu in cpus.items():
        metric = node_metric(name, {"cpu": str(cpu), "memory": "1Gi"}, at=time())
        ground.kubectl("apply", "-f", "-", input=json.dumps(metric))


def followed(daemon: Daemon) -> dict[str, str]:
    """What a daemon knows: CPUs in use by node."""
    items = daemon.get_json("/debug/snapshot")["items"]
    found = (item for item in items if item["kind"] == "NodeMetric")
    return {item["metadata"]["name"]: item["status"]["nodeMetric"]["nodeUsage"]["resources"]["cpu"] for item in found}


def test_loads_are_watched_while_a_plugin_reads_them(
    ground: Ground, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not at first; then one node is busy, then the other; then no more. The dump decides the same."""
    file = tmp_path / "scheduler.yaml"
    file.write_text(WITHOUT)
    first, second = sorted(node["metadata"]["name"] for node in ground.nodes())
    report(ground, {first: 7, second: 0})
    with ground.daemon(tmp_path, f"--scheduler-conf={file}") as daemon:
        assert followed(daemon) == {}

        file.write_text(WITH)
        for number, (busy, idle) in enumerate([(first, second), (second, first)]):
            report(ground, {busy: 7, idle: 0})
            daemon.wait_for(lambda busy=busy, idle=idle: followed(daemon) == {busy: "7", idle: "0"})  # type: ignore[misc]
            ground.gang(f"light-{number}", 3)
            daemon.wait_for(partial(ground.is_placed, f"light-{number}"))
            assert set(ground.nodes_of(f"light-{number}")) == {idle}
        seen = tmp_path / "seen.json"
        seen.write_text(pending_again(daemon.get("/debug/snapshot"), "light-1"))

        file.write_text(WITHOUT)
        daemon.wait_for(lambda: followed(daemon) == {})
    options = ("--scheduler-name", ground.name, "--config", str(tmp_path / "with.yaml"), "-o", "json")
    (tmp_path / "with.yaml").write_text(WITH)
    assert main(["simulate", "-f", str(seen), *options]) == 0
    binds = json.loads(capsys.readouterr().out)["rounds"][0]["binds"]
    assert set(binds.values()) == {first}
    assert len(binds) == 3


def pending_again(dump: str, gang: str) -> str:
    """Take a gang off its nodes in a dump."""
    seen = json.loads(dump)
    for item in seen["items"]:
        if item["kind"] == "Pod" and item["metadata"]["name"].startswith(gang):
            del item["spec"]["nodeName"]
            item["status"] = {"phase": "Pending"}
    return json.dumps(seen)
