"""The device plugin of the eighth example: which cameras pods get, also after an undo, an eviction and a restart."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from pyroclast.scheduler.simulation.main import main
from pyroclast.testing import Outcome, Scenario
from tests.nodenuma import pinned, run, status_of, topology

EXAMPLE = Path(__file__).parents[3] / "examples" / "08-a-device"
CAMERA = {"example.com/camera": 1}
CAMERAS = "example.com/cameras"
NAME = "example.com/camera-name"


def cameras() -> Any:
    """Return the plugin's class."""
    spec = importlib.util.spec_from_file_location("cameras", EXAMPLE / "cameras.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Cameras


def node(scenario: Scenario, name: str, *names: str, count: int | None = None, **more: Any) -> Scenario:
    """Add a node with cameras."""
    amounts = {"example.com/camera": len(names) if count is None else count}
    return scenario.node(name, resources=amounts, annotations={CAMERAS: ",".join(names)}, **more)


def given(outcome: Outcome) -> dict[str, str]:
    """Return the cameras that each pod was bound with."""
    binds = [bind for each in outcome.rounds for plan in each.plans for bind in plan.binds]
    return {bind.name: bind.annotations.get(CAMERAS, "") for bind in binds}


ONE = node(Scenario(), "n1", "front", "rear")


def test_each_pod_gets_cameras_of_its_own() -> None:
    """In one plan, and named in the annotation of its bind."""
    outcome = ONE.job("a", tasks=2, resources=CAMERA).run("allocate", plugins=("gang", "predicates", cameras()))

    assert given(outcome) == {"a-0": "front", "a-1": "rear"}


@pytest.mark.parametrize("text", ["front,rear", "rear,rear", "", "none"])
def test_a_running_pod_has_as_many_cameras_as_it_asks_for(text: str) -> None:
    """Whatever its annotation names: neither does it block the others, nor is its own one given to another pod."""
    scenario = ONE.pod("old", node="n1", resources=CAMERA, annotations={CAMERAS: text}).job(
        "a", tasks=2, min_available=1, resources=CAMERA
    )
    outcome = scenario.run("allocate", plugins=("gang", "predicates", cameras()))

    assert list(given(outcome).values()) == [
        {"front,rear": "rear", "rear,rear": "front", "": "rear", "none": "rear"}[text]
    ]


def test_pods_without_cameras_are_no_concern() -> None:
    """Neither asked about nor annotated."""
    outcome = ONE.job("a", tasks=2).run("allocate", plugins=("gang", "predicates", cameras()))

    assert given(outcome) == {"a-0": "", "a-1": ""}


def test_a_named_camera_decides_the_node() -> None:
    """Pods of one template may name different ones."""
    scenario = node(ONE, "n2", "left").job("a", tasks=0, min_available=2)
    for number, named in enumerate(("left", "rear")):
        scenario = scenario.pod(f"a-{number}", job="a", resources=CAMERA, annotations={NAME: named})
    outcome = scenario.run("allocate", plugins=("gang", "predicates", cameras()))

    assert outcome.bindings == {"a-0": "n2", "a-1": "n1"}
    assert given(outcome) == {"a-0": "left", "a-1": "rear"}


def test_running_pods_hold_what_their_annotations_name() -> None:
    """Read anew in each session, as after a restart; a pod that requests none holds none."""
    scenario = ONE.job("old", tasks=1, running_on=("n1",), resources=CAMERA, annotations={CAMERAS: "front"})
    scenario = scenario.job("liar", tasks=1, running_on=("n1",), annotations={CAMERAS: "rear"})
    outcome = scenario.job("a", resources=CAMERA).run("allocate", plugins=("gang", "predicates", cameras()))

    assert given(outcome) == {"a-0": "rear"}


def test_a_gang_that_does_not_fit_gives_everything_back() -> None:
    """The next job gets the cameras that its members had."""
    scenario = node(Scenario(), "n1", "front", "rear", count=4).job("big", tasks=3, resources=CAMERA, priority=9)
    outcome = scenario.job("small", tasks=2, resources=CAMERA).run(
        "allocate", plugins=("priority", "gang", "predicates", cameras())
    )

    assert given(outcome) == {"small-0": "front", "small-1": "rear"}
    assert "without enough free cameras" in outcome.why("big")


def test_preemption_frees_a_camera_for_a_pod_that_waits_for_it() -> None:
    """It is given once the victim is gone."""
    scenario = node(Scenario().priority_class("high", 9), "n1", "front", count=2)
    scenario = scenario.job(
        "low", min_available=0, running_on=("n1",), resources=CAMERA, annotations={CAMERAS: "front"}
    )
    scenario = scenario.job("high", resources=CAMERA, priority_class="high", priority=9)
    plugins = ("priority", "gang", "conformance", "predicates", cameras())
    outcome = scenario.run("enqueue", "allocate", "preempt", plugins=plugins, cycles=3)

    assert list(outcome.evictions) == ["low-0"]
    assert given(outcome) == {"high-0": "front"}


def test_cameras_and_cpus_come_from_one_numa_node() -> None:
    """With the plugin nodenuma: the only camera is in the second NUMA node, so the CPUs come from there."""
    machine = node(Scenario(), "n1", "left@1").add(topology("n1"))
    scenario = pinned(machine, "p", 2, numa="SingleNUMANode", resources=CAMERA)
    outcome = run(scenario, plugins=("gang", "predicates", "nodenuma", cameras()))
    without = run(pinned(machine, "p", 2, numa="SingleNUMANode"), plugins=("gang", "predicates", "nodenuma", cameras()))

    assert (status_of(outcome)["cpuset"], given(outcome)) == ("2,6", {"p-0": "left"})
    assert status_of(without)["cpuset"] == "0,4"


def simulated(capsys: pytest.CaptureFixture[str], cluster: Path) -> Any:
    """Return the first round of a simulation."""
    arguments = ["--plugins-dir", str(EXAMPLE), "--config", str(EXAMPLE / "scheduler.yaml"), "-f", str(cluster)]
    assert main([*arguments, "-o", "json"]) == 0
    return json.loads(capsys.readouterr().out)["rounds"][0]


def test_the_folder_works_as_its_page_says(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Placed as written; with a camera that no node has, the gang waits with the reason."""
    cluster = EXAMPLE / "cluster.yaml"
    assert simulated(capsys, cluster)["binds"] == {
        "default/film-0": "machine-a",
        "default/film-1": "machine-a",
        "default/film-2": "machine-b",
    }

    (tmp_path / "cluster.yaml").write_text(cluster.read_text().replace("camera-name: rear", "camera-name: top"))
    waiting = simulated(capsys, tmp_path / "cluster.yaml")

    assert waiting["binds"] == {}
    assert "0/2 nodes are unavailable: 2 node(s) without a free camera top." in json.dumps(waiting)
