"""Flows of jobs: JobTemplate, a job to be made, and JobFlow, which makes several in order."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, ClassVar

import msgspec

from pyroclast.model.api import names
from pyroclast.model.api.batch import JobSpec, TaskState
from pyroclast.model.api.definitions import AGE, Definition, KubernetesObject, PrinterColumn
from pyroclast.model.api.meta import Wire
from pyroclast.model.api.rules import Count, Duration, FieldRules, Time

__all__ = [
    "Flow",
    "FlowCondition",
    "FlowDependsOn",
    "FlowJobStatus",
    "FlowPatch",
    "FlowTaskStatus",
    "HttpGet",
    "HttpHeader",
    "JobFlow",
    "JobFlowPhase",
    "JobFlowSpec",
    "JobFlowState",
    "JobFlowStatus",
    "JobRunningHistory",
    "JobTemplate",
    "JobTemplateStatus",
    "Probe",
    "RetainPolicy",
    "TcpSocket",
]

_Port = Annotated[int, FieldRules(minimum=0, maximum=65535)]
_TaskName = Annotated[str, FieldRules(max_length=253)]


class HttpHeader(Wire, frozen=True, kw_only=True):
    """Header to send."""

    name: str
    """Name of the header."""
    value: str
    """Value of the header."""


class HttpGet(Wire, frozen=True, kw_only=True):
    """One HTTP request."""

    task_name: _TaskName = ""
    """Task whose pods are asked."""
    path: str = ""
    """Path to ask for."""
    port: _Port = 0
    """Port to ask."""
    http_header: HttpHeader | None = None
    """Header to send."""


class TcpSocket(Wire, frozen=True, kw_only=True):
    """One port."""

    task_name: _TaskName = ""
    """Task whose pods are asked."""
    port: _Port
    """Port number."""


class FlowTaskStatus(Wire, frozen=True, kw_only=True):
    """One task and its phase."""

    task_name: _TaskName = ""
    """Name of the task."""
    phase: Annotated[str, FieldRules(max_length=63)] = ""
    """Phase the task must be in."""


class Probe(Wire, frozen=True, kw_only=True):
    """Checks of running jobs. Accepted and not acted upon."""

    http_get_list: tuple[HttpGet, ...] = ()
    """HTTP requests that must succeed."""
    tcp_socket_list: tuple[TcpSocket, ...] = ()
    """Ports that must be open."""
    task_status_list: tuple[FlowTaskStatus, ...] = ()
    """Phases that tasks must be in."""


class FlowDependsOn(Wire, frozen=True, kw_only=True):
    """What must hold before the job is made."""

    targets: tuple[str, ...] = ()
    """Names of other jobs of the flow that must have completed."""
    probe: Probe | None = None
    """Checks of running jobs. Accepted and not acted upon."""


class FlowPatch(Wire, frozen=True, kw_only=True):
    """Changes to the template. Accepted and not acted upon."""

    job_spec: JobSpec | None = None
    """Fields to change, as in the spec of a Job."""


class Flow(Wire, frozen=True, kw_only=True):
    """One job."""

    name: Annotated[str, FieldRules(min_length=1)]
    """Name of the JobTemplate."""
    depends_on: FlowDependsOn | None = None
    """What must hold before the job is made."""
    patch: FlowPatch | None = None
    """Changes to the template. Accepted and not acted upon."""


class RetainPolicy(StrEnum):
    """What becomes of the jobs of a flow that succeeded."""

    RETAIN = "retain"
    DELETE = "delete"


class JobFlowSpec(Wire, frozen=True, kw_only=True):
    """Jobs to make and their order."""

    flows: tuple[Flow, ...] = ()
    """Jobs to make."""
    job_retain_policy: Annotated[str, FieldRules(enum=RetainPolicy)] = ""
    """Whether the jobs of a flow that succeeded are retained or deleted."""


class JobRunningHistory(Wire, frozen=True, kw_only=True):
    """One phase."""

    start_timestamp: Time = ""
    """When the phase was entered."""
    end_timestamp: Time = ""
    """When the phase was left."""
    state: str = ""
    """The phase."""


class FlowJobStatus(Wire, frozen=True, kw_only=True):
    """History of one job."""

    name: str = ""
    """Name of the job."""
    state: str = ""
    """Phase of the job."""
    start_timestamp: Time = ""
    """When the job was made."""
    end_timestamp: Time = ""
    """When the job ended."""
    restart_count: Count = 0
    """How often the job was restarted."""
    running_histories: tuple[JobRunningHistory, ...] = ()
    """Phases the job has been in."""


class FlowCondition(Wire, frozen=True, kw_only=True):
    """State of one job."""

    phase: str = ""
    """Phase of the job."""
    create_time: Time = ""
    """When the job was made."""
    running_duration: Duration = ""
    """How long the job ran, as a duration."""
    task_status_count: Mapping[str, TaskState] = msgspec.field(default_factory=dict)
    """Pods of each task, by task name."""


class JobFlowPhase(StrEnum):
    """Phases of a flow."""

    SUCCEED = "Succeed"
    TERMINATING = "Terminating"
    FAILED = "Failed"
    RUNNING = "Running"
    PENDING = "Pending"


class JobFlowState(Wire, frozen=True, kw_only=True):
    """Phase of the flow."""

    phase: Annotated[str, FieldRules(enum=JobFlowPhase)] = ""
    """Phase of the flow."""


class JobFlowStatus(Wire, frozen=True, kw_only=True):
    """How far the flow is."""

    pending_jobs: tuple[str, ...] = ()
    """Names of the jobs that are pending."""
    running_jobs: tuple[str, ...] = ()
    """Names of the jobs that are running."""
    failed_jobs: tuple[str, ...] = ()
    """Names of the jobs that have failed."""
    completed_jobs: tuple[str, ...] = ()
    """Names of the jobs that have completed."""
    terminated_jobs: tuple[str, ...] = ()
    """Names of the jobs that were terminated."""
    un_know_jobs: tuple[str, ...] = ()
    """Names of the jobs that are in any other phase."""
    job_status_list: tuple[FlowJobStatus, ...] = ()
    """History of each job."""
    conditions: Mapping[str, FlowCondition] = msgspec.field(default_factory=dict)
    """State of each job, by its name."""
    state: JobFlowState = JobFlowState()
    """Phase of the flow."""


class JobFlow(KubernetesObject, frozen=True, kw_only=True):
    """JobFlow makes jobs from templates, each when those it depends on have completed."""

    definition: ClassVar[Definition] = Definition(
        api_version=names.FLOW,
        kind="JobFlow",
        plural="jobflows",
        short_names=("jf",),
        columns=(
            PrinterColumn(name="Status", path=".status.state.phase"),
            PrinterColumn(name="Age", path=AGE.path, type=AGE.type),
        ),
    )
    spec: JobFlowSpec = JobFlowSpec()
    """Jobs to make and their order."""
    status: JobFlowStatus = JobFlowStatus()
    """How far the flow is."""


class JobTemplateStatus(Wire, frozen=True, kw_only=True):
    """Jobs made from the template."""

    job_depends_on_list: tuple[str, ...] = ()
    """Names of the jobs made from the template."""


class JobTemplate(KubernetesObject, frozen=True, kw_only=True):
    """JobTemplate is a job to be made by job flows."""

    definition: ClassVar[Definition] = Definition(
        api_version=names.FLOW, kind="JobTemplate", plural="jobtemplates", short_names=("jt",)
    )
    spec: JobSpec = JobSpec()
    """The job, as in the spec of a Job."""
    status: JobTemplateStatus = JobTemplateStatus()
    """Jobs made from the template."""
