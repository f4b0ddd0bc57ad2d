"""The plugin of Volcano's developer guide, as the seventh example ships it."""

import json
from pathlib import Path
from typing import Any

import pytest

from pyroclast.scheduler.simulation.main import main

EXAMPLE = Path(__file__).parents[3] / "examples" / "07-resource-affinity"


def first_round(capsys: pytest.CaptureFixture[str], configuration: Path, cluster: Path) -> Any:
    """Return the first round of a simulation with the example's plugin."""
    arguments = ["--plugins-dir", str(EXAMPLE), "--config", str(configuration), "-f", str(cluster), "-o", "json"]
    assert main(arguments) == 0
    return json.loads(capsys.readouterr().out)["rounds"][0]


def edited(tmp_path: Path, name: str, before: str, after: str) -> Path:
    """Return a copy of one of the example's files with a text replaced."""
    text = (EXAMPLE / name).read_text()
    assert before in text
    (tmp_path / name).write_text(text.replace(before, after))
    return tmp_path / name


def test_nodes_of_the_group_are_preferred(capsys: pytest.CaptureFixture[str]) -> None:
    """Two pods fit on the preferred node; the third is placed on the other one."""
    binds = first_round(capsys, EXAMPLE / "scheduler.yaml", EXAMPLE / "cluster.yaml")["binds"]

    assert sorted(binds.values()) == ["machine-a", "machine-b", "machine-b"]


def test_required_nodes_refuse_all_others_with_their_reason(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """With `require-match` the gang waits, and the reason names the group."""
    required = edited(tmp_path, "scheduler.yaml", 'require-match: "false"', 'require-match: "true"')
    outcome = first_round(capsys, required, EXAMPLE / "cluster.yaml")

    assert outcome["binds"] == {}
    assert "1 Insufficient cpu, 1 node(s) not in group gpu-a100" in json.dumps(outcome)


@pytest.mark.parametrize("group", ["gpu-v100", "gpu-a100"])
def test_the_annotation_decides_which_nodes_are_preferred(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, group: str
) -> None:
    """Two of three pods run in the group that the PodGroup's annotation names."""
    cluster = edited(tmp_path, "cluster.yaml", "preferred-node-group: gpu-a100", f"preferred-node-group: {group}")
    binds = first_round(capsys, EXAMPLE / "scheduler.yaml", cluster)["binds"]

    preferred = {"gpu-v100": "machine-a", "gpu-a100": "machine-b"}[group]
    assert list(binds.values()).count(preferred) == 2


def test_a_job_without_the_annotation_has_no_preference(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """It is scheduled as without the plugin, also where a match is required."""
    required = edited(tmp_path, "scheduler.yaml", 'require-match: "false"', 'require-match: "true"')
    cluster = edited(tmp_path, "cluster.yaml", "volcano.sh/preferred-node-group", "example.com/other")

    assert len(first_round(capsys, required, cluster)["binds"]) == 3
