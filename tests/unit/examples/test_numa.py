"""The example about NUMA nodes comes out as its page says."""

import json
from pathlib import Path
from typing import Any

import pytest

from pyroclast.scheduler.simulation.main import main

EXAMPLE = Path(__file__).parents[3] / "examples" / "03-numa"


def decided(cluster: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """What one cycle makes of the example's objects."""
    assert main(["--config", str(EXAMPLE / "scheduler.yaml"), "-f", str(cluster), "-o", "json"]) == 0
    first: dict[str, Any] = json.loads(capsys.readouterr().out)["rounds"][0]
    return first


def test_two_are_aligned_and_the_third_waits(capsys: pytest.CaptureFixture[str]) -> None:
    """With the reason that the page quotes."""
    found = decided(EXAMPLE / "cluster.yaml", capsys)
    reason = "0/1 nodes are unavailable: 1 container solver cannot be assigned by numa."

    assert found["binds"] == {"default/solve-0": "machine", "default/solve-1": "machine"}
    assert reason in json.dumps(found)
    assert reason in (EXAMPLE / "README.md").read_text()


def test_best_effort_takes_all_three(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What the page proposes to try."""
    cluster = tmp_path / "cluster.yaml"
    cluster.write_text((EXAMPLE / "cluster.yaml").read_text().replace("single-numa-node", "best-effort"))

    assert set(decided(cluster, capsys)["binds"]) == {f"default/solve-{number}" for number in range(3)}
