"""Extender: the JSON of the session's objects."""

from typing import Any

import msgspec

from pyroclast.framework.session.session import Session
from pyroclast.model import wire
from pyroclast.plugins.extender.bodies import Bodies, plain
from pyroclast.testing import Scenario
from tests.unit.plugins.extending import Service, opened

GIB = 2**30
CLUSTER = (
    Scenario()
    .queue("research", weight=3)
    .node("n1", cpu=8, memory="16Gi", gpu=4, labels={"zone": "a"}, annotations={"note": "x"})
    .running("old", on=["n1"], queue="research", cpu=2, memory="4Gi", gpu=1)
    .job("new", queue="research", tasks=2, min_available=2, cpu=1, memory="1Gi")
)

TASK = {
    "UID", "Job", "Name", "Namespace", "TaskRole", "Resreq", "InitResreq", "DRAResreq", "ResourceClaimKeys",
    "ResourceClaimDRAResreq", "NodeName", "EvictionOccurred", "JobAllocatedHyperNode", "Status",
    "LastTransaction", "Priority", "VolumeReady", "Preemptable", "BestEffort", "HasRestartableInitContainer",
    "SchGated", "RevocableZone", "NumaInfo", "Pod", "PodAnnotations", "CustomBindErrHandlerSucceeded",
}  # fmt: skip
"""Every field that Volcano's tasks have."""
NODE = {
    "Name", "Node", "State", "Releasing", "Pipelined", "Idle", "Used", "Allocatable", "Capacity",
    "ResourceUsage", "Tasks", "NumaInfo", "UnassignedNumaPods", "NumaSchedulerInfo", "RevocableZone", "Others",
    "OversubscriptionNode", "OfflineJobEvicting", "OversubscriptionResource", "ImageStates", "Generation",
    "BindGeneration",
}  # fmt: skip
"""And its nodes."""


def json(value: Any) -> Any:
    """Read what is written."""
    return msgspec.json.decode(msgspec.json.encode(value))


def made() -> tuple[Session, Bodies]:
    """Open a session."""
    session = opened(CLUSTER, Service(predicate={}))
    return session, Bodies(session)


def job_of(session: Session, name: str) -> Any:
    """Return a job by its name."""
    return next(job for job in session.jobs.all() if job.job.name == name)


def test_a_task() -> None:
    """Its own fields capitalised, the pod by the names of its API, amounts as `Resource`."""
    session, bodies = made()
    (old,) = job_of(session, "old").tasks.values()
    task = json(bodies.task(old))

    assert {key: task[key] for key in ("Name", "Namespace", "Job", "NodeName", "Status", "Priority")} == {
        "Name": "old-0",
        "Namespace": "default",
        "Job": "default/old",
        "NodeName": "n1",
        "Status": 32,
        "Priority": 0,
    }
    assert (
        task["Resreq"]
        == task["InitResreq"]
        == {
            "MilliCPU": 2000,
            "Memory": 4 * GIB,
            "ScalarResources": {"nvidia.com/gpu": 1000, "pods": 1},
            "MaxTaskNum": 1,
        }
    )
    assert task["UID"] == task["Pod"]["metadata"]["uid"] == old.id
    assert task["Pod"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] in {"2", 2}
    assert task["PodAnnotations"] == task["Pod"]["metadata"]["annotations"]
    assert set(task) == TASK


def test_a_node() -> None:
    """Amounts, tasks by `namespace/name`, and the Node."""
    session, bodies = made()
    node = json(bodies.node(session.nodes.view(0)))

    assert (node["Name"], node["State"]) == ("n1", {"Phase": 1, "Reason": ""})
    assert node["Node"]["metadata"]["labels"]["zone"] == "a"
    assert node["Node"]["metadata"]["annotations"] == {"note": "x"}
    assert (node["Allocatable"]["MilliCPU"], node["Used"]["MilliCPU"], node["Idle"]["MilliCPU"]) == (8000, 2000, 6000)
    assert node["Idle"]["ScalarResources"]["nvidia.com/gpu"] == 3000
    assert node["Allocatable"]["Memory"] == node["Capacity"]["Memory"] == 16 * GIB
    assert {key: task["Name"] for key, task in node["Tasks"].items()} == {"default/old-0": "old-0"}
    assert set(node) == NODE


def test_a_node_is_written_anew_when_it_changed_and_only_then() -> None:
    """A placement shows at once, and is gone when it is undone."""
    session, bodies = made()
    view, new = session.nodes.view(0), job_of(session, "new")
    before = bodies.node(view)
    assert bodies.node(view) is before

    with session.statement() as statement:
        statement.allocate(new, session.jobs.pending_tasks(new)[:1], [0])
        placed = json(bodies.node(view))
        assert placed["Used"]["MilliCPU"] == 3000
        assert placed["Tasks"]["default/new-0"]["Status"] == 2
    assert json(bodies.node(view)) == json(before)


def test_a_job() -> None:
    """Tasks by status, minimums, the group."""
    session, bodies = made()
    job = json(bodies.job(job_of(session, "new")))

    assert (job["UID"], job["Queue"], job["MinAvailable"]) == ("default/new", "research", 2)
    assert {status: len(tasks) for status, tasks in job["TaskStatusIndex"].items()} == {"1": 2}
    assert {task["Name"] for task in job["Tasks"].values()} == {"new-0", "new-1"}
    assert (job["Allocated"]["MilliCPU"], job["TotalRequest"]["MilliCPU"]) == (0, 2000)
    assert job["PodGroup"]["spec"]["minMember"] == 2
    assert (job["WaitingTime"], job["Budget"]) == (None, {"MinAvailable": "", "MaxUnavailable": ""})


def test_a_queue() -> None:
    """Known by its name, with the object."""
    session, bodies = made()
    queue = json(bodies.queue(session.queues.by_name["research"]))  # type: ignore[index]  # a plain name does here

    assert {key: queue[key] for key in ("UID", "Name", "Weight", "Hierarchy", "Weights")} == {
        "UID": "research",
        "Name": "research",
        "Weight": 3,
        "Hierarchy": "",
        "Weights": "",
    }
    assert queue["Queue"]["spec"]["weight"] == 3


def test_the_cluster() -> None:
    """All of it; only what is revocable among the revocable."""
    _, bodies = made()
    cluster = json(bodies.cluster())

    assert set(cluster["Jobs"]) == {"default/new", "default/old"}
    assert set(cluster["Nodes"]) == {"n1"}
    assert "research" in cluster["Queues"]
    assert (cluster["RevocableNodes"], cluster["NodeList"]) == ({}, None)


def test_writing_the_cluster_looks_at_no_job() -> None:
    """Else every cycle would close every job again."""
    session, bodies = made()
    known = set(session.jobs.known())
    bodies.cluster()

    assert set(session.jobs.known()) == known


def test_defaults_are_written_out() -> None:
    """Another reader's default is not ours: a weight of 1 that is left out would read as 0."""
    spread = wire.TopologySpreadConstraint(topology_key="zone")

    assert plain(spread)["maxSkew"] == 1
    assert plain(spread)["whenUnsatisfiable"] == "DoNotSchedule"
    assert plain(wire.Queue(metadata=wire.ObjectMeta(name="q")))["spec"]["weight"] == 1


def test_what_is_absent_is_left_out() -> None:
    """But not a selector that selects everything, nor a number that is 0."""
    term = plain(wire.PodAffinityTerm(label_selector=wire.LabelSelector(), topology_key="zone"))

    assert term == {"labelSelector": {}, "topologyKey": "zone"}
    assert plain(wire.PodSpec(termination_grace_period_seconds=0))["terminationGracePeriodSeconds"] == 0
