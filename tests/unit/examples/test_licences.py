"""The plugin of the ninth example: seats of licences, which are objects of a custom resource."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from pyroclast.framework.extension.contract import ReconcileRequest
from pyroclast.scheduler.simulation.main import main
from pyroclast.testing import Scenario

EXAMPLE = Path(__file__).parents[3] / "examples" / "09-licences"
PLUGINS = ("gang", "predicates")
NEEDED = {"example.com/licence": "mesher"}


def module() -> Any:
    """Return the module of the plugin."""
    spec = importlib.util.spec_from_file_location("licences", EXAMPLE / "licences.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def licence(seats: Any, namespace: str = "default", **status: Any) -> dict[str, Any]:
    """Return a Licence."""
    metadata = {"name": "mesher", "namespace": namespace, "uid": "u"}
    spec = {"seats": seats}
    return {"apiVersion": "example.com/v1", "kind": "Licence", "metadata": metadata, "spec": spec, "status": status}


ONE = Scenario().node("n1", cpu=8)


def pods(scenario: Scenario, *names: str, **more: Any) -> Scenario:
    """Add single pods that need a seat."""
    for name in names:
        scenario = scenario.job(name, annotations=NEEDED, **more)
    return scenario


@pytest.mark.parametrize(("seats", "placed"), [(0, 0), (2, 2), (5, 3), ("5", 0)])
def test_as_many_pods_start_as_there_are_seats(seats: Any, placed: int) -> None:
    """Others wait, with the reason."""
    scenario = pods(ONE.add(licence(seats)), "a", "b", "c")
    outcome = scenario.run("allocate", plugins=(*PLUGINS, module().Licences))

    assert len(outcome.bindings) == placed
    if placed < 3:
        assert "seats of licence default/mesher are in use" in outcome.why("c")


def test_running_pods_hold_seats() -> None:
    """Read anew in each session."""
    scenario = pods(pods(ONE.add(licence(2)), "old", running_on=("n1",)), "a", "b")
    outcome = scenario.run("allocate", plugins=(*PLUGINS, module().Licences))

    assert list(outcome.bindings) == ["a-0"]


def test_a_licence_of_another_namespace_has_no_seats() -> None:
    """And pods that need none are no concern."""
    scenario = pods(ONE.add(licence(2, namespace="other")), "a").job("free")
    outcome = scenario.run("allocate", plugins=(*PLUGINS, module().Licences))

    assert list(outcome.bindings) == ["free-0"]
    assert "there is no licence default/mesher" in outcome.why("a")


def test_a_gang_that_does_not_fit_gives_its_seats_back() -> None:
    """The next job gets them."""
    scenario = ONE.add(licence(2)).job("big", tasks=3, annotations=NEEDED, priority=9)
    outcome = pods(scenario, "small").run("allocate", plugins=("priority", *PLUGINS, module().Licences))

    assert list(outcome.bindings) == ["small-0"]


async def test_the_controller_writes_the_number_of_used_seats_once() -> None:
    """Pods on nodes that have not ended count."""
    written: list[Any] = []

    class Api:
        async def merge(self, *arguments: Any, **options: Any) -> None:
            written.append((arguments[2], options))

    def pod(**changes: Any) -> dict[str, Any]:
        metadata = {"namespace": "default", "annotations": NEEDED}
        return {"metadata": metadata, "spec": {"nodeName": "n1"}, "status": {"phase": "Running"}} | changes

    known = {
        "a": pod(),
        "waiting": pod(spec={}),
        "ended": pod(status={"phase": "Succeeded"}),
        "other": pod(metadata={"namespace": "other", "annotations": NEEDED}),
    }
    for used in ({}, {"used": 1}):
        await module().count_seats(
            ReconcileRequest("default", "mesher", licence(2, **used), lambda _: known, Api())  # type: ignore[arg-type]
        )

    assert written == [({"status": {"used": 1}}, {"subresource": "status"})]


def test_the_folder_works_as_its_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    """The gang gets the two seats, and the third pod waits."""
    files = ["--config", str(EXAMPLE / "scheduler.yaml"), "-f", str(EXAMPLE / "cluster.yaml")]
    assert main(["--plugins-dir", str(EXAMPLE), *files, "-o", "json"]) == 0
    decided = json.loads(capsys.readouterr().out)["rounds"][0]

    assert decided["binds"] == {"default/solve-0": "machine-a", "default/solve-1": "machine-a"}
    assert "all 2 seats of licence default/mesher are in use" in json.dumps(decided)
