"""Job flows: dependencies exist and form no cycle."""

from collections.abc import Iterator, Mapping
from typing import Any

from pyroclast.controllers.admission.faults import Fault, some, the_first
from pyroclast.controllers.admission.lookups import Lookups
from pyroclast.controllers.admission.rules.acyclic import in_a_circle
from pyroclast.controllers.admission.rules.names import JOB_NAME, is_dns_subdomain, is_qualified_name
from pyroclast.controllers.admission.rules.shape import read
from pyroclast.model.api.flow import JobFlow

__all__ = ["faults_of", "warnings_of"]


def faults_of(
    job_flow: Mapping[str, Any] | JobFlow,
    old: Mapping[str, Any] | JobFlow | None = None,
    lookups: Lookups | None = None,  # noqa: ARG001  all rules have one signature
) -> tuple[Fault, ...]:
    """Find the faults of a job flow, or nothing if its spec is unchanged.

    Args:
        job_flow: The flow, as JSON or as its struct.
        old: Previous job flow, None for a new one.
        lookups: Not used.
    """
    return the_first(_faults(job_flow, old))


def warnings_of(job_flow: Mapping[str, Any] | JobFlow) -> tuple[str, ...]:
    """Return the warnings for a valid job flow: fields that have no effect.

    Args:
        job_flow: The flow, as JSON or as its struct.
    """
    known = read(JobFlow, job_flow)
    return () if isinstance(known, Fault) else tuple(_idle(known))


def _idle(job_flow: JobFlow) -> Iterator[str]:
    for number, flow in enumerate(job_flow.spec.flows):
        if flow.depends_on is not None and flow.depends_on.probe is not None:
            yield f"spec.flows[{number}].dependsOn.probe is not acted upon: the flow waits for Jobs to complete"
        if flow.patch is not None:
            yield f"spec.flows[{number}].patch is not acted upon: the Job is made as its template says"


def _faults(value: Mapping[str, Any] | JobFlow, old: Mapping[str, Any] | JobFlow | None) -> Iterator[Fault]:
    job_flow = read(JobFlow, value)
    if isinstance(job_flow, Fault):
        yield job_flow
        return
    if old is not None:
        earlier = read(JobFlow, old)
        if isinstance(earlier, JobFlow) and earlier.spec == job_flow.spec:
            return
    yield from _name_faults(job_flow)
    waits_for = {flow.name: flow.depends_on.targets if flow.depends_on else () for flow in job_flow.spec.flows}
    unknown = False
    for number, flow in enumerate(job_flow.spec.flows):
        for place, target in enumerate(flow.depends_on.targets if flow.depends_on else ()):
            if target not in waits_for:
                unknown = True
                yield Fault(
                    field=f"spec.flows[{number}].dependsOn.targets[{place}]",
                    value=target,
                    expected=f"one of {some(waits_for)}",
                    rule=f"jobflow Flow is not DAG: vertex is not defined: {target}",
                )
    circle = in_a_circle(waits_for)
    if circle and not unknown:
        yield Fault(
            field="spec.flows",
            value=circle,
            expected="flows that do not wait for each other in a circle",
            rule="jobflow Flow is not DAG",
        )


def _name_faults(job_flow: JobFlow) -> Iterator[Fault]:
    """Find the flows whose Job names would be invalid: `<JobFlow>-<flow>`."""
    if not job_flow.metadata.name:
        return  # the server generates it
    for number, flow in enumerate(job_flow.spec.flows):
        job = f"{job_flow.metadata.name}-{flow.name}"
        if not (is_qualified_name(job) and is_dns_subdomain(job)):
            yield Fault(
                field=f"spec.flows[{number}].name",
                value=flow.name,
                expected=f"a name with which {job} has {JOB_NAME}",
                rule=f"jobflow makes a job named {job}, and no job can have this name",
            )
