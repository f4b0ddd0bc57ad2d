"""Batch work: Job, and CronJob, which creates jobs at set times."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, ClassVar

import msgspec

from pyroclast.model.api import names
from pyroclast.model.api.bus import LifecycleEvent
from pyroclast.model.api.claims import PersistentVolumeClaimSpec
from pyroclast.model.api.definitions import AGE, Definition, KubernetesObject, PrinterColumn
from pyroclast.model.api.meta import EMPTY, ObjectReference, Wire
from pyroclast.model.api.rules import (
    DEFAULTED,
    DNS_LABEL,
    KEPT_AS_WRITTEN,
    Count,
    Duration,
    FieldRules,
    Int32,
    Int64,
    Json,
    ObjectName,
    Time,
)
from pyroclast.model.api.scheduling import NetworkTopologySpec

__all__ = [
    "ConcurrencyPolicy",
    "CronJob",
    "CronJobSpec",
    "CronJobStatus",
    "DependsOn",
    "Iteration",
    "Job",
    "JobCondition",
    "JobPhase",
    "JobSpec",
    "JobState",
    "JobStatus",
    "JobTemplateMeta",
    "JobTemplateSpec",
    "LifecyclePolicy",
    "NumaPolicy",
    "PartitionPolicySpec",
    "TaskSpec",
    "TaskState",
    "VolumeSpec",
]


# --- jobs ------------------------------------------------------------------------------------------------------------


class LifecyclePolicy(Wire, frozen=True, kw_only=True):
    """Action for an event or an exit code. Set events or an exit code, not both."""

    action: str = ""
    """Action, such as AbortJob, RestartJob, RestartTask, RestartPod, TerminateJob or CompleteJob."""
    event: Annotated[str, FieldRules(enum=LifecycleEvent)] = ""
    """Event that triggers the action; * is any event."""
    events: tuple[Annotated[str, FieldRules(enum=LifecycleEvent)], ...] = ()
    """Events that trigger the action, each on its own; * is any event."""
    exit_code: Int32 | None = None
    """Exit code of a container that triggers the action; 0 is not allowed."""
    timeout: Duration = ""
    """Time between the event and the action, as a duration such as 10m."""


class VolumeSpec(Wire, frozen=True, kw_only=True):
    """One volume: an existing claim by name, or a claim to create."""

    mount_path: Annotated[str, FieldRules(min_length=1, pattern="^[^:]+$")]
    """Mount path of the volume in the containers, without a colon."""
    volume_claim_name: Annotated[str, FieldRules(max_length=253)] = ""
    """Name of the claim to mount. It is generated for a new claim."""
    volume_claim: Annotated[Json, FieldRules(shape=PersistentVolumeClaimSpec)] | None = None
    """Claim to create for this volume, in the form of a PersistentVolumeClaim spec."""


class Iteration(StrEnum):
    """How many of the named tasks must have started."""

    ANY = "any"
    ALL = "all"


class DependsOn(Wire, frozen=True, kw_only=True):
    """Tasks that must have started first."""

    name: tuple[str, ...] = ()
    """Names of the tasks."""
    iteration: str = ""
    """any: one of the named tasks is enough. all: all of them must have started."""


class PartitionPolicySpec(Wire, frozen=True, kw_only=True):
    """Division of the task into partitions of equal size that are placed as units."""

    total_partitions: Annotated[Int32, FieldRules(minimum=1)]
    """Number of partitions; times the partition size it must be the number of replicas."""
    partition_size: Annotated[Int32, FieldRules(minimum=1)]
    """Pods in each partition."""
    network_topology: NetworkTopologySpec | None = None
    """Network topology of the pods. At most one of the two tier fields can be set."""
    min_partitions: Annotated[Count, DEFAULTED] = 0
    """Partitions that must be able to run; 0 means no minimum."""


class NumaPolicy(StrEnum):
    """NUMA alignment of pods."""

    NONE = "none"
    BEST_EFFORT = "best-effort"
    RESTRICTED = "restricted"
    SINGLE_NUMA_NODE = "single-numa-node"


class TaskSpec(Wire, frozen=True, kw_only=True):
    """One group of equal pods."""

    name: Annotated[str, FieldRules(max_length=63, pattern=DNS_LABEL)] = ""
    """Name of the task, part of its pods' names."""
    replicas: Count = 0
    """Number of pods."""
    min_available: Count | None = None
    """Pods of this task that must be able to run together; by default all its replicas."""
    template: Annotated[Json, KEPT_AS_WRITTEN] = msgspec.field(default_factory=dict)
    """Pod template, as in every Kubernetes workload. It is kept as written. The API server validates it with each new
    pod."""
    policies: tuple[LifecyclePolicy, ...] = ()
    """Actions for events of this task."""
    topology_policy: Annotated[str, FieldRules(enum=NumaPolicy)] = ""
    """NUMA policy that the node must have."""
    max_retry: Count = 0
    """Number of restarts before the task fails."""
    depends_on: DependsOn | None = None
    """Tasks that must have started first."""
    partition_policy: PartitionPolicySpec | None = None
    """Division of the task into partitions of equal size that are placed as units."""


class JobSpec(Wire, frozen=True, kw_only=True):
    """Specification of the job."""

    scheduler_name: Annotated[str, FieldRules(max_length=63)] = ""
    """Scheduler that places the pods; by default the first one configured."""
    min_available: Count = 0
    """Gang size: pods that must be able to run together before any starts. 0 means the sum over the tasks."""
    volumes: tuple[VolumeSpec, ...] = ()
    """Volumes mounted into every pod of the job."""
    tasks: Annotated[tuple[TaskSpec, ...], FieldRules(min_items=1)] = ()
    """Groups of equal pods of the job."""
    policies: tuple[LifecyclePolicy, ...] = ()
    """Actions for events of any task. Policies of the task take precedence."""
    plugins: Mapping[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """Job plugins to use, such as svc, ssh or env, with their arguments."""
    running_estimate: Duration = ""
    """Expected running time of the job, as a duration, for information."""
    queue: Annotated[ObjectName, DEFAULTED] = names.DEFAULT_QUEUE
    """Queue the job is submitted to."""
    max_retry: Annotated[Count, DEFAULTED] = 3
    """Number of restarts before the job fails."""
    ttl_seconds_after_finished: Count | None = None
    """Seconds after which a finished job is deleted. It is never deleted if this is unset."""
    priority_class_name: ObjectName = ""
    """PriorityClass of the job."""
    min_success: Annotated[Int32, FieldRules(minimum=1)] | None = None
    """Pods that must succeed for the job to be complete."""
    network_topology: NetworkTopologySpec | None = None
    """Network topology of the pods. At most one of the two tier fields can be set."""


class JobPhase(StrEnum):
    """Phases of a job."""

    PENDING = "Pending"
    ABORTING = "Aborting"
    ABORTED = "Aborted"
    RUNNING = "Running"
    RESTARTING = "Restarting"
    COMPLETING = "Completing"
    COMPLETED = "Completed"
    TERMINATING = "Terminating"
    TERMINATED = "Terminated"
    FAILED = "Failed"


class JobState(Wire, frozen=True, kw_only=True):
    """Phase of the job and its cause."""

    phase: Annotated[str, FieldRules(enum=JobPhase)] = ""
    """Phase of the job."""
    reason: str = ""
    """Cause in one word."""
    message: str = ""
    """Human-readable details."""
    last_transition_time: Time = ""
    """Time when the phase was entered."""


class TaskState(Wire, frozen=True, kw_only=True):
    """Pods of one task."""

    phase: Mapping[str, Int32] = EMPTY
    """Number of pods, by pod phase."""


class JobCondition(Wire, frozen=True, kw_only=True):
    """One past phase of the job."""

    status: str
    """The phase."""
    last_transition_time: Time = ""
    """Time when the phase was entered."""


class JobStatus(Wire, frozen=True, kw_only=True):
    """Status of the job."""

    state: JobState = JobState()
    """Phase of the job and its cause."""
    min_available: Count = 0
    """Gang size in force."""
    task_status_count: Mapping[str, TaskState] = msgspec.field(default_factory=dict)
    """Pods of each task, by task name."""
    pending: Count = 0
    """Pods that are pending."""
    running: Count = 0
    """Pods that are running."""
    succeeded: Count = 0
    """Pods that have succeeded."""
    failed: Count = 0
    """Pods that have failed."""
    terminating: Count = 0
    """Pods that are being deleted."""
    unknown: Count = 0
    """Pods whose state is unknown."""
    version: Count = 0
    """Version of the pods. It increases with each restart."""
    retry_count: Count = 0
    """Number of restarts of the job."""
    running_duration: Duration = ""
    """Running time of the job, as a duration."""
    controlled_resources: Mapping[str, str] = EMPTY
    """Objects of job plugins, by plugin."""
    conditions: tuple[JobCondition, ...] = ()
    """Past phases of the job, the latest last."""


class Job(KubernetesObject, frozen=True, kw_only=True):
    """Job is a batch job: groups of pods, scheduled together, with rules for failure and success."""

    definition: ClassVar[Definition] = Definition(
        api_version=names.BATCH,
        kind="Job",
        plural="jobs",
        short_names=("vcjob", "vj"),
        columns=(
            PrinterColumn(name="STATUS", path=".status.state.phase"),
            PrinterColumn(name="minAvailable", path=".status.minAvailable", type="integer"),
            PrinterColumn(name="RUNNINGS", path=".status.running", type="integer"),
            AGE,
            PrinterColumn(name="QUEUE", path=".spec.queue", is_wide=True),
        ),
    )
    spec: JobSpec = JobSpec()
    """Specification of the job."""
    status: JobStatus = JobStatus()
    """Status of the job."""


# --- jobs at set times -----------------------------------------------------------------------------------------------


class ConcurrencyPolicy(StrEnum):
    """Handling of a new job while the earlier one runs."""

    ALLOW = "Allow"
    FORBID = "Forbid"
    REPLACE = "Replace"


class JobTemplateMeta(Wire, frozen=True, kw_only=True):
    """Metadata of the created jobs."""

    name: str = ""
    """Accepted without effect: names follow from the CronJob's."""
    namespace: str = ""
    """Accepted without effect: jobs are created in the CronJob's namespace."""
    labels: Mapping[str, str] = EMPTY
    """Labels of the jobs."""
    annotations: Mapping[str, str] = EMPTY
    """Annotations of the jobs."""
    finalizers: tuple[str, ...] = ()
    """Accepted without effect: jobs are created without finalizers."""


class JobTemplateSpec(Wire, frozen=True, kw_only=True):
    """Job to create."""

    metadata: JobTemplateMeta = JobTemplateMeta()
    """Metadata of the created jobs."""
    spec: JobSpec = JobSpec()
    """The job, as in the spec of a Job."""


class CronJobSpec(Wire, frozen=True, kw_only=True):
    """Schedule and template of jobs."""

    schedule: str
    """Schedule in five fields: minute, hour, day of month, month, day of week; or a macro such as @hourly."""
    time_zone: str | None = None
    """Time zone of the schedule, by its IANA name."""
    starting_deadline_seconds: Annotated[Int64, FieldRules(minimum=0)] | None = None
    """Seconds after its time within which a missed job can still be created."""
    concurrency_policy: Annotated[str, FieldRules(enum=ConcurrencyPolicy), DEFAULTED] = "Allow"
    """Handling of a new job while the earlier one runs: Allow both, Forbid the new one, or Replace the earlier one."""
    suspend: Annotated[bool, DEFAULTED] = False
    """No jobs are created while this is true."""
    job_template: JobTemplateSpec
    """Job to create."""
    successful_jobs_history_limit: Annotated[Count, DEFAULTED] = 3
    """Number of completed jobs to keep."""
    failed_jobs_history_limit: Annotated[Count, DEFAULTED] = 1
    """Number of failed jobs to keep."""


class CronJobStatus(Wire, frozen=True, kw_only=True):
    """Status of the CronJob."""

    active: Annotated[tuple[ObjectReference, ...], FieldRules(list_type="atomic")] = ()
    """Jobs that have not finished."""
    last_schedule_time: Time = ""
    """Latest served time."""
    last_successful_time: Time = ""
    """Time when a job last completed."""


class CronJob(KubernetesObject, frozen=True, kw_only=True):
    """CronJob creates jobs at set times."""

    definition: ClassVar[Definition] = Definition(
        api_version=names.BATCH,
        kind="CronJob",
        plural="cronjobs",
        short_names=("cronvcjob", "cronvj"),
        columns=(
            PrinterColumn(name="SCHEDULE", path=".spec.schedule"),
            PrinterColumn(name="SUSPEND", path=".spec.suspend", type="boolean"),
            PrinterColumn(name="LAST SCHEDULE", path=".status.lastScheduleTime", type="date"),
            AGE,
        ),
    )
    spec: CronJobSpec = CronJobSpec(schedule="", job_template=JobTemplateSpec())
    """Schedule and template of jobs."""
    status: CronJobStatus = CronJobStatus()
    """Status of the CronJob."""
