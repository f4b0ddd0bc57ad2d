"""Flows of jobs: JobTemplate, a template of a job, and JobFlow, which creates several in order."""

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
    """Task whose pods are checked."""
    path: str = ""
    """Path of the request."""
    port: _Port = 0
    """Port of the request."""
    http_header: HttpHeader | None = None
    """Header to send."""


class TcpSocket(Wire, frozen=True, kw_only=True):
    """One port."""

    task_name: _TaskName = ""
    """Task whose pods are checked."""
    port: _Port
    """Port number."""


class FlowTaskStatus(Wire, frozen=True, kw_only=True):
    """One task and its phase."""

    task_name: _TaskName = ""
    """Name of the task."""
    phase: Annotated[str, FieldRules(max_length=63)] = ""
    """Phase the task must be in."""


class Probe(Wire, frozen=True, kw_only=True):
    """Checks of running jobs. Accepted without effect."""

    http_get_list: tuple[HttpGet, ...] = ()
    """HTTP requests that must succeed."""
    tcp_socket_list: tuple[TcpSocket, ...] = ()
    """Ports that must be open."""
    task_status_list: tuple[FlowTaskStatus, ...] = ()
    """Phases that tasks must be in."""


class FlowDependsOn(Wire, frozen=True, kw_only=True):
    """Conditions for creating the job."""

    targets: tuple[str, ...] = ()
    """Names of other jobs of the flow that must have completed."""
    probe: Probe | None = None
    """Checks of running jobs. Accepted without effect."""


class FlowPatch(Wire, frozen=True, kw_only=True):
    """Changes to the template. Accepted without effect."""

    job_spec: JobSpec | None = None
    """Fields to change, as in the spec of a Job."""


class Flow(Wire, frozen=True, kw_only=True):
    """One job."""

    name: Annotated[str, FieldRules(min_length=1)]
    """Name of the JobTemplate."""
    depends_on: FlowDependsOn | None = None
    """Conditions for creating the job."""
    patch: FlowPatch | None = None
    """Changes to the template. Accepted without effect."""


class RetainPolicy(StrEnum):
    """Handling of the jobs of a flow that succeeded."""

    RETAIN = "retain"
    DELETE = "delete"


class JobFlowSpec(Wire, frozen=True, kw_only=True):
    """Jobs to create and their order."""

    flows: tuple[Flow, ...] = ()
    """Jobs to create."""
    job_retain_policy: Annotated[str, FieldRules(enum=RetainPolicy)] = ""
    """Whether the jobs of a flow that succeeded are retained or deleted."""


class JobRunningHistory(Wire, frozen=True, kw_only=True):
    """One phase."""

    start_timestamp: Time = ""
    """Time when the phase was entered."""
    end_timestamp: Time = ""
    """Time when the phase was left."""
    state: str = ""
    """The phase."""


class FlowJobStatus(Wire, frozen=True, kw_only=True):
    """History of one job."""

    name: str = ""
    """Name of the job."""
    state: str = ""
    """Phase of the job."""
    start_timestamp: Time = ""
    """Creation time of the job."""
    end_timestamp: Time = ""
    """End time of the job."""
    restart_count: Count = 0
    """Number of restarts of the job."""
    running_histories: tuple[JobRunningHistory, ...] = ()
    """Past phases of the job."""


class FlowCondition(Wire, frozen=True, kw_only=True):
    """State of one job."""

    phase: str = ""
    """Phase of the job."""
    create_time: Time = ""
    """Creation time of the job."""
    running_duration: Duration = ""
    """Running time of the job, as a duration."""
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
    """Status of the flow."""

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
    """JobFlow creates jobs from templates, each when its dependencies have completed."""

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
    """Jobs to create and their order."""
    status: JobFlowStatus = JobFlowStatus()
    """Status of the flow."""


class JobTemplateStatus(Wire, frozen=True, kw_only=True):
    """Status of the template."""

    job_depends_on_list: tuple[str, ...] = ()
    """Names of the jobs created from the template."""


class JobTemplate(KubernetesObject, frozen=True, kw_only=True):
    """JobTemplate is a template for the jobs of JobFlows."""

    definition: ClassVar[Definition] = Definition(
        api_version=names.FLOW, kind="JobTemplate", plural="jobtemplates", short_names=("jt",)
    )
    spec: JobSpec = JobSpec()
    """The job, as in the spec of a Job."""
    status: JobTemplateStatus = JobTemplateStatus()
    """Status of the template."""
