"""Deciding: the next step of a flow, as a function of the flow, its Jobs, the templates and the time."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from pyroclast.controllers.admission.faults import faults_message
from pyroclast.controllers.admission.rules.jobflows import faults_of
from pyroclast.controllers.jobflows.progress import completed_flows, job_name, progress
from pyroclast.controllers.runtime.writer import owner_reference
from pyroclast.kube.api.resources import JOB_FLOWS
from pyroclast.model.api import names
from pyroclast.model.api.batch import Job
from pyroclast.model.api.flow import Flow, JobFlow, JobFlowPhase, JobFlowStatus, JobTemplate, RetainPolicy

__all__ = ["Decision", "decide", "full_name"]

_TERMINAL: Final = frozenset({JobFlowPhase.SUCCEED, JobFlowPhase.FAILED, JobFlowPhase.TERMINATING})
_LONGEST_LABEL: Final = 63


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Next step of a flow. The order is: delete Jobs, create Jobs, record warnings, write the status."""

    deletes: tuple[Job, ...] = ()
    makes: tuple[dict[str, Any], ...] = ()
    warnings: tuple[str, ...] = ()
    status: JobFlowStatus


def decide(
    job_flow: JobFlow, jobs: Sequence[Job], template_of: Callable[[str], JobTemplate | None], now: float
) -> Decision:
    """Return the next step of a flow.

    Args:
        job_flow: The flow, which is not being deleted.
        jobs: Jobs that the flow controls.
        template_of: Returns a template of the flow's namespace by name.
        now: Seconds since 1970.
    """
    phase = job_flow.status.state.phase
    if phase in _TERMINAL:
        is_over = phase == JobFlowPhase.SUCCEED and job_flow.spec.job_retain_policy == RetainPolicy.DELETE
        return Decision(
            status=job_flow.status,
            deletes=tuple(job for job in jobs if is_over and not job.metadata.deletion_timestamp),
        )
    status = progress(job_flow, jobs, now)
    if status.state.phase in _TERMINAL:
        return Decision(status=status)
    faults = faults_of(job_flow)
    if faults:
        return Decision(status=status, warnings=(f"no jobs are made: {faults_message(faults)}",))
    manifests: list[dict[str, Any]] = []
    warnings: list[str] = []
    for flow in _ready(job_flow, jobs):
        template = template_of(flow.name)
        if template is None:
            warnings.append(f"job template {flow.name} of the flow is not found")
        else:
            manifests.append(_manifest(job_flow, template))
    if warnings and not jobs:
        # No Job exists and the warnings contain the reason, so the status stays unchanged.
        status = job_flow.status
    return Decision(status=status, makes=tuple(manifests), warnings=tuple(warnings))


def full_name(namespace: str, name: str) -> str:
    """Return the name of a flow or template for labels and annotations of Jobs."""
    return f"{namespace}.{name}"


def _ready(job_flow: JobFlow, jobs: Sequence[Job]) -> Iterator[Flow]:
    """Yield the flows without a Job whose dependencies are satisfied, each once, in their order."""
    there = {job.metadata.name for job in jobs}
    completed = completed_flows(job_flow, jobs)
    flows: dict[str, Flow] = {}
    for flow in job_flow.spec.flows:
        flows.setdefault(flow.name, flow)
    for name, flow in flows.items():
        targets = flow.depends_on.targets if flow.depends_on else ()
        if job_name(job_flow, name) not in there and name not in completed and completed.issuperset(targets):
            yield flow


def _manifest(job_flow: JobFlow, template: JobTemplate) -> dict[str, Any]:
    namespace = job_flow.metadata.namespace
    origin = {
        names.CREATED_BY_JOB_TEMPLATE: full_name(namespace, template.metadata.name),
        names.CREATED_BY_JOB_FLOW: full_name(namespace, job_flow.metadata.name),
    }
    return {
        "metadata": {
            "name": job_name(job_flow, template.metadata.name),
            "namespace": namespace,
            # Two names can be too long for a label. The annotation always contains them.
            "labels": {key: value for key, value in origin.items() if len(value) <= _LONGEST_LABEL},
            "annotations": origin,
            "ownerReferences": [owner_reference(JOB_FLOWS, job_flow.metadata)],
        },
        "spec": msgspec.to_builtins(template.spec),
    }
