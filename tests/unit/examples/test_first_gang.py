"""The first example comes out as its page says."""

import json
from pathlib import Path
from typing import Any

import pytest

from pyroclast.scheduler.simulation.main import main

EXAMPLE = Path(__file__).parents[3] / "examples" / "01-first-gang"


@pytest.fixture
def decided(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """What one cycle makes of the example's objects."""
    assert main(["-f", str(EXAMPLE), "-o", "json"]) == 0
    first: dict[str, Any] = json.loads(capsys.readouterr().out)["rounds"][0]
    return first


def test_the_gang_is_bound_whole(decided: dict[str, Any]) -> None:
    """All four workers have a node."""
    assert sorted(decided["binds"]) == [f"default/train-{number}" for number in range(4)]


def test_the_gang_that_cannot_run_waits_whole_and_says_why(decided: dict[str, Any]) -> None:
    """Two members would fit; none is bound, and the reason names the third and what it lacks."""
    told = decided["refusals"]["default/too-big"]

    assert not any("too-big" in pod for pod in decided["binds"])
    assert any("too-big-2: 0/3 nodes are unavailable: 3 Insufficient cpu." in each["message"] for each in told)


def test_the_page_quotes_the_reason() -> None:
    """What the example's page shows is what is said."""
    assert "0/3 nodes are unavailable: 3 Insufficient cpu." in (EXAMPLE / "README.md").read_text()
