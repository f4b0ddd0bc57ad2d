"""The plugin of the second example, as a file of a plugins folder and as a class."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from pyroclast.scheduler.simulation.main import main
from pyroclast.testing import Scenario

EXAMPLE = Path(__file__).parents[3] / "examples" / "02-a-plugin"

CHEAP_AND_DEAR = (
    Scenario()
    .node("dear", cpu=8, labels={"example.com/price": "high"})
    .node("modest", cpu=8, labels={"example.com/price": "low"})
)


def prefer() -> Any:
    """Return the plugin's class."""
    spec = importlib.util.spec_from_file_location("prefer", EXAMPLE / "prefer.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Prefer


def test_a_labelled_node_is_preferred() -> None:
    """Without the plugin the lower name wins a tie; with it the label does."""
    cluster = CHEAP_AND_DEAR.job("render")

    assert cluster.run("allocate", plugins=("gang", "predicates")).bindings == {"render-0": "dear"}
    assert cluster.run("allocate", plugins=("gang", "predicates", prefer())).bindings == {"render-0": "modest"}


def test_a_preference_forbids_nothing() -> None:
    """Where the labelled node is full, the other serves."""
    outcome = CHEAP_AND_DEAR.job("render", tasks=3, cpu=4).run("allocate", plugins=("gang", "predicates", prefer()))

    assert sorted(outcome.bindings.values()) == ["dear", "modest", "modest"]


def test_the_folder_works_as_its_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    """`simulate` finds the plugin by its file's name, and its arguments count."""
    arguments = ["--plugins-dir", str(EXAMPLE), "--config", str(EXAMPLE / "scheduler.yaml")]

    assert main([*arguments, "-f", str(EXAMPLE / "cluster.yaml"), "-o", "json"]) == 0

    binds = json.loads(capsys.readouterr().out)["rounds"][0]["binds"]
    assert sorted(binds.values()) == ["machine-a", "machine-b", "machine-b"]
