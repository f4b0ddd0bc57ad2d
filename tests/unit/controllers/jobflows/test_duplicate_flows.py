"""A flow that is listed twice counts once, for there is one Job of its name."""

import msgspec

from pyroclast.controllers.jobflows.decide import Decision, decide
from pyroclast.model.api.batch import Job
from pyroclast.model.api.flow import JobFlow, JobTemplate


def decided(*jobs: Job) -> Decision:
    """Decide about a JobFlow with the flow `a` listed twice, and `b` behind it."""
    flows = [{"name": "a"}, {"name": "a"}, {"name": "b", "dependsOn": {"targets": ["a"]}}]
    flow = msgspec.convert({"metadata": {"name": "etl", "namespace": "team"}, "spec": {"flows": flows}}, JobFlow)
    return decide(flow, jobs, lambda name: JobTemplate(metadata=msgspec.structs.replace(flow.metadata, name=name)), 0.0)


def completed(name: str) -> Job:
    """The Job of a flow."""
    metadata = {"name": f"etl-{name}", "namespace": "team", "uid": name}
    return msgspec.convert({"metadata": metadata, "status": {"state": {"phase": "Completed"}}}, Job)


def test_its_job_is_made_once() -> None:
    """Two of one name cannot be."""
    assert [manifest["metadata"]["name"] for manifest in decided().makes] == ["etl-a"]


def test_the_flow_succeeds() -> None:
    """With the two Jobs that there are."""
    assert decided(completed("a"), completed("b")).status.state.phase == "Succeed"
