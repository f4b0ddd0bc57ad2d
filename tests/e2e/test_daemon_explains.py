"""Explanations, profiles and endpoints of a running daemon, read as an operator reads them."""

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyroclast.scheduler.cli.commands.explain import main as explain
from pyroclast.scheduler.recording.replay import replay
from tests.e2e.cluster import Cluster
from tests.e2e.daemon import Daemon
from tests.e2e.ground import Ground, standing_on

CONFIGURATION = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: predicates}, {name: proportion}, {name: binpack}]
profiles:
- schedulerName: second
  tiers:
  - plugins: [{name: gang}, {name: predicates}, {name: nodeorder}]
"""


@pytest.fixture(scope="module")
def ground(cluster_with_crds: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """Four nodes of eight CPUs."""
    with standing_on(cluster_with_crds, "explains", folder=tmp_path_factory.mktemp("explains")) as ground:
        (ground.folder / "scheduler.yaml").write_text(CONFIGURATION)
        yield ground


@pytest.fixture(scope="module")
def daemon(ground: Ground) -> Iterator[Daemon]:
    """One daemon with two profiles."""
    flags = (
        f"--scheduler-conf={ground.folder / 'scheduler.yaml'}",
        "--scheduler-name=second",
        f"--record={ground.folder / 'record'}",
    )
    with ground.daemon(ground.folder, *flags) as daemon:
        yield daemon


def put(daemon: Daemon, flag: str, value: str) -> str:
    """Set a debug flag."""
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    request = urllib.request.Request(
        f"http://127.0.0.1:{daemon.metrics_port}/debug/flags/{flag}", data=value.encode(), method="PUT"
    )
    with direct.open(request, timeout=30.0) as answer:
        text: str = answer.read().decode()
        return text.strip()


def test_nodes_of_pods_are_explained(ground: Ground, daemon: Daemon, capsys: pytest.CaptureFixture[str]) -> None:
    """The endpoint and the command show scores of a running pod and refusals of a waiting one; both are logged."""
    assert (put(daemon, "s", "2"), put(daemon, "f", "true")) == ("2", "true")
    ground.gang("fits", 2, "4")
    daemon.wait_for(lambda: ground.phase_of("fits") == "Running")
    ground.gang("large", 1, "12")
    daemon.wait_for(lambda: bool(ground.events_of("large")))
    (running,) = daemon.get_json(f"/debug/explain?pod={ground.name}/fits-worker-0")
    (waiting,) = daemon.get_json(f"/debug/explain?pod={ground.name}/large-worker-0&nodes=1")

    assert running["node"] == ground.nodes_of("fits")[0]
    assert running["profile"] == ground.name
    assert running["scores"][0]["weighted"].keys() == {"binpack"}
    assert (waiting["moment"], waiting["candidates"]) == ("refused", 0)
    (rule,) = waiting["refusals"]
    assert (rule["reason"], rule["count"], len(rule["nodes"])) == ("Insufficient cpu", 4, 1)
    url = f"http://127.0.0.1:{daemon.metrics_port}"
    assert explain(["large", "-n", ground.name, "--server", url]) == 0
    assert f"{ground.name}/large-worker-0: refused" in capsys.readouterr().out
    daemon.wait_logged("node_scores")
    daemon.wait_logged("node_refusals")
    assert (put(daemon, "s", "0"), put(daemon, "f", "false")) == ("0", "false")
    ground.remove("large")
    ground.remove("fits")


def test_two_profiles_decide_in_one_process(ground: Ground, daemon: Daemon) -> None:
    """Each places the pods of its scheduler name by its own plugins; metrics and the configuration show both."""
    ground.group("other", 1)
    ground.pod("other-0", "1", group="other", schedulerName="second")
    ground.gang("own", 1, "1")
    daemon.wait_for(lambda: ground.is_placed("other") and ground.is_placed("own"))
    (found,) = daemon.get_json(f"/debug/explain?pod={ground.name}/other-0")

    assert found["profile"] == "second"
    assert {column["plugin"] for column in found["plugins"]} == {"nodeorder"}
    daemon.wait_metric('pyroclast_profile_binds_total{profile="second"}', 1.0)
    assert [each["name"] for each in daemon.get_json("/configz")["profiles"]] == ["second", ground.name]


def test_the_service_api_is_served(ground: Ground, daemon: Daemon) -> None:
    """The list of paths, and a node with its pods."""
    name = min(node["metadata"]["name"] for node in ground.nodes())

    assert "/apis/v1/nodes/{name}" in daemon.get_json("/apis/v1/__services__")["GET"]
    assert daemon.get_json(f"/apis/v1/nodes/{name}")["allocatable"]["cpu"] == "8"


def test_a_record_has_the_sessions_of_both_profiles(ground: Ground, daemon: Daemon) -> None:
    """Every session is decided again, byte for byte."""
    daemon.wait_cycles(1)
    record: Path = ground.folder / "record"
    lines = record.read_bytes().splitlines(keepends=True)[:-1]
    turns = {json.loads(line)["turn"] for line in lines if line.startswith(b'{"do":"cycle"')}

    assert turns == {0, 1}
    assert all(each.is_same for each in replay(lines))
