"""`pyroclast job` on the emulator."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.scheduler.vcctl.conftest import BATCH, Person

JOBS = f"{BATCH}/namespaces/default/jobs"
TASK = {"name": "work", "replicas": 3, "template": {"spec": {"containers": [{"name": "main", "image": "busybox"}]}}}


async def make_job(person: Person, name: str, place: str = JOBS, **spec: Any) -> dict[str, Any]:
    """Create a job of one task."""
    return await person.makes(place, "Job", name, spec={"tasks": [TASK], "minAvailable": 2, **spec})


async def test_jobs_are_listed(person: Person) -> None:
    """Pods are counted by phase, as the controller has written; the gang size in force comes before that wished."""
    await make_job(person, "train")
    await person.sets_status(
        f"{JOBS}/train", {"state": {"phase": "Running"}, "minAvailable": 3, "running": 2, "pending": 1, "retryCount": 4}
    )

    heads, cells = (await person.types("job", "list")).table

    assert heads == [
        *("NAME", "PHASE", "JOBTYPE", "REPLICAS", "MIN", "PENDING", "RUNNING", "SUCCEEDED", "FAILED", "UNKNOWN"),
        *("RETRYCOUNT", "AGE"),
    ]
    assert cells[:-1] == ["train", "Running", "Batch", "3", "3", "1", "2", "0", "0", "0", "4"]


async def test_jobs_of_all_namespaces(person: Person) -> None:
    """`-A` puts the namespace first; `-n` looks in one."""
    await person.makes("/api/v1/namespaces", "Namespace", "team")
    await make_job(person, "train")
    await make_job(person, "tune", place=f"{BATCH}/namespaces/team/jobs")

    everywhere = (await person.types("job", "list", "-A")).table
    there = await person.types("job", "list", "-n", "team", "-o", "name")

    assert [cells[:2] for cells in everywhere] == [["NAMESPACE", "NAME"], ["default", "train"], ["team", "tune"]]
    assert there.out == "job.batch.volcano.sh/tune"


async def test_the_namespace_of_the_context_counts(person: Person, tmp_path: Path) -> None:
    """Without `-n` the context of the kubeconfig says where to look."""
    config = yaml.safe_load((tmp_path / "kubeconfig").read_text())
    config["contexts"][0]["context"]["namespace"] = "team"
    own = tmp_path / "own"
    own.write_text(yaml.safe_dump(config))

    said = await person.types("job", "list", "--kubeconfig", str(own))

    assert said.err == "No resources found in team namespace."


@pytest.mark.parametrize(
    "flags",
    [("--queue", "research"), ("--scheduler", "other"), ("--selector", "team=a"), ("-q", "research", "-S", "other")],
)
async def test_jobs_are_picked_out(person: Person, flags: tuple[str, ...]) -> None:
    """Selected by queue, by scheduler and by labels."""
    await make_job(person, "plain")
    await person.makes(
        *(JOBS, "Job", "meant"),
        metadata={"labels": {"team": "a"}},
        spec={"tasks": [TASK], "queue": "research", "schedulerName": "other"},
    )

    assert (await person.types("job", "list", "-o", "name", *flags)).out == "job.batch.volcano.sh/meant"


async def test_pods_on_lent_room_are_counted(person: Person) -> None:
    """Those of the job that have the annotation; without any there is no line."""
    await make_job(person, "train")
    await make_job(person, "tune")
    for number, annotations in enumerate(({"scheduling.pyroclast.io/lent": "true"}, {})):
        await person.makes(
            *("/api/v1/namespaces/default/pods", "Pod", f"train-{number}"),
            metadata={"labels": {"volcano.sh/job-name": "train"}, "annotations": annotations},
            spec={"containers": [{"name": "main", "image": "busybox"}]},
        )

    shown = [(await person.types("job", "view", name)).out for name in ("train", "tune")]

    assert "On Lent Room:   1" in shown[0].splitlines()
    assert "On Lent Room" not in shown[1]


async def test_a_job_is_described(person: Person) -> None:
    """Its spec, its status, and its events without those of an earlier job of its name."""
    job = await make_job(person, "train", queue="research", plugins={"svc": [], "env": ["--x"]})
    await person.sets_status(
        f"{JOBS}/train",
        {
            "state": {"phase": "Pending", "reason": "Waiting", "message": "for room"},
            "pending": 3,
            "taskStatusCount": {"work": {"phase": {"Pending": 3}}},
            "conditions": [{"status": "Pending", "lastTransitionTime": "2026-01-02T03:04:05Z"}],
        },
    )
    for name, uid, message in (("train.1", job["metadata"]["uid"], "no room"), ("train.0", "another", "long ago")):
        await person.makes(
            *("/api/v1/namespaces/default/events", "Event", name),
            involvedObject={"kind": "Job", "name": "train", "namespace": "default", "uid": uid},
            reason="FailedScheduling",
            type="Warning",
            message=message,
            source={"component": "volcano"},
            firstTimestamp="2026-01-02T03:04:05Z",
            lastTimestamp="2026-01-02T03:04:05Z",
        )

    lines = [" ".join(line.split()) for line in (await person.types("job", "view", "train")).out.splitlines()]

    for line in (
        *("Name: train", "Namespace: default", "Labels: <none>", "Queue: research", "Min Available: 2"),
        *("Plugins: env --x", "svc", "NAME REPLICAS MIN IMAGES PODS", "work 3 3 busybox Pending=3"),
        *("Phase: Pending", "Cause: Waiting for room", "Pods: 3 Pending", "Phases: 2026-01-02T03:04:05Z Pending"),
        "TYPE REASON AGE FROM MESSAGE",
    ):
        assert line in lines
    assert next(line for line in lines if line.startswith("Warning")).endswith("volcano no room")
    assert "long ago" not in " ".join(lines)


async def test_the_gang_size_in_force_is_shown(person: Person) -> None:
    """What the controller made of it, where the spec leaves it open and no webhook filled it in."""
    await make_job(person, "train", minAvailable=0)
    await person.sets_status(f"{JOBS}/train", {"minAvailable": 3})

    assert "Min Available:  3" in (await person.types("job", "view", "train")).out


async def test_what_kubectl_applied_is_not_shown_again(person: Person) -> None:
    """Other annotations are; as `kubectl describe` does."""
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": '{"spec":{}}\n', "team": "vision"}
    metadata = {"name": "train", "annotations": annotations}
    await person.makes(JOBS, "Job", "train", metadata=metadata, spec={"tasks": [TASK]})

    said = (await person.types("job", "view", "train")).out

    assert "Annotations:    team=vision\nCreated:" in said


async def test_a_job_is_run_from_flags(person: Person) -> None:
    """One task of one container, with Volcano's defaults for what is not said."""
    said = await person.types(
        "job", "run", "hello", "-r", "3", "-m", "2", "-q", "research", "--command", "sleep", "-f", "5"
    )

    spec = (await person.reads(f"{JOBS}/hello"))["spec"]
    assert said.out == "job.batch.volcano.sh/hello created"
    assert (spec["schedulerName"], spec["minAvailable"], spec["queue"]) == ("volcano", 2, "research")
    (task,) = spec["tasks"]
    amounts = {"cpu": "1000m", "memory": "100Mi"}
    assert task["replicas"] == 3
    assert task["template"]["spec"] == {
        "restartPolicy": "Never",
        "containers": [
            {
                "name": "hello",
                "image": "busybox",
                "imagePullPolicy": "IfNotPresent",
                "resources": {"requests": amounts, "limits": amounts},
                "command": ["sleep", "-f", "5"],
            }
        ],
    }


async def test_jobs_are_run_from_a_manifest(person: Person, tmp_path: Path) -> None:
    """Every job of the file, each in its own namespace if it names one."""
    await person.makes("/api/v1/namespaces", "Namespace", "team")
    job = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "spec": {"tasks": [TASK]}}
    path = tmp_path / "jobs.yaml"
    documents = [{**job, "metadata": {"name": "a"}}, {**job, "metadata": {"name": "b", "namespace": "team"}}]
    path.write_text(yaml.safe_dump_all(documents))

    said = await person.types("job", "run", "-f", str(path), "-o", "name")

    assert said.out.splitlines() == ["job.batch.volcano.sh/a", "job.batch.volcano.sh/b"]
    assert (await person.reads(f"{BATCH}/namespaces/team/jobs/b"))["spec"]["tasks"] == [TASK]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("kind: Job\napiVersion: batch/v1\n", "got Job of batch/v1, expected Job of batch.volcano.sh/v1alpha1"),
        ("", "no objects passed to create"),
        ("- 1\n", "document 1: expected an object, got int"),
        ("kind: [\n", "neither YAML nor JSON: "),
        ("kind: Job\nkind: Job\n", "neither YAML nor JSON: the key 'kind' is repeated; is a '---' missing?"),
        ("apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\n", "metadata is missing"),
    ],
)
async def test_a_manifest_of_something_else(person: Person, tmp_path: Path, text: str, fault: str) -> None:
    """The file and what is wrong with it are named."""
    path = tmp_path / "job.yaml"
    path.write_text(text)

    said = await person.types("job", "run", "-f", str(path))

    assert said.status == 1
    assert said.err.startswith(f"error: {path}: {fault}")


async def test_a_manifest_that_is_not_there(person: Person, tmp_path: Path) -> None:
    """In plain words, and its name once."""
    path = tmp_path / "nothing.yaml"

    said = await person.types("job", "run", "-f", str(path))

    assert (said.status, said.err) == (1, f"error: {path}: No such file or directory")


async def test_a_manifest_says_what_kubectl_would_read(person: Person, tmp_path: Path) -> None:
    """A day and a time of day are texts there, not dates and numbers of base 60."""
    path = tmp_path / "job.yaml"
    metadata = "{name: a, annotations: {day: 2026-01-01, at: 10:30}}"
    spec = json.dumps({"tasks": [TASK]})
    path.write_text(f"apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {metadata}\nspec: {spec}\n")

    await person.types("job", "run", "-f", str(path))

    made = await person.reads(f"{BATCH}/namespaces/default/jobs/a")
    assert made["metadata"]["annotations"] == {"day": "2026-01-01", "at": "10:30"}


async def test_a_manifest_for_another_namespace(person: Person, tmp_path: Path) -> None:
    """Two namespaces that differ are a mistake, not a choice."""
    path = tmp_path / "job.yaml"
    path.write_text(
        "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: a, namespace: team}\nspec: {tasks: []}\n"
    )

    said = await person.types("job", "run", "-f", str(path), "-n", "default")

    assert said.status == 1
    assert 'the namespace from the provided object "team" does not match the namespace "default"' in said.err


async def test_several_jobs_are_run(person: Person) -> None:
    """One that the server refuses stops none of the others."""
    await make_job(person, "b")

    said = await person.types("job", "run", "a", "b", "c")

    assert said.out.splitlines() == ["job.batch.volcano.sh/a created", "job.batch.volcano.sh/c created"]
    assert said.err.startswith("Error from server (AlreadyExists)")
    assert said.status == 1


@pytest.mark.parametrize(("word", "action"), [("suspend", "AbortJob"), ("resume", "ResumeJob")])
async def test_commands_to_the_controllers(person: Person, word: str, action: str) -> None:
    """A Command beside the job asks for it."""
    job = await make_job(person, "train")

    said = await person.types("job", word, "train")

    (command,) = (await person.reads("/apis/bus.volcano.sh/v1alpha1/namespaces/default/commands"))["items"]
    assert said.out == f"job.batch.volcano.sh/train {word} requested"
    assert (command["action"], command["target"]["uid"]) == (action, job["metadata"]["uid"])
    assert command["metadata"]["name"].startswith(f"train-{action.lower()}-")


async def test_several_jobs_are_deleted(person: Person) -> None:
    """One that is not there stops none of the others."""
    await make_job(person, "a")
    await make_job(person, "c")

    said = await person.types("job", "delete", "a", "b", "c")

    assert said.out.splitlines() == ['job.batch.volcano.sh "a" deleted', 'job.batch.volcano.sh "c" deleted']
    assert said.err == 'Error from server (NotFound): jobs.batch.volcano.sh "b" not found'
    assert said.status == 1


async def test_a_job_that_cannot_be_read_is_left_out_of_the_table(person: Person) -> None:
    """It is named, the rest is shown, and the status says that something is wrong."""
    await make_job(person, "good")
    definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/jobs.batch.volcano.sh"
    body = await person.reads(definition)
    body["spec"]["versions"][0]["schema"] = {
        "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    }
    await person.client.request_json("PUT", definition, body=body)
    await person.makes(JOBS, "Job", "broken", spec={"minAvailable": "many"})

    said = await person.types("job", "list")

    assert [cells[0] for cells in said.table] == ["NAME", "good"]
    assert said.err.startswith("warning: ")
    assert said.status == 1

    await person.types("job", "delete", "good")
    alone = await person.types("job", "list", "--no-headers")
    assert (alone.status, alone.out) == (1, "")
    assert alone.err.startswith("warning: ")


async def test_one_name_and_all_namespaces_exclude_each_other(person: Person) -> None:
    """A name says nothing without its namespace."""
    said = await person.types("job", "list", "train", "-A")

    assert said.err == "error: a resource cannot be retrieved by name across all namespaces"


async def test_a_job_as_json(person: Person) -> None:
    """`view -o json` gives the object itself."""
    await make_job(person, "train")

    assert json.loads((await person.types("job", "view", "train", "-o", "json")).out)["metadata"]["name"] == "train"
