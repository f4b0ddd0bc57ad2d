"""Translation of API objects into tasks, nodes, queues and groups of the model.

Each fault is reported with the name of the object and the path of the field. An annotation that cannot be read has the
value that Volcano assumes for it. A pod, group or queue with an amount that cannot be read is not scheduled. A node
lacks only the amount that cannot be read. Other objects are not affected.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from pyroclast.cache.options import DEFAULT_QUEUE
from pyroclast.cache.translation.annotations import (
    annotation_or_label,
    parse_bool,
    parse_float,
    parse_int32,
    parse_seconds,
)
from pyroclast.cache.translation.templates import TemplateStore
from pyroclast.model import wire
from pyroclast.model.api.names import (
    DISABLE_PREEMPTIBLE,
    GROUP_NAME,
    HIERARCHY,
    HIERARCHY_WEIGHTS,
    POD_QUEUE_NAME,
    PREEMPTABLE,
    REVOCABLE_ZONE,
    SLA_WAITING_TIME,
    TASK_PRIORITY,
    TASK_SPEC,
)
from pyroclast.model.api.scheduling import PodGroupPhase
from pyroclast.model.devices.ascend_register import ascend_offers
from pyroclast.model.devices.koordinator.layout import node_devices
from pyroclast.model.devices.koordinator.offers import offers_of
from pyroclast.model.errors import ObjectError
from pyroclast.model.ids import JobId, NodeName, QueueName, TaskId
from pyroclast.model.native import NativeGroup
from pyroclast.model.nodes import Node
from pyroclast.model.quantity import QuantityError
from pyroclast.model.queues import OPEN, Queue, rooted
from pyroclast.model.requests import LARGEST_REQUEST, amounts, saturated
from pyroclast.model.resources import CPU, MEMORY, MILLI, NO_AMOUNTS, Amounts
from pyroclast.model.sealed import SealedDict
from pyroclast.model.tasks import Task, TaskStatus, TaskTemplate

__all__ = ["GroupFacts", "Report", "Translator", "single_group", "single_job_id", "task_status"]

Report = Callable[[ObjectError], None]
"""Receives each broken field."""

T = TypeVar("T")

ANY_ZONE: Final = "*"
DEFAULT_PRIORITY: Final = 1
_LARGEST_LIMIT: Final = 2**60
"""Largest limit of a queue and largest minimum of a group, in base units; far below `UNLIMITED`."""
_SLA_WAITING_TIMES: Final = (SLA_WAITING_TIME, "sla-waiting-time")
_OVERSUBSCRIBED: Final = {
    CPU: ("volcano.sh/oversubscription-cpu", 1),
    MEMORY: ("volcano.sh/oversubscription-memory", MILLI),
}
_PENDING_PHASES: Final = ("Pending", "")
_FINISHED: Final = {"Succeeded": TaskStatus.SUCCEEDED, "Failed": TaskStatus.FAILED}


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFacts:
    """The parsed fields of a PodGroup. A job consists of them, its tasks and its priority."""

    group: wire.PodGroup
    queue: QueueName
    min_available: int
    min_by_role: Mapping[str, int]
    min_resources: Amounts | None
    phase: PodGroupPhase
    created: float
    waiting_seconds: float | None
    preemptable: bool | None
    revocable_zone: str
    priority: int | None = None
    """Priority of the job itself; None if its priority class determines the priority."""
    native: NativeGroup | None = None
    """The PodGroup of `scheduling.k8s.io` for which the group is made up; None for other groups."""


def task_status(pod: wire.Pod) -> TaskStatus:
    """Return the status of a pod's task. A pod without a phase is new."""
    phase = pod.status.phase
    if phase == "Running":
        return TaskStatus.RELEASING if pod.metadata.deletion_timestamp else TaskStatus.RUNNING
    if phase in _PENDING_PHASES:
        if pod.metadata.deletion_timestamp:
            return TaskStatus.RELEASING
        return TaskStatus.BOUND if pod.spec.node_name else TaskStatus.PENDING
    return _FINISHED.get(phase, TaskStatus.UNKNOWN)


def single_job_id(pod: wire.Pod) -> JobId:
    """Return the job id of a pod without a group: the name of the group that a controller would create."""
    return JobId(f"{pod.metadata.namespace}/podgroup-{pod.metadata.uid}")


def single_group(pod: wire.Pod, status: TaskStatus) -> wire.PodGroup:
    """Return a made-up group for a pod without a group."""
    phases = {TaskStatus.PENDING: PodGroupPhase.PENDING, TaskStatus.SUCCEEDED: PodGroupPhase.COMPLETED}
    return wire.PodGroup(
        metadata=wire.ObjectMeta(
            name=f"podgroup-{pod.metadata.uid}",
            namespace=pod.metadata.namespace,
            uid=pod.metadata.uid,
            creation_timestamp=pod.metadata.creation_timestamp,
            labels=pod.metadata.labels,
            annotations=pod.metadata.annotations,
            owner_references=(
                wire.OwnerReference(kind="Pod", name=pod.metadata.name, uid=pod.metadata.uid, controller=True),
            ),
        ),
        spec=wire.PodGroupSpec(
            min_member=1,
            queue=pod.metadata.annotations.get(POD_QUEUE_NAME, ""),
            priority_class_name=pod.spec.priority_class_name,
        ),
        status=wire.PodGroupStatus(phase=phases.get(status, PodGroupPhase.RUNNING)),
    )


class Translator:
    """Translates objects, and stores the templates that tasks share."""

    def __init__(
        self,
        *,
        default_queue: QueueName = DEFAULT_QUEUE,
        report: Report,
        fold: Callable[[Amounts], Amounts] = lambda amounts: amounts,
        usable_by: Callable[[wire.Pod], tuple[str, ...]] = lambda _: (),
        counts_resized_pods: bool = True,
    ) -> None:
        """Prepare to translate.

        Args:
            default_queue: The queue of groups without a queue name.
            report: Receives each broken field.
            fold: Replaces the names of resources without a row by the shared name.
            usable_by: Returns the Reservations whose owners a pod matches.
            counts_resized_pods: Whether pods count as the annotation of counted amounts says.
        """
        self._usable_by = usable_by
        self.templates = TemplateStore(fold, counts_resized_pods=counts_resized_pods)
        self._fold = fold
        self._default_queue = default_queue
        self._report = report

    def task(self, pod: wire.Pod, job: JobId | None, needed_volumes: Callable[[wire.Pod], Amounts]) -> Task:
        """Return the task of a pod.

        Raises:
            ObjectError: An amount, or the claim of an ephemeral volume, cannot be used. `fenced_task` returns a task in
                this case.
        """
        volumes = needed_volumes(pod) if pod.spec.volumes else NO_AMOUNTS
        return self._task(pod, job, fenced=False, volumes=volumes)

    def fenced_task(self, pod: wire.Pod) -> Task:
        """Return the task of a pod whose amounts cannot be read. It has no job, and counts as one pod of its node."""
        return self._task(pod, None, fenced=True, volumes=NO_AMOUNTS)

    def standing_task(self, pod: wire.Pod, job: JobId | None) -> Task:
        """Return the task of a pod that stands for a Reservation on a node. It requests nothing: amounts are held."""
        return self._with_template(pod, job, self.templates.fenced(pod, NO_AMOUNTS))

    def _task(self, pod: wire.Pod, job: JobId | None, *, fenced: bool, volumes: Amounts) -> Task:
        template = self.templates.fenced(pod) if fenced else self.templates.template(pod, volumes, self._usable_by(pod))
        return self._with_template(pod, job, template)

    def _with_template(self, pod: wire.Pod, job: JobId | None, template: TaskTemplate) -> Task:
        metadata, spec = pod.metadata, pod.spec
        return Task(
            TaskId(metadata.uid),
            job,
            metadata.namespace,
            metadata.name,
            metadata.annotations.get(TASK_SPEC) or metadata.labels.get(TASK_SPEC, ""),
            template,
            task_status(pod),
            NodeName(spec.node_name) if spec.node_name else None,
            self._task_priority(pod),
            self._is_preemptable("Pod", metadata, absent=True) and metadata.labels.get(DISABLE_PREEMPTIBLE) != "true",
            self._revocable_zone(metadata),
            bool(spec.scheduling_gates),
            self._created("Pod", metadata),
            pod,
        )

    def job_id(self, pod: wire.Pod) -> JobId | None:
        """Return the job that a pod's group annotation names."""
        name = pod.metadata.annotations.get(GROUP_NAME)
        return JobId(f"{pod.metadata.namespace}/{name}") if name else None

    def group(self, group: wire.PodGroup) -> GroupFacts:
        """Parse a PodGroup.

        Raises:
            ObjectError: A minimum is not a quantity, or is negative.
        """
        spec, metadata = group.spec, group.metadata
        minimum_amounts = None
        if spec.min_resources is not None:
            minimum_amounts = SealedDict(
                self._fold(_amounts("PodGroup", metadata, "spec.minResources", spec.min_resources))
            )
        return GroupFacts(
            group=group,
            queue=QueueName(spec.queue) if spec.queue else self._default_queue,
            min_available=self._minimum(metadata, "spec.minMember", spec.min_member),
            min_by_role=SealedDict(
                (role, self._minimum(metadata, f"spec.minTaskMember.{role}", minimum))
                for role, minimum in spec.min_task_member.items()
            ),
            min_resources=minimum_amounts,
            phase=self._phase(group),
            created=self._created("PodGroup", metadata),
            waiting_seconds=self._waiting_seconds(metadata),
            preemptable=self._group_preemptable(metadata),
            revocable_zone=self._revocable_zone(metadata),
        )

    def queue(self, queue: wire.Queue) -> Queue:
        """Return the queue of an object.

        Raises:
            ObjectError: A limit is not a quantity, or is negative.
        """
        spec, metadata = queue.spec, queue.metadata
        # Admission adds the root to these annotations, but the admission webhooks may not be installed.
        path, weights = rooted(*(metadata.annotations.get(key, "") for key in (HIERARCHY, HIERARCHY_WEIGHTS)))
        return Queue(
            name=QueueName(metadata.name),
            uid=metadata.uid,
            weight=spec.weight,
            priority=spec.priority,
            created=self._created("Queue", metadata),
            state=queue.status.state or OPEN,
            reclaimable=spec.reclaimable is not False,
            capability=SealedDict(_amounts("Queue", metadata, "spec.capability", spec.capability)),
            guarantee=SealedDict(_amounts("Queue", metadata, "spec.guarantee.resource", spec.guarantee.resource)),
            deserved=SealedDict(_amounts("Queue", metadata, "spec.deserved", spec.deserved)),
            parent=QueueName(spec.parent) if spec.parent else None,
            hierarchy=path,
            hierarchy_weights=weights,
            object=queue,
        )

    def node(
        self, node: wire.Node, drivers: Amounts = NO_AMOUNTS, device: wire.KoordinatorDevice | None = None
    ) -> Node:
        """Return the node of an object.

        Args:
            node: The object. An amount that cannot be read is left out.
            drivers: Its CSI drivers, as amounts of volumes that they attach.
            device: The devices that an agent found. They add to the resources that the node does not list.
        """
        metadata = node.metadata
        made = Node(
            name=NodeName(metadata.name),
            labels=metadata.labels,
            annotations=metadata.annotations,
            taints=node.spec.taints,
            unschedulable=node.spec.unschedulable,
            allocatable=SealedDict({**self.allocatable(node), **drivers}),
            oversubscribed=SealedDict(self._oversubscribed(metadata)),
            images=SealedDict((name, image.size_bytes) for image in node.status.images for name in image.names),
            revocable_zone=metadata.labels.get(REVOCABLE_ZONE, ""),
            object=node,
            device=device,
        )
        offered = {**ascend_offers(metadata.annotations), **({} if device is None else _offers(made))}
        return replace(made, allocatable=SealedDict({**offered, **made.allocatable})) if offered else made

    def allocatable(self, node: wire.Node) -> dict[str, int]:
        """Return the allocatable amounts of a node, without those that cannot be read."""
        offered: dict[str, int] = {}
        for name, amount in node.status.allocatable.items():
            try:
                read = _amounts("Node", node.metadata, "status.allocatable", {name: amount})
            except ObjectError as error:
                self._report(error)
                continue
            offered.update((each, saturated(each, value)) for each, value in read.items())
        return offered

    def _oversubscribed(self, metadata: wire.ObjectMeta) -> Amounts:
        extra = {}
        for name, (annotation, thousandths) in _OVERSUBSCRIBED.items():
            text = metadata.annotations.get(annotation)
            if text is None:
                continue
            amount = self._read("Node", metadata, annotation, text, parse_float, fallback=0.0)
            extra[name] = min(int(amount), LARGEST_REQUEST) * thousandths
        return extra or NO_AMOUNTS

    def _task_priority(self, pod: wire.Pod) -> int:
        plain = DEFAULT_PRIORITY if pod.spec.priority is None else pod.spec.priority
        text = pod.metadata.annotations.get(TASK_PRIORITY)
        if text is None:
            return plain
        return self._read("Pod", pod.metadata, TASK_PRIORITY, text, parse_int32, fallback=plain)

    def _is_preemptable(self, kind: str, metadata: wire.ObjectMeta, *, absent: bool) -> bool:
        text = annotation_or_label(metadata, PREEMPTABLE)
        if text is None:
            return absent
        return self._read(kind, metadata, PREEMPTABLE, text, parse_bool, fallback=False)

    def _group_preemptable(self, metadata: wire.ObjectMeta) -> bool | None:
        if annotation_or_label(metadata, PREEMPTABLE) is None:
            return None
        return self._is_preemptable("PodGroup", metadata, absent=False)

    def _revocable_zone(self, metadata: wire.ObjectMeta) -> str:
        zone = metadata.annotations.get(REVOCABLE_ZONE)
        if zone is not None:
            return ANY_ZONE if zone == ANY_ZONE else ""
        try:
            preemptable = parse_bool(metadata.annotations.get(PREEMPTABLE, "false"))
        except ValueError:  # reported where preemptability itself is read
            return ""
        return ANY_ZONE if preemptable else ""

    def _waiting_seconds(self, metadata: wire.ObjectMeta) -> float | None:
        for key in _SLA_WAITING_TIMES:
            text = metadata.annotations.get(key)
            if text is not None:
                seconds = self._read("PodGroup", metadata, key, text, parse_seconds, fallback=0.0)
                return seconds if seconds > 0 else None
        return None

    def _minimum(self, metadata: wire.ObjectMeta, path: str, minimum: int) -> int:
        if minimum < 0:
            self._report(ObjectError("PodGroup", metadata.key, path, f"{minimum} is negative; 0 is used"))
        return max(minimum, 0)

    def _phase(self, group: wire.PodGroup) -> PodGroupPhase:
        text = group.status.phase or PodGroupPhase.PENDING
        try:
            return PodGroupPhase(text)
        except ValueError:
            message = f"{text!r} is not a phase; Pending is used"
            self._report(ObjectError("PodGroup", group.metadata.key, "status.phase", message))
            return PodGroupPhase.PENDING

    def _created(self, kind: str, metadata: wire.ObjectMeta) -> float:
        try:
            return wire.unix_seconds(metadata.creation_timestamp)
        except ValueError as error:
            self._report(ObjectError(kind, metadata.key, "metadata.creationTimestamp", str(error)))
            return 0.0

    def _read(
        self, kind: str, metadata: wire.ObjectMeta, key: str, text: str, parse: Callable[[str], T], *, fallback: T
    ) -> T:
        """Parse the value of an annotation. Report a value that cannot be parsed, and return the fallback."""
        try:
            return parse(text)
        except ValueError as error:
            self._report(ObjectError(kind, metadata.key, f"metadata.annotations[{key}]", str(error)))
            return fallback


def _offers(node: Node) -> Amounts:
    """Return the total amounts of a node's devices; nothing if they cannot be read. The device plugin reports why."""
    try:
        devices = node_devices(node)
    except ValueError:
        return NO_AMOUNTS
    return NO_AMOUNTS if devices is None else offers_of(devices)


def _amounts(kind: str, metadata: wire.ObjectMeta, path: str, resources: wire.ResourceList) -> dict[str, int]:
    """Parse a resource list of an object, whose amounts must not be negative."""
    try:
        read = amounts(resources)
    except QuantityError as error:
        raise ObjectError(kind, metadata.key, path, str(error)) from error
    for name, amount in read.items():
        if amount < 0:
            raise ObjectError(kind, metadata.key, f"{path}.{name}", f"{resources[name]} is negative")
        read[name] = saturated(name, amount, _LARGEST_LIMIT)
    return read
