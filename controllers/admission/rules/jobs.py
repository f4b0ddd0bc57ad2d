"""Jobs: defaults of a new Job, and validation of a new or changed Job.

The rules are Volcano's, and the messages contain its words. docs/admission.md lists them. An answer reports all faults.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from pyroclast.controllers.admission.faults import Fault, some, the_first
from pyroclast.controllers.admission.lookups import Lookups
from pyroclast.controllers.admission.patches import Patch, add
from pyroclast.controllers.admission.rules.acyclic import in_a_circle
from pyroclast.controllers.admission.rules.job_changes import change_faults, is_settled, plugin_name_faults
from pyroclast.controllers.admission.rules.job_size import size_faults
from pyroclast.controllers.admission.rules.job_volumes import volume_faults
from pyroclast.controllers.admission.rules.names import QUALIFIED_NAME, is_qualified_name
from pyroclast.controllers.admission.rules.numa import numa_faults
from pyroclast.controllers.admission.rules.partitions import partition_faults
from pyroclast.controllers.admission.rules.pods import budget_faults
from pyroclast.controllers.admission.rules.policies import policy_faults
from pyroclast.controllers.admission.rules.queue_use import queue_use_faults
from pyroclast.controllers.admission.rules.shape import member, read
from pyroclast.controllers.admission.rules.templates import template_faults
from pyroclast.controllers.admission.rules.topology import topology_faults
from pyroclast.controllers.admission.rules.waiting_tasks import waiting_warnings
from pyroclast.controllers.jobs.defaults import filled_in
from pyroclast.controllers.jobs.plugins.mpi import Mpi
from pyroclast.controllers.jobs.plugins.registry import PLUGINS, plugin_faults, plugins_of
from pyroclast.model.api.batch import Job, JobSpec, TaskSpec
from pyroclast.model.api.names import DEFAULT_QUEUE, DEFAULT_SCHEDULER, DEFAULT_TASK

__all__ = ["defaulted", "faults_of", "made_name_faults", "warnings_of"]

_MAX_RETRY: Final = 3
_NEED_NAMES: Final = frozenset({"mpi", "pytorch", "ray", "tensorflow"})
"""Plugins that use the host names of `svc`."""


def defaulted(job: Mapping[str, Any], *, scheduler_name: str = DEFAULT_SCHEDULER) -> list[Patch]:
    """Return the patches that fill in the defaults of a new Job.

    Fields of a wrong type stay as they are. The API server refuses them.

    Args:
        job: The Job, as JSON.
        scheduler_name: Scheduler of Jobs that name none.
    """
    spec = job.get("spec")
    if not isinstance(spec, Mapping):
        return []
    patches = [
        *([add("spec", "queue", value=DEFAULT_QUEUE)] if not spec.get("queue") else ()),
        *([add("spec", "schedulerName", value=scheduler_name)] if not spec.get("schedulerName") else ()),
        *([add("spec", "maxRetry", value=_MAX_RETRY)] if not spec.get("maxRetry") else ()),
    ]
    tasks = spec.get("tasks")
    minimums = []
    for number, task in enumerate(tasks if isinstance(tasks, Sequence) and not isinstance(tasks, str) else ()):
        if isinstance(task, Mapping):
            patches += _task_defaults(task, number)
            minimums.append(_minimum(task))
    is_known = isinstance(tasks, list) and len(minimums) == len(tasks) and None not in minimums
    if not spec.get("minAvailable") and is_known:
        patches.append(add("spec", "minAvailable", value=sum(filter(None, minimums))))
    return patches + _plugin_defaults(spec.get("plugins"))


def faults_of(
    job: Mapping[str, Any] | Job,
    old: Mapping[str, Any] | Job | None = None,
    lookups: Lookups | None = None,
) -> tuple[Fault, ...]:
    """Find the faults of a Job.

    Args:
        job: The Job, as JSON or as its struct. Defaults are filled in.
        old: Previous Job, None for a new Job. The rules of changes validate a change.
        lookups: The queues. Without them queues are not validated.
    """
    return the_first(_faults(job, old, lookups))


def warnings_of(job: Mapping[str, Any] | Job) -> tuple[str, ...]:
    """Return the warnings for a valid Job: settings that will not work, and tasks that never start.

    Args:
        job: The Job, as JSON or as its struct.
    """
    known = read(Job, job)
    if isinstance(known, Fault):
        return ()
    return (
        *(fault.message for fault in plugin_faults(known) if not fault.is_fatal),
        *waiting_warnings(_whole(known).spec),
        *map(str, budget_faults(known.metadata.annotations)),
    )


def _faults(
    value: Mapping[str, Any] | Job, old: Mapping[str, Any] | Job | None, lookups: Lookups | None
) -> Iterator[Fault]:
    job = read(Job, value)
    if isinstance(job, Fault):
        yield job
    elif old is None:
        yield from _creation_faults(job, lookups)
    else:
        earlier = read(Job, old)
        if isinstance(earlier, Fault):
            yield from _creation_faults(job, lookups)
        elif not is_settled(earlier, job):
            scheduler_name = earlier.spec.scheduler_name or DEFAULT_SCHEDULER
            yield from change_faults(_whole(earlier, scheduler_name), _whole(job, scheduler_name))
            if lookups is not None and earlier.spec.queue != job.spec.queue:
                yield from queue_use_faults(job.spec.queue or DEFAULT_QUEUE, "job", lookups, only_leaves=True)


def _whole(job: Job, scheduler_name: str = DEFAULT_SCHEDULER) -> Job:
    """Return a Job with its defaults.

    They are filled in at creation and are missing from the manifest. Applying the manifest again changes nothing.
    """
    plain = msgspec.json.decode(msgspec.json.encode(job))
    return msgspec.convert(filled_in(plain, defaulted(plain, scheduler_name=scheduler_name)), Job)


# --- defaults --------------------------------------------------------------------------------------------------------


def _task_defaults(task: Mapping[str, Any], number: int) -> Iterator[Patch]:
    if not task.get("name"):
        yield add("spec", "tasks", number, "name", value=f"{DEFAULT_TASK}{number}")
    pod = member(task, "template", "spec")
    if isinstance(pod, Mapping) and pod.get("hostNetwork") is True and not pod.get("dnsPolicy"):
        yield add("spec", "tasks", number, "template", "spec", "dnsPolicy", value="ClusterFirstWithHostNet")
    minimum = _minimum(task)
    if task.get("minAvailable") is None and minimum is not None:
        yield add("spec", "tasks", number, "minAvailable", value=minimum)
    if not task.get("maxRetry"):
        yield add("spec", "tasks", number, "maxRetry", value=_MAX_RETRY)


def _minimum(task: Mapping[str, Any]) -> int | None:
    """Return the number of pods of a task that must run together, None if a value is not a number."""
    minimum = task.get("minAvailable")
    if minimum is None:
        partitions = member(task, "partitionPolicy", "minPartitions") or 0
        size = member(task, "partitionPolicy", "partitionSize")
        if _is_count(partitions) and partitions > 0:
            return partitions * size if _is_count(size) else None
        minimum = task.get("replicas") or 0
    return minimum if _is_count(minimum) else None


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _plugin_defaults(plugins: object) -> list[Patch]:
    if not isinstance(plugins, Mapping):
        return []
    needed = (("svc", not _NEED_NAMES.isdisjoint(plugins)), ("ssh", "mpi" in plugins))
    return [add("spec", "plugins", name, value=[]) for name, is_needed in needed if is_needed and name not in plugins]


# --- faults of new jobs ----------------------------------------------------------------------------------------------


def _creation_faults(job: Job, lookups: Lookups | None) -> Iterator[Fault]:
    spec, name = job.spec, job.metadata.name
    if name and not is_qualified_name(name):
        yield Fault(
            field="metadata.name",
            value=name,
            expected=QUALIFIED_NAME,
            rule=f"create job with name {name} validate failed",
        )
    if not spec.tasks:
        yield Fault(field="spec.tasks", expected="at least one task", rule="No task specified in job spec")
    yield from _plugin_faults(spec)
    yield from plugin_name_faults(job)
    yield from _fatal_plugin_faults(job)
    yield from topology_faults(spec.network_topology, "spec.networkTopology")
    yield from _tasks_faults(job)
    yield from size_faults(spec.tasks)
    yield from _gang_faults(spec)
    yield from policy_faults(spec.policies, "spec.policies")
    yield from volume_faults(spec.volumes, "spec.volumes")
    if lookups is not None:
        yield from queue_use_faults(spec.queue or DEFAULT_QUEUE, "job", lookups, only_leaves=True)
    yield from _dependency_faults(spec.tasks)


def _gang_faults(spec: JobSpec) -> Iterator[Fault]:
    total = sum(task.replicas for task in spec.tasks)
    if total < spec.min_available:
        yield Fault(
            field="spec.minAvailable",
            value=spec.min_available,
            expected=f"at most {total}, the sum of all replicas",
            rule="job 'minAvailable' should not be greater than total replicas in tasks",
        )


def _plugin_faults(spec: JobSpec) -> Iterator[Fault]:
    for name in sorted(spec.plugins):
        if name not in PLUGINS:
            yield Fault(
                field="spec.plugins",
                value=name,
                expected=f"one of {', '.join(sorted(PLUGINS))}",
                rule=f"unable to find job plugin: {name}",
            )
    if "mpi" in spec.plugins:
        master = Mpi(spec.plugins["mpi"]).flags.master
        if all(task.name != master for task in spec.tasks):
            yield Fault(
                field="spec.plugins.mpi",
                value=master,
                expected=f"one of {some(task.name for task in spec.tasks)}" if spec.tasks else "a task",
                rule="The specified mpi master task was not found",
            )


def _fatal_plugin_faults(job: Job) -> Iterator[Fault]:
    """Find missing requirements of plugins, such as the head of a Ray cluster."""
    for plugin in plugins_of(job):
        for fault in plugin.faults(job):
            if fault.is_fatal:
                yield Fault(field=fault.path, value=fault.value, expected=fault.expected, rule=fault.message)


def _tasks_faults(job: Job) -> Iterator[Fault]:
    names: set[str] = set()
    for number, task in enumerate(job.spec.tasks):
        if task.name in names:
            yield Fault(
                field=f"spec.tasks[{number}].name",
                value=task.name,
                expected="a name of its own",
                rule=f"duplicated task name {task.name}",
            )
        names.add(task.name)
        yield from _task_faults(job.metadata.name, task, number)


def _task_faults(job: str, task: TaskSpec, number: int) -> Iterator[Fault]:
    field = f"spec.tasks[{number}]"
    if task.min_available is not None and task.min_available > task.replicas:
        yield Fault(
            field=f"{field}.minAvailable",
            value=task.min_available,
            expected=f"at most {task.replicas}, its replicas",
            rule=f"'minAvailable' is greater than 'replicas' in task: {task.name}, job: {job}",
        )
    yield from policy_faults(task.policies, f"{field}.policies")
    yield from _pod_name_faults(job, task, number)
    yield from template_faults(task.template, f"{field}.template")
    yield from numa_faults(task, field, number)
    yield from partition_faults(task, field, job)


def _pod_name_faults(job: str, task: TaskSpec, number: int) -> Iterator[Fault]:
    pod = f"{job}-{task.name}-{number}"
    if job and not is_qualified_name(pod):
        yield Fault(
            field=f"spec.tasks[{number}].name",
            value=task.name,
            expected=QUALIFIED_NAME,
            rule=f"create pod with name {pod} validate failed",
        )


def made_name_faults(job: Job) -> Iterator[Fault]:
    """Find invalid names of the pods of a new Job and of the objects of its plugins."""
    whole = _whole(job)
    for number, task in enumerate(whole.spec.tasks):
        yield from _pod_name_faults(whole.metadata.name, task, number)
    yield from plugin_name_faults(whole)


def _dependency_faults(tasks: Sequence[TaskSpec]) -> Iterator[Fault]:
    waits_for = {task.name: task.depends_on.name if task.depends_on else () for task in tasks}
    stuck = frozenset(in_a_circle(waits_for))
    for number, task in enumerate(tasks):
        if task.depends_on is not None and task.name in stuck:
            yield Fault(
                field=f"spec.tasks[{number}].dependsOn.name",
                value=list(task.depends_on.name),
                expected=f"among {some(waits_for)}, and none that waits for this one",
                rule="job has dependencies between tasks, but doesn't form a directed acyclic graph(DAG)",
            )
