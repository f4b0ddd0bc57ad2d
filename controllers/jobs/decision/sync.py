"""Sync: desired objects of a pending or running Job: claims, pod group, objects of plugins, and pods."""

from collections.abc import Collection, Iterator
from dataclasses import replace

from pyroclast.controllers.jobs.claims import RECORD, ClaimPlan, claims_of
from pyroclast.controllers.jobs.decision.causes import failed_pod
from pyroclast.controllers.jobs.decision.counts import Counts, count
from pyroclast.controllers.jobs.decision.decision import Decision, EventRecord
from pyroclast.controllers.jobs.decision.groups import group_change, group_manifest
from pyroclast.controllers.jobs.decision.memory import JobMemory
from pyroclast.controllers.jobs.decision.observed import (
    ENDED,
    Observed,
    PodPlace,
    is_given_up,
    is_leaving,
    member_version,
)
from pyroclast.controllers.jobs.decision.states import tasks_that_fell_short, while_pending, while_running
from pyroclast.controllers.jobs.decision.statuses import PLUGIN_RECORD, changed, entered, with_counts
from pyroclast.controllers.jobs.plugins.registry import plugins_of
from pyroclast.controllers.jobs.pods import pod_name
from pyroclast.controllers.jobs.reasons import INVALID, POD_GROUP_ERROR, POD_GROUP_PENDING, PVC_ERROR
from pyroclast.model.api.batch import Iteration, JobPhase, TaskSpec
from pyroclast.model.api.scheduling import PodGroup, PodGroupPhase
from pyroclast.model.errors import ObjectError
from pyroclast.model.wire import Pod
from pyroclast.model.wire.times import unix_seconds

__all__ = ["sync"]

_TOO_FEW_SUCCEEDED = "TooFewSucceeded"
"""Reason of the state of a Job that failed without an action."""


def sync(seen: Observed, memory: JobMemory) -> Decision:
    """Return the step that brings a Pending or Running Job to its spec."""
    strays = tuple(_strays(seen))
    surplus = tuple(pod for pod in seen.surplus if not is_leaving(pod))
    counts = count(seen, (*strays, *surplus), memory.done)
    status = with_counts(seen, counts)
    desired = _desired(seen, memory.done)
    phase = _next_phase(seen, counts)
    if desired.objects == "there":
        memory = replace(memory, others={**memory.others, **_records(seen)})
    reason, message = _outcome(seen, counts, phase) if _starts_afresh(seen, phase) else (None, None)
    new = entered(seen, status, phase, memory, reason=reason, message=message)
    if phase not in {JobPhase.PENDING, JobPhase.RUNNING}:
        return Decision(status=new)  # the Job ends: nothing is created
    return replace(desired, status=changed(seen, new), kills=strays, deletes=surplus)


def _next_phase(seen: Observed, counts: Counts) -> JobPhase:
    if seen.job.status.state.phase == JobPhase.RUNNING:
        return while_running(seen.job.spec, counts)
    return while_pending(seen.job.spec, counts)


def _starts_afresh(seen: Observed, phase: JobPhase) -> bool:
    """Return whether the message about the previous phase is outdated."""
    state = seen.job.status.state
    return state.reason == INVALID or phase != state.phase


def _strays(seen: Observed) -> Iterator[Pod]:
    """Yield remaining pods of a kill: marked as restarted, or of an older version and not ended."""
    for pod in seen.members.values():
        is_older = (member_version(pod) or 0) < seen.job.status.version
        if not is_leaving(pod) and (is_given_up(pod) or (is_older and pod.status.phase not in ENDED)):
            yield pod


# --- desired objects -------------------------------------------------------------------------------------------------


def _desired(seen: Observed, done: Collection[PodPlace]) -> Decision:
    """Return the objects to create, or none while an obstacle exists."""
    trouble = _trouble(seen)
    if trouble is not None:
        return Decision(events=(trouble,))
    group = seen.pod_group
    if group is not None and group.metadata.deletion_timestamp:
        return Decision()  # the next group can be created after this one is deleted
    try:
        create = None if group else group_manifest(seen.job, seen.priorities, seen.namespace_annotations)
        change = group_change(group, seen.job, seen.priorities, seen.namespace_annotations) if group else None
    except ObjectError as error:
        return Decision(events=(EventRecord(reason=POD_GROUP_ERROR, message=str(error), is_warning=True),))
    return Decision(
        claims=_claims(seen),
        group_create=create,
        group_change=change,
        objects="there",
        creates=tuple(_missing(seen, done)) if group and _is_admitted(group) else (),
        events=(*_cautions(seen), *(_group_events(group) if group else ())),
    )


def _trouble(seen: Observed) -> EventRecord | None:
    """Return the obstacle that prevents creation."""
    if seen.refusal:
        return EventRecord(reason=INVALID, message=seen.refusal, is_warning=True)
    if seen.queue is None:
        message = f"queue {seen.job.spec.queue} is not found; the Job waits until it is there"
        return EventRecord(reason=POD_GROUP_ERROR, message=message, is_warning=True)
    if seen.job.status.state.phase == JobPhase.RUNNING:
        return None  # its claims existed when it started
    for claim in claims_of(seen.job):
        if claim.manifest is None and claim.name not in seen.claims:
            message = f"pvc {claim.name} is not found, the job will be in the Pending state until the PVC is created"
            return EventRecord(reason=PVC_ERROR, message=message, is_warning=True)
    return None


def _claims(seen: Observed) -> tuple[ClaimPlan, ...]:
    """Return the claims to create or to name."""
    claims = claims_of(seen.job)
    if seen.job.status.state.phase == JobPhase.RUNNING:
        # The claims existed when the Job started. Applying its manifest again removes their names from the spec.
        return tuple(replace(claim, manifest=None) for claim in claims if not claim.is_named)
    return tuple(
        claim
        for claim in claims
        if claim.manifest is not None and (not claim.is_named or claim.name not in seen.claims)
    )


def _is_admitted(group: PodGroup) -> bool:
    """Return whether the scheduler has admitted a gang. No pods are created before."""
    return group.status.phase not in {"", PodGroupPhase.PENDING}


def _missing(seen: Observed, done: Collection[PodPlace]) -> Iterator[PodPlace]:
    for key, task in seen.tasks.items():
        if _has_what_it_waits_for(seen, task, done):
            for index in range(task.replicas):
                place = PodPlace(key, index)
                if pod_name(seen.job.metadata.name, task.name, index) not in seen.pods and place not in done:
                    yield place


def _cautions(seen: Observed) -> Iterator[EventRecord]:
    return (EventRecord(reason=reason, message=message, is_warning=True) for reason, message in seen.cautions)


def _group_events(group: PodGroup) -> tuple[EventRecord, ...]:
    """Return the event with the reason why a gang waits, if the scheduler's latest condition is such a reason."""
    true = [condition for condition in group.status.conditions if condition.status == "True"]
    latest = max(true, key=lambda condition: _moment(condition.last_transition_time), default=None)
    if latest is None or latest.type == "Scheduled":
        return ()
    name = f"{group.metadata.namespace}/{group.metadata.name}"
    message = f"PodGroup {name} is {latest.type.lower()}: {latest.message or latest.reason}"
    return (EventRecord(reason=POD_GROUP_PENDING, message=message, is_warning=True),)


def _records(seen: Observed) -> dict[str, str]:
    """Return the entries for claims, and for plugins with objects."""
    claims = {RECORD + claim.name: claim.name for claim in claims_of(seen.job)}
    plugins = {PLUGIN_RECORD + plugin.name: plugin.name for plugin in plugins_of(seen.job) if plugin.is_recorded}
    return {**claims, **plugins}


def _moment(text: str) -> float:
    try:
        return unix_seconds(text)
    except ValueError:
        return 0.0


def _has_what_it_waits_for(seen: Observed, task: TaskSpec, done: Collection[PodPlace] = ()) -> bool:
    """Return whether the tasks that a task depends on have started: one of several with `any`, otherwise all."""
    if task.depends_on is None:
        return True
    started = [_has_started(seen, name, done) for name in task.depends_on.name]
    if len(started) > 1 and task.depends_on.iteration == Iteration.ANY:
        return any(started)
    return all(started)


def _has_started(seen: Observed, name: str, done: Collection[PodPlace]) -> bool:
    """Return whether enough pods of a task are running and ready, or have succeeded."""
    task = seen.tasks.get(name)
    if task is None:
        return False
    started = sum(_is_started(pod) for place, pod in seen.members.items() if place.task == name)
    started += sum(place.task == name and place not in seen.members for place in done)
    return task.min_available is None or started >= task.min_available


def _is_started(pod: Pod) -> bool:
    if pod.status.phase == "Running":
        return all(status.ready for status in pod.status.container_statuses)
    return pod.status.phase == "Succeeded"


def _outcome(seen: Observed, counts: Counts, phase: JobPhase) -> tuple[str, str]:
    """Return reason and message of the phase in which a Job ends; both empty where there is nothing to explain."""
    if phase == JobPhase.FAILED:
        return _TOO_FEW_SUCCEEDED, f"{_what_lacks(seen, counts)}{_first_failure(seen, counts)}"
    if phase == JobPhase.COMPLETED and counts.failed:
        return "", f"{counts.succeeded} pods succeeded, which is enough{_first_failure(seen, counts)}"
    return "", ""


def _what_lacks(seen: Observed, counts: Counts) -> str:
    spec = seen.job.spec
    if spec.min_success is not None:
        return f"{counts.succeeded} pods succeeded, minSuccess is {spec.min_success}"
    short = tasks_that_fell_short(spec, counts)
    if short:
        return "; ".join(
            f"task {name}: {succeeded} pods succeeded, minAvailable is {least}" for name, succeeded, least in short
        )
    return f"{counts.succeeded} pods succeeded, minAvailable is {spec.min_available}"


def _first_failure(seen: Observed, counts: Counts) -> str:
    """Return a message with the first failed pod in order of tasks, and the number of other failed pods."""
    failed = next((pod for pod in seen.members.values() if pod.status.phase == "Failed"), None)
    if failed is None:
        return ""
    more = f"; {counts.failed - 1} more failed" if counts.failed > 1 else ""
    return f"; {failed_pod(failed)}{more}"
