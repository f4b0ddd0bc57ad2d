"""The example about gangs comes out as its page says."""

import json
from pathlib import Path
from typing import Any

import pytest

from pyroclast.scheduler.simulation.main import main

EXAMPLE = Path(__file__).parents[3] / "examples" / "06-two-gangs-one-start"


def decided(capsys: pytest.CaptureFixture[str], cluster: Path) -> list[dict[str, Any]]:
    """What two cycles make of a cluster."""
    files = ["--config", str(EXAMPLE / "scheduler.yaml"), "-f", str(cluster)]
    assert main([*files, "--rounds", "2", "-o", "json"]) == 0
    rounds: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["rounds"]
    return rounds


def test_both_gangs_start(capsys: pytest.CaptureFixture[str]) -> None:
    """The minimum of each is bound first, and no more."""
    first, second = decided(capsys, EXAMPLE / "cluster.yaml")
    assert set(first["binds"]) == {"ml/worker-0", "ml/worker-1", "ml/worker-2", "store/server-0"}
    assert second["binds"] == {}
    assert "ml/worker-3" in json.dumps(second)


def test_without_the_server_no_process_starts(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """With the reason that the page quotes."""
    documents = (EXAMPLE / "cluster.yaml").read_text().split("---\n")
    alone = tmp_path / "cluster.yaml"
    alone.write_text("---\n".join(each for each in documents if "server-0" not in each))
    rounds = decided(capsys, alone)
    reason = "the gang group is not complete: there is no gang store/servers"
    assert [each["binds"] for each in rounds] == [{}, {}]
    assert reason in json.dumps(rounds)
    assert reason in (EXAMPLE / "README.md").read_text()
