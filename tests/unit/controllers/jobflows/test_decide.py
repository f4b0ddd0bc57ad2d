from typing import Any

import msgspec
import pytest

from pyroclast.controllers.jobflows.decide import Decision, decide
from pyroclast.model.api.batch import Job
from pyroclast.model.api.flow import JobFlow, JobFlowStatus, JobTemplate
from pyroclast.model.wire.times import unix_seconds

NOW = unix_seconds("2026-07-09T12:00:00Z")
EARLIER = "2026-07-09T11:00:00Z"


def flow(name: str, *targets: str) -> dict[str, Any]:
    """Describe one flow."""
    return {"name": name, "dependsOn": {"targets": list(targets)}} if targets else {"name": name}


CHAIN = (flow("a"), flow("b", "a"), flow("c", "a", "b"))


def job_flow(*flows: dict[str, Any], status: JobFlowStatus | None = None, policy: str = "retain") -> JobFlow:
    """Make a JobFlow."""
    made = msgspec.convert(
        {
            "metadata": {"name": "etl", "namespace": "team", "uid": "f"},
            "spec": {"flows": list(flows), "jobRetainPolicy": policy},
        },
        JobFlow,
    )
    return msgspec.structs.replace(made, status=status or JobFlowStatus())


def job(name: str, phase: str = "Running", **status: Any) -> Job:
    """Make the Job of a flow."""
    return msgspec.convert(
        {
            "metadata": {"name": f"etl-{name}", "namespace": "team", "uid": name, "creationTimestamp": EARLIER},
            "status": {"state": {"phase": phase}, **status},
        },
        Job,
    )


def template(name: str) -> JobTemplate:
    """Make a template; all names have one but `missing`."""
    return msgspec.convert({"metadata": {"name": name, "namespace": "team"}, "spec": {"minAvailable": 2}}, JobTemplate)


def decided(of: JobFlow, *jobs: Job, now: float = NOW) -> Decision:
    """Decide about a flow."""
    return decide(of, jobs, lambda name: None if name == "missing" else template(name), now)


def made(decision: Decision) -> list[str]:
    """Return the names of the Jobs to make."""
    return [manifest["metadata"]["name"] for manifest in decision.makes]


def test_jobs_that_wait_for_nothing_are_made() -> None:
    """From their templates, named and marked by flow and template, and owned by the flow."""
    (manifest,) = decided(job_flow(*CHAIN)).makes
    origin = {"volcano.sh/createdByJobTemplate": "team.a", "volcano.sh/createdByJobFlow": "team.etl"}

    assert manifest["metadata"]["name"] == "etl-a"
    assert manifest["metadata"]["namespace"] == "team"
    assert manifest["metadata"]["labels"] == manifest["metadata"]["annotations"] == origin
    assert manifest["metadata"]["ownerReferences"][0]["uid"] == "f"
    assert manifest["spec"] == {"minAvailable": 2}


@pytest.mark.parametrize(
    ("phases", "expected"),
    [
        ({"a": "Running"}, []),
        ({"a": "Completing"}, []),
        ({"a": "Completed"}, ["etl-b"]),
        ({"a": "Completed", "b": "Running"}, []),
        ({"a": "Completed", "b": "Completed"}, ["etl-c"]),
        ({"b": "Completed"}, ["etl-a"]),
    ],
)
def test_a_job_waits_for_all_it_depends_on(phases: dict[str, str], expected: list[str]) -> None:
    """They must have completed."""
    assert made(decided(job_flow(*CHAIN), *(job(name, phase) for name, phase in phases.items()))) == expected


def test_jobs_are_made_in_the_order_of_the_flows() -> None:
    """Whatever their names: what is listed first is first in its queue."""
    assert made(decided(job_flow(flow("z"), flow("a"), flow("m")))) == ["etl-z", "etl-a", "etl-m"]


def test_probes_and_patches_change_nothing() -> None:
    """As in Volcano: a flow waits for Jobs to complete, and its Job is what the template says."""
    probe = {"taskStatusList": [{"taskName": "t", "phase": "Running"}]}
    odd = {"name": "b", "dependsOn": {"targets": ["a"], "probe": probe}, "patch": {"jobSpec": {"minAvailable": 7}}}
    plain = decided(job_flow(flow("a"), flow("b", "a")), job("a", "Completed"))

    assert made(decided(job_flow(flow("a"), odd), job("a", "Running"))) == []
    assert decided(job_flow(flow("a"), odd), job("a", "Completed")).makes == plain.makes != ()


def test_names_too_long_for_labels_stand_in_annotations() -> None:
    """Otherwise the server would refuse the Job."""
    long = "t" * 59
    (manifest,) = decided(job_flow(flow(long))).makes

    assert manifest["metadata"]["labels"] == {"volcano.sh/createdByJobFlow": "team.etl"}
    assert manifest["metadata"]["annotations"]["volcano.sh/createdByJobTemplate"] == f"team.{long}"


def test_a_missing_template_is_reported_and_other_flows_continue() -> None:
    """It may be made later."""
    decision = decided(job_flow(flow("missing"), flow("a")))

    assert made(decision) == ["etl-a"]
    assert decision.warnings == ("job template missing of the flow is not found",)


@pytest.mark.parametrize(
    "flows",
    [
        (flow("a"), flow("b", "nowhere")),
        (flow("a", "b"), flow("b", "a"), flow("c")),
    ],
)
def test_a_flow_that_admission_would_refuse_makes_nothing(flows: tuple[dict[str, Any], ...]) -> None:
    """It could never end."""
    decision = decided(job_flow(*flows))

    assert made(decision) == []
    assert "jobflow Flow is not DAG" in decision.warnings[0]


@pytest.mark.parametrize(
    ("before", "phases", "after"),
    [
        ("", {}, "Pending"),
        ("Pending", {"a": "Pending"}, "Pending"),
        ("Pending", {"a": "Aborted"}, "Pending"),
        ("Pending", {"a": "Running"}, "Running"),
        ("Pending", {"a": "Completed"}, "Running"),
        ("Pending", {"a": "Failed"}, "Failed"),
        ("Pending", {"a": "Terminated"}, "Failed"),
        ("Pending", {"a": "Running", "b": "Failed"}, "Failed"),
        ("Pending", {"a": "Running", "b": "Terminated"}, "Failed"),
        ("Running", {"a": "Running"}, "Running"),
        ("Running", {"a": "Restarting"}, "Running"),
        ("Running", {"a": "Completed", "b": "Failed"}, "Failed"),
        ("Running", {"a": "Completed", "b": "Terminated"}, "Failed"),
        ("Running", {"a": "Completed", "b": "Completed", "c": "Completed"}, "Succeed"),
        ("Pending", {"a": "Completed", "b": "Completed", "c": "Completed"}, "Succeed"),
    ],
)
def test_phases(before: str, phases: dict[str, str], after: str) -> None:
    """As far as the Jobs carry it by now, however much was missed."""
    status = msgspec.convert({"state": {"phase": before}}, JobFlowStatus)
    decision = decided(job_flow(*CHAIN, status=status), *(job(name, phase) for name, phase in phases.items()))

    assert decision.status.state.phase == after


def test_a_flow_that_fails_makes_nothing_more() -> None:
    """In the very step in which it is seen."""
    assert made(decided(job_flow(flow("a"), flow("b")), job("a", "Failed"))) == []


@pytest.mark.parametrize("phase", ["Succeed", "Failed", "Terminating"])
def test_an_ended_flow_rests(phase: str) -> None:
    """Whatever becomes of its Jobs: a Job that was cleared away is not run again."""
    status = msgspec.convert({"state": {"phase": phase}}, JobFlowStatus)
    decision = decided(job_flow(*CHAIN, status=status), job("a", "Running"))

    assert (decision.makes, decision.deletes) == ((), ())
    assert decision.status == status


def test_a_flow_that_succeeded_may_delete_its_jobs() -> None:
    """All that are there, once."""
    status = msgspec.convert({"state": {"phase": "Succeed"}}, JobFlowStatus)
    going = msgspec.structs.replace(
        job("b"), metadata=msgspec.structs.replace(job("b").metadata, deletion_timestamp=EARLIER)
    )
    ended = job("a", "Completed")

    assert decided(job_flow(*CHAIN, status=status, policy="delete"), ended, going).deletes == (ended,)


def test_a_completed_job_that_is_cleared_away_stays_completed() -> None:
    """Its time to live ends, for example: its dependents run, it is not created again, and the flow can succeed."""
    seen = decided(job_flow(*CHAIN), job("a", "Completed")).status
    later = decided(job_flow(*CHAIN, status=seen))

    assert made(later) == ["etl-b"]
    assert later.status.completed_jobs == ("etl-a",)
    ended = decided(job_flow(*CHAIN, status=later.status), job("b", "Completed"), job("c", "Completed"))
    assert ended.status.state.phase == "Succeed"


def test_a_running_job_that_is_deleted_is_made_again() -> None:
    """It has not done its work."""
    seen = decided(job_flow(*CHAIN), job("a", "Running")).status

    assert made(decided(job_flow(*CHAIN, status=seen))) == ["etl-a"]


def test_lists_by_phase() -> None:
    """In the order of the flows; what has no list of its own is unknown, what passes soon is in none."""
    phases = ("Pending", "Running", "Failed", "Completed", "Terminated", "Aborted", "", "Completing", "Restarting")
    names = "ihgfedcba"
    jobs = [job(name, phase) for name, phase in zip(names, phases, strict=True)]
    status = decided(job_flow(*(flow(name) for name in names)), *reversed(jobs)).status

    assert status.pending_jobs == ("etl-i",)
    assert status.running_jobs == ("etl-h",)
    assert status.failed_jobs == ("etl-g",)
    assert status.completed_jobs == ("etl-f",)
    assert status.terminated_jobs == ("etl-e",)
    assert status.un_know_jobs == ("etl-d", "etl-c", "etl-a")


def test_conditions_and_histories() -> None:
    """Status of each Job: phase, times, restarts, and the phases it went through with their times."""
    first = decided(job_flow(*CHAIN), job("a", "Pending")).status
    second = decided(job_flow(*CHAIN, status=first), job("a", "Running"), now=NOW + 60).status
    counts = {"t": {"phase": {"Succeeded": 1}}}
    ended = job("a", "Completed", runningDuration="1h5m0s", retryCount=1, taskStatusCount=counts)
    third = decided(job_flow(*CHAIN, status=second), ended, now=NOW + 300).status

    assert msgspec.to_builtins(third.conditions["etl-a"]) == {
        "phase": "Completed",
        "createTime": EARLIER,
        "runningDuration": "1h5m0s",
        "taskStatusCount": counts,
    }
    assert msgspec.json.decode(msgspec.json.encode(third.job_status_list)) == [
        {
            "name": "etl-a",
            "state": "Completed",
            "startTimestamp": EARLIER,
            "endTimestamp": "2026-07-09T12:05:00Z",
            "restartCount": 1,
            "runningHistories": [
                {
                    "startTimestamp": "2026-07-09T12:00:00Z",
                    "endTimestamp": "2026-07-09T12:01:00Z",
                    "state": "Pending",
                },
                {
                    "startTimestamp": "2026-07-09T12:01:00Z",
                    "endTimestamp": "2026-07-09T12:05:00Z",
                    "state": "Running",
                },
                {"startTimestamp": "2026-07-09T12:05:00Z", "state": "Completed"},
            ],
        }
    ]


def test_looking_again_changes_nothing() -> None:
    """Time alone is no news."""
    first = decided(job_flow(*CHAIN), job("a", "Running")).status

    assert decided(job_flow(*CHAIN, status=first), job("a", "Running"), now=NOW + 900).status == first


def test_a_flow_that_waits_for_all_its_templates_is_not_written() -> None:
    """Its user may still be at it: a status would make a client's next update a conflict."""
    flow_object = job_flow(flow("missing"))
    decision = decided(flow_object)

    assert decision.status == flow_object.status
    assert decision.warnings == ("job template missing of the flow is not found",)
    assert decided(job_flow(flow("a"), flow("missing")), job("a")).status.state.phase == "Running"
