"""Coming from Volcano: what is said of an installation."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from pyroclast.scheduler.cli.main import main
from pyroclast.scheduler.migration.rules import Note, Weight, check_objects
from pyroclast.scheduler.registry import load_registry

CONFIGURATION = """actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: predicates
  - name: proportion
  - name: nodeorder
"""


def named(kind: str, name: str = "x", **more: Any) -> dict[str, Any]:
    """Return an object."""
    return {"kind": kind, "metadata": {"name": name}, **more}


def config_map(text: str) -> dict[str, Any]:
    """Return the ConfigMap of Volcano's chart."""
    return named("ConfigMap", "volcano-scheduler-configmap", data={"volcano-scheduler.conf": text})


def scheduler(*args: str, replicas: int = 0) -> dict[str, Any]:
    """Return the Deployment of Volcano's scheduler."""
    container = {"name": "volcano-scheduler", "image": "volcanosh/vc-scheduler:v1.12", "args": list(args)}
    return named(
        "Deployment",
        "volcano-scheduler",
        spec={"replicas": replicas, "template": {"spec": {"containers": [container]}}},
    )


def notes_of(*objects: dict[str, Any]) -> list[Note]:
    """Look objects over beside a good configuration."""
    return check_objects([config_map(CONFIGURATION), *objects], load_registry())


def test_the_chart_s_installation_must_scale_down_first() -> None:
    """Its flags and its configuration are good; that its scheduler still runs is what stops."""
    flags = ("--logtostderr", "--scheduler-conf=/volcano.scheduler/volcano-scheduler.conf", "-v=3", "2>&1")
    notes = notes_of(scheduler(*flags, replicas=1))

    assert [(note.weight, note.path) for note in notes] == [(Weight.NOTE, "args"), (Weight.STOPS, "spec.replicas")]
    assert "--logtostderr: without effect" in notes[0].message


def test_a_wrong_flag_stops() -> None:
    """What the scheduler would refuse at its start is said with its words."""
    (note,) = notes_of(scheduler("--schedule-period=often"))

    assert note.weight is Weight.STOPS
    assert "--schedule-period" in note.message


def test_a_period_of_ones_own_differs() -> None:
    """Cycles no longer wait for it; the default needs no word."""
    (note,) = notes_of(scheduler("--schedule-period=5s"))

    assert (note.weight, note.path) == (Weight.DIFFERS, "args")
    assert "--wake-on-change=false" in note.message
    assert notes_of(scheduler("--schedule-period=1s")) == []


def test_the_configuration_is_read_as_the_scheduler_reads_it() -> None:
    """An unknown action stops, an unknown plugin is skipped and so differs."""
    unknown = CONFIGURATION.replace("name: nodeorder", "name: own-plugin")
    wrong = CONFIGURATION.replace("backfill", "backfil")
    registry = load_registry()

    assert [note.weight for note in check_objects([config_map(unknown)], registry)] == [Weight.DIFFERS]
    (note,) = check_objects([config_map(wrong)], registry)
    assert (note.weight, note.about) == (Weight.STOPS, "ConfigMap volcano-scheduler-configmap")
    assert "backfill" in note.message


def test_without_a_configuration_that_is_said() -> None:
    """No output does not mean agreement."""
    (note,) = check_objects([named("Namespace")], load_registry())

    assert "configuration itself was not checked" in note.message


@pytest.mark.parametrize(
    ("thing", "weight", "path"),
    [
        (
            named(
                "ValidatingWebhookConfiguration",
                webhooks=[{"name": "v", "clientConfig": {"service": {"name": "volcano-admission-service"}}}],
            ),
            Weight.STOPS,
            "webhooks[0]",
        ),
        (named("CustomResourceDefinition", "hyperjobs.training.volcano.sh"), Weight.DIFFERS, ""),
        (named("CustomResourceDefinition", "queues.scheduling.volcano.sh"), Weight.NOTE, ""),
        (named("PodGroup", spec={"minMember": 0}), Weight.DIFFERS, "spec.minMember"),
        (
            named("PodGroup", spec={"minMember": 1, "subGroupPolicy": [{"networkTopology": {}}]}),
            Weight.DIFFERS,
            "spec.subGroupPolicy[0].networkTopology",
        ),
        (
            named("Queue", spec={"capability": {"cpu": "0"}}, status={"state": "Open"}),
            Weight.NOTE,
            "spec.capability.cpu",
        ),
        (named("Queue", spec={}), Weight.DIFFERS, "status.state"),
        (
            named("Queue", spec={"extendClusters": [{"name": "far"}]}, status={"state": "Open"}),
            Weight.DIFFERS,
            "spec.extendClusters",
        ),
        (
            named("Pod", spec={"containers": [{"resources": {"limits": {"huawei.com/Ascend310P": "1"}}}]}),
            Weight.DIFFERS,
            "spec.containers[0].resources",
        ),
    ],
    ids=lambda value: value["kind"] if isinstance(value, dict) else "",
)
def test_objects_are_looked_over(thing: dict[str, Any], weight: Weight, path: str) -> None:
    """Each difference has its weight and its place."""
    (note,) = notes_of(thing)

    assert (note.weight, note.path) == (weight, path)
    assert note.about.startswith(thing["kind"])


def test_what_is_alike_is_not_spoken_of() -> None:
    """Objects of others, and Volcano's that behave the same."""
    others = named(
        "ValidatingWebhookConfiguration", webhooks=[{"name": "o", "clientConfig": {"service": {"name": "o"}}}]
    )
    group = named("PodGroup", spec={"minMember": 2, "networkTopology": {"mode": "soft"}})
    aligned = named("Job", spec={"tasks": [{"topologyPolicy": "restricted"}]})

    assert notes_of(others, group, aligned, named("CustomResourceDefinition", "things.example.com")) == []


def test_definitions_of_our_own_are_not_volcanos() -> None:
    """A check after the install, of the cluster or of the chart's files, takes none of them for what was there."""
    files = sorted((Path(__file__).parents[3] / "config" / "crd").glob("*.yaml"))

    assert len(files) >= 10
    assert notes_of(*(yaml.safe_load(file.read_text()) for file in files)) == []


@pytest.mark.parametrize("broken", [{"spec": "x"}, {"spec": {"tasks": None}}, {"metadata": None}, {"data": None}])
def test_objects_of_any_form_are_survived(broken: dict[str, Any]) -> None:
    """A file may hold anything under the name of a kind: what cannot be read is named."""
    for kind in ("PodGroup", "Queue", "Pod", "Job", "Deployment", "ConfigMap", "MutatingWebhookConfiguration"):
        check_objects([{"kind": kind, "metadata": {"name": "x"}, **broken}], load_registry())


def test_a_broken_object_is_named() -> None:
    """The rest is looked over all the same."""
    notes = notes_of(named("PodGroup", "odd", spec="x"), named("Queue", spec={}))

    assert [(note.about, note.weight) for note in notes] == [
        ("PodGroup odd", Weight.STOPS),
        ("Queue x", Weight.DIFFERS),
    ]


def test_the_command_reads_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As JSON too; the status says whether something stops."""
    file = tmp_path / "volcano.json"
    file.write_text(json.dumps({"kind": "List", "items": [config_map(CONFIGURATION), scheduler(replicas=1)]}))

    assert main(["migrate", "check", "-f", str(file)]) == 1
    assert "stops: Deployment volcano-scheduler: spec.replicas: " in capsys.readouterr().out
    assert main(["migrate", "check", "-f", str(file), "-o", "json"]) == 1
    assert json.loads(capsys.readouterr().out)[0]["weight"] == "stops"
    assert main(["migrate", "check", "-f", str(tmp_path / "none.yaml")]) == 2
    assert "none.yaml" in capsys.readouterr().err
