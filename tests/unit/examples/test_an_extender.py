"""The extender of the third example, asked by `simulate`."""

import importlib.util
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pyroclast.scheduler.simulation.main import main

EXAMPLE = Path(__file__).parents[3] / "examples" / "04-an-extender"
README = (EXAMPLE / "README.md").read_text()
ADDRESS = "127.0.0.1:8713"


def example() -> Any:
    """Return the extender's module."""
    spec = importlib.util.spec_from_file_location("an_extender", EXAMPLE / "extender.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextmanager
def serving(drained: Collection[str]) -> Iterator[str]:
    """Run it on a free port; gives the address."""
    with example().server(0, drained) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def simulated(folder: Path, address: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Decide for the example's cluster with an extender at this address."""
    config = folder / "scheduler.yaml"
    text = (EXAMPLE / "scheduler.yaml").read_text()
    assert ADDRESS in text
    config.write_text(text.replace(ADDRESS, address))
    assert main(["--ask-extenders", "--config", str(config), "-f", str(EXAMPLE / "cluster.yaml")]) == 0
    return capsys.readouterr().out


def test_the_outcome_is_that_of_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The drained rack takes no pods, and the others are filled in order."""
    with serving(["r1"]) as address:
        told = simulated(tmp_path, address, capsys)

    expected = README.split("## Expected outcome", 1)[1].split("```\n", 2)[1].splitlines()
    assert [line.split() for line in told.splitlines()[: len(expected)]] == [line.split() for line in expected]


def test_without_drained_racks_the_first_is_filled_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Scores alone decide."""
    with serving([]) as address:
        told = simulated(tmp_path, address, capsys)

    assert told.count("machine-a") == 2
    assert told.count("machine-b") == 1


def test_where_it_is_away_the_gang_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No pod is placed."""
    with serving([]) as address:
        pass
    told = simulated(tmp_path, address, capsys)

    assert "Placed: 0" in told
    assert "failed batchPredicate with extender at URL" in told
