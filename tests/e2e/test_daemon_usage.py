"""Measured usage: its source is followed as the configuration changes, and a dump repeats what was decided by it."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from time import time
from typing import Any

import pytest

from pyroclast.scheduler.cli.main import main
from tests.e2e.cluster import Cluster
from tests.e2e.daemon import Daemon
from tests.e2e.ground import Ground, standing_on

TIERS = "actions: enqueue, allocate\ntiers:\n- plugins: [{name: gang}, {name: predicates}, {name: usage}]\n"


@pytest.fixture(scope="module")
def ground(cluster_with_crds: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """Two nodes of eight CPUs."""
    with standing_on(cluster_with_crds, "usage", folder=tmp_path_factory.mktemp("usage"), nodes=2) as ground:
        yield ground


@contextmanager
def prometheus(load: Mapping[str, float]) -> Iterator[str]:
    """Serve the load of nodes, percent, as Prometheus does; gives the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            rows = [
                {"metric": {"instance": name}, "value": [time(), str(percent if "cpu" in self.path else 1)]}
                for name, percent in load.items()
            ]
            answer = {"status": "success", "data": {"resultType": "vector", "result": rows}}
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def test_another_source_of_usage_is_asked_without_a_restart(
    ground: Ground, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """First none, then one that finds a node busy, then one that finds the other busy; the dump decides the same."""
    file = tmp_path / "scheduler.yaml"
    file.write_text(TIERS)
    first, second = sorted(node["metadata"]["name"] for node in ground.nodes())
    with (
        prometheus({first: 95, second: 5}) as one,
        prometheus({first: 5, second: 95}) as other,
        ground.daemon(tmp_path, f"--scheduler-conf={file}") as daemon,
    ):
        assert measured(daemon.get_json("/debug/snapshot")) == {}

        for number, (address, idle, busy) in enumerate([(one, second, first), (other, first, second)]):
            file.write_text(f"{TIERS}metrics: {{type: prometheus, address: '{address}', interval: 1s}}\n")
            loads = {busy: 95, idle: 5}
            daemon.wait_for(partial(has_measured, daemon, loads))
            ground.gang(f"measured-{number}", 3)
            daemon.wait_for(partial(ground.is_placed, f"measured-{number}"))
            assert set(ground.nodes_of(f"measured-{number}")) == {idle}

        seen = tmp_path / "seen.json"
        seen.write_text(pending_again(daemon.get("/debug/snapshot"), "measured-1"))
    options = ("--scheduler-name", ground.name, "--config", str(file), "-o", "json")
    assert main(["simulate", "-f", str(seen), *options]) == 0
    binds = json.loads(capsys.readouterr().out)["rounds"][0]["binds"]
    assert set(binds.values()) == {first}
    assert len(binds) == 3


def measured(dump: Any) -> dict[str, float]:
    """Return the loads in a dump, CPU percent by node."""
    found = (item for item in dump["items"] if item["kind"] == "NodeUsage")
    return {item["metadata"]["name"]: item["cpuPercent"] for item in found}


def has_measured(daemon: Daemon, loads: Mapping[str, float]) -> bool:
    """Return whether these are the loads that a daemon knows of."""
    return measured(daemon.get_json("/debug/snapshot")) == loads


def pending_again(dump: str, gang: str) -> str:
    """Take a gang off its nodes in a dump."""
    seen = json.loads(dump)
    for item in seen["items"]:
        if item["kind"] == "Pod" and item["metadata"]["name"].startswith(gang):
            del item["spec"]["nodeName"]
            item["status"] = {"phase": "Pending"}
    return json.dumps(seen)
