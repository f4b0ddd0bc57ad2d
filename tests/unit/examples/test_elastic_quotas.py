"""The example about elastic quotas comes out as its page says."""

import json
from pathlib import Path
from typing import Any

import pytest

from pyroclast.scheduler.simulation.main import main

EXAMPLE = Path(__file__).parents[3] / "examples" / "05-elastic-quotas"


def decided(capsys: pytest.CaptureFixture[str], *flags: str) -> list[dict[str, Any]]:
    """What six cycles make of the example's objects."""
    files = ["--config", str(EXAMPLE / "scheduler.yaml"), "-f", str(EXAMPLE / "cluster.yaml")]
    assert main([*files, "--rounds", "6", "-o", "json", *flags]) == 0
    rounds: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["rounds"]
    return rounds


def test_the_guarantee_comes_back(capsys: pytest.CaptureFixture[str]) -> None:
    """After two seconds four go and the other four are bound."""
    rounds = decided(capsys)
    evicted = [name for each in rounds for name in each["evictions"]]
    bound = {name for each in rounds for name in each["binds"]}

    assert [bool(each["evictions"]) for each in rounds[:4]] == [False, False, False, True]
    assert len(evicted) == 4
    assert all(name.startswith("default/study-") for name in evicted)
    assert bound == {f"default/launch-{number}" for number in range(4)}


def test_a_returning_pod_waits(capsys: pytest.CaptureFixture[str]) -> None:
    """With the reason that the page quotes."""
    reason = (
        "Insufficient quotas: quota research would exceed its runtime of cpu: "
        "its guarantee and the unused part of other quotas"
    )

    assert reason in json.dumps(decided(capsys, "--recreate-evicted")[-1])
    assert reason in (EXAMPLE / "README.md").read_text()
